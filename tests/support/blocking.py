"""tieout serve with a tool that blocks, and heeds nothing, until a file is there: python -m tests.support.blocking.

Or, `python -m tests.support.blocking MODULE`, with workers that run another module.
"""

import os
import sys
import time
from pathlib import Path

from engine.requests import NothingAsked
from server.caller import Caller
from server.commands.serve import preside
from server.settings import read_settings
from server.tool import Tool
from server.toolbox import TOOLS
from server.wire.answer import Answer
from server.workers.worker import main

GATE = "TEST_GATE"


def block(_caller: Caller, _asked: NothingAsked) -> Answer:
    """Wait for the file that an environment variable names."""
    gate = Path(os.environ[GATE])
    gate.with_suffix(".entered").touch()
    while not gate.exists():
        time.sleep(0.01)
    return Answer({"through": True})


TOOL = Tool(name="block", title="Block", description="For tests.", request=NothingAsked, run=block, example={})

if __name__ == "__main__":
    if len(sys.argv) > 2:
        control, listening, parent = map(int, sys.argv[1:])
        main(control, listening, parent, tools={**TOOLS, "block": TOOL})
    else:
        sys.exit(preside(read_settings(), program=sys.argv[1] if len(sys.argv) > 1 else __spec__.name))
