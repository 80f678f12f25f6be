"""Columns: an extract parsed to the types of the store, with a reason for each row that is rejected."""

from collections.abc import Callable, Generator, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import polars as pl
from msgspec import Struct

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import GRAINS, Grain, PeriodRange
from engine.model.errors import BadPeriod
from server.feeds.extract_formats import ExtractFormat
from server.feeds.feeds import Binding, LoadStatus
from server.files.exponents import expand_exponents
from server.files.rejects import FILE, ROW

CONNECT, EXTRACT = LoadStatus.FAILED_CONNECT, LoadStatus.FAILED_EXTRACT


class RowSource(Struct, frozen=True):
    """The rows of one file or query in batches; the first columns are FILE and ROW."""

    name: str
    pieces: Generator[pl.DataFrame]  # the reader closes it, which closes the source


class FormatDetector(Protocol):
    """Says how files are written."""

    def of_file(self, path: Path) -> ExtractFormat:
        """Return the format of a file."""

    def heading_rows(self, name: str, cells: pl.DataFrame) -> tuple[int, ...]:
        """Return the numbers of the rows with the column names of a sheet; none if it has no names."""

    def warn(self, says: str) -> None:
        """Take what whoever loads should know of a file."""


class ExtractRequest(Struct, frozen=True, kw_only=True):
    """What a load asks of a source."""

    binding: Binding
    folder: Path  # of the instance
    secret: str | None  # value of the environment variable that the source names
    calendar: Calendar
    periods: PeriodRange | None  # None for all
    formats: FormatDetector  # of its files


def with_location(frame: pl.DataFrame, name: str, first: int) -> pl.DataFrame:
    """Return rows with the columns FILE and ROW in front; `first` is the number of earlier rows of the file."""
    return frame.with_row_index(ROW, offset=first + 1).select(pl.lit(name).alias(FILE), pl.all())


# Parsing columns to amounts, days and ids, with a reason for every row that cannot be parsed.


NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$"
ISO_DAY = "^" + GRAINS[Grain.DATE].shape.pattern.replace(r"\d", "[0-9]")  # perhaps with a time after it
MIDNIGHT = r"[T ]00:00(:00(\.0+)?)?"
INT64 = 2**63
DIGITS = 18  # that always fit into Int64
SURE_DIGITS = 15  # of a number that a double gives back whatever they are, and that spreadsheets show
TINY_PLACES = 4  # behind the last place of a measure; a number below half a unit of the last of them is a residue
NOISE = Decimal("1e-15")  # of a number, the most that a computation with doubles is taken to have added


class Residues(Struct, frozen=True):
    """Amounts that lost what a computation with doubles left behind their last place: how many, and the most lost."""

    amounts: int = 0
    largest: Decimal = Decimal(0)

    def __add__(self, other: "Residues") -> "Residues":
        """Return both together."""
        return Residues(self.amounts + other.amounts, max(self.largest, other.largest))

    def __str__(self) -> str:
        """Return the count in words; empty if there are none."""
        if not self.amounts:
            return ""
        one = self.amounts == 1
        were = "amount was" if one else "amounts were"
        return f"{self.amounts:,} {were} loaded without the residue of a computation, {self.largest:.2E} at most"


NO_RESIDUES: Final = Residues()


class ParsedColumn(Struct, frozen=True):
    """A parsed column, and a reason for each row that cannot be parsed, null for the others."""

    values: pl.Series
    reasons: pl.Series
    residues: Residues = NO_RESIDUES


def to_text(column: pl.Series) -> pl.Series:
    """Return a column as text. Empty text becomes null; whole numbers lose their decimal point."""
    as_text = column if column.dtype == pl.String else column.cast(pl.String)
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        return whole.cast(pl.String).zip_with((whole == column).fill_null(value=False), as_text)
    return pl.DataFrame({"text": as_text}).select(pl.when(pl.col("text") != "").then(pl.col("text")))["text"]


