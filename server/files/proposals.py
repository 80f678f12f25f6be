"""Proposals: the keys that a file shows and its feed leaves out, as the lines that say them in integrations.yaml."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
from msgspec import Struct

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain
from server.feeds.extract_formats import ExtractFormat
from server.feeds.feeds import Binding
from server.feeds.file_kinds import kind_of
from server.files.columns import read_days
from server.files.dates import ISO
from server.files.detection import PLAIN_READING, FeedFormat
from server.files.doubts import FILE, FORMAT, NONE
from server.files.extract_columns import ExtractColumns
from server.files.files import explain_fault, located, scan_file
from server.files.findings import nested, written_keys, written_value
from server.files.limits import FileTooLarge
from server.files.rejects import LoadFailed
from server.files.reshape import UnloadedRows, reshape

ROWS: Final = 2_000  # of each file
ORDER: Final = (
    *("csv.separator", "csv.quote", "csv.encoding", "csv.header_row", "csv.skip_footer", "header_row"),
    *("numbers.decimal", "numbers.thousands", "numbers.negative", "numbers.none", "dates.format", "dates.months"),
)
WAY: Final = "tieout check --data --write"
UNREADABLE: Final = (pl.exceptions.PolarsError, OSError, UnicodeError)


class Proposal(Struct, frozen=True):
    """The keys that a file shows and its feed leaves out, with what shows them."""

    file: str
    keys: Mapping[str, Any]  # without those of the plain form
    evidence: Sequence[str] = ()
    reading: Mapping[str, Any] = {}  # every key by which its first rows are read
    has_file: bool = True  # False: of rows of a query, which a check does not ask
    fault: str | None = None  # why the file cannot be read whatever is written, or can be in two ways

    @property
    def lines(self) -> Iterator[str]:
        """The lines to write under the feed."""
        return key_lines(self.keys)

    def says(self, feed: str) -> str:
        """Return what is to be written, with texts of the file."""
        shown = ", ".join(self.evidence) or written_keys(self.keys)
        lines = "".join(f"\n    {line}" for line in self.lines)
        says = f"{self.file} shows {shown}, and a load guesses nothing"
        return f"{says}: write under {feed} in {FILE}{f', or run {WAY}' if self.has_file else ''}:{lines}"

    def recorded(self, feed: str) -> str:
        """Return the same without a text of a row."""
        shown = {key: ["…"] if key == NONE else value for key, value in in_order(self.keys)}
        return f"{self.file} shows {written_keys(shown)}, and a load guesses nothing: write that under {feed} in {FILE}"


def key_lines(keys: Mapping[str, Any]) -> Iterator[str]:
    """Yield keys as lines of integrations.yaml, one for each part: `csv: {separator: ";"}`."""
    for part, value in nested({key: "tab" if value == "\t" else value for key, value in in_order(keys)}).items():
        yield written_keys({part: value}) if isinstance(value, dict) else f"{part}: {written_value(value)}"


def in_order(keys: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return keys with their values in the order in which people write them."""
    return sorted(keys.items(), key=lambda pair: ORDER.index(pair[0]))


def unwritten(formats: FeedFormat) -> dict[str, Any]:
    """Return the keys of other than the plain form that a detector found, and those that it took from the last load."""
    found = {**formats.reading, **formats.kept}
    return {key: value for key, value in found.items() if PLAIN_READING.get(key) != value or key in formats.relied}


def propose(
    binding: Binding, columns: ExtractColumns, calendar: Calendar, recorded: Mapping[str, Any], path: Path
) -> Proposal:
    """Return the keys that the first rows of a file show, each as the last load had it where the file allows that."""
    formats = FeedFormat(binding=binding, columns=columns, calendar=calendar, recorded=recorded)
    fault, reading = None, dict[str, Any]()
    try:
        with scan_file(path, formats, binding.sheet) as scanned:
            rows = located(scanned.rows.head(ROWS).collect(), path.name, scanned.first)
        if binding.format.sql is None:
            pieces = list(reshape(rows, binding.format, path.name, UnloadedRows()))
            found = [formats.of_rows(piece, path.name).format for piece in pieces][-1]
            days = found.dates.format or (ISO if holds_iso_days(pieces, formats) else None)
            reading = keys_of(path, formats.of_file(path), found, formats)
            reading |= {FORMAT: days} if days and columns.days else {}
    except (LoadFailed, FileTooLarge) as refused:
        fault = str(refused)
    except UNREADABLE as unread:
        fault = f"{path.name} cannot be read: {explain_fault(path, unread)}"
    evidence = [remark.removesuffix(f" in {path.name}") for remark in formats.remarks]
    return Proposal(path.name, unwritten(formats), evidence, reading, fault=fault)


def holds_iso_days(pieces: Sequence[pl.DataFrame], formats: FeedFormat) -> bool:
    """Tell whether every text of a column of days is an ISO day: a format would refuse codes of periods (2026-01)."""
    columns = [piece[name] for piece in pieces for name in formats.columns.days if piece.schema.get(name) == pl.String]
    texts = [text for column in columns if (text := column.str.strip_chars().drop_nulls()).len()]
    written = [text.filter(text != "") for text in texts]
    return any(text.len() for text in written) and all(
        read_days(text, Grain.DATE, formats.calendar).is_not_null().all() for text in written
    )


def keys_of(path: Path, file: ExtractFormat, rows: ExtractFormat, formats: FeedFormat) -> dict[str, Any]:
    """Return the keys of a format that a reader of the file wants to know, without those of days."""
    numbers, csv = rows.numbers, file.csv
    shown: dict[str, Any] = {}
    if kind_of(path) == ".csv":
        heading = csv.layout.header_rows
        shown |= {"csv.separator": csv.separator or ",", "csv.encoding": csv.encoding or "utf-8"}
        shown |= {"csv.header_row": heading[-1] if heading else (csv.layout.skip_rows or 0) + 1}
        shown |= {"csv.skip_footer": csv.layout.skip_footer} if csv.layout.skip_footer else {}
    shown |= {"header_row": formats.reading["header_row"]} if "header_row" in formats.reading else {}
    shown |= {"numbers.decimal": numbers.decimal or "."} if formats.columns.amounts else {}
    shown |= {"numbers.thousands": numbers.thousands} if numbers.thousands else {}
    shown |= {"numbers.negative": numbers.negative.value} if numbers.negative else {}
    shown |= {"numbers.none": list(numbers.none)} if numbers.none else {}
    shown |= {"numbers.factor": str(numbers.factor)} if numbers.factor else {}
    return shown
