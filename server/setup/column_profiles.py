"""Column profiles: what the texts of one column are - days, numbers, words - and the roles that a column may have."""

import re
from enum import Enum
from typing import Final

from msgspec import Struct

from engine.model.calendar.periods import Grain
from server.files.days import DATE_WORDS, DayColumn
from server.files.findings import SampleTable
from server.files.notation import NumberColumn, amounts_in, number_column
from server.files.written_days import days_of

MOST_MEMBERS: Final = 5_000  # distinct texts up to which a column is a dimension
FEW: Final = 20  # distinct texts up to which it is one even where nearly every row has another


class ColumnRole(Enum):
    """What a column is in the books."""

    TIME = "time"
    YEAR = "year"
    MONTH = "month"
    AMOUNT = "amount"
    DEBIT = "debit"
    CREDIT = "credit"
    SIDE = "side"
    SCENARIO = "scenario"
    ACCOUNT = "account"
    CURRENCY = "currency"
    DIMENSION = "dimension"
    NAME = "name"
    TEXT = "text"
    ACROSS = "across"  # one of the columns that are named by months
    UNUSED = "unused"


AMOUNTS: Final = frozenset({ColumnRole.AMOUNT, ColumnRole.DEBIT, ColumnRole.CREDIT})


class ColumnProfile(Struct, frozen=True):
    """What the texts of a column are: days, numbers, and how many differ."""

    name: str
    day: DayColumn | None
    number: NumberColumn | None
    values: tuple[str, ...]  # that differ, in the order of their rows
    filled: int
    rows: int

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing."""
        return not self.values

    @property
    def is_wordy(self) -> bool:
        """Whether its texts are words, as names are, and no codes."""
        plain = self.number is None and self.day is None and not self.is_empty
        words = sum(bool(re.search(r"[^\W\d_]{2}", text)) for text in self.values[:MOST_MEMBERS])
        return plain and words > len(self.values[:MOST_MEMBERS]) // 2

    @property
    def is_key(self) -> bool:
        """Whether each row has a text of its own."""
        return self.filled == self.rows == len(self.values) and self.rows > 1

    @property
    def is_dimension(self) -> bool:
        """Whether its texts repeat as those of a dimension do."""
        return len(self.values) <= max(FEW, min(MOST_MEMBERS, self.filled // 3))


def profile(sample: SampleTable, column: str, answered: ColumnRole | None = None) -> ColumnProfile:
    """Return what the texts of a column are, as far as nobody answered what they are."""
    texts = sample.all_texts(column)
    is_time = answered is ColumnRole.TIME
    day = days_of(sample, column, is_time=is_time) if not texts.is_empty() and answered not in AMOUNTS else None
    number = (
        None
        if day is not None and (DATE_WORDS.search(column) or day.grain is Grain.DATE)
        else amounts_in(sample, column)
        if answered in AMOUNTS
        else number_column(sample, column)
    )
    return ColumnProfile(column, day, number, tuple(texts["text"]), int(texts["times"].sum()), sample.frame.height)
