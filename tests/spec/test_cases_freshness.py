"""Freshness: of every scenario of a domain, the loads that brought the days its figures are made of.

Rules: Freshness.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.door import Door, open_books
from engine.model.fact_store import FactLoad
from engine.plans.freshness import loads_by_day
from engine.present.answers.reports import details
from tests.support.books.dated_loads import DatedLedger

A = {"A": "actual"}
MONTHS = [f"2021-{month:02}" for month in range(1, 7)]
BALANCES = {"balance": "2021-03", "opening": "2021-02", "to_date": "2021-01..2021-03", "known": "2021-01..2021-03"}


def rows(scenario: str = "actual", products: str = "A", months: Iterable[str] = MONTHS) -> str:
    """Return a row a month for each of some products."""
    return "\n".join(f"{month}-10 {scenario} {product} 10" for month in months for product in products)


JANUARY, FEBRUARY = "2021-02-01T05:00:00+00:00", "2021-03-01T05:00:00+00:00"


@pytest.fixture
def twice(tmp_path: Path) -> tuple[DatedLedger, Door]:
    """January to June loaded on 1 February, March again on 1 March."""
    feeds = DatedLedger(tmp_path, rows())
    feeds.load("2021-01..2021-06", at=JANUARY)
    return feeds, feeds.load("2021-03", at=FEBRUARY)


def test_each_month_is_as_fresh_as_the_load_that_brought_it(twice: tuple[DatedLedger, Door]) -> None:
    feeds, books = twice
    told = {month: books.metric("revenue", scenarios=A, period=month) for month in MONTHS}
    assert {month: feeds.told(report)[0] for month, report in told.items()} == {
        month: "L2" if month == "2021-03" else "L1" for month in MONTHS
    }
    assert {report.freshness["gl"]["actual"].loaded_at for report in told.values()} == {JANUARY, FEBRUARY}
    assert {feeds.told(report)[1] for report in told.values()} == {None}


def test_of_several_loads_the_latest_is_named_and_when_the_first_was(twice: tuple[DatedLedger, Door]) -> None:
    feeds, books = twice
    assert feeds.told(books.metric("revenue", scenarios=A, period="2021-Q1")) == ("L2", JANUARY)
    assert feeds.told(books.metric("revenue", scenarios=A, period="2021-Q1", dimensions=["period"])) == ("L2", JANUARY)


def test_the_answer_says_so_only_where_there_are_several(twice: tuple[DatedLedger, Door]) -> None:
    _, books = twice
    one, several = (books.metric("revenue", scenarios=A, period=period) for period in ("2021-03", "2021-Q1"))
    assert "earliest_loaded_at" not in details(one)["freshness"]["gl"]["actual"]
    assert details(several)["freshness"]["gl"]["actual"]["earliest_loaded_at"] == JANUARY


def test_the_latest_load_is_the_one_published_last_whatever_the_clock_showed(tmp_path: Path) -> None:
    feeds = DatedLedger(tmp_path, rows())
    feeds.load("2021-01..2021-06", at=FEBRUARY)
    books = feeds.load("2021-03", at=JANUARY)
    assert feeds.told(books.metric("revenue", scenarios=A, period="2021-Q1")) == ("L2", FEBRUARY)


def test_where_no_row_is_read_the_latest_load_of_all_is_named(twice: tuple[DatedLedger, Door]) -> None:
    feeds, books = twice
    assert feeds.told(books.metric("revenue", scenarios=A, period="2020")) == ("L2", None)


@pytest.mark.parametrize("metric", BALANCES)
def test_a_balance_is_as_fresh_as_the_days_it_reads(tmp_path: Path, metric: str) -> None:
    feeds = DatedLedger(tmp_path, rows())
    for month in MONTHS[:3]:
        books = feeds.load(month)
    first, _, last = BALANCES[metric].partition("..")
    latest, earliest = feeds.told(books.metric(metric, scenarios=A, period="2021-03"))
    assert latest == f"L{int((last or first)[-1])}"
    assert (earliest is not None) is bool(last)


def test_a_shifted_view_and_a_variance_read_the_days_of_both_years(tmp_path: Path) -> None:
    years = [f"{year}-03" for year in (2020, 2021)]
    feeds = DatedLedger(tmp_path, rows(months=years))
    for month in years:
        books = feeds.load(month, at=JANUARY)
    assert feeds.told(books.metric("revenue", scenarios={"PY": "actual@py"}, period="2021-03")) == ("L1", None)
    growth = {"V": "var(actual,actual@py)"}
    assert feeds.told(books.metric("revenue", scenarios=growth, period="2021-03")) == ("L2", JANUARY)


def test_a_blend_reads_each_scenario_on_its_own_days(tmp_path: Path) -> None:
    feeds = DatedLedger(tmp_path, f"{rows()}\n{rows('forecast')}")
    for month in MONTHS:
        books = feeds.load(month)
    outlook = books.metric("revenue", scenarios={"Outlook": "actual+forecast"}, period=("2021-03", "2021-04"))
    assert feeds.told(outlook)[0] == "L3"  # closed through March
    assert feeds.told(outlook, "forecast") == ("L4", None)


@pytest.mark.parametrize("hidden_on", ["2021-01-10", "2021-02-10", "2021-04-10"])
def test_on_which_days_a_load_brought_hidden_rows_is_not_told(tmp_path: Path, hidden_on: str) -> None:
    profiles = "seen: {scenarios: {actual: {dimensions: {product: {allow: [A]}}}}}"
    feeds = DatedLedger(tmp_path, rows(months=MONTHS[:2]), profiles, load="append")
    feeds.load("", at=JANUARY)
    whole = feeds.load("", f"{hidden_on} actual B 10")
    seen = open_books(feeds.folder, state=feeds.state, profile="seen")
    assert feeds.told(whole.metric("revenue", scenarios=A, period=hidden_on))[0] == "L2"
    for period in ("2021-01-10", "2021-02-10", "2021-04-10", ("2021-01", "2021-04")):
        assert feeds.told(seen.metric("revenue", scenarios=A, period=period)) == ("L1", None)


def test_a_load_of_rows_that_are_hidden_is_not_told_from_none(tmp_path: Path) -> None:
    profiles = "seen: {scenarios: {actual: {dimensions: {product: {allow: [A]}}}}}"
    feeds = DatedLedger(tmp_path, rows(months=MONTHS[:2]), profiles)
    feeds.load("2021-01..2021-02", at=JANUARY)
    whole = feeds.load("2021-03", rows(products="B"))
    seen = open_books(feeds.folder, state=feeds.state, profile="seen")
    asked: dict[str, Any] = {"scenarios": A, "period": ("2021-02", "2021-03")}
    assert feeds.told(whole.metric("revenue", **asked)) == ("L2", JANUARY)
    assert feeds.told(seen.metric("revenue", **asked)) == ("L1", None)
    hidden, empty = (seen.metric("revenue", scenarios=A, period=period) for period in ("2021-03", "2021-04"))
    assert feeds.told(hidden) == feeds.told(empty)


@pytest.mark.parametrize("seed", range(20))
def test_the_first_and_last_load_of_days_are_those_of_a_search_through_all_loads(seed: int) -> None:
    drawn = Random(seed)
    at = datetime(2021, 2, 1, tzinfo=UTC)
    days = [date(2021, 1, 1) + timedelta(days=day) for day in range(12)]
    loads = [
        FactLoad(load=f"L{number}", at=at, days=frozenset(drawn.sample(days, drawn.randint(0, 4))))
        for number in range(drawn.randint(2, 9))
    ]
    found = loads_by_day(loads)
    for day in days:
        brought = [number for number, load in enumerate(loads) if day in load.days]
        assert found.get(day) == ((brought[0], brought[-1]) if brought else None)
