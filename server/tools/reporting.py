"""Statements and metrics."""

from engine.plans.report_plan import plan_metrics, plan_statement
from engine.queries.resolve import metric_query, statement_query
from engine.report.run import run
from engine.requests import MetricRequest, StatementRequest
from server.caller import Caller
from server.wire.answer import Answer, reported


def run_statement(caller: Caller, asked: StatementRequest) -> Answer:
    """Report one financial statement."""
    query = statement_query(asked, caller.reader)
    report = run(plan_statement(query, caller.reader), caller.stop)
    return reported(report, caller.datasets.keep(report), caller.answer_tokens)


def run_metric(caller: Caller, asked: MetricRequest) -> Answer:
    """Report metrics by members of dimensions."""
    query = metric_query(asked, caller.reader)
    report = run(plan_metrics(query, caller.reader), caller.stop)
    return reported(report, caller.datasets.keep(report), caller.answer_tokens)
