"""Shifts and windows of bounds: how a range moves through time, or gives way to one that ends with its last period.

A shift moves codes, not days. If a code does not exist (29 February, week 53, a period before the calendar begins), a
start moves to the next period and an end to the previous one. Bounds that cross hold no days, but a window can still
use their end. Shifts and windows return None if nothing is left.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.families import FISCAL, GrainFamily, family_of, periods_in
from engine.model.calendar.periods import Counterpart, Grain, Period, PeriodBounds

Unit = Callable[[GrainFamily], Grain]  # of a family: its weeks, months or quarters


def years_earlier(calendar: Calendar, bounds: PeriodBounds, years: int) -> PeriodBounds | None:
    """Return bounds shifted back by years, None if nothing is left."""
    start, end = (
        calendar.grains[bound.grain].years_earlier(bound.ordinal, years) for bound in (bounds.start, bounds.end)
    )
    if end.end < calendar.ordinals[bounds.end.grain][0]:
        return None
    last = calendar.period(bounds.end.grain, end.end)
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
        if run and requested is Grain.WEEK is not run.grain and bounds.start.grain is not bounds.end.grain:
            run = calendar.within(run, Grain.DATE)  # so a week that ends a month moves as other weeks do
        if run is None:
            return None
        bounds = PeriodBounds(run.start, run.end)
    grain = bounds.end.grain
    in_one = periods_in(requested, grain) if grain.fineness < requested.fineness else 1
    if not in_one:
        return None
    steps = count * in_one
    end = bounds.end.ordinal - steps
    if end < calendar.ordinals[grain][0]:
        return None
    return PeriodBounds(clamped_period(calendar, grain, bounds.start.ordinal - steps), calendar.period(grain, end))


def units_earlier(calendar: Calendar, bounds: PeriodBounds, unit: Unit, requested: Grain) -> PeriodBounds | None:
    """Return bounds at the same place in the unit before, those of a window as periods of the request.

    A window that is no run of these moves as months, one that is no run of months, or shorter than they, as days.
    """
    if not bounds.start.grain is bounds.end.grain is requested:
        span = bounds.span and bounds.span.overlap(calendar.days)
        month = calendar.family(requested).month
        months = [month] if month in calendar.grains and grains_within(calendar, month, unit) else []
        runs = [calendar.touching(span, grain) for grain in (requested, *months, Grain.DATE)] if span else []
        run = next((run for run in runs if run and run.span == span), None)
        if run is None:
            return None
        bounds = PeriodBounds(run.start, run.end)
    grain = bounds.end.grain
    if not (grains := grains_within(calendar, grain, unit)):
        return None
    start, end = (same_place(calendar, bound, grains) for bound in (bounds.start, bounds.end))
    if end is None or end.end < calendar.ordinals[grain][0]:
        return None
    return PeriodBounds(clamped_period(calendar, grain, start.start if start else 0), calendar.period(grain, end.end))


def grains_within(calendar: Calendar, grain: Grain, unit: Unit) -> tuple[Grain, ...]:
    """Return a unit, the months inside it that have finer periods, and the grain; none where these do not nest."""
    family = calendar.family(grain)
    outer = unit(family)
    months = [family.month] if grain.fineness < family.month.fineness < outer.fineness else []
    grains = tuple(dict.fromkeys((outer, *months, grain)))
    has_all = outer in calendar.grains and all(calendar.nests(inner, whole) for whole, inner in pairwise(grains))
    return grains if has_all else ()


def same_place(calendar: Calendar, period: Period, grains: tuple[Grain, ...]) -> Counterpart | None:
    """Return the period with the same number in the unit before, by months if `grains` has them.

    None if there is no unit before. A number that it lacks has the period after it as a start, its last as an end.
    """
    whole, known = calendar.at(period.first, grains[0]), calendar.ordinals[grains[0]]
    if whole is None or whole.ordinal == known[0]:
        return None
    before = calendar.period(grains[0], whole.ordinal - 1)
    for grain in grains[1:]:
        at = calendar.grains[grain].at
        ordinal = at(before.first) + at(period.first) - at(whole.first)
        if ordinal > at(before.last):
            last = calendar.grains[period.grain].at(before.last)
            return Counterpart(last + 1, last)
        whole, before = calendar.period(grain, at(period.first)), calendar.period(grain, ordinal)
    return Counterpart(before.ordinal, before.ordinal)


def without_place(calendar: Calendar, bounds: PeriodBounds, unit: Unit) -> Iterator[Period]:
    """Yield the bounds whose number the unit before does not have."""
    for bound in dict.fromkeys((bounds.start, bounds.end)):
        grains = grains_within(calendar, bound.grain, unit)
        found = same_place(calendar, bound, grains) if grains else None
        if grains and (found is None or found.start != found.end):
            yield bound


def year_to_date(calendar: Calendar, bounds: PeriodBounds, family: GrainFamily | None = None) -> PeriodBounds | None:
    """Return the year up to the end of the last period. Weeks start at W01 of the year in their code."""
    last = bounds.end
    if last.grain is Grain.WEEK and family is None:
        return PeriodBounds(clamped_period(calendar, Grain.WEEK, last.ordinal - int(last.code[-2:]) + 1), last)
    return to_date(calendar, last, year_grain(calendar, last, family))


def month_to_date(calendar: Calendar, bounds: PeriodBounds) -> PeriodBounds | None:
    """Return the month of the last day up to the end of the last period."""
    months = (calendar.family(bounds.end.grain).month, FISCAL.month)
    return to_date(calendar, bounds.end, next(month for month in months if month in calendar.grains))


def quarter_to_date(calendar: Calendar, bounds: PeriodBounds, family: GrainFamily | None = None) -> PeriodBounds | None:
    """Return the quarter of the last day up to the end of the last period."""
    known = calendar.family((family or family_of(bounds.end.grain)).year)
    return to_date(calendar, bounds.end, known.quarter)


def to_date(calendar: Calendar, last: Period, grain: Grain) -> PeriodBounds | None:
    """Return the period of a grain that contains the last day, up to the end of the last period."""
    whole = at_end(calendar, last, grain)
    return PeriodBounds(whole, last) if whole else None


def at_end(calendar: Calendar, last: Period, grain: Grain) -> Period | None:
    """Return the period of a grain that has the last day of another period, None if none has it."""
    return calendar.at(min(last.last, calendar.days.last), grain)


def year_grain(calendar: Calendar, last: Period, family: GrainFamily | None) -> Grain:
    """Return the grain of the years of a family, by default that of the last period."""
    return calendar.family((family or family_of(last.grain)).year).year


def whole_year(calendar: Calendar, bounds: PeriodBounds, family: GrainFamily | None = None) -> PeriodBounds | None:
    """Return the year that contains the last day."""
    year = at_end(calendar, bounds.end, year_grain(calendar, bounds.end, family))
    return PeriodBounds(year, year) if year else None


def last_twelve_months(calendar: Calendar, bounds: PeriodBounds) -> PeriodBounds | None:
    """Return the range after the last period's counterpart one year earlier, up to the end of the last period."""
    last = bounds.end
    before = calendar.grains[last.grain].years_earlier(last.ordinal, 1).end
    return PeriodBounds(clamped_period(calendar, last.grain, before + 1), last)


def last_periods(calendar: Calendar, bounds: PeriodBounds, count: int, requested: Grain) -> PeriodBounds | None:
    """Return as many periods that end with the last one, of the requested grain where one of them ends there."""
    last = bounds.end
    if last.grain is not requested and (whole := at_end(calendar, last, requested)) and whole.last == last.last:
        last = whole
    return PeriodBounds(clamped_period(calendar, last.grain, last.ordinal - count + 1), last)


def before_range(calendar: Calendar, bounds: PeriodBounds) -> PeriodBounds | None:
    """Return all days of the calendar before bounds, up to the end of the period before; None if there is none."""
    start = bounds.start
    if start.ordinal == calendar.ordinals[start.grain][0]:
        return None
    first = calendar.period(Grain.DATE, calendar.ordinals[Grain.DATE][0])
    return PeriodBounds(first, calendar.period(start.grain, start.ordinal - 1))


def clamped_period(calendar: Calendar, grain: Grain, ordinal: int) -> Period:
    """Return a period by ordinal, or the first period of the calendar if the ordinal is before it."""
    return calendar.period(grain, max(ordinal, calendar.ordinals[grain][0]))
