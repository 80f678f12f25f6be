"""Amounts: texts in the notation of a feed as exact integers, never as floating-point numbers."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.feeds.extract_formats import (
    BlankRule,
    CreditSign,
    DebitCredit,
    DebitCreditSide,
    NegativeStyle,
    NumberFormat,
)
from server.files.columns import NO_RESIDUES, ParsedColumn, parse_amounts, parse_numbers, to_text
from server.files.notation import LAKHS
from server.files.rejects import AMOUNT, LARGEST, WIDE

SPACES = "[ \u00a0\u202f]"  # of every kind that spreadsheets group digits with
APOSTROPHES = "['\u2019]"
GROUPING: Final = {" ": SPACES, "'": APOSTROPHES}
UNREADABLE = "?"  # in front of a text that is no number in its notation
INT64 = 2**63
MOST_PLACES = 12
MORE_PLACES = 4  # of an amount that a factor such as 2.5 may take away

# What a text that is no number looks like, and the key that would read it.
HINTS: Final = (
    (r"^\(.*\)$", "numbers: {negative: parentheses}"),
    (r"\d-$", "numbers: {negative: trailing}"),
    (r"^[+-]?\d{1,3}(\.\d{3})+,\d+$", "numbers: {decimal: ',', thousands: '.'}"),
    (r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$", "numbers: {thousands: ','}"),
    (rf"^[+-]?{LAKHS}(\.\d+)?$", "numbers: {thousands: ','}"),
    (r"^[+-]?\d*,\d+$", "numbers: {decimal: ','}"),
    (r"^[+-]?\d{1,3}(\.\d{3})+$", "numbers: {thousands: '.'}"),
    (r"^[+-]?\d+\.\d+$", "numbers: {decimal: '.'}"),
    (rf"^[+-]?\d{{1,3}}({SPACES}\d{{3}})+", "numbers: {thousands: ' '}"),
    (rf"^[+-]?\d{{1,3}}({APOSTROPHES}\d{{3}})+", 'numbers: {thousands: "\'"}'),
    (r"(?i)\d\s*(cr|dr|[sh])$", "sql: … to split it, and amount: {column: …, side: …, debit: …}"),
    (r"(?i)^(\W+|#.*|n\.?/?a\.?|nan|null|nil)$", "numbers: {none: […]} if it means no figure"),
)
PLAIN: Final = (NumberFormat(), NumberFormat(decimal="."))
OTHER_DIGITS = r"[\p{Nd}--[0-9]]"  # of another script
ONE_SCRIPT = "is no number; write its digits as 0 to 9"
MISSING = "is missing; set numbers: {blank: none} if it means no figure, {blank: zero} if it means 0"


def read_amounts(column: pl.Series, numbers: NumberFormat, places: int) -> ParsedColumn:
    """Return amounts as integers, in units of their last decimal place. Null without a reason is no figure."""
    if numbers in PLAIN:
        return with_hints(column, parse_amounts(column, places), numbers)
    texts = column if column.dtype.is_numeric() else plain_texts(to_text(column), numbers)
    blank = column.is_null() if column.dtype.is_numeric() else texts.is_null()
    parsed = scaled(texts, numbers.factor or Decimal(1), places)
    values, reasons = parsed.values, parsed.reasons
    if numbers.none and not column.dtype.is_numeric():
        nothing = to_text(column).str.strip_chars().is_in(list(numbers.none)).fill_null(value=False)
        blank &= ~nothing
        reasons = reasons.set(nothing, None)
    if numbers.blank is BlankRule.NONE:
        reasons = reasons.set(blank, None)
    elif numbers.blank is BlankRule.ZERO:
        values, reasons = values.set(blank, 0), reasons.set(blank, None)
    return with_hints(column, ParsedColumn(values, reasons, parsed.residues), numbers)


def plain_texts(column: pl.Series, numbers: NumberFormat) -> pl.Series:
    """Return texts in a notation as plain decimals: 1.234,56- becomes -1234.56; null where no figure is meant."""
    text = pl.col("text").str.strip_chars()
    if numbers.none:
        text = pl.when(~text.is_in(list(numbers.none))).then(text)
    text = pl.when(text != "").then(text)
    if numbers.negative is NegativeStyle.PARENTHESES:
        text = text.str.replace(r"^\(\s*([^-].*?)\s*\)$", "-$1")
    elif numbers.negative is NegativeStyle.TRAILING:
        text = text.str.replace(r"^([^-].*?)\s*-$", "-$1")
    point = numbers.decimal or ("," if numbers.thousands == "." else ".")
    if point == "." and not numbers.thousands:
        return column.alias("text").to_frame().select(text)["text"]
    mark = GROUPING.get(numbers.thousands or "", re.escape(numbers.thousands or ""))
    lakhs = f"|{LAKHS}" if numbers.thousands == "," else ""
    whole = rf"(\d+|\d{{1,3}}({mark}\d{{3}})+{lakhs})" if mark else r"\d+"
    dot = re.escape(point)
    written = text.str.contains(rf"^[+-]?({whole}({dot}\d*)?|{dot}\d+)([eE][+-]?\d+)?$")
    plain = text.str.replace_all(mark, "") if mark else text
    plain = plain.str.replace(point, ".", literal=True) if point != "." else plain
    made = pl.when(written).then(plain).when(text.is_not_null()).then(UNREADABLE + text)
    return column.alias("text").to_frame().select(made.alias("text"))["text"]


def plain_numbers(column: pl.Series, numbers: NumberFormat) -> pl.Series:
    """Return numbers in a notation as plain decimals without exponents; other text is no number either."""
    return parse_numbers(column if column.dtype.is_numeric() else plain_texts(to_text(column), numbers))


def scaled(column: pl.Series, factor: Decimal, places: int) -> ParsedColumn:
    """Return numbers times a factor as exact integers, in units of their last decimal place."""
    sign, digits, exponent = factor.normalize().as_tuple()
    assert not sign  # noqa: S101 - a factor is above zero
    multiplier, shift = int("".join(map(str, digits))), places + int(exponent)
    more = 0 if multiplier == 1 else MORE_PLACES
    parsed = parse_amounts(column, max(shift, 0) + more)
    if multiplier == 1 and shift >= 0:
        return replace(parsed, reasons=reasons_for(parsed.reasons, places))
    divisor = 10 ** (max(-shift, 0) + more)
    wide = pl.col("value").cast(pl.Int128) * pl.lit(multiplier, pl.Int128)
    frame = pl.DataFrame({"value": parsed.values, "reason": reasons_for(parsed.reasons, places)}).select(
        "reason", units=wide // pl.lit(divisor, pl.Int128), rest=wide % pl.lit(divisor, pl.Int128)
    )
    reason = (
        pl.when(pl.col("reason").is_not_null())
        .then(pl.col("reason"))
        .when(pl.col("rest") != 0)
        .then(pl.lit(f"has more than {places} decimal places"))
        .when(~pl.col("units").is_between(-INT64, INT64 - 1))
        .then(pl.lit("is too large"))
    )
    judged = frame.select("units", reason.alias("reason"))
    units = pl.when(pl.col("reason").is_null()).then(pl.col("units")).cast(pl.Int64)
    return ParsedColumn(judged.select(units)["units"], judged["reason"])


def reasons_for(reasons: pl.Series, places: int) -> pl.Series:
    """Return reasons that count the places of the measure, not those of the text before its factor."""
    return reasons.str.replace(r"^has more than \d+ decimal places$", f"has more than {places} decimal places")


def with_hints(column: pl.Series, parsed: ParsedColumn, numbers: NumberFormat) -> ParsedColumn:
    """Return parsed amounts whose reasons name the key that would read them."""
    if parsed.reasons.null_count() == len(parsed.reasons):
        return parsed
    hint = pl.lit(None, pl.String)
    for pattern, key in reversed(HINTS):
        hint = pl.when(pl.col("text").str.contains(pattern)).then(pl.lit(key)).otherwise(hint)
    frame = pl.DataFrame({"text": to_text(column).str.strip_chars(), "reason": parsed.reasons})
    said = frame.select(
        pl.when((pl.col("reason") == "is no number") & pl.col("text").str.contains(OTHER_DIGITS))
        .then(pl.lit(ONE_SCRIPT))
        .when(pl.col("reason") == "is no number")
        .then(pl.concat_str(pl.col("reason"), pl.concat_str(pl.lit("; set "), hint).fill_null("")))
        .when((pl.col("reason") == "is missing") & (numbers.blank is None))
        .then(pl.lit(MISSING))
        .otherwise(pl.col("reason"))
        .alias("reason")
    )["reason"]
    return replace(parsed, reasons=said)


# Amounts of several columns.


class WrittenAmounts(Struct, frozen=True):
    """Amounts as they are written, for messages, and as they are read."""

    written: pl.Series
    read: ParsedColumn
    credits: pl.Series | None = None  # of the rows that have one, as they are written


def subtract(
    debit: pl.Series, credit: pl.Series, rule: DebitCredit, numbers: NumberFormat, places: int
) -> WrittenAmounts:
    """Return debit minus credit. An empty side counts as zero if the other has an amount."""
    reads = [read_amounts(column, numbers, places) for column in (debit, credit)]
    blanks = [is_blank(column, numbers) for column in (debit, credit)]
    frame = pl.DataFrame(
        {
            "debit": reads[0].values,
            "credit": reads[1].values,
            "debit reason": reads[0].reasons.set(blanks[0] & ~blanks[1], None),
            "credit reason": reads[1].reasons.set(blanks[1], None),
        }
    )
    sides = [pl.col(side).fill_null(0).cast(pl.Int128) for side in ("debit", "credit")]
    frame = frame.with_columns(units=sides[0] + sides[1] * (1 if rule.credits is CreditSign.NEGATIVE else -1))
    reason = pl.coalesce("debit reason", "credit reason", too_large("units"))
    nothing = reads[0].values.is_null() & reads[1].values.is_null()
    values = frame.select(pl.when(reason.is_null()).then(pl.col("units")).cast(pl.Int64).alias("units"))["units"]
    written = joined_texts([debit, credit], " − ")
    residues = reads[0].residues + reads[1].residues
    parsed = ParsedColumn(values.set(nothing, None), frame.select(reason.alias("reason"))["reason"], residues)
    return WrittenAmounts(written, parsed, reads[1].values)


def by_side(
    amount: pl.Series, side: pl.Series, rule: DebitCreditSide, numbers: NumberFormat, places: int
) -> WrittenAmounts:
    """Return amounts with the sign of their side: credits change sign, unless they are written as negative."""
    read, (is_debit, is_credit) = read_amounts(amount, numbers, places), sides_of(side, rule)
    known = f"is none of the sides {', '.join((*rule.debit, *rule.credit))}"
    frame = pl.DataFrame(
        {"value": read.values, "reason": read.reasons, "credit": is_credit, "known": is_debit | is_credit}
    )
    reason = pl.coalesce("reason", pl.when(~pl.col("known") & pl.col("value").is_not_null()).then(pl.lit(known)))
    sign = 1 if rule.credits is CreditSign.NEGATIVE else -1
    signed = pl.when("credit").then(pl.col("value") * sign).otherwise("value")
    made = frame.select(pl.when(reason.is_null()).then(signed).alias("value"), reason.alias("reason"))
    parsed = ParsedColumn(made["value"], made["reason"], read.residues)
    return WrittenAmounts(joined_texts([amount, side], " "), parsed, read.values.set(~is_credit, None))


def multiply(factors: Sequence[pl.Series], numbers: NumberFormat, places: int) -> WrittenAmounts:
    """Return the product of some columns. It has as many decimal places as its factors together."""
    written = joined_texts(factors, " × ")
    product, shift, reason, residues = pl.lit(1, pl.Int128), 0, pl.lit(None, pl.String), NO_RESIDUES
    columns: dict[str, pl.Series] = {}
    for number, factor in enumerate(factors):
        own = most_places(factor, numbers)
        read = read_amounts(factor, numbers, own)
        columns |= {f"value {number}": read.values, f"reason {number}": read.reasons}
        residues += read.residues
        reason = pl.coalesce(reason, f"reason {number}", too_large(product))
        product = pl.when(reason.is_null()).then(product * pl.col(f"value {number}").cast(pl.Int128))
        shift += own
    more, less = pl.lit(10 ** max(shift - places, 0), pl.Int128), pl.lit(10 ** max(places - shift, 0), pl.Int128)
    too_fine = pl.when(product % more != 0).then(pl.lit(f"has more than {places} decimal places"))
    units = product // more * less
    reason = pl.coalesce(reason, too_fine, too_large(units))
    made = pl.DataFrame(columns).select(
        pl.when(reason.is_null()).then(units).cast(pl.Int64).alias("value"), reason.alias("reason")
    )
    return WrittenAmounts(written, ParsedColumn(made["value"], made["reason"], residues))


def most_places(column: pl.Series, numbers: NumberFormat) -> int:
    """Return how many decimal places the numbers of a column have at most."""
    if column.dtype.is_decimal():
        return int(getattr(column.dtype, "scale", 0))
    decimals = plain_numbers(column, numbers).str.extract(r"\.(\d*?)0*\D*$", 1).str.len_chars().max()
    return min(int(decimals) if isinstance(decimals, int) else 0, MOST_PLACES)


# Amounts that cannot be loaded, as they are written, so that what a load leaves out is known to the last digit.


def exact_units(column: pl.Series, numbers: NumberFormat) -> pl.Series:
    """Return numbers times their factor as integers in units of the twelfth decimal place, whatever a measure holds.

    Null for a text that is no number, and for a number of more than 18 digits before its decimal mark.
    """
    plain = plain_numbers(column, numbers).alias("plain").to_frame().select(pl.col("plain").cast(AMOUNT, strict=False))
    units = plain.select(pl.when(pl.col("plain").abs() < LARGEST).then(pl.col("plain")))["plain"].to_physical()
    if numbers.factor is None:
        return units
    times = [None if one is None else int(WIDE.multiply(Decimal(one), numbers.factor)) for one in units]
    return pl.Series("plain", times, dtype=pl.Int128)


def exact_difference(debit: pl.Series, credit: pl.Series, rule: DebitCredit, numbers: NumberFormat) -> pl.Series:
    """Return debits minus credits as `exact_units` does; an empty side counts as zero if the other has a number."""
    sign = 1 if rule.credits is CreditSign.NEGATIVE else -1
    frame = pl.DataFrame({"debit": exact_units(debit, numbers), "credit": exact_units(credit, numbers)})
    both = pl.col("debit").fill_null(0) + pl.col("credit").fill_null(0) * pl.lit(sign, pl.Int128)
    return frame.select(pl.when(pl.any_horizontal(pl.all().is_not_null())).then(both).alias("units"))["units"]


def exact_by_side(amount: pl.Series, side: pl.Series, rule: DebitCreditSide, numbers: NumberFormat) -> pl.Series:
    """Return amounts with the sign of their side as `exact_units` does; null where the side is none of the rule's."""
    marks = sides_of(side, rule)
    sign = 1 if rule.credits is CreditSign.NEGATIVE else -1
    frame = pl.DataFrame({"units": exact_units(amount, numbers), "debit": marks[0], "credit": marks[1]})
    credit = pl.when("credit").then(pl.col("units") * pl.lit(sign, pl.Int128))
    return frame.select(pl.when("debit").then("units").otherwise(credit).alias("units"))["units"]


