"""Figures of a sample: its amounts as exact integers, read as a load reads them, so that sums can be proven."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import polars as pl

from server.feeds.extract_formats import BlankRule, NegativeStyle, NumberFormat
from server.files.amounts import read_amounts
from server.files.findings import Findings
from server.files.notation import MOST_NUMBERS, NumberColumn, detect_numbers, is_none_word

PLACES: Final = 6  # decimal places in which sums are compared


def are_amounts(column: NumberColumn) -> bool:
    """Tell whether most texts of a column are numbers, apart from those that mean no figure."""
    others = sum(not is_none_word(text) for text, _ in column.others)
    return bool(column.numbers) and len(column.numbers) >= MOST_NUMBERS * (len(column.numbers) + others)


def number_format(findings: Findings) -> NumberFormat:
    """Return how amounts are written by what was found of them; of two readings, the first."""
    keys = {one.key: one.value for one in findings.decided}
    for ambiguity in findings.ambiguities:
        keys |= dict(ambiguity.readings[0].keys) if ambiguity.readings else {}
    thousands, negative = keys.get("numbers.thousands"), keys.get("numbers.negative")
    return NumberFormat(
        decimal=keys.get("numbers.decimal"),
        thousands="" if thousands == "none" else thousands,
        negative=NegativeStyle(negative) if negative else None,
        blank=BlankRule.ZERO,
        none=tuple(keys.get("numbers.none", ())),
    )


def exact_figures(frame: pl.DataFrame, columns: Sequence[NumberColumn]) -> pl.DataFrame:
    """Return some columns of a sample as integers in millionths, zero where a row has no figure.

    A text that is no amount is null.
    """
    written = number_format(detect_numbers(columns))
    parsed = [read_amounts(frame[one.name], written, PLACES).values.alias(one.name) for one in columns]
    nothing = [pl.col(one.name).str.strip_chars().is_in(list(written.none)).fill_null(value=False) for one in columns]
    return pl.DataFrame(
        [values.set(frame.select(none).to_series(), 0) for values, none in zip(parsed, nothing, strict=True)]
    )


def largest(units: pl.Series) -> Decimal:
    """Return the largest of some integers as an amount, whatever its sign; 0 if there is none."""
    most = units.cast(pl.Int128).abs().max() if units.len() else 0
    return Decimal(int(most or 0)).scaleb(-PLACES)  # type: ignore[arg-type]  # the greatest of integers


def volume(units: pl.Series) -> str:
    """Return the sum of some integers as an amount in words; of a sum that is 0, its debits and credits."""
    wide = units.cast(pl.Int128)
    total, debits = int(wide.sum()), int(wide.filter(wide > 0).sum())
    return f"sum {written_amount(total)}" + (f", {written_amount(debits)} of each sign" if not total and debits else "")


def written_amount(units: int) -> str:
    """Return an integer of a sample as an amount, with two places at least."""
    amount = Decimal(units).scaleb(-PLACES).normalize()
    places = max(2, -int(amount.as_tuple().exponent))
    return f"{amount:,.{places}f}"
