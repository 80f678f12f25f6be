"""Periods, ranges and shifts by months and days; nothing of the engine's calendar."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

OF_CALENDAR = CQUARTER, CHALF, CYEAR = ("calendar_quarter", "calendar_half", "calendar_year")
DATE, WEEK, MONTH, QUARTER, YEAR = OF_FISCAL = ("date", "week", "month", "quarter", "year")
GRAINS = (*OF_FISCAL, *OF_CALENDAR)
WINDOWS = ("ytd", "qtd", "ltm", "fy", "cytd", "cqtd", "cy")
MONTHS = {MONTH: 1, QUARTER: 3, YEAR: 12, CQUARTER: 3, CHALF: 6, CYEAR: 12}
LENGTHS = {DATE: 1, WEEK: 7, **{grain: months * 30 for grain, months in MONTHS.items()}}


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
    month = month_of(day)
    start = 0 if grain in OF_CALENDAR else fiscal.first_month(fiscal.year_of(month))
    return OraclePeriod(grain, month_start(month - (month - start) % MONTHS[grain]))


def later(period: OraclePeriod, count: int) -> OraclePeriod:
    """Return the period some periods later; earlier where the count is negative."""
    if period.grain in (DATE, WEEK):
        days = count * (7 if period.grain == WEEK else 1)
        return OraclePeriod(period.grain, period.first + timedelta(days=days))
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
    return later(period, -count * 12 // MONTHS[period.grain])


def window(shift: str, asked: Range, fiscal: Fiscal) -> Range:
    """Return the window of a range's last period, bounded at its grain or the coarsest that fits."""
    end = asked.end
    if shift == "ltm":
        return Range(later(years_before(end, 1, start=False), 1), end)
    if shift == "ytd" and end.grain == WEEK:
        return Range(OraclePeriod(WEEK, date.fromisocalendar(end.first.isocalendar().year, 1, 1)), end)
    of_calendar = (shift.startswith("c") or end.grain in OF_CALENDAR) and fiscal.starts > 1
    quarter, year = (CQUARTER, CYEAR) if of_calendar else (QUARTER, YEAR)
    whole = period_of(end.days.last, quarter if shift.endswith("qtd") else year, fiscal)
    if shift in ("fy", "cy") or (whole.days.last == end.days.last and LENGTHS[end.grain] > LENGTHS[whole.grain]):
        return Range(whole, whole)
    if end.grain == WEEK:  # a quarter begins inside a week: days are what fits
        return Range(OraclePeriod(DATE, whole.first), OraclePeriod(DATE, end.days.last))
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
    days = timedelta(days=count * (7 if grain == WEEK else 1))
    return Range(OraclePeriod(DATE, first - days), OraclePeriod(DATE, last - days))


def shifted(asked: Range, shifts: tuple[str, ...], fiscal: Fiscal) -> Range | None:
    """Return what shifts from left to right make of a range; None where its bounds cross in the end."""
    grain = asked.grain
    for shift in shifts:
        name, count = shift.rstrip("0123456789"), int(shift.lstrip("cptydqlmf") or 1)
        if name in WINDOWS:
            asked = window(name, asked, fiscal)
        elif name == "pp":
            asked = periods_before(asked, count, grain, fiscal)
        else:
            asked = Range(years_before(asked.start, count, start=True), years_before(asked.end, count, start=False))
    return asked if asked.start.first <= asked.end.days.last else None
