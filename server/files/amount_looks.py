"""Looks at amounts: the texts of a column that tell its notation, and those that stand for no figure."""

from collections.abc import Sequence
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.feeds.extract_formats import NumberFormat
from server.files.findings import located
from server.files.notation import NONE_WORDS, Notation, NumberColumn, notations_of
from server.files.rejects import ROW

SAMPLE = 2_000  # texts of a column that are looked at in each batch
GROUPED = 1_000  # further ones, of those such as 1.234
PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
POINT = r"^[+-]?(\d{4,}\.\d*|\d*\.(\d{1,2}|\d{4,}))$"  # a number whose point marks no thousands
THREE = r"\.\d{3}\s*[-−)]?\s*$"  # three digits after a point
DECIMALS = 3  # places with which 1.234 is a plain number
DECISIVE: Final = r"[.,'’\s].*[.,]|[.,]\d{1,2}\D*$|[.,]\d{4,}"  # a number with one meaning at most
PADDED: Final = r"^\s|\s$"
NOTHING: Final = tuple(  # texts that stand for no figure, as they are spelled
    dict.fromkeys(made(word) for word in sorted(NONE_WORDS) for made in (str, str.upper, str.title))
)


class NumberLook(Struct, frozen=True):
    """Some texts of a column of amounts with their rows, and whether they are plain numbers beyond doubt."""

    name: str
    texts: pl.DataFrame  # text, row; without repetitions
    is_plain: bool
    point: str | None  # a number whose point can only be that of its decimal places, in words

    @property
    def column(self) -> NumberColumn:
        """Those of the texts that are numbers in some notation."""
        numbers = tuple((text, row) for text, row in self.texts.iter_rows() if notations_of(text))
        return NumberColumn(self.name, numbers, (), None, has_blank=False)


def every(column: pl.Series) -> pl.Series:
    """Return texts of a column, evenly chosen where there are many."""
    return column.gather_every(max(1, len(column) // SAMPLE))


def look_at(rows: pl.DataFrame, column: str, places: int, *, has_commas: bool) -> NumberLook:
    """Return numbers of a column: some, and more of those such as 1.234 where the point may mark thousands."""
    texts = rows[column]
    some = every(pl.int_range(len(texts), eager=True, dtype=pl.UInt32))
    is_plain = bool(texts.gather(some).str.contains(PLAIN).all())  # blanks do not count
    grouped = pl.Series([], dtype=pl.UInt32)
    if places < DECIMALS or has_commas:
        ends = texts.str.tail(DECIMALS + 1).str.starts_with(".") if is_plain else texts.str.contains(THREE)
        grouped = ends.arg_true().head(GROUPED)
    points = texts.str.contains(POINT).arg_true().head(1) if len(grouped) else grouped
    at = pl.concat([some, grouped, points]).unique().sort()
    chosen = pl.DataFrame({"text": texts.gather(at).str.strip_chars(), "row": rows[ROW].gather(at)})
    distinct = chosen.filter((pl.col("text") != "").fill_null(value=False)).unique("text", maintain_order=True)
    pointed = distinct.filter(pl.col("text").str.contains(POINT))
    point = located(column, [pointed.row(0)]) if pointed.height else None
    is_plain = grouped.is_empty() and bool(distinct["text"].str.contains(PLAIN).all())
    return NumberLook(column, distinct, is_plain, point)


def agrees(notation: Notation, written: NumberFormat) -> bool:
    """Tell whether a notation has the marks that are written."""
    thousands = "none" if written.thousands == "" else written.thousands
    return written.decimal in (None, notation.decimal) and thousands in (None, notation.thousands)


def reads_all(notation: Notation, texts: Sequence[str]) -> bool:
    """Tell whether every text is a number in a notation."""
    return all(notation in notations_of(text) for text in texts)


def with_texts(column: NumberColumn, notation: Notation) -> NumberColumn:
    """Return a column with those of its numbers that a notation reads."""
    return replace(column, numbers=tuple(pair for pair in column.numbers if notation in notations_of(pair[0])))


def first_words(texts: pl.Series, rows: pl.Series) -> list[tuple[str, int]]:
    """Return the texts of a column that stand for no figure, each with its first row.

    Spaces around them are taken away where some texts of the column have any.
    """
    stripped = texts.str.strip_chars() if every(texts).str.contains(PADDED).any() else texts
    at = stripped.is_in(NOTHING).fill_null(value=False).arg_true()
    if at.is_empty():
        return []
    found = pl.DataFrame({"text": stripped.gather(at), "row": rows.gather(at)})
    return list(found.unique("text", keep="first", maintain_order=True).iter_rows())
