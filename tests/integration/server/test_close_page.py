"""docs/close.md: its commands say what it shows, and its figures are those of the books."""

import re
from pathlib import Path

import pytest

from engine.door import open_books
from tests.support.books.loads import ROOT, load_feeds, load_instance
from tests.support.books.small import figures, write_ledger
from tests.support.service.forks import tieout

PAGE = (ROOT / "docs" / "close.md").read_text(encoding="utf-8")
COMMANDS = [
    (command, said.strip())
    for command, said in re.findall(r"^\$ tieout (.*)\n((?:(?!\$|```).*\n)*)", PAGE, re.MULTILINE)
]
FIGURES = {key: int(figure) for key, figure in re.findall(r"^\| `([^`]+)` \| (\d+) \|$", PAGE, re.MULTILINE)}
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    """Books of September, of which two rows are loaded."""
    scenarios = "actual: {alias: Actuals, kind: actual, closed_through: 2025-09}\n"
    folder = write_ledger(tmp_path, "2025-09-05 actual 100\n2025-09-08 actual 20\n", scenarios=scenarios)
    load_instance(folder, folder / ".tieout")
    return folder


def test_the_commands_of_the_page_say_what_it_shows(instance: Path) -> None:
    assert [command for command, _ in COMMANDS] == [
        "freeze sep --through 2025-09",
        "freeze --list",
        "freeze --drop sep",
    ]
    for command, said in COMMANDS:
        if command == "freeze --list":
            rows = "2025-09-05,actual,105\n2025-09-08,actual,20\n2025-10-02,actual,30\n"
            (instance / "data" / "gl.csv").write_text(f"date,scenario,amount\n{rows}")
            load_feeds(instance, instance / ".tieout")
            door = open_books(instance, state=instance / ".tieout")
            asked = {key: key for key in FIGURES}
            report = door.metric("revenue", scenarios=asked, period=("2025-09", "2025-10"))
            assert figures(report, "scenario") == FIGURES
        ended = tieout(*command.split(), "--instance", instance)
        assert ended.returncode == 0, ended.stderr
        assert TIME.sub("TIME", ended.stdout.strip()) == TIME.sub("TIME", said)
