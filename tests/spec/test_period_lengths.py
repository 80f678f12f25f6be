"""The length of the period in formulas: days and periods of the days that a column reads, and the units they make.

Rules: Lengths of the period.
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

QUARTER: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": ("2026-01", "2026-03")}
LEDGER = """
time: {column: date}
dimensions: {product: product}
measures: {amount: {places: 2}, units: {places: 0, type: number}}
balances: {books: {where: {product: C}, grain: month}}
inspect_enabled: true
metrics:
  revenue: {measure: amount, where: {product: [A, B]}}
  sold: {measure: units, where: {product: [A, B]}}
  receivables: {measure: amount, where: {product: C}, over_time: closing, balance: books}
  dso: {formula: receivables / revenue * days(period)}
  a_day: {formula: revenue / days(period)}
"""
FACTS = """
date       scenario product amount units
2024-01-31 actual   A       620    1
2024-02-29 actual   A       580    1
2024-03-31 actual   A       620    1
2025-12-31 actual   A       310    1
2026-01-31 actual   A       200    31
2026-01-31 actual   B       110    0
2026-02-28 actual   A       280    28
2026-03-31 actual   A       310    31
2026-01-31 actual   C       155    0
2026-02-28 actual   C       140    0
2026-03-31 actual   C       450    0
"""


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Revenue of 10 a day in 2026 and of 20 a day in 2024, and receivables at the ends of months."""
    return small_books(
        tmp_path_factory.mktemp("books"),
        facts={"gl": FACTS},
        domains={"gl": LEDGER},
        dimensions="product: {kind: leaf}\nmonth: {kind: leaf, grain: month}",
        statements={"page": "- {metric: revenue}\n- {formula: {key: rate, label: R, is: revenue / days(period)}}\n"},
    )


def fractions(report: Report, line: int, column: int = 0) -> list[Fraction | None]:
    """Return the figures of a line in a column, by place."""
    return [
        Fraction(figure.numerator, figure.denominator) if isinstance(figure, Exact) else None
        for figure in report.figures[line][column]
    ]


def test_days_are_those_of_each_period_and_of_the_whole_range(books: Door) -> None:
    report = books.metric("a_day", "dso", dimensions=["period"], **QUARTER)
    assert fractions(report, 0) == [10, 10, 10, 10]
    assert fractions(report, 1) == [Fraction(155 * 31, 310), Fraction(140 * 28, 280), 45, 45]
    assert fractions(books.statement("page", **QUARTER), 1) == [10]


def test_periods_are_those_of_the_grain_of_the_range(books: Door) -> None:
    formulas = {"mean": "revenue / periods(period)", "run_rate": "revenue / periods(period) * 12"}
    report = books.metric("revenue", formulas=formulas, dimensions=["period"], **QUARTER)
    assert fractions(report, 1) == [310, 280, 310, 300]
    assert fractions(report, 2)[-1] == 3600
    for period, mean in (("2026-Q1", 900), ("2026", 900), (("2026-01-01", "2026-03-31"), 10)):
        of_range = books.metric("revenue", formulas=formulas, scenarios={"A": "actual"}, period=period)
        assert fractions(of_range, 1) == [mean], period


def test_a_column_counts_the_days_of_its_own_window(books: Door) -> None:
    columns = {"A": "actual", "leap": "actual@py2", "ytd": "actual@ytd", "V": "var(actual,actual@py2)"}
    report = books.metric("a_day", scenarios=columns, period=("2026-02", "2026-03"))
    assert [fractions(report, 0, at) for at in range(4)] == [
        [Fraction(590, 59)],
        [Fraction(1200, 60)],
        [Fraction(900, 90)],
        [-10],
    ]


