"""How many lines of the engine a piece of work runs: its cost, whatever the machine is doing."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from tests.support.books.loads import ROOT

ENGINE = f"{ROOT / 'engine'}/"


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of the engine some work runs in this thread."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename.startswith(ENGINE) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
