"""Cells of sheets: a value as text, what it is and how it is set, before any file format.

Spreadsheets hold 15 significant digits; an exact figure of more is its digits as text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cache

from engine.catalogue import Style
from engine.exact import Exact

DIGITS = 15  # significant ones that spreadsheets hold
ZEROTH_DAY = date(1899, 12, 30)
FIRST_DAY = date(1900, 3, 1)  # before it spreadsheets disagree on what day a number is
TEXT = "@"
ROOM = "_)"  # as wide as the parenthesis of a negative figure, so that digits stand below each other


class Role(Enum):
    """What a cell is for, where that decides how it is set."""

    CELL = "cell"
    DAY = "day"
    UPPER_HEADING = "heading above others"
    WORDS_HEADING = "heading of words"
    FIGURES_HEADING = "heading of figures"
    HEADER_LINE = "line of words"
    NAME = "name of a remark"
    REMARK = "remark"


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """How a cell is set; look_of makes each once, so that they are told apart without comparing them."""

    number: str  # a number format
    style: Style
    indent: int
    role: Role


@cache
def look_of(number: str = "General", style: Style = Style.PLAIN, indent: int = 0, role: Role = Role.CELL) -> Look:
    """Return the one look of its kind."""
    return Look(number, style, indent, role)


PLAIN_TEXT = look_of(TEXT)
A_DAY = look_of("yyyy-mm-dd", role=Role.DAY)
AN_INSTANT = look_of("yyyy-mm-dd hh:mm:ss", role=Role.DAY)


class Holds(Enum):
    """What the text of a cell is."""

    TEXT = "text"
    NUMBER = "number"
    LONG_NUMBER = "long number"  # digits that spreadsheets would round, as text
    TRUTH = "truth"  # 1 or 0


@dataclass(frozen=True, slots=True)
class SheetCell:
    """A value as text, how it is set, and what it is; nothing where the value is None."""

    value: str | None
    look: Look = PLAIN_TEXT
    holds: Holds = Holds.TEXT


@dataclass(frozen=True, slots=True)
class Head:
    """The heading of a column, how wide it is, and whether it holds figures."""

    words: str
    width: int
    right: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows of cells under their headings; the first columns and the headings stay in sight."""

    name: str
    headings: Sequence[Sequence[str]]  # level by level
    frozen: int  # columns
    widths: Sequence[int]  # in characters
    right: Sequence[bool]  # which columns hold figures
    height: int  # rows
    rows: Iterator[Sequence[SheetCell]]


def number_cell(figure: Exact, look: Look, *, quotient: bool) -> SheetCell:
    """Return a number, as text where a spreadsheet would round it."""
    digits = figure.digits(quotient=quotient)
    if len(digits) <= DIGITS or len(digits.lstrip("-0.").replace(".", "").rstrip("0")) <= DIGITS:
        return SheetCell(digits, look, Holds.NUMBER)
    return SheetCell(digits, look_of(TEXT, look.style), Holds.LONG_NUMBER)


def wide_enough(headings: Sequence[str]) -> int:
    """Return how many characters a column of figures is wide: its headings in one line, unless they are long."""
    return min(max(16, *(len(heading) + 2 for heading in headings)), 40)


def day_cell(day: date) -> SheetCell:
    """Return a day, as text where spreadsheets do not agree on its number."""
    if day < FIRST_DAY:
        return SheetCell(day.isoformat())
    return SheetCell(str((day - ZEROTH_DAY).days), A_DAY, Holds.NUMBER)
