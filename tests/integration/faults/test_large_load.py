"""A load of ten million rows (`make test-deep`) takes less than 2 GB of memory, one of a million less than 1 GB."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import polars as pl

from engine.door import open_books
from tests.support.books.loads import ROOT
from tests.support.books.small import figure, write_instance
from tests.support.checks.depth import DEEP

ROWS, LIMIT = (10_000_000, 2048) if DEEP else (1_000_000, 1024)  # MB
LOADER = """
import json, sys
from pathlib import Path
from benches.timing import memory
from tests.support.books.loads import load_feeds
(done,) = load_feeds(Path(sys.argv[1]), Path(sys.argv[2]), "gl")
print(json.dumps({"rows": done.rows_landed, "peak": memory("VmHWM")}))
"""  # getrusage would count the memory of the process that starts this one


def test_a_large_load_takes_bounded_memory(tmp_path: Path) -> None:
    instance = write_instance(
        tmp_path / "small",
        facts={"gl": "date"},
        domains={
            "gl": """
            time: {column: date}
            sort: [account]
            dimensions: {account: account, centre: centre}
            measures: {amount: {places: 2}}
            inspect_columns: [text]
            metrics:
              revenue: {measure: amount}
            """
        },
        dimensions="account: {kind: leaf}\ncentre: {kind: leaf}",
    )
    number = pl.int_range(ROWS)
    pl.select(
        date=pl.date(2021, 1, 1) + pl.duration(days=number % 365),
        scenario=pl.lit("actual"),
        account=pl.format("A{}", number * 7 % 900),
        centre=pl.format("C{}", number * 13 % 5000),
        amount=pl.format("{}.{}", number % 9000, 10 + number % 90),
        text=pl.format("posting number {}", number),
    ).lazy().sink_csv(instance / "data" / "gl.csv")
    command: list[str | Path] = [sys.executable, "-c", LOADER, instance, tmp_path / "state"]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    told = json.loads(loaded.stdout)
    assert told["rows"] == ROWS
    assert 100 < told["peak"] < LIMIT
    books = open_books(instance, state=tmp_path / "state")
    cents = sum(100 * (row % 9000) + 10 + row % 90 for row in range(ROWS))
    assert figure(books.metric("revenue", scenarios={"A": "actual"}, period="2021")) == Fraction(cents, 100)
