"""Rejected rows: which row, which column, what was found, and why it cannot be kept."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

VALIDATE = "validate"
FILE, ROW = "_file", "_row"  # columns of an extract: where each row came from
SCHEMA = {"file": pl.String, "row": pl.Int64, "column": pl.String, "found": pl.String, "reason": pl.String}


class LoadFailed(Exception):
    """A load that publishes nothing; `stage` says how far it came, and the message why."""

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(message)
        self.stage = stage


@dataclass
class Rejects:
    """The rejected rows of one load, gathered column by column and file by file."""

    extract: pl.DataFrame = field(default_factory=pl.DataFrame)
    found: list[pl.DataFrame] = field(default_factory=list)  # of every file so far
    here: list[pl.DataFrame] = field(default_factory=list)  # of the file being read
    read: int = 0

    def begin(self, extract: pl.DataFrame) -> None:
        """Go on with another file."""
        self.extract = extract
        self.here = []
        self.read += extract.height

    def where(self, bad: pl.Series, column: str, values: pl.Series, reason: str | pl.Series) -> None:
        """Reject the rows where `bad` is true, for one reason or for a reason each."""
        if not bad.any():
            return
        reasons = pl.Series("reason", [reason]) if isinstance(reason, str) else reason.filter(bad).alias("reason")
        rows = self.extract.select(pl.col(FILE).alias("file"), pl.col(ROW).alias("row")).filter(bad)
        rejected = rows.with_columns(
            pl.lit(column).alias("column"),
            values.filter(bad).cast(pl.String).alias("found"),
            pl.lit(reasons[0]).alias("reason") if len(reasons) == 1 else reasons,
        ).cast(SCHEMA)  # type: ignore[arg-type]  # polars types a schema more narrowly than it accepts one
        self.here.append(rejected)
        self.found.append(rejected)

    @property
    def report(self) -> pl.DataFrame:
        """Every rejection: file, row, column, found, reason."""
        return pl.concat(self.found) if self.found else pl.DataFrame(schema=SCHEMA)

    @property
    def count(self) -> int:
        """How many rows are rejected, each counted once."""
        return self.report.select("file", "row").n_unique() if self.found else 0

    def hold(self, allowed: int) -> None:
        """Raise LoadFailed where more rows are rejected than a binding allows."""
        if self.count > allowed:
            raise LoadFailed(VALIDATE, f"{self.count} of {self.read} rows rejected, {allowed} allowed")

    def kept(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a frame (in the order of the file being read) that are not rejected."""
        if not self.here:
            return frame
        rejected = pl.concat(self.here).select(pl.col("row").alias(ROW), pl.col("file").alias(FILE)).unique()
        place = self.extract.select(FILE, ROW).with_row_index("_place")
        kept = place.join(rejected.cast({ROW: place.schema[ROW]}), on=[FILE, ROW], how="anti").sort("_place")
        return frame[kept["_place"]]


def lines(report: pl.DataFrame, most: int = 20) -> Iterator[str]:
    """Yield rejections as lines of text, and how many more there are."""
    for row in report.head(most).iter_rows(named=True):
        found = "" if row["found"] is None else f"'{row['found']}' "
        yield f"{row['file']} row {row['row']}, {row['column']}: {found}{row['reason']}"
    if report.height > most:
        yield f"… and {report.height - most} more"


def keep_report(report: pl.DataFrame, folder: Path, binding: str) -> Path:
    """Write rejections to a CSV file that an operator can open, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{binding}.csv"
    report.write_csv(path)
    return path
