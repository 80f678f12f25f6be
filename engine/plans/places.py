"""Places: the combinations of members and periods at which a report has figures, and their order."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from engine.model.stopping import Stop, watched
from engine.plans.availability import BrokenDown
from engine.plans.weights import Axis, Members
from engine.queries.values import Query, TimeColumn


class Coordinates(NamedTuple):
    """One cell of every row and reading: some members (none: all) at one time column (the last is the total)."""

    members: Members
    time: int
    is_total: bool

    @property
    def broken_down(self) -> BrokenDown:
        """Whether it has a member of each axis."""
        return tuple(member is not None for member in self.members)


def is_place(members: Members, query: Query) -> bool:
    """Tell whether a combination is a place: one of all axes, or of the first ones where it is a sub-total."""
    if None not in members:
        return True
    named = len(members) - members.count(None)
    return query.nests and named > 0 and None not in members[:named]


def named_members(query: Query, axes: Sequence[Axis]) -> Iterator[Members]:
    """Yield the visible members that a filter by the only dimension of a breakdown names, but nodes."""
    for known in query.filters if len(axes) == 1 else ():
        if known.dimension.key == axes[0].key and not known.dimension.nodes and known.excluded is None:
            yield from ((member,) for member in watched(known.members) if member in axes[0].order)


def in_order(found: AbstractSet[Members], query: Query, axes: Sequence[Axis]) -> tuple[Members, ...]:
    """Return the combinations that are places in display order; a sub-total stands before what it holds."""
    orders = display_orders(axes)
    keyed = [(ordinals(members, orders), members) for members in watched(found) if is_place(members, query)]
    return tuple([members for _, members in watched(sorted(keyed, key=itemgetter(0)))])


def display_orders(axes: Sequence[Axis]) -> list[Mapping[str, int]]:
    """Return the display order of the members of each axis."""
    return [axis.order for axis in axes]


def ordinals(members: Members, orders: Sequence[Mapping[str, int]]) -> tuple[int, ...]:
    """Return the positions of members on their axes, without those of axes beyond a sub-total."""
    return tuple([order[known] for order, known in zip(orders, members, strict=True) if known is not None])


def places(
    query: Query, axes: Sequence[Axis], columns: Sequence[TimeColumn], members: Sequence[Members], stop: Stop
) -> tuple[Coordinates, ...]:
    """Return every place in the order of the breakdown, the total last; `members` are the combinations with rows.

    The periods stand below each combination of the members named before them.
    """
    everyone: Members = (None,) * len(axes)
    total = Coordinates(everyone, len(columns), is_total=True)
    if not query.breakdown:
        return (total,)
    keys = [dimension.key for dimension in query.breakdown]
    before = keys.index(query.time[0].dimension.key) if query.time else len(keys)
    if query.nests:
        return (*nested(axes, columns, members if axes else (everyone,), before, stop), total)
    if not query.time:
        return (*[Coordinates(found, total.time, is_total=False) for found in watched(members, stop)], total)
    groups = (list(group) for _, group in groupby(members if axes else (everyone,), lambda found: found[:before]))
    ordered = ((found, time) for group in groups for time in range(len(columns)) for found in group)
    return (*(Coordinates(found, time, is_total=False) for found, time in watched(ordered, stop)), total)


def nested(
    axes: Sequence[Axis], columns: Sequence[TimeColumn], members: Sequence[Members], before: int, stop: Stop
) -> Iterator[Coordinates]:
    """Yield the places and the sub-totals above them, each before what it holds.

    A path has the positions of the members and, after the first `before`, of the column of time. A sub-total of two
    dimensions of time is a column of its own, below which no members stand.
    """
    orders, depth = display_orders(axes), max((len(column.periods) for column in watched(columns)), default=0)
    paths: set[tuple[int, ...]] = set()
    for known in watched(members, stop):
        at = ordinals(known, orders)
        whole = [at]
        if columns and len(at) >= before:
            whole = [
                (*at[:before], time, *(at[before:] if len(column.periods) == depth else ()))
                for time, column in watched(enumerate(columns))
            ]
        paths.update(path[:end] for path in watched(whole) for end in range(1, len(path) + 1))
    for path in watched(sorted(paths), stop):
        on_axes = zip(axes, (*path[:before], *path[before + 1 :]), strict=False)
        named = tuple([axis.ids[at] for axis, at in on_axes])
        time = path[before] if len(path) > before else len(columns)
        yield Coordinates((*named, *(None,) * (len(axes) - len(named))), time, is_total=False)
