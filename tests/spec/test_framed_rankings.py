"""Rankings and explanations of many members: their sums stay in frames, and what is shown is exact.

Rules: Ranking.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.model.requests import ColumnRequest, ExplainRequest, MetricRequest
from engine.plans import class_members
from engine.plans.figures import plan_metrics
from engine.plans.framed_figures import FramedFigures
from engine.plans.report_size import ReportSize
from engine.queries.explanations import explain_query
from engine.queries.reports import metric_query
from engine.report import ranking
from engine.report.explain import explain
from engine.report.report import Report
from engine.report.run import run
from tests.support.books.small import small_books

GL = """
time: {column: date}
dimensions: {customer: customer}
measures: {amount: {places: 2}, units: {places: 0, type: number}}
metrics:
  revenue: {measure: amount}
  sold: {measure: units}
  price: {formula: revenue / sold}
"""
DIMENSIONS = "customer: {kind: leaf}\nperiod: {kind: leaf, grain: month}\n"
A = {"A": "actual"}
MANY = 1_500
Cents = dict[tuple[str, int], int]  # by scenario and customer


def shop(folder: Path, rows: Iterator[str]) -> Door:
    """Return books of sales by customer."""
    facts = "\n".join(("date scenario customer amount units", *rows))
    return small_books(folder, facts={"gl": facts}, domains={"gl": GL}, dimensions=DIMENSIONS)


def shown(report: Report, column: int = 0) -> list[tuple[str, Fraction | None]]:
    """Return the members of the places of a report, with their first figure in a column."""
    return [
        (
            place.members[0].id if place.members else "total",
            Fraction(figure.numerator, figure.denominator) if isinstance(figure, Exact) else None,
        )
        for place, figure in zip(report.places, report.figures[0][column], strict=True)
    ]


@pytest.fixture
def framed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let every ranking stay in frames; return a list that gets an entry for each that was ranked there."""
    monkeypatch.setattr(ranking, "MAX_SMALL", 0)
    return counted(monkeypatch)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry for each ranking that was made in frames."""
    made: list[int] = []
    only: Callable[..., Any] = FramedFigures.only

    def counting(self: FramedFigures, members: Any) -> Any:
        made.append(len(members))
        return only(self, members)

    monkeypatch.setattr(FramedFigures, "only", counting)
    return made


@pytest.mark.parametrize("asc", [False, True])
def test_a_ranking_of_many_members_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, asc: bool) -> None:
    drawn = Random(7)
    cents: Cents = {}
    rows = []
    for at in range(MANY):
        for scenario in ("actual", "budget"):
            if scenario == "actual" or at % 5:
                amount = drawn.randint(-9, 9) * 10 + (at % 3 == 0) * drawn.randint(-(10**9), 10**9)
                cents[scenario, at] = amount
                rows.append(f"2021-{1 + at % 12:02}-05 {scenario} K{at:05} {amount / 100:.2f} 1")
    books = shop(tmp_path, iter(rows))
    made = counted(monkeypatch)
    columns = {"V": "var(actual,budget)", "A": "actual"}
    report = books.metric("revenue", scenarios=columns, period="2021", dimensions=["customer"], top=40, asc=asc)
    variances = {at: cents["actual", at] - cents.get(("budget", at), 0) for at in range(MANY)}
    ordered = sorted(variances, key=lambda at: (variances[at] if asc else -variances[at], at))
    others = sum(variances[at] for at in ordered[40:])
    assert made == [40]
    assert shown(report) == [
        *((f"K{at:05}", Fraction(variances[at], 100)) for at in ordered[:40]),
        ("(others)", Fraction(others, 100)),
        ("total", Fraction(sum(variances.values()), 100)),
    ]
    assert report.places[-2].holds == MANY - 40
    assert shown(report, 1)[-2] == ("(others)", Fraction(sum(cents["actual", at] for at in ordered[40:]), 100))


def test_equal_figures_stand_by_id_where_the_last_one_shown_is_among_them(tmp_path: Path, framed: list[int]) -> None:
    books = shop(
        tmp_path,
        (f"2021-01-05 actual {name} {amount} 1" for name, amount in zip("DBCAE", (5, 7, 7, 7, 9), strict=True)),
    )
    report = books.metric("revenue", scenarios=A, period="2021", dimensions=["customer"], top=3)
    assert [name for name, _ in shown(report)[:-1]] == ["E", "A", "B", "(others)"]
    assert framed == [3]


def test_sums_of_months_that_pass_63_bits_together_are_exact(tmp_path: Path, framed: list[int]) -> None:
    amount = "90000000000000000.01"  # in cents two of them pass 63 bits
    months = {"A": (1, 2), "B": (1,)}
    rows = (f"2021-{month:02}-05 actual {name} {amount} 1" for name, each in months.items() for month in each)
    report = shop(tmp_path, rows).metric("revenue", scenarios=A, period="2021", dimensions=["customer"], top=1)
    one = Fraction(amount)
    assert shown(report) == [("A", 2 * one), ("(others)", one), ("total", 3 * one)]
    assert framed == [1]


def test_whole_numbers_that_doubles_round_up_are_all_ranked(tmp_path: Path, framed: list[int]) -> None:
    least = 2**53 + 3  # its double is one more
    books = shop(
        tmp_path, (f"2021-01-05 actual {name} 1 {least + more}" for name, more in (("A", 0), ("B", 4), ("C", -2)))
    )
    report = books.metric("sold", scenarios=A, period="2021", dimensions=["customer"], top=2)
    assert [name for name, _ in shown(report)] == ["B", "A", "(others)", "total"]
    assert framed == [2]


def test_ratios_that_no_double_tells_apart_are_ordered_by_fractions(tmp_path: Path, framed: list[int]) -> None:
    least = 2**53
    below = {"A": least + 4, "B": least + 2, "C": least + 3, "Z": least}
    assert len({(under + 1) / under for under in below.values()}) == 1
    rows = (f"2021-01-05 actual {name} {under + 1} {under}" for name, under in below.items())
    books = shop(tmp_path, rows)
    for asc, order in ((False, ["Z", "B", "C"]), (True, ["A", "C", "B"])):
        report = books.metric("price", scenarios=A, period="2021", dimensions=["customer"], top=3, asc=asc)
        assert [name for name, _ in shown(report)[:3]] == order
    assert framed == [3, 3]


@pytest.mark.parametrize(("reference", "relative"), [("var(actual,budget)", False), ("var_pct(actual,budget)", True)])
@pytest.mark.parametrize("asc", [False, True])
def test_members_are_ordered_by_the_variance_of_a_ratio(
    tmp_path: Path, framed: list[int], reference: str, *, relative: bool, asc: bool
) -> None:
    drawn = Random(13)
    sold = {
        (scenario, at): (drawn.randint(-5, 5) * 7, drawn.randint(-3, 3))
        for scenario in ("actual", "budget")
        for at in range(60)
        if scenario == "actual" or at % 4
    }
    rows = (f"2021-01-05 {scenario} C{at:02} {amount} {units}" for (scenario, at), (amount, units) in sold.items())
    books = shop(tmp_path, rows)
    report = books.metric("price", scenarios={"V": reference}, period="2021", dimensions=["customer"], top=30, asc=asc)
    prices = {key: Fraction(amount, units) for key, (amount, units) in sold.items() if units}
    both = {
        at: (prices["actual", at], prices["budget", at])
        for _, at in prices
        if len({("actual", at), ("budget", at)} & prices.keys()) == 2
    }
    variances = {at: (a - b) / abs(b) if relative else a - b for at, (a, b) in both.items() if b or not relative}
    ordered = sorted(variances, key=lambda at: (variances[at] if asc else -variances[at], at))
    assert len(ordered) > 15
    blank = sorted({at for _, at in sold} - variances.keys())
    expected = [*((f"C{at:02}", variances[at]) for at in ordered), *((f"C{at:02}", None) for at in blank)]
    assert shown(report)[:30] == expected[:30]
    assert framed == [30]


def test_variances_of_ratios_that_no_double_tells_apart_are_ordered_by_fractions(
    tmp_path: Path, framed: list[int]
) -> None:
    below = {"A": 2**40 + 4, "B": 2**40 + 2, "C": 2**40 + 3, "Z": 2**40}
    assert len({2**33 - 1 / under for under in below.values()}) == 1
    rows = [f"2021-01-05 actual {name} {2**33} 1" for name in below]
    rows += [f"2021-01-05 budget {name} 1 {under}" for name, under in below.items()]
    books = shop(tmp_path, iter(rows))
    for asc, order in ((False, ["A", "C", "B"]), (True, ["Z", "B", "C"])):
        report = books.metric(
            "price", scenarios={"V": "var(actual,budget)"}, period="2021", dimensions=["customer"], top=3, asc=asc
        )
        assert [name for name, _ in shown(report)[:3]] == order
    assert framed == [3, 3]


def test_a_figure_that_no_column_holds_is_computed_member_by_member(
    tmp_path: Path, framed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    books = shop(tmp_path, (f"2021-01-05 actual {name} {amount} 1" for name, amount in (("A", 5), ("B", 7), ("C", 6))))
    monkeypatch.setattr(class_members, "INT128_LIMIT", 100)
    report = books.metric("revenue", scenarios=A, period="2021", dimensions=["customer"], top=1)
    assert shown(report) == [("B", 7), ("(others)", 11), ("total", 18)]
    assert framed == []


def test_what_stays_in_frames_is_admitted_before_anything_is_read(tmp_path: Path, framed: list[int]) -> None:
    books = shop(tmp_path, (f"2021-{month:02}-05 actual C{at:03} 1 1" for at in range(50) for month in (1, 2, 3)))
    asked = MetricRequest(
        metrics=("revenue",),
        scenarios=(ColumnRequest(scenario="actual", alias="A"),),
        dimensions=("customer",),
        top=2,
        period_start="2021",
        period_end="2021",
    )
    plan = plan_metrics(metric_query(asked, books.reader), books.reader)

    def refuse(size: ReportSize) -> None:
        assert size.sums == (50 + 1) * 3  # a customer may be unassigned
        assert size.bytes > size.sums
        raise BadArguments("no memory")

    with pytest.raises(BadArguments, match="no memory"):
        run(plan, admit=refuse)
    assert framed == []


def test_contributions_of_many_members_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Random(11)
    cents = {(scenario, at): drawn.randint(-(10**7), 10**7) for scenario in ("actual", "budget") for at in range(MANY)}
    cents |= {(scenario, MANY): cents.pop((scenario, 3)) for scenario in ("actual", "budget")}  # a gap in the ids
    rows = (f"2021-02-05 {scenario} K{at:05} {amount / 100:.2f} 1" for (scenario, at), amount in cents.items())
    books = shop(tmp_path, rows)
    made = counted(monkeypatch)
    asked = ExplainRequest(
        metric="revenue",
        scenarios=("actual", "budget"),
        by=("customer",),
        top=5,
        period_start="2021",
        period_end="2021",
    )
    found = explain(explain_query(asked, books.reader), books.reader)
    sides = {at: (cents["actual", at], cents["budget", at]) for _, at in cents}
    ordered = sorted(sides, key=lambda at: (-abs(sides[at][0] - sides[at][1]), at))
    shown = [(f"K{at:05}", *sides[at]) for at in ordered[:5]]
    others = ("(others)", *(sum(sides[at][side] for at in ordered[5:]) for side in (0, 1)))
    (listed,) = found.lists
    told = [
        (row.key, *(Fraction(side.numerator * 100, side.denominator) for side in (row.a, row.b) if side))
        for row in listed.rows
    ]
    assert made == [5]
    assert told == [*shown, others]
    assert listed.rows[-1].holds == MANY - 5
    assert sum(Fraction(row.contribution.numerator, row.contribution.denominator) for row in listed.rows) == Fraction(
        sum(a - b for a, b in sides.values()), 100
    )


def test_the_currency_of_others_is_that_of_all_members(tmp_path: Path, framed: list[int]) -> None:
    rows = (("A", "EUR", 9), ("B", "USD", 5), ("C", "USD", 4), ("D", "USD", 3))
    books = small_books(
        tmp_path,
        facts={
            "gl": "\n".join(
                (
                    "date scenario customer ccy amount",
                    *(f"2021-01-05 actual {name} {ccy} {amount}" for name, ccy, amount in rows),
                )
            )
        },
        domains={
            "gl": "time: {column: date}\ndimensions: {customer: customer, ccy: ccy}\n"
            "measures: {amount: {places: 2, currency: ccy}}\nmetrics:\n  revenue: {measure: amount}\n"
        },
        dimensions=f"{DIMENSIONS}ccy: {{kind: leaf}}\n",
    )
    mixed = books.metric("revenue", scenarios=A, period="2021", dimensions=["customer"], top=1)
    assert [place.currency for place in mixed.places] == ["EUR", "USD", None]
    assert framed == []
    alone = books.metric(
        "revenue", scenarios=A, period="2021", dimensions=["customer"], top=1, filters={"ccy": ["USD"]}
    )
    assert shown(alone) == [("B", 5), ("(others)", 7), ("total", 12)]
    assert framed == [1]


def test_a_missing_side_counts_as_zero_in_the_order(tmp_path: Path, framed: list[int]) -> None:
    rows = (
        *("2021-01-05 actual A 10 1", "2021-01-05 budget A 9 1", "2021-01-05 actual B 5 1"),
        *("2021-12-31 actual C 1 1", "2021-12-31 budget C 1 1"),  # the year is loaded to its end
    )
    report = shop(tmp_path, iter(rows)).metric(
        "revenue", scenarios={"V": "var(actual,budget)"}, period="2021", dimensions=["customer"], top=1
    )
    assert shown(report) == [("B", 5), ("(others)", 1), ("total", 6)]
    assert framed == [1]


def test_members_that_a_filter_keeps_and_a_ranking_does_not_show_count_in_the_total_alone(
    tmp_path: Path, framed: list[int]
) -> None:
    amounts = {"A": 5, "B": 3, "C": 4, "D": 2}
    books = shop(tmp_path, (f"2021-01-05 actual {name} {amount} 1" for name, amount in amounts.items()))
    kept = {"customer": ["B", "C", "D"]}
    report = books.metric("revenue", scenarios=A, period="2021", dimensions=["customer"], top=1, filters=kept)
    assert shown(report) == [("C", 4), ("(others)", 5), ("total", 9)]
    assert framed == [1]


def test_a_variance_of_a_ratio_has_no_figures_where_one_side_is_nothing(tmp_path: Path, framed: list[int]) -> None:
    rows = [f"2021-01-05 actual {name} 1 {2**62}" for name in "AB"]  # in hundredths the units pass 63 bits
    rows.append("2021-01-05 budget C 0 0")
    report = shop(tmp_path, iter(rows)).metric(
        "price", scenarios={"V": "var(actual,budget)", "A": "actual"}, period="2021", dimensions=["customer"], top=1
    )
    assert shown(report)[0] == ("A", None)
    assert shown(report, 1)[0] == ("A", Fraction(1, 2**62))
    assert framed == [1]
