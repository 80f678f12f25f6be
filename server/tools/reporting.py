"""Reporting: statements, metrics, and the rows behind their figures."""

from functools import partial

from msgspec import Struct

from engine.model.errors import ChartInvalid
from engine.model.notes import Note
from engine.model.requests import ExplainRequest, MetricRequest, RowsRequest, StatementRequest
from engine.plans.figures import ReportPlan, plan_metrics, plan_statement
from engine.plans.report_size import ReportSize
from engine.present.answers.budget import DataRef
from engine.present.answers.explanations import details as explanation_details
from engine.present.answers.explanations import explanation_answer
from engine.present.answers.reports import answer, details, refuse_too_long, summary
from engine.present.answers.rows import details as rows_details
from engine.present.answers.rows import rows_answer, source_answer, sources_answer
from engine.present.blocks import grid, table
from engine.present.charts.charts import Chart
from engine.present.charts.results import bridge
from engine.queries.explanations import explain_query
from engine.queries.reports import metric_query, statement_query
from engine.queries.rows import resolve_source, row_query
from engine.report.explain import explain
from engine.report.explanation import Explanation
from engine.report.inspection import inspect
from engine.report.run import outline, run
from sandbox.render import RenderError
from server.base.notes import ServerNote
from server.base.requests import EmptyRequest, SourceRequest
from server.caller.caller import Caller
from server.tools.examples import (
    explain_example,
    metric_example,
    no_example,
    rows_example,
    source_example,
    statement_example,
)
from server.tools.tool import FINANCIAL_TABLE, INSPECTION_GRID, Tool
from server.wire.answers import Answer

# Rows behind figures: which sources there are, what they show, and the rows themselves.


def list_inspection_sources(caller: Caller, _: EmptyRequest) -> Answer:
    """List the sources whose rows may be inspected."""
    return Answer(sources_answer(caller.reader, caller.answer_tokens, caller.stop))


def get_inspection_schema(caller: Caller, asked: SourceRequest) -> Answer:
    """Describe the columns and filters of one source."""
    domain = resolve_source(asked.source_key, caller.reader)
    return Answer(source_answer(domain, caller.row_cap, caller.reader, caller.answer_tokens, caller.stop))


def inspect_rows(caller: Caller, asked: RowsRequest) -> Answer:
    """Show rows."""
    query = row_query(asked, caller.reader, caller.row_cap)
    caller.admit(ReportSize(figures=0, places=query.limit))  # a row takes about what a place of a report takes
    inspection = inspect(query, caller.reader, caller.stop)

    def answered(data_ref: DataRef) -> Answer:
        result = rows_answer(inspection, caller.answer_tokens, data_ref, caller.stop, is_summary=asked.summary)
        block = None if asked.summary else partial(grid, inspection, result)
        return Answer(result, block, rows_details(inspection))

    return caller.datasets.keep(inspection, answered)


# Statements and metrics.

OF_A_ROW, OF_A_COLUMN, OF_A_FIGURE = 40, 80, 10  # tokens


def run_statement(caller: Caller, asked: StatementRequest) -> Answer:
    """Report one financial statement."""
    query = statement_query(asked, caller.reader)
    return reported(plan_statement(query, caller.reader, caller.stop), caller, is_summary=asked.summary)


def run_metric(caller: Caller, asked: MetricRequest) -> Answer:
    """Report metrics by members of dimensions."""
    query = metric_query(asked, caller.reader)
    return reported(plan_metrics(query, caller.reader, caller.stop), caller, is_summary=asked.summary)


def explain_variance(caller: Caller, asked: ExplainRequest) -> Answer:
    """Explain why a figure differs between two scenarios."""
    query = explain_query(asked, caller.reader)
    found = explain(query, caller.reader, caller.stop, caller.report_groups, caller.admit)
    drawn = bridge_of(found, caller) if asked.picture else NO_BRIDGE

    def answered(data_ref: DataRef) -> Answer:
        result = explanation_answer(found, caller.answer_tokens, data_ref, caller.stop, drawn.notes)
        return Answer(result, details=explanation_details(found, drawn.chart), picture=drawn.picture)

    return caller.datasets.keep(found, answered)


class BridgePicture(Struct, frozen=True):
    """The waterfall of an explanation and its picture, or a note that says why there is none."""

    chart: Chart | None = None
    picture: bytes | None = None
    notes: tuple[Note, ...] = ()


NO_BRIDGE = BridgePicture()
FEWER = "; a smaller top folds more rows into (others)"


def bridge_of(found: Explanation, caller: Caller) -> BridgePicture:
    """Draw the first list of an explanation."""
    try:
        drawn = bridge(found)
        return BridgePicture(drawn, caller.scripts.picture(drawn.vega_lite))
    except ChartInvalid as refused:
        return BridgePicture(notes=(ServerNote.of("not_drawn", reason=refused.error.rstrip(".") + FEWER),))
    except RenderError as failed:
        return BridgePicture(notes=(ServerNote.of("not_drawn", reason=str(failed)),))


