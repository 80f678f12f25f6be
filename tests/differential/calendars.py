"""The periods of an instance by their files: of a fiscal year or a table; their codes, and how references move them."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

FIRST, LAST = date(2019, 1, 1), date(2029, 12, 31)  # of calendars without a table
DAY = timedelta(days=1)
SIZES = {"date": 1, "week": 7, "month": 30, "cmonth": 30, "quarter": 91, "cquarter": 91, "year": 365, "cyear": 365}
UNITS = {"ytd": "year", "qtd": "quarter", "fy": "year", "cytd": "cyear", "cqtd": "cquarter", "cy": "cyear"}


@dataclass(frozen=True, slots=True)
class FilePeriod:
    """A period: its grain, its year and number in it, its first and last day."""

    grain: str
    year: int
    number: int
    first: date
    last: date
    code: str


@dataclass(frozen=True, slots=True)
class Window:
    """From the first day of one period to the last of another; they may differ in grain."""

    start: FilePeriod
    end: FilePeriod

    @property
    def first(self) -> date:
        """The first day."""
        return self.start.first

    @property
    def last(self) -> date:
        """The last day."""
        return self.end.last


class FileCalendar:
    """All periods of an instance, grain by grain in their order."""

    def __init__(self, instance: Mapping[str, Any], table: Sequence[Mapping[str, str]]) -> None:
        fiscal = instance.get("fiscal_year", {})
        self.starts = int(fiscal.get("starts", 1))
        self.by_end = fiscal.get("named_by", "end") == "end"
        self.table = table
        self.first = date.fromisoformat(table[0]["first_day"]) if table else FIRST
        self.last = date.fromisoformat(table[-1]["last_day"]) if table else LAST
        self.has_own_calendar = bool(table) or self.starts > 1
        self.cut_weeks = not (table and "week" in table[0])  # weeks that begin inside months

    @cached_property
    def by_grain(self) -> dict[str, list[FilePeriod]]:
        """The periods of each grain."""
        days = [self.first + DAY * at for at in range((self.last - self.first).days + 1)]
        begin, end = date(self.first.year, 1, 1), date(self.last.year, 12, 31)
        whole = [begin + DAY * at for at in range((end - begin).days + 1)]  # the calendar's own periods are not cut
        spans = {grain: whole if grain in ("cmonth", "cquarter", "cyear") else days for grain in SIZES}
        return {
            grain: list(self.joined(grain, [self.key_of(grain, day) for day in span], span))
            for grain, span in spans.items()
        }

    @cached_property
    def row_of(self) -> dict[date, Mapping[str, str]]:
        """The row of the table that has a day."""
        found: dict[date, Mapping[str, str]] = {}
        for row in self.table:
            first, last = date.fromisoformat(row["first_day"]), date.fromisoformat(row["last_day"])
            found |= {first + DAY * at: row for at in range((last - first).days + 1)}
        return found

    def key_of(self, grain: str, day: date) -> tuple[int, int] | None:
        """Return the year and number of the period of a grain that a day lies in."""
        if grain == "date":
            return (day.year, day.timetuple().tm_yday)
        if grain == "cmonth":
            return (day.year, day.month)
        if grain == "cquarter":
            return (day.year, (day.month - 1) // 3 + 1)
        if grain == "cyear":
            return (day.year, 1)
        if self.table:
            row = self.row_of[day]
            if grain == "week" and "week" not in row:
                return day.isocalendar()[:2]
            column = {"month": "period", "year": "year"}.get(grain, grain)
            return (int(row["year"]), 1 if grain == "year" else int(row[column])) if row.get(column) else None
        if grain == "week":
            return day.isocalendar()[:2]
        month = (day.month - self.starts) % 12  # of the fiscal year, from 0
        begins = day.year - (day.month < self.starts)
        year = begins + (self.by_end and self.starts > 1)
        if grain == "month":
            return (year, month + 1)
        return (year, 1 if grain == "year" else month // 3 + 1)

    def joined(self, grain: str, keys: Sequence[tuple[int, int] | None], days: Sequence[date]) -> Iterable[FilePeriod]:
        """Yield the periods that days with their keys make up."""
        begin = 0
        for at in range(1, len(days) + 1):
            if at == len(days) or keys[at] != keys[begin]:
                key = keys[begin]
                if key is not None:
                    yield FilePeriod(grain, *key, days[begin], days[at - 1], self.code(grain, key, days[begin]))
                begin = at

    def code(self, grain: str, key: tuple[int, int], first: date) -> str:
        """Return the code of a period."""
        year, number = key
        if grain == "date":
            return first.isoformat()
        if grain == "month" and not self.table:
            return first.isoformat()[:7]
        return {
            "week": f"{year}-W{number:02}",
            "month": f"{year}-{number:02}",
            "cmonth": f"CY{year}-{number:02}",
            "quarter": f"{year}-Q{number}",
            "cquarter": f"CY{year}-Q{number}",
            "year": f"{year}",
            "cyear": f"CY{year}",
        }[grain]

    @cached_property
    def by_code(self) -> dict[str, FilePeriod]:
        """Every period by its code; the calendar's own only where they are not the fiscal ones."""
        return {period.code: period for grain in reversed(SIZES) for period in self.by_grain[grain]}

    @cached_property
    def firsts(self) -> dict[str, list[date]]:
        """The first days of the periods of each grain."""
        return {grain: [period.first for period in periods] for grain, periods in self.by_grain.items()}

    @cached_property
    def by_key(self) -> dict[tuple[str, int, int], FilePeriod]:
        """Every period by its grain, year and number."""
        return {(p.grain, p.year, p.number): p for periods in self.by_grain.values() for p in periods}

    def at(self, grain: str, day: date) -> FilePeriod | None:
        """Return the period of a grain that a day lies in."""
        place = bisect_right(self.firsts[grain], day) - 1
        return self.by_grain[grain][place] if place >= 0 and day <= self.by_grain[grain][place].last else None

    def between(self, grain: str, first: date, last: date) -> list[FilePeriod]:
        """Return the periods of a grain that have days of a span."""
        return [period for period in self.by_grain[grain] if period.last >= first and period.first <= last]

    def fits(self, grain: str, first: date, last: date) -> bool:
        """Tell whether a span begins and ends with periods of a grain."""
        begin, end = self.at(grain, first), self.at(grain, last)
        return begin is not None and end is not None and (begin.first, end.last) == (first, last)

    def inside(self, window: Window) -> tuple[date, date]:
        """Return the first and last day of a window that exist: those outside the calendar do not."""
        return max(window.first, self.first), min(window.last, self.last)

    def later(self, period: FilePeriod, count: int) -> FilePeriod | None:
        """Return the period some periods later; None where the calendar does not reach."""
        place = bisect_right(self.firsts[period.grain], period.first) - 1 + count
        return self.by_grain[period.grain][place] if 0 <= place < len(self.by_grain[period.grain]) else None

    def years_before(self, period: FilePeriod, count: int, *, start: bool) -> FilePeriod | None:
        """Return the period some years before; where it does not exist, the next one (start) or the one before."""
        if period.grain == "date":
            try:
                day = period.first.replace(year=period.first.year - count)
            except ValueError:
                day = date(period.first.year - count, 3, 1) if start else date(period.first.year - count, 2, 28)
            return self.by_grain["date"][0] if start and day < self.first else self.at("date", day)
        found = self.by_key.get((period.grain, period.year - count, period.number))
        if found is not None:
            return found
        of_year = [p for p in self.by_grain[period.grain] if p.year == period.year - count]
        before = [p for p in of_year if p.number < period.number]
        if not of_year or not before:  # before the calendar begins
            return self.by_grain[period.grain][0] if start else None
        return self.later(before[-1], 1) if start else before[-1]

    def window(self, shift: str, window: Window) -> Window | None:
        """Return the window of the last period of a range."""
        end = window.end
        if shift == "ltm":
            before = self.years_before(end, 1, start=False)
            after = (
                self.later(before, 1) if before else self.by_grain[end.grain][0]
            )  # it begins where the calendar does
            return Window(after, end) if after else None
        grain = UNITS[shift]
        if end.grain in ("cmonth", "cquarter", "cyear") and not shift.startswith("c"):
            grain = f"c{grain}"
        if shift == "ytd" and end.grain == "week" and self.cut_weeks:
            return Window(self.by_key["week", end.year, 1], end)
        unit = self.at(grain, end.last)
        if unit is None:
            return None
        return Window(unit, unit if shift in ("fy", "cy") else end)

    def earlier(self, window: Window, count: int, grain: str) -> Window | None:
        """Return a window some periods of a grain earlier."""
        if window.start.grain == window.end.grain and SIZES[window.start.grain] >= SIZES[grain]:
            bounds = window.start, window.end
            if window.start.grain != grain and self.fits(grain, window.first, window.last):
                bounds = self.bounds(grain, window)
        elif self.fits(grain, window.first, window.last):
            bounds = self.bounds(grain, window)
        else:
            return None
        start = self.later(bounds[0], -count) or self.by_grain[bounds[0].grain][0]  # a start moves to what exists
        end = self.later(bounds[1], -count)
        return Window(start, end) if end else None

    def bounds(self, grain: str, window: Window) -> tuple[FilePeriod, FilePeriod]:
        """Return the first and last period of a grain that make up a window."""
        start, end = self.at(grain, window.first), self.at(grain, window.last)
        assert start is not None
        assert end is not None
        return start, end

    def shifted(self, asked: Window, shifts: Sequence[str], grain: str) -> Window | None:
        """Return what shifts from left to right make of a range; None where it does not exist."""
        window: Window | None = asked
        for shift in shifts:
            if window is None:
                return None
            name, count = shift[:2], int(shift[2:] or 1) if shift[:2] in ("py", "pp") else 0
            if name == "pp" and count:
                window = self.earlier(window, count, grain)
            elif name == "py" and count:
                start = self.years_before(window.start, count, start=True)
                end = self.years_before(window.end, count, start=False)
                window = Window(start, end) if start and end else None
            else:
                window = self.window(shift, window)
        return window if window is not None and window.first <= window.last else None
