"""The README says what a clone holds: its Python runs, its tools exist, its commands are the Makefile's."""

import re
from pathlib import Path

import pytest

from engine.report.report import Report
from server.tools.toolbox import TOOLS
from tests.mutations.__main__ import RULES, read_mutations
from tests.support.books.loads import ROOT
from tests.support.books.worked import tables
from tests.support.checks.tracked import tracked
from tests.unit.sandbox.own_attacks import MEMORY, RAW
from tests.unit.sandbox.test_attacks import FORGERIES, OWN
from tests.unit.sandbox.trap import ATTACKS

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_of_the_readme_runs(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (demo_folder / "instances").symlink_to(demo_folder.parent)
    monkeypatch.chdir(demo_folder)
    names: dict[str, object] = {}
    *statements, last = code.strip().split("\nbooks.")
    exec(statements[0], names)  # noqa: S102 - the README's own words
    reports = [eval(f"books.{call}", names) for call in (*statements[1:], last)]  # noqa: S307 - the same
    assert isinstance(reports[0], Report)
    assert "Net result" in repr(reports[0])
    assert reports[1].height > 0


def test_the_tools_of_the_readme_are_those_there_are() -> None:
    listed = README.partition("\n## Tools\n")[2].partition("They cover:")[0]
    assert re.findall(r"`(\w+)`", listed) == list(TOOLS)


def test_the_commands_of_the_readme_are_targets() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make (\w+)", README, re.MULTILINE)) <= targets


PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
ROUND, NEAR = 10, 1.25  # what a claim is a multiple of; how many times as many there may be


def test_the_numbers_of_proofs_are_those_there_are_rounded_down() -> None:
    claimed = {command: int(number) for number, command in re.findall(r"\| (\d+) \| `([^`]+)`", README)}
    (functions,) = re.findall(r"more\s+than\s+([\d,]+)\s+test\s+functions", PAGE)
    claimed["functions"] = int(functions.replace(",", ""))
    every = [path.read_text(encoding="utf-8") for path in tracked("tests/**/test_*.py")]
    spec = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "spec").glob("test_*.py"))
    laws = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "laws").glob("test_*.py"))
    there = {
        "pytest tests/spec/test_figures_page.py": sum(cell.asked for table in tables() for cell in table.cells()),
        "pytest tests/spec": len(set(re.findall(r"def test_([tv]\d+)_", spec))),
        "pytest tests/laws": laws.count("def test_"),
        "make test-mutations": len(read_mutations(RULES)),
        "pytest tests/unit/sandbox/test_attacks.py": len([*ATTACKS, *OWN, *RAW, *MEMORY, *FORGERIES]),
        "functions": sum(text.count("def test_") for text in every),
    }
    held = {
        name: claimed[name] % ROUND == 0 and claimed[name] <= many < NEAR * claimed[name]
        for name, many in there.items()
    }
    assert held == dict.fromkeys(there, True), there
