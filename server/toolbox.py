"""The toolbox: the table of all tools.

A description tells a model what the tool answers, what to call before it, and one call that works on the demo books.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.requests import (
    BindingRequest,
    BindingsRequest,
    LoadHistoryRequest,
    LoadRequest,
    MetricRequest,
    NothingAsked,
    Request,
    RowsRequest,
    SearchRequest,
    SourceRequest,
    StatementRequest,
    VariantsRequest,
)
from server.caller import Caller
from server.tools.discovery import list_dimensions, list_scenarios, list_variants, search_hierarchy
from server.tools.ingestion import get_binding, get_load_status, list_bindings, list_load_history
from server.tools.inspection import get_inspection_schema, inspect_rows, list_inspection_sources
from server.tools.metrics import list_kpis
from server.tools.orientation import svc_orientation
from server.tools.reporting import run_metric, run_statement
from server.wire.answer import Answer
from server.wire.schema import Json, Shape

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: what it takes, what it does, and what a model is told of it."""

    name: str
    title: str
    description: str
    request: type[Request]
    run: Callable[[Caller, Any], Answer]
    example: Mapping[str, Any]
    heavy: bool = False  # plans over facts: waits its turn in the lane of heavy calls
    renders: bool = False  # carries the formatted table for a widget
    shape: Shape[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", Shape.of(self.request))

    @property
    def schema(self) -> Json:
        """The JSON Schema of its arguments."""
        return self.shape.schema

    @property
    def words(self) -> str:
        """Its description with a call that works, as models read it."""
        return f"{self.description} Example: {json.dumps(self.example)}" if self.example else self.description


ROWS = (
    "Show the rows behind figures. To explain a cell of run_statement or run_metric, join the `drill` of its row and "
    "of its column into one call (their filters too; the row's win): contribution_total is the cell. Where the column "
    "has `sides`, make a call for each, counting it with its sign; where the row has `operands`, one for each operand "
    "of the formula. Otherwise call get_inspection_schema first. truncated: more rows than the limit exist; "
    "agent_truncated: fewer are shown here than were found."
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

TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            name="svc_orientation",
            title="Orientation",
            description="Call this first: what these books hold, their fiscal year, statements, and how to ask.",
            request=NothingAsked,
            run=svc_orientation,
            example={},
        ),
        Tool(
            name="list_scenarios",
            title="List scenarios",
            description=(
                "List the scenarios (actuals, budgets, forecasts), ready-made variances and shifted views, and the "
                "grammar to write others. Use the keys as `scenario` in reporting calls."
            ),
            request=NothingAsked,
            run=list_scenarios,
            example={},
        ),
        Tool(
            name="list_kpis",
            title="List metrics",
            description=(
                "List the metrics of every domain: label, format, formula or the rows each counts, how it "
                "adds up over members and time, and per domain the dimension_keys that filter and break it down and "
                "the last period loaded; a metric of several domains names its own."
            ),
            request=NothingAsked,
            run=list_kpis,
            example={},
        ),
        Tool(
            name="list_dimensions",
            title="List dimensions",
            description="List the dimensions: key, label, kind and grain. Members are found with search_hierarchy.",
            request=NothingAsked,
            run=list_dimensions,
            example={},
        ),
        Tool(
            name="list_variants",
            title="List variants",
            description="List the what-if variants of a scenario, where the books define any.",
            request=VariantsRequest,
            run=list_variants,
            example={"scenario_id": "budget"},
        ),
        Tool(
            name="search_hierarchy",
            title="Search members",
            description=(
                "Find member and node ids by name or code, or list a dimension. Each hit has the exact `filters` "
                "entry to copy into a reporting call. Call it before filtering by anything a user named in words."
            ),
            request=SearchRequest,
            run=search_hierarchy,
            example={"query": "sales", "dimension": "cost_centre"},
        ),
        Tool(
            name="run_statement",
            title="Run statement",
            description=STATEMENT + RENDERS,
            request=StatementRequest,
            run=run_statement,
            example=STATEMENT_EXAMPLE,
            heavy=True,
            renders=True,
        ),
        Tool(
            name="run_statement_data",
            title="Run statement (data)",
            description=STATEMENT + RAW,
            request=StatementRequest,
            run=run_statement,
            example=STATEMENT_EXAMPLE,
            heavy=True,
        ),
        Tool(
            name="run_metric",
            title="Run metrics",
            description=METRIC + RENDERS,
            request=MetricRequest,
            run=run_metric,
            example=METRIC_EXAMPLE,
            heavy=True,
            renders=True,
        ),
        Tool(
            name="run_metric_data",
            title="Run metrics (data)",
            description=METRIC + RAW,
            request=MetricRequest,
            run=run_metric,
            example=METRIC_EXAMPLE,
            heavy=True,
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
            heavy=True,
        ),
        Tool(
            name="list_load_history",
            title="Load history",
            description=(
                "List the attempts to load data, the most recent first: which feed filled which dataset (dataset_id is "
                "the live table), when, how it ended, how many rows landed, and why it failed. Answers whether the "
                "data behind figures is fresh and complete; no figures here. Filters combine with AND."
            ),
            request=LoadHistoryRequest,
            run=list_load_history,
            example={"dataset_id": "live.gl", "period": "2026-09", "status": "success", "limit": 5},
        ),
        Tool(
            name="get_load_status",
            title="Load status",
            description=(
                "Describe one load whole: its times, rows read, landed and rejected, its error, and served_now: "
                "whether rows it brought are among those that figures are made of now. Take the load_id from "
                "list_load_history or from the freshness of a result."
            ),
            request=LoadRequest,
            run=get_load_status,
            example={},  # a load_id is of one deployment
        ),
        Tool(
            name="list_bindings",
            title="List feeds",
            description=(
                "List the data feeds (bindings): the source and the live table of each, its schedule with the time it "
                "is due next, its last attempt and its last success. Answers when data will be fresh again."
            ),
            request=BindingsRequest,
            run=list_bindings,
            example={"target": "live.gl"},
        ),
        Tool(
            name="get_binding",
            title="Feed configuration",
            description=(
                "Describe one data feed whole: its extract query or file pattern, parameters, what fills each column, "
                "currency conversion, schedule, and what becomes of rejected rows and unknown members. Credentials "
                "are never shown. Take the binding_id from list_bindings."
            ),
            request=BindingRequest,
            run=get_binding,
            example={"binding_id": "gl"},
        ),
    )
}
