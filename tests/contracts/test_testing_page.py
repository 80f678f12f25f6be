"""docs/testing.md says where things are proven: every folder of tests is in its table, and it names no other."""

import re

from tests.doors.shapes import ANSWERED, REFUSED, RIGHT
from tests.support.books.loads import ROOT
from tests.support.checks.tracked import tracked

TESTS = ROOT / "tests"
NAMED = {
    folder
    for cell in re.findall(
        r"^\| [^|]+ \| (`[^|]+`) \|", (ROOT / "docs" / "testing.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    for folder in re.findall(r"`([\w/]+)`", cell)
}


def test_every_folder_that_it_names_is_there() -> None:
    assert NAMED
    assert [folder for folder in sorted(NAMED) if not (TESTS / folder).is_dir()] == []


def test_every_test_is_in_a_folder_that_it_names() -> None:
    files = [path.relative_to(TESTS).as_posix() for path in tracked("tests/**/test_*.py")]
    assert [file for file in files if not any(file.startswith(f"{folder}/") for folder in NAMED)] == []


def test_it_counts_the_shapes_of_files() -> None:
    text = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    assert f" {len(RIGHT) + len(ANSWERED) + len(REFUSED)} shapes," in text
