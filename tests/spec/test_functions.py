"""Functions of formulas: min, max, abs, round and if, of the catalogue and of a request alike.

Rules: Functions.
"""

from fractions import Fraction
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.report import ranking
from engine.report.report import Report
from tests.support.answers.reader import answer
from tests.support.books.explained import explained
from tests.support.books.small import small_books

MONTHS: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": ("2026-01", "2026-03")}
TAX = "max(result, 0) * 0.25"
LEDGER = """
time: {column: date, grain: month}
dimensions: {product: product}
measures: {amount: {places: 2}, units: {places: 0, type: number}}
inspect_enabled: true
metrics:
  result: {measure: amount}
  sold: {measure: units}
  tax: {formula: "max(result, 0) * 0.25"}
  after_tax: {formula: result - tax}
  unit_price: {formula: "if(sold != 0, result / sold, 0)"}
  per_unit: {formula: result / sold}
  guarded: {formula: "if(sold != 0, per_unit, 0)"}
"""
FACTS = """
date    scenario product amount units
2026-01 actual   A       70     7
2026-01 actual   B       20     0
2026-02 actual   A       -20    2
2026-03 actual   B       40     4
2026-01 budget   A       100    5
"""


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Results of three months by product: 90, -20 and 40; B sells nothing in January, A nothing in March."""
    return small_books(
        tmp_path_factory.mktemp("books"),
        facts={"gl": FACTS},
        domains={"gl": LEDGER},
        dimensions="product: {kind: leaf}",
        statements={"page": "- {metric: result}\n- {formula: {key: tax_line, label: T, is: 'max(result, 0) / 4'}}\n"},
    )


def fractions(report: Report, line: int) -> list[Fraction | None]:
    """Return the figures of a line in the first column, by place."""
    return [
        Fraction(figure.numerator, figure.denominator) if isinstance(figure, Exact) else None
        for figure in report.figures[line][0]
    ]


def notes(report: Report) -> dict[str, str]:
    """Return the messages of the notes of a report by code."""
    return {note.code: note.message for note in report.notes}


def test_a_function_of_a_range_is_that_of_the_figure_of_the_range(books: Door) -> None:
    report = books.metric("result", "tax", "after_tax", formulas={"asked": TAX}, dimensions=["period"], **MONTHS)
    assert fractions(report, 0) == [90, -20, 40, 110]
    expected = [Fraction(45, 2), 0, 10, Fraction(55, 2)]
    assert fractions(report, 1) == fractions(report, 3) == expected
    assert fractions(report, 2) == [Fraction(135, 2), -20, 30, Fraction(165, 2)]
    said = "is worked out from the figures of the whole: it is not the sum of its months."
    assert notes(report)["not_summed"] == f"'tax', 'after_tax' or 'asked' {said}"
    alone = books.metric("tax", **MONTHS)
    assert fractions(alone, 0) == [Fraction(55, 2)]
    assert notes(alone)["not_summed"] == f"'tax' {said}"
    assert "not_summed" not in notes(books.metric("tax", scenarios={"A": "actual"}, period="2026-01"))
    assert "not_summed" not in notes(books.metric("per_unit", **MONTHS))


def test_a_total_over_members_is_the_function_of_the_total(books: Door) -> None:
    report = books.metric("result", formulas={"tax2": TAX}, dimensions=["product"], **MONTHS)
    assert fractions(report, 0) == [50, 60, 110]
    assert fractions(report, 1) == [Fraction(25, 2), 15, Fraction(55, 2)]
    assert notes(report)["not_summed"].endswith("it is not the sum of its months or of its members.")


def test_a_line_of_a_statement_may_be_a_function(books: Door) -> None:
    report = books.statement("page", **MONTHS)
    assert fractions(report, 1) == [Fraction(55, 2)]
    assert notes(report)["not_summed"].startswith("'tax_line' is worked out")


def test_a_missing_argument_makes_the_whole_formula_blank(books: Door) -> None:
    both = books.metric("tax", **MONTHS, dimensions=["product", "period"])
    assert fractions(both, 0) == [Fraction(35, 2), 0, None, 5, None, 10, Fraction(55, 2)]
    blank = books.metric("tax", scenarios={"B": "budget"}, period=("2026-01", "2026-02"), dimensions=["period"])
    assert fractions(blank, 0)[0] == 25
    assert fractions(blank, 0)[1] is None


def test_a_choice_computes_the_branch_that_it_takes_alone(books: Door) -> None:
    asked: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2026-01", "dimensions": ["product"]}
    report = books.metric("per_unit", "unit_price", "guarded", **asked)
    assert fractions(report, 0) == [10, None, Fraction(90, 7)]
    assert fractions(report, 1) == fractions(report, 2) == [10, 0, Fraction(90, 7)]
    assert [note.code for note in report.notes if note.code in ("no_divisor", "no_rows")] == ["no_divisor"]
    result = answer(books.metric("unit_price", "tax", formulas={"loss": "if(result < 0, 1, 0)"}, **asked), 100_000)
    assert [column["unit"] for column in result["columns"]] == ["USD each", "USD", "number"]


def test_a_variance_is_that_of_the_functions_of_both_sides(books: Door) -> None:
    asked: dict[str, Any] = {"scenarios": {"V": "var(actual,budget)", "A": "actual@pp"}, "period": "2026-01"}
    report = books.metric("tax", **asked)
    assert fractions(report, 0) == [Fraction(45, 2) - 25]


def test_the_rows_behind_a_function_are_those_of_its_operands(books: Door) -> None:
    report = books.metric("tax", formulas={"asked": "if(sold > 0, abs(result), result)"}, **MONTHS)
    drills = [line.drill for line in report.lines]
    assert [[call["filters"]["metric"] for call in drill["operands"]] for drill in drills if drill] == [
        ["result"],
        ["sold", "result"],
    ]


def test_an_explanation_of_a_function_is_refused_with_what_can_be_explained(books: Door) -> None:
    with pytest.raises(
        BadArguments, match="tax is neither a sum over its members nor one such sum over another"
    ) as told:
        explained(books, "tax", "product", period="2026-01")
    assert told.value.field == "metric"
    assert "tax" not in told.value.valid
    assert "result" in told.value.valid


def test_a_ranking_by_a_function_is_the_same_in_frames(books: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"dimensions": ["product"], "order_by": "asked", "top": 1, **MONTHS}
    formulas = {"asked": "min(result, 55)"}
    listed = answer(books.metric("tax", formulas=formulas, **asked), 100_000)
    monkeypatch.setattr(ranking, "MAX_SMALL", 0)
    assert answer(books.metric("tax", formulas=formulas, **asked), 100_000) == listed
    assert [row["values"][1] for row in listed["rows"]] == [55, 50, 55]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max(result, sold)", "at character 1: max takes money and number; give it figures of one kind"),
        ("result + round(result, sold)", "at character 10: round takes a whole number of places from -12 to 12"),
        ("if(sold > 1, result, sold)", "at character 1: if chooses between money and number"),
        (
            "median(result)",
            "at character 1: there is no function 'median'; there are min, max, abs, round, if, days",
        ),
        ("result * max(sold)", "at character 10: max takes 2 to 20 arguments, not 1: write max.a, b."),
        ("if(result, 1, 2)", "at character 10: a condition takes one of < <= = != >= >"),
        ("max(2, 3)", "it names no metric"),
    ],
)
def test_a_refusal_names_the_character_and_the_grammar(books: Door, text: str, words: str) -> None:
    with pytest.raises(BadArguments, match=words) as told:
        books.metric("result", formulas={"x": text}, **MONTHS)
    assert told.value.field == "formulas.x"
    assert "min(a, b), max(a, b), abs(a), round(a, places), if(a > b, x, y)" in str(told.value)
