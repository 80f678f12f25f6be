"""The law of explained variances: on random books, every list adds up exactly, and rows lead to what they show."""

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.model.errors import Refusal
from engine.model.exact import Exact
from engine.model.requests import ColumnRequest, ExplainRequest, MetricRequest
from engine.plans.figures import plan_metrics
from engine.queries.explanations import explain_query
from engine.queries.reports import metric_query
from engine.report.explain import explain
from engine.report.explanation import Explanation
from engine.report.run import run
from server.caller.caller import Caller
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.laws.scoped.books import ScopedBooks
from tests.laws.scoped.calls import LARGE, variance
from tests.laws.scoped.law import seen_books
from tests.laws.scoped.profiles import ProfileSpec
from tests.laws.scoped.writing import ScopedTools
from tests.support.answers.drills import calls_explained, exactly
from tests.support.books.explained import contributions, fraction
from tests.support.engines.memory import folder_in_memory

Known = tuple[ScopedBooks, tuple[ProfileSpec, ...]]


def asked_of(arguments: dict[str, Any]) -> ExplainRequest:
    """Return the request of some arguments."""
    request = read_request(TOOLS["explain_variance"].shape, arguments)
    assert isinstance(request, ExplainRequest)
    return request


@given(known=seen_books(), drawn=st.lists(variance(), min_size=10, max_size=20))
def test_contributions_add_up_to_the_variance_that_a_report_shows(known: Known, drawn: list[dict[str, Any]]) -> None:
    with folder_in_memory() as folder:
        caller = ScopedTools(*known, folder).caller(LARGE)
        for arguments in drawn:
            with suppress(Refusal):
                found = explain(explain_query(asked_of(arguments), caller.reader), caller.reader)
                for one in found.lists:
                    contributions(one)
                    assert all(row.mix is None or row.rest is not None for row in one.rows)
                if not found.sides:  # an unknown scenario: a note says so
                    assert found.variance is None
                    assert found.notes
                elif found.written in caller.reader.metrics:
                    assert fraction(found.variance) == reported(arguments, found, caller), arguments


def reported(arguments: dict[str, Any], found: Explanation, caller: Caller) -> Fraction | None:
    """Return the variance that a report of the metric shows."""
    a, b = (side.scenario for side in found.sides)
    asked = MetricRequest(
        metrics=(found.written,),
        scenarios=(ColumnRequest(scenario=f"var({a},{b})"),),
        period_start=arguments.get("period_start"),
        period_end=arguments.get("period_end"),
        filters=asked_of(arguments).filters,
    )
    report = run(plan_metrics(metric_query(asked, caller.reader), caller.reader))
    figure = report.figures[0][0][-1]
    return fraction(figure if isinstance(figure, Exact) else None)


@given(known=seen_books(), drawn=st.lists(variance(), min_size=10, max_size=20))
def test_rows_of_sums_tie_to_the_rows_behind_them(known: Known, drawn: list[dict[str, Any]]) -> None:
    with folder_in_memory() as folder:
        caller = ScopedTools(*known, folder).caller(LARGE)
        for arguments in drawn:
            with suppress(Refusal):
                answer = TOOLS["explain_variance"].run(caller, asked_of(arguments)).result
                for row, behind in ties(answer, caller):
                    assert exactly(row["difference"]) == behind, (arguments, row)


def ties(answer: dict[str, Any], caller: Caller) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield rows of sums with what the rows behind them come to, side by side."""
    for one, row in [(known, row) for known in answer["lists"] for row in known["rows"]]:
        made = list(calls_explained(answer, one, row))
        if "rate" in row or "difference" not in row or any("metric" not in call["filters"] for _, call in made):
            continue
        operands = {call["filters"]["metric"] for _, call in made}
        if len(operands) != 1 or not made:
            continue
        total = exactly(0)
        assert total is not None
        for sign, call in made:
            shown = inspected(call, caller)
            total += (exactly(shown["contribution_total"]) or 0) * (1 if sign == "+" else -1)
        yield row, total


def inspected(call: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """Return what inspect_rows answers to a call."""
    tool = TOOLS["inspect_rows"]
    return tool.run(caller, read_request(tool.shape, call)).result
