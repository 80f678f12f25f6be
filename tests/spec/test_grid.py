"""What the inspection grid renders: the answer, with its first rows as texts that people read."""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.requests import RowsRequest
from engine.present.answers.rows import rows_answer
from engine.present.blocks import MOST_ROWS, grid
from engine.queries.rows import row_query
from engine.report.inspection import Inspection, inspect
from tests.support.books.inspected import CAP, UNCUT, ledger

SIGNED = """
    2021-01-05 actual Sales   E1 J1 1234567.89 a
    2021-01-05 actual Returns E1 J1 0.5        b
    2021-01-05 actual Sales   E1 J1 0         c
    2021-01-06 actual Sales   E1 J1 -1000      d
"""


def inspected(books: Door, **asked: Any) -> Inspection:
    """The rows of a call."""
    request = RowsRequest(**{"source_key": "gl", "scenario_id": "actual", **asked})
    return inspect(row_query(request, books.reader, CAP), books.reader)


def rendered(books: Door, budget: int = UNCUT, **asked: Any) -> dict[str, Any]:
    """The render block of a call."""
    inspection = inspected(books, **asked)
    return grid(inspection, rows_answer(inspection, budget))


@pytest.fixture
def books(tmp_path: Path) -> Door:
    """A ledger with amounts of either sign."""
    return ledger(tmp_path, SIGNED)


def test_amounts_are_texts_beside_the_values_of_the_answer(books: Door) -> None:
    block = rendered(books, period_start="2021-01", filters={"metric": "net_sales"}, columns=("account", "amount"))
    assert block["rows"] == [
        ["Returns", ["0.50", 0.5], ["(0.50)", -0.5]],
        ["Sales", ["–", 0], ["–", 0]],
        ["Sales", ["1,234,567.89", 1234567.89], ["1,234,567.89", 1234567.89]],
        ["Sales", ["(1,000.00)", -1000], ["(1,000.00)", -1000]],
    ]
    assert block["contribution_total"] == ["1,233,567.39", 1233567.39]
    assert block["figure"] == ["1,233,567.39", 1233567.39]
    assert block["columns"][-1] == {
        "name": "contribution",
        "label": "Contribution",
        "type": "number",
        "unit": "USD",
        "places": 2,
    }


def test_contributions_have_the_decimals_that_their_weights_make(books: Door) -> None:
    block = rendered(books, period_start="2021-01", filters={"metric": "half"}, columns=("account",))
    assert [row[-1][0] for row in block["rows"]] == ["(0.250)", "–", "617,283.945", "(500.000)"]


def test_counts_have_no_decimals(books: Door) -> None:
    block = rendered(books, period_start="2021-01", filters={"metric": "postings"}, columns=("account",))
    assert {row[-1][0] for row in block["rows"]} == {"1"}
    assert block["contribution_total"] == ["4", 4]


def test_the_grid_is_called_by_its_figure_and_its_source(books: Door) -> None:
    block = rendered(books, period_start="2021-01", filters={"metric": "net_sales"})
    assert (block["metric_label"], block["source_label"]) == ("Net sales", "Gl")
    assert "metric_label" not in rendered(books)
    line = rendered(books, period_start="2021-01", filters={"metric": "pnl.twice"})
    assert line["metric_label"] == "Twice"


def test_the_first_rows_are_rendered_and_what_was_answered_is_counted(tmp_path: Path) -> None:
    facts = "\n".join(f"2021-01-05 actual Sales E1 J{at} {at} a" for at in range(1, 101))
    books = ledger(tmp_path, facts)
    answered = rows_answer(inspected(books), 1000)
    block = rendered(books, 1000)
    assert len(block["rows"]) == MOST_ROWS == 50
    assert block["row_count"] == 100
    assert block["rows_answered"] == len(answered["rows"]) < 100
    assert (block["agent_truncated"], block["truncated"]) == (True, False)
    assert rendered(books, limit=60)["truncated"]
