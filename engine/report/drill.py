"""Drill parts: the inspect_rows calls behind every figure, as one part per line, column and place.

The call of a cell is the union of its parts and their `filters`. Later parts win: column, place, line. Some cells need
several calls. Then a column has `sides`, each with its sign, and a line has `operands`. There is one call for each
side, operand, or pair of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.model.calendar.periods import Span
from engine.model.scenarios import Reference, Side
from engine.model.scope import ALL
from engine.model.stopping import watched
from engine.plans.figures import FigurePlan
from engine.plans.row_plan import operands_of, terms_of
from engine.plans.rows import Expression, Row
from engine.plans.windows import ColumnRead, last_column
from engine.queries.filters import named_by
from engine.queries.values import TimeColumn
from engine.report.data import Drill, DrillRule, cell_key, filter_json

MOST_REPEATED = 5  # a longer filter is not repeated in every column
SIGNS = "+-"  # of the sides of a column


def line_drill(row: Row, plan: FigurePlan) -> Drill | None:
    """Return the part of a line or metric; None if it has no rows."""
    expression = row.expression
    if expression is None or plan.availability.why_not(expression):
        return None
    alone = bool(expression.reference) and terms_of(expression) is not None
    operands = [expression] if alone else list(operands_of(expression))
    domains = [plan.reader.catalogue.domains[base.domain] for operand in operands for base in operand.bases]
    if not operands or not all(domain.inspect_enabled for domain in domains):
        return None
    calls = [figure_drill(operand, plan) for operand in operands]
    return calls[0] if operands == [expression] else {"operands": calls}


def figure_drill(expression: Expression, plan: FigurePlan) -> Drill:
    """Return the part of one figure that rows add up to. Dimensions that the figure lacks do not filter its rows."""
    whole = dict.fromkeys(plan.availability.missing_dimensions(expression), ALL)
    return {"source_key": expression.bases[0].domain, "filters": {**whole, "metric": expression.reference}}


def column_drill(reference: Reference, readings: Sequence[ColumnRead], plan: FigurePlan) -> Drill:
    """Return the part of a scenario column."""
    sides = [side for sign, reading in zip(SIGNS, readings, strict=False) for side in side_drills(sign, reading)]
    shared = joined(period_drill(readings, plan), common_filters(plan))
    if isinstance(reference, Side) and len(sides) == 1:
        return joined(shared, {key: part for key, part in sides[0].items() if key != "sign"})
    return {**shared, "sides": sides}


def side_drills(sign: str, reading: ColumnRead) -> Iterator[Drill]:
    """Yield one part for each scenario of a side, with its sign."""
    side = reading.side
    view = {"scenario": side.key} if side.shifts or len(side.terms) > 1 else {}
    compared = {"compared_with": sorted(reading.shared)} if reading.shared else {}
    for term in side.terms:
        yield joined({"sign": sign, "scenario_id": term.key}, {"filters": {**view, **compared}})


def joined(*parts: Drill) -> Drill:
    """Return the union of parts; later parts win."""
    filters = {key: ids for part in parts for key, ids in part.get("filters", {}).items()}
    whole = {key: value for part in parts for key, value in part.items()}
    return {**whole, "filters": filters} if filters else {key: part for key, part in whole.items() if key != "filters"}


def period_drill(readings: Sequence[ColumnRead], plan: FigurePlan) -> Drill:
    """Return the period of a column: the last period of a breakdown if every side has a window, else the range."""
    have_windows = all(reading.side.has_window for reading in readings)
    if have_windows and (last := last_column(plan.times)) is not None:
        return column_period(plan.times[last], plan)
    return {"period_start": plan.query.asked.start.code, "period_end": plan.query.asked.end.code}


def column_period(column: TimeColumn, plan: FigurePlan) -> dict[str, str]:
    """Return the range of a column of time: its period or periods, else those that have its days, else its days.

    Books by month know no days: what a quarter and a calendar half share is told in months.
    """
    if runs := column.runs:
        return {"period_start": runs[0].start.code, "period_end": runs[-1].end.code}
    days = Span(column.spans[0].first, column.spans[-1].last)
    if run := plan.reader.catalogue.calendar.spanning(days):
        return {"period_start": run.start.code, "period_end": run.end.code}
    return {"period_start": days.first.isoformat(), "period_end": days.last.isoformat()}


def common_filters(plan: FigurePlan) -> Drill:
    """Return the filters of the request. Long filters are named only; the caller adds their members."""
    asked = {known.dimension.key: known.asked for known in plan.query.filters} | dict(plan.query.by_time)
    short = {key: filter_json(ids) for key, ids in asked.items() if len(named_by(ids)) <= MOST_REPEATED}
    long = [key for key in asked if key not in short]
    return {"filters": short, **({"add_filters_of_this_call": long} if long else {})}


def drill_rule(plan: FigurePlan) -> DrillRule:
    """Return the rule of the places of a plan.

    A dimension of which a place has no member is filtered by all of them, if the total over it does not count every
    visible leaf exactly once, so that inspected rows weigh what they weigh there.
    """
    query = plan.query
    time = tuple(axis.dimension.key for axis in query.time)
    cells = cell_drills(plan) if len(time) > 1 else {}
    return DrillRule(time, tuple(query.by_time), cells, plan.reads.weighing)


def cell_drills(plan: FigurePlan) -> Mapping[str, Drill]:
    """Return the parts of the cells of two dimensions of time, by key; memoised by the books."""

    def make() -> Mapping[str, Drill]:
        return dict(cell_drill(column, plan) for column in watched(plan.times))

    return plan.reader.memo(("time cells", plan.time_key, tuple(plan.query.by_time)), make, len)


def cell_drill(column: TimeColumn, plan: FigurePlan) -> tuple[str, Drill]:
    """Return the key of a column of time among the cells, and its range with the filters on time, which it replaces."""
    filters: dict[str, Any] = {}
    if whole := column.whole:
        filters = dict.fromkeys(plan.query.by_time, whole.code)
    elif column.parts and len(column.spans) > 1:
        filters = {column.parts[0].grain.value: [period.code for period in column.parts]}
    key = cell_key([axis.member(period) for axis, period in zip(plan.query.time, column.periods, strict=False)])
    return key, {**column_period(column, plan), **({"filters": filters} if filters else {})}
