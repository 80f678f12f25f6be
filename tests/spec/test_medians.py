"""Medians and other percentiles of the amounts of rows: exact, of each figure's own rows, within bounds.

Rules: Over members.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.door import Door
from engine.instance.documents import InstanceFaults
from engine.model.errors import BadArguments
from engine.plans import term_reads, window_size
from engine.present.answers.catalogue import metric_json
from engine.report import ranking
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.explained import explained
from tests.support.books.inspected import rows_of
from tests.support.books.small import figure, figures, small_books

SITES, MONTHS = ("N", "O", "S", "W"), ("2026-01", "2026-02", "2026-03")
DRAWN = Random(9)
ROWS = [
    (
        DRAWN.choice(MONTHS),
        DRAWN.choice(SITES),
        DRAWN.choice(("actual", "actual", "budget")),
        DRAWN.randrange(-999, 999),
    )
    for _ in range(97)
]
METRICS = """
  median: {measure: amount, over_members: median}
  upper: {measure: amount, over_members: {percentile: 90}}
  fine: {measure: amount, over_members: {percentile: 2.5}, sign: negate}
  least: {measure: amount, over_members: {percentile: 0}}
  most: {measure: amount, over_members: {percentile: 100}}
  north: {measure: amount, over_members: median, where: {site: [N, O]}}
  spread: {formula: upper - median}
"""
A = {"A": "actual"}
YEAR = (MONTHS[0], MONTHS[-1])


def orders(folder: Path, metrics: str = METRICS, rows: Sequence[str] = ()) -> Door:
    """Return books of orders of four sites."""
    written = rows or [f"{month}-15 {scenario} {site} {amount / 100:.2f}" for month, site, scenario, amount in ROWS]
    return small_books(
        folder,
        facts={"gl": "\n".join(["date scenario site amount", *written])},
        domains={
            "gl": f"""
