"""Reporting: statements, metrics, and the rows behind their figures."""

from engine.books.reader import Reader
from engine.model.catalogue import Dimension, Domain
from engine.model.requests import EmptyRequest, MetricRequest, RowsRequest, SourceRequest, StatementRequest
from engine.plans.figures import plan_metrics, plan_statement
from engine.queries.reports import metric_query, statement_query
from engine.queries.rows import inspection_sources, resolve_source, row_query, shown_columns
from engine.report.inspection import column_of, inspect
from engine.report.run import run
from server.caller.caller import Caller
from server.tools.tool import FINANCIAL_TABLE, INSPECTION_GRID, Tool
from server.wire.answers import Answer, Json, Left, axes_of, fitted, inspected, listed, reported

# Rows behind figures: which sources there are, what they show, and the rows themselves.


METRIC_FILTER = (
    "A metric key of list_kpis, or statement.line of a statement: keeps the rows that make this figure, says what each "
    "contributes, and all together in contribution_total."
)
VIEW = (
    "A shifted view of scenario_id such as actual@py, or a blend such as actual+forecast: keeps what it reads of this "
    "scenario for the range asked for."
)
OTHER_SOURCES = "A source works by its key alone: get_inspection_schema describes it."
OTHER_COLUMNS = (
    "A column or filter works by its name alone. inspect_rows without `columns` shows them all; list_dimensions lists "
    "the dimensions to filter by."
)
COMPARED = "Scenario ids that a variance compares scenario_id with: keeps the rows that may be seen of all of them."


def list_inspection_sources(caller: Caller, _: EmptyRequest) -> Answer:
    """List the sources whose rows may be inspected."""
    sources = [
        {"source_key": key, "label": domain.label, "domain": key, "grain": domain.grain.value}
        for key, domain in inspection_sources(caller.reader).items()
    ]
    return Answer(
        fitted(
            lambda left: listed("source", sources, "source_key", left),
            axes_of(source=sources),
            caller.answer_tokens,
            OTHER_SOURCES,
        )
    )


def get_inspection_schema(caller: Caller, asked: SourceRequest) -> Answer:
    """Describe the columns and filters of one source."""
    reader = caller.reader
    domain = resolve_source(asked.source_key, reader)
    columns = [column_json(name, domain, reader) for name in shown_columns(domain)]
    filters = [filter_json(dim) for dim in reader.catalogue.dimensions_of(domain) if dim.key in reader.dimensions]

    def build(left: Left) -> Json:
        return {
            "source_key": domain.key,
            "label": domain.label,
            "grain": domain.grain.value,
            **listed("column", columns, "name", left),
            **listed("filter", filters, "key", left),
            "figure_filters": {"metric": METRIC_FILTER, "scenario": VIEW, "compared_with": COMPARED},
            "default_limit": caller.row_cap,
            "max_limit": caller.row_cap,
        }

    return Answer(fitted(build, axes_of(filter=filters, column=columns), caller.answer_tokens, OTHER_COLUMNS))


def filter_json(dimension: Dimension) -> Json:
    """Return one dimension that rows are filtered by; `(unassigned)` of one of time keeps rows without a date."""
    grain = {"grain": dimension.grain.value} if dimension.grain else {}
    return {"key": dimension.key, "label": dimension.label, "kind": dimension.kind.value, **grain}


def column_json(name: str, domain: Domain, reader: Reader) -> Json:
    """Return one column that rows show."""
    column = column_of(name, domain, reader)
    return {
        "name": name,
        "label": column.label,
        "type": "number" if column.kind == "amount" else column.kind,
        **({"unit": column.unit} if column.unit else {}),
    }


def inspect_rows(caller: Caller, asked: RowsRequest) -> Answer:
    """Show rows."""
    query = row_query(asked, caller.reader, caller.row_cap)
    inspection = inspect(query, caller.reader, caller.stop)
    return inspected(inspection, caller.datasets.keep(inspection), caller.answer_tokens)


# Statements and metrics.


def run_statement(caller: Caller, asked: StatementRequest) -> Answer:
    """Report one financial statement."""
    query = statement_query(asked, caller.reader)
    report = run(plan_statement(query, caller.reader, caller.stop))
    return reported(report, caller.datasets.keep(report), caller.answer_tokens)


