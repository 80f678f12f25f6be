"""Reading an instance of ten times the metrics and lines runs ten times the lines of code, not a hundred times."""

from functools import partial
from pathlib import Path

from engine.instance.read import read_instance
from tests.support.books.small import write_instance
from tests.support.checks.lines_run import lines_run

FEW, MANY = 20, 200


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
    few, many = (lines_run(partial(read_instance, grown(tmp_path, size))) for size in (FEW, MANY))
    assert many < 11 * few
