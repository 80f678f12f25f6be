"""Loads as a caller may know them: those that brought rows that the caller sees.

This file stands alone because the store of facts, whose loads these are, knows no callers.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from engine.model.fact_store import FactLoad, Presence
from engine.model.stopping import watched


def visible_loads(
    loads: Sequence[FactLoad], seen: Presence, rows_of: Callable[[Collection[str]], Mapping[str, Presence]]
) -> Iterator[FactLoad]:
    """Yield the loads that brought visible rows, each with the days of these rows.

    `seen` is the presence of all visible rows. Days that several loads brought do not tell whose rows are visible:
    `rows_of` asks once for the presence of each of these loads.
    """
    brought = Counter(day for load in loads for day in watched(load.days))
    days_of = {load.load: load.days.intersection(seen.dates) for load in watched(loads)}
    shared = {day for day, count in watched(brought.items()) if count > 1}
    unclear = {load for load, days in watched(days_of.items()) if not days or not shared.isdisjoint(days)}
    own = rows_of(unclear) if len(loads) > 1 and unclear else None
    for load in watched(loads):
        days, undated = days_of[load.load], seen.undated
        if own is not None and load.load in unclear:
            presence = own.get(load.load)
            days, undated = (frozenset(presence.dates), presence.undated) if presence else (frozenset(), 0)
        if days or undated:
            yield replace(load, days=days)
