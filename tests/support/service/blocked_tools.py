"""Tools that misbehave, which a forked server has where TEST_GATE names a file (support/service/forks.py).

One blocks, and heeds nothing, until that file is there. One takes memory and keeps it.
"""

import os
import time
from pathlib import Path

from server.base.requests import EmptyRequest
from server.caller.caller import Caller
from server.tools.examples import no_example
from server.tools.tool import Tool
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


HOARDS = Tool(
    name="hoard", title="Hoard", description="For tests.", request=EmptyRequest, run=hoard, example=no_example
)
TOOL = Tool(name="block", title="Block", description="For tests.", request=EmptyRequest, run=block, example=no_example)
MISBEHAVING = {"block": TOOL, "hoard": HOARDS}
