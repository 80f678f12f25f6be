"""Table calendars: fiscal periods, weeks, quarters and years that a company lists (4-4-5, 13 periods)."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.families import CALENDAR_RULES
from engine.model.calendar.labels import LabelDetail
from engine.model.calendar.periods import (
    DAYS,
    GRAINS,
    ISO_WEEKS,
    Counterpart,
    Grain,
    GrainRules,
    Span,
)


class TableRow(Struct, frozen=True, kw_only=True):
    """One row of a calendar table: a fiscal period, or a week of one."""

    year: int
    quarter: int | None
    period: int
    week: int | None
    span: Span


class GrainColumn(Struct, frozen=True):
    """A column that numbers the periods of one grain, with the name of the grain and of each period."""

    noun: str
    called: str
    number: Callable[[TableRow], int | None]
    name: str


COLUMNS: Mapping[Grain, GrainColumn] = {
    Grain.WEEK: GrainColumn("week", "a fiscal week", lambda row: row.week, "FY{} W{:02}"),
    Grain.MONTH: GrainColumn("period", "a fiscal period", lambda row: row.period, "FY{} P{:02}"),
    Grain.QUARTER: GrainColumn("quarter", "a fiscal quarter", lambda row: row.quarter, "FY{} Q{}"),
    Grain.YEAR: GrainColumn("year", "a fiscal year", lambda _: 0, "FY{}"),
}
TRADING_COLUMNS: Mapping[Grain, GrainColumn] = {
    Grain.TRADING_WEEK: GrainColumn("trading week", "a trading week", lambda row: row.week, "TY{} W{:02}"),
    Grain.TRADING_PERIOD: GrainColumn("trading period", "a trading period", lambda row: row.period, "TY{} P{:02}"),
    Grain.TRADING_QUARTER: GrainColumn("trading quarter", "a trading quarter", lambda row: row.quarter, "TY{} Q{}"),
    Grain.TRADING_YEAR: GrainColumn("trading year", "a trading year", lambda _: 0, "TY{}"),
}


def table_calendar(rows: Sequence[TableRow]) -> Calendar:
    """Return the calendar of a table's rows, which are as those of `table_rules`."""
    return Calendar(
        days=days_of(rows),
        grains={Grain.DATE: DAYS, Grain.WEEK: ISO_WEEKS, **CALENDAR_RULES, **table_rules(rows, COLUMNS)},
    )


def with_trading_years(calendar: Calendar, rows: Sequence[TableRow]) -> Calendar:
    """Return a calendar with the trading years of a second table, some of whose days lie inside the calendar."""
    return replace(calendar, grains={**calendar.grains, **table_rules(rows, TRADING_COLUMNS)})


def days_of(rows: Sequence[TableRow]) -> Span:
    """Return the days of a table."""
    return Span(rows[0].span.first, rows[-1].span.last)


def table_rules(rows: Sequence[TableRow], columns: Mapping[Grain, GrainColumn]) -> dict[Grain, GrainRules]:
    """Return the rules of the grains that a table numbers.

    Rows ascend without gaps. Either all rows have a week or none, and the same holds for quarters. A week lies in one
    period, a period in one quarter, a quarter in one year. Each column numbers its periods from 1 in steps of one.
    """
    grains: dict[Grain, GrainRules] = {}
    whole_weeks = all(row.span.length % 7 == 0 for row in rows)
    for grain, column in columns.items():
        spans: dict[tuple[int, int], Span] = {}
        for row in rows:
            number = column.number(row)
            if number is not None:
                key = (row.year, number)
                spans[key] = Span(spans.get(key, row.span).first, row.span.last)
        if spans:
            rules = rules_of(column, GRAINS[grain].written, list(spans), list(spans.values()))
            grains[grain] = replace(rules, days=days_of(rows), whole_weeks=whole_weeks)
    return grains


def rules_of(column: GrainColumn, written: str, keys: Sequence[tuple[int, int]], spans: Sequence[Span]) -> GrainRules:
    """Return the rules of one grain. `keys` are (year, number) and `spans` the days of its periods, both in order."""
    codes = [written.format(*key) for key in keys]
    ordinals = {code: ordinal for ordinal, code in enumerate(codes)}
    firsts = [span.first for span in spans]

    def at(day: date) -> int:
        return len(spans) if day > spans[-1].last else bisect_right(firsts, day) - 1

    def years_earlier(ordinal: int, years: int) -> Counterpart:
        year, number = keys[ordinal]
        there = (year - years, number)
        return Counterpart(bisect_left(keys, there), bisect_right(keys, there) - 1)

    return GrainRules(
        noun=column.noun,
        called=column.called,
        example=codes[-1],
        parse=ordinals.get,
        at=at,
        span=lambda n: spans[n],
        code=lambda n: codes[n],
        name=lambda n: column.name.format(*keys[n]),
        beside=LabelDetail.DAYS,
        years_earlier=years_earlier,
    )