def reported(plan: ReportPlan, caller: Caller, *, is_summary: bool) -> Answer:
    """Run a plan, keep its report and return it as an answer; refuses what no answer can hold before it reads.

    A summary has no table for a widget, which draws its totals.
    """

    def admit(size: ReportSize) -> None:
        if may_be_too_long(plan, caller.answer_tokens):
            refuse_too_long(outline(plan), caller.answer_tokens)
        caller.admit(size)

    report = run(plan, caller.report_groups, admit)

    def answered(data_ref: DataRef) -> Answer:
        if is_summary:
            return Answer(summary(report, data_ref), details=details(report))
        result = answer(report, caller.answer_tokens, data_ref, caller.stop)
        return Answer(result, partial(table, report, data_ref), details(report))

    return caller.datasets.keep(report, answered)


def may_be_too_long(plan: ReportPlan, budget: int) -> bool:
    """Tell whether the totals of a report may be longer than a budget, by tokens that no part of them exceeds often."""
    rows, columns = len(plan.figures.rows), len(plan.figures.query.columns)
    return rows * OF_A_ROW + columns * OF_A_COLUMN + rows * columns * OF_A_FIGURE > budget


# Figures, and the rows behind them.


RENDERS = (
    " When a widget shows the table, add interpretation and do not copy it into Markdown, unless asked or where no "
    "widget is available."
)
STATEMENT = (
    "Report a financial statement: its lines down, scenarios across, optionally broken down by dimensions. Call "
    "svc_orientation first for the statement keys, list_scenarios for the scenarios."
)
METRIC = (
    "Report metrics of one domain by members of dimensions: anything that is no standard statement. "
    "`values` run metric by metric, in each scenario by scenario. Call list_kpis first for metric and dimension keys, "
    "search_hierarchy for member ids."
)
EXPLAIN = (
    "Explain why a figure differs between two scenarios or times: lists of contributions that add up to the variance "
    "exactly, largest first; of a ratio, rate and mix. For rows behind one, join the `drill` of result, list and row."
)
ROWS = (
    "Show, order, search, count or sum the rows behind figures. For a cell of a report, fill the result's `drill` from "
    "the cell's row and column (or metric and scenario; leave out a key without a value), and join their own `drill` "
    "(filters too; the row's win): contribution_total is the cell. A variance var(a,b) takes scenario_id a, less b; "
    "`sides` (signed) and `operands` a call each. Otherwise call get_inspection_schema first. truncated: cut at the "
    "limit; agent_truncated: not all shown. When a widget shows the grid, interpret it."
)

REPORTING = (
    Tool(
        name="run_statement",
        title="Run statement",
        hint="profit and loss, balance sheet, cash flow",
        is_always_loaded=True,
        description=STATEMENT + RENDERS,
        request=StatementRequest,
        run=run_statement,
        example=statement_example,
        lane="heavy",
        widget=FINANCIAL_TABLE,
    ),
    Tool(
        name="run_statement_data",
        title="Run statement (data)",
        hint="figures of a statement without a table",
        description="run_statement without the formatted table: its arguments and its figures.",
        request=StatementRequest,
        run=run_statement,
        example=statement_example,
        lane="heavy",
        is_twin=True,
    ),
    Tool(
        name="run_metric",
        title="Run metrics",
        hint="revenue, margin or another metric by period or member",
        is_always_loaded=True,
        description=METRIC + RENDERS,
        request=MetricRequest,
        run=run_metric,
        example=metric_example,
        lane="heavy",
        widget=FINANCIAL_TABLE,
    ),
    Tool(
        name="run_metric_data",
        title="Run metrics (data)",
        hint="figures of metrics without a table",
        description="run_metric without the formatted table: its arguments and its figures.",
        request=MetricRequest,
        run=run_metric,
        example=metric_example,
        lane="heavy",
        is_twin=True,
    ),
    Tool(
        name="explain_variance",
        title="Explain variance",
        hint="why a figure differs from budget or the year before",
        is_always_loaded=True,
        description=EXPLAIN,
        request=ExplainRequest,
        run=explain_variance,
        example=explain_example,
        lane="heavy",
        described_elsewhere=("filters",),
        widget=FINANCIAL_TABLE,
    ),
    Tool(
        name="list_inspection_sources",
        title="List inspection sources",
        hint="which ledgers have rows to read",
        description="List the sources whose rows can be shown: what stands behind the figures of each domain.",
        request=EmptyRequest,
        run=list_inspection_sources,
        example=no_example,
        is_memoised=True,
    ),
    Tool(
        name="get_inspection_schema",
        title="Inspection schema",
        hint="columns and filters of rows",
        description="Describe one source: its columns, and the keys its rows can be filtered by. Call it before "
        "inspect_rows.",
        request=SourceRequest,
        run=get_inspection_schema,
        example=source_example,
    ),
    Tool(
        name="inspect_rows",
        title="Inspect rows",
        hint="postings, journal entries, rows behind a figure",
        description=ROWS,
        request=RowsRequest,
        run=inspect_rows,
        example=rows_example,
        lane="heavy",
        described_elsewhere=("filters", "amount"),
        widget=INSPECTION_GRID,
    ),
)
