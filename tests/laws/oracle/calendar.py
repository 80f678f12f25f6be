"""Periods, ranges and shifts by months and days; nothing of the engine's calendar."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate

OF_CALENDAR = CQUARTER, CHALF, CYEAR = ("calendar_quarter", "calendar_half", "calendar_year")
DATE, WEEK, MONTH, QUARTER, YEAR = OF_FISCAL = ("date", "week", "month", "quarter", "year")
OF_TRADING = TWEEK, TPERIOD, TQUARTER, TYEAR = ("trading_week", "trading_period", "trading_quarter", "trading_year")
GRAINS = (*OF_FISCAL, *OF_CALENDAR, *OF_TRADING)
FINE = (DATE, WEEK, *OF_TRADING)  # grains that months do not make up
SAME_DAYS = {  # the grains that each of these steps takes
    "pm": (DATE, MONTH, TWEEK, TPERIOD),
    "pq": (DATE, MONTH, QUARTER, CQUARTER, TWEEK, TPERIOD, TQUARTER),
    "pw": (DATE, WEEK, TWEEK),
}
OPENING, LONG_AGO = "opening", date(1900, 1, 1)
ROLLING = ("last2", "last3")
OF_EACH = ("ytd", "qtd", "ltm", "fy", *ROLLING)
CALENDAR_WINDOWS, TRADING_WINDOWS = (*OF_EACH, "cytd", "cqtd", "cy"), (*OF_EACH, "tytd", "tqtd", "ty")
MTD = "mtd"  # of periods shorter than a month
MEANS = ("avg2", "avg3")
WINDOWS = (MTD, *MEANS, *CALENDAR_WINDOWS, *TRADING_WINDOWS)
MONTHS = {MONTH: 1, QUARTER: 3, YEAR: 12, CQUARTER: 3, CHALF: 6, CYEAR: 12}
LENGTHS = {
    DATE: 1,
    WEEK: 7,
    **{grain: months * 30 for grain, months in MONTHS.items()},
    **dict(zip(OF_TRADING, (7, 30, 91, 364), strict=True)),
}
TRADING_START = date(2011, 12, 26)
TRADING_WEEKS = {year: 53 if year in (2015, 2020) else 52 for year in range(2012, 2026)}
CODES = {TWEEK: "TY{}-W{:02}", TPERIOD: "TY{}-P{:02}", TQUARTER: "TY{}-Q{}", TYEAR: "TY{}"}


def lengths_of(grain: str, weeks: int) -> list[int]:
    """Return the weeks of the periods of a trading year of 4-4-5, whose last period has a 53rd week."""
    more = weeks - 52
    return {
        TWEEK: [1] * weeks,
        TPERIOD: [*(4, 4, 5) * 3, 4, 4, 5 + more],
        TQUARTER: [13, 13, 13, 13 + more],
        TYEAR: [weeks],
    }[grain]


KEYS = {
    grain: [(year, at) for year, weeks in TRADING_WEEKS.items() for at, _ in enumerate(lengths_of(grain, weeks), 1)]
    for grain in OF_TRADING
}
FIRSTS = {
    grain: [
        TRADING_START + timedelta(weeks=weeks)
        for weeks in accumulate(
            (length for total in TRADING_WEEKS.values() for length in lengths_of(grain, total)), initial=0
        )
    ]
    for grain in OF_TRADING
}


@dataclass(frozen=True, slots=True)
class Fiscal:
    """The month a fiscal year starts in, and whether the calendar year of its end names it."""

    starts: int
    by_end: bool

    def first_month(self, year: int) -> int:
        """Return the first month of a fiscal year, counted from year 0."""
        return (year - (self.by_end and self.starts > 1)) * 12 + self.starts - 1

    def year_of(self, month: int) -> int:
        """Return the name of the fiscal year that a month lies in."""
        return next(year for year in range(month // 12 - 1, month // 12 + 3) if self.holds(year, month))

    def holds(self, year: int, month: int) -> bool:
        """Tell whether a month lies in a fiscal year."""
        return 0 <= month - self.first_month(year) < 12


@dataclass(frozen=True, slots=True)
class Days:
    """A run of days, both ends included."""

    first: date
    last: date

    def holds(self, day: date | None) -> bool:
        """Tell whether a row's day lies inside; undated rows lie nowhere."""
        return day is not None and self.first <= day <= self.last