def sides_of(side: pl.Series, rule: DebitCreditSide) -> tuple[pl.Series, pl.Series]:
    """Tell for each row whether it is a debit, and whether it is a credit."""
    marks = to_text(side).str.strip_chars()
    debit = marks.is_in(list(rule.debit)).fill_null(value=False)
    credit = marks.is_in(list(rule.credit)) if rule.credit else marks.is_not_null() & ~debit
    return debit, credit.fill_null(value=False)


def too_large(units: str | pl.Expr) -> pl.Expr:
    """Return the reason of integers that do not fit into 64 bits, null for the others."""
    column = pl.col(units) if isinstance(units, str) else units
    return pl.when(~column.is_between(-INT64, INT64 - 1)).then(pl.lit("is too large"))


def is_blank(column: pl.Series, numbers: NumberFormat) -> pl.Series:
    """Tell for each row whether it holds no text, or one that means no figure."""
    texts = to_text(column).str.strip_chars()
    return (
        texts.is_null() | (texts == "").fill_null(value=True) | texts.is_in(list(numbers.none)).fill_null(value=False)
    )


def joined_texts(columns: Sequence[pl.Series], mark: str) -> pl.Series:
    """Return columns as one text, for messages."""
    texts = pl.DataFrame({str(number): to_text(column) for number, column in enumerate(columns)})
    return texts.select(pl.concat_str(pl.all(), separator=mark, ignore_nulls=True).alias("text"))["text"]
