"""The calendar of an instance: parses period codes and shifts ranges through time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from engine.model.calendar.periods import GRAINS, STEPS, Grain, GrainRules, Period, PeriodBounds, PeriodRange, Span
from engine.model.calendar.spellings import spellings
from engine.model.errors import BadPeriod, MixedGrains, quoted

COARSEST_FIRST = tuple(grain for grain in reversed(Grain) if grain is not Grain.WEEK)


@dataclass(frozen=True, eq=False)
class Calendar:
    """Maps period codes to periods by a table of grain rules. A period exists if it contains a day of the calendar."""

    days: Span
    grains: Mapping[Grain, GrainRules] = field(repr=False)
    weeks_nest: bool = False  # weeks come from a table and make up its periods
    whole_weeks: bool = False  # every period of the table is a whole number of weeks
    _known: dict[tuple[Grain, int], Period] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def ordinals(self) -> Mapping[Grain, Sequence[int]]:
        """The ordinals of the existing periods, by grain."""
        return {
            grain: range(rules.at(self.days.first), rules.at(self.days.last) + 1)
            for grain, rules in self.grains.items()
        }

    @cached_property
    def example(self) -> dict[str, str]:
        """An example range in the form of a call's arguments."""
        code = self.grains[Grain.MONTH].example
        return {"period_start": code, "period_end": code}

    @cached_property
    def codes(self) -> str:
        """A sentence that lists the valid code formats."""
        shapes = [f"{rules.called} {GRAINS[grain].words}" for grain, rules in sorted(self.grains.items(), key=fineness)]
        return f"{', '.join(shapes[:-1])} or {shapes[-1]}"

    def parse(self, code: str, field: str = "period_start") -> Period:
        """Return the period of a code. Raises BadPeriod for unknown formats and for periods that do not exist."""
        for grain, rules in self.grains.items():
            if not GRAINS[grain].fits(code):
                continue
            ordinal = rules.parse(code)
            if ordinal is None or ordinal not in self.ordinals[grain]:
                first, last = (self.period(grain, self.ordinals[grain][place]).code for place in (0, -1))
                raise BadPeriod(
                    f"{field} {quoted([code])} has the shape of a {rules.noun}, but there is no such {rules.noun} from "
                    f"{first} to {last}.",
                    field=field,
                    got=code,
                    example=rules.example,
                )
            return self.period(grain, ordinal)
        raise BadPeriod(
            f"{field} {quoted([code])} is no period code. It is {self.codes}.",
            field=field,
            got=code,
            valid=[rules.example for rules in self.grains.values()],
            example=self.example if field in self.example else self.example["period_start"],
        )

    def read(self, text: str, field: str = "period_start") -> Period:
        """Return the period of a code, or of words that can mean one period only. Raises BadPeriod otherwise."""
        if any(GRAINS[grain].fits(text) for grain in self.grains):
            return self.parse(text, field)
        found = spellings(text)
        if not found:
            return self.parse(text, field)
        periods = {spelling.code: self.parse(spelling.code, field) for spelling in found}
        others = [spelling.days for spelling in found if spelling.days and spelling.days != periods[spelling.code].span]
        if len(periods) + len(others) == 1:
            return periods[found[0].code]
        said = [f"{code} ({period.label})" for code, period in periods.items()]
        runs = [run for days in others if (run := self.spanning(days))]
        said += [f"{run.start.code} to {run.end.code} ({run.span.first} to {run.span.last})" for run in runs]
        raise BadPeriod(
            f"{field} {quoted([text])} can mean {' or '.join(said)}. Give the code of what you mean.",
            field=field,
            got=text,
            valid=periods,
            example={"period_start": runs[0].start.code, "period_end": runs[0].end.code} if runs else None,
        )

    def spanning(self, days: Span) -> PeriodRange | None:
        """Return the range of months with exactly these days, else of days; None outside the calendar."""
        runs = (self.touching(days, grain) for grain in (Grain.MONTH, Grain.DATE))
        return next((run for run in runs if run and run.span == days), None)

    def range(self, start: str, end: str) -> PeriodRange:
        """Return the range between two codes. Raises MixedGrains, or BadPeriod if the bounds are reversed."""
        return self.between(self.parse(start, "period_start"), self.parse(end, "period_end"))

    def between(self, first: Period, last: Period) -> PeriodRange:
        """Return the range between two periods. Raises MixedGrains, or BadPeriod if they are reversed."""
        start, end = first.code, last.code
        if first.grain is not last.grain:
            raise MixedGrains(
                f"period_start '{start}' is a {self.grains[first.grain].noun} and period_end '{end}' a "
                f"{self.grains[last.grain].noun}. Give both bounds at one grain.",
                field="period_end",
                got=end,
                example=self.example,
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
        known = self._known.get((grain, ordinal))
        if known is None:
            rules = self.grains[grain]
            span = rules.span(ordinal)
            code, name = rules.code(ordinal), rules.name(ordinal)
            known = Period(grain, ordinal, code, span.first, span.last, name, rules.beside)
            self._known[grain, ordinal] = known
        return known

    def at(self, day: date, grain: Grain) -> Period | None:
        """Return the period of a grain that contains a day, None outside the calendar or without such a grain."""
        if grain not in self.grains:
            return None
        ordinal = self.grains[grain].at(day)
        return self.period(grain, ordinal) if ordinal in self.ordinals[grain] else None

    def code_at(self, day: date, grain: Grain) -> str:
        """Return the code of the period that contains a day. Rows outside the calendar get the day itself."""
        period = self.at(day, grain)
        return day.isoformat() if period is None else period.code

    def touching(self, span: Span, grain: Grain) -> PeriodRange | None:
        """Return the periods of a grain that overlap a span, None if there are none."""
        if grain not in self.grains:
            return None
        at, known = self.grains[grain].at, self.ordinals[grain]
        first, last = max(at(span.first), known[0]), min(at(span.last), known[-1])
        return PeriodRange(self.period(grain, first), self.period(grain, last)) if first <= last else None

    def periods(self, asked: PeriodRange) -> Iterator[Period]:
        """Yield the periods of a range in order."""
        for ordinal in range(asked.start.ordinal, asked.end.ordinal + 1):
            yield self.period(asked.grain, ordinal)

    def within(self, asked: PeriodRange, grain: Grain) -> PeriodRange | None:
        """Return the range of another grain with exactly the same days, None if there is none."""
        inner = self.touching(asked.span, grain)
        return inner if inner and inner.span == asked.span else None

    def nests(self, inner: Grain, outer: Grain) -> bool:
        """Tell whether periods of the inner grain make up those of the outer grain."""
        if inner is Grain.WEEK and outer is not Grain.WEEK and not self.weeks_nest:
            return False
        return {inner, outer} <= self.grains.keys() and inner.fineness <= outer.fineness

    def weeks(self, span: Span) -> int | None:
        """Return the number of weeks in a span, None if it or a period of the calendar is not made of whole weeks."""
        return span.length // 7 if self.whole_weeks and span.length % 7 == 0 else None

    def fitted(self, bounds: PeriodBounds, requested: Grain) -> PeriodRange | None:
        """Return bounds as a range of the requested grain, else of the coarsest that fits. None if they cross."""
        if bounds.start.grain is bounds.end.grain is requested:
            return PeriodRange(bounds.start, bounds.end) if bounds.span else None
        span = bounds.span and bounds.span.overlap(self.days)
        if not span:
            return None
        runs = (self.touching(span, grain) for grain in (requested, *COARSEST_FIRST))
        return next(run for run in runs if run and run.span == span)


def fineness(rules: tuple[Grain, GrainRules]) -> int:
    """Return the fineness of a grain, as a sort key."""
    return rules[0].fineness


# Shifts and windows of bounds.
#
# A shift moves codes, not days. If a code does not exist (29 February, week 53, a period before the calendar begins), a
# start moves to the next period and an end to the previous one. Bounds that cross hold no days, but a window can still
# use their end. Shifts and windows return None if nothing is left.


def years_earlier(calendar: Calendar, bounds: PeriodBounds, years: int) -> PeriodBounds | None:
    """Return bounds shifted back by years, None if nothing is left."""
    start, end = (
        calendar.grains[bound.grain].years_earlier(bound.ordinal, years) for bound in (bounds.start, bounds.end)
    )
    if end.end < calendar.ordinals[bounds.end.grain][0]:
        return None
    last = calendar.period(bounds.end.grain, end.end)
    if bounds.start.grain is Grain.YEAR and last.grain is not Grain.YEAR:  # a year to date stays one
        return year_to_date(calendar, PeriodBounds(last, last))
    return PeriodBounds(clamped_period(calendar, bounds.start.grain, start.start), last)


def without_counterpart(calendar: Calendar, bounds: PeriodBounds, years: int) -> Iterator[Period]:
    """Yield the bounds without a counterpart `years` earlier: 29 February, week 53, before the calendar begins."""
    for bound in dict.fromkeys((bounds.start, bounds.end)):
        found = calendar.grains[bound.grain].years_earlier(bound.ordinal, years)
        if found.start != found.end or found.end not in calendar.ordinals[bound.grain]:
            yield bound


def periods_earlier(calendar: Calendar, bounds: PeriodBounds, count: int, requested: Grain) -> PeriodBounds | None:
    """Return bounds shifted back by `count` periods of the requested grain, or of the coarser grain that they fit."""
    if not bounds.start.grain is bounds.end.grain is requested:
        run = calendar.fitted(bounds, requested)
        if run is None:
            return None
        bounds = PeriodBounds(run.start, run.end)
    grain = bounds.end.grain
    steps = count * STEPS.get((requested, grain), 1)
    end = bounds.end.ordinal - steps
    if end < calendar.ordinals[grain][0]:
        return None
    return PeriodBounds(clamped_period(calendar, grain, bounds.start.ordinal - steps), calendar.period(grain, end))


def year_to_date(calendar: Calendar, bounds: PeriodBounds) -> PeriodBounds | None:
    """Return the fiscal year up to the end of the last period. Weeks start at W01 of the year in their code."""
    last = bounds.end
    if last.grain is Grain.WEEK:
        return PeriodBounds(clamped_period(calendar, Grain.WEEK, last.ordinal - int(last.code[-2:]) + 1), last)
    year = calendar.touching(last.span, Grain.YEAR)
    return PeriodBounds(year.end, last) if year else None


def quarter_to_date(calendar: Calendar, bounds: PeriodBounds) -> PeriodBounds | None:
    """Return the fiscal quarter of the last day up to the end of the last period."""
    last = bounds.end
    quarter = calendar.touching(last.span, Grain.QUARTER)
    if last.grain is Grain.WEEK and not calendar.weeks_nest:
        days = calendar.touching(last.span, Grain.DATE)
        return PeriodBounds(quarter.end, days.end) if quarter and days else None
    return PeriodBounds(quarter.end, last) if quarter else None


def whole_year(calendar: Calendar, bounds: PeriodBounds) -> PeriodBounds | None:
    """Return the fiscal year that contains the last day."""
    year = calendar.touching(bounds.end.span, Grain.YEAR)
    return PeriodBounds(year.end, year.end) if year else None


def last_twelve_months(calendar: Calendar, bounds: PeriodBounds) -> PeriodBounds | None:
    """Return the range after the last period's counterpart one year earlier, up to the end of the last period."""
    last = bounds.end
    before = calendar.grains[last.grain].years_earlier(last.ordinal, 1).end
    return PeriodBounds(clamped_period(calendar, last.grain, before + 1), last)


def clamped_period(calendar: Calendar, grain: Grain, ordinal: int) -> Period:
    """Return a period by ordinal, or the first period of the calendar if the ordinal is before it."""
    return calendar.period(grain, max(ordinal, calendar.ordinals[grain][0]))
