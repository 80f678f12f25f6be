"""Rejected rows: which row, which column, what was found, and why it cannot be kept."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from engine.feeds import LoadStatus

CONNECT, EXTRACT, VALIDATE = LoadStatus.FAILED_CONNECT, LoadStatus.FAILED_EXTRACT, LoadStatus.FAILED_VALIDATE
FILE, ROW = "_file", "_row"  # columns of an extract: where each row came from
SCHEMA = {"file": pl.String, "row": pl.Int64, "column": pl.String, "found": pl.String, "reason": pl.String}


class LoadFailed(Exception):
    """A load that publishes nothing; `status` says how far it came, and the message why."""

    def __init__(self, status: LoadStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Part:
    """What one file or query holds, some rows at a time; each row has FILE and ROW first."""

    name: str
    pieces: Generator[pl.DataFrame]  # to be closed by who reads it, so that no source is kept open


def located(frame: pl.DataFrame, name: str, first: int) -> pl.DataFrame:
    """Return rows with the file they came from and their number there; `first` rows of it came before."""
    return frame.with_row_index(ROW, offset=first + 1).select(pl.lit(name).alias(FILE), pl.all())


@dataclass
class Rejects:
    """The rejected rows of one load, gathered column by column and piece by piece."""

    extract: pl.DataFrame = field(default_factory=pl.DataFrame)
    found: list[pl.DataFrame] = field(default_factory=list)  # of every piece so far
    here: list[pl.DataFrame] = field(default_factory=list)  # of the piece being read
    read: int = 0

    def begin(self, extract: pl.DataFrame) -> None:
        """Go on with another piece of the extract."""
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
        """Return the rows of a frame (in the order of the piece being read) that are not rejected."""
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


def keep_report(report: pl.DataFrame, folder: Path, load_id: str) -> Path | None:
    """Write rejections to a CSV file that an operator can open, and return its path; None where there are none.

    A disk that takes no report takes none, and the load ends as it would have.
    """
    if report.is_empty():
        return None
    path = report_file(folder, load_id)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        report.write_csv(path)
    except OSError:
        return None
    return path


def report_file(folder: Path, load_id: str) -> Path:
    """Return the file of the rejected rows of a load."""
    return folder / f"{load_id}.csv"