def test_a_length_is_that_of_the_place_whatever_the_members(books: Door) -> None:
    report = books.metric("a_day", dimensions=["product", "period"], subtotals=True, **QUARTER)
    places = [tuple(member.id for member in place.members) for place in report.places]
    found = dict(zip(places, fractions(report, 0), strict=True))
    assert found["A",] == Fraction(790, 90)
    assert found["A", "2026-01"] == Fraction(200, 31)
    assert found[()] == 10


def test_the_units_are_days_and_money_a_day(books: Door) -> None:
    formulas = {
        "of_rate": "receivables / a_day",
        "back": "a_day * days(period)",
        "months": "receivables / (revenue / periods(period))",
        "each_day": "sold / days(period)",
        "share": "days(period) / dso",
        "least": "min(dso, 30)",
    }
    result = answer(books.metric("dso", "a_day", formulas=formulas, **QUARTER), 100_000)
    units = ["days", "USD a day", "days", "USD", "number", "number", "number", "days"]
    assert [column["unit"] for column in result["columns"]] == units
    assert [row["values"] for row in result["rows"]] == [[45, 10, 45, 900, 1.5, 1, 2, 30]]


def test_a_scale_leaves_days_and_money_a_day_as_they_are(books: Door) -> None:
    result = answer(books.metric("revenue", "dso", "a_day", scale=3, **QUARTER), 100_000)
    assert result["rows"][0]["values"] == [0.9, 45, 10]


def test_a_missing_figure_over_days_is_blank(books: Door) -> None:
    report = books.metric("a_day", scenarios={"A": "actual"}, period="2026-02", filters={"product": "B"})
    assert fractions(report, 0) == [None]
    none = books.metric("a_day", scenarios={"B": "budget"}, period="2026-02")
    assert fractions(none, 0) == [None]


def test_the_rows_behind_are_those_of_the_metrics(books: Door) -> None:
    (line,) = books.metric("dso", **QUARTER).lines
    assert line.drill is not None
    assert [call["filters"]["metric"] for call in line.drill["operands"]] == ["receivables", "revenue"]
    with pytest.raises(BadArguments, match="dso is neither a sum"):
        explained(books, "dso", "product")


def test_a_ranking_by_money_a_day_is_the_same_in_frames(books: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"dimensions": ["product"], "order_by": "a_day", "top": 1, **QUARTER}
    listed = answer(books.metric("a_day", "revenue", **asked), 100_000)
    monkeypatch.setattr(ranking, "MAX_SMALL", 0)
    assert answer(books.metric("a_day", "revenue", **asked), 100_000) == listed
    assert [row["values"][1] for row in listed["rows"]] == [790, 110, 900]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("revenue / days(month)", "at character 11: days takes the word period alone: write days.period."),
        ("revenue / periods()", "at character 11: periods takes the word period alone: write periods.period."),
        ("revenue + days(period)", "adds money to days; only like figures add up"),
        ("days(period) / periods(period)", "it names no metric"),
        ("a_day + revenue", "adds money a day to money"),
        ("max(dso, revenue)", "at character 1: max takes days and money"),
    ],
)
def test_a_refusal_says_what_goes_with_days(books: Door, text: str, words: str) -> None:
    with pytest.raises(BadArguments, match=words) as told:
        books.metric("revenue", formulas={"x": text}, **QUARTER)
    assert told.value.field == "formulas.x"


def test_a_mean_of_periods_has_their_mean_length_and_what_lies_before_a_range_none(books: Door) -> None:
    columns = {"mean": "actual@avg3", "last": "actual@last2", "before": "actual@opening"}
    formulas = {"dso2": "receivables / (revenue / days(period))", "mean": "revenue / periods(period)"}
    report = books.metric("a_day", formulas=formulas, scenarios={"M": columns["mean"]}, period="2026-03")
    assert fractions(report, 0) == [10]
    assert fractions(report, 2) == [300]
    mean = Fraction(155 + 140 + 450, 3)
    assert fractions(report, 1) == [mean / 10]
    assert fractions(books.metric("a_day", scenarios={"L": columns["last"]}, period="2026-03"), 0) == [10]
