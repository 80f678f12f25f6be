"""Previews: how the files of feeds would be read now, from their first rows and without loading them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.model.calendar.periods import Grain
from server.feeds.extract_formats import ExtractFormat
from server.feeds.feeds import Binding, LoadStatus, SourceKind
from server.feeds.file_kinds import kind_of
from server.feeds.query_parameters import PERIOD_PLACE
from server.files.archives import ArchiveFault, files_matching
from server.files.columns import read_days
from server.files.dates import ISO
from server.files.detection import FeedFormat
from server.files.extract_columns import extract_columns
from server.files.files import explain_fault, located, scan_file
from server.files.findings import written_keys
from server.files.limits import FileTooLarge
from server.files.rejects import LoadFailed, RejectSum
from server.files.reshape import UnloadedRows, reshape
from server.ingest.controls import FileControl
from server.ingest.delivery import Delivery, rank, target_of
from server.ingest.folder import BooksFolder
from server.ingest.load import BindingFailed, binding_errors, last_reading, manifest_of, requested_periods
from server.ingest.rates import open_tables

ROWS: Final = 2_000  # of each file
FILES: Final = 3  # of each feed: the last ones by name
FAULTS: Final = (pl.exceptions.PolarsError, OSError, UnicodeError)


class FeedTrial(Struct, frozen=True):
    """What a load of a feed would make of its files now."""

    binding: str
    controls: Sequence[FileControl]
    rejected: Sequence[RejectSum]
    fault: str | None = None  # why it would fail


def try_feeds(bindings: Sequence[Binding], place: BooksFolder) -> Iterator[FeedTrial]:
    """Yield what loads of the feeds of folders would make of their files: each row is read and judged, none is kept."""
    of_files = [binding for binding in bindings if binding.source.kind is SourceKind.FOLDER]
    ordered = sorted(of_files, key=lambda binding: rank(binding, place.catalogue))
    with TemporaryDirectory() as aside, open_tables(place.store) as tables:
        for binding in ordered:
            delivery = None
            try:
                asked = requested_periods(binding, place.catalogue.calendar, None)
                recorded, apart = last_reading(manifest_of(place), binding.key), replace(place, state=Path(aside))
                delivery = Delivery(binding, apart, "", asked, lambda *_: None, recorded=recorded, lands=False)
                with binding_errors(delivery, LoadStatus.FAILED_STAGE):
                    delivery.receive(tables)
                fault = None
            except (LoadFailed, BindingFailed) as failure:
                fault = str(failure).removeprefix(f"{binding.key}: ")
            controls, rejects = (delivery.control.files, delivery.rejects.sums) if delivery else ((), ())
            yield FeedTrial(binding.key, controls, rejects, fault)


def describe_files(bindings: Sequence[Binding], place: BooksFolder) -> Iterator[str]:
    """Yield how the last files of each feed of a folder would be read, or why they would be refused."""
    for binding in bindings:
        if binding.source.kind is not SourceKind.FOLDER or binding.format.sql is not None:
            continue
        with TemporaryDirectory() as packed:
            try:
                paths = files_of(binding, place.folder, Path(packed))
            except (ArchiveFault, FileTooLarge) as refused:
                yield f"{binding.key}: {refused}"
                continue
            for path in paths[-FILES:]:
                yield f"{binding.key}: {described(binding, path, place)}"
        if not paths:
            yield f"{binding.key}: no file matches {binding.extract} here"


def described(binding: Binding, path: Path, place: BooksFolder) -> str:
    """Return how a file would be read, or why it would be refused."""
    try:
        keys = written_keys(reading_of(binding, path, place)) or "its own types"
    except (LoadFailed, FileTooLarge) as refused:
        return str(refused)
    except FAULTS as fault:
        return f"{path.name} cannot be read: {explain_fault(path, fault)}"
    return f"{path.name} is read with {keys}"


def files_of(binding: Binding, folder: Path, into: Path) -> list[Path]:
    """Return the files of a feed that are there, of every period; those of archives are written to `into`."""
    source = binding.source
    secret = os.environ.get(source.environment) if source.environment else None
    if source.environment and not secret:
        return []
    within = Path(secret) if secret else folder / (source.path or "")
    pattern = binding.extract.replace(PERIOD_PLACE, "*")
    return list(files_matching(within, pattern, into)) if within.is_dir() else []


def reading_of(binding: Binding, path: Path, place: BooksFolder) -> Mapping[str, Any]:
    """Return the keys by which a file would be read, those that are written and those that its first rows show."""
    catalogue = place.catalogue
    formats = FeedFormat(
        binding=binding,
        columns=extract_columns(binding, target_of(binding, catalogue)),
        calendar=catalogue.calendar,
        recorded=last_reading(manifest_of(place), binding.key),
    )
    with scan_file(path, formats, binding.sheet) as scanned:
        rows = located(scanned.rows.head(ROWS).collect(), path.name, scanned.first)
    formats.paths.clear()  # so that no column is read to the end of its file
    pieces = list(reshape(rows, binding.format, path.name, UnloadedRows()))
    found = [formats.of_rows(piece, path.name).format for piece in pieces]
    keys = keys_of(path, formats.of_file(path), found[-1], formats)
    days = found[-1].dates.format or (ISO if holds_iso_days(pieces, formats) else None)
    return {**keys, "dates.format": days} if days and formats.columns.days else keys


def holds_iso_days(pieces: Sequence[pl.DataFrame], formats: FeedFormat) -> bool:
    """Tell whether every text of a column of days is an ISO day: a format would refuse codes of periods (2026-01)."""
    columns = [piece[name] for piece in pieces for name in formats.columns.days if piece.schema.get(name) == pl.String]
    texts = [text for column in columns if (text := column.str.strip_chars().drop_nulls()).len()]
    written = [text.filter(text != "") for text in texts]
    return any(text.len() for text in written) and all(
        read_days(text, Grain.DATE, formats.calendar).is_not_null().all() for text in written
    )


def keys_of(path: Path, file: ExtractFormat, rows: ExtractFormat, formats: FeedFormat) -> Mapping[str, Any]:
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
