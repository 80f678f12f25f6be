"""Figures, and the rows behind them."""

from engine.requests import MetricRequest, NothingAsked, RowsRequest, SourceRequest, StatementRequest
from server.tool import Tool
from server.tools.inspection import get_inspection_schema, inspect_rows, list_inspection_sources
from server.tools.reporting import run_metric, run_statement
from server.widgets import FINANCIAL_TABLE, INSPECTION_GRID

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
        request=NothingAsked,
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
