"""A load guesses nothing: who may detect how a file is written, and when."""

import ast
import re
from pathlib import Path
from typing import NoReturn

import pytest

from server.feeds.instance import read_instance
from server.files.detection import FeedFormat
from tests.support.books.loads import ROOT, load_feeds
from tests.support.checks.tracked import tracked
from tests.unit.server.files.test_formats import instance_of, loaded

SERVER = [path for path in tracked("*.py") if path.relative_to(ROOT).parts[0] == "server"]
ROOM = ROOT / "server" / "files"
DETECTORS = ("server.files.detection", "server.files.dialect", "server.files.encodings", "server.files.headings")

DIGITS = re.compile(r"\\d|\[[01]-9\]")  # in an expression
LETTERS = re.compile(r"\[\^[^\]]*\]")  # all but some marks, as in expressions of words
NO_TEXTS = {  # expressions of names that programs write: backups, versions of programs, open files
    "server/daemon/backups.py", "server/run/embedded/binaries.py", "server/run/embedded/keeper.py"
}  # fmt: skip


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_encodings_are_detected_in_the_room_of_files_alone() -> None:
    naming = [path for path in SERVER if "charset_normalizer" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(ROOT).as_posix() for path in naming] == ["server/files/encodings.py"]


def test_a_load_imports_no_detector() -> None:
    rooms = ("ingest", "daemon", "feeds", "tools", "caller")
    others = [path for path in SERVER if path.relative_to(ROOT).parts[1] in rooms]
    found = {path.relative_to(ROOT).as_posix(): imported(path).intersection(DETECTORS) for path in others}
    assert len(found) > 20
    assert {name for name, modules in found.items() if modules} == set()
    asking = [path for path in SERVER if path.parent != ROOM and "server.files.proposals" in imported(path)]
    assert [path.relative_to(ROOT).as_posix() for path in asking] == [
        "server/ingest/previews.py",  # of check --data
        "server/run/commands/check_data.py",
    ]


def test_expressions_of_numbers_and_days_are_held_by_files_alone() -> None:
    """Of the rooms that touch rows; the places of plain decimals are counted where they are converted."""
    rooms = ("setup", "ingest", "daemon", "caller", "tools", "wire", "run")
    found = {
        path.relative_to(ROOT).as_posix()
        for path in SERVER
        if path.relative_to(ROOT).parts[1] in rooms
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and has_digits(node.value)
    }
    assert found - NO_TEXTS == {"server/ingest/rates.py", "server/ingest/rounding.py"}


def has_digits(text: str) -> bool:
    """Tell whether an expression is one of digits, and not one of words, which leaves them out."""
    return DIGITS.search(LETTERS.sub("", text)) is not None


@pytest.fixture
def no_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    """The detector fails the test that asks it."""

    def asked(*_: object) -> NoReturn:
        raise AssertionError("a load asked the detector")

    for name in ("of_file", "heading_rows", "of_rows"):
        monkeypatch.setattr(FeedFormat, name, asked)


@pytest.mark.usefixtures("no_detector")
def test_a_load_whose_keys_are_written_asks_no_detector(tmp_path: Path) -> None:
    text = "Titel\ndate;account;amount\n31.01.2026;1;1.234,50\n01.02.2026;1;7,25-\n01.02.2026;1;-\n02.02.2026;2;2.000\n"
    instance = instance_of(
        tmp_path,
        text,
        csv={"separator": ";", "header_row": 2},
        numbers={"decimal": ",", "thousands": ".", "negative": "trailing", "none": ["-"]},
        dates={"format": "%d.%m.%Y"},
    )
    assert {key: str(value) for key, value in loaded(instance).items()} == {"1": "1227.25", "2": "2000"}


@pytest.mark.usefixtures("no_detector")
def test_the_plain_form_asks_no_detector(tmp_path: Path) -> None:
    text = "date,account,amount\n2026-01-31,1,1.230\n2026-01-31,1,12.5\n2026-01-31,1,-7\n2026-01-31,2,(5)\n"
    numbers = {"negative": "parentheses"}
    assert loaded(instance_of(tmp_path, text, numbers=numbers))["2"] == -5


@pytest.mark.usefixtures("no_detector")
def test_the_demo_is_in_the_plain_form(tmp_path: Path, demo_folder: Path) -> None:
    read = read_instance(demo_folder)
    done = load_feeds(demo_folder, tmp_path / "state", read=read)
    assert {each.binding for each in done} == set(read.bindings)
    assert [each.binding for each in done if each.warnings or each.detected] == []
