"""tieout serve with tools that misbehave: python -m tests.support.blocking.

One blocks, and heeds nothing, until a file is there. One takes memory and keeps it.

Or, `python -m tests.support.blocking MODULE`, with workers that run another module.
"""

import os
import sys
import time
from pathlib import Path

from engine.model.requests import EmptyRequest
from server.base.settings import read_settings
from server.caller.caller import Caller
from server.run.commands.serve import preside
from server.run.workers.worker import main
from server.tools.tool import Tool
from server.tools.toolbox import TOOLS
from server.wire.answers import Answer

GATE = "TEST_GATE"


def block(_caller: Caller, _asked: EmptyRequest) -> Answer:
    """Wait for the file that an environment variable names."""
    gate = Path(os.environ[GATE])
    gate.with_suffix(".entered").touch()
    while not gate.exists():
        time.sleep(0.01)
    return Answer({"through": True})


HOARD: list[bytes] = []
HOARDED = 600 << 20


def hoard(_caller: Caller, _asked: EmptyRequest) -> Answer:
    """Take memory for good."""
    HOARD.append(b"x" * HOARDED)
    return Answer({"hoarded": len(HOARD)})


HOARDS = Tool(name="hoard", title="Hoard", description="For tests.", request=EmptyRequest, run=hoard, example={})
TOOL = Tool(name="block", title="Block", description="For tests.", request=EmptyRequest, run=block, example={})

if __name__ == "__main__":
    if len(sys.argv) > 2:
        control, listening, parent = map(int, sys.argv[1:])
        main(control, listening, parent, tools={**TOOLS, "block": TOOL, "hoard": HOARDS})
    else:
        sys.exit(preside(read_settings(), program=sys.argv[1] if len(sys.argv) > 1 else __spec__.name))
