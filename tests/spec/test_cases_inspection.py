"""Finance cases T67 and T68: a cap that says so, and rows that add up to the cell.

Rules: Rows that tie.
"""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.requests import ColumnRequest, MetricRequest, StatementRequest
from engine.plans.figures import plan_metrics, plan_statement
from engine.queries.reports import metric_query, statement_query
from engine.report.run import run
from tests.support.answers.drills import calls, exactly, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.inspected import CAP, FACTS, UNCUT, ledger, rows_of
from tests.support.checks.depth import SHORT


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """The ledger."""
    return ledger(tmp_path_factory.mktemp("books"), FACTS)


@pytest.mark.parametrize(("rows", "truncated"), [(10_037, True), (10_000, False), (9_999, False)])
def test_t67_truncated_only_where_more_rows_exist(tmp_path: Path, rows: int, truncated: bool) -> None:
    cents = "\n".join(f"2021-01-{day % 28 + 1:02} actual Sales E1 J 0.01 t" for day in range(rows))
    found = rows_of(ledger(tmp_path, cents), period_start="2021-01", filters={"metric": "net_sales"})
    assert found["truncated"] is truncated
    assert found["row_count"] == len(found["rows"]) == min(rows, CAP)
    assert exactly(found["contribution_total"]) == Decimal(rows) / 100  # of all rows, whatever is shown


def test_t68_rows_tell_what_they_contribute(books: Door) -> None:
    found = rows_of(books, period_start="2021-01", filters={"metric": "net_sales"}, columns=("account", "amount"))
    assert [column["name"] for column in found["columns"]] == ["account", "amount", "contribution"]
    assert found["rows"] == [["Discounts", 3, -3], ["Returns", 5, -5], ["Sales", 100, 100]]
    assert found["contribution_total"] == found["figure"] == 92


DIMENSIONS: list[tuple[str, ...]] = [
    (),
    ("entity",),
    ("account",),
    ("tree",),
    ("journal",),
    ("period",),
    ("entity", "month"),
    ("tree", "period"),
]
FILTERS: list[Mapping[str, str | tuple[str, ...]]] = [
    {},
    {"entity": "E1"},
    {"tree": ("Sales", "Returns")},
    {"tree": "Net"},
    {"account": "(unassigned)"},
    {"period": ("2021-02",)},
    {"entity": ("nobody",)},
]
SCENARIOS = tuple(
    ColumnRequest(scenario=key)
    for key in (
        "actual",
        "actual@py",
        "actual@ytd",
        "actual@qtd",
        "var(actual@ltm,actual@fy@py)",
        "budget/low",
        "actual+budget",
        "actual+budget/low@ytd",
        "var(actual,budget)",
        "var(actual,actual@py)",
        "var(actual+budget,budget/low)",
    )
)
METRICS = ("net_sales", "total", "negated", "half", "adjusted", "share", "closing", "opening", "known", "to_date",
           "monthly", "postings", "accounts", "least", "mean")  # fmt: skip
NOT_ADDITIVE = {"share", "accounts", "least", "mean", "sales_per_head"}


STRIDE = 7 if SHORT else 1  # one cell in so many: with 165 cells a row, every column has its turn


def cells_tie(result: dict[str, Any], books: Door) -> int:
    """Hold the cells of a result, every one in `make test-deep`, against the rows behind them; return how many."""
    cells = [
        (value, behind)
        for row in result["rows"]
        for column, value in zip(result["columns"], row["values"], strict=True)
        if (behind := list(calls(row, column)))  # the others are headers, or lines that cannot be asked: no rows
    ]
    return sum(cell_ties(value, behind, books) for value, behind in cells[::STRIDE])


def cell_ties(value: float | str | None, parts: list[tuple[str, str, dict[str, Any]]], books: Door) -> bool:
    """Hold one cell against the calls behind it; return whether there was a figure."""
    figures = [(sign, figure_behind(call, lambda asked: rows_of(books, **asked))) for sign, _, call in parts]
    operands = {operand for _, operand, _ in parts}
    seen = [part if sign == "+" else -part for sign, part in figures if part is not None]
    figure = exactly(value)
    if figure is None:
        return False  # nothing, or one side of a variance unknown
    if len(operands) == 1 and (len(parts) == 1 or not operands & NOT_ADDITIVE):
        expected = sum(seen, Decimal(0))
        assert abs(expected - figure) <= Decimal("1e-12"), parts
    return True


@pytest.mark.parametrize(
    ("dimensions", "filters"),
    [*((dimensions, {}) for dimensions in DIMENSIONS), *((("tree", "period"), filters) for filters in FILTERS[1:])],
)
def test_the_rows_behind_every_cell_of_metrics_add_up_to_it(
    books: Door, dimensions: tuple[str, ...], filters: Mapping[str, str | tuple[str, ...]]
) -> None:
    asked = MetricRequest(
        metrics=METRICS,
        scenarios=SCENARIOS,
        period_start="2021-01",
        period_end="2021-02",
        dimensions=dimensions,
        filters=dict(filters),
    )
    held = cells_tie(answer(run(plan_metrics(metric_query(asked, books.reader), books.reader)), UNCUT), books)
    assert held or "nobody" in str(filters)


@pytest.mark.parametrize("dimensions", [(), ("entity",), ("account",), ("period",)])
def test_the_rows_behind_every_cell_of_a_statement_add_up_to_it(books: Door, dimensions: tuple[str, ...]) -> None:
    asked = StatementRequest(
        statement="pnl",
        scenarios=SCENARIOS[:1] + SCENARIOS[4:5] + SCENARIOS[6:7],
        period_start="2021-01",
        period_end="2021-02",
        dimensions=dimensions,
    )
    result = answer(run(plan_statement(statement_query(asked, books.reader), books.reader)), UNCUT)
    assert cells_tie(result, books)


def test_a_ratio_names_its_operands_each_with_rows_of_its_own(books: Door) -> None:
    asked = StatementRequest(
        statement="pnl", scenarios=SCENARIOS[:1], period_start="2021-01", period_end="2021-01", dimensions=("entity",)
    )
    result = answer(run(plan_statement(statement_query(asked, books.reader), books.reader)), UNCUT)
    rows = {row["key"]: row for row in result["rows"]}
    (total,) = [column for column in result["columns"] if column.get("is_total")]
    parts = {operand: call for _, operand, call in calls(rows["sales_per_head"], total)}
    assert {operand: call["source_key"] for operand, call in parts.items()} == {
        "net_sales": "gl",
        "headcount": "people",
    }
    figures = {operand: figure_behind(call, lambda asked: rows_of(books, **asked)) for operand, call in parts.items()}
    assert figures == {"net_sales": 92, "headcount": 4}
    assert rows["sales_per_head"]["values"][-1] == 23


def test_a_line_that_repeats_its_aggregate_drills_to_all_of_it(books: Door) -> None:
    asked = StatementRequest(
        statement="pnl", scenarios=SCENARIOS[:1], period_start="2021-01", period_end="2021-01", dimensions=("account",)
    )
    result = answer(run(plan_statement(statement_query(asked, books.reader), books.reader)), UNCUT)
    rows = {row["key"]: row for row in result["rows"]}
    ((_, _, call),) = calls(rows["headcount"], result["columns"][0])
    assert call["filters"] == {"account": "(all)", "metric": "pnl.headcount"}
    assert figure_behind(call, lambda asked: rows_of(books, **asked)) == rows["headcount"]["values"][0] == 4
