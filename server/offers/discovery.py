"""What these books hold: orientation, scenarios, metrics, dimensions, members."""

from engine.requests import NothingAsked, SearchRequest, VariantsRequest
from server.tool import Tool
from server.tools.discovery import list_dimensions, list_scenarios, list_variants, search_hierarchy
from server.tools.metrics import list_kpis
from server.tools.orientation import svc_orientation

DISCOVERY = (
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
)