@dataclass(frozen=True, slots=True)
class OraclePeriod:
    """One period: its first day, and how long it is by its grain."""

    grain: str
    first: date

    @property
    def days(self) -> Days:
        """The days it has."""
        return Days(self.first, later(self, 1).first - timedelta(days=1))

    def code(self, fiscal: Fiscal) -> str:
        """Return the code that asks for it."""
        if self.grain in OF_TRADING:
            return CODES[self.grain].format(*KEYS[self.grain][FIRSTS[self.grain].index(self.first)])
        month = month_of(self.first)
        year = fiscal.year_of(month)
        if self.grain == WEEK:
            iso = self.first.isocalendar()
            return f"{iso.year:04}-W{iso.week:02}"
        return {
            DATE: self.first.isoformat(),
            MONTH: self.first.isoformat()[:7],
            QUARTER: f"{year:04}-Q{(month - fiscal.first_month(year)) // 3 + 1}",
            YEAR: f"{year:04}",
            CQUARTER: f"CY{self.first.year:04}-Q{month % 12 // 3 + 1}",
            CHALF: f"CY{self.first.year:04}-H{month % 12 // 6 + 1}",
            CYEAR: f"CY{self.first.year:04}",
        }[self.grain]


@dataclass(frozen=True, slots=True)
class Range:
    """From one period to another of one grain."""

    start: OraclePeriod
    end: OraclePeriod

    @property
    def grain(self) -> str:
        """The grain of both bounds."""
        return self.start.grain

    @property
    def days(self) -> Days:
        """All days it has."""
        return Days(self.start.first, self.end.days.last)


def closing_grain(grain: str) -> str:
    """Return the grain of the last period of a range, which must be loaded to its end."""
    return grain if grain in (DATE, WEEK, TWEEK) else TPERIOD if grain in OF_TRADING else MONTH


def trading_table() -> str:
    """Return the table of trading years as an instance has it."""
    rows = ["year,quarter,period,week,first_day,last_day"]
    for (year, week), first in zip(KEYS[TWEEK], FIRSTS[TWEEK], strict=False):
        period, quarter = (bisect_right(FIRSTS[grain], first) - 1 for grain in (TPERIOD, TQUARTER))
        numbers = (KEYS[TQUARTER][quarter][1], KEYS[TPERIOD][period][1], week)
        rows.append(",".join(map(str, (year, *numbers, first, first + timedelta(days=6)))))
    return "\n".join(rows)


def month_of(day: date) -> int:
    """Return a day's month, counted from year 0."""
    return day.year * 12 + day.month - 1


