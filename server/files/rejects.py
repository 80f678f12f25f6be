"""Rejected rows: why each is rejected, how many rows and amounts each reason takes away, and how many a feed allows."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from pathlib import Path
from typing import Final

import polars as pl
from msgspec import Struct

from server.feeds.feeds import LoadStatus, RejectAllowance, RejectReason

VALIDATE = LoadStatus.FAILED_VALIDATE
FILE, ROW = "_file", "_row"  # columns that say which file and row an extract's row came from
SCHEMA = {"file": pl.String, "row": pl.Int64, "column": pl.String, "found": pl.String, "reason": pl.String}
PLACE = "_place"  # of a row among all rows that were read: a row of a file may have become several
EXACT_PLACES: Final = 12  # of amounts that are added up whatever places their measure has
AMOUNT: Final = pl.Decimal(38, EXACT_PLACES)  # of which 10**8 below LARGEST can be added up
LARGEST: Final = 10**18
WIDE: Final = Context(prec=80)  # more digits than any sum has
MOST_FOUND = 3  # values that a sum names

# Each reason by the words that the text of a rejection begins with; a sum over rows of several texts says the words.
WORDS: Final[Mapping[str, RejectReason]] = {
    "is missing": RejectReason.BLANK,
    "is no number": RejectReason.NUMBER,
    "has more than": RejectReason.DECIMALS,
    "is too large": RejectReason.SIZE,
    "is no day": RejectReason.DAY,
    "is outside the calendar": RejectReason.DAY,
    "is outside the periods asked for": RejectReason.PERIODS,
    "is no member": RejectReason.MEMBER,
    "is no scenario": RejectReason.MEMBER,
    "is a word of Tieout": RejectReason.MEMBER,
    "is none of": RejectReason.VALUE,
    "stands twice": RejectReason.REPEATED,
    "covers days of another rate": RejectReason.REPEATED,
    "has no": RejectReason.RATE,
    "is not above zero": RejectReason.RATE,
    "is no rate": RejectReason.RATE,
}
HINT = "; set "  # before the key that would read a value
SHORT = {RejectReason.DAY: "is no day of the calendar", RejectReason.RATE: "has no rate"}  # of several texts


class LoadFailed(Exception):
    """A load fails and publishes nothing; `status` names the step that failed.

    `recorded` is the message for the history of loads, which holds no value of a row.
    """

    def __init__(self, status: LoadStatus, message: str, *, recorded: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.recorded = message if recorded is None else recorded


class RejectSum(Struct, frozen=True, kw_only=True):
    """The rows that one column rejects for one reason, and the amounts on them, by measure."""

    column: str
    reason: RejectReason
    text: str
    hint: str  # the key that would read the most of the values, after "; set "; empty if none is known
    rows: int
    found: Sequence[tuple[str, int]]  # the most frequent values that are no numbers, with their rows
    amounts: Mapping[str, Decimal]

    @property
    def words(self) -> str:
        """The column and the reason, without a value of any row."""
        return f"{self.column} {self.text}"

    def __str__(self) -> str:
        """Return the sum in words: `183 rows: amount is no number ('#Missing' 183)`."""
        rows = f"{self.rows:,} row{'' if self.rows == 1 else 's'}: {self.words}"
        found = ", ".join(f"'{value}' {count:,}" for value, count in self.found)
        amounts = "; ".join(f"{key} {amount:,f}" for key, amount in self.amounts.items())
        return f"{rows}{f' ({found})' if found else ''}{f', {amounts}' if amounts else ''}"


@dataclass
class Rejects:
    """The rejected rows of one load, collected by column and by batch."""

    extract: pl.DataFrame = field(default_factory=pl.DataFrame)
    every: list[pl.DataFrame] = field(default_factory=list)  # rejections of all batches so far, with their places
    batch: list[pl.DataFrame] = field(default_factory=list)  # rejections of the current batch
    amounts: list[pl.DataFrame] = field(default_factory=list)  # of rejected rows, by measure
    read: int = 0
    unread: Iterator[object] = field(default_factory=lambda: iter(()))  # what comes after the current batch
    _first: int = 0  # place of the first row of the batch among all rows that were read
    _rows: Counter[RejectReason | None] = field(default_factory=Counter)  # of the batches before; None: of any reason

    def begin(self, extract: pl.DataFrame) -> None:
        """Start on the next batch of the extract."""
        self._rows = self._counted
        self.extract = extract
        self.batch = []
        self._first = self.read
        self.read += extract.height

    def where(self, bad: pl.Series, column: str, values: pl.Series, reason: str | pl.Series) -> None:
        """Reject the rows where `bad` is true. `reason` is one text, or a series with a text for each row.

        A column of a row is rejected once, for the first reason: the others follow from it.
        """
        bad &= ~self._rejected(column)
        if not bad.any():
            return
        reasons = pl.Series("reason", [reason]) if isinstance(reason, str) else reason.filter(bad).alias("reason")
        rows = self.extract.select(pl.col(FILE).alias("file"), pl.col(ROW).alias("row")).filter(bad)
        rejected = rows.with_columns(
            pl.lit(column).alias("column"),
            values.filter(bad).cast(pl.String).alias("found"),
            pl.lit(reasons[0]).alias("reason") if len(reasons) == 1 else reasons,
        ).cast(SCHEMA)  # type: ignore[arg-type]  # polars accepts more schemas than it declares
        rejected = rejected.with_columns(self._places(bad))
        self.batch.append(rejected)
        self.every.append(rejected)

    def _places(self, bad: pl.Series) -> pl.Series:
        """Return the places of the rows of the batch where `bad` is true."""
        return (bad.arg_true().cast(pl.Int64) + self._first).alias(PLACE)

    def _rejected(self, column: str | None = None) -> pl.Series:
        """Return which rows of the batch a column has rejected, or any column."""
        bad = pl.repeat(value=False, n=self.extract.height, dtype=pl.Boolean, eager=True)
        for known in self.batch:
            if column in (None, known["column"][0]):
                bad = bad.scatter(known[PLACE] - self._first, values=True)
        return bad

    def weigh(self, amounts: Mapping[str, pl.Series]) -> None:
        """Keep the amounts of the rejected rows of the batch: integers of 128 bits in units of the twelfth place."""
        if not self.batch or not amounts:
            return
        bad = self._rejected()
        self.amounts.append(pl.DataFrame([self._places(bad), *(a.filter(bad).alias(n) for n, a in amounts.items())]))

    @property
    def weighed(self) -> pl.DataFrame:
        """The amounts of the rejected rows of the batch, as they were weighed."""
        return self.amounts[-1].drop(PLACE) if self.batch and self.amounts else pl.DataFrame()

    @property
    def rows(self) -> pl.Series | None:
        """Which rows of the batch are rejected; None if none is."""
        return self._rejected() if self.batch else None

    @property
    def report(self) -> pl.DataFrame:
        """Every rejection: file, row, column, found, reason."""
        return pl.concat(self.every).drop(PLACE) if self.every else pl.DataFrame(schema=SCHEMA)

    @property
    def count(self) -> int:
        """The number of rejected rows; a row rejected for two reasons counts once."""
        return self._counted[None]

    @property
    def sums(self) -> Sequence[RejectSum]:
        """The rejected rows by column and reason, the most frequent first; a row counts once for each reason."""
        if not self.every:
            return []
        rejected = with_reasons(pl.concat(self.every))
        if self.amounts:
            rejected = rejected.join(pl.concat(self.amounts), on=PLACE, how="left")
        return sum_rejects(rejected.drop(PLACE))

    def check(self, allowed: RejectAllowance) -> None:
        """Raise LoadFailed if more rows are rejected than `allowed` has for their reasons."""
        counted = dict(self._counted)
        rows = counted.pop(None, 0)
        by_reason = {reason: counted[reason] for reason in RejectReason if reason in counted}
        if allowed.holds(rows, by_reason):
            return
        reasons = "; ".join(f"{each.rows:,} {each.words}{HINT * bool(each.hint)}{each.hint}" for each in self.sums)
        mend = ", ".join(f"{reason.value}: {found}" for reason, found in by_reason.items())
        message = (
            f"{rows} of {self.read} rows rejected, {allowed} allowed: {reasons}; "
            f"rejects: {{allow: {{{mend}}}}} would load the others"
        )
        if self._stops_early():
            message += " read so far; later rows were not read, and may need a larger allowance"
        raise LoadFailed(VALIDATE, message)

    def _stops_early(self) -> bool:
        """Tell whether anything comes after the current batch."""
        try:
            return next(self.unread, None) is not None
        except LoadFailed:  # it comes, and cannot be read
            return True

    def kept(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a frame that are not rejected. The frame has the rows of the current batch, in order."""
        return frame.filter(~self._rejected()) if self.batch else frame

    @property
    def _counted(self) -> Counter[RejectReason | None]:
        """The rejected rows by reason, and of any reason, with those of the current batch."""
        if not self.batch:
            return self._rows
        rejected = with_reasons(pl.concat(self.batch)).select(PLACE, "kind").unique()
        found = Counter[RejectReason | None](
            {RejectReason(kind): rows for kind, rows in rejected.group_by("kind").len().iter_rows()}
        )
        found[None] = rejected[PLACE].n_unique()
        return self._rows + found


