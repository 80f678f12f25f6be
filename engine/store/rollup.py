"""Rollups: the sums of a partition by some of its dimensions, kept beside it and read in its place where they suffice.

A rollup has neither days nor rows: it answers for all days of its partition at once, and only sums and counts.
"""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from engine.catalogue import Domain
from engine.scope import Cell
from engine.slices import ROWS, How, Slice
from engine.store.layout import UNDATED, Partition, Rollup

INT64_LIMIT = 2**63


def can_be_built(part: Partition, dimensions: Sequence[str], rows: pl.DataFrame) -> bool:
    """Tell whether a partition can have a rollup: dated, of dimensions that it was loaded with, no sum past 63 bits."""
    fits = all(magnitude < INT64_LIMIT for magnitude in part.magnitudes.values())
    return fits and part.bucket != UNDATED and set(dimensions) <= set(rows.columns)


def without_undeclared(part: Partition, domain: Domain) -> Partition:
    """Return a partition without the rollups that its domain does not declare any more."""
    kept = tuple(rollup for rollup in part.rollups if rollup.dimensions in domain.rollups)
    return part if kept == part.rollups else replace(part, rollups=kept)


def rolled_up(part: Partition, dimensions: Sequence[str], rows: pl.DataFrame) -> pl.DataFrame:
    """Return the sums and the number of the rows of a partition by some dimensions, sorted by them in turn."""
    sums = [pl.col(measure).sum() for measure in part.magnitudes]
    return rows.group_by(dimensions).agg(*sums, pl.len().alias(ROWS)).sort(dimensions)


def needed(asked: Slice, within: Cell) -> frozenset[str] | None:
    """Return the dimensions that a rollup must have to answer; None where none can."""
    if any(aggregate.how is not How.SUM for aggregate in asked.aggregates):
        return None
    return frozenset(asked.keys) | within.dimensions


def answering(part: Partition, needed: frozenset[str]) -> Rollup | None:
    """Return the smallest rollup of a partition that has some dimensions."""
    usable = (rollup for rollup in part.rollups if needed.issubset(rollup.dimensions))
    return min(usable, key=lambda rollup: rollup.rows, default=None)
