"""The law of search: what is found, its rank, order and texts are those of a search in plain Python over each member.

The plain search opens every member list and tree and asks the reader of each member; the engine searches tables and
opens none of them. Close spellings are told apart only by that nothing matches as written.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.books import word_search
from engine.books.folding import fold, fold_whole
from engine.books.member_names import find_by_name
from engine.books.reader import Reader, code_of, label_of, path_of
from engine.books.search import CLOSE_SPELLING, WHY, Hit, first_ids, is_findable, search
from engine.books.several_names import search_names
from engine.model.catalogue import DimensionKind
from engine.model.errors import Unavailable
from engine.model.requests import SearchRequest
from engine.model.scope import UNASSIGNED
from tests.laws.scoped.books import ScopedBooks
from tests.laws.scoped.law import seen_books
from tests.laws.scoped.profiles import ProfileSpec
from tests.laws.scoped.writing import ScopedTools
from tests.support.engines.memory import folder_in_memory

BEGIN, END = "\x02", "\x03"
SEEN = tuple[ScopedBooks, tuple[ProfileSpec, ...]]


class PlainRow(NamedTuple):
    """A visible member or node."""

    hit: Hit
    is_node: bool

    @property
    def parts(self) -> list[str]:
        """The folded id, code and name, each once."""
        texts = (self.hit.id, self.hit.code, self.hit.name)
        return list(dict.fromkeys(fold(text) for text in texts if text))

    def rank(self, query: str) -> int | None:
        """Return the rank of the row for a folded query, None if it does not match."""
        text = "".join(f"{BEGIN}{part}{END}" for part in self.parts)
        words = between(text, END)
        asked = query.split(" ")
        if not all(matches(text, words, word) for word in asked):
            return None
        if f"{BEGIN}{query}{END}" in text:
            return 1
        if f"{BEGIN}{query}" in text:
            return 2
        letters = [spelled for word in asked if (spelled := between(word).strip())]
        return 3 if letters and all(f" {spelled}" in words for spelled in letters) else 4


def between(text: str, kept: str = "") -> str:
    """Return a text with one space for each run of what is no letter or digit."""
    chars = (char if category(char)[0] in "LN" or char in kept else " " for char in text)
    runs = "".join(chars)
    while "  " in runs:
        runs = runs.replace("  ", " ")
    return runs


def matches(text: str, words: str, word: str) -> bool:
    """Tell whether a text contains a word as written or, at the beginning of a word, with other punctuation."""
    letters = between(word).strip()
    return word in text or (letters not in ("", word) and f" {letters}" in words)


def plain_rows(reader: Reader, dimension: str | None) -> Iterator[PlainRow]:
    """Yield the visible members, then the nodes, in display order."""
    keys = [key for key in reader.dimensions if dimension in (None, key) and is_findable(reader.dimensions[key])]
    trees = {key for key in keys if reader.dimensions[key].kind is DimensionKind.RAGGED}
    for key in sorted(keys, key=trees.__contains__):
        try:
            members = reader.members(key)
        except Unavailable:
            continue
        for member in (*members.ids(), UNASSIGNED):
            if member in reader.visible(key):
                name, code = label_of(key, member, reader), code_of(key, member, reader)
                path, above = path_of(key, member, reader), members.path(member)
                parent = above[-1] if above else None
                hit = Hit(dimension=key, id=member, name=name, code=code, path=path, why="", parent=parent)
                yield PlainRow(hit, key in trees)


def plain_search(rows: list[PlainRow], query: str) -> dict[bool, list[tuple[str, Hit]]]:
    """Return the hits of a folded query as records and as nodes, best first."""
    ranked = [(row.rank(query) if query else 0, row) for row in rows]
    best = sorted(((rank, row) for rank, row in ranked if rank is not None), key=lambda pair: pair[0])
    return {
        is_node: [(WHY[rank], row.hit) for rank, row in best if row.is_node is is_node] for is_node in (False, True)
    }


@st.composite
def queries(draw: st.DrawFn, rows: list[PlainRow]) -> str | None:
    """Draw a query: a text of a row, a piece of it, two texts, or something else."""
    texts = [text for row in rows for text in (row.hit.id, row.hit.code, row.hit.name) if text] or ["a"]
    text = draw(st.sampled_from(texts))
    begin = draw(st.integers(0, len(text) - 1))
    piece = text[begin : begin + draw(st.integers(1, 5))]
    two = f"{piece} {draw(st.sampled_from(texts))}"
    joined = text.replace(" ", "")[: draw(st.integers(1, 9))]
    written = text[:begin] + draw(st.sampled_from((" ", "-", ".", "x"))) + text[begin:]
    return draw(st.sampled_from((None, text, text.upper(), piece, piece, joined, two, written)))


def shown(hits: tuple[Hit, ...]) -> list[tuple[str, str, str, str | None, str, tuple[str, ...], str | None]]:
    """Return what hits say."""
    return [(hit.why, hit.dimension, hit.name, hit.code, hit.id, hit.path, hit.parent) for hit in hits]


@pytest.mark.parametrize("many", [0, word_search.MANY])
@given(data=st.data(), known=seen_books())
def test_a_search_finds_what_a_look_at_each_member_finds(many: int, data: st.DataObject, known: SEEN) -> None:
    """Both as among few members, of which all are read, and as among many."""
    with folder_in_memory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_search, "MANY", many)
        reader = ScopedTools(*known, folder / "seen").caller(10_000).reader
        keys = [None, *(key for key, dimension in reader.dimensions.items() if is_findable(dimension))]
        for _ in range(12):
            dimension = data.draw(st.sampled_from(keys))
            rows = list(plain_rows(reader, dimension))
            query, limit = data.draw(queries(rows)), data.draw(st.sampled_from((1, 2, 5, 50)))
            offset = data.draw(st.sampled_from((0, 0, 1, 3)))
            try:
                found = search(SearchRequest(query=query, dimension=dimension, limit=limit, offset=offset), reader)
            except Unavailable:
                continue
            expected = plain_search(rows, fold(query or ""))
            if query and not any(expected.values()):
                assert {hit.why for hit in (*found.records, *found.hierarchy_nodes)} <= {CLOSE_SPELLING}
                continue
            for is_node, hits, more in (
                (False, found.records, found.more_records),
                (True, found.hierarchy_nodes, found.more_nodes),
            ):
                page = expected[is_node][offset : offset + limit]
                each = [(why, hit.dimension, hit.name, hit.code, hit.id, hit.path, hit.parent) for why, hit in page]
                assert shown(hits) == each, (query, dimension)
                assert more is (len(expected[is_node]) > offset + limit)


def fewest_names(words: tuple[str, ...], rows: list[PlainRow]) -> int | None:
    """Return of how many names some words are made at least, one after the other; None if they are of none.

    A name begins a text or a word of it.
    """
    counts = []
    for end in range(1, len(words) + 1):
        ranks = [row.rank(fold(" ".join(words[:end]))) for row in rows]
        rest = 0 if end == len(words) else fewest_names(words[end:], rows)
        if rest is not None and any(rank is not None and rank <= 3 for rank in ranks):
            counts.append(1 + rest)
    return min(counts, default=None)


@given(data=st.data(), known=seen_books())
def test_words_that_no_name_has_are_the_fewest_names_that_have_them(data: st.DataObject, known: SEEN) -> None:
    """As written; close spellings are tried only where these have none."""
    with folder_in_memory() as folder:
        reader = ScopedTools(*known, folder / "seen").caller(10_000).reader
        for dimension in [key for key, dimension in reader.dimensions.items() if is_findable(dimension)]:
            rows = list(plain_rows(reader, dimension))
            texts = [text for row in rows for text in (row.hit.id, row.hit.code, row.hit.name) if fold(text or "")]
            words = " ".join(data.draw(st.lists(st.sampled_from(texts or ["a"]), min_size=2, max_size=3))).split()
            whole = search(SearchRequest(query=" ".join(words), dimension=dimension), reader)
            expected = fewest_names(tuple(words), rows) if whole.is_empty and len(words) <= 8 else None
            results = search_names(SearchRequest(query=" ".join(words), dimension=dimension), reader)
            if expected is not None:
                assert " ".join(result.query or "" for result in results).split() == words
                assert len(results) == expected
                assert not any(result.is_empty for result in results)


@given(data=st.data(), known=seen_books())
def test_a_name_stands_for_what_a_look_at_each_member_finds(data: st.DataObject, known: SEEN) -> None:
    with folder_in_memory() as folder:
        reader = ScopedTools(*known, folder / "seen").caller(10_000).reader
        for dimension in [key for key, dimension in reader.dimensions.items() if is_findable(dimension)]:
            rows = list(plain_rows(reader, dimension))
            name = data.draw(queries(rows)) or "a"
            key = fold_whole(name)
            columns = ([(row.hit.id, (row.hit.id, row.hit.code, row.hit.name)[at]) for row in rows] for at in range(3))
            kinds = ([(member, text) for member, text in each if text and fold_whole(text) == key] for each in columns)
            called = next((each for each in kinds if each), [])
            exact = [member for member, text in called if text == name]
            expected = exact if len(exact) == 1 else list(dict.fromkeys(member for member, _ in called))
            assert find_by_name(dimension, [name], reader) == ({name: expected} if expected else {})


@given(known=seen_books(), count=st.integers(1, 6))
def test_the_first_ids_are_those_that_a_reader_sees(known: SEEN, count: int) -> None:
    """Examples of tools are made of them, without opening a tree."""
    with folder_in_memory() as folder:
        reader = ScopedTools(*known, folder / "seen").caller(10_000).reader
        for key in reader.dimensions:
            if is_findable(reader.dimensions[key]):
                try:
                    expected = list(islice(reader.visible_ids(key), count))
                except Unavailable:
                    continue
                assert list(first_ids(key, count, reader)) == expected
