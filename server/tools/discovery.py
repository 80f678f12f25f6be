"""Discovery: scenarios, metrics, dimensions and members."""

from engine.books.several_names import search_names
from engine.model.requests import SearchRequest
from engine.present.answers.catalogue import (
    dimensions_answer,
    members_answer,
    metrics_answer,
    scenarios_answer,
    variants_answer,
)
from server.base.requests import EmptyRequest, MetricsRequest, VariantsRequest
from server.caller.caller import Caller
from server.tools.examples import no_example, search_example, variants_example
from server.tools.tool import Tool
from server.wire.answers import Answer


def list_kpis(caller: Caller, asked: MetricsRequest) -> Answer:
    """List the metrics of every domain with the dimensions that cut them."""
    return Answer(metrics_answer(caller.reader, caller.answer_tokens, caller.stop, asked.domain, asked.query))


def list_scenarios(caller: Caller, _: EmptyRequest) -> Answer:
    """List the scenarios and the ready-made comparisons of them."""
    return Answer(scenarios_answer(caller.reader, caller.answer_tokens, caller.stop))


def list_dimensions(caller: Caller, _: EmptyRequest) -> Answer:
    """List the dimensions, without members."""
    return Answer(dimensions_answer(caller.reader, caller.answer_tokens, caller.stop))


def list_variants(caller: Caller, asked: VariantsRequest) -> Answer:
    """List the what-if variants of a scenario; one that is not there has none, and a note."""
    return Answer(variants_answer(asked.scenario_id, caller.reader, caller.answer_tokens, caller.stop))


def search_hierarchy(caller: Caller, asked: SearchRequest) -> Answer:
    """Find members and nodes."""
    return Answer(members_answer(search_names(asked, caller.reader), caller.answer_tokens, caller.stop))


# What these books hold: orientation, scenarios, metrics, dimensions, members.


DISCOVERY = (
    Tool(
        name="list_scenarios",
        title="List scenarios",
        hint="budget, forecast, prior year, grammar of comparisons",
        description=(
            "List the scenarios (actuals, budgets, forecasts), ready-made variances and shifted views, and the "
            "grammar to write others. Use the keys as `scenario` in reporting calls."
        ),
        request=EmptyRequest,
        run=list_scenarios,
        example=no_example,
        is_memoised=True,
    ),
    Tool(
        name="list_kpis",
        title="List metrics",
        hint="descriptions and formulas of metrics",
        description=(
            "List the metrics of every domain: label, format, formula or the rows each counts, how it "
            "adds up over members and time, and per domain the dimension_keys that filter and break it down and "
            "the last period loaded; a metric of several domains names its own."
        ),
        request=MetricsRequest,
        run=list_kpis,
        example=no_example,
        is_memoised=True,
    ),
    Tool(
        name="list_dimensions",
        title="List dimensions",
        hint="dimensions and their levels",
        description=(
            "List the dimensions: key, label, kind and grain. search_hierarchy finds members; one with a grain is time "
            "and takes period codes."
        ),
        request=EmptyRequest,
        run=list_dimensions,
        example=no_example,
        is_memoised=True,
    ),
    Tool(
        name="list_variants",
        title="List variants",
        hint="variants of a scenario",
        description="List the what-if variants of a scenario, where the books define any.",
        request=VariantsRequest,
        run=list_variants,
        example=variants_example,
        is_memoised=True,
    ),
    Tool(
        name="search_hierarchy",
        title="Search members",
        hint="find customers, accounts or other members by name",
        description=(
            "Find members and nodes by name or code, or list a dimension; a query without dimension also finds metrics "
            "and statements. `dimension` of a hit is the key for filters, `id` its value. Call it before filtering by "
            "what a user named."
        ),
        request=SearchRequest,
        run=search_hierarchy,
        example=search_example,
    ),
)
