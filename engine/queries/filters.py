"""Filters of a request, resolved: members to leaves, periods to parts of the range."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TypeVar

from msgspec import Struct

from engine.books.member_names import find_by_name, resolve_member_names
from engine.books.reader import Reader
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import UNDATED_CODE, Grain, Period, PeriodRange
from engine.model.catalogue import PERIOD, Dimension, DimensionKind, Domain
from engine.model.errors import MOST_CHARACTERS, BadArguments, BadPeriod, DimensionUnavailable, UnknownName, quoted
from engine.model.exact import ONE, ZERO
from engine.model.members.member_sets import Leaves
from engine.model.notes import Note
from engine.model.requests import Exclusion, ReportRequest, RowsRequest, Selection
from engine.model.scope import ALL
from engine.model.stopping import watched
from engine.queries.ranges import LastClosed, is_undated
from engine.queries.values import Filter

LONGEST_MEMBER = 200  # characters of an id, code or name
ALSO_CALLED = {"day": "date"}  # names of time dimensions that the service understands beside their keys


class Filters(Struct, frozen=True):
    """The resolved filters of a request, and notes on unknown members."""

    by_member: tuple[Filter, ...]
    by_time: Mapping[str, Selection]  # time dimension -> period codes
    notes: tuple[Note, ...]


def resolve_filters(
    asked: Mapping[str, str | Selection],
    reader: Reader,
    last_closed: LastClosed,
    period: PeriodRange | None,
    *,
    inspecting: bool = False,
) -> Filters:
    """Return the filters of a request. Unknown members match nothing and become notes.

    A last closed period of a filter by `period` has the grain of the range, if there is one. An inspection
    can also filter by axes, and by `(all)` of a dimension that the rows lack, which keeps every row.
    """
    by_member, by_time = [], {}
    domains = last_closed.domains
    notes: list[Note] = []
    for key in asked:
        members = selection_of(key, asked)
        if inspecting and members == (ALL,) and key in reader.dimensions and not usable(key, reader, domains):
            continue
        dimension = usable_dimension(key, reader, domains, field=f"filters.{key}", breaking_down=inspecting)
        if dimension.grain:
            own = period.grain if period else last_closed.grain()
            named_grain = own if dimension.key == PERIOD else dimension.grain
            if dimension.key in by_time:
                raise BadArguments(f"filters.{key} filters {dimension.key} again.", field=f"filters.{key}", got=key)
            try:
                by_time[dimension.key] = period_codes(members, f"filters.{key}", last_closed, named_grain)
            except BadPeriod as refused:
                refused.example = filters_instead(refused, key, asked, last_closed, named_grain, period)
                raise
            continue
        if not isinstance(members, Exclusion) and ALL in members and dimension.kind is not DimensionKind.RAGGED:
            continue
        known, said = named_filter(dimension, members, reader)
        notes += said
        by_member.append(known)
    return Filters(tuple(by_member), by_time, tuple(notes))


Asked = TypeVar("Asked", ReportRequest, RowsRequest)


def with_lists(asked: Asked, reader: Reader) -> Asked:
    """Return a request whose filters hold lists and exclusions where JSON texts of them were sent.

    Some hosts send them so. A text that is the id, code or name of a member stays a text.
    """
    read = {
        key: selection
        for key, text in asked.filters.items()
        if isinstance(text, str) and not is_member(key, text, reader) and (selection := selection_in(text)) is not None
    }
    return replace(asked, filters={**asked.filters, **read}) if read else asked


def is_member(key: str, text: str, reader: Reader) -> bool:
    """Tell whether a text names a member that the reader sees of a dimension."""
    dimension = reader.dimensions.get(key)
    if dimension is None or dimension.grain or text[:1] not in "[{":
        return False
    return reader.sees(key, text) or (not dimension.axis_only and bool(find_by_name(key, [text], reader)))


def selection_in(text: str) -> Selection | None:
    """Return the list or the exclusion of members that a JSON text holds; None if it holds none."""
    if text.strip()[:1] not in ("[", "{") or len(text) > MOST_CHARACTERS:
        return None
    try:
        sent = json.loads(text)
    except (ValueError, RecursionError):
        return None
    parts = sent if isinstance(sent, dict) else {"exclude": sent}
    lists = [ids for ids in parts.values() if isinstance(ids, list) and all(isinstance(member, str) for member in ids)]
    if len(lists) < len(parts) or not {"exclude"} <= parts.keys() <= {"exclude", "include"}:
        return None
    exclusion = Exclusion(**{name: tuple(ids) for name, ids in parts.items()})
    return exclusion if isinstance(sent, dict) else exclusion.exclude


def refuse_long_members(asked: Mapping[str, str | Selection]) -> None:
    """Raise BadArguments for a filter value that is longer than any id, code or name."""
    for key, ids in asked.items():
        for member in watched((ids,) if isinstance(ids, str) else named_by(ids)):
            refuse_long(member, f"filters.{key}", LONGEST_MEMBER)


def refuse_long(text: str, field: str, most: int) -> None:
    """Raise BadArguments for a text of more than `most` characters."""
    if len(text) > most:
        raise BadArguments(
            f"A text of {field} has {len(text):,} characters; {most} is the most.", field=field, got=text
        )


def named_by(ids: Selection) -> tuple[str, ...]:
    """Return the ids that a filter names."""
    return ids.include + ids.exclude if isinstance(ids, Exclusion) else ids


def selection_of(key: str, asked: Mapping[str, str | Selection]) -> Selection:
    """Return the ids of a filter, each once; BadArguments for none."""
    ids = asked[key]
    chosen = ids.exclude if isinstance(ids, Exclusion) else ids
    if isinstance(ids, Exclusion) and ids.include and not chosen:
        raise BadArguments(
            f"filters.{key} leaves no member out. To keep members, give them as a plain list.",
            field=f"filters.{key}.exclude",
            got=[],
            example={"filters": {**as_sent(asked), key: ids.include}},
        )
    if not chosen:
        raise BadArguments(
            f"filters.{key} names no member. Leave the key out, or name members that search_hierarchy finds.",
            field=f"filters.{key}",
            got=chosen,
        )
    if isinstance(ids, Exclusion):
        return Exclusion(exclude=tuple(dict.fromkeys(ids.exclude)), include=tuple(dict.fromkeys(ids.include)))
    return tuple(dict.fromkeys([ids] if isinstance(ids, str) else ids))


def period_codes(asked: Selection, field: str, last_closed: LastClosed, grain: Grain) -> Selection:
    """Return the codes of a filter on time; BadPeriod for what can mean no period, or several."""
    if isinstance(asked, Exclusion):
        parts = (asked.exclude, asked.include)
        without, among = ([last_closed.code(text, grain, field) for text in part] for part in parts)
        return Exclusion(exclude=tuple(dict.fromkeys(without)), include=tuple(dict.fromkeys(among)))
    return tuple(dict.fromkeys(last_closed.code(text, grain, field) for text in asked))


def filters_instead(
    refused: BadPeriod,
    key: str,
    asked: Mapping[str, str | Selection],
    last_closed: LastClosed,
    grain: Grain,
    period: PeriodRange | None,
) -> dict[str, object]:
    """Return the arguments to send instead of a filter on time: of a period of the range that has rows."""
    others = {other: ids for other, ids in as_sent(asked).items() if other != key}
    text = str(refused.got)
    if is_undated(text) and any(domain.keeps_undated for domain in last_closed.domains):
        return {"period_start": UNDATED_CODE, "period_end": UNDATED_CODE, "filters": others}
    found = last_closed.instead(text, grain=grain, within=period.span if period else None)
    return {"filters": {**others, **({key: [found.code]} if found else {})}}


def as_sent(asked: Mapping[str, str | Selection]) -> dict[str, object]:
    """Return filters as JSON."""
    return {key: asdict(ids) if isinstance(ids, Exclusion) else ids for key, ids in asked.items()}


def named_filter(dimension: Dimension, asked: Selection, reader: Reader) -> tuple[Filter, Sequence[Note]]:
    """Return a filter by members as people name them, and the notes on the names."""
    field = f"filters.{dimension.key}"
    if not isinstance(asked, Exclusion):
        named = resolve_member_names(dimension, asked, reader, field)
        return filter_of(dimension, named.ids, reader), named.notes
    without = resolve_member_names(dimension, asked.exclude, reader, field)
    among = resolve_member_names(dimension, asked.include, reader, field)
    return filter_of(dimension, Exclusion(exclude=without.ids, include=among.ids), reader), among.notes + without.notes


def filter_of(dimension: Dimension, asked: Selection, reader: Reader) -> Filter:
    """Return a filter by the visible ids of a selection; the others match nothing.

    An exclusion keeps what `(all)` holds, without the leaves of its members.
    """
    key = dimension.key
    members, sees_leaf = reader.members(key), reader.sees_leaf(key)
    if not isinstance(asked, Exclusion):
        seen = visible_of(asked, key, reader)
        return Filter(dimension=dimension, asked=asked, members=seen, leaves=members.joined(seen, sees_leaf))
    seen, excluded = visible_of(asked.include, key, reader), visible_of(asked.exclude, key, reader)
    whole = members.joined(seen, sees_leaf) if asked.include else every_leaf_of(key, reader)
    leaves = dict(whole)
    for code in watched(frozenset().union(*(members.leaves(member).keys() for member in watched(excluded)))):
        leaves.pop(code, None)
    return Filter(dimension=dimension, asked=asked, members=seen, leaves=leaves, excluded=excluded)


def visible_of(ids: Iterable[str], dimension: str, reader: Reader) -> tuple[str, ...]:
    """Return those ids of a dimension that the reader sees."""
    return tuple(member for member in watched(ids) if reader.sees(dimension, member))


def every_leaf_of(dimension: str, reader: Reader) -> Leaves:
    """Return every leaf code below a dimension with its weight in the total of a breakdown, 0 where it is outside."""
    members = reader.members(dimension)
    top, codes = members.top(), range(reader.leaf_count(members.leaf))
    return dict.fromkeys(codes, ONE) if top is None else {code: top.get(code, ZERO) for code in watched(codes)}


def usable_dimension(
    key: str, reader: Reader, domains: Sequence[Domain], *, field: str, breaking_down: bool
) -> Dimension:
    """Return a dimension; UnknownName if it is unknown, DimensionUnavailable if no domain can use it."""
    dimension = reader.dimensions.get(key) or reader.dimensions.get(ALSO_CALLED.get(key, key))
    if dimension is None:
        fits = keys_of(reader, domains, breaking_down=breaking_down)
        raise UnknownName.of("dimension", key, fits, field=field, hint=hint_on_rows(key, domains))
    if dimension.axis_only and not breaking_down:
        raise DimensionUnavailable(
            f"{key} can only be broken down by, not filtered. Put it into dimensions, or filter by another."
            f"{rows_instead('this filter', domains)}",
            field=field,
            got=key,
            valid=keys_of(reader, domains, breaking_down=False),
        )
    if not usable(dimension.key, reader, domains):
        names = quoted(sorted(domain.key for domain in domains))
        raise DimensionUnavailable(
            f"{names} has no {key}, so nothing here can be cut by it.",
            field=field,
            got=key,
            valid=keys_of(reader, domains, breaking_down=breaking_down),
        )
    return dimension


def hint_on_rows(key: str, domains: Sequence[Domain]) -> str:
    """Return what to do about a name that is no dimension: to look for the text that a column of rows holds."""
    held = [
        domain
        for domain in domains
        if key in domain.inspect_columns and key not in (*domain.measures, domain.time_column)
    ]
    return f"list_dimensions lists them.{rows_instead('the text in `text`', held)}"


def rows_instead(what: str, domains: Sequence[Domain]) -> str:
    """Return the sentence that names the tool whose rows can be chosen so, after a space; nothing without a source."""
    sources = [domain.key for domain in domains if domain.inspect_enabled]
    return f" inspect_rows of {quoted(sources)} takes {what}." if sources else ""


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


def select_periods(asked: PeriodRange, by_time: Mapping[str, Selection], calendar: Calendar) -> tuple[PeriodRange, ...]:
    """Return the parts of a range that lie inside every filter on time, as ranges of adjacent periods."""
    if not by_time:
        return (asked,)
    if asked.is_undated:
        key, names = next((key, named_by(ids)) for key, ids in by_time.items())
        raise BadPeriod(
            f"filters.{key} keeps periods, and rows without a date lie in none. Leave it out.",
            field=f"filters.{key}",
            got=list(names),
        )
    tests = [period_test(ids, key, asked, calendar) for key, ids in by_time.items()]
    return runs_of(period for period in calendar.periods(asked) if all(keeps(period) for keeps in tests))


def runs_of(periods: Iterable[Period]) -> tuple[PeriodRange, ...]:
    """Return ascending periods of one grain as ranges, adjacent ones as one."""
    runs: list[PeriodRange] = []
    for period in periods:
        if runs and runs[-1].end.ordinal + 1 == period.ordinal:
            runs[-1] = PeriodRange(runs[-1].start, period)
        else:
            runs.append(PeriodRange(period, period))
    return tuple(runs)


def period_test(ids: Selection, key: str, asked: PeriodRange, calendar: Calendar) -> Callable[[Period], bool]:
    """Return the test whether a filter on time keeps a period."""
    if not isinstance(ids, Exclusion):
        named = named_periods(ids, key, asked, calendar)
        return lambda period: inside_any(period, named)
    without, among = (named_periods(codes, key, asked, calendar) for codes in (ids.exclude, ids.include))
    return lambda period: not inside_any(period, without) and (not among or inside_any(period, among))


def inside_any(period: Period, others: Sequence[Period]) -> bool:
    """Tell whether a period lies inside one of some others."""
    return any(other.first <= period.first and period.last <= other.last for other in others)


def named_periods(codes: Iterable[str], key: str, asked: PeriodRange, calendar: Calendar) -> list[Period]:
    """Return the periods of a filter on time; BadPeriod if one is finer than those of the range, or cuts one."""
    periods = [calendar.parse(code, f"filters.{key}") for code in watched(codes)]
    for period in periods:
        if period.grain.fineness < asked.grain.fineness:
            raise BadPeriod(
                f"filters.{key} names the {period.grain.value} '{period.code}' while the range is by "
                f"{asked.grain.value}. Give period_start and period_end by {period.grain.value}.",
                field=f"filters.{key}",
                got=period.code,
            )
        inside = period.span.overlap(asked.span)
        if inside and not calendar.is_whole(inside, asked.grain):
            raise BadPeriod(
                f"filters.{key} names '{period.code}', and the {calendar.grains[asked.grain].noun}s of the range do "
                f"not make up {calendar.grains[period.grain].noun}s. Give period_start and period_end by month or day.",
                field=f"filters.{key}",
                got=period.code,
            )
    return periods
