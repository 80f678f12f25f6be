"""Queries as values: what is meant by a request."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.calendar.periods import Grain, PeriodRange
from engine.catalogue import Dimension, Domain, Metric, Statement
from engine.exact import Exact
from engine.notes import Note
from engine.scenarios import Reference


@dataclass(frozen=True, slots=True)
class Column:
    """A scenario to show and its heading."""

    reference: Reference
    heading: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Members of one dimension to keep to: their leaves, each with its weight."""

    dimension: Dimension
    asked: tuple[str, ...]
    members: tuple[str, ...]  # of those asked for, the ones that may be seen
    leaves: Mapping[int, Exact]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """A breakdown by periods of one grain."""

    dimension: Dimension
    grain: Grain


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What statements and metrics have in common.

    `selected` are the runs of whole periods that are read: the range itself, or what a filter on time leaves of it.
    `by_time` are those filters as they were asked, time dimension to period codes. `breakdown` are the dimensions in
    the order asked; `time` is the one of them that is periods.
    """

    domains: tuple[Domain, ...]
    columns: tuple[Column, ...]
    asked: PeriodRange
    selected: tuple[PeriodRange, ...]
    filters: tuple[Filter, ...]
    by_time: Mapping[str, tuple[str, ...]]
    breakdown: tuple[Dimension, ...]
    time: TimeAxis | None
    scale: int
    decimals: int | None
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class StatementQuery:
    """One statement."""

    statement: Statement
    query: Query


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """Metrics of one domain."""

    metrics: tuple[Metric, ...]
    query: Query
