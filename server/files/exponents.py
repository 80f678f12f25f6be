"""Numbers in scientific notation, written out. It stands alone because the process that reads workbooks needs it."""

from decimal import Decimal, InvalidOperation
from typing import Final

import polars as pl

SCIENTIFIC: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+$"


def expand_exponents(written: pl.Series) -> pl.Series:
    """Return text with numbers in scientific notation written out, one by one because they are rare."""
    scientific = written.filter(written.str.contains(SCIENTIFIC).fill_null(value=False)).unique().to_list()
    return written.replace({number: expand_exponent(number) for number in scientific}) if scientific else written


def expand_exponent(number: str) -> str:
    """Return one number written out; unchanged if it is invalid."""
    try:
        return format(Decimal(number), "f")
    except InvalidOperation:
        return number
