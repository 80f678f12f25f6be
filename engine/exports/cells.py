"""Cells of sheets: a value as text, what it is and how it is set, before any file format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from engine.catalogue import Style

TEXT, DAY, INSTANT = "@", "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
PLAIN = "#,##0.##########"


class Role(Enum):
    """What a cell is for, where it holds nothing of the result itself."""

    CELL = "cell"
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


AMOUNT, A_DAY, AN_INSTANT, PLAIN_TEXT = look_of(PLAIN), look_of(DAY), look_of(INSTANT), look_of(TEXT)


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
class Sheet:
    """Rows of cells under their headings; the first columns and the headings stay in sight."""

    name: str
    headings: Sequence[Sequence[str]]  # level by level
    frozen: int  # columns
    widths: Sequence[int]  # in characters
    right: Sequence[bool]  # which columns hold figures
    height: int  # rows
    rows: Iterator[Sequence[SheetCell]]
