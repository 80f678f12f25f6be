"""Cells of sheets: a value, how it looks, and the rows and headings that cells form.

A spreadsheet holds 15 significant digits. The cell of a figure with more digits carries all of them beside its number.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from enum import Enum
from functools import cache
from math import isinf
from typing import NamedTuple

from msgspec import Struct

from engine.model.catalogue import Style
from engine.model.exact import POWERS_OF_TEN, SURE, Exact

DIGITS = 15  # significant digits that a spreadsheet holds
ZEROTH_DAY = date(1899, 12, 30)
FIRST_DAY = date(1900, 3, 1)  # spreadsheets disagree on the numbers of earlier days
TEXT = "@"
ROOM = "_)"  # as wide as the closing parenthesis of a negative figure, so that digits align
WIDEST = 40  # characters of a column of figures


class Role(Enum):
    """The role of a cell, if it decides the format."""

    CELL = "cell"
    DAY = "day"
    UPPER_HEADING = "heading above others"
    WORDS_HEADING = "heading of words"
    FIGURES_HEADING = "heading of figures"
    HEADER_LINE = "line of words"
    NAME = "name of a remark"
    REMARK = "remark"


class Look(Struct, frozen=True, eq=False):
    """How a cell looks. look_of makes each look once, so that looks are compared by identity."""

    number: str  # a number format
    style: Style
    indent: int
    role: Role


@cache
def look_of(number: str = "General", style: Style = Style.PLAIN, indent: int = 0, role: Role = Role.CELL) -> Look:
    """Return the one look of its kind."""
    return Look(number, style, indent, role)


PLAIN_TEXT = look_of(TEXT)
DAY = look_of("yyyy-mm-dd", role=Role.DAY)
INSTANT = look_of("yyyy-mm-dd hh:mm:ss", role=Role.DAY)


class SheetCell(NamedTuple):
    """A value and its look: text, a number, a boolean, or None for a blank cell."""

    value: str | float | bool | None
    look: Look = PLAIN_TEXT
    digits: str | None = None  # all digits of a number that has more than a spreadsheet holds


class SheetRow(NamedTuple):
    """The cells of a row, and its outline level."""

    cells: Sequence[SheetCell]
    level: int = 0


class Heading(NamedTuple):
    """A heading over one or more columns."""

    words: str
    columns: int = 1
    figures: bool = False  # whether the columns hold figures


class Sheet(Struct, frozen=True, kw_only=True):
    """Rows of cells under their headings. The headings and the first columns are frozen."""

    name: str
    headings: Sequence[Sequence[Heading]]  # level by level; the last level has a heading for each column
    frozen: int = 0  # columns
    widths: Sequence[int]  # in characters
    totals: int = 0  # rows at the end that a filter never hides
    rows: Iterator[SheetRow]


def number_cell(figure: Exact, look: Look, *, quotient: bool) -> SheetCell:
    """Return the cell of a figure: a number, with all digits if a spreadsheet would round it."""
    if -SURE < figure.numerator < SURE and figure.denominator in POWERS_OF_TEN:
        return SheetCell(figure.numerator / figure.denominator, look)
    return digits_cell(figure.digits(quotient=quotient), look)


def digits_cell(digits: str, look: Look) -> SheetCell:
    """Return the cell of a plain number: text if it is beyond all doubles."""
    number = float(digits)
    if isinf(number):
        return SheetCell(digits, look_of(TEXT, look.style), digits)
    return SheetCell(number, look, digits if significant(digits) > DIGITS else None)


def significant(digits: str) -> int:
    """Return the number of significant digits of a plain number."""
    return len(digits.lstrip("-0.").replace(".", "").rstrip("0"))


def wide_enough(headings: Sequence[str]) -> int:
    """Return the width of a figure column: headings of usual length fit in one line."""
    return min(max(16, *(len(heading) + 2 for heading in headings)), WIDEST)


def day_cell(day: date) -> SheetCell:
    """Return the cell of a date, as text if spreadsheets disagree on its number."""
    if day < FIRST_DAY:
        return SheetCell(day.isoformat())
    return SheetCell(float((day - ZEROTH_DAY).days), DAY)
