"""Reports that earlier releases kept, with a drill for each place or uncompressed, are answered as those made now."""

from collections.abc import Mapping
from json import dumps
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from engine.door import Door
from engine.model.stopping import never
from engine.present.answers.full_reports import whole_report
from engine.present.blocks import table
from engine.report.admission import admit, restore
from engine.report.encoding import read, write
from engine.report.report import Report
from engine.report.snapshots import Kept, given, keep, opened
from tests.support.answers.reader import answer
from tests.support.books.explained import DIMENSIONS, HEAD, LEDGER
from tests.support.books.small import small_books

UNCUT = 10**9
KEPT = Path(__file__).parents[3] / "golden" / "kept"
UNCOMPRESSED = KEPT.with_name("kept_uncompressed")
ROWS = "\n".join(
    f"2026-{month:02}-{day:02} {scenario} {entity} {100 * month + day} {month} {day} 7 3 2"
    for month in range(1, 7)
    for day in (5, 20)
    for scenario in ("actual", "budget")
    for entity in ("DE", "FR", "AT", "CH", "ES")
    if (month + day) % 3 or entity != "AT"
)
TREE = "node parent weight\nGROUP - 1\nEU GROUP 1\nDE EU 1\nFR EU 0.5\nAT EU 1\nES EU 1\nCH GROUP -1"
LINES = "- {metric: revenue}\n- {metric: cogs}\n- {metric: profit}"
ENTITIES = "id\nDE\nFR\nAT\nCH\nES"
SIDES = {"A": "actual", "B": "budget", "V": "var(actual,budget)"}
METRICS: dict[str, dict[str, Any]] = {
    "tree": {"dimensions": ["ownership"]},
    "tree_without": {"dimensions": ["ownership"], "filters": {"ownership": {"exclude": ["FR"]}}},
    "tree_filtered": {"dimensions": ["ownership"], "filters": {"ownership": "EU"}},
    "entity_by_period": {"dimensions": ["entity", "period"], "filters": {"quarter": ["2026-Q1", "2026-Q2"]}},
    "quarters": {"dimensions": ["quarter"], "filters": {"quarter": "2026-Q1"}},
    "two_times": {"dimensions": ["ownership", "quarter", "period"], "subtotals": True},
    "weeks": {"dimensions": ["period", "week"], "filters": {"quarter": "2026-Q1"}},
    "ranked": {"dimensions": ["entity", "period"], "order_by": "revenue@A", "top": 2},
    "nested": {"dimensions": ["ownership", "entity"], "order_by": "revenue@A", "top": 1, "subtotals": True},
    "shifted": {"dimensions": ["period"], "scenarios": {**SIDES, "Y": "actual@ytd"}},
    "empty": {"dimensions": ["period"], "filters": {"entity": "nobody", "quarter": "2026-Q1"}},
}
STATEMENTS: dict[str, dict[str, Any]] = {
    "statement": {},
    "statement_by_tree": {"dimensions": ["ownership"]},
    "statement_by_period": {"dimensions": ["period"], "filters": {"quarter": "2026-Q1"}},
    "statement_nested": {"dimensions": ["ownership", "quarter"], "subtotals": True},
}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Return books whose tree weighs its members differently."""
    return kept_books(tmp_path_factory.mktemp("books"))


def kept_books(folder: Path) -> Door:
    """Return the books that the reports were kept of."""
    return small_books(
        folder,
        facts={"gl": HEAD + ROWS},
        domains={"gl": LEDGER},
        dimensions=DIMENSIONS + "week: {kind: leaf, grain: week}",
        tables={"entity": ENTITIES, "ownership": TREE},
        statements={"lines": LINES},
    )


def asked_of(books: Door, name: str) -> Report:
    """Return one of the reports, made now."""
    shared = {"scenarios": SIDES, "period": ("2026-01", "2026-06")}
    if name in METRICS:
        return books.metric("revenue", "margin", **{**shared, **METRICS[name]})
    return books.statement("lines", **{**shared, **STATEMENTS[name]})


@pytest.mark.parametrize("name", [*METRICS, *STATEMENTS])
def test_a_report_that_was_kept_with_a_drill_for_each_place_drills_as_before(books: Door, name: str) -> None:
    assert_told_alike(opened((KEPT / f"{name}.arrow").read_bytes(), books.reader), asked_of(books, name))


@pytest.mark.parametrize("name", ["statement_by_tree", "entity_by_period", "ranked", "empty"])
def test_a_report_that_was_kept_before_short_ones_were_compressed_is_opened(books: Door, name: str) -> None:
    former, report = (UNCOMPRESSED / f"{name}.arrow").read_bytes(), asked_of(books, name)
    assert_told_alike(opened(former, books.reader), report)
    assert_told_alike(restore(former, admit(former, books.reader).newer), report)
    assert given(former, books.reader).frame.equals(given(keep(report), books.reader).frame)
    assert len(keep(report)) < len(former) / 2


def test_a_report_that_was_kept_with_its_frame_is_opened(books: Door) -> None:
    report = asked_of(books, "statement_by_tree")
    header, figures = read((KEPT / "statement_by_tree.arrow").read_bytes())
    frame = report.frame.to_arrow()
    columns = dict(zip([*frame.column_names, *figures.column_names], [*frame.columns, *figures.columns], strict=True))
    former = write(pa.table(columns), {**header, "kind": "report 1", "width": frame.num_columns})
    assert_told_alike(opened(former, books.reader), report)


def assert_told_alike(kept: Kept, report: Report) -> None:
    """Hold a report that an older release kept against the same report made now."""
    assert isinstance(kept, Report)
    columns = tuple(replace(column, drill=named_now(column.drill)) for column in kept.columns)
    before = replace(kept, freshness=report.freshness, columns=columns)  # of another load
    for told in (lambda one: answer(one, UNCUT), table, whole):
        assert dumps(told(before)) == dumps(told(report))


def named_now(drill: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the call of a column as it is named now: a view of one scenario stands in scenario_id, not in a filter."""
    view = drill.get("filters", {}).get("scenario")
    if view is None:
        return drill
    return {**{key: part for key, part in drill.items() if key != "filters"}, "scenario_id": view}


def whole(report: Report) -> list[Any]:
    """Return everything that an export of a report writes."""
    made = whole_report(report, never)
    return [made.result, *made.rows]
