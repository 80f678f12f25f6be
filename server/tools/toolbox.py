"""The toolbox: the table of all tools, and of the requests of the protocol that are answered as tools are.

A description tells a model what the tool answers, what to call before it, and one call that works on its books.
"""

from collections.abc import Iterator
from dataclasses import replace

from server.base.requests import EmptyRequest
from server.caller.caller import Caller
from server.tools.charts import CHARTING
from server.tools.discovery import DISCOVERY
from server.tools.examples import Example, chart_of, no_example
from server.tools.files import ARTIFACTS, UPLOADS
from server.tools.ingestion import INGESTION
from server.tools.orientation import ORIENTATION
from server.tools.prompts import COMPLETE, GET_PROMPT
from server.tools.reporting import REPORTING
from server.tools.resources import GET_SKILL, LIST_RESOURCES, LIST_SKILLS, READ_DATASET, READ_RESOURCE
from server.tools.tool import Tool
from server.wire.answers import Answer


def chart_example(caller: Caller) -> Iterator[Example]:
    """Yield a chart of the example of metrics."""
    if asked := TOOLS["run_metric"].example_for(caller):
        yield chart_of(asked)


CHARTS = [replace(tool, example=chart_example) for tool in CHARTING]
TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (*ORIENTATION, *DISCOVERY, *REPORTING, *INGESTION, *CHARTS, *ARTIFACTS, *UPLOADS)
}


def list_examples(caller: Caller, _: EmptyRequest) -> Answer:
    """Return an example call of each tool that has one for the caller."""
    examples = {name: tool.example_for(caller) for name, tool in TOOLS.items() if not tool.is_twin}
    return Answer({name: example for name, example in examples.items() if example})


LIST_TOOLS = Tool(
    name="tools/list",
    title="List the tools",
    description="Return the example calls of the tools.",
    request=EmptyRequest,
    run=list_examples,
    example=no_example,
    is_memoised=True,
)
REQUESTS: dict[str, Tool] = {
    **TOOLS,
    **{
        tool.name: tool
        for tool in (
            *(LIST_RESOURCES, READ_RESOURCE, READ_DATASET, LIST_SKILLS, GET_SKILL),
            *(GET_PROMPT, COMPLETE, LIST_TOOLS),
        )
    },
}
