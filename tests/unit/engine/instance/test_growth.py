"""Reading an instance of ten times the metrics and lines runs ten times the lines of code, not a hundred times."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from engine.instance.read import read_instance
from tests.support.books.loads import ROOT
from tests.support.books.small import write_instance

FEW, MANY = 20, 200
ENGINE = f"{ROOT / 'engine'}/"


def lines_run(folder: Path) -> int:
    """Return how many lines of the engine reading an instance runs."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename.startswith(ENGINE) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read_instance(folder)
    finally:
        sys.settrace(before)
    return count


def grown(folder: Path, size: int) -> Path:
    """Write an instance of some formulas, in two domains that share a key, and a line of each."""
    metrics = "".join(f"  f{at}: {{formula: amount * {at + 2}}}\n" for at in range(size))
    others = "".join(f"  g{at}: {{formula: sales.amount * {at + 2} + amount}}\n" for at in range(size))
    domain = "time: {column: date}\ndimensions: {}\nmeasures: {amount: {places: 2}}\nmetrics:\n  amount: {}\n"
    lines = (f"  - {{metric: {key}{at}}}\n" for key in "fg" for at in range(size))
    return write_instance(
        folder / str(size),
        facts={"sales": "date scenario amount", "stock": "date scenario amount"},
        domains={"sales": domain + metrics, "stock": domain + others},
        statements={"pnl": "".join(lines)},
    )


def test_ten_times_the_metrics_and_lines_run_ten_times_the_code(tmp_path: Path) -> None:
    few, many = (lines_run(grown(tmp_path, size)) for size in (FEW, MANY))
    assert many < 11 * few
