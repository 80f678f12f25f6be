"""The calendar of an instance: parses period codes and finds the periods of days."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property

from msgspec import Struct

from engine.model.caching import cached_method
from engine.model.calendar.families import CALENDAR, FISCAL, TRADING, GrainFamily, family_of
from engine.model.calendar.periods import (
    DAY,
    GRAINS,
    ISO_WEEKS,
    Grain,
    GrainRules,
    Period,
    PeriodBounds,
    PeriodRange,
    Span,
)
from engine.model.calendar.spellings import spellings
from engine.model.errors import BadPeriod, MixedGrains, quoted

TY = "TY"  # begins the codes of trading years


class Calendar(Struct, frozen=True, eq=False, dict=True):
    """Maps period codes to periods by a table of grain rules. A period exists if it contains a day of the calendar."""

    days: Span
    grains: Mapping[Grain, GrainRules]

    @cached_property
    def ordinals(self) -> Mapping[Grain, Sequence[int]]:
        """The ordinals of the existing periods, by grain."""
        found = {}
        for grain, rules in self.grains.items():
            days = rules.days.overlap(self.days) if rules.days else self.days
            found[grain] = range(rules.at(days.first), rules.at(days.last) + 1) if days else range(0)
        return found

    @property
    def weeks_nest(self) -> bool:
        """Whether weeks come from a table and make up its periods."""
        return self.grains[Grain.WEEK] is not ISO_WEEKS

    def days_of(self, grain: Grain) -> Span:
        """Return the days that the periods of a grain have."""
        first, last = (self.period(grain, self.ordinals[grain][place]) for place in (0, -1))
        return Span(max(first.first, self.days.first), min(last.last, self.days.last))

    @cached_property
    def example(self) -> Mapping[str, str]:
        """An example range in the form of a call's arguments."""
        return dict.fromkeys(("period_start", "period_end"), self.grains[Grain.MONTH].example)

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
                )
            return self.period(grain, ordinal)
        raise BadPeriod(
            f"{field} {quoted([code])} is no period code. It is {self.codes}.",
            field=field,
            got=code,
        )

    def nearest(self, code: str) -> Period | None:
        """Return the period that exists nearest to a code of some grain, at best of its year; None for other texts."""
        grain = next((grain for grain in self.grains if GRAINS[grain].fits(code)), None)
        if grain is None:
            return None
        rules, known = self.grains[grain], self.ordinals[grain]
        ordinal = rules.parse(code)
        same_year = re.sub(r"\d{4}", re.findall(r"\d{4}", code)[0], rules.example, count=1)
        wanted = rules.parse(same_year) if ordinal is None else ordinal
        return self.period(grain, known[-1] if wanted is None else min(max(wanted, known[0]), known[-1]))

    def read(self, text: str, field: str = "period_start", asked: Mapping[str, str] | None = None) -> Period:
        """Return the period of a code, or of words that can mean one period only. Raises BadPeriod otherwise.

        `asked` holds the bounds of a range, so that the refusal of one can give the whole range in codes.
        """
        if any(GRAINS[grain].fits(text) for grain in self.grains):
            return self.parse(text, field)
        readings = self.readings(text)
        if not readings:
            return self.parse(text, field)
        if len(readings) == 1 and readings[0].count == 1:
            return readings[0].start
        said = [reading_words(reading) for reading in readings]
        is_bound = field in self.example
        codes = [period.code for period in self.periods(readings[-1])]
        raise BadPeriod(
            f"{field} {quoted([text])} can mean {' or '.join(said)}. Give the code of what you mean."
            if len(said) > 1
            else f"{field} {quoted([text])} is {said[0]}. Give {'both bounds' if is_bound else 'their codes'}.",
            field=field,
            got=text,
            valid=[run.start.code for run in readings if run.count == 1] or ([] if is_bound else codes),
            example=self.example_of(readings[-1], field, asked or {}) if is_bound else None,
        )

    def example_of(self, reading: PeriodRange, field: str, asked: Mapping[str, str]) -> dict[str, str]:
        """Return the requested bounds in codes; `reading` is what one of them, or the only one, means."""
        if asked.keys() == {field}:
            return {field: reading.start.code if field == "period_start" else reading.end.code}
        start, end = (self.reading(asked.get(bound, "")) or reading for bound in self.example)
        return self.covering(start, end)

    def reading(self, text: str) -> PeriodRange | None:
        """Return the range that a code or words can mean, the last where there are several; None if there is none."""
        with suppress(BadPeriod):
            if any(GRAINS[grain].fits(text) for grain in self.grains):
                period = self.parse(text)
                return PeriodRange(period, period)
            return next(reversed(self.readings(text)), None)
        return None

    def covering(self, first: PeriodRange, last: PeriodRange) -> dict[str, str]:
        """Return the bounds of both ranges and the days between them, at the coarsest grain that fits."""
        if first.span.first > last.span.last:
            first, last = last, first
        span = Span(first.span.first, last.span.last)
        grains = dict.fromkeys((first.grain, last.grain, FISCAL.month, Grain.DATE))
        runs = (self.touching(span, grain) for grain in sorted(grains, key=lambda grain: -grain.fineness))
        found = next((run for run in runs if run and run.span == span), None)
        return {"period_start": found.start.code, "period_end": found.end.code} if found else dict(self.example)

    def readings(self, text: str) -> list[PeriodRange]:
        """Return what some words can mean, each once: the periods of codes, then days that no code among them has."""
        found = [each for each in spellings(text) if not each.code.startswith(TY) or TRADING.year in self.grains]
        named = [self.named(spelling.first, spelling.last) for spelling in found]
        apart = [span for each, run in zip(found, named, strict=True) if (span := each.days) and span != run.span]
        meant = [run for span in apart if (run := self.spanning(span))]
        traded = [run for each in found if each.days and (run := self.trading(each.first, each.last))]
        return list({(run.start.code, run.end.code): run for run in (*named, *meant, *traded)}.values())

    def trading(self, first: str, last: str) -> PeriodRange | None:
        """Return the range of the trading calendar with the numbers of two codes, None if it has no such periods."""
        with suppress(BadPeriod):
            return PeriodRange(self.parse(TY + first), self.parse(TY + last))
        return None

    def named(self, first: str, last: str) -> PeriodRange:
        """Return the range from one code to another. The fiscal codes stand for the calendar's where both are alike."""
        grain = next((grain for grain in CALENDAR.grains if GRAINS[grain].fits(first)), None)
        if grain is None or grain in self.grains:
            return PeriodRange(self.parse(first), self.parse(last))
        if grain is Grain.CALENDAR_HALF:
            half = GRAINS[grain].parse(first) or 0
            first, last = (f"CY{GRAINS[FISCAL.quarter].code(half * 2 + place)}" for place in (0, 1))
        return PeriodRange(self.parse(first.removeprefix("CY")), self.parse(last.removeprefix("CY")))

    def spanning(self, days: Span) -> PeriodRange | None:
        """Return the one calendar period, else the range of months, else of days, with exactly these days."""
        whole = (self.touching(days, grain) for grain in CALENDAR.grains)
        finer = (self.touching(days, grain) for grain in (FISCAL.month, Grain.DATE))
        runs = (*(run for run in whole if run and run.count == 1), *finer)
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
                example=self.covering(PeriodRange(first, first), PeriodRange(last, last)),
            )
        if first.ordinal > last.ordinal:
            raise BadPeriod(
                f"period_start '{start}' comes after period_end '{end}'. Exchange them.",
                field="period_start",
                got=start,
                example={"period_start": end, "period_end": start},
            )
        return PeriodRange(first, last)

    @cached_method
    def period(self, grain: Grain, ordinal: int) -> Period:
        """Return a period by grain and ordinal."""
        rules = self.grains[grain]
        span = rules.span(ordinal)
        return Period(grain, ordinal, rules.code(ordinal), span.first, span.last, rules.name(ordinal), rules.beside)

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

    @cached_method
    def nests(self, inner: Grain, outer: Grain) -> bool:
        """Tell whether periods of the inner grain make up those of the outer grain."""
        if not {inner, outer} <= self.grains.keys() or inner.fineness > outer.fineness:
            return False
        if inner in (Grain.DATE, outer):
            return True
        if family_of(inner) is family_of(outer):
            return inner is not Grain.WEEK or self.weeks_nest
        firsts = (max(self.grains[outer].span(n).first, self.days.first) for n in self.ordinals[outer])
        end = self.days_of(outer).last
        ends = end == self.days.last or self.begins(end + DAY, inner)
        return ends and all(self.begins(day, inner) for day in firsts)

    def begins(self, day: date, grain: Grain) -> bool:
        """Tell whether a period of a grain begins on a day."""
        rules = self.grains[grain]
        ordinal = rules.at(day)
        return ordinal in self.ordinals[grain] and day in (rules.span(ordinal).first, self.days.first)

    def is_whole(self, span: Span, grain: Grain) -> bool:
        """Tell whether a span begins and ends with periods of a grain, as far as the calendar has days."""
        if grain is Grain.DATE:
            return True
        first = None if span.first <= self.days.first else self.at(span.first, grain)
        last = None if span.last >= self.days.last else self.at(span.last, grain)
        begins = span.first <= self.days.first or (first is not None and first.first == span.first)
        return begins and (span.last >= self.days.last or (last is not None and last.last == span.last))

    def family(self, grain: Grain) -> GrainFamily:
        """Return the family of a grain: the fiscal one where calendar years are fiscal years."""
        known = family_of(grain)
        return FISCAL if known is CALENDAR and known.year not in self.grains else known

    def at_most_month(self, grain: Grain) -> Grain:
        """Return a grain, or the month of its family if it is coarser."""
        month = next(known for known in (family_of(grain).month, FISCAL.month) if known in self.grains)
        return min(grain, month, key=lambda known: known.fineness)

    def weeks(self, span: Span, grain: Grain) -> int | None:
        """Return the number of weeks in a span, None if it or the years of a grain are not made of whole weeks."""
        year = self.grains.get(self.family(grain).year)
        return span.length // 7 if year and year.whole_weeks and span.length % 7 == 0 else None

    def fitted(self, bounds: PeriodBounds, requested: Grain) -> PeriodRange | None:
        """Return bounds as a range of the requested grain, else their own, else the coarsest. None if they cross."""
        if bounds.start.grain is bounds.end.grain is requested:
            return PeriodRange(bounds.start, bounds.end) if bounds.span else None
        own = [bounds.start.grain] if bounds.start.grain is bounds.end.grain else []
        span = bounds.span and bounds.span.overlap(self.days)
        if not span:
            return None
        coarsest = (*family_of(requested).grains, FISCAL.month, Grain.DATE)
        runs = (self.touching(span, grain) for grain in (requested, *own, *coarsest))
        return next(run for run in runs if run and run.span == span)


def reading_words(run: PeriodRange) -> str:
    """Return a range as one reading of some words: its code and label, or its codes and days."""
    if run.count == 1:
        return f"{run.start.code} ({run.start.label})"
    return f"{run.start.code} to {run.end.code} ({run.span.first} to {run.span.last})"


def fineness(rules: tuple[Grain, GrainRules]) -> int:
    """Return the fineness of a grain, as a sort key."""
    return rules[0].fineness
