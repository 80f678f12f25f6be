"""Signatures: bits of all pieces of three bytes of a text. A text without the bits of a word does not contain the word.

A search looks at the signatures of all texts, which takes a few milliseconds for a million, and reads the texts left.
"""

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

from engine.model.stopping import watched

PIECE = 3  # bytes
WIDTH = 64  # bits of a column
COLUMNS = tuple(f"bits{number}" for number in range(4))
SCHEMA = dict.fromkeys(COLUMNS, pl.UInt64)
BITS = WIDTH * len(COLUMNS)
FACTOR = 2654435761  # of Knuth: spreads the pieces over the bits
RANGE = 2**32
TEXTS_AT_ONCE = 50_000
POWERS = pl.Series([1 << place for place in range(WIDTH)], dtype=pl.UInt64)


def may_contain(words: Iterable[str]) -> pl.Expr | None:
    """Return an expression over signatures: whether a text may contain all words; None if each text may."""
    masks: dict[str, int] = {}
    for word in words:
        text = word.encode()
        for at in range(len(text) - PIECE + 1):
            bit = int.from_bytes(text[at : at + PIECE], "little") * FACTOR % RANGE // (RANGE // BITS)
            column, place = COLUMNS[bit // WIDTH], bit % WIDTH
            masks[column] = masks.get(column, 0) | 1 << place
    each = ((pl.col(column), pl.lit(mask, pl.UInt64)) for column, mask in masks.items())
    return pl.all_horizontal(column & mask == mask for column, mask in each) if masks else None


def signatures(texts: pl.Series) -> pl.DataFrame:
    """Return the signature of each text: columns SCHEMA."""
    begins = watched(range(0, len(texts), TEXTS_AT_ONCE))
    return pl.concat([pl.DataFrame(schema=SCHEMA), *(signed(texts[at : at + TEXTS_AT_ONCE]) for at in begins)])


def signed(texts: pl.Series) -> pl.DataFrame:
    """Return the signature of each text of a piece of all."""
    data = "".join(texts).encode()
    letters = pl.Series("letter", pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)]))
    lengths = pl.DataFrame({"length": texts.str.len_bytes()}).with_row_index("text")
    letter, text = pl.col("letter").cast(pl.UInt64), pl.col("text")
    bit = (letter + 2**8 * letter.shift(-1) + 2**16 * letter.shift(-2)) * FACTOR % RANGE // (RANGE // BITS)
    pieces = (
        lengths.select(text.repeat_by("length").explode())
        .with_columns(letters)
        .lazy()
        .with_columns(bit=bit, inside=text.shift(-2) == text)
        .filter("inside")
        .with_columns(text.set_sorted(), power=pl.lit(POWERS).gather(pl.col("bit") % WIDTH))
    )
    of_column = (
        pl.col("power").filter(pl.col("bit") // WIDTH == number).bitwise_or().alias(name)
        for number, name in enumerate(COLUMNS)
    )
    each = lengths.lazy().select("text").join(pieces.group_by("text").agg(*of_column), on="text", how="left")
    return each.sort("text").select(pl.col(name).fill_null(0) for name in COLUMNS).collect(engine="in-memory")
