"""Drill parts: the inspect_rows calls behind every figure, as one part per line, column and place.

The call of a cell is the union of its parts and their `filters`. Later parts win: column, place, line. Some cells need
several calls. Then a column has `sides`, each with its sign, and a line has `operands`. There is one call for each
side, operand, or pair of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from engine.model.calendar.periods import Span
from engine.model.catalogue import DimensionKind
from engine.model.scenarios import Reference, ScenarioTerm, Side
from engine.model.scope import ALL
from engine.model.stopping import watched
from engine.plans.expressions import Expression, FormulaExpression, OwnExpression, operands_of, terms_of
from engine.plans.figures import FigurePlan
from engine.plans.plan_reads import formula_read, leaf_reads, own_read
from engine.plans.rows import Row
from engine.plans.windows import ColumnRead, last_column
from engine.queries.filters import named_by
from engine.queries.values import TimeColumn
from engine.report.data import Drill, DrillRule, cell_key, filter_json

MOST_REPEATED = 5  # a longer filter is not repeated in every column
SIGNS = "+-"  # of the sides of a column


def line_drill(row: Row, plan: FigurePlan) -> Drill | None:
    """Return the part of a line or metric; None if it has no rows, or if its operands read others in each column."""
    expression = row.expression
    if expression is None or plan.availability.why_not(expression):
        return None
    alone = bool(expression.reference) and terms_of(expression) is not None
    operands = [expression] if alone else list(operands_of(expression))
    domains = [plan.reader.catalogue.domains[base.domain] for operand in operands for base in operand.bases]
    if not operands or not all(domain.inspect_enabled for domain in domains):
        return None
    if any(is_replaced_in_trees(operand, plan) for operand in operands):
        return None
    if isinstance(expression, FormulaExpression) and expression.has_own:
        by_column = own_calls(expression, operands, plan)
        first, *others = by_column or [[]]
        return {"operands": first} if first and all(other == first for other in others) else None
    calls = [figure_drill(operand, plan) for operand in operands]
    return calls[0] if operands == [expression] else {"operands": calls}


def own_calls(
    expression: FormulaExpression, operands: Sequence[Expression], plan: FigurePlan
) -> Sequence[Sequence[Drill]]:
    """Return for each column the parts of the operands of a formula, of which some have a side of their own.

    They replace what the column says of the scenario, and of the scenarios that it is compared with. None beside a
    blend.
    """
    columns = [read for column in plan.columns for read in column]
    if any(len(read.side.terms) > 1 for read in columns):
        return []  # each part of a blend would have the rows of such an operand, which are read once
    each = [formula_read(expression, column_read, plan.column_read) for column_read in columns]
    narrows = any(read.shared for read in columns) or any(
        shared for within in each for _, shared in leaf_reads(expression, within)
    )
    return [list(calls_within(within, operands, plan, narrows=narrows)) for within in each]


def calls_within(
    within: ColumnRead, operands: Sequence[Expression], plan: FigurePlan, *, narrows: bool
) -> Iterator[Drill]:
    """Yield the parts of the operands of a formula that is computed in a column read.

    `narrows` tells whether any column is narrowed: then an operand that nothing narrows is compared with itself.
    """
    for operand in operands:
        own = isinstance(operand, OwnExpression)
        read = own_read(operand, within, plan.column_read) if isinstance(operand, OwnExpression) else within
        for term in read.side.terms if own else read.side.terms[:1]:
            part = term_drill(term, read.side) if own else {}
            compared = sorted(within.scope or (term.scenario.id,)) if narrows else ()
            part = joined(part, {"filters": {"compared_with": compared}}) if compared else part
            yield joined(figure_drill(operand, plan), part)


def figure_drill(expression: Expression, plan: FigurePlan) -> Drill:
    """Return the part of one figure that rows add up to. Dimensions that the figure lacks do not filter its rows.

    Members that an operand has of its own stand in place of those of the dimensions of their leaf.
    """
    filtered = (plan.availability.missing_filters(base) for base in expression.bases)
    lacking = (plan.availability.missing_dimensions(expression), *filtered, replaced_dimensions(expression, plan))
    whole = dict.fromkeys(chain.from_iterable(lacking), ALL)
    own = {cut.dimension: filter_json(cut.ids) for base in expression.bases[:1] for cut in base.own}
    return {"source_key": expression.bases[0].domain, "filters": {**whole, **own, "metric": expression.reference}}


def replaced_dimensions(expression: Expression, plan: FigurePlan) -> Sequence[str]:
    """Return the dimensions of a report whose members the own ones of an operand replace."""
    leaves, query = {cut.leaf for base in expression.bases for cut in base.own}, plan.query
    asked = (*(known.dimension for known in query.filters), *query.breakdown)
    return [dimension.key for dimension in asked if dimension.leaf in leaves]


def is_replaced_in_trees(expression: Expression, plan: FigurePlan) -> bool:
    """Tell whether own members of an operand replace those of a tree that weighs: no call leaves that filter out."""
    own = {cut.dimension for base in expression.bases for cut in base.own}
    dimensions = plan.reader.dimensions
    replaced = (dimensions[key] for key in replaced_dimensions(expression, plan) if key not in own)
    return any(dimension.kind is DimensionKind.RAGGED for dimension in replaced)


def column_drill(reference: Reference, readings: Sequence[ColumnRead], plan: FigurePlan) -> Drill:
    """Return the part of a scenario column."""
    sides = [side for sign, reading in zip(SIGNS, readings, strict=False) for side in side_drills(sign, reading)]
    shared = joined(period_drill(readings, plan), common_filters(plan))
    if isinstance(reference, Side) and len(sides) == 1:
        return joined(shared, {key: part for key, part in sides[0].items() if key != "sign"})
    return {**shared, "sides": sides}


def side_drills(sign: str, reading: ColumnRead) -> Iterator[Drill]:
    """Yield one part for each scenario of a side, with its sign."""
    compared = {"compared_with": sorted(reading.shared)} if reading.shared else {}
    for term in reading.side.terms:
        yield joined({"sign": sign}, term_drill(term, reading.side), {"filters": compared})


def term_drill(term: ScenarioTerm, side: Side) -> Drill:
    """Return the part of one scenario of a side: the side by its name, of a blend the scenario and the blend."""
    if len(side.terms) > 1:
        return {"scenario_id": term.key, "filters": {"scenario": side.key}}
    return {"scenario_id": side.key}


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


def drill_rule(plan: FigurePlan, *, cuts: bool = False) -> DrillRule:
    """Return the rule of the places of a plan; `cuts` tells whether a ranking leaves members out.

    A dimension of which a place has no member is filtered by all of them, if the total over it does not count every
    visible leaf exactly once, so that inspected rows weigh what they weigh there.
    """
    query = plan.query
    time = tuple(axis.dimension.key for axis in query.time)
    cells = cell_drills(plan) if len(time) > 1 else {}
    cuts_time = cuts and bool(plan.times) and query.breakdown[0].key in time
    reach = (plan.times[0].periods[0].code, plan.times[-1].periods[0].code) if cuts_time else ()
    return DrillRule(time, tuple(query.by_time), cells, plan.reads.weighing, reach)


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
