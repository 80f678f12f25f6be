"""Filters of a request, resolved: members to leaves, periods to parts of the range."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.books.member_names import resolve_member_names
from engine.books.reader import Reader
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Period, PeriodRange
from engine.model.catalogue import Dimension, DimensionKind, Domain
from engine.model.errors import BadArguments, BadPeriod, DimensionUnavailable, UnknownName, quoted
from engine.model.members.member_sets import joined_leaves
from engine.model.notes import Note
from engine.model.scope import ALL
from engine.queries.values import Filter

LONGEST_MEMBER = 200


@dataclass(frozen=True, slots=True)
class Filters:
    """The resolved filters of a request, and notes on unknown members."""

    by_member: tuple[Filter, ...]
    by_time: Mapping[str, tuple[str, ...]]  # time dimension -> period codes
    notes: tuple[Note, ...]


def resolve_filters(
    asked: Mapping[str, str | tuple[str, ...]], reader: Reader, domains: Sequence[Domain], *, inspecting: bool = False
) -> Filters:
    """Return the filters of a request. Unknown members match nothing and become notes.

    An inspection can also filter by axes, and by `(all)` of a dimension that the rows lack, which keeps every row.
    """
    by_member, by_time = [], {}
    notes: list[Note] = []
    for key, ids in asked.items():
        members = tuple(dict.fromkeys([ids] if isinstance(ids, str) else ids))
        if not members:
            raise BadArguments(
                f"filters.{key} names no member. Leave the key out, or name members that search_hierarchy finds.",
                field=f"filters.{key}",
                got=[],
            )
        if inspecting and members == (ALL,) and key in reader.dimensions and not usable(key, reader, domains):
            continue
        dimension = usable_dimension(key, reader, domains, field=f"filters.{key}", breaking_down=inspecting)
        if dimension.grain:
            by_time[key] = members
            continue
        if ALL in members and dimension.kind is not DimensionKind.RAGGED:
            continue
        named = resolve_member_names(dimension, members, reader, f"filters.{key}")
        notes += named.notes
        leaves = joined_leaves(reader.members(key), named.visible, reader.sees_leaf(key))
        by_member.append(Filter(dimension=dimension, asked=named.ids, members=named.visible, leaves=leaves))
    return Filters(tuple(by_member), by_time, tuple(notes))


def refuse_long_members(asked: Mapping[str, str | tuple[str, ...]]) -> None:
    """Raise BadArguments for a filter value that is longer than any id, code or name."""
    for key, ids in asked.items():
        for member in (ids,) if isinstance(ids, str) else ids:
            refuse_long(member, f"filters.{key}", LONGEST_MEMBER)


def refuse_long(text: str, field: str, most: int) -> None:
    """Raise BadArguments for a text of more than `most` characters."""
    if len(text) > most:
        raise BadArguments(
            f"A text of {field} has {len(text):,} characters; {most} is the most.", field=field, got=text
        )


def usable_dimension(
    key: str, reader: Reader, domains: Sequence[Domain], *, field: str, breaking_down: bool
) -> Dimension:
    """Return a dimension; UnknownName if it is unknown, DimensionUnavailable if no domain can use it."""
    dimension = reader.dimensions.get(key)
    if dimension is None:
        fits = keys_of(reader, domains, breaking_down=breaking_down)
        raise UnknownName.of("dimension", key, fits, field=field, hint="list_dimensions lists them.")
    if dimension.axis_only and not breaking_down:
        raise DimensionUnavailable(
            f"{key} can only be broken down by, not filtered. Put it into dimensions, or filter by another.",
            field=field,
            got=key,
            valid=keys_of(reader, domains, breaking_down=False),
        )
    if not usable(key, reader, domains):
        names = quoted(sorted(domain.key for domain in domains))
        raise DimensionUnavailable(
            f"{names} has no {key}, so nothing here can be cut by it.",
            field=field,
            got=key,
            valid=keys_of(reader, domains, breaking_down=breaking_down),
        )
    return dimension


def usable(key: str, reader: Reader, domains: Iterable[Domain]) -> bool:
    """Tell whether some domain has a dimension."""
    return any(reader.dimensions[key] in reader.catalogue.dimensions_of(domain) for domain in domains)


def keys_of(reader: Reader, domains: Iterable[Domain], *, breaking_down: bool) -> list[str]:
    """Return the keys of the dimensions that some domain has."""
    keys = dict.fromkeys(
        dimension.key
        for domain in domains
        for dimension in reader.catalogue.dimensions_of(domain)
        if breaking_down or not dimension.axis_only
    )
    return list(keys)


def select_periods(
    asked: PeriodRange, by_time: Mapping[str, tuple[str, ...]], calendar: Calendar
) -> tuple[PeriodRange, ...]:
    """Return the parts of a range that lie inside every filter on time, as ranges of adjacent periods."""
    if not by_time:
        return (asked,)
    kept = [
        period
        for period in calendar.periods(asked)
        if all(
            any(inside(period, named) for named in named_periods(by_time[key], key, asked, calendar)) for key in by_time
        )
    ]
    runs: list[PeriodRange] = []
    for period in kept:
        if runs and runs[-1].end.ordinal + 1 == period.ordinal:
            runs[-1] = PeriodRange(runs[-1].start, period)
        else:
            runs.append(PeriodRange(period, period))
    return tuple(runs)


def inside(period: Period, other: Period) -> bool:
    """Tell whether a period lies inside another."""
    return other.first <= period.first and period.last <= other.last


def named_periods(codes: Iterable[str], key: str, asked: PeriodRange, calendar: Calendar) -> list[Period]:
    """Return the periods of a filter on time; BadPeriod if one is finer than the grain of the range."""
    periods = [calendar.parse(code, f"filters.{key}") for code in codes]
    for period in periods:
        if period.grain.fineness < asked.grain.fineness:
            raise BadPeriod(
                f"filters.{key} names the {period.grain.value} '{period.code}' while the range is by "
                f"{asked.grain.value}. Give period_start and period_end by {period.grain.value}.",
                field=f"filters.{key}",
                got=period.code,
            )
    return periods
