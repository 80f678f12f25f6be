"""Report plans: a statement or metric query with the rows it shows."""

from dataclasses import dataclass

from engine.plans.figures import FigurePlan
from engine.plans.rows import metric_row, statement_rows
from engine.queries.values import MetricQuery, StatementQuery
from engine.reader import Reader


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """One statement: lines down, scenarios and members across."""

    key: str
    label: str
    figures: FigurePlan


@dataclass(frozen=True, slots=True)
class MetricPlan:
    """Metrics: members down, metrics and scenarios across."""

    keys: tuple[str, ...]
    label: str
    figures: FigurePlan


ReportPlan = StatementPlan | MetricPlan


def plan_statement(asked: StatementQuery, reader: Reader) -> StatementPlan:
    """Return the plan of a statement."""
    statement = asked.statement
    return StatementPlan(
        statement.key, statement.label, FigurePlan(statement_rows(statement, reader), asked.query, reader)
    )


def plan_metrics(asked: MetricQuery, reader: Reader) -> MetricPlan:
    """Return the plan of some metrics."""
    rows = tuple(metric_row(metric, reader, key=metric.key, label=metric.label) for metric in asked.metrics)
    label = ", ".join(metric.label for metric in asked.metrics)
    return MetricPlan(tuple(row.key for row in rows), label, FigurePlan(rows, asked.query, reader))