def with_reasons(report: pl.DataFrame) -> pl.DataFrame:
    """Return rejections with the column `kind`, the value of their RejectReason."""
    known = {text: kind_of(text).value for text in report["reason"].unique()}
    return report.with_columns(pl.col("reason").replace_strict(known, return_dtype=pl.String).alias("kind"))


def kind_of(text: str) -> RejectReason:
    """Return the reason that the text of a rejection gives."""
    return next((reason for words, reason in WORDS.items() if text.startswith(words)), RejectReason.OTHER)


def sum_rejects(rejected: pl.DataFrame) -> Sequence[RejectSum]:
    """Return the sums of rejections with their kinds and amounts, by column and kind, the most rows first."""
    measures = rejected.columns[len(SCHEMA) + 1 :]
    sums = []
    for (column, kind), rows in rejected.group_by("column", "kind", maintain_order=True):
        reason, said = RejectReason(kind), rows["reason"].str.split(HINT)
        texts, hints = said.list.first().unique(), Counter(said.list.slice(1).list.join(HINT))
        text = texts[0] if len(texts) == 1 else SHORT.get(reason, texts.sort()[0])
        values = rows["found"].value_counts(sort=True).head(MOST_FOUND) if reason is RejectReason.NUMBER else None
        amounts = {key: exact_decimal(units) for key in measures if (units := int(rows[key].sum()))}
        sums.append(
            RejectSum(
                column=str(column),
                reason=reason,
                text=text,
                hint=max(sorted(hints), key=hints.__getitem__),
                rows=rows.height,
                found=[(value, count) for value, count in values.iter_rows()] if values is not None else (),
                amounts=amounts,
            )
        )
    return sorted(sums, key=lambda each: -each.rows)