time: {{column: date}}
dimensions: {{site: site}}
measures: {{amount: {{places: 2}}}}
inspect_enabled: true
metrics:{metrics}"""
        },
        dimensions="""
            site: {kind: leaf}
            region: {kind: ragged, leaf_dimension: site, nodes: live.region}
            month: {kind: leaf, grain: month}
        """,
        tables={"region": "node parent weight\nAll - 1\nN All 1\nO All 1\nS All -1"},
    )


def inclusive(share: Fraction, *, sites: tuple[str, ...] = SITES, months: tuple[str, ...] = MONTHS) -> Decimal:
    """Return PERCENTILE.INC of the amounts of some actual rows."""
    amounts = sorted(
        Fraction(amount, 100)
        for month, site, scenario, amount in ROWS
        if scenario == "actual" and site in sites and month in months
    )
    below, part = divmod(share * (len(amounts) - 1), 1)
    above = min(int(below) + 1, len(amounts) - 1)
    found = amounts[int(below)] * (1 - part) + amounts[above] * part
    return Decimal(found.numerator) / Decimal(found.denominator)


def test_percentiles_are_those_of_all_rows_of_a_figure(tmp_path: Path) -> None:
    books = orders(tmp_path)
    found = figures(books.metric(*figures_asked(), scenarios=A, period=YEAR), "metric")
    half, most = Fraction(1, 2), Fraction(9, 10)
    assert found == {
        "median": inclusive(half),
        "upper": inclusive(most),
        "fine": -inclusive(1 - Fraction(25, 1000)),
        "least": inclusive(Fraction(0)),
        "most": inclusive(Fraction(1)),
        "north": inclusive(half, sites=("N", "O")),
        "spread": inclusive(most) - inclusive(half),
    }


def figures_asked() -> tuple[str, ...]:
    """Return the metrics of the books."""
    return ("median", "upper", "fine", "least", "most", "north", "spread")


def test_each_member_period_and_subtotal_has_its_own(tmp_path: Path) -> None:
    books = orders(tmp_path)
    asked: dict[str, Any] = {"scenarios": A, "period": YEAR, "dimensions": ["site", "month"], "subtotals": True}
    found = figures(books.metric("median", **asked), "site", "month")
    half = Fraction(1, 2)
    for site in SITES:
        assert found[site, None] == inclusive(half, sites=(site,))
        for month in MONTHS:
            assert found[site, month] == inclusive(half, sites=(site,), months=(month,))
    assert found[None, None] == inclusive(half)
    windows = books.metric("median", scenarios={"Y": "actual@ytd"}, period=YEAR, dimensions=["month"])
    assert figures(windows, "month")["2026-02"] == inclusive(half, months=MONTHS[:2])


@pytest.mark.parametrize("small", [0, 1_000])
def test_the_others_of_a_ranking_have_a_median_of_their_own(
    tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", small)
    report = orders(tmp_path).metric("median", scenarios=A, period=YEAR, dimensions=["site"], top=1)
    first = max(SITES, key=lambda site: inclusive(Fraction(1, 2), sites=(site,)))
    others = tuple(site for site in SITES if site != first)
    assert figures(report, "site") == {
        first: inclusive(Fraction(1, 2), sites=(first,)),
        "(others)": inclusive(Fraction(1, 2), sites=others),
        None: inclusive(Fraction(1, 2)),
    }


@pytest.mark.parametrize("metric", ["median", "upper", "fine", "least", "north"])
def test_the_two_rows_behind_it_tie(tmp_path: Path, metric: str) -> None:
    books = orders(tmp_path)
    for filters in ({}, {"site": "S"}):
        report = books.metric(metric, scenarios=A, period="2026-02", filters=filters)
        result = answer(report, 10**9)
        for _, _, call in calls(result["rows"][0], result["columns"][0]):
            assert figure_behind(call, lambda asked: rows_of(books, **asked)) == figure(report)
            assert sum(Decimal(str(row[-1])) != 0 for row in rows_of(books, **call)["rows"]) <= 2


def test_a_weighted_tree_makes_it_unavailable(tmp_path: Path) -> None:
    books = orders(tmp_path)
    assert figure(books.metric("median", scenarios=A, period=YEAR, filters={"region": ["All"]})) is None


def test_amounts_beyond_what_a_double_holds_are_exact(tmp_path: Path) -> None:
    books = orders(tmp_path, rows=["2026-01-15 actual N 9007199254740993.00", "2026-01-15 actual N 0.02"])
    assert figure(books.metric("median", scenarios=A, period="2026-01")) == Decimal("4503599627370496.51")


def test_its_variance_is_not_explained(tmp_path: Path) -> None:
    with pytest.raises(BadArguments) as refused:
        explained(orders(tmp_path), "median", "site")
    assert "median is neither a sum over its members" in refused.value.error


@pytest.mark.parametrize(("module", "limit"), [(term_reads, "MAX_RANKED"), (window_size, "MOST_COMBINED")])
def test_too_many_amounts_are_refused(tmp_path: Path, module: Any, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    books = orders(tmp_path)
    monkeypatch.setattr(module, limit, 5)
    with pytest.raises(BadArguments) as refused:
        books.metric("median", scenarios=A, period=YEAR)
    assert "shorter range" in refused.value.error


def test_list_kpis_says_which_percentile_it_is(tmp_path: Path) -> None:
    reader = orders(tmp_path).reader
    said = {key: metric_json(reader.metrics[key], reader) for key in ("median", "fine")}
    assert (said["median"]["over_members"], said["median"]["percentile"]) == ("median", 50)
    assert (said["fine"]["over_members"], said["fine"]["percentile"]) == ("percentile", 2.5)


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ("{measure: amount, over_members: {percentile: 101}}", "is above 100"),
        ("{measure: amount, over_members: {percentile: ninety}}", "is no number"),
        (
            "{measure: amount, over_members: {percentile: 90}, over_time: lowest}",
            "x: a percentile cannot be made lowest",
        ),
    ],
)
def test_what_has_no_percentile_is_a_fault(tmp_path: Path, part: str, fault: str) -> None:
    with pytest.raises(InstanceFaults) as found:
        orders(tmp_path, f"\n  x: {part}\n")
    assert fault in str(found.value)
