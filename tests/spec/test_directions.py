"""Directions and units of changes as answers say them: of negative figures in words, of fractions in points."""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.stopping import never
from engine.present.answers.budget import NOT_KEPT
from engine.present.answers.explanations import explanation_answer
from engine.present.answers.reports import answer
from tests.support.books.explained import explained
from tests.support.books.small import small_books

UNCUT = 10**9  # tokens
BOTH = {"A": "actual", "B": "budget", "V": "var(actual,budget)"}


def books_of(folder: Path, rows: str) -> Door:
    """Revenue and costs by month; costs as the rows have them, more of them being worse where they are negative."""
    return small_books(
        folder,
        facts={"gl": f"date scenario account amount\n{rows}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount, where: {account: R}, favourable: up}
              costs: {measure: amount, where: {account: C}, favourable: up}
              booked: {measure: amount, where: {account: C}, favourable: down}
              cost_share: {formula: costs / revenue, format: percent, favourable: up}
            """
        },
        dimensions="account: {kind: leaf}",
        statements={"pnl": "- metric: revenue\n- metric: costs\n- metric: booked\n- metric: cost_share"},
    )


NEGATIVE = """2021-01-05 actual R 100
2021-01-05 actual C -60
2021-01-05 budget R 100
2021-01-05 budget C -50"""


def said(entries: list[dict[str, Any]]) -> dict[str, tuple[str | None, str | None]]:
    """Return the direction and the unit of differences that each line or metric says."""
    return {entry["key"]: (entry.get("favourable"), entry.get("variance_unit")) for entry in entries}


@pytest.mark.parametrize(
    ("rows", "costs", "booked"),
    [
        (NEGATIVE, "less negative", "more negative"),
        (NEGATIVE.replace("-", "").replace("20210105", "2021-01-05"), None, "down"),
        (NEGATIVE.replace("C -50", "C 50"), None, "down"),  # of both signs
    ],
)
def test_a_direction_is_in_words_where_the_figures_are_negative(
    tmp_path: Path, rows: str, costs: str | None, booked: str
) -> None:
    books = books_of(tmp_path, rows)
    lines = {"revenue": (None, None), "costs": (costs, None), "booked": (booked, None), "cost_share": (costs, "pp")}
    statement = books.statement("pnl", scenarios=BOTH, period="2021-01")
    assert said(answer(statement, UNCUT)["rows"]) == lines
    metrics = books.metric("revenue", "costs", "booked", "cost_share", scenarios=BOTH, period="2021-01")
    assert said(answer(metrics, UNCUT)["metrics"]) == lines


def test_without_a_column_of_differences_no_unit_of_them_is_said(tmp_path: Path) -> None:
    books = books_of(tmp_path, NEGATIVE)
    shares = {"A": "actual", "%": "var_pct(actual,budget)"}
    found = answer(books.metric("cost_share", scenarios=shares, period="2021-01"), UNCUT)
    assert said(found["metrics"]) == {"cost_share": ("less negative", None)}


def test_an_explained_variance_says_both_too(tmp_path: Path) -> None:
    books = books_of(tmp_path, NEGATIVE)
    share = explanation_answer(explained(books, "cost_share", "account", period="2021-01"), UNCUT, NOT_KEPT, never)
    assert (share["unit"], share["variance_unit"], share["favourable"]) == ("fraction", "pp", "less negative")
    costs = explanation_answer(explained(books, "costs", "account", period="2021-01"), UNCUT, NOT_KEPT, never)
    assert (costs["favourable"], costs.get("variance_unit")) == ("less negative", None)
    (row,) = costs["lists"][0]["rows"]
    assert (row["key"], row["contribution"], row["favourable"]) == ("C", -10, False)
