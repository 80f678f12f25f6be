"""Rollups: the sums of a partition by some of its dimensions, read in its place if they suffice.

A rollup has no days and no rows of facts: it answers sums and counts over all days of its partition. A domain declares
its rollups. Where it says nothing, they are chosen from its rows as soon as a month of them is large.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Protocol, TypeVar

import polars as pl
from msgspec.structs import replace

from engine.facts.expressions import INT64_LIMIT
from engine.facts.manifest import UNDATED, Partition, Rollup
from engine.model.catalogue import Domain
from engine.model.fact_store import ROWS, AggregateFunction, Slice
from engine.model.scope import Cell


def can_be_built(part: Partition, dimensions: Sequence[str], rows: pl.DataFrame) -> bool:
    """Tell whether a partition can have a rollup: it is dated, has the dimensions, and no sum exceeds 63 bits."""
    fits = all(magnitude < INT64_LIMIT for magnitude in part.magnitudes.values())
    return fits and part.bucket != UNDATED and set(dimensions) <= set(rows.columns)


def without_undeclared(part: Partition, domain: Domain) -> Partition:
    """Return a partition without the rollups that its domain no longer declares, if it declares any."""
    if domain.rollups is None:
        return part
    kept = tuple(rollup for rollup in part.rollups if rollup.dimensions in domain.rollups)
    return part if kept == part.rollups else replace(part, rollups=kept)


def rolled_up(part: Partition, dimensions: Sequence[str], rows: pl.DataFrame) -> pl.DataFrame:
    """Return the sums and row counts of a partition, grouped and sorted by the dimensions."""
    sums = [pl.col(measure).sum() for measure in part.magnitudes]
    return rows.group_by(dimensions).agg(*sums, pl.len().cast(pl.Int64).alias(ROWS)).sort(dimensions)


def needed(asked: Slice, within: Cell) -> frozenset[str] | None:
    """Return the dimensions that a rollup needs to answer a slice, None if no rollup can."""
    if any(aggregate.how is not AggregateFunction.SUM for aggregate in asked.aggregates):
        return None
    return frozenset(asked.keys) | within.dimensions


def answering(part: Partition, needed: frozenset[str]) -> Rollup | None:
    """Return the smallest rollup of a partition with the needed dimensions, None if there is none.

    Rollups of an attached table answer once its rows are proven unchanged: the partition then has no token.
    """
    usable = (rollup for rollup in part.rollups if part.token is None and needed.issubset(rollup.dimensions))
    return min(usable, key=lambda rollup: rollup.rows, default=None)


# The choice of rollups: the greedy rule of Harinarayan, Rajaraman and Ullman (Implementing Data Cubes Efficiently,
# 1996). A view is a set of dimensions. It is also a question, which the smallest chosen view with these dimensions
# answers. The view that saves the most rows of all questions for each row that it takes is chosen next. A question
# with a dimension that profiles restrict counts twice, since every call of such a caller asks it.


LEAST_ROWS = 50_000  # of a partition that gets chosen rollups: a smaller one is read as fast as its sums
SAMPLED_PARTITIONS, SAMPLED_ROWS = 3, 300_000
MOST_DIMENSIONS = 6  # of the views: those with the fewest members
LEAST_READ = 1_000  # rows of a partition's view: reading fewer is no faster
LEAST_GAIN = 4  # how many rows a row of a view must save of its own question
RESTRICTED_WEIGHT = 2
MOST_SPACE = 4  # views take at most a fourth of the bytes of the rows
CODE_BYTES, AMOUNT_BYTES = 2, 8

View = frozenset[str]


class MonthlyRows(Protocol):
    """The rows of one scenario and calendar month, stored or attached."""

    @property
    def scenario(self) -> str:
        """The scenario."""

    @property
    def bucket(self) -> str:
        """The month, or UNDATED."""

    @property
    def rows(self) -> int:
        """The number of rows."""


Month = TypeVar("Month", bound=MonthlyRows)


def choose_rollups(
    domain: Domain, parts: Sequence[Month], read: Callable[[Month], pl.DataFrame]
) -> tuple[tuple[str, ...], ...]:
    """Return the rollups worth keeping for some partitions; none if all of them are small.

    `read` returns the rows of a partition. The view of the first sort key is always among them.
    """
    largest: dict[str, Month] = {}
    for part in sorted(parts, key=lambda part: part.rows):
        if part.bucket != UNDATED and part.rows >= LEAST_ROWS:
            largest[part.scenario] = part
    sampled = sorted(largest.values(), key=lambda part: -part.rows)[:SAMPLED_PARTITIONS]
    if not sampled:
        return ()
    frames = [read(part).head(SAMPLED_ROWS) for part in sampled]
    rows = sum(frame.height for frame in frames)
    members = {
        key: distinct(frames, [key]) for key in domain.dimensions if all(key in frame.columns for frame in frames)
    }
    fewest = sorted((key for key in members if LEAST_GAIN * members[key] <= rows), key=members.__getitem__)
    keys = fewest[:MOST_DIMENSIONS]
    views = (frozenset(named) for count in range(1, len(keys) + 1) for named in combinations(keys, count))
    least = LEAST_READ * len(frames)
    sizes = {view: max(distinct(frames, sorted(view)), least) for view in views}
    amounts = AMOUNT_BYTES * (len(domain.measures) + 1)
    space = rows * (amounts + CODE_BYTES * len(members)) // MOST_SPACE
    weights = {view: RESTRICTED_WEIGHT if view & domain.restricted else 1 for view in sizes}
    first = frozenset(domain.sort[:1])
    chosen = greedy(sizes, weights, rows, first, space, lambda view: amounts + CODE_BYTES * len(view))
    return tuple(tuple(sorted(view)) for view in chosen)


def distinct(frames: Sequence[pl.DataFrame], keys: Sequence[str]) -> int:
    """Return how many rows the sums of some frames by some keys have."""
    return sum(frame.select(keys).n_unique() for frame in frames)


def greedy(
    sizes: Mapping[View, int],
    weights: Mapping[View, int],
    rows: int,
    first: View,
    space: int,
    width: Callable[[View], int],
) -> Iterator[View]:
    """Yield the chosen views, the best first, until `space` bytes are taken or none gains enough.

    `sizes` has the rows of each view, `weights` how often its question counts, and `width` returns the bytes of a row.
    Every question reads `rows` at first.
    """
    cost = dict.fromkeys(sizes, rows)
    left = dict(sizes)
    while usable := [
        view for view in left if LEAST_GAIN * left[view] <= cost[view] and left[view] * width(view) <= space
    ]:
        saved = {
            view: sum(weights[other] * max(cost[other] - left[view], 0) for other in cost if other <= view)
            for view in usable
        }
        best = first if first in usable else max(usable, key=lambda view: (saved[view] / left[view], sorted(view)))
        yield best
        taken = left.pop(best)
        space -= taken * width(best)
        for other in cost:
            if other <= best:
                cost[other] = min(cost[other], taken)
