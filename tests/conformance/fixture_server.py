"""The real server, with the tools that the conformance suite calls by name as further rows of its table.

They go the whole way of a tool: listed, dispatched, answered. Test only; run as a module in the environment of `tieout
serve`, and by itself as its own workers.
"""

import sys

from server.base.requests import EmptyRequest
from server.base.settings import read_settings
from server.caller.caller import Caller
from server.run.commands.serve import preside
from server.run.workers.worker import main
from server.tools.examples import no_example
from server.tools.tool import Tool
from server.tools.toolbox import TOOLS
from server.wire.answers import Answer

SECRET = "the-password-of-a-database"  # noqa: S105  # must not reach a client: a test looks for it


def says(_: Caller, __: EmptyRequest) -> Answer:
    """Answer."""
    return Answer({"text": "This is a simple text response for testing."})


def fails(_: Caller, __: EmptyRequest) -> Answer:
    """Fail as no tool should."""
    raise RuntimeError(SECRET)


ROWS = {
    "test_simple_text": says,
    "test_error_handling": fails,
    "test_logging_tool": says,  # listed, so that the suite can see that it logs nothing to the client
    "test_streaming_elicitation": says,  # listed, so that the suite can see that it asks the client nothing
}

TOOLS_TOO = {
    name: Tool(
        name=name, title=name, description="For the suite only.", request=EmptyRequest, run=run, example=no_example
    )
    for name, run in ROWS.items()
}

if __name__ == "__main__":
    if len(sys.argv) > 1:  # a worker of it
        main(*map(int, sys.argv[1:]), tools={**TOOLS, **TOOLS_TOO})
    else:
        sys.exit(preside(read_settings(), program=__spec__.name))