def exact_decimal(units: int) -> Decimal:
    """Return units of the twelfth decimal place as a decimal."""
    return WIDE.normalize(Decimal(units).scaleb(-EXACT_PLACES, WIDE))


def format_rejects(report: pl.DataFrame, most: int = 20) -> Iterator[str]:
    """Yield the first rejections as lines of text, then the number of the rest."""
    for row in report.head(most).iter_rows(named=True):
        value = "" if row["found"] is None else f"'{row['found']}' "
        yield f"{row['file']} row {row['row']}, {row['column']}: {value}{row['reason']}"
    if report.height > most:
        yield f"… and {report.height - most} more"


def write_report(rejects: Rejects, folder: Path, load_id: str) -> Path | None:
    """Write rejections to a CSV file and return its path; None if there are none or the file cannot be written.

    Its first rows are the sums, which name no file; `rows` and the amounts of each measure are theirs alone. A disk
    fault here does not change how the load ends.
    """
    if not rejects.every:
        return None
    path = report_file(folder, load_id)
    sums = rejects.sums
    measures = dict.fromkeys(key for each in sums for key in each.amounts)
    head = pl.DataFrame(
        [
            {"column": each.column, "reason": each.text, "rows": each.rows}
            | {f"sum of {key}": format(amount, "f") for key, amount in each.amounts.items()}
            for each in sums
        ],
        schema={**SCHEMA, "rows": pl.Int64, **dict.fromkeys((f"sum of {key}" for key in measures), pl.String)},
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pl.concat([head, rejects.report], how="diagonal").with_columns(as_cells()).write_csv(path)
    except OSError:
        return None
    return path


FORMULA: Final = r"[=+\-@\t\r]"  # what a cell begins with that a spreadsheet calculates
NUMBER: Final = r"^[+-]?[\d.,' ]*\d[\d.,' ]*[-%]?$"


def as_cells() -> pl.Expr:
    """Return texts with an apostrophe before those that a spreadsheet would take for a formula; numbers are none.

    Texts that look so already get one more, so that a reload gives every text back.
    """
    text = pl.col(pl.String)
    is_formula = text.str.contains(f"^{FORMULA}") & ~text.str.contains(NUMBER)
    return pl.when(is_formula | text.str.contains(f"^'+{FORMULA}")).then(text.str.replace("^", "'")).otherwise(text)


def from_cells(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of a file; those of a report of rejects without the apostrophes that `as_cells` put there."""
    if not SCHEMA.keys() <= set(rows.columns):
        return rows
    text = pl.col(pl.String)
    return rows.with_columns(pl.when(text.str.contains(f"^'+{FORMULA}")).then(text.str.slice(1)).otherwise(text))


def report_file(folder: Path, load_id: str) -> Path:
    """Return the path of the report of a load."""
    return folder / f"{load_id}.csv"
