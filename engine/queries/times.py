"""Breakdowns by time: the periods of one axis, or the days that periods of two axes have in common."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby, permutations

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.families import family_of
from engine.model.calendar.periods import Grain, Period, PeriodRange, Span
from engine.model.calendar.steps import Shift
from engine.model.catalogue import PERIOD, Dimension, Domain
from engine.model.errors import BadArguments, DimensionUnavailable, GrainUnavailable
from engine.model.stopping import watched
from engine.queries.values import Query, ScenarioColumn, TimeAxis, TimeColumn

MOST_PERIODS = 4000
MOST_AXES = 2


def resolve_time_axes(
    dimensions: Sequence[Dimension],
    columns: Sequence[ScenarioColumn],
    calendar: Calendar,
    asked: PeriodRange,
    selected: Sequence[PeriodRange],
    domains: Sequence[Domain],
) -> tuple[TimeAxis, ...]:
    """Return the axes of time of a breakdown.

    Raises GrainUnavailable if no domain has a grain, DimensionUnavailable if no axis has periods that make up the range
    or one has no period for some day of it, and BadArguments for axes that do not go together, or too many periods.
    """
    of_time = [dimension for dimension in dimensions if dimension.grain]
    if of_time and asked.is_undated:
        raise DimensionUnavailable(
            f"Rows without a date have no periods to break down by. Leave {of_time[0].key} out of dimensions.",
            field="dimensions",
            got=of_time[0].key,
        )
    axes = tuple(
        TimeAxis(dimension=known, grain=asked.grain if known.key == PERIOD else known.grain or asked.grain)
        for known in of_time
    )
    refuse_apart(axes, dimensions)
    for axis in axes:
        refuse_not_held(axis, domains)
        refuse_without_year(axis, axes, calendar)
    runs = (asked, *selected)
    fitting = [axis for axis in axes if all(calendar.within(run, axis.grain) for run in runs)]
    for axis in axes:
        if not fitting or not all(covers(axis.grain, run.span, calendar) for run in runs):
            raise not_fitting(axis, asked, calendar)
    touched = [(axis, calendar.touching(run.span, axis.grain)) for axis in axes for run in selected]
    refuse_too_many(axes, asked, sum(run.count for _, run in touched if run))
    if len(axes) > 1 and not any(calendar.nests(a.grain, b.grain) for a, b in permutations(axes, 2)):
        refuse_shifts(axes, columns)
    return axes


def covers(grain: Grain, span: Span, calendar: Calendar) -> bool:
    """Tell whether every day of a span has a period of a grain."""
    run = calendar.touching(span, grain)
    return run is not None and run.span.overlap(span) == span


def refuse_apart(axes: Sequence[TimeAxis], dimensions: Sequence[Dimension]) -> None:
    """Raise BadArguments for more than two axes, two of the same periods, or two with another dimension between."""
    keys = [axis.dimension.key for axis in axes]
    if len(axes) < MOST_AXES:
        return
    first = next(at for at, dimension in enumerate(dimensions) if dimension.grain)
    others = [dimension.key for dimension in dimensions if not dimension.grain]
    wrong = ""
    if len(axes) > MOST_AXES:
        wrong = "Break down by two of them at most."
    elif axes[0].grain is axes[1].grain:
        wrong = "These are the same periods. Name one of them."
    elif dimensions[first + 1].key != keys[1]:
        wrong = "Name them one after the other."
    if wrong:
        raise BadArguments(
            f"dimensions names {', '.join(keys[:-1])} and {keys[-1]}. {wrong}",
            field="dimensions",
            got=keys,
            example={"dimensions": [*others, *keys[: 1 if axes[0].grain is axes[1].grain else MOST_AXES]]},
        )


def refuse_not_held(axis: TimeAxis, domains: Sequence[Domain]) -> None:
    """Raise GrainUnavailable if no domain can be asked by the grain of an axis."""
    if not any(domain.carries(axis.grain) for domain in domains):
        raise GrainUnavailable(
            f"These figures are not held by {axis.grain.value}, so they cannot be broken down by {axis.dimension.key}.",
            field="dimensions",
            got=axis.dimension.key,
        )


def refuse_without_year(axis: TimeAxis, axes: Sequence[TimeAxis], calendar: Calendar) -> None:
    """Raise BadArguments for numbers of periods without the years that they are numbers in."""
    years = (other.grain for other in axes if other.grain is family_of(other.grain).year)
    if axis.dimension.of_year and not any(calendar.nests(axis.grain, year) for year in years):
        key, year = axis.dimension.key, family_of(axis.grain).year.value
        raise BadArguments(
            f"{key} has the numbers of {axis.grain.value}s in their years. Break down by the years as well.",
            field="dimensions",
            got=[known.dimension.key for known in axes],
            example={"dimensions": [year, key]},
        )


def not_fitting(axis: TimeAxis, asked: PeriodRange, calendar: Calendar) -> DimensionUnavailable:
    """Return the refusal of an axis whose periods do not make up, or do not reach, the whole range."""
    words = axis.grain.value.replace("_", " ")
    return DimensionUnavailable(
        f"The {words}s do not fit into {asked.label}. Break down by {PERIOD}, or choose a range of whole {words}s"
        f"{whole_periods(asked, axis.grain, calendar)}.",
        field="dimensions",
        got=axis.dimension.key,
        valid=[PERIOD],
    )


def whole_periods(asked: PeriodRange, grain: Grain, calendar: Calendar) -> str:
    """Return words on the periods of a grain that a range touches, and on the days that such periods have."""
    run, reach = calendar.touching(asked.span, grain), calendar.days_of(grain)
    named = f": {run.start.code} to {run.end.code}" if run else ""
    is_inside = reach.holds(asked.span.first) and reach.holds(asked.span.last)
    return named if is_inside else f"{named}. The trading calendar has {reach.first} to {reach.last}"


def refuse_too_many(axes: Sequence[TimeAxis], asked: PeriodRange, count: int) -> None:
    """Raise BadArguments for more periods than a breakdown shows."""
    if count > MOST_PERIODS:
        named = " and ".join(f"{axis.grain.value}s" for axis in axes)
        raise BadArguments(
            f"{asked.label} has {count} {named}; a breakdown shows at most {MOST_PERIODS}. Choose a "
            "shorter range or a coarser grain.",
            field="dimensions",
            got=axes[-1].dimension.key,
        )


def refuse_shifts(axes: Sequence[TimeAxis], columns: Sequence[ScenarioColumn]) -> None:
    """Raise BadArguments for a shift beside two calendars: the days that their periods share have no earlier period."""
    shifted = [side.key for column in columns for side in column.reference.sides if side.shifts]
    if shifted:
        a, b = (axis.dimension.key for axis in axes)
        raise BadArguments(
            f"{a} and {b} cut each other's periods, so that no period has the days of a cell, and {shifted[0]} moves "
            f"periods. Break it down by one of them, or show scenarios without a shift.",
            field="dimensions",
            got=[a, b],
            example={"dimensions": [a]},
        )


def refuse_uneven(columns: Sequence[ScenarioColumn], grains: Collection[Grain], calendar: Calendar) -> None:
    """Raise BadArguments for a step of a reference that takes no periods of a grain; the example has another for it."""

    def uneven(shift: Shift) -> Grain | None:
        return next((grain for grain in grains if not shift.takes(calendar, grain)), None)

    steps = {shift: side for column in columns for side in column.reference.sides for shift in side.shifts}
    wrong = {shift: grain for shift in steps if (grain := uneven(shift))}
    for shift, grain in wrong.items():
        unit = shift.unit(calendar.family(grain)) if shift.unit else grain
        noun, whole = (
            calendar.grains[at].noun if at in calendar.grains else at.value.replace("_", " ") for at in (grain, unit)
        )
        keys = [column.reference.key for column in columns]
        others = [reduce(lambda key, step: key.replace(f"@{step.key}", step.instead), wrong, key) for key in keys]
        instead = next(other for key, other in zip(keys, others, strict=True) if key != other)
        raise BadArguments(
            f"@{shift.key} takes periods {'shorter than' if shift.is_window else 'inside'} a {whole}, and "
            f"{steps[shift].key} is asked for by {noun}. Ask by shorter periods, or for {instead}.",
            field="scenarios",
            got=steps[shift].key,
            did_you_mean=[instead],
            example={"scenarios": [{"scenario": key} for key in dict.fromkeys(others)]},
        )


def time_columns(query: Query, calendar: Calendar) -> tuple[TimeColumn, ...]:
    """Return the columns that a query breaks down by in time, in the order of its axes; none without such a breakdown.

    Numbers of periods stand in the order in which the range has them.
    """
    if not query.time:
        return ()
    spans: dict[tuple[Period, ...], list[Span]] = {}
    for run in query.selected:
        for periods, days in watched(crossed(query.time, run.span, calendar)):
            spans.setdefault(periods, []).append(days)
    columns = in_order([TimeColumn(periods, tuple(days)) for periods, days in watched(spans.items())], query.time)
    return tuple(with_totals(columns, query.time[0]) if query.nests and len(query.time) > 1 else columns)


def with_totals(columns: Iterable[TimeColumn], first: TimeAxis) -> Iterator[TimeColumn]:
    """Yield columns, and before those of each member of the first axis one with the days of all of them."""
    for _, group in groupby(columns, lambda column: first.member(column.periods[0])):
        below = list(group)
        parts = sorted((known for column in below if (known := column.whole)), key=lambda period: period.first)
        spans = joined(span for column in watched(below) for span in column.spans)
        yield TimeColumn(below[0].periods[:1], spans, tuple(parts) if len(parts) == len(below) else ())
        yield from below


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans that share no day in ascending order, adjacent ones as one."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda known: known.first):
        if found and found[-1].last.toordinal() + 1 == span.first.toordinal():
            found[-1] = Span(found[-1].first, span.last)
        else:
            found.append(span)
    return tuple(found)


def crossed(axes: Sequence[TimeAxis], span: Span, calendar: Calendar) -> Iterator[tuple[tuple[Period, ...], Span]]:
    """Yield one period of each axis, and the days of a span that they have in common, where they have any."""
    if not axes:
        yield (), span
        return
    touched = calendar.touching(span, axes[0].grain)
    for period in calendar.periods(touched) if touched else ():
        inside = period.span.overlap(span)
        for others, days in crossed(axes[1:], inside, calendar) if inside else ():
            yield (period, *others), days


def in_order(columns: Sequence[TimeColumn], axes: Sequence[TimeAxis]) -> Iterable[TimeColumn]:
    """Return columns by the members of the first axis, then of the second, each where it comes first."""
    if not any(axis.dimension.of_year for axis in axes):
        return columns
    by_time = sorted(columns, key=lambda column: column.spans[0].first)
    ranks: list[dict[str, int]] = [{} for _ in axes]
    for column in by_time:
        for rank, axis, period in zip(ranks, axes, column.periods, strict=True):
            rank.setdefault(axis.member(period), len(rank))
    return sorted(
        columns,
        key=lambda column: [
            rank[axis.member(period)] for rank, axis, period in zip(ranks, axes, column.periods, strict=True)
        ],
    )
