"""The calendar of an instance: period codes to periods, and ranges moved through time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from engine.calendar.grains import GRAINS
from engine.calendar.periods import FiscalYear, Grain, Period, PeriodRange
from engine.errors import BadPeriod, MixedGrains, quoted

FIRST_YEAR, LAST_YEAR = 1900, 2199
CODES = [rules.example for rules in GRAINS.values()]
EXAMPLE = {"period_start": "2025-01", "period_end": "2025-03"}


@lru_cache(maxsize=65536)
def period_of(grain: Grain, ordinal: int, fiscal: FiscalYear) -> Period:
    """Return the period of a grain by its ordinal."""
    rules = GRAINS[grain]
    span = rules.span(ordinal, fiscal)
    return Period(grain, ordinal, rules.code(ordinal, fiscal), span.first, span.last, rules.label(ordinal, fiscal))


@dataclass(frozen=True, slots=True)
class Calendar:
    """What period codes mean for one fiscal year.

    >>> Calendar(FiscalYear(starts=7)).parse("2012-Q1").label
    'FY2012 Q1 (Jul–Sep 2011)'
    """

    fiscal: FiscalYear

    def parse(self, code: str, field: str = "period_start") -> Period:
        """Return the period a code means; refuse codes of no known shape and codes of no existing period."""
        for grain, rules in GRAINS.items():
            match = rules.shape.fullmatch(code)
            if match is None:
                continue
            ordinal = rules.parse(match, self.fiscal)
            if ordinal is None or not FIRST_YEAR <= int(match[1]) <= LAST_YEAR:
                raise BadPeriod(
                    f"{field} {quoted([code])} has the shape of a {grain.value}, but there is no such {grain.value}.",
                    field=field,
                    got=code,
                    example=rules.example,
                )
            return self.period(grain, ordinal)
        raise BadPeriod(
            f"{field} {quoted([code])} is no period code. A day is YYYY-MM-DD, an ISO week YYYY-Wnn, a month YYYY-MM, "
            "a fiscal quarter YYYY-Qn, a fiscal year YYYY.",
            field=field,
            got=code,
            valid=CODES,
            example=EXAMPLE,
        )

    def range(self, start: str, end: str) -> PeriodRange:
        """Return the range between two codes of one grain; refuse mixed grains and reversed bounds."""
        first, last = self.parse(start, "period_start"), self.parse(end, "period_end")
        if first.grain is not last.grain:
            raise MixedGrains(
                f"period_start '{start}' is a {first.grain.value} and period_end '{end}' a {last.grain.value}. "
                "Give both bounds at one grain.",
                field="period_end",
                got=end,
                example=EXAMPLE,
            )
        if first.ordinal > last.ordinal:
            raise BadPeriod(
                f"period_start '{start}' comes after period_end '{end}'. Exchange them.",
                field="period_start",
                got=start,
                example={"period_start": end, "period_end": start},
            )
        return PeriodRange(first, last)

    def period(self, grain: Grain, ordinal: int) -> Period:
        """Return a period by grain and ordinal."""
        return period_of(grain, ordinal, self.fiscal)

    def at(self, day: date, grain: Grain) -> Period:
        """Return the period of a grain that holds a day."""
        return self.period(grain, GRAINS[grain].at(day, self.fiscal))

    def periods(self, asked: PeriodRange) -> Iterator[Period]:
        """Yield the periods of a range in order."""
        for ordinal in range(asked.start.ordinal, asked.end.ordinal + 1):
            yield self.period(asked.grain, ordinal)

    def within(self, asked: PeriodRange, grain: Grain) -> PeriodRange | None:
        """Return the range of another grain with the same days, None where its periods do not nest in them."""
        inner = PeriodRange(self.at(asked.start.first, grain), self.at(asked.end.last, grain))
        return inner if inner.span == asked.span else None

    def years_earlier(self, asked: PeriodRange, years: int) -> PeriodRange | None:
        """Return a range some years earlier, moved by its bounds.

        A start that does not exist then (29 February, week 53) moves to the next period that does, an end to the
        previous one; None where they cross.
        """
        earlier = GRAINS[asked.grain].year_earlier
        start, end = asked.start.ordinal, asked.end.ordinal
        while (first := earlier(start, years)) is None:
            start += 1
        while (last := earlier(end, years)) is None:
            end -= 1
        return self._between(asked.grain, first, last)

    def without_counterpart(self, asked: PeriodRange, years: int) -> list[Period]:
        """Return the bounds of a range that do not exist some years earlier: 29 February, week 53."""
        earlier = GRAINS[asked.grain].year_earlier
        bounds = dict.fromkeys((asked.start, asked.end))
        return [bound for bound in bounds if earlier(bound.ordinal, years) is None]

    def periods_earlier(self, asked: PeriodRange, count: int) -> PeriodRange | None:
        """Return a range some periods of its grain earlier."""
        return self._between(asked.grain, asked.start.ordinal - count, asked.end.ordinal - count)

    def year_to_date(self, asked: PeriodRange) -> PeriodRange:
        """Return the range from the first day of the year to the end of the range's last period.

        The year is the fiscal year; of weeks, the ISO year.
        """
        last = asked.end
        if asked.grain is Grain.WEEK:
            return PeriodRange(self.parse(f"{last.code[:4]}-W01"), last)
        year = self.at(last.first, Grain.YEAR)
        return PeriodRange(self.at(year.first, asked.grain), last)

    def _between(self, grain: Grain, first: int, last: int) -> PeriodRange | None:
        return PeriodRange(self.period(grain, first), self.period(grain, last)) if first <= last else None
