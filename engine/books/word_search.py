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
    entries_of: dict[int, Callable[[str], pl.Series]] = {
        EXACT: partial(beginning, index, whole=True),
        BEGINS: partial(beginning, index),
        WORD_BEGINS: index.lexicon.beginning,
    }
    found = pl.DataFrame(schema={ROW: pl.UInt32, RANK: pl.UInt32})
    for rank in (EXACT, BEGINS, WORD_BEGINS, CONTAINS):
        look()
        candidates = index.may_contain(seen, [word]) if rank == CONTAINS else None
        for column, count in zip((RECORD, NODE), most, strict=True):
            need = count + found.height + seen.hidden
            if rank == CONTAINS:
                firsts = first_containing(index, word, column, need, candidates)
            else:
                firsts = index.entries[column][entries_of[rank](word)].drop_nulls().unique()
                firsts = firsts.bottom_k(min(need, len(firsts)))
            entries = index.rows[ENTRY][firsts].unique().to_frame()
            each = index.rows_of(entries.with_columns(pl.lit(rank, pl.UInt32).alias(RANK)), seen)
            found = pl.concat([found, each]).unique(ROW, keep="first", maintain_order=True)
        nodes = (found[ROW] >= index.first_node).sum()
        if found.height - nodes >= most[0] and nodes >= most[1]:
            break
    return found


def beginning(index: Index, word: str, *, whole: bool = False) -> pl.Series:
    """Return the entries with an id, code or name that begins with a word, or is the `whole` word."""
    begin, end = prefix_range(index.wholes["whole"], word)
    end = index.wholes["whole"].search_sorted(word, side="right") if whole else end
    texts = index.wholes[begin:end]
    return texts[ENTRY].filter(texts["first"] >= len(word))


def first_containing(index: Index, word: str, column: str, count: int, candidates: pl.Series | None) -> pl.Series:
    """Return the first row, by a column, of so many of some entries that contain a word; of all if there are fewer."""
    firsts = index.entries[column] if candidates is None else index.entries[column][candidates]
    firsts = firsts.drop_nulls()
    for block in (FIRST_BLOCK + count, len(firsts)):
        few = firsts.bottom_k(min(block, len(firsts)))
        contains = index.entries["words"][index.rows[ENTRY][few]].str.contains(word, literal=True)
        if (few := few.filter(contains)).len() >= count:
            break
    return few
