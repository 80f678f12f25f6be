"""The reader of a feed: files are read by its written keys, with plain defaults for those that are not written.

A text that a default does not read, or that could be read otherwise, is shown to the detector, and what that finds is
proposed, never loaded. For one release, a feed goes on by the keys that its last load recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl
from msgspec.structs import replace

from engine.model.calendar.calendar import Calendar
from server.feeds.extract_formats import CsvFormat, ExtractFormat
from server.feeds.feeds import Binding, SourceKind
from server.feeds.file_kinds import kind_of
from server.files.amount_looks import DECIMALS, THREE, every, look_at
from server.files.amounts import read_amounts
from server.files.columns import ISO_DAY, read_days
from server.files.dates import ISO, UNREADABLE, in_format
from server.files.detection import HEAD, PLAIN_READING, FeedFormat
from server.files.dialect import LOOK, titles_above
from server.files.doubts import DECIMAL, FORMAT, SEPARATOR, refuse_factor, without_words
from server.files.encodings import UTF8, decode
from server.files.extract_columns import ExtractColumns
from server.files.files import first_used_row, join_names
from server.files.findings import Finding, written_keys
from server.files.headings import HeadingMatch, find_heading
from server.files.proposals import WAY, Proposal, propose, unwritten
from server.files.rejects import VALIDATE, LoadFailed

MAX_PROPOSED: Final = 3  # files that a refusal looks at, the last ones of the load
NO_NUMBER: Final = "is no number"  # how the reason begins for which a text is no amount by the keys


class UnwrittenKeys(LoadFailed):
    """A file shows keys that its feed leaves out."""

    def __init__(self, proposal: Proposal, feed: str) -> None:
        super().__init__(VALIDATE, proposal.says(feed), recorded=proposal.recorded(feed))
        self.proposal = proposal


@dataclass(slots=True, kw_only=True)
class FeedReader:
    """Says how the files of a feed are read in one load: as integrations.yaml says, or in the plain form."""

    binding: Binding
    columns: ExtractColumns
    calendar: Calendar
    recorded: Mapping[str, Any] = field(default_factory=dict)  # reading of the last published load
    detector: FeedFormat = field(init=False)
    _warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.detector = FeedFormat(
            binding=self.binding, columns=self.columns, calendar=self.calendar, recorded=self.recorded
        )

    @property
    def relied(self) -> Mapping[str, Any]:
        """The keys of the last load that are neither written nor of the plain form: the feed goes on by them."""
        return {
            key: value
            for key, value in self.recorded.items()
            if PLAIN_READING.get(key) != value and self.detector.written.get(key) is None and not self._says(key)
        }

    def _says(self, key: str) -> bool:
        """Tell whether a key beside those of `written` is written."""
        format_ = self.binding.format
        said: Mapping[str, Any] = {
            "csv.encoding": format_.csv.encoding,
            "csv.quote": format_.csv.quote,
            "csv.header_row": format_.csv.layout.header_rows,
            "csv.skip_footer": format_.csv.layout.skip_footer,
            "header_row": format_.sheet.header_rows,
            "numbers.negative": format_.numbers.negative,
            "numbers.none": format_.numbers.none or None,
            "dates.months": format_.dates.months,
        }
        return said.get(key) is not None

    @property
    def kept(self) -> Mapping[str, Any]:
        """The keys that the store keeps of this load."""
        return self.detector.kept

    @property
    def remarks(self) -> list[str]:
        """The keys by which this load went on, with what they were found from."""
        return self.detector.remarks

    @property
    def warnings(self) -> list[str]:
        """What whoever loads should know of the files, and of the keys that are to be written."""
        keys = {**self.relied, **{key: self.kept[key] for key in self.detector.relied}}
        if not keys:
            return self._warnings
        shown = written_keys(without_words(keys)) or "numbers: {none: […]}"
        says = f"{self.binding.key} is read as its last load was, with {shown}; the next release reads by written keys"
        return [*self._warnings, f"{says} alone: {WAY} writes them"]

    def warn(self, says: str) -> None:
        """Note what whoever loads should know of a file."""
        self._warnings.append(says)

    def of_file(self, path: Path) -> ExtractFormat:
        """Return the format of a file. Raises LoadFailed if it shows keys that are not written."""
        self.detector.paths[path.name] = path
        if kind_of(path) != ".csv":
            return self.binding.format
        if self.relied or (heading := self._plain_heading(path, self.binding.format.csv)) is None:
            format_ = self.detector.of_file(path)
            self._refuse_found(path.name)
            return format_
        refuse_factor(self.binding, self.columns, path.name, heading.titles, heading.names)
        if self.binding.format.csv.separator is None:
            self.detector.settle(path.name, Finding(SEPARATOR, ",", ""), ",")
        return self.binding.format

    def _plain_heading(self, path: Path, dialect: CsvFormat) -> HeadingMatch | None:
        """Return the heading of a text file where the keys and the plain form have it; None if it is not there."""
        with path.open("rb") as file:
            head = file.read(HEAD)
        try:
            text = decode(head, dialect.encoding or UTF8, whole=len(head) < HEAD)
        except UnicodeDecodeError:
            return None
        layout = dialect.layout
        if layout.header_rows is None:
            layout = replace(layout, skip_rows=layout.skip_rows or 0)
        quote = '"' if dialect.quote is None else dialect.quote
        plain = replace(dialect, separator=dialect.separator or ",", quote=quote, layout=layout)
        return find_heading(text, plain, self.columns.required)

    def heading_rows(self, name: str, cells: pl.DataFrame) -> tuple[int, ...]:
        """Return the rows of the names of a sheet: as written, else the first with a value.

        Raises LoadFailed if another row has the columns of the feed, or a title speaks of millions.
        """
        written = self.binding.format.sheet.header_rows
        rows = (first_used_row(cells),) if written is None else written
        records = [[cell or "" for cell in row] for row in cells.head(max(LOOK, *rows, 0)).iter_rows()]
        names = join_names([records[row - 1] for row in rows]) if rows and max(rows) <= len(records) else ()
        if self.relied or (written is None and not self.columns.required <= set(names)):
            found = self.detector.heading_rows(name, cells)
            self._refuse_found(name)
            return found
        refuse_factor(self.binding, self.columns, name, titles_above(records, min(rows, default=1)), names)
        return rows

    def of_rows(self, rows: pl.DataFrame, name: str) -> Binding:
        """Return the feed as located rows are read. Raises LoadFailed if a text can be read otherwise."""
        if not self.relied and self._reads_amounts(rows, name) and self._reads_days(rows, name):
            return self.binding
        found = self.detector.of_rows(rows, name)
        self._refuse_found(name)
        return found

    def _refuse_found(self, name: str) -> None:
        """Raise UnwrittenKeys if the detector found a key that is neither of the plain form nor of the last load."""
        found = unwritten(self.detector)
        if not found.keys() <= self.recorded.keys():
            evidence = [remark.removesuffix(f" in {name}") for remark in self.detector.remarks]
            has_file = self.binding.source.kind is SourceKind.FOLDER
            proposal = self._proposed(name) or Proposal(name, found, evidence, has_file=has_file)
            raise UnwrittenKeys(proposal, self.binding.key)

    def _proposed(self, name: str) -> Proposal | None:
        """Return what the first rows of a file show and no key says; None if that is nothing, or the file is gone."""
        path = self.detector.paths.get(name)
        if path is None:
            return None
        proposal = propose(self.binding, self.columns, self.calendar, self.recorded, path)
        return proposal if not proposal.keys.keys() <= self.recorded.keys() else None

    def explained(self, failure: LoadFailed) -> LoadFailed:
        """Return a failure with the keys that the files of the load show and integrations.yaml does not say."""
        if isinstance(failure, UnwrittenKeys):
            return failure
        for name in list(self.detector.paths)[: -MAX_PROPOSED - 1 : -1]:
            if (proposal := self._proposed(name)) is not None:
                says, recorded = proposal.says(self.binding.key), proposal.recorded(self.binding.key)
                return LoadFailed(failure.status, f"{failure}; {says}", recorded=f"{failure.recorded}; {recorded}")
        return failure

    # Texts by the keys, and by the plain form of those that are not written.

    def _reads_amounts(self, rows: pl.DataFrame, name: str) -> bool:
        """Tell whether amounts are numbers by the keys, and by no others as far as these are left out."""
        numbers, point = self.binding.format.numbers, None
        marked = numbers.decimal is not None or bool(numbers.thousands)
        for column, places in self.columns.amounts.items():
            if rows.schema.get(column) != pl.String:
                continue
            sample = every(rows[column]).str.strip_chars().unique()
            if not marked:
                look = look_at(rows, column, places, has_commas=False)
                sample, point = look.texts["text"], look.point or point
                if places < DECIMALS and look.point is None and sample.str.contains(THREE).any():
                    return False
                if look.is_plain:
                    continue
            if read_amounts(sample, numbers, places).reasons.str.starts_with(NO_NUMBER).any():
                return False
        if point is not None:
            self.detector.settle(name, Finding(DECIMAL, ".", point), ".")
        return True

    def _reads_days(self, rows: pl.DataFrame, name: str) -> bool:
        """Tell whether days are read by the written format, or some of them as ISO days and codes of periods."""
        dates = self.binding.format.dates
        for column, grain in self.columns.days.items():
            if rows.schema.get(column) != pl.String:
                continue
            sample = every(rows[column]).str.strip_chars().unique().drop_nulls()
            sample = sample.filter(sample != "")
            if dates.format is not None:
                if in_format(sample, dates.format, dates.months).str.starts_with(UNREADABLE).any():
                    return False
            elif read_days(sample, grain, self.calendar).is_not_null().any():
                if (isos := sample.filter(sample.str.contains(ISO_DAY))).len():
                    self.detector.settle(name, Finding(FORMAT, ISO, f"{column}: '{isos[0]}'"), ISO)
            elif sample.len():
                return False
        return True
