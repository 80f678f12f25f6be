"""Detection: the keys that a feed leaves out, as its files show them, held against those of its last load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

import polars as pl
from msgspec.structs import replace

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain
from server.feeds.extract_formats import CsvFormat, DateFormat, ExtractFormat, NegativeStyle, NumberFormat, TableLayout
from server.feeds.feeds import Binding
from server.feeds.file_kinds import kind_of
from server.files.amount_looks import (
    DECIMALS,
    DECISIVE,
    agrees,
    every,
    first_words,
    look_at,
    reads_all,
    with_texts,
)
from server.files.columns import ISO_DAY, read_days
from server.files.dates import ISO, UNREADABLE, in_format
from server.files.days import DayColumn, serial_days, typed_days
from server.files.dialect import LOOK, titles_above
from server.files.doubts import (
    DECIMAL,
    FILE,
    FORMAT,
    MONTHS,
    NEGATIVE,
    NONE,
    SEPARATOR,
    THOUSANDS,
    refuse_factor,
    undecided,
)
from server.files.encodings import ENCODING, UTF8, UTF16, decode
from server.files.extract_columns import ExtractColumns
from server.files.files import first_used_row, join_names, scan_file
from server.files.findings import TEXTS, Ambiguity, Finding, Reading, SampleTable, located, place_of, written_keys
from server.files.headings import encoding_of, find_heading, footer_of, heading_rows, is_written_in
from server.files.notation import (
    PLAIN_FIRST,
    Notation,
    NumberColumn,
    detect_numbers,
    notations_of,
)
from server.files.rejects import ROW, VALIDATE, LoadFailed

HEAD: Final = 1 << 16  # bytes in which the heading stands
PLAIN_KEYS: Final = {DECIMAL: ".", THOUSANDS: "none"}
PLAIN_READING: Final = {SEPARATOR: ",", FORMAT: ISO, **PLAIN_KEYS}  # what goes without saying


@dataclass(slots=True, kw_only=True)
class FeedFormat:
    """The format of a feed as its files are written: its written keys, and those that its files show.

    `reading` has the keys that decide what a figure or a day is. They are the same in every file of a load and in the
    feed's last load; a file that shows another one is refused.
    """

    binding: Binding
    columns: ExtractColumns
    calendar: Calendar
    recorded: Mapping[str, Any] = field(default_factory=dict)  # reading of the last published load
    reading: dict[str, Any] = field(default_factory=dict)  # of this one, with the other keys that its files show
    remarks: list[str] = field(default_factory=list)  # what was found, with what it was found from
    warnings: list[str] = field(default_factory=list)  # of files that were read as they stand
    paths: dict[str, Path] = field(default_factory=dict)  # files by their names, for a second look at a column
    relied: set[str] = field(default_factory=set)  # keys that decided between two readings as the last load had them

    @property
    def written(self) -> Mapping[str, str | None]:
        """The keys that decide figures as integrations.yaml says them, None for those that it leaves out."""
        csv, numbers, dates = self.binding.format.csv, self.binding.format.numbers, self.binding.format.dates
        return {
            SEPARATOR: csv.separator, DECIMAL: numbers.decimal, THOUSANDS: numbers.thousands, FORMAT: dates.format
        }  # fmt: skip

    @property
    def kept(self) -> Mapping[str, Any]:
        """The keys that this load found, and those that decide figures as the loads before it found them."""
        held = {key: value for key in self.written if (value := self.held(key)) is not None}
        return held | {key: value for key, value in self.reading.items() if key not in self.written}

    def of_file(self, path: Path) -> ExtractFormat:
        """Return the format of a file with the dialect that its bytes show. Raises LoadFailed."""
        format_ = self.binding.format
        self.paths[path.name] = path
        if kind_of(path) != ".csv":
            return format_
        return replace(format_, csv=self._dialect(path, format_.csv))

    def heading_rows(self, name: str, cells: pl.DataFrame) -> tuple[int, ...]:
        """Return the rows of the names of a sheet: as written, with the columns of the feed, or the first used one.

        Raises LoadFailed if a title above them says a factor.
        """
        written, usual, required = self.binding.format.sheet.header_rows, first_used_row(cells), self.columns.required
        head = cells.head(max(LOOK, *(written or (0,))))
        records = [[cell or "" for cell in row] for row in head.iter_rows()]
        found = written
        if written is None:
            found = heading_rows(records, TableLayout(), required) if required else None
        rows = (usual,) if found is None else found
        if max(rows, default=1) <= len(records):
            names = join_names([records[row - 1] for row in rows]) if rows else ()
            refuse_factor(self.binding, self.columns, name, titles_above(records, min(rows, default=1)), names)
        if written is None and rows != (usual,):
            self.tell(name, Finding("header_row", rows[0], f"row {rows[0]} has the columns of the feed"))
        return rows

    def of_rows(self, rows: pl.DataFrame, name: str) -> Binding:
        """Return the feed with the notations of its amounts and days that located rows show. Raises LoadFailed."""
        format_ = self.binding.format
        found = replace(format_, numbers=self._numbers(rows, name), dates=self._dates(rows, name))
        return self.binding if found == format_ else replace(self.binding, format=found)

    def warn(self, says: str) -> None:
        """Note what whoever loads should know of a file."""
        self.warnings.append(says)

    def tell(self, name: str, found: Finding) -> None:
        """Note a key that a file shows."""
        self.reading.setdefault(found.key, found.value)
        said = f"{written_keys({found.key: found.value})} ({found.evidence})"
        if not any(remark.startswith(written_keys({found.key: found.value})) for remark in self.remarks):
            self.remarks.append(f"{said} in {name}")

    def settle(self, name: str, found: Finding, plain: str) -> None:
        """Take a key that decides figures. Raises LoadFailed if it was another one before. No-op if it is written."""
        if self.written[found.key] is not None:
            return
        before = self.held(found.key)
        if before not in (None, found.value):
            self.refuse(
                name, found, "an earlier file was" if found.key in self.reading else "the last load was", before
            )
        self.reading[found.key] = found.value
        if found.value != plain:
            self.tell(name, found)

    def held(self, key: str) -> str | None:
        """Return a key that decides figures as it was found before; None if it is written, or was not found."""
        return None if self.written[key] is not None else self.reading.get(key, self.recorded.get(key))

    def choose(self, name: str, ambiguity: Ambiguity) -> Reading:
        """Return the one of two readings that was taken before. Raises LoadFailed if none was."""
        key = ambiguity.key
        for reading in ambiguity.readings:
            if (held := self.held(key)) is not None and held == reading.keys.get(key):
                if key not in self.reading:
                    self.relied.add(key)
                self.settle(name, Finding(key, held, "as before"), held)
                return reading
        raise undecided(name, ambiguity, self.binding.key)

    def refuse(self, name: str, found: Finding, before: str, value: str | None) -> NoReturn:
        """Raise LoadFailed for a file that is written otherwise than before, or than its keys say."""
        says = f"{name} is written with {written_keys({found.key: found.value})}"
        mend = f"write the right one under {self.binding.key} in {FILE}, or have the file written as before"
        then = f"{before} with {written_keys({found.key: value})}; {mend}"
        recorded = f"{says}: {place_of(found.evidence)}; {then}"
        raise LoadFailed(VALIDATE, f"{says}: {found.evidence}; {then}", recorded=recorded)

    # Dialects.

    def _dialect(self, path: Path, dialect: CsvFormat) -> CsvFormat:
        encoding = dialect.encoding
        if encoding is None:
            found = self._encoding(path)
            encoding = found.value
            if encoding != "utf-8":
                self.tell(path.name, found)
                dialect = replace(dialect, encoding=encoding)
        with path.open("rb") as file:
            text = decode(file.read(HEAD), encoding, whole=False)
        table = find_heading(text, dialect, self.columns.required)
        if table is None:
            return dialect
        rows = table.rows
        evidence = f"row {rows[-1]} has the columns of the feed" if rows else "the columns of the feed"
        if dialect.separator is None:
            self.settle(path.name, Finding(SEPARATOR, table.separator, evidence), ",")
        if dialect.quote is None and table.quote != '"':
            self.tell(path.name, Finding("csv.quote", table.quote, evidence))
        layout = dialect.layout
        if layout.header_rows is None and rows != (1 + (layout.skip_rows or 0),):
            self.tell(path.name, Finding("csv.header_row", rows[-1], evidence))
            layout = replace(layout, header_rows=rows)
        if layout.skip_footer is None and len(self.columns.required) > 1:
            footer = footer_of(path, encoding, table)
            if footer is not None:
                self.tell(path.name, footer)
                layout = replace(layout, skip_footer=footer.value)
        refuse_factor(self.binding, self.columns, path.name, table.titles, table.names)
        return replace(dialect, separator=table.separator, quote=table.quote, layout=layout)

    def _encoding(self, path: Path) -> Finding:
        """Return the encoding of a file: that of the last load where it is no UTF-8 and can be that.

        Raises LoadFailed if it is a first load and its words allow two.
        """
        found, before = encoding_of(path), self.recorded.get(ENCODING)
        of_marks = isinstance(found, Finding) and found.value in (UTF8, UTF16)
        if before not in (None, UTF8, UTF16) and not of_marks and is_written_in(path, before):
            return Finding(ENCODING, before, "as before")
        if isinstance(found, Finding):
            return found
        raise undecided(path.name, found, self.binding.key)

    # Amounts.

    def _numbers(self, rows: pl.DataFrame, name: str) -> NumberFormat:
        written = self._with_words(rows, name)
        fitting = [one for one in PLAIN_FIRST if agrees(one, written)]
        looks = [
            look_at(rows, column, places, has_commas=self.held(DECIMAL) == ",")
            for column, places in sorted(self.columns.amounts.items(), key=lambda pair: pair[1])
            if rows.schema.get(column) == pl.String
        ]
        point = next((look.point for look in looks if look.point), None)
        if all(look.is_plain for look in looks) and fitting[0] == PLAIN_FIRST[0]:
            if point is not None:
                self.settle(name, Finding(DECIMAL, ".", point), ".")
            return written
        columns = [column for column in (look.column for look in looks) if column.numbers]
        keys = self._notation(name, columns, fitting)
        signs = detect_numbers(columns, fitting).decided if written.negative is None else ()
        sign = next((one for one in signs if one.key == NEGATIVE), None)
        if sign is not None:
            self.tell(name, sign)
        if keys.get(DECIMAL) is None and point is not None:
            self.settle(name, Finding(DECIMAL, ".", point), ".")
        return replace(
            written,
            decimal=written.decimal or keys.get(DECIMAL),
            thousands=keys.get(THOUSANDS) if written.thousands is None else written.thousands,
            negative=NegativeStyle(sign.value) if sign is not None else written.negative,
        )

    def _with_words(self, rows: pl.DataFrame, name: str) -> NumberFormat:
        """Return the written keys with the texts that stand for no figure.

        The first load of a feed finds them; a later one takes those that the loads before it found.
        """
        written = self.binding.format.numbers
        if written.none or self.binding.fills_rates:
            return written
        if self.recorded and NONE in self.recorded:
            self.reading[NONE] = self.recorded[NONE]
        texts = (column for column in self.columns.amounts if rows.schema.get(column) == pl.String)
        for column in () if self.recorded else texts:
            words: list[str] = self.reading.get(NONE, [])
            for word, row in first_words(rows[column], rows[ROW]):
                if word not in words:
                    self.reading[NONE] = words = [*words, word]
                    self.tell(name, Finding(NONE, [word], located(column, [(word, row)])))
        return replace(written, none=tuple(self.reading.get(NONE, ())))

    def _notation(self, name: str, columns: Sequence[NumberColumn], fitting: Sequence[Notation]) -> dict[str, str]:
        """Return the marks of the decimal places and the thousands that numbers show, those that are not usual."""
        found = detect_numbers(columns, fitting)
        if found.ambiguities and self.held(DECIMAL) is None:
            columns = [self._whole_numbers(name, column) for column in columns]
            found = detect_numbers(columns, fitting)
        if not found.ambiguities:
            decided = [one for one in found.decided if one.key in (DECIMAL, THOUSANDS)]
            for one in decided:
                self.settle(name, one, "")
            return {one.key: one.value for one in decided}
        ambiguity = found.ambiguities[0]
        texts = [text for column in columns for text, _ in column.numbers]
        if not any(reads_all(notation, texts) for notation in fitting):
            self._refuse_contradiction(name, columns, fitting, texts)
            rest = [with_texts(column, fitting[0]) for column in columns]
            if detect_numbers(rest, fitting).ambiguities:
                raise undecided(name, ambiguity, self.binding.key)
            return {}
        column = next(one.name for one in columns if ambiguity.evidence.startswith(f"{one.name}, "))
        plain = ambiguity.readings[0].keys == PLAIN_KEYS
        if plain and self.columns.amounts[column] >= DECIMALS and self.held(DECIMAL) is None:
            return {}
        keys = self.choose(name, ambiguity).keys
        return {key: value for key, value in keys.items() if PLAIN_KEYS[key] != value}

    def _refuse_contradiction(
        self, name: str, columns: Sequence[NumberColumn], fitting: Sequence[Notation], texts: Sequence[str]
    ) -> None:
        others = [one for one in PLAIN_FIRST if reads_all(one, texts) and one.decimal != fitting[0].decimal]
        if others and self.binding.format.numbers.decimal is not None:
            shown = next(
                (text, row) for one in columns for text, row in one.numbers if fitting[0] not in notations_of(text)
            )
            found = Finding(DECIMAL, others[0].decimal, located(columns[0].name, [shown]))
            self.refuse(name, found, f"{FILE} says it is", fitting[0].decimal)

    # Days.

    def _dates(self, rows: pl.DataFrame, name: str) -> DateFormat:
        found = self.binding.format.dates
        for column, grain in self.columns.days.items():
            if rows.schema.get(column) != pl.String:
                continue
            sample = every(rows[column]).str.strip_chars().unique().drop_nulls()
            sample = sample.filter(sample != "")
            if found.format is not None:
                self._refuse_order(name, column, sample, found)
            elif read_days(sample, grain, self.calendar).is_not_null().any():
                if (isos := sample.filter(sample.str.contains(ISO_DAY))).len():
                    self.settle(name, Finding(FORMAT, ISO, f"{column}: '{isos[0]}'"), ISO)
            elif sample.len() and (day := day_column(rows, column)) and not (grain is Grain.DATE is not day.grain):
                if day.findings.ambiguities and self.held(FORMAT) is None:
                    day = typed_days(column, self._whole_column(name, column)) or day
                found = self._date_format(name, day, found)
        return found

    # Columns of whole files. Rows come in batches. Where those of one batch leave two readings open, the column is read
    # alone to the end of its file, so that the answer does not depend on where a batch ends.

    def _whole_column(self, name: str, column: str, pattern: str | None = None) -> list[tuple[str, int | None]]:
        """Return distinct texts of a column of a file, each with its first row: those like a pattern, if there is one.

        Empty if the file has no such column, because the keys of the feed make it.
        """
        if name not in self.paths:
            return []
        with scan_file(self.paths[name], self, self.binding.sheet) as scanned:
            if scanned.rows.collect_schema().get(column) != pl.String:
                return []
            texts = scanned.rows.select(text=pl.col(column).str.strip_chars()).with_row_index("row", scanned.first)
            kept = pl.col("text") != "" if pattern is None else pl.col("text").str.contains(pattern)
            found = texts.filter(kept).group_by("text").agg(pl.col("row").min()).sort("row").head(TEXTS)
            rows = found.collect(engine="streaming")
        return list(zip(rows["text"], rows["row"].cast(pl.Int64), strict=True))

    def _whole_numbers(self, name: str, column: NumberColumn) -> NumberColumn:
        """Return a column with those numbers of the whole file that have one meaning at most."""
        known = {text for text, _ in column.numbers}
        others = self._whole_column(name, column.name, DECISIVE)
        more = ((text, row) for text, row in others if text not in known and notations_of(text))
        return replace(column, numbers=(*column.numbers, *more))

    def _date_format(self, name: str, day: DayColumn, written: DateFormat) -> DateFormat:
        findings = day.findings
        if findings.ambiguities:
            format_ = self.choose(name, findings.ambiguities[0]).keys[FORMAT]
        elif (decided := next((one for one in findings.decided if one.key == FORMAT), None)) is None:
            return written
        else:
            self.settle(name, decided, ISO)
            format_ = decided.value
        months = next((one for one in findings.decided if one.key == MONTHS), None)
        if months is None or written.months:
            return written.model_copy(update={"format": format_})
        self.tell(name, months)
        return written.model_copy(update={"format": format_, "months": list(months.value)})

    def _refuse_order(self, name: str, column: str, sample: pl.Series, written: DateFormat) -> None:
        """Refuse days whose day and month stand the other way round than the written format says."""
        format_ = written.format or ISO
        if not in_format(sample, format_, written.months).str.starts_with(UNREADABLE).any():
            return
        day = typed_days(column, [(text, None) for text in sample])
        decided = next((one for one in day.findings.decided if one.key == FORMAT), None) if day else None
        if decided is not None and decided.value != format_ and sorted(decided.value) == sorted(format_):
            self.refuse(name, decided, f"{FILE} says it is", format_)


# What the rows and the head of a file show.


def day_column(rows: pl.DataFrame, column: str) -> DayColumn | None:
    """Return a column of located rows as one of days; None if it is none."""
    texts = SampleTable(name="", frame=rows.select(column), rows=rows[ROW].cast(pl.Int64)).texts(column)
    pairs = list(zip(texts["text"], texts["row"], strict=True))
    return typed_days(column, pairs) or serial_days(column, pairs)
