"""Detection: the keys that a feed leaves out, found in its files as they are loaded and held against its last load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import islice, product
from pathlib import Path
from typing import Any, Final, NoReturn

import polars as pl

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain
from engine.model.extract_formats import CsvFormat, DateFormat, ExtractFormat, NegativeStyle, NumberFormat, TableLayout
from engine.model.feeds import Binding
from server.ingest.columns import ISO_DAY, read_days
from server.ingest.dates import UNREADABLE, in_format
from server.ingest.days import DayColumn, serial_days, typed_days
from server.ingest.dialect import HEAD as BYTES
from server.ingest.dialect import LOOK, SEPARATORS, decode, detect_encoding, encoding_behind
from server.ingest.extract_columns import ExtractColumns
from server.ingest.files import csv_rows, first_used_row, join_names, letters
from server.ingest.findings import Ambiguity, Finding, Reading, SampleTable, located, place_of, written_keys
from server.ingest.notation import PLAIN_FIRST, Notation, NumberColumn, detect_numbers, notations_of
from server.ingest.rejects import ROW, VALIDATE, LoadFailed

SAMPLE = 2_000  # texts of a column that are looked at in each batch
GROUPED = 1_000  # further ones, of those such as 1.234
HEAD: Final = 1 << 16  # bytes in which the heading stands
PIECE: Final = 1 << 14  # bytes that are read at each place behind the first ones
QUOTES: Final = ('"', "'")
PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
POINT = r"^[+-]?(\d{4,}\.\d*|\d*\.(\d{1,2}|\d{4,}))$"  # a number whose point marks no thousands
THREE = r"\.\d{3}\s*[-−)]?\s*$"  # three digits after a point
DECIMALS = 3  # places with which 1.234 is a plain number
DECIMAL, THOUSANDS, NEGATIVE = "numbers.decimal", "numbers.thousands", "numbers.negative"
FORMAT, MONTHS, SEPARATOR = "dates.format", "dates.months", "csv.separator"
PLAIN_KEYS: Final = {DECIMAL: ".", THOUSANDS: "none"}
ISO: Final = "%Y-%m-%d"
PLAIN_READING: Final = {SEPARATOR: ",", FORMAT: ISO, **PLAIN_KEYS}  # what goes without saying
FILE: Final = "integrations.yaml"


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
        if path.suffix.lower() != ".csv":
            return format_
        return replace(format_, csv=self._dialect(path, format_.csv))

    def heading_row(self, name: str, cells: pl.DataFrame) -> int:
        """Return the number of the row of a sheet with the columns of the feed, or of the first row with a value."""
        usual, required = first_used_row(cells), self.columns.required
        records = [[cell or "" for cell in row] for row in cells.head(LOOK).iter_rows()]
        rows = heading_rows(records, TableLayout(), required) if required else None
        if rows is None or rows == (usual,):
            return usual
        self.tell(name, Finding("header_row", rows[0], f"row {rows[0]} has the columns of the feed"))
        return rows[0]

    def of_rows(self, rows: pl.DataFrame, name: str) -> Binding:
        """Return the feed with the notations of its amounts and days that located rows show. Raises LoadFailed."""
        format_ = self.binding.format
        found = replace(format_, numbers=self._numbers(rows, name), dates=self._dates(rows, name))
        return self.binding if found == format_ else replace(self.binding, format=found)

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
                self.settle(name, Finding(key, held, "as before"), held)
                return reading
        raise self.open(name, ambiguity)

    def open(self, name: str, ambiguity: Ambiguity) -> LoadFailed:
        """Return the failure of a file that can be read in two ways."""
        mend = f"write one of them under {self.binding.key} in {FILE}"
        recorded = f"{name}: {ambiguity.without_texts}; {mend}"
        return LoadFailed(VALIDATE, f"{name}: {ambiguity}; {mend}", recorded=recorded)

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
            found = encoding_of(path)
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
        return replace(dialect, separator=table.separator, quote=table.quote, layout=layout)

    # Amounts.

    def _numbers(self, rows: pl.DataFrame, name: str) -> NumberFormat:
        written = self.binding.format.numbers
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

    def _notation(self, name: str, columns: Sequence[NumberColumn], fitting: Sequence[Notation]) -> dict[str, str]:
        """Return the marks of the decimal places and the thousands that numbers show, those that are not usual."""
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
                raise self.open(name, ambiguity)
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
                found = self._date_format(name, day, found)
        return found

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
            return replace(written, format=format_)
        self.tell(name, months)
        return replace(written, format=format_, months=tuple(months.value))

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


@dataclass(frozen=True, slots=True)
class NumberLook:
    """Some texts of a column of amounts with their rows, and whether they are plain numbers beyond doubt."""

    name: str
    texts: pl.DataFrame  # text, row; without repetitions
    is_plain: bool
    point: str | None  # a number whose point can only be that of its decimal places, in words

    @property
    def column(self) -> NumberColumn:
        """Those of the texts that are numbers in some notation."""
        numbers = tuple((text, row) for text, row in self.texts.iter_rows() if notations_of(text))
        return NumberColumn(self.name, numbers, (), None, has_blank=False)


def every(column: pl.Series) -> pl.Series:
    """Return texts of a column, evenly chosen where there are many."""
    return column.gather_every(max(1, len(column) // SAMPLE))


def look_at(rows: pl.DataFrame, column: str, places: int, *, has_commas: bool) -> NumberLook:
    """Return numbers of a column: some, and more of those such as 1.234 where the point may mark thousands."""
    texts = rows[column]
    some = every(pl.int_range(len(texts), eager=True, dtype=pl.UInt32))
    is_plain = bool(texts.gather(some).str.contains(PLAIN).all())  # blanks do not count
    grouped = pl.Series([], dtype=pl.UInt32)
    if places < DECIMALS or has_commas:
        ends = texts.str.tail(DECIMALS + 1).str.starts_with(".") if is_plain else texts.str.contains(THREE)
        grouped = ends.arg_true().head(GROUPED)
    points = texts.str.contains(POINT).arg_true().head(1) if len(grouped) else grouped
    at = pl.concat([some, grouped, points]).unique().sort()
    chosen = pl.DataFrame({"text": texts.gather(at).str.strip_chars(), "row": rows[ROW].gather(at)})
    distinct = chosen.filter((pl.col("text") != "").fill_null(value=False)).unique("text", maintain_order=True)
    pointed = distinct.filter(pl.col("text").str.contains(POINT))
    point = located(column, [pointed.row(0)]) if pointed.height else None
    is_plain = grouped.is_empty() and bool(distinct["text"].str.contains(PLAIN).all())
    return NumberLook(column, distinct, is_plain, point)


def agrees(notation: Notation, written: NumberFormat) -> bool:
    """Tell whether a notation has the marks that are written."""
    thousands = "none" if written.thousands == "" else written.thousands
    return written.decimal in (None, notation.decimal) and thousands in (None, notation.thousands)


def reads_all(notation: Notation, texts: Sequence[str]) -> bool:
    """Tell whether every text is a number in a notation."""
    return all(notation in notations_of(text) for text in texts)


def with_texts(column: NumberColumn, notation: Notation) -> NumberColumn:
    """Return a column with those of its numbers that a notation reads."""
    return replace(column, numbers=tuple(pair for pair in column.numbers if notation in notations_of(pair[0])))


def day_column(rows: pl.DataFrame, column: str) -> DayColumn | None:
    """Return a column of located rows as one of days; None if it is none."""
    texts = SampleTable(name="", frame=rows.select(column), rows=rows[ROW].cast(pl.Int64)).texts(column)
    pairs = list(zip(texts["text"], texts["row"], strict=True))
    return typed_days(column, pairs) or serial_days(column, pairs)


def encoding_of(path: Path) -> Finding:
    """Return the encoding of a file by its first bytes and some behind them."""
    size = path.stat().st_size
    with path.open("rb") as file:
        found = detect_encoding(file.read(BYTES), whole=size <= BYTES)
    if found.value == "utf-8" and size > BYTES:
        return encoding_behind(path, size, PIECE) or found
    return found


@dataclass(frozen=True, slots=True)
class HeadingMatch:
    """The dialect by which the head of a file has the columns of a feed, and the rows of their names."""

    separator: str
    quote: str
    rows: tuple[int, ...]


def find_heading(text: str, dialect: CsvFormat, required: frozenset[str]) -> HeadingMatch | None:
    """Return the first heading with the columns of a feed, by any separator and quote that are not written."""
    separators = SEPARATORS if dialect.separator is None else (dialect.separator,)
    quotes = QUOTES if dialect.quote is None else (dialect.quote,)
    best: HeadingMatch | None = None
    for quote, separator in product(quotes, separators):
        lines = csv_rows(StringIO(text, newline=""), replace(dialect, separator=separator, quote=quote))
        rows = heading_rows(list(islice(lines, LOOK)), dialect.layout, required)
        if rows is not None and (best is None or rows < best.rows):
            best = HeadingMatch(separator, quote, rows)
        if rows is not None and max(rows, default=1) == 1:
            break
    return best


def heading_rows(
    records: Sequence[Sequence[str]], layout: TableLayout, required: frozenset[str]
) -> tuple[int, ...] | None:
    """Return the rows of the column names, as they are written or the first that has the columns of a feed."""
    if layout.header_rows is not None or layout.skip_rows is not None:
        above = layout.skip_rows or 0
        choices = [layout.header_rows if layout.header_rows is not None else (above + 1,)]
    else:
        above, choices = 0, [(row,) for row in range(1, len(records) + 1)]
    for rows in choices:
        if max(rows, default=above + 1) > len(records):
            return None
        names = join_names([records[row - 1] for row in rows]) if rows else letters(len(records[above]))
        if required <= set(names) if required else len(names) > 1:
            return rows
    return None
