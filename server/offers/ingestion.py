"""How fresh the data is: loads and feeds."""

from engine.requests import BindingRequest, BindingsRequest, LoadHistoryRequest, LoadRequest
from server.tool import Tool
from server.tools.ingestion import get_binding, get_load_status, list_bindings, list_load_history

INGESTION = (
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
