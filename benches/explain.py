"""Explained variances beside the reports that they explain: the processor time of both, answers and snapshots included.

The report has the same two scenarios, their variance and the same dimension. The bench fails where an explanation takes
more than twice the time of its report. Filters change from call to call.
"""

import gc
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from statistics import median
from time import process_time

from benches.books import demo_books
from benches.page import README, write_block
from engine.books.reader import Reader
from engine.door import open_books
from engine.model.requests import ColumnRequest, Exclusion, ExplainRequest, MetricRequest
from engine.plans.figures import plan_metrics
from engine.present.answers.budget import DataRef
from engine.present.answers.explanations import explanation_answer
from engine.present.answers.reports import answer
from engine.queries.explanations import explain_query
from engine.queries.reports import metric_query
from engine.report.explain import explain
from engine.report.run import run
from engine.report.snapshots import keep

ROWS = 150_000
ROUNDS = 25
MOST = 2.0  # times the time of the report
BUDGET = 10_000
START, END = "2025-01", "2026-09"
MILLISECOND = 1000
SIDES = ("actual", "budget")
COLUMNS = tuple(ColumnRequest(scenario=key) for key in (*SIDES, "var(actual,budget)"))
KEPT = DataRef("ds_" + "a" * 32)
CASES = (
    ("ebitda", "organisation"),
    ("gross_margin", "organisation"),
    ("ebitda", "entity"),
    ("opex", "cost_centre"),
    ("sales_amount", "customer"),
    ("average_price", "customer"),
    ("revenue", "period"),
)


def reported(reader: Reader, metric: str, by: str, without: str) -> None:
    """Run, answer and keep a report."""
    asked = MetricRequest(
        metrics=(metric,),
        scenarios=COLUMNS,
        dimensions=(by,),
        filters=filters(without),
        period_start=START,
        period_end=END,
    )
    found = run(plan_metrics(metric_query(asked, reader), reader))
    answer(found, BUDGET, KEPT)
    keep(found)


def explained(reader: Reader, metric: str, by: str, without: str) -> None:
    """Explain, answer and keep a variance."""
    asked = ExplainRequest(
        metric=metric, scenarios=SIDES, by=(by,), filters=filters(without), period_start=START, period_end=END
    )
    found = explain(explain_query(asked, reader), reader)
    explanation_answer(found, BUDGET, KEPT, lambda: None)
    keep(found)


def filters(without: str) -> dict[str, str | tuple[str, ...] | Exclusion]:
    """Return the filter that leaves one company out."""
    return {"entity": Exclusion(exclude=(without,))}


def spent(work: Callable[[], None]) -> float:
    """Return the processor time of some work, in milliseconds."""
    begun = process_time()
    work()
    return (process_time() - begun) * MILLISECOND


def compared(reader: Reader, metric: str, by: str, companies: Sequence[str]) -> tuple[float, float]:
    """Return the median times of the report and of the explanation, in turns."""
    turns = cycle(companies)
    times: tuple[list[float], list[float]] = ([], [])
    reported(reader, metric, by, companies[0])
    explained(reader, metric, by, companies[0])
    gc.collect()
    for _ in range(ROUNDS):
        without = next(turns)
        times[0].append(spent(partial(reported, reader, metric, by, without)))
        times[1].append(spent(partial(explained, reader, metric, by, without)))
    return median(times[0]), median(times[1])


def main(_: int) -> None:
    """Measure, print, write the table into the README, and fail where an explanation takes too long."""
    books = demo_books(ROWS)
    reader = open_books(books.instance, state=books.state).reader
    companies = sorted(reader.visible("entity") - {"(unassigned)"})
    lines = ["| figure | by | report, ms | explanation, ms | times |", "|---|---|--:|--:|--:|"]
    slow = []
    for metric, by in CASES:
        report, explanation = compared(reader, metric, by, companies)
        lines.append(f"| {metric} | {by} | {report:.1f} | {explanation:.1f} | {explanation / report:.2f} |")
        if explanation > MOST * report:
            slow.append(f"{metric} by {by}")
    print("\n".join(lines))
    write_block(README, "explain", lines)
    if slow:
        raise SystemExit(f"takes more than {MOST:g} times its report: {', '.join(slow)}")
