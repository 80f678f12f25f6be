"""Contracts of every calendar: fiscal years, 4-4-5 tables by week and by period, tables of thirteen periods."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.instance.documents import Document, read_table
from engine.instance.reading.calendar import build_calendar
from engine.instance.schema.books import InstanceFile
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.fiscal import FiscalYear, fiscal_calendar
from engine.model.calendar.periods import Grain, Period, PeriodRange, Span
from engine.model.scenarios import Scenario, Side, resolve_side
from tests.support.books.calendars import four_four_five, table

START = date(2009, 12, 28)
RETAIL = {year: four_four_five(53 if year in (2012, 2017) else 52) for year in range(2010, 2019)}
THIRTEEN = dict.fromkeys(range(2010, 2016), (4,) * 13)
CHANGING = {**{year: four_four_five() for year in range(2010, 2013)}, 2013: (4,) * 13, 2014: four_four_five(53)}


def of_table(folder: Path, text: str, trading: str = "", **said: object) -> Calendar:
    """Return the calendar of a table, perhaps with a second one, which have no fault."""
    named = {key: f"{key}.csv" for key, rows in (("calendar", text), ("trading_calendar", trading)) if rows}
    instance = InstanceFile.model_validate({"name": "T", "currency": "EUR", **named, **said})
    for key, rows in (("calendar", text), ("trading_calendar", trading)):
        (folder / f"{key}.csv").write_text(rows)
    tables = {key: read_table(folder, file) for key, file in named.items()}
    document = Document("instance.yaml")
    calendar = build_calendar(document, instance, tables.get("calendar"), tables.get("trading_calendar"))
    assert [fault for known in (document, *tables.values()) for fault in known.faults] == []
    return calendar


@pytest.fixture(scope="module", name="calendars")
def every_calendar(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Calendar]:
    """The calendars that the contracts hold for."""
    folder = tmp_path_factory.mktemp("calendars")
    return {
        "year": fiscal_calendar(FiscalYear()),
        "march": fiscal_calendar(FiscalYear(starts=3)),
        "july": fiscal_calendar(FiscalYear(starts=7)),
        "october by start": fiscal_calendar(FiscalYear(starts=10, named_by_end=False)),
        "4-4-5": of_table(folder, table(START, RETAIL)),
        "4-4-5 by week": of_table(folder, table(START, RETAIL, by_week=True)),
        "13 periods": of_table(folder, table(date(2010, 1, 3), THIRTEEN, quarters=False)),
        "12, then 13": of_table(folder, table(date(2010, 1, 6), CHANGING, by_week=True)),
        "february, 13 periods": of_table(
            folder, "", table(date(2010, 1, 3), THIRTEEN, quarters=False), fiscal_year={"starts": 2}
        ),
        "4-4-5, 12 then 13": of_table(folder, table(START, RETAIL), table(date(2010, 1, 6), CHANGING, by_week=True)),
    }


TWO = ("february, 13 periods", "4-4-5, 12 then 13")
NAMES = ("year", "march", "july", "october by start", "4-4-5", "4-4-5 by week", "13 periods", "12, then 13", *TWO)
names = st.sampled_from(NAMES)
days = st.dates(date(2010, 1, 10), date(2014, 12, 20)) | st.sampled_from(
    [date(2012, 2, 28), date(2012, 2, 29), date(2012, 3, 1), date(2012, 12, 31), date(2010, 1, 10)]
)
grains = st.sampled_from(list(Grain))


def asked_range(calendar: Calendar, grain: Grain, one: date, other: date) -> PeriodRange:
    """Return the range of a grain that holds two days."""
    run = calendar.touching(Span(min(one, other), max(one, other)), grain)
    assume(run is not None)
    assert run is not None
    return run


def in_order(calendar: Calendar, grain: Grain) -> Iterator[Period]:
    """Yield every period of a grain."""
    return (calendar.period(grain, ordinal) for ordinal in calendar.ordinals[grain])


@pytest.mark.parametrize("name", NAMES)
def test_periods_of_a_grain_tile_the_calendar(name: str, calendars: dict[str, Calendar]) -> None:
    calendar = calendars[name]
    for grain in set(calendar.grains) - {Grain.DATE}:
        last: Period | None = None
        for period in in_order(calendar, grain):
            assert period.first <= period.last
            assert last is None or period.first == last.last + timedelta(days=1)
            last = period
        assert last is not None
        table = calendar.grains[grain].days or calendar.days
        assert last.last >= min(calendar.days.last, table.last)


@given(name=names, day=days, grain=grains)
def test_a_day_belongs_to_the_one_period_that_holds_it(
    calendars: dict[str, Calendar], name: str, day: date, grain: Grain
) -> None:
    calendar = calendars[name]
    period = calendar.at(day, grain)
    if grain not in calendar.grains:
        assert period is None
        return
    assert period is not None
    assert period.span.holds(day)
    assert calendar.at(period.first, grain) == calendar.at(period.last, grain) == period


@pytest.mark.parametrize("name", NAMES)
def test_a_code_is_read_as_the_period_that_writes_it(name: str, calendars: dict[str, Calendar]) -> None:
    calendar = calendars[name]
    for grain in set(calendar.grains) - {Grain.DATE}:
        codes = [period.code for period in in_order(calendar, grain)]
        assert [calendar.parse(code).code for code in codes] == codes
        assert sorted(set(codes)) == codes


@given(name=names, day=days)
def test_periods_of_a_year_and_of_a_quarter_tile_it(calendars: dict[str, Calendar], name: str, day: date) -> None:
    calendar = calendars[name]
    for outer in (Grain.YEAR, Grain.QUARTER, Grain.TRADING_YEAR, Grain.TRADING_PERIOD):
        whole = calendar.at(day, outer)
        if whole is None:
            assert outer not in calendar.grains
            continue
        for inner in Grain:
            nested = calendar.within(PeriodRange(whole, whole), inner)
            if calendar.nests(inner, outer):
                assert nested is not None
                assert nested.span == whole.span
                assert [period.code for period in calendar.periods(nested)] == sorted(
                    {found.code for n in range(whole.span.length) if (found := nth(calendar, whole, n, inner))}
                )


def nth(calendar: Calendar, whole: Period, place: int, grain: Grain) -> Period | None:
    """Return the period of a grain that holds a day of another."""
    return calendar.at(whole.first + timedelta(days=place), grain)


def seen(calendar: Calendar, shifts: str, asked: PeriodRange) -> PeriodRange | None:
    """Return the range that a shifted view reads."""
    side = resolve_side(f"actual{shifts}", {"actual": Scenario(id="actual", alias="", name="", kind="", status="")})
    assert isinstance(side, Side)
    return side.window(calendar, asked)


@given(name=names, one=days, other=days, grain=grains, years=st.integers(1, 3))
def test_a_shift_by_years_moves_codes(
    calendars: dict[str, Calendar], name: str, one: date, other: date, grain: Grain, years: int
) -> None:
    calendar = calendars[name]
    asked = asked_range(calendar, grain, one, other)
    wanted = [
        re.sub(r"\d{4}", lambda year: f"{int(year[0]) - years}", bound.code, count=1)
        for bound in (asked.start, asked.end)
    ]
    around = calendar.touching(Span(date(2005, 1, 1), date(2016, 1, 1)), grain)
    known = [period.code for period in calendar.periods(around)] if around else []
    start = next(code for code in known if code >= wanted[0])
    end = next((code for code in reversed(known) if code <= wanted[1]), "")
    earlier = seen(calendar, f"@py{years}", asked)
    assert (start, end) == (earlier.start.code, earlier.end.code) if earlier else start > end


@given(name=names, one=days, other=days, grain=grains, years=st.integers(1, 3))
def test_year_to_date_and_prior_year_come_in_either_order(
    calendars: dict[str, Calendar], name: str, one: date, other: date, grain: Grain, years: int
) -> None:
    calendar = calendars[name]
    asked = asked_range(calendar, grain, one, other)
    of_day, before = (
        calendar.at(asked.end.last, Grain.YEAR),
        seen(calendar, f"@py{years}", PeriodRange(asked.end, asked.end)),
    )
    if grain is Grain.DATE and of_day and before:  # the years of a table begin on other days
        of_before = calendar.at(before.end.last, Grain.YEAR)
        assume(of_before is not None and of_before.ordinal == of_day.ordinal - years)
    assert seen(calendar, f"@ytd@py{years}", asked) == seen(calendar, f"@py{years}@ytd", asked)


@given(
    name=names,
    one=days,
    other=days,
    grain=grains,
    window=st.sampled_from(["ytd", "qtd", "ltm", "fy"]),
    before=st.sampled_from(["", "@py", "@pp", "@ytd"]),
)
def test_a_window_depends_on_the_last_period_only_and_holds_it(
    calendars: dict[str, Calendar], name: str, one: date, other: date, grain: Grain, window: str, before: str
) -> None:
    calendar = calendars[name]
    asked = asked_range(calendar, grain, one, other)
    found = seen(calendar, f"{before}@{window}", asked)
    assert found == seen(calendar, f"{before}@{window}", PeriodRange(asked.end, asked.end))
    if not before and found is not None:
        assert found.end.last >= min(asked.end.last, calendar.days.last)
        assert found.start.first <= asked.end.last


@given(name=names, day=days, grain=grains, chain=st.lists(st.sampled_from(["py9", "pp99", "fy", "ltm", "qtd", "ytd"])))
def test_no_chain_of_shifts_falls_out_of_the_calendar(
    calendars: dict[str, Calendar], name: str, day: date, grain: Grain, chain: list[str]
) -> None:
    calendar = calendars[name]
    found = seen(calendar, "".join(f"@{step}" for step in chain * 20), asked_range(calendar, grain, day, day))
    if found is not None:
        assert found.start.ordinal in calendar.ordinals[found.grain]
        assert found.end.ordinal in calendar.ordinals[found.grain]


def test_outside_the_calendar_there_is_no_period(calendars: dict[str, Calendar]) -> None:
    calendar = calendars["13 periods"]
    for day in (date.min, date(2010, 1, 2), date(2015, 12, 28), date.max):
        assert calendar.at(day, Grain.MONTH) is None
        assert calendar.at(day, Grain.YEAR) is None
    assert calendar.at(date(2012, 1, 1), Grain.QUARTER) is None


@pytest.mark.parametrize(
    ("calendar", "start", "end", "label"),
    [
        ("year", "2026-01", "2026-01", "Jan 2026"),
        ("year", "2026-01", "2026-09", "Jan 2026 – Sep 2026"),
        ("year", "2026-Q1", "2026-Q1", "2026 Q1 (Jan–Mar 2026)"),
        ("year", "2026-Q1", "2026-Q3", "2026 Q1 – 2026 Q3 (Jan–Sep 2026)"),
        ("year", "2025", "2026", "2025 – 2026"),
        ("year", "2026-W01", "2026-W02", "2026-W01 – 2026-W02 (29 Dec 2025–11 Jan 2026)"),
        ("year", "2026-03-30", "2026-03-31", "30 Mar 2026 – 31 Mar 2026"),
        ("july", "2012-Q1", "2012-Q3", "FY2012 Q1 – FY2012 Q3 (Jul 2011–Mar 2012)"),
        ("july", "2012", "2013", "FY2012 – FY2013 (Jul 2011–Jun 2013)"),
        ("4-4-5", "2012-01", "2012-01", "FY2012 P01 (26 Dec 2011–22 Jan 2012)"),
        ("4-4-5", "2012-02", "2012-03", "FY2012 P02 – FY2012 P03 (23 Jan–25 Mar 2012)"),
    ],
)
def test_a_range_says_its_days_once(
    calendars: dict[str, Calendar], calendar: str, start: str, end: str, label: str
) -> None:
    assert calendars[calendar].range(start, end).label == label