def joined(pieces: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return pieces of a table as one; a column that has several types is read as text, so that no digit changes."""
    types: dict[str, set[pl.DataType]] = {}
    for piece in pieces:
        for name, dtype in piece.schema.items():
            types.setdefault(name, set()).add(dtype)
    several = [name for name, kinds in types.items() if len(kinds) > 1]
    alike = (
        piece.with_columns(to_text(piece[name]).alias(name) for name in several if name in piece.columns)
        for piece in pieces
    )
    return pl.concat(alike, how="vertical")


def with_rest(column: pl.Series, plain: pl.Series, parse: Callable[[pl.Series], ParsedColumn]) -> ParsedColumn:
    """Return the values of the rows that are written plainly, and parse the rest, which are null in `plain`."""
    unread = plain.is_null()
    reasons = pl.repeat(None, len(plain), dtype=pl.String, eager=True)
    if not unread.any():
        return ParsedColumn(plain, reasons)
    parsed, places = parse(column.filter(unread)), unread.arg_true()
    values, reasons = plain.scatter(places, parsed.values), reasons.scatter(places, parsed.reasons)
    return ParsedColumn(values, reasons, parsed.residues)


def parse_amounts(column: pl.Series, places: int) -> ParsedColumn:
    """Return amounts as integers, in units of their last decimal place. An amount with more places is rejected."""
    if column.dtype.is_integer() or column.dtype.is_decimal():
        return decimal_amounts(column, places)
    written = column.cast(pl.String)
    exact = written.str.contains(rf"^[+-]?[0-9]{{1,{DIGITS - places}}}(\.[0-9]{{0,{places}}})?$")
    units = written.cast(pl.Decimal(DIGITS, places), strict=False).to_physical().cast(pl.Int64)
    return with_rest(column, units.set(~exact, None), partial(parse_any_amounts, places=places))


def parse_any_amounts(column: pl.Series, places: int) -> ParsedColumn:
    """Return amounts that may be spaced, in scientific notation, too fine, too large or no numbers."""
    written = parse_numbers(column)
    plain, residues = without_residues(written, places)
    frame = pl.DataFrame({"written": plain}).with_columns(
        is_number=pl.col("written").str.contains(NUMBER),
        sign=pl.when(pl.col("written").str.starts_with("-")).then(pl.lit("-")).otherwise(pl.lit("")),
        digits=pl.col("written").str.strip_chars_start("+-"),
    )
    frame = frame.with_columns(
        whole=pl.col("digits").str.extract(r"^(\d*)", 1),
        decimals=pl.col("digits").str.extract(r"\.(\d*)$", 1).fill_null("").str.strip_chars_end("0"),
    ).with_columns(
        units=(pl.col("sign") + "0" + pl.col("whole") + pl.col("decimals").str.pad_end(places, "0")).cast(
            pl.Int64, strict=False
        )
    )
    too_fine = pl.col("decimals").str.len_chars() > places
    judged = frame.select(
        values=pl.when(pl.col("is_number") & ~too_fine).then(pl.col("units")),
        reasons=pl.when(pl.col("written").is_null())
        .then(pl.lit("is missing"))
        .when(~pl.col("is_number"))
        .then(pl.lit("is no number"))
        .when(too_fine)
        .then(pl.lit(f"has more than {places} decimal places"))
        .when(pl.col("units").is_null())
        .then(pl.lit("is too large")),
    )
    return ParsedColumn(judged["values"], judged["reasons"], residues)


def without_residues(written: pl.Series, places: int) -> tuple[pl.Series, Residues]:
    """Return plain numbers without what computations with doubles leave behind their last place: 0.30000000000000004.

    A number with more digits than a double has for sure is read as a spreadsheet shows it, with SURE_DIGITS of them, if
    that has few enough places and takes away no more than such a computation adds. A number that is far smaller than
    the last place is 0.
    """
    fine = written.filter(written.str.contains(rf"^[+-]?\d*\.\d{{{places}}}\d*[1-9]\d*$").fill_null(value=False))
    if fine.is_empty():
        return written, NO_RESIDUES
    shown = {text: plain for text in fine.unique() if (plain := without_residue(Decimal(text), places)) is not None}
    if not shown:
        return written, NO_RESIDUES
    amounts = int(fine.is_in(list(shown)).sum())
    largest = max(abs(Decimal(text) - plain) for text, plain in shown.items())
    return written.replace({text: format(plain, "f") for text, plain in shown.items()}), Residues(amounts, largest)


def without_residue(number: Decimal, places: int) -> Decimal | None:
    """Return a number that is finer than some places without its residue; None if it has none."""
    tiny = Decimal((0, (5,), -places - TINY_PLACES - 1))
    if abs(number) < tiny:
        return Decimal(0)
    shown = Decimal(f"{float(number):.{SURE_DIGITS}g}").normalize()  # of the double: its text may lie halfway
    is_residue = abs(number - shown) < max(tiny, abs(number) * NOISE)
    return shown if is_residue and -int(shown.as_tuple().exponent) <= places else None


def parse_numbers(column: pl.Series) -> pl.Series:
    """Return numbers as text without exponents; other text is unchanged."""
    written = column.cast(pl.String) if column.dtype.is_float() else to_text(column)
    return expand_exponents(written.str.strip_chars())


def decimal_amounts(column: pl.Series, places: int) -> ParsedColumn:
    """Return integers or decimals as integers, in units of their last decimal place."""
    finest = pl.Decimal(38, places)
    exact = column.cast(pl.Decimal(38, getattr(column.dtype, "scale", None) or 0), strict=False)
    fixed = exact.cast(finest, strict=False)
    units = fixed.to_physical().cast(pl.Int64, strict=False)
    too_fine = (fixed.cast(exact.dtype, strict=False) != exact).fill_null(value=False)
    frame = pl.DataFrame({"column": column, "units": units, "too_fine": too_fine}).select(
        values=pl.when(~pl.col("too_fine")).then(pl.col("units")),
        reasons=pl.when(pl.col("column").is_null())
        .then(pl.lit("is missing"))
        .when(pl.col("too_fine"))
        .then(pl.lit(f"has more than {places} decimal places"))
        .when(pl.col("units").is_null())
        .then(pl.lit("is too large")),
    )
    return ParsedColumn(frame["values"], frame["reasons"])


def parse_days(column: pl.Series, grain: Grain, calendar: Calendar) -> ParsedColumn:
    """Return days. Text is an ISO day or, at a grain coarser than days, a period code."""
    if column.dtype == pl.String:
        plain = column.str.to_date("%Y-%m-%d", strict=False)
        days = calendar.days_of(grain)
        inside = plain.is_between(days.first, days.last)
        parse = partial(parse_any_days, grain=grain, calendar=calendar)
        return with_rest(column, plain.set(~inside, None), parse)
    return parse_any_days(column, grain, calendar)


def parse_any_days(column: pl.Series, grain: Grain, calendar: Calendar) -> ParsedColumn:
    """Return days that may be followed by a time, period codes, no days or outside the calendar."""
    if column.dtype.is_temporal():
        days = column.dt.date() if column.dtype == pl.Datetime else column.cast(pl.Date, strict=False)
        written = column.cast(pl.String)
    else:
        written = to_text(column)
        days = read_days(written, grain, calendar)
    inside = calendar.days_of(grain)
    first, last = inside.first, inside.last
    outside = (days < first) | (days > last)
    judged = pl.DataFrame({"written": written, "day": days, "outside": outside}).select(
        values=pl.when(~pl.col("outside")).then(pl.col("day")),
        reasons=pl.when(pl.col("written").is_null())
        .then(pl.lit("is missing"))
        .when(pl.col("day").is_null() & pl.col("written").str.contains(f"{ISO_DAY}({MIDNIGHT})?$"))
        .then(pl.lit("is no day that exists"))
        .when(pl.col("day").is_null())
        .then(pl.lit(bad_day_reason(grain, calendar)))
        .when(pl.col("outside"))
        .then(pl.lit(f"is outside the calendar, which runs from {first} to {last}")),
    )
    return ParsedColumn(judged["values"], judged["reasons"])


def bad_day_reason(grain: Grain, calendar: Calendar) -> str:
    """Return the reason for text that is neither a day nor a period code of a grain."""
    period = (
        "" if grain is Grain.DATE else f" and no {calendar.grains[grain].noun} of the calendar ({GRAINS[grain].words})"
    )
    return f"is no day (YYYY-MM-DD){period}"


def read_days(written: pl.Series, grain: Grain, calendar: Calendar) -> pl.Series:
    """Return the days of texts; null for text that is no day."""
    days = written.str.replace(f"{MIDNIGHT}$", "").str.strptime(pl.Date, "%Y-%m-%d", strict=False)
    if grain is Grain.DATE or not (days.is_null() & written.is_not_null()).any():
        return days
    codes = written.filter(days.is_null()).drop_nulls().unique().to_list()
    firsts = {code: first for code in codes if (first := first_day(code, grain, calendar))}
    coded = written.replace_strict(firsts, default=None, return_dtype=pl.Date)
    return days.zip_with(days.is_not_null(), coded)


def first_day(code: str, grain: Grain, calendar: Calendar) -> date | None:
    """Return the first day of a period code; None if it is invalid or not within one period of the grain."""
    try:
        period = calendar.parse(code)
    except BadPeriod:
        return None
    return max(period.first, calendar.days.first) if calendar.nests(period.grain, grain) else None
