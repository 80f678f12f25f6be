"""The members below material lines where a tree weighs: what each counts for in its line, and what the note says.

Rules: Material lines.
"""

from fractions import Fraction
from typing import Any

import pytest

from engine.door import Door
from engine.model.exact import Exact
from engine.model.requests import LineMateriality
from engine.report.report import Report
from tests.laws.oracle.asking import UNCUT
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.small import small_books

AMOUNTS = {"actual": {"EU": 90, "US": 50, "AP": 7}, "budget": {"EU": 50, "US": 20}}
WEIGHTS = {"EU": Fraction(1), "US": Fraction(-1), "AP": Fraction(1, 2)}  # in All
DOMAIN = """
    time: {column: date}
    dimensions: {region: region}
    measures: {amount: {places: 2}}
    inspect_enabled: true
    metrics:
      sales: {measure: amount, favourable: up}
"""
OF_DAYS = """
    time: {column: date}
    dimensions: {}
    measures: {shifts: {type: number, places: 0}}
    inspect_enabled: true
    metrics:
      shifts: {measure: shifts, repeats: true}
"""
DIMENSIONS = """
    region: {kind: leaf}
    world: {kind: ragged, leaf_dimension: region, nodes: live.world}
"""
LINES = """
    - {metric: sales}
    - {rollup: {dimension: world, node: All, metric: sales, depth: 0}, key: net}
    - {formula: {key: planned, label: Planned, is: sales * days.shifts}}
"""
SIDES = {"A": "actual", "B": "budget", "V": "var(actual,budget)"}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Sales by region, once as posted and once weighed by a tree."""
    rows = [f"2026-01-10 {side} {region} {amount}" for side, each in AMOUNTS.items() for region, amount in each.items()]
    nodes = [f"{region} All {float(weight)}" for region, weight in WEIGHTS.items()]
    return small_books(
        tmp_path_factory.mktemp("weighed"),
        facts={
            "gl": "\n".join(["date scenario region amount", *rows]),
            "days": "date scenario shifts\n2026-01-31 actual 2\n2026-01-31 budget 3",
        },
        domains={"gl": DOMAIN, "days": OF_DAYS},
        dimensions=DIMENSIONS,
        tables={"world": "\n".join(["node parent weight", "All - 1", *nodes])},
        statements={"pl": LINES},
    )


def flux(books: Door, by: str, top: int) -> Report:
    """Return the statement with the largest members of its lines."""
    test = LineMateriality(of="V", absolute=1, by=by, top=top)
    return books.statement("pl", scenarios=SIDES, period="2026-01", materiality=test)


def shown(report: Report) -> dict[str, tuple[Fraction | None, list[Fraction | None]]]:
    """Return what each row counts for in its line, and its figures of both sides and their variance."""

    def fraction(figure: Any) -> Fraction | None:
        return Fraction(figure.numerator, figure.denominator) if isinstance(figure, Exact) else None

    return {
        line.key: (fraction(line.into_parent), [fraction(column[-1]) for column in columns])
        for line, columns in zip(report.lines, report.figures, strict=True)
    }


def sides(weights: dict[str, Fraction]) -> list[Fraction | None]:
    """Return the sums of some regions by weight in both sides, and their variance."""
    a, b = (
        [amount * weights[region] for region, amount in each.items() if region in weights] for each in AMOUNTS.values()
    )
    return [sum(a, Fraction()), sum(b, Fraction()) if b else None, sum(a, Fraction()) - sum(b, Fraction())]


def test_members_of_a_weighted_tree_count_in_their_line_and_a_note_says_where_they_do_not(books: Door) -> None:
    report, plain = flux(books, "world", 2), dict.fromkeys(WEIGHTS, Fraction(1))
    signed = {"EU": Fraction(1), "US": Fraction(-1)}
    assert {key: row for key, row in shown(report).items() if not key.startswith("planned")} == {
        "sales": (None, sides(plain)),
        "sales/EU": (None, sides({"EU": Fraction(1)})),
        "sales/US": (Fraction(-1), sides({"US": Fraction(1)})),
        "sales/(others)": (None, sides({"AP": Fraction(1, 2)})),
        "net": (None, sides(WEIGHTS)),
        "net/EU": (None, sides({"EU": signed["EU"]})),
        "net/US": (None, sides({"US": signed["US"]})),
        "net/(others)": (None, sides({"AP": Fraction(1, 2)})),
    }
    differing = "sales of A: 43.5 against 147, sales of B: 30 against 70"
    differing += ", planned of A: 87 against 294, planned of B: 90 against 210"
    assert [note.message for note in report.notes if note.code == "weighted_rows"] == [
        "world weighs: its rows do not add up to the total as they stand; each counts times its into_parent.",
        f"world weighs: members below a line do not add up to it ({differing}).",
    ]


def test_members_that_a_line_weighs_are_ranked_by_what_they_count_for(books: Door) -> None:
    report = flux(books, "region", 1)
    assert shown(report)["net"] == (None, sides(WEIGHTS))
    assert shown(report)["net/EU"] == (None, sides({"EU": Fraction(1)}))
    assert shown(report)["net/(others)"] == (None, sides({"US": Fraction(-1), "AP": Fraction(1, 2)}))
    assert not [note for note in report.notes if note.code == "weighted_rows"]


def test_an_operand_without_the_dimension_keeps_its_rows_below_a_line(books: Door) -> None:
    report = flux(books, "region", 1)
    assert shown(report)["planned/US"][1][:2] == [100, 60]
    result = answer(report, UNCUT)
    row = next(row for row in result["rows"] if row["key"] == "planned/US")
    made = [figure_behind(call, lambda given: rows_of(books, **given)) for *_, call in calls(row, result["columns"][0])]
    assert made == [50, 2]
