"""Nothing in formulas: what counts as 0, what makes the whole blank, and what a formula then is.

Rules: Nothing.
"""

from decimal import Decimal

import pytest

from engine.door import Door
from engine.report.data import Comparison
from engine.report.report import Report
from tests.support.books.small import figures, small_books

FORMULAS = {
    "plus": "a + c",
    "minus": "c - a",
    "doubled": "a + 2 * c",
    "neither": "c + d",
    "product": "a + b * c",
    "quotient": "a / b + c / b",
    "by_nothing": "a / b + b / c",
    "by_zero": "a / b + b / zero",
    "constant": "c + 5",
    "with_constant": "a + 5",
    "of_ratio": "share_of_c + share",
    "share": "a / b",
    "share_of_c": "c / b",
}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A is 6, b is 4, zero is 0, and there are no rows of c and d; money is 100 of units 8."""
    natures = "\n              ".join(f"{key}: {{measure: amount, where: {{nature: {key}}}}}" for key in "abcd")
    formulas = "\n              ".join(f"{key}: {{formula: {text}}}" for key, text in FORMULAS.items())
    return small_books(
        tmp_path_factory.mktemp("books"),
        facts={
            "gl": """
            date       scenario nature amount money units
            2021-01-05 actual   a      6      100   8
            2021-01-05 actual   b      4      0     0
            2021-01-05 actual   zero   0      0     0
            """
        },
        domains={
            "gl": f"""
            time: {{column: date}}
            dimensions: {{nature: nature}}
            measures: {{amount: {{type: number}}, money: {{places: 2}}, units: {{type: number}}}}
            metrics:
              zero: {{measure: amount, where: {{nature: zero}}}}
              money: {{measure: money}}
              units: {{measure: units}}
              sum_of_money: {{formula: money - money / 2}}
              and_constant: {{formula: money + 50}}
              times_units: {{formula: money * units}}
              {natures}
              {formulas}
            """
        },
        dimensions="nature: {kind: leaf}",
    )


def asked(books: Door, *metrics: str, scale: int = 0) -> Report:
    """Return some metrics of the month that has rows."""
    return books.metric(*metrics, scenarios={"A": "actual"}, period="2021-01", scale=scale)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("plus", 6),
        ("minus", -6),
        ("doubled", 6),
        ("neither", None),
        ("product", None),
        ("quotient", None),
        ("by_nothing", None),
        ("by_zero", None),
        ("constant", None),
        ("with_constant", 11),
        ("share", Decimal("1.5")),
        ("share_of_c", None),
        ("of_ratio", None),
    ],
)
def test_a_missing_operand_counts_as_zero_in_sums_and_makes_everything_else_blank(
    books: Door, formula: str, expected: Decimal | None
) -> None:
    assert figures(asked(books, formula), "metric") == {formula: expected}


def test_a_formula_adds_up_only_if_its_terms_do(books: Door) -> None:
    report = asked(books, "money", "sum_of_money", "and_constant", "times_units", scale=3)
    units = {line.key: report.unit(line, Comparison.FIGURE) for line in report.lines}
    assert units == {
        "money": "USD thousands",
        "sum_of_money": "USD thousands",
        "and_constant": "USD",
        "times_units": "USD",
    }
