"""The block that the financial table renders: the answer uncut with its texts, and goldens of it for the view."""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.json import encode
from msgspec.structs import replace

from engine.door import Door, open_books
from engine.model.evaluation import FigureCube
from engine.model.exact import Exact
from engine.present.answers import reports
from engine.present.answers.budget import DataRef
from engine.present.blocks import MAX_BYTES, MAX_CELLS, MAX_ROWS, UNAVAILABLE, table
from engine.report.report import Report
from tests.support.answers.drills import calls, calls_of_block, joined
from tests.support.answers.goldens import dated, held
from tests.support.answers.reader import filled_in
from tests.support.books.small import small_books

UNCUT = 10**9
REFERENCE = DataRef("ds_golden")
SCENARIOS = {
    "Actuals": "actual",
    "Budget": "budget",
    "Variance": "var(actual,budget)",
    "Var %": "var_pct(actual,budget)",
    "Prior Year": "actual@py",
    "Downside": "budget/downside",
    "Full year": "actual+forecast@fy",
}
TWO = {"Actuals": "actual", "Variance": "var(actual,actual@py)"}


@dataclass(frozen=True, slots=True)
class ReportOfDemo:
    """A report of the demo: a statement or metrics, and the rest of the request."""

    of: str | tuple[str, ...]
    parts: dict[str, Any]


NINE_MONTHS = ("2026-01", "2026-09")
GOLDENS = {
    "profit_and_loss": ReportOfDemo("full_pnl", {"scenarios": SCENARIOS, "period": NINE_MONTHS, "scale": 3}),
    "by_month": ReportOfDemo(
        "pnl", {"scenarios": TWO, "period": ("2026-06", "2026-11"), "scale": 6, "dimensions": ["period"]}
    ),
    "balance_sheet": ReportOfDemo("balance_sheet", {"scenarios": TWO, "period": "2026-09", "decimals": 2}),
    "by_company": ReportOfDemo(
        ("revenue", "gross_margin"),
        {"scenarios": SCENARIOS, "period": "2026-Q2", "dimensions": ["entity"]},
    ),
    "sold": ReportOfDemo(
        ("units", "average_price"),
        {"scenarios": TWO, "period": "2026-08", "dimensions": ["product_line", "period"], "decimals": 3},
    ),
    "nothing_there": ReportOfDemo("kpis", {"scenarios": TWO, "period": "2026-01", "filters": {"customer": "nobody"}}),
}


@pytest.fixture(scope="module")
def books(demo_folder: Path) -> Door:
    """The books of the demo."""
    return open_books(demo_folder)


def report_of(books: Door, asked: ReportOfDemo) -> Report:
    """Return a report of the demo."""
    if isinstance(asked.of, str):
        return books.statement(asked.of, **asked.parts)
    return books.metric(*asked.of, **asked.parts)


def named(made: list[list[Any]], line: str) -> list[list[Any]]:
    """Return calls whose metric is that of a line, whether it goes by its metric's name or by its statement's."""
    plain = {f"{statement}.{line}": line for statement in ("pnl", "full_pnl", "balance_sheet", "kpis")}
    return [
        [sign, joined(call, {"filters": {"metric": plain.get(metric, metric)}})]
        for sign, call in made
        for metric in [call["filters"]["metric"]]
    ]


OF_ROWS = ("key", "label", "level", "unit", "aggregate", "holds")
OF_COLUMNS = ("key", "alias", "scenario", "metric", "members", "is_total", "into_parent")


@pytest.mark.parametrize("name", GOLDENS)
def test_a_table_is_the_answer_with_a_text_beside_each_figure(books: Door, name: str) -> None:
    report = report_of(books, GOLDENS[name])
    block, short = table(report, REFERENCE), reports.answer(report, UNCUT, REFERENCE)
    result = filled_in(short)
    behind = []
    for row, known in zip(block["rows"], result["rows"], strict=True):
        assert [value for _, value, _ in row["cells"]] == known["values"]
        assert {key: known.get(key) for key in OF_ROWS} == {key: row.get(key) for key in OF_ROWS}
        assert known.get("into_parent", 1) == row.get("into_parent", 1)
        cells = [[[sign, call] for sign, _, call in calls(known, column)] for column in result["columns"]]
        for column, made in zip(block["columns"], cells, strict=True):
            behind_it = [list(part) for part in calls_of_block(row, column)]
            assert named(made, row["key"]) == named(behind_it, row["key"])
        behind.append(cells[:4])
    for column, known in zip(block["columns"], result["columns"], strict=True):
        assert {key: known.get(key) for key in OF_COLUMNS} == {key: column.get(key) for key in OF_COLUMNS}
    assert (block["notes"], block["data_ref"]) == (result["notes"], result["data_ref"])
    held(f"financial-table/{name}", dated({"block": block, "result": short, "calls": behind}))


