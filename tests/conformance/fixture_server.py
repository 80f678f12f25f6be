"""The real server, with the tools that the conformance suite calls by name as further rows of its table.

They go the whole way of a tool: listed, dispatched, answered. Test only; run as `fixture_server.py` in the environment
of `tieout serve`.
"""

import sys

from engine.requests import NothingAsked
from server.caller import Caller
from server.cli import main
from server.tool import Tool
from server.toolbox import TOOLS
from server.wire.answer import Answer

SECRET = "the-password-of-a-database"  # noqa: S105  # must not reach a client: a test looks for it


def says(_: Caller, __: NothingAsked) -> Answer:
    """Answer."""
    return Answer({"text": "This is a simple text response for testing."})


def fails(_: Caller, __: NothingAsked) -> Answer:
    """Fail as no tool should."""
    raise RuntimeError(SECRET)


ROWS = {
    "test_simple_text": says,
    "test_error_handling": fails,
    "test_logging_tool": says,  # listed, so that the suite can see that it logs nothing to the client
    "test_streaming_elicitation": says,  # listed, so that the suite can see that it asks the client nothing
}

if __name__ == "__main__":
    for name, run in ROWS.items():
        TOOLS[name] = Tool(
            name=name, title=name, description="For the suite only.", request=NothingAsked, run=run, example={}
        )
    sys.exit(main(["serve"]))