def month_start(month: int) -> date:
    """Return the first day of a month counted from year 0."""
    return date(month // 12, month % 12 + 1, 1)


def period_of(day: date, grain: str, fiscal: Fiscal) -> OraclePeriod:
    """Return the period of a grain that a day lies in."""
    if grain == DATE:
        return OraclePeriod(grain, day)
    if grain == WEEK:
        return OraclePeriod(grain, day - timedelta(days=day.isoweekday() - 1))
    if grain in OF_TRADING:
        return OraclePeriod(grain, FIRSTS[grain][bisect_right(FIRSTS[grain], day) - 1])
    month = month_of(day)
    start = 0 if grain in OF_CALENDAR else fiscal.first_month(fiscal.year_of(month))
    return OraclePeriod(grain, month_start(month - (month - start) % MONTHS[grain]))


def later(period: OraclePeriod, count: int) -> OraclePeriod:
    """Return the period some periods later; earlier where the count is negative."""
    if period.grain in (DATE, WEEK):
        days = count * (7 if period.grain == WEEK else 1)
        return OraclePeriod(period.grain, period.first + timedelta(days=days))
    if firsts := FIRSTS.get(period.grain):
        return OraclePeriod(period.grain, firsts[firsts.index(period.first) + count])
    return OraclePeriod(period.grain, month_start(month_of(period.first) + count * MONTHS[period.grain]))


def periods(asked: Range, grain: str, fiscal: Fiscal) -> Iterator[OraclePeriod]:
    """Yield the periods of a grain that a range has."""
    period = period_of(asked.days.first, grain, fiscal)
    while period.first <= asked.days.last:
        yield period
        period = later(period, 1)


def nests(asked: Range, grain: str, fiscal: Fiscal) -> bool:
    """Tell whether whole periods of a grain make up a range."""
    first = period_of(asked.days.first, grain, fiscal)
    last = period_of(asked.days.last, grain, fiscal)
    return first.first == asked.days.first and last.days.last == asked.days.last


def years_before(period: OraclePeriod, count: int, *, start: bool) -> OraclePeriod:
    """Return the period some years before; one that does not exist gives way to the next (start) or the one before."""
    if period.grain == WEEK:
        iso = period.first.isocalendar()
        year = iso.year - count
        try:
            return OraclePeriod(WEEK, date.fromisocalendar(year, iso.week, 1))
        except ValueError:
            return OraclePeriod(
                WEEK, date.fromisocalendar(year + 1, 1, 1) if start else date.fromisocalendar(year, 52, 1)
            )
    if period.grain == DATE:
        try:
            return OraclePeriod(DATE, period.first.replace(year=period.first.year - count))
        except ValueError:
            year = period.first.year - count
            return OraclePeriod(DATE, date(year, 3, 1) if start else date(year, 2, 28))
    if firsts := FIRSTS.get(period.grain):
        keys = KEYS[period.grain]
        year, number = keys[firsts.index(period.first)]
        alike = [key for key in keys if key[0] == year - count and key[1] <= number]
        lost = start and alike[-1][1] < number
        return OraclePeriod(period.grain, firsts[keys.index(alike[-1]) + lost])
    return later(period, -count * 12 // MONTHS[period.grain])


def window(shift: str, asked: Range, grain: str, fiscal: Fiscal) -> Range:
    """Return the window of a range's last period, bounded at its grain or the coarsest that fits.

    The last so many periods are of the grain of the request, if one of them ends where the range does.
    """
    end = asked.end
    if shift in (*ROLLING, *MEANS):
        fine = period_of(end.days.last, grain, fiscal)
        last = fine if fine.days.last == end.days.last else end
        return Range(later(last, 1 - int(shift[len(shift.rstrip("0123456789")) :])), last)
    if shift == "ltm":
        return Range(later(years_before(end, 1, start=False), 1), end)
    if shift == "ytd" and end.grain == WEEK:
        return Range(OraclePeriod(WEEK, date.fromisocalendar(end.first.isocalendar().year, 1, 1)), end)
    of_calendar = (shift.startswith("c") or end.grain in OF_CALENDAR) and fiscal.starts > 1
    quarter, year = (CQUARTER, CYEAR) if of_calendar else (QUARTER, YEAR)
    named = shift.startswith("c")  # a window of the calendar, of whatever period
    if end.grain in OF_TRADING and not named:
        quarter, year = TQUARTER, TYEAR
    month = TPERIOD if end.grain in OF_TRADING else MONTH
    whole = period_of(end.days.last, {MTD: month, "qtd": quarter}.get(shift[-3:], year), fiscal)
    if shift in ("fy", "cy", "ty") or (whole.days.last == end.days.last and LENGTHS[end.grain] > LENGTHS[whole.grain]):
        return Range(whole, whole)
    if end.grain == WEEK or (end.grain in OF_TRADING and named):  # a quarter begins inside a week: each bound moves
        return Range(whole, end)
    if period_of(whole.first, end.grain, fiscal).first != whole.first:
        return Range(OraclePeriod(MONTH, whole.first), period_of(end.days.last, MONTH, fiscal))
    return Range(period_of(whole.first, end.grain, fiscal), end)


def periods_before(asked: Range, count: int, grain: str, fiscal: Fiscal) -> Range:
    """Return a range some periods of the requested grain earlier; of its own, where it fits a coarser one only."""
    own = asked.start.grain
    alone = asked.end.grain == own
    if alone and (own == grain or (LENGTHS[own] > LENGTHS[grain] and not nests(asked, grain, fiscal))):
        return Range(later(asked.start, -count), later(asked.end, -count))
    first, last = asked.days.first, asked.days.last
    if grain in MONTHS:
        months = count * MONTHS[grain]
        return Range(*(OraclePeriod(MONTH, month_start(month_of(day) - months)) for day in (first, last)))
    if grain == TYEAR:  # a window of one of its quarters stays that quarter
        return Range(years_before(asked.start, count, start=True), years_before(asked.end, count, start=False))
    if grain in OF_TRADING:
        return Range(*(later(period_of(day, grain, fiscal), -count) for day in (first, last)))
    days = timedelta(days=count * (7 if grain == WEEK else 1))
    return Range(OraclePeriod(DATE, first - days), OraclePeriod(DATE, last - days))


def same_days(asked: Range, shift: str, grain: str, fiscal: Fiscal) -> Range | None:
    """Return the same days of the unit before; a window moves as periods that are asked for, else as months or days."""
    if not asked.start.grain == asked.end.grain == grain:
        if asked.start.first > asked.end.days.last:
            return None
        month = TPERIOD if grain in OF_TRADING else MONTH
        coarse = [each for each in (grain, *([month] if shift != "pw" else [])) if nests(asked, each, fiscal)]
        fine = coarse[0] if coarse else DATE
        asked = Range(*(period_of(day, fine, fiscal) for day in (asked.days.first, asked.days.last)))
    return Range(before(asked.start, shift, start=True), before(asked.end, shift, start=False))


def before(period: OraclePeriod, shift: str, *, start: bool) -> OraclePeriod:
    """Return the period at the same place in the unit before; without one the next (start) or the one before."""
    months = {"pm": 1, "pq": 3, "pw": 0}[shift]
    if period.grain == DATE and not months:
        return OraclePeriod(DATE, period.first - timedelta(days=7))
    if period.grain == DATE:
        month = month_start(month_of(period.first) - months)
        next_month = month_start(month_of(month) + 1)
        found = month + timedelta(days=period.first.day - 1)
        if found >= next_month:
            found = next_month if start else next_month - timedelta(days=1)
        return OraclePeriod(DATE, found)
    if period.grain == TWEEK and months:
        at = bisect_right(FIRSTS[TPERIOD], period.first) - 1
        number = (period.first - FIRSTS[TPERIOD][at]).days // 7
        first, after = FIRSTS[TPERIOD][at - months], FIRSTS[TPERIOD][at - months + 1]
        found = first + timedelta(weeks=number)
        if found >= after:
            found = after if start else after - timedelta(weeks=1)
        return OraclePeriod(TWEEK, found)
    return later(period, -months if period.grain in (MONTH, TPERIOD) else -1)


def shifted(asked: Range, shifts: tuple[str, ...], fiscal: Fiscal) -> Range | None:
    """Return what shifts from left to right make of a range; None where its bounds cross in the end."""
    grain = asked.grain
    for shift in shifts:
        name = shift.rstrip("0123456789")
        count = int(shift.removeprefix(name) or 1)
        if shift in WINDOWS:
            asked = window(shift, asked, grain, fiscal)
        elif name == "pp":
            asked = periods_before(asked, count, grain, fiscal)
        elif shift == OPENING:
            asked = Range(OraclePeriod(DATE, LONG_AGO), later(asked.start, -1))
        elif shift in SAME_DAYS:
            found = same_days(asked, shift, grain, fiscal)
            if found is None:
                return None
            asked = found
        else:
            asked = Range(years_before(asked.start, count, start=True), years_before(asked.end, count, start=False))
    return asked if asked.start.first <= asked.end.days.last else None