def run_metric(caller: Caller, asked: MetricRequest) -> Answer:
    """Report metrics by members of dimensions."""
    query = metric_query(asked, caller.reader)
    report = run(plan_metrics(query, caller.reader, caller.stop))
    return reported(report, caller.datasets.keep(report), caller.answer_tokens)


# Figures, and the rows behind them.


RENDERS = (
    " The result comes with a formatted table. When a widget shows it, add interpretation; do not copy the table into "
    "Markdown unless asked, or unless no widget is available."
)
RAW = " The raw figures alone, the same as of the variant without _data."
STATEMENT = (
    "Report a financial statement: its lines down, scenarios across, optionally broken down by dimensions. Call "
    "svc_orientation first for the statement keys, list_scenarios for the scenarios. For a general P&L prefer full_pnl "
    "where it exists."
)
METRIC = (
    "Report one or more metrics of one domain by members of dimensions: anything that is no standard statement. Call "
    "list_kpis first for metric and dimension keys, search_hierarchy for member ids."
)
ROWS = (
    "Show the rows behind figures. To explain a cell of run_statement or run_metric, join the `drill` of its row and "
    "of its column into one call (their filters too; the row's win): contribution_total is the cell. Where the column "
    "has `sides`, make a call for each, counting it with its sign; where the row has `operands`, one for each operand "
    "of the formula. Otherwise call get_inspection_schema first. truncated: more rows than the limit exist; "
    "agent_truncated: fewer are shown here than were found. The first 50 also come as a formatted grid: when a widget "
    "shows it, add interpretation and do not copy the rows."
)
STATEMENT_EXAMPLE = {
    "statement": "full_pnl",
    "scenarios": [
        {"scenario": "actual", "alias": "Actuals"},
        {"scenario": "budget", "alias": "Budget"},
        {"scenario": "var(actual,budget)", "alias": "Variance"},
    ],
    "period_start": "2026-01",
    "period_end": "2026-09",
    "scale": 3,
}
METRIC_EXAMPLE = {
    "metrics": ["revenue", "gross_margin"],
    "scenarios": [{"scenario": "actual", "alias": "Actuals"}, {"scenario": "actual@py", "alias": "Prior Year"}],
    "period_start": "2026-Q1",
    "period_end": "2026-Q3",
    "dimensions": ["organisation"],
}
ROWS_EXAMPLE = {
    "source_key": "gl",
    "scenario_id": "actual",
    "filters": {"metric": "revenue"},
    "period_start": "2026-09",
    "limit": 20,
}

REPORTING = (
    Tool(
        name="run_statement",
        title="Run statement",
        description=STATEMENT + RENDERS,
        request=StatementRequest,
        run=run_statement,
        example=STATEMENT_EXAMPLE,
        lane="heavy",
        widget=FINANCIAL_TABLE,
    ),
    Tool(
        name="run_statement_data",
        title="Run statement (data)",
        description=STATEMENT + RAW,
        request=StatementRequest,
        run=run_statement,
        example=STATEMENT_EXAMPLE,
        lane="heavy",
    ),
    Tool(
        name="run_metric",
        title="Run metrics",
        description=METRIC + RENDERS,
        request=MetricRequest,
        run=run_metric,
        example=METRIC_EXAMPLE,
        lane="heavy",
        widget=FINANCIAL_TABLE,
    ),
    Tool(
        name="run_metric_data",
        title="Run metrics (data)",
        description=METRIC + RAW,
        request=MetricRequest,
        run=run_metric,
        example=METRIC_EXAMPLE,
        lane="heavy",
    ),
    Tool(
        name="list_inspection_sources",
        title="List inspection sources",
        description="List the sources whose rows can be shown: what stands behind the figures of each domain.",
        request=EmptyRequest,
        run=list_inspection_sources,
        example={},
    ),
    Tool(
        name="get_inspection_schema",
        title="Inspection schema",
        description="Describe one source: its columns, and the keys its rows can be filtered by. Call it before "
        "inspect_rows.",
        request=SourceRequest,
        run=get_inspection_schema,
        example={"source_key": "gl"},
    ),
    Tool(
        name="inspect_rows",
        title="Inspect rows",
        description=ROWS,
        request=RowsRequest,
        run=inspect_rows,
        example=ROWS_EXAMPLE,
        lane="heavy",
        widget=INSPECTION_GRID,
    ),
)
