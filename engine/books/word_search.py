"""The search among many entries: the best matches of a reader who sees nearly all of them.

Sorted tables of texts and words tell which entries may match, those of the best rank first. Texts are read only where
these tables cannot decide, and of few entries first.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, reduce
from operator import and_
from typing import NamedTuple

import polars as pl

from engine.books.folding import spaced
from engine.books.lexicon import ENTRY, LIKENESS, prefix_range
from engine.books.search_index import (
    ALIKE,
    BEGIN,
    BEGINS,
    CONTAINS,
    END,
    EXACT,
    MOST_WORDS,
    NODE,
    RANK,
    RECORD,
    ROW,
    ROWS,
    SPELLED,
    WORD_BEGINS,
    Index,
    SeenRows,
    begins_word,
    holding,
)
from engine.model.stopping import look

MANY = 20_000  # entries; of fewer all are read
FEW, LARGE = 4_000, 20_000  # entries and words
FIRST_BLOCK, SECOND_BLOCK = 500, 8_000  # entries whose texts are read first
NO_ENTRIES = pl.Series([], dtype=pl.UInt32)
NO_ROWS = pl.DataFrame(schema={ROW: pl.UInt32, RANK: pl.UInt32})
TRUE = pl.lit(value=True)


def suits(index: Index, seen: SeenRows) -> bool:
    """Tell whether there are many entries, of which the reader sees nearly all."""
    return seen.shows_nearly_all and index.entries.height > MANY


class Requirement(NamedTuple):
    """What a match must meet: a Boolean per entry, made of so many words, and whether no text needs to be read."""

    size: int
    entries: Callable[[], pl.Series]
    is_certain: bool = True


class EntryCandidates(NamedTuple):
    """The entries that may match: a Boolean each, None for all; `are_certain` if all of them do."""

    entries: pl.Series | None
    are_certain: bool

    @classmethod
    def of(cls, requirements: Sequence[Requirement | None]) -> "EntryCandidates":
        """Return what meets all requirements; None stands for one that only texts tell.

        Where few entries are left, their texts tell sooner what many words would.
        """
        usable = [each for each in requirements if each is not None]
        are_certain = len(usable) == len(requirements) and all(each.is_certain for each in usable)
        entries: pl.Series | None = None
        for each in sorted(usable, key=lambda each: each.size):
            if entries is not None and each.size > LARGE and (entries.sum() or 0) <= FEW:
                return cls(entries, are_certain=False)
            entries = each.entries() if entries is None else entries & each.entries()
        return cls(entries, are_certain)


class WordQuery:
    """A folded query among the entries of an index."""

    def __init__(self, query: str, index: Index) -> None:
        self._query = query
        self._index = index
        self._words = list(dict.fromkeys(query.split(" ")))

    @cached_property
    def _every(self) -> pl.Series:
        """The numbers of all entries."""
        return pl.int_range(self._index.entries.height, dtype=pl.UInt32, eager=True)

    def ranks(self) -> Iterator[tuple[int, EntryCandidates, pl.Expr]]:
        """Yield the ranks from the best, each with its candidates and what the text of a match meets besides.

        A match holds every word of the query. EntryCandidates of a rank may be matches of a better one.
        """
        text = pl.col("text").str
        whole = text.contains(f"{BEGIN}{self._query}{END}", literal=True)
        yield EXACT, self._beginning(is_whole=True), whole
        yield BEGINS, self._beginning(is_whole=False), text.contains(f"{BEGIN}{self._query}", literal=True)
        lettered = [word for word in self._words if spaced(word)]
        if lettered:
            starts = [each for word in lettered for each in self._starting(word)]
            others = [self.holding(word) for word in self._words if not spaced(word)]
            condition = reduce(and_, map(begins_word, map(spaced, lettered)))
            yield WORD_BEGINS, EntryCandidates.of([*starts, *others]), condition
        yield CONTAINS, EntryCandidates.of([self.holding(word) for word in self._words]), TRUE

    def _beginning(self, *, is_whole: bool) -> EntryCandidates:
        """Return the entries with an id, code or name that begins with the query, or is it."""
        wholes, (first, *others) = self._index.wholes, self._query.split(" ")
        joined = self._query.replace(" ", "")
        begin, end = prefix_range(wholes["whole"], joined)
        end = wholes["whole"].search_sorted(joined, side="right") if is_whole else end
        texts = wholes[begin:end]
        is_first = texts["first"] == len(first) if others else texts["first"] >= len(first)
        return EntryCandidates(self._marked(texts[ENTRY].filter(is_first)), not others and is_plain(self._query))

    def _starting(self, word: str) -> Iterator[Requirement]:
        """Yield what an entry meets that has the letters of a word at the beginning of one, as `begins_word` tells."""
        lexicon, (*wholes, last) = self._index.lexicon, spaced(word).split(" ")
        is_certain = not wholes and is_plain(word)
        for span in (*map(lexicon.span_of, wholes), lexicon.span_beginning(last)):
            yield Requirement(len(span), partial(self._with_words, span), is_certain)

    def holding(self, word: str) -> Requirement | None:
        """Return what an entry meets that holds a word, as `holding` tells; None where too many words may hold it."""
        places = self._index.lexicon.places_of(word)
        if places is None:
            return None
        starts = list(self._starting(word)) if spaced(word) not in ("", word) else []

        def entries() -> pl.Series:
            written = self._marked(self._index.lexicon.containing(word, places))
            return written | reduce(and_, (each.entries() for each in starts)) if starts else written

        size = len(places) + max((each.size for each in starts), default=0)
        return Requirement(size, entries, all(each.is_certain for each in starts))

    def _with_words(self, span: range) -> pl.Series:
        return self._marked(self._index.lexicon.entries_of(span))

    def _marked(self, entries: pl.Series) -> pl.Series:
        every = pl.repeat(value=False, n=self._index.entries.height, dtype=pl.Boolean, eager=True)
        return every.scatter(entries, values=True)

    def needs_texts(self, word: str) -> bool:
        """Tell whether texts must be read to tell which entries hold a word."""
        requirement = self.holding(word)
        return requirement is None or not requirement.is_certain

    def add_alike(self, word: str, alike: pl.DataFrame | None) -> pl.DataFrame:
        """Return the entries with a word that is like a word, or holds it: columns ENTRY and LIKENESS, ALIKE at most.

        `alike` is what other words returned; their likeness is added to.
        """
        near = self._index.lexicon.near(word)
        among = None if alike is None else alike[ENTRY]
        same = NO_ENTRIES if word == self._query else self._same(word, among)
        likeness = pl.repeat(0, n=self._index.entries.height, dtype=pl.UInt16, eager=True)
        likeness = likeness.scatter(near[ENTRY], near[LIKENESS])
        likeness = likeness.scatter(same, pl.repeat(ALIKE, n=len(same), dtype=pl.UInt16, eager=True))
        if among is None:
            among = self._every.filter(self._marked(near[ENTRY]).scatter(same, values=True))
        sums = likeness.gather(among).cast(pl.UInt32).alias(LIKENESS)
        both = sums if alike is None else sums + alike[LIKENESS]
        return pl.DataFrame([among.alias(ENTRY), both]).filter(sums > 0)

    def _same(self, word: str, among: pl.Series | None) -> pl.Series:
        """Return the entries, `among` some or of all, that hold a word."""
        requirement = self.holding(word)
        entries = self._every if among is None else among
        if requirement is not None:
            marked = requirement.entries()
            entries = entries.filter(marked if among is None else marked.gather(among))
        if requirement is not None and requirement.is_certain:
            return entries
        texts = self._index.entries.select("text", "words")[entries].with_columns(entries.alias(ENTRY)).lazy()
        return holding(texts, word).select(ENTRY).collect(engine="in-memory")[ENTRY]

    def most_alike(self, alike: pl.DataFrame, seen: SeenRows, most: tuple[int, int]) -> pl.DataFrame:
        """Return the rows of the entries that are most alike, at least so many records and nodes: ROW and RANK."""
        ranks = SPELLED + ALIKE - alike[LIKENESS]
        each, best = pl.DataFrame([alike[ENTRY], ranks.alias(RANK)]), []
        for column, count in zip((RECORD, NODE), most, strict=True):
            firsts = self._index.entries[column].gather(alike[ENTRY])
            order = ranks.cast(pl.UInt64) * ROWS + firsts
            last = order.drop_nulls().bottom_k(count + seen.hidden).max()
            best.append(each.filter(order <= last) if last is not None else each.clear())
        return self._index.rows_of(pl.concat(best).unique(), seen)

    def first_rows(self, column: str, count: int, candidates: EntryCandidates, condition: pl.Expr) -> pl.Series:
        """Return the first row, by a column, of so many matches among some candidates, of all if there are fewer."""
        entries = self._index.entries[column]
        firsts = (entries if candidates.entries is None else entries.filter(candidates.entries)).drop_nulls()
        if candidates.are_certain:
            return firsts.bottom_k(count) if count < len(firsts) else firsts
        few = firsts[:0]
        for block in (FIRST_BLOCK + count, SECOND_BLOCK + count, len(firsts)):
            few = self._matching(firsts.bottom_k(block) if block < len(firsts) else firsts, condition)
            if len(few) >= count or block >= len(firsts):
                break
        return few

    def _matching(self, firsts: pl.Series, condition: pl.Expr) -> pl.Series:
        """Return those of some rows whose texts hold every word and meet a condition."""
        look()
        texts = self._index.entries.select("text", "words")[self._index.rows[ENTRY][firsts]]
        rows = texts.with_columns(firsts.alias(ROW)).lazy()
        return reduce(holding, self._words, rows).filter(condition).select(ROW).collect(engine="in-memory")[ROW]


def is_plain(word: str) -> bool:
    """Tell whether all tables agree which characters of a word are letters, digits and others."""
    return word.isascii() or spaced(word) == word


def best_of_words(query: str, index: Index, seen: SeenRows, most: tuple[int, int]) -> pl.DataFrame:
    """Return the best rows that contain every word of a query: columns ROW and RANK.

    `most` says how many records and nodes to find. There may be more rows, which are no better.
    """
    words = WordQuery(query, index)
    best = NO_ROWS
    for rank, candidates, condition in words.ranks():
        look()
        if candidates.entries is not None and not candidates.entries.any():
            continue
        firsts = [
            words.first_rows(column, count + best.height + seen.hidden, candidates, condition)
            for column, count in zip((RECORD, NODE), most, strict=True)
        ]
        entries = index.rows[ENTRY][pl.concat(firsts)].unique().to_frame()
        rows = index.rows_of(entries.with_columns(pl.lit(rank, pl.UInt32).alias(RANK)), seen)
        best = pl.concat([best, rows]).unique(ROW, keep="first", maintain_order=True) if best.height else rows
        nodes = (best[ROW] >= index.first_node).sum()
        if best.height - nodes >= most[0] and nodes >= most[1]:
            break
    return best


def best_spelled(query: str, index: Index, seen: SeenRows, most: tuple[int, int]) -> pl.DataFrame | None:
    """Return the best rows that contain every word of a query or a close spelling, as `Index.spellings`, None if none.

    `most` says how many records and nodes to find. There may be more rows, which are no better.
    """
    words = [word for word in dict.fromkeys(query.split(" ")) if spaced(word)]
    if not 0 < len(words) <= MOST_WORDS:
        return None
    query_words = WordQuery(query, index)
    alike: pl.DataFrame | None = None
    for word in sorted(words, key=query_words.needs_texts):
        look()
        alike = query_words.add_alike(word, alike)
        if alike.is_empty():
            return None
    if alike is None:
        return None
    return query_words.most_alike(alike.with_columns(pl.col(LIKENESS) // len(words)), seen, most)
