"""Tests look for programs in one place, tests.support.machine.programs."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.books.loads import ROOT
from tests.support.checks.tracked import tracked
from tests.support.machine.programs import NEEDED

TESTS = [path for path in tracked("tests/*.py") if path.name not in {"programs.py", Path(__file__).name}]
EXECUTABLES = {executable for executables in NEEDED.values() for executable in executables}
ASKING = {"program", "needs_program"}  # the mark, and the function that returns the path


def called(call: ast.Call) -> str:
    """Return the last name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def test_make_ci_deps_installs_every_program_that_tests_run() -> None:
    (recipe,) = re.findall(r"^ci-deps:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(NEEDED) <= set(re.findall(r"command -v ([\w-]+)", recipe))


def test_a_test_asks_for_a_program_by_its_mark_and_by_needs_program() -> None:
    assert [place for path in TESTS for place in looked_for_otherwise(path)] == []


def looked_for_otherwise(path: Path) -> Iterator[str]:
    """Yield the lines of a test file that name a program, or look for one, in another way."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    asked = {id(part) for call in calls if called(call) in ASKING for part in call.args}
    for node in ast.walk(tree):
        match node:
            case ast.Constant() if node.value in EXECUTABLES and id(node) not in asked:
                yield f"{path.relative_to(ROOT)}:{node.lineno}"
            case ast.Call() if called(node) == "which":
                yield f"{path.relative_to(ROOT)}:{node.lineno}"


@pytest.mark.parametrize("target", ["serve", "test", "wheel"])
def test_without_npm_make_runs_nothing_of_node(target: str) -> None:
    """NPM is empty where no npm is on the path."""
    command = ["make", "--dry-run", "--always-make", "NPM=", target]
    steps = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [step for step in steps if re.search(r"\b(node|npm|npx) ", step) and not step.startswith("echo")] == []
