"""Rankings of many members broken down further: sums of all combinations stay in frames, and what is shown is exact.

Rules: Ranking.
"""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.model.requests import ColumnRequest, MetricRequest
from engine.plans.figures import plan_metrics
from engine.plans.framed_figures import FramedFigures
from engine.plans.report_size import MAX_UNCOUNTED, ReportSize
from engine.queries.reports import metric_query
from engine.report import ranking
from engine.report.report import Report
from engine.report.run import run
from tests.support.books.small import small_books

GL = """
time: {column: date}
dimensions: {customer: customer, region: region}
measures: {amount: {places: 2}}
metrics:
  revenue: {measure: amount}
  mean: {measure: amount, over_members: average}
  least: {measure: amount, over_members: min}
  most: {measure: amount, over_members: max}
  negated: {measure: amount, over_members: max, sign: negate}
"""
DIMENSIONS = "customer: {kind: leaf}\nregion: {kind: leaf}\nperiod: {kind: leaf, grain: month}\n"
MANY, REGIONS = 1_200, 6
Shown = dict[tuple[str, ...], Fraction | None]
MAKE: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "mean": lambda each: sum(each, Fraction(0)) / len(each),
    "least": min,
    "most": max,
    "negated": lambda each: max(-amount for amount in each),
}
Rows = list[tuple[str, str, str, int]]  # month, customer, region, cents


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Return sales of customers, most of which buy in few regions."""
    drawn = Random(17)
    return [
        (f"2021-{drawn.randint(1, 12):02}", f"K{at:05}", f"R{drawn.randint(0, REGIONS - 1)}", drawn.randint(-50, 50))
        for at in range(MANY)
        for _ in range(1 + at % 5)
    ]


@pytest.fixture(scope="module")
def shop(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Return books of these sales."""
    written = (f"{month}-05 actual {customer} {region} {cents / 100:.2f}" for month, customer, region, cents in rows)
    facts = "\n".join(("date scenario customer region amount", *written))
    folder = tmp_path_factory.mktemp("shop")
    return small_books(folder, facts={"gl": facts}, domains={"gl": GL}, dimensions=DIMENSIONS)


