"""Builds the calendar from the fiscal year of instance.yaml or from a calendar table, and a trading calendar."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise

from engine.instance.documents import Document
from engine.instance.schema.books import FiscalYearPart, InstanceFile
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.fiscal import FIRST_YEAR, LAST_YEAR, FiscalYear, fiscal_calendar
from engine.model.calendar.periods import DAY, GRAINS, MOST_NUMBERED, Grain, Span, parse_day
from engine.model.calendar.table import TableRow, days_of, table_calendar, with_trading_years
from engine.model.errors import quoted

NEEDED = ("year", "period", "first_day", "last_day")
OPTIONAL = ("quarter", "week")
MOST = {"quarter": 4, "period": MOST_NUMBERED, "week": MOST_NUMBERED}
NUMBER = re.compile("[0-9]{1,4}")
LONGEST = 366  # days of a row; a longer one is a typing error
ALL = f"its columns are {', '.join(NEEDED)} and, where there are any, {' and '.join(OPTIONAL)}"


def build_calendar(
    document: Document, file: InstanceFile, table: Document | None, trading: Document | None = None
) -> Calendar:
    """Return the calendar of an instance. A table with faults is left out, the first for the fiscal calendar."""
    calendar = main_calendar(document, file, table)
    rows = [] if trading is None else Table(trading).rows()
    if trading is None or trading.faults:
        return calendar
    if file.trading_calendar == file.calendar:
        document.fault(
            ["trading_calendar"],
            f"{file.calendar} is the calendar already",
            "a table of other periods, or leave it out",
        )
    elif not days_of(rows).overlap(calendar.days):
        days, known = days_of(rows), calendar.days
        found = f"no day of {file.trading_calendar}, {days.first} to {days.last}, lies inside the calendar"
        document.fault(["trading_calendar"], found, f"rows from {known.first} to {known.last}")
    else:
        return with_trading_years(calendar, rows)
    return calendar


def main_calendar(document: Document, file: InstanceFile, table: Document | None) -> Calendar:
    """Return the calendar of a table. If there is none, or it has faults, return the fiscal calendar."""
    if table is not None:
        if file.fiscal_year:
            document.fault(
                ["fiscal_year"],
                "fiscal_year stands beside calendar",
                "leave it out: the calendar table says when years begin",
            )
        rows = Table(table).rows()
        if not table.faults:
            return table_calendar(rows)
    part = file.fiscal_year or FiscalYearPart()
    return fiscal_calendar(FiscalYear(starts=part.starts, named_by_end=part.named_by == "end"))


@dataclass
class Table:
    """Checks the rows of a calendar table."""

    document: Document
    written: Sequence[dict[str, str]] = field(init=False)
    columns: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        tree = self.document.tree if isinstance(self.document.tree, list) else []
        self.written = [{name: str(cell) for name, cell in row.items()} for row in tree if isinstance(row, dict)]
        self.columns = frozenset().union(*self.written)

    def rows(self) -> list[TableRow]:
        """Return the valid rows. Records every fault."""
        if not self.has_columns():
            return []
        read = [self.row(place) for place in range(len(self.written))]
        for name in OPTIONAL:
            self.check_all_or_none(name)
        finest = "week" if any(row and row.week for row in read) else "period"
        seen: dict[tuple[int, int | None], int] = {}
        for place, (before, row) in enumerate(pairwise([None, *read])):
            if row is None:
                continue
            key = (row.year, row.week if finest == "week" else row.period)
            if seen.setdefault(key, place) != place:
                self.twice(place, key, seen[key], finest)
            elif before is not None:
                self.check_steps(place, before, row, finest)
            if before is not None:
                self.check_days(place, before, row)
        return [row for row in read if row]

    def has_columns(self) -> bool:
        """Tell whether the table has rows and every required column. Records what is missing."""
        if not self.written:
            if not self.document.faults:
                self.document.fault([], "has no rows", f"one row for each period, or for each week; {ALL}")
            return False
        unknown = sorted(self.columns - {*NEEDED, *OPTIONAL})
        missing = [name for name in NEEDED if name not in self.columns]
        if unknown:
            self.document.fault([], f"has the unknown column {quoted(unknown)}", ALL)
        if missing:
            self.document.fault([], f"has no column {quoted(missing)}", ALL)
        return not missing

    def row(self, place: int) -> TableRow | None:
        """Return one row, None if it has a fault."""
        year = self.number(place, "year", FIRST_YEAR, LAST_YEAR)
        period = self.number(place, "period", 1, MOST["period"])
        optional = {
            name: self.number(place, name, 1, MOST[name]) if self.written[place].get(name) else None
            for name in OPTIONAL
        }
        first, last = self.day(place, "first_day"), self.day(place, "last_day")
        if first and last and first > last:
            self.document.fault([place], f"first_day {first} comes after last_day {last}", "exchange them")
        elif first and last and Span(first, last).length > LONGEST:
            self.document.fault(
                [place], f"{first} to {last} are {Span(first, last).length} days", "a row has 366 at most"
            )
        elif year and period and first and last:
            return TableRow(year=year, period=period, span=Span(first, last), **optional)
        return None

    def number(self, place: int, name: str, least: int, most: int) -> int | None:
        """Return a number of a row. If it is invalid, record a fault and return None."""
        text = self.written[place].get(name, "")
        number = int(text) if NUMBER.fullmatch(text) else None
        if number is not None and least <= number <= most:
            return number
        found = f"{name} '{text}' is no whole number from {least} to {most}" if text else f"{name} is missing"
        self.document.fault([place], found)
        return None

    def day(self, place: int, name: str) -> date | None:
        """Return a day of a row. If it is invalid, record a fault and return None."""
        text = self.written[place].get(name, "")
        found, form = parse_day(text), GRAINS[Grain.DATE]
        if found is None:
            wrong = f"'{text}' is no day that exists" if form.fits(text) else f"'{text}' is no day"
            self.document.fault([place], f"{name} {wrong}" if text else f"{name} is missing", form.words)
        return found

    def check_all_or_none(self, name: str) -> None:
        """Record a fault for the first row without a value in a column that other rows fill."""
        filled = [bool(row.get(name)) for row in self.written]
        if any(filled) and not all(filled):
            there, lacks = self.line(filled.index(True)), filled.index(False)
            self.document.fault(
                [lacks], f"{name} is missing, and line {there} has one", f"fill {name} in every row or in none"
            )

    def check_days(self, place: int, before: TableRow, row: TableRow) -> None:
        """Record gaps and overlaps between the days of two consecutive rows."""
        expected, above = before.span.last + DAY, self.line(place - 1)
        if row.span.first > expected:
            lost = Span(expected, row.span.first - DAY)
            days = str(lost.first) if lost.length == 1 else f"{lost.first} to {lost.last}"
            self.document.fault(
                [place],
                f"first_day is {row.span.first}, and line {above} ends on {before.span.last}: no row has {days}",
                f"first_day {expected}, or a row between",
            )
        elif row.span.first < expected:
            self.document.fault(
                [place],
                f"first_day is {row.span.first}, and line {above} lasts until {before.span.last}",
                f"first_day {expected}: rows stand in the order of their days and share none",
            )

    def check_steps(self, place: int, before: TableRow, row: TableRow, finest: str) -> None:
        """Record period, quarter and year numbers that do not continue from the row above."""
        above = self.line(place - 1)
        if row.year not in (before.year, before.year + 1):
            self.document.fault(
                [place], f"year {row.year} follows year {before.year} of line {above}", "years go on one by one"
            )
            return
        for name, was, now in steps(before, row):
            if row.year > before.year:
                if now != 1:
                    self.document.fault([place], f"{row.year} begins with {name} {now}", f"{name} 1 is its first")
            elif now != was + 1 if name == finest else now not in (was, was + 1):
                valid = (
                    f"{name} {was + 1}"
                    if name == finest
                    else f"{name} {was} or {was + 1}; the rows of one stand together"
                )
                self.document.fault([place], f"{name} {now} follows {name} {was} of line {above}", valid)
        if (
            finest == "week"
            and (row.year, row.period) == (before.year, before.period)
            and row.quarter != before.quarter
        ):
            self.document.fault(
                [place],
                f"period {row.period} of {row.year} lies in quarter {row.quarter}, and on line {above} in quarter "
                f"{before.quarter}",
                "a period lies in one quarter",
            )

    def twice(self, place: int, key: tuple[int, int | None], first: int, finest: str) -> None:
        """Record a period or week that already has a row."""
        valid = "one row for each" if finest == "week" else "one row for each, or a column week where rows are weeks"
        self.document.fault([place], f"{finest} {key[1]} of {key[0]} stands on line {self.line(first)} already", valid)

    def line(self, place: int) -> int:
        """Return the line of a row."""
        return self.document.line([place])


def steps(before: TableRow, row: TableRow) -> Iterator[tuple[str, int, int]]:
    """Yield the name and both numbers of each column that two consecutive rows count."""
    for name, was, now in (
        ("quarter", before.quarter, row.quarter),
        ("period", before.period, row.period),
        ("week", before.week, row.week),
    ):
        if was is not None and now is not None:
            yield name, was, now
