"""Exports, workbooks and JSON documents alike: whole files of what was seen, or none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from engine.door import Door
from engine.model.stopping import Stop
from engine.present.answers.reports import details
from engine.present.answers.rows import rows_answer
from engine.present.exports.about import ExportStamp
from engine.present.exports.json_document import write_document
from engine.present.exports.workbook import (
    ROWS_AT_ONCE,
    write_workbook,
)
from engine.report.inspection import Inspection
from engine.report.report import Report
from engine.report.snapshots import keep, opened
from tests.support.answers.reader import answer
from tests.support.answers.workbooks import go_on, grid
from tests.support.books.inspected import FACTS, ledger
from tests.support.books.traps import COLUMNS, EVIL, MADE, trap_books, written
from tests.support.service.leavers import ClientGone, LeavingClient

Write = Callable[[Report | Inspection, ExportStamp, Path, Stop], None]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Books of traps."""
    return trap_books(tmp_path_factory.mktemp("exported"))


@pytest.mark.parametrize("write", [write_workbook, write_document])
def test_nothing_but_the_file_stays_in_its_folder(books: Door, tmp_path: Path, write: Write) -> None:
    report = books.statement("pnl", scenarios=COLUMNS, period="2021-01")
    write(report, MADE, tmp_path / "made", go_on)
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    with pytest.raises(FileNotFoundError):
        write(report, MADE, tmp_path / "gone" / "made", go_on)


def test_a_file_says_what_was_asked_when_as_whom_and_how_fresh_it_is(books: Door, tmp_path: Path) -> None:
    report = books.statement(
        "pnl", scenarios={**COLUMNS, "Gone": "gone"}, period="2021-01", scale=3, filters={"product": "00123"}
    )
    told = dict(grid(written(report, tmp_path), 1))
    assert told["Books"] == "Small"
    assert told["Statement"] == "pnl"
    assert (told["Period"], told["Days"]) == ("Jan 2021", "2021-01-01 to 2021-01-31")
    assert told["Column: Var"] == "var(actual,budget)"
    assert told["Filter: product"] == "00123"
    assert told["Scale"] == "numbers are in units and shown in thousands"
    assert (told["Made at"], told["Made for"]) == ("2026-11-21T09:30:00+00:00", "ann")
    assert told["Data version"] == report.data_version
    assert told["Fresh: gl, budget"].startswith("through 2021-01-07, loaded ")
    assert "There is no scenario 'gone'" in told["Note"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"scenario": "actual", "period": "2021-02"}, {"Days": "2021-02-01 to 2021-02-28"}),
        (
            {"scenario": "budget", "period": "2021-02", "filters": {"metric": "total", "scenario": "budget@py"}},
            {
                "Period": "Feb 2021",
                "Days": "2020-02-01 to 2020-02-29",
                "Contribution total": "8",
                "Figure": "8",
                "Fresh: gl, budget": "through 2021-02-05, loaded {at}",
            },
        ),
        (  # the books close in February: 7 and 12 and 40.5 stand there
            {"scenario": "actual", "period": ("2021-01", "2021-03"), "filters": {"metric": "closing"}},
            {"Days": "2021-02-01 to 2021-02-28", "Contribution total": "59.5", "Figure": "59.5"},
        ),
        (  # a mean of 100, 5 and 3
            {"scenario": "actual", "period": "2021-01", "filters": {"metric": "mean"}},
            {"Contribution total": "108", "Divisor": "3", "Figure": "36"},
        ),
        (
            {"scenario": "actual", "period": "2019", "filters": {"metric": "closing"}},
            {"Days": "none", "Contribution total": "blank", "Figure": "blank"},
        ),
    ],
)
def test_a_file_of_rows_says_which_days_count_and_what_the_rows_add_up_to(
    tmp_path: Path, asked: dict[str, Any], told: dict[str, str]
) -> None:
    rows = ledger(tmp_path, FACTS).rows("gl", **asked)
    about = dict(grid(written(rows, tmp_path), 1))
    loaded_at = rows.freshness["gl"][asked["scenario"]].loaded_at
    assert {name: about.get(name) for name in told} == {
        name: words.format(at=loaded_at) for name, words in told.items()
    }
    figure = {"Contribution total", "Divisor", "Figure"}
    assert "metric" in asked.get("filters", {}) or not figure & about.keys()


@pytest.mark.parametrize("write", [write_workbook, write_document])
def test_a_report_without_columns_is_a_file_as_well(books: Door, tmp_path: Path, write: Write) -> None:
    report = books.statement("pnl", scenarios={"Gone": "gone"}, period="2021-01")
    again = opened(keep(report), books.reader)
    assert isinstance(again, Report)
    write(again, MADE, tmp_path / "made", go_on)
    if write is write_workbook:
        assert grid(tmp_path / "made")[0] == ["Pnl, Jan 2021", "Unit"]
    else:
        assert json.loads((tmp_path / "made").read_text())["columns"] == []


@pytest.mark.parametrize("write", [write_workbook, write_document])
@pytest.mark.parametrize("kind", ["report", "rows"])
def test_a_file_that_nobody_waits_for_any_more_is_not_finished(
    books: Door, tmp_path: Path, write: Write, kind: str
) -> None:
    rows = books.rows("gl", scenario="actual")
    report = books.metric("revenue", period="2021-01", scenarios=COLUMNS, dimensions=("product",))
    many = replace(rows, rows=list(rows.rows) * 100)
    kept = many if kind == "rows" else report
    patient = LeavingClient(1 << 20)
    write(kept, MADE, tmp_path / "whole", patient)
    assert patient.looks > len(many.rows if kind == "rows" else report.places) / ROWS_AT_ONCE
    with pytest.raises(ClientGone):
        write(kept, MADE, tmp_path / "part", LeavingClient(patient.looks - 1))


def test_a_document_is_the_whole_answer_and_says_when_it_was_made(books: Door, tmp_path: Path) -> None:
    report = books.metric("revenue", "margin", period="2021-01", scenarios=COLUMNS, dimensions=("product",))
    again = opened(keep(report), books.reader)
    assert isinstance(again, Report)
    write_document(again, MADE, tmp_path / "made.json", go_on)
    made = json.loads((tmp_path / "made.json").read_text())
    head = {"books": "Small", "made_at": "2026-11-21T09:30:00+00:00", "made_for": "ann"}
    assert {key: made[key] for key in head} == head
    short, parts = answer(report, 10**9), details(report)
    assert [row["values"] for row in made["rows"]] == [row["values"] for row in short["rows"]]
    assert [row["members"] for row in made["rows"]] == [row["members"] for row in short["rows"]]
    assert {key: made[key] for key in parts} == json.loads(json.dumps(parts))
    assert [(column["metric"], column["alias"]) for column in made["columns"]] == [
        (column["metric"], column["alias"]) for column in short["columns"]
    ]
    assert (made["period"]["last_day"], made["scale"], made["currency"]) == ("2021-01-31", 0, short["currency"])


def test_a_document_of_rows_has_them_all(books: Door, tmp_path: Path) -> None:
    rows = books.rows("gl", scenario="actual")
    write_document(rows, MADE, tmp_path / "made.json", go_on)
    made = json.loads((tmp_path / "made.json").read_text())
    assert made["rows"] == rows_answer(rows, 10**9)["rows"]
    assert len(made["rows"]) == len(EVIL) + 1
    assert "agent_truncated" not in made
    assert "90071992547409.93" in str(made["rows"])
