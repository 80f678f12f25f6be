"""Refusals of periods: what they show instead lies where the caller asked, and is answered."""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import Refusal
from tests.support.books.small import figure, small_books

DOMAIN = """
time: {column: date, grain: month}
dimensions: {}
measures: {amount: {places: 2}}
metrics: {revenue: {measure: amount}}
"""
APRIL = 4
SCENARIOS = "actual: {alias: Actuals, kind: actual, closed_through: 2019-04}\n"


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Months of 2019, of which April is the last that is closed."""
    facts = "date scenario amount\n" + "\n".join(f"2019-{month:02}-28 actual {month}" for month in range(1, 7))
    folder: Path = tmp_path_factory.mktemp("periods")
    return small_books(folder, facts={"gl": facts}, domains={"gl": DOMAIN}, scenarios=SCENARIOS)


def refused(books: Door, period: str | None) -> dict[str, Any]:
    """Return the refusal of a report of a period."""
    with pytest.raises(Refusal) as fault:
        books.metric("revenue", scenarios={"A": "actual"}, period=period)
    return dict(fault.value.as_data())


@pytest.mark.parametrize(
    ("period", "instead"),
    [
        ("2019-13", "2019-03"),
        ("2019-Q5", "2019-Q1"),
        ("2019-02-30", "2019-03"),  # not held by day
        ("0001-05", "2019-01"),
        ("2026-13", "2019-06"),
        ("rubbish", "2019-04"),
    ],
)
def test_a_period_that_does_not_exist_is_refused_with_one_beside_it(books: Door, period: str, instead: str) -> None:
    example = refused(books, period)["example"]
    assert example["period_start"] == instead
    report = books.metric("revenue", scenarios={"A": "actual"}, period=(instead, example["period_end"]))
    assert figure(report) is not None


def test_what_is_no_code_is_told_codes_of_periods_with_rows(books: Door) -> None:
    assert refused(books, "rubbish")["valid"] == ["2019-04-30", "2019-W18", "2019-04", "2019-Q2", "2019", "last_closed"]


@pytest.mark.parametrize(("end", "instead"), [("2019-13", "2019-03"), ("2020-13", "2019-06"), ("2019-Q9", "2019-Q1")])
def test_a_bound_that_does_not_exist_is_mended_with_the_other_one(books: Door, end: str, instead: str) -> None:
    with pytest.raises(Refusal) as fault:
        books.metric("revenue", scenarios={"A": "actual"}, period=("2019-02", end))
    example = fault.value.as_data()["example"]
    assert isinstance(example, dict)
    assert example["period_end"] == instead
    assert example["period_start"] == ("2019-02" if len(instead) == len("2019-02") and "Q" not in instead else instead)


def test_figures_by_longer_periods_are_offered_where_the_days_lie(books: Door) -> None:
    assert set(refused(books, "2019-02-11")["valid"]) >= {"2019-02", "2019-Q1", "2019"}


def test_a_call_without_a_period_is_shown_the_last_closed_one(books: Door) -> None:
    example = refused(books, None)["example"]
    assert example == {"period_start": "2019-04", "period_end": "2019-04"}
    report = books.metric("revenue", scenarios={"A": "actual"}, period=(example["period_start"], example["period_end"]))
    assert figure(report) == APRIL
