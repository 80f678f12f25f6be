"""Moves: how the bounds of a range go back in time, and the windows that replace them.

Codes move, never days. What does not exist (29 February, week 53, what the calendar does not reach back to) moves a
start to the next period and an end to the previous one; bounds that cross hold no days, yet a window still finds the
end it depends on. None where nothing is left of them.
"""

from collections.abc import Iterator

from engine.calendar.calendar import STEPS, Calendar
from engine.calendar.periods import Bounds, Grain, Period


def years_earlier(calendar: Calendar, bounds: Bounds, years: int) -> Bounds | None:
    """Return bounds some years earlier."""
    start, end = (
        calendar.grains[bound.grain].years_earlier(bound.ordinal, years) for bound in (bounds.start, bounds.end)
    )
    if end.end < calendar.ordinals[bounds.end.grain][0]:
        return None
    last = calendar.period(bounds.end.grain, end.end)
    if bounds.start.grain is Grain.YEAR and last.grain is not Grain.YEAR:  # a year to date stays one
        return year_to_date(calendar, Bounds(last, last))
    return Bounds(existing(calendar, bounds.start.grain, start.start), last)


def without_counterpart(calendar: Calendar, bounds: Bounds, years: int) -> Iterator[Period]:
    """Yield the bounds that do not exist some years earlier: 29 February, week 53, before the calendar begins."""
    for bound in dict.fromkeys((bounds.start, bounds.end)):
        found = calendar.grains[bound.grain].years_earlier(bound.ordinal, years)
        if found.start != found.end or found.end not in calendar.ordinals[bound.grain]:
            yield bound


def periods_earlier(calendar: Calendar, bounds: Bounds, count: int, requested: Grain) -> Bounds | None:
    """Return bounds some periods of the requested grain earlier; of their own, where they fit a coarser one only."""
    if not bounds.start.grain is bounds.end.grain is requested:
        run = calendar.fitted(bounds, requested)
        if run is None:
            return None
        bounds = Bounds(run.start, run.end)
    grain = bounds.end.grain
    steps = count * STEPS.get((requested, grain), 1)
    end = bounds.end.ordinal - steps
    if end < calendar.ordinals[grain][0]:
        return None
    return Bounds(existing(calendar, grain, bounds.start.ordinal - steps), calendar.period(grain, end))


def year_to_date(calendar: Calendar, bounds: Bounds) -> Bounds | None:
    """Return the fiscal year up to the end of the last period; of weeks, from W01 of the year in their code."""
    last = bounds.end
    if last.grain is Grain.WEEK:
        return Bounds(existing(calendar, Grain.WEEK, last.ordinal - int(last.code[-2:]) + 1), last)
    year = calendar.touching(last.span, Grain.YEAR)
    return Bounds(year.end, last) if year else None


def quarter_to_date(calendar: Calendar, bounds: Bounds) -> Bounds | None:
    """Return the fiscal quarter of the last day up to the end of the last period."""
    last = bounds.end
    quarter = calendar.touching(last.span, Grain.QUARTER)
    if last.grain is Grain.WEEK and not calendar.weeks_nest:
        days = calendar.touching(last.span, Grain.DATE)
        return Bounds(quarter.end, days.end) if quarter and days else None
    return Bounds(quarter.end, last) if quarter else None


def whole_year(calendar: Calendar, bounds: Bounds) -> Bounds | None:
    """Return the fiscal year that holds the last day."""
    year = calendar.touching(bounds.end.span, Grain.YEAR)
    return Bounds(year.end, year.end) if year else None


def last_twelve_months(calendar: Calendar, bounds: Bounds) -> Bounds | None:
    """Return what follows the last period's counterpart of the year before, up to its own end."""
    last = bounds.end
    before = calendar.grains[last.grain].years_earlier(last.ordinal, 1).end
    return Bounds(existing(calendar, last.grain, before + 1), last)


def existing(calendar: Calendar, grain: Grain, ordinal: int) -> Period:
    """Return a period by ordinal, the first of the calendar where it lies before."""
    return calendar.period(grain, max(ordinal, calendar.ordinals[grain][0]))
