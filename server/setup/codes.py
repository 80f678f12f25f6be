"""Codes: columns of whole numbers that are keys, such as those of accounts, documents and companies, and no amounts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl
from msgspec import Struct

from server.files.notation import AMOUNT_WORDS, NumberColumn, words_of
from server.files.number_looks import WHOLE, has_places
from server.setup.words import named

FEWEST_ROWS: Final = 3  # of which a constant, or a run of numbers, tells that a column is no amount
FEWEST_TIMES: Final = 2  # how often each number of a key stands there on average, at least
COUNT_WORDS: Final = named(  # of whole numbers that are counted, and may repeat
    "units|unit|quantity|qty|menge|anzahl|hours|stunden|heads|headcount|fte|stück|pieces|count|volume|days|tage|"
    "cantidad|quantité|quantità|aantal|quantidade|qtde|ilość|antal|määrä|miktar"
)


class NumberTexts(Struct, frozen=True):
    """A column of numbers beside the texts of its rows."""

    column: NumberColumn
    texts: pl.Series  # without empty ones

    @property
    def has_places(self) -> bool:
        """Whether some of its numbers have decimal places."""
        return any(has_places(text) for text, _ in self.column.numbers)

    @property
    def may_be_code(self) -> bool:
        """Whether all are whole numbers without a sign, and its name speaks of nothing that adds up."""
        words = words_of(self.column.name)
        plain = not AMOUNT_WORDS.search(words) and not COUNT_WORDS.search(words)
        return plain and bool(self.texts.str.contains(WHOLE).all())

    @property
    def distinct(self) -> int:
        """How many numbers differ."""
        return self.texts.n_unique()

    @property
    def is_constant(self) -> bool:
        """Whether every row has the same number."""
        return self.distinct == 1 and self.texts.len() >= FEWEST_ROWS

    @property
    def is_run(self) -> bool:
        """Whether each row has a number of its own, counted up by one."""
        count = self.texts.len()
        if count < FEWEST_ROWS or self.distinct != count:
            return False
        numbers = self.texts.str.to_integer(strict=False).drop_nulls()
        return numbers.len() == count and bool((numbers.diff().drop_nulls() == 1).all())

    @property
    def repeats(self) -> bool:
        """Whether its numbers, all of one width, stand there again and again."""
        wide = self.texts.str.len_chars().n_unique() == 1
        return wide and self.distinct * FEWEST_TIMES <= self.texts.len()


def code_columns(
    frame: pl.DataFrame, numbers: Mapping[str, NumberColumn], wordy: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the columns of numbers that are codes, each with what tells it; `wordy` are those of words."""
    columns = {name: NumberTexts(one, filled(frame[name])) for name, one in numbers.items()}
    beside_amounts = any(one.has_places for one in columns.values())
    for name, one in columns.items():
        if not one.may_be_code:
            continue
        if label := next((other for other in wordy if names_each(frame, name, other, alone=beside_amounts)), None):
            yield name, f"each number has one {label}"
        elif one.is_constant:
            yield name, f"every row has {one.texts[0]}"
        elif beside_amounts and one.is_run:
            yield name, "its numbers count the rows"
        elif beside_amounts and one.repeats:
            yield name, f"{one.distinct} whole numbers of one width that repeat"


def filled(column: pl.Series) -> pl.Series:
    """Return the texts of a column that are not empty."""
    texts = column.str.strip_chars()
    return texts.filter((texts != "").fill_null(value=False))


def names_each(frame: pl.DataFrame, code: str, label: str, *, alone: bool) -> bool:
    """Tell whether each number has one text beside it, and each text one number, over rows in which they repeat.

    If amounts stand in other columns (`alone`), they need not repeat where the text follows the number.
    """
    pairs = frame.select(code, label).drop_nulls()
    distinct = pairs.unique()
    one_each = distinct[code].n_unique() == distinct.height == distinct[label].n_unique()
    repeat = distinct.height * FEWEST_TIMES <= pairs.height
    follows = alone and frame.columns.index(label) == frame.columns.index(code) + 1
    return one_each and distinct.height >= FEWEST_TIMES and (repeat or follows)
