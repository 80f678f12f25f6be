"""Columns: every way to write an amount or a day, alone or among others, gives the exact value or its reason."""

from datetime import date, timedelta
from decimal import Decimal

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from engine.model.calendar.fiscal import FiscalYear, fiscal_calendar
from engine.model.calendar.periods import Grain
from server.files.columns import parse_amounts, parse_days

INT64 = 2**63
FIRST, LAST = date(1900, 1, 1), date(2199, 12, 31)
numbers = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**17), max_value=10**17)
WRITTEN = (
    lambda number: format(number, "f"),
    lambda number: format(number.normalize(), "f"),
    lambda number: format(number, "+f"),
    lambda number: format(number, "e"),
    lambda number: f" {number:f} ",
    lambda number: f"{number:f}".replace("0.", ".", 1),
    lambda number: f"{number:.0f}.",
)
amounts = st.one_of(
    st.tuples(numbers, st.sampled_from(WRITTEN)).map(lambda drawn: drawn[1](drawn[0])),
    st.integers(-2 * INT64, 2 * INT64).map(str),
    st.sampled_from(["", "-", ".", "1,5", "1.5.2", "0x1f", "NaN", "inf", "1e-3", "1e30", "007.50", "5e", "٣"]),
)
days = st.one_of(
    st.dates(FIRST - timedelta(days=9), LAST + timedelta(days=9)).map(str),
    st.dates(FIRST, LAST).map(lambda day: f"{day}T00:00:00"),
    st.sampled_from(["", "2021-02-30", "2021-06-01 08:15", "01.06.2021", "June", "2021-6-1x"]),
)


def unit_of(text: str, places: int) -> int | str:
    """Return an amount in units of its last place, or the reason why it is none."""
    text = text.strip()
    if not text:
        return "is missing"
    if not set(text) <= set("0123456789+-.eE") or not any(digit.isdigit() for digit in text):
        return "is no number"
    try:
        units = Decimal(text).scaleb(places)
    except ArithmeticError:
        return "is no number"
    if units != units.to_integral_value():
        return f"has more than {places} decimal places"
    return int(units) if -INT64 <= units < INT64 else "is too large"


def day_of(text: str) -> date | str:
    """Return a day, or the reason why it is none."""
    if not text:
        return "is missing"
    try:
        day = date.fromisoformat(text.removesuffix("T00:00:00"))
    except ValueError:
        return "is no day that exists" if text == "2021-02-30" else "is no day (YYYY-MM-DD)"
    return day if FIRST <= day <= LAST else f"is outside the calendar, which runs from {FIRST} to {LAST}"


@given(texts=st.lists(amounts, max_size=8), places=st.integers(0, 12))
def test_an_amount_is_exact_or_has_a_reason(texts: list[str], places: int) -> None:
    parsed = parse_amounts(pl.Series(texts, dtype=pl.String), places)
    found = [reason or value for value, reason in zip(parsed.values, parsed.reasons, strict=True)]
    assert found == [unit_of(text, places) for text in texts]


@given(texts=st.lists(days, max_size=8))
def test_a_day_is_in_the_calendar_or_has_a_reason(texts: list[str]) -> None:
    parsed = parse_days(pl.Series(texts, dtype=pl.String), Grain.DATE, fiscal_calendar(FiscalYear()))
    found = [reason or value for value, reason in zip(parsed.values, parsed.reasons, strict=True)]
    assert found == [day_of(text) for text in texts]