def test_what_lines_keep_for_the_next_report_changes_no_answer(tmp_path: Path) -> None:
    small = small_books(
        tmp_path,
        facts={"gl": "date scenario amount\n2021-01-05 actual 5000\n2021-01-06 actual 7000"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {}
            measures: {amount: {places: 2}}
            metrics: {revenue: {measure: amount}, mean: {measure: amount, over_members: average}}
            """
        },
        statements={"pnl": "  - {metric: revenue}\n  - {metric: mean}\n"},
    )

    def units(scale: int) -> list[str | None]:
        report = small.statement("pnl", scenarios={"A": "actual"}, period="2021-01", scale=scale)
        return [row.get("unit") for row in reports.answer(report, UNCUT)["rows"]]

    assert [units(scale) for scale in (0, 3, 0)] == [[None, None], [None, "USD"], [None, None]]


def test_what_is_missing_zero_and_not_to_be_computed_is_told_apart(tmp_path: Path) -> None:
    report = small_books(
        tmp_path,
        facts={
            "gl": "date scenario product amount\n2021-01-05 actual P 5\n2021-01-05 actual Q 0",
            "people": "date scenario region heads\n2021-01 actual EU 6",
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            metrics: {revenue: {measure: amount}}
            """,
            "people": """
            time: {column: date, grain: month}
            dimensions: {region: region}
            measures: {heads: {type: number, places: 0}}
            metrics: {headcount: {measure: heads}}
            """,
        },
        dimensions="product: {kind: leaf}\nregion: {kind: leaf}",
        statements={"pnl": "  - {metric: revenue}\n  - {metric: headcount}\n"},
    ).statement("pnl", scenarios={"A": "actual", "B": "budget"}, period="2021-01", filters={"product": "Q"})
    cells = [row["cells"] for row in table(report)["rows"]]
    assert cells == [
        [["\N{EN DASH}", 0, 0], ["", None, 0]],
        [[UNAVAILABLE, None, 0], [UNAVAILABLE, None, 0]],
    ]


def test_scenarios_are_marked_by_their_kind_and_their_shifts(books: Door) -> None:
    scenarios = {**SCENARIOS, "Forecast": "forecast", "vs PY": "var(actual,actual@py)", "YTD": "actual@ytd"}
    report = books.statement("pnl", scenarios=scenarios, period="2026-09")
    assert {column["alias"]: column["style"] for column in table(report)["columns"]} == {
        "Actuals": "actual",
        "Budget": "plan",
        "Variance": "plan",
        "Var %": "plan",
        "Prior Year": "prior_year",
        "Downside": "plan",
        "Full year": "forecast",
        "Forecast": "forecast",
        "vs PY": "prior_year",
        "YTD": "actual",
    }


LARGE_NAMES = ["statement by customer", "statement by cost centre", "customers", "customers by month"]
LARGE = [
    ReportOfDemo("full_pnl", {"scenarios": TWO, "period": "2026-09", "dimensions": ["customer"]}),
    ReportOfDemo("full_pnl", {"scenarios": TWO, "period": "2026-09", "dimensions": ["cost_centre"]}),
    ReportOfDemo(("sales_amount",), {"scenarios": TWO, "period": "2026-09", "dimensions": ["customer", "period"]}),
    ReportOfDemo(("sales_amount",), {"scenarios": TWO, "period": NINE_MONTHS, "dimensions": ["customer", "period"]}),
]


@pytest.mark.parametrize("asked", LARGE, ids=LARGE_NAMES)
def test_a_table_of_very_many_cells_says_what_it_leaves_out_and_keeps_totals(books: Door, asked: ReportOfDemo) -> None:
    report = report_of(books, asked)
    block = table(report)
    shown = len(block["rows"]) * len(block["columns"])
    assert shown <= MAX_CELLS
    assert len(block["rows"]) <= MAX_ROWS
    left_out = block["left_out"]
    if report.statement is None:
        assert block["rows"][-1]["kind"] == "total"
        assert left_out.get("members", 0) == len(report.places) - len(block["rows"])
    else:
        places = len(block["columns"]) // len(report.columns)
        assert left_out.get("members", 0) == len(report.places) - places
        assert left_out.get("lines", 0) == len(report.lines) - len(block["rows"])
        assert sum(column.get("is_total", False) for column in block["columns"]) in (0, len(report.columns))


@pytest.mark.parametrize("asked", LARGE, ids=LARGE_NAMES)
def test_a_table_has_every_row_and_column_that_the_text_has(books: Door, asked: ReportOfDemo) -> None:
    report = report_of(books, asked)
    text, block = reports.answer(report, 10_000), table(report)
    if report.statement is None:
        keys = {"/".join(row.get("members", {}).values()) or row.get("key", "total") for row in text["rows"]}
        assert keys <= {row["key"] for row in block["rows"]}
        return
    assert {row["key"] for row in text["rows"]} <= {row["key"] for row in block["rows"]}
    shown = [{(one["scenario"], *one.get("members", {}).values()) for one in each["columns"]} for each in (text, block)]
    assert shown[0] <= shown[1]


@pytest.mark.parametrize("asked", LARGE, ids=LARGE_NAMES)
def test_a_table_of_long_digits_and_many_headings_is_cut_below_its_bound_and_counts_what_it_lacks(
    books: Door, asked: ReportOfDemo
) -> None:
    report, drawn = report_of(books, asked), Random(1)
    figures = [
        [[Exact(drawn.getrandbits(4000), 1) for _ in report.places] for _ in report.columns] for _ in report.lines
    ]
    long = replace(report, figures=FigureCube.of(figures))
    block = table(long)
    assert MAX_BYTES / 4 < len(encode(block)) <= MAX_BYTES
    assert block["left_out"]["members"] > 0


def test_of_very_many_lines_the_last_are_left_out(books: Door) -> None:
    scenarios = {f"{back} back": f"actual@pp{back}" for back in range(1, 100)}
    report = books.statement("full_pnl", scenarios=scenarios, period="2026-09")
    long = replace(report, lines=report.lines * 4, figures=FigureCube.of(list(report.figures) * 4))
    block = table(long)
    assert len(block["rows"]) == MAX_CELLS // len(scenarios)
    assert block["left_out"] == {"lines": len(long.lines) - len(block["rows"])}
