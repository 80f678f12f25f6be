"""Columns of an extract as the store keeps them: amounts as integers, days, ids, all with the rows that are none."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation

import polars as pl

from engine.calendar.calendar import Calendar
from engine.calendar.grains import SHAPES
from engine.calendar.periods import Grain
from engine.errors import BadPeriod

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)$"
SCIENTIFIC = r"^[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+$"
ISO_DAY = r"^\d{4}-\d\d-\d\d"
INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Parsed:
    """A column read, and for each row why it could not be (null where it could)."""

    values: pl.Series
    reasons: pl.Series


def text(column: pl.Series) -> pl.Series:
    """Return a column as text, empty text as null; whole numbers without a decimal point."""
    as_text = column if column.dtype == pl.String else column.cast(pl.String)
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        return whole.cast(pl.String).zip_with((whole == column).fill_null(value=False), as_text)
    return pl.DataFrame({"text": as_text}).select(pl.when(pl.col("text") != "").then(pl.col("text")))["text"]


def amounts(column: pl.Series, places: int) -> Parsed:
    """Return amounts as integers of their last decimal place; more places than that are no amount here."""
    if column.dtype.is_integer() or column.dtype.is_decimal():
        return decimal_amounts(column, places)
    frame = pl.DataFrame({"written": numbers(column)}).with_columns(
        is_number=pl.col("written").str.contains(NUMBER),
        sign=pl.when(pl.col("written").str.starts_with("-")).then(pl.lit("-")).otherwise(pl.lit("")),
        digits=pl.col("written").str.strip_chars_start("+-"),
    )
    frame = frame.with_columns(
        whole=pl.col("digits").str.extract(r"^(\d*)", 1),
        decimals=pl.col("digits").str.extract(r"\.(\d*)$", 1).fill_null("").str.strip_chars_end("0"),
    ).with_columns(
        units=(pl.col("sign") + pl.col("whole") + pl.col("decimals").str.pad_end(places, "0")).cast(
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
    return Parsed(judged["values"], judged["reasons"])


def numbers(column: pl.Series) -> pl.Series:
    """Return numbers as they are written, in digits; what is no number stays what it is."""
    written = column.cast(pl.String) if column.dtype.is_float() else text(column)
    return expanded(written.str.strip_chars())


def expanded(written: pl.Series) -> pl.Series:
    """Return numbers in scientific notation written out; they are rare, so each on its own."""
    scientific = written.filter(written.str.contains(SCIENTIFIC).fill_null(value=False)).unique().to_list()
    return written.replace({number: written_out(number) for number in scientific}) if scientific else written


def written_out(number: str) -> str:
    """Return one number without an exponent."""
    try:
        return format(Decimal(number), "f")
    except InvalidOperation:
        return number


def decimal_amounts(column: pl.Series, places: int) -> Parsed:
    """Return whole numbers or decimals as integers of their last decimal place."""
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
    return Parsed(frame["values"], frame["reasons"])


def days(column: pl.Series, format_: str | None, grain: Grain, calendar: Calendar) -> Parsed:
    """Return days; text is an ISO day, a day of the given format, or a period code where the grain is coarser."""
    if column.dtype.is_temporal():
        found = column.dt.date() if column.dtype == pl.Datetime else column.cast(pl.Date, strict=False)
        written = column.cast(pl.String)
    else:
        written = text(column)
        found = read_days(written, format_, grain, calendar)
    first, last = calendar.days.first, calendar.days.last
    outside = (found < first) | (found > last)
    judged = pl.DataFrame({"written": written, "day": found, "outside": outside}).select(
        values=pl.when(~pl.col("outside")).then(pl.col("day")),
        reasons=pl.when(pl.col("written").is_null())
        .then(pl.lit("is missing"))
        .when(pl.col("day").is_null() & pl.col("written").str.contains(ISO_DAY))
        .then(pl.lit("is no day that exists"))
        .when(pl.col("day").is_null())
        .then(pl.lit(f"is no day ({format_})" if format_ else not_dated(grain, calendar)))
        .when(pl.col("outside"))
        .then(pl.lit(f"is outside the calendar, which runs from {first} to {last}")),
    )
    return Parsed(judged["values"], judged["reasons"])


def not_dated(grain: Grain, calendar: Calendar) -> str:
    """Return why a text is neither a day nor a period code of a grain."""
    period = (
        "" if grain is Grain.DATE else f" and no {calendar.grains[grain].noun} of the calendar ({SHAPES[grain][1]})"
    )
    return f"is no day (YYYY-MM-DD){period}"


def read_days(written: pl.Series, format_: str | None, grain: Grain, calendar: Calendar) -> pl.Series:
    """Return the days that texts write, null where they write none."""
    if format_:
        return written.str.strptime(pl.Date, format_, strict=False)
    found = written.str.replace(r"[T ]00:00(:00(\.0+)?)?$", "").str.strptime(pl.Date, "%Y-%m-%d", strict=False)
    if grain is Grain.DATE or not (found.is_null() & written.is_not_null()).any():
        return found
    codes = written.filter(found.is_null()).drop_nulls().unique().to_list()
    firsts = {code: first for code in codes if (first := first_day(code, grain, calendar))}
    coded = written.replace_strict(firsts, default=None, return_dtype=pl.Date)
    return found.zip_with(found.is_not_null(), coded)


def first_day(code: str, grain: Grain, calendar: Calendar) -> date | None:
    """Return the first day of a period code, None where it is none or spans several periods of the grain."""
    try:
        period = calendar.parse(code)
    except BadPeriod:
        return None
    return max(period.first, calendar.days.first) if calendar.nests(period.grain, grain) else None


def mapped(column: pl.Series, values: Mapping[str, str]) -> Parsed:
    """Return a column with each value as what it means here; values without a meaning are none."""
    written = text(column)
    found = written.replace_strict(dict(values), default=None, return_dtype=pl.String)
    lost = found.is_null() & written.is_not_null()
    return Parsed(found, because(lost, f"is none of {', '.join(values)}"))


def because(bad: pl.Series, reason: str) -> pl.Series:
    """Return a reason for every row that is true, null for the others."""
    return pl.DataFrame({"bad": bad}).select(pl.when(pl.col("bad")).then(pl.lit(reason)).alias("reasons"))["reasons"]