@pytest.fixture
def framed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry for each ranking that was made in frames."""
    counts: list[int] = []
    only: Callable[..., Any] = FramedFigures.only

    def counting(self: FramedFigures, members: Any) -> Any:
        counts.append(len(members))
        return only(self, members)

    monkeypatch.setattr(FramedFigures, "only", counting)
    return counts


def figures(report: Report) -> Shown:
    """Return the figures of a report by the members of their place."""
    return {
        tuple(member.id for member in place.members): Fraction(figure.numerator, figure.denominator)
        if isinstance(figure, Exact)
        else None
        for place, figure in zip(report.places, report.figures[0][0], strict=True)
    }


def sums(rows: Rows, key: Callable[[tuple[str, str, str]], tuple[str, ...]]) -> dict[tuple[str, ...], Fraction]:
    """Return the sums of the rows by a key of their month, customer and region."""
    totals: dict[tuple[str, ...], Fraction] = {}
    for month, customer, region, cents in rows:
        where = key((month, customer, region))
        totals[where] = totals.get(where, Fraction(0)) + Fraction(cents, 100)
    return totals


def first_customers(rows: Rows, *, asc: bool = False) -> list[str]:
    """Return the seven first customers by their sum, then by id."""
    by_customer = sums(rows, lambda row: row[1:2])
    ordered = sorted(by_customer, key=lambda key: (by_customer[key] if asc else -by_customer[key], key))
    return [customer for (customer,) in ordered[:7]]


def test_combinations_below_the_first_members_are_whole(rows: Rows, shop: Door, framed: list[int]) -> None:
    report = shop.metric("revenue", scenarios={"A": "actual"}, period="2021", dimensions=["customer", "region"], top=7)
    first = first_customers(rows)
    expected = sums(rows, lambda row: (row[1] if row[1] in first else "(others)", row[2]))
    assert figures(report) == expected | sums(rows, lambda _: ())
    assert list(dict.fromkeys(place.members[0].id for place in report.places[:-1])) == [*first, "(others)"]
    assert {place.holds for place in report.places[:-1] if place.members[0].id == "(others)"} == {MANY - 7}
    assert framed == [7]


def test_nested_groups_of_the_first_members_are_ranked(rows: Rows, shop: Door, framed: list[int]) -> None:
    report = shop.metric(
        "revenue",
        scenarios={"A": "actual"},
        period="2021",
        dimensions=["customer", "region"],
        top=7,
        subtotals=True,
        asc=True,
    )
    first = first_customers(rows, asc=True)
    by_customer = sums(rows, lambda row: (row[1] if row[1] in first else "(others)",))
    below = sums(rows, lambda row: (row[1] if row[1] in first else "(others)", row[2]))
    expected: list[tuple[str, ...]] = []
    for customer in (*first, "(others)"):
        regions = (key for key in below if key[0] == customer)
        expected += [(customer,), *sorted(regions, key=lambda key: (below[key], key))]
    assert [tuple(member.id for member in place.members) for place in report.places] == [*expected, ()]
    assert figures(report) == by_customer | below | sums(rows, lambda _: ())
    assert framed == [7]


def test_periods_below_combinations_are_those_of_the_members_shown(rows: Rows, shop: Door, framed: list[int]) -> None:
    report = shop.metric(
        "revenue",
        scenarios={"A": "actual"},
        period=("2021-01", "2021-12"),
        dimensions=["customer", "region", "period"],
        top=7,
    )
    first = first_customers(rows)
    expected = sums(rows, lambda row: (row[1] if row[1] in first else "(others)", row[2], row[0]))
    present = {key: figure for key, figure in figures(report).items() if figure is not None}
    assert present == expected | sums(rows, lambda _: ())
    assert framed == [7]


def test_combinations_that_hold_rows_are_counted_before_they_are_read(
    rows: Rows, shop: Door, framed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = MetricRequest(
        metrics=("revenue",),
        scenarios=(ColumnRequest(scenario="actual", alias="A"),),
        dimensions=("customer", "region"),
        top=7,
        period_start="2021",
        period_end="2021",
    )
    monkeypatch.setattr("engine.plans.report_size.MAX_UNCOUNTED", 1_000)
    sizes: list[ReportSize] = []

    def refuse(size: ReportSize) -> None:
        sizes.append(size)
        if size.sums:
            raise BadArguments("no memory")

    combinations = len({(month, customer, region) for month, customer, region, _ in rows})
    assert combinations < (MANY + 1) * (REGIONS + 1) * 12 < MAX_UNCOUNTED
    with pytest.raises(BadArguments, match="no memory"):
        run(plan_metrics(metric_query(request, shop.reader), shop.reader), admit=refuse)
    assert [size.sums for size in sizes] == [0, combinations]
    assert sizes[0].counted == (MANY + 1) * (REGIONS + 1)
    assert framed == []
    monkeypatch.undo()


def test_inner_trees_weigh_in_the_order(tmp_path: Path, framed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", 0)
    sales = [("A", "R1", 10), ("A", "R2", 1), ("B", "R1", 1), ("B", "R2", 5)]
    facts = [f"2021-01-05 actual {customer} {region} {amount}" for customer, region, amount in sales]
    books = small_books(
        tmp_path,
        facts={"gl": "\n".join(("date scenario customer region amount", *facts))},
        domains={"gl": GL},
        dimensions="customer: {kind: leaf}\nregion: {kind: leaf, members: live.region}\n"
        "area: {kind: ragged, leaf_dimension: region, nodes: live.area}\n",
        tables={"region": "id\nR1\nR2", "area": "node parent weight\nR1 - -1\nR2 - 1"},
    )
    asked: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2021", "top": 1}
    weighed = books.metric("revenue", dimensions=["customer", "area"], **asked)
    assert weighed.places[0].members[0].id == "B"
    assert framed == []
    plain = books.metric("revenue", dimensions=["customer", "region"], **asked)
    assert plain.places[0].members[0].id == "A"
    assert framed == [1]


@pytest.mark.parametrize(("holder", "weighted"), [("B", True), ("A", False)])
def test_rows_that_weigh_are_told_of_where_no_member_shown_weighs(
    tmp_path: Path, framed: list[int], monkeypatch: pytest.MonkeyPatch, holder: str, *, weighted: bool
) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", 0)
    sales = [("A", 10), (holder, 4), ("C", 3)]
    facts = [f"2021-01-05 actual X {region} {amount}" for region, amount in sales]
    books = small_books(
        tmp_path,
        facts={"gl": "\n".join(("date scenario customer region amount", *facts))},
        domains={"gl": GL},
        dimensions="customer: {kind: leaf}\nregion: {kind: leaf, members: live.region}\n"
        "area: {kind: ragged, leaf_dimension: region, nodes: live.area}\n",
        tables={"region": "id\nA\nB\nC", "area": "node parent weight\nA - 1\nB - -1\nC - 1"},
    )
    report = books.metric("revenue", scenarios={"A": "actual"}, period="2021", dimensions=["area"], top=1)
    assert figures(report)["A",] == 10 + 4 * (not weighted)
    assert figures(report)[()] == (9 if weighted else 17)
    codes = [note.code for note in report.notes]
    assert codes.count("weighted_rows") == 2 * weighted  # the rows do not add up, and the total is another figure
    assert framed == [1]


@pytest.mark.parametrize("metric", ["mean", "least", "most", "negated"])
@pytest.mark.parametrize("asc", [False, True])
def test_means_and_extremes_order_the_members(
    rows: Rows, shop: Door, framed: list[int], metric: str, *, asc: bool
) -> None:
    report = shop.metric(metric, scenarios={"A": "actual"}, period="2021", dimensions=["customer"], top=9, asc=asc)
    amounts: dict[str, list[Fraction]] = {}
    for _, customer, _, cents in rows:
        amounts.setdefault(customer, []).append(Fraction(cents, 100))
    make = MAKE[metric]
    by_customer = {customer: make(each) for customer, each in amounts.items()}
    ordered = sorted(by_customer, key=lambda key: (by_customer[key] if asc else -by_customer[key], key))
    left = [amount for customer in ordered[9:] for amount in amounts[customer]]
    every = [amount for each in amounts.values() for amount in each]
    expected = {(customer,): by_customer[customer] for customer in ordered[:9]} | {
        ("(others)",): make(left),
        (): make(every),
    }
    assert figures(report) == expected
    assert [place.members[0].id for place in report.places[:-1]] == [*ordered[:9], "(others)"]
    assert framed == [9]
