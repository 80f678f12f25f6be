"""The search for one word among many entries: the best matches of a reader who sees nearly all of them.

Sorted tables of texts and words tell which entries begin with the word. Texts are read only where too few do.
"""

from collections.abc import Callable
from functools import partial
from unicodedata import category

import polars as pl

from engine.books.lexicon import ENTRY, prefix_range
from engine.books.search_index import BEGINS, CONTAINS, EXACT, NODE, RANK, RECORD, ROW, WORD_BEGINS, Index, SeenRows
from engine.model.stopping import look

MANY = 20_000  # entries; of fewer all are read
FIRST_BLOCK = 4_096  # entries that may contain a word and are read first


def suits(query: str, index: Index, seen: SeenRows) -> bool:
    """Tell whether a folded query is one word of letters and digits, among many entries that the reader sees."""
    is_word = all(category(char)[0] in "LN" for char in query)
    return is_word and seen.shows_nearly_all and index.entries.height > MANY


def best_of_word(word: str, index: Index, seen: SeenRows, most: tuple[int, int]) -> pl.DataFrame:
    """Return the best rows that contain a word: columns ROW and RANK. `most` says how many records and nodes to find.

    There may be more rows, which are no better.
    """
    entries_of: dict[int, Callable[[str], pl.Series | None]] = {
        EXACT: partial(beginning, index, whole=True),
        BEGINS: partial(beginning, index),
        WORD_BEGINS: index.lexicon.beginning,
        CONTAINS: lambda word: index.may_contain(seen, [word]),
    }
    best = pl.DataFrame(schema={ROW: pl.UInt32, RANK: pl.UInt32})
    for rank, find in entries_of.items():
        look()
        entries = find(word)
        if entries is not None and entries.is_empty():
            continue
        firsts = [
            first_rows(index, column, count + best.height + seen.hidden, entries, word if rank == CONTAINS else "")
            for column, count in zip((RECORD, NODE), most, strict=True)
        ]
        shown = index.rows[ENTRY][pl.concat(firsts)].unique().to_frame()
        rows = index.rows_of(shown.with_columns(pl.lit(rank, pl.UInt32).alias(RANK)), seen)
        best = pl.concat([best, rows]).unique(ROW, keep="first", maintain_order=True) if best.height else rows
        nodes = (best[ROW] >= index.first_node).sum()
        if best.height - nodes >= most[0] and nodes >= most[1]:
            break
    return best


def beginning(index: Index, word: str, *, whole: bool = False) -> pl.Series:
    """Return the entries with an id, code or name that begins with a word, or is the `whole` word."""
    begin, end = prefix_range(index.wholes["whole"], word)
    end = index.wholes["whole"].search_sorted(word, side="right") if whole else end
    texts = index.wholes[begin:end]
    return texts[ENTRY].filter(texts["first"] >= len(word))


def first_rows(index: Index, column: str, count: int, entries: pl.Series | None, word: str) -> pl.Series:
    """Return the first row, by a column, of so many entries that contain a word, of all if there are fewer.

    `entries` are those that may contain it, None for all; they do if the word is empty.
    """
    firsts = (index.entries[column] if entries is None else index.entries[column][entries]).drop_nulls()
    if not word:
        firsts = firsts.unique()
        return firsts.bottom_k(count) if count < len(firsts) else firsts
    for block in (FIRST_BLOCK + count, len(firsts)):
        few = firsts.bottom_k(block) if block < len(firsts) else firsts
        contains = index.entries["words"][index.rows[ENTRY][few]].str.contains(word, literal=True)
        if (few := few.filter(contains)).len() >= count:
            break
    return few
