"""The search among many entries finds what a look at each text finds, and reads few of the texts."""

from pathlib import Path

import polars as pl
import pytest

from engine.books import lexicon, word_search
from engine.books.search import findable_members
from engine.books.search_index import Index, SeenRows
from engine.books.word_search import WordQuery
from engine.door import Door
from tests.support.books.searched import books_of, find

NAMES = ("Smith Robotics S.A.", "Weiß Optics", "O'Brien & Sons", "Robotics-Smith 7", "K.K. Łukasz", "A" * 45 + "Z")
QUERIES = (
    *("smith", "smith robotics", "robotics smith", "s.a.", "s a", "& sons", "o'brien", "o brien", "weiß opt", "k.k. 1"),
    *(
        "#",
        "& &",
        "smith 1",
        "smith 1 2",
        "mith botic",
        "aaz",
        "a z",
        "xx",
        "7",
        "12",
        "c0012",
        "c0012 smith",
        "-smith",
    ),
    *(
        "smiht",
        "smiht robotcs",
        "smith robotcs",
        "obrine sons",
        "opticss 1",
        "weis &",
        "c00x12",
        "weiss smith",
        "lukas",
    ),
    *(
        "smithrobotics",
        "robotics-smith",
        "robotics–smith",
        "´n",
        "s.a. robotics",
        "ro.bo",
        "c0001 c0002",
        "top",
        "none",
    ),
)
NOWHERE = ("#", "none", "xx", "ro.bo", "´n", "weiss smith")
FEW, MANY = 300, 3_000


def members(folder: Path, count: int) -> Door:
    """Return books of some members, each with one of a few names and a number, and a tree above them."""
    customers = (f"C{at:04d} {NAMES[at % len(NAMES)].replace(' ', '~')}~{at} -" for at in range(count))
    nodes = (f"C{at:04d} Top -" for at in range(count))
    return books_of(
        folder / str(count),
        facts={"sales": "date scenario customer region voucher amount\n2026-01-05 actual C0001 EU v1 1"},
        tables={
            "customer": "\n".join(("id name segment", *customers)),
            "territory": "\n".join(("node parent name", "Top - Top", *nodes)),
            "channel": "node parent name\nDirect - Direct",
        },
    )


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A few hundred members."""
    return members(tmp_path_factory.mktemp("few"), FEW)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Ten times as many."""
    return members(tmp_path_factory.mktemp("many"), MANY)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("limit", [1, 50, 1_000])
def test_tables_and_texts_find_the_same(few: Door, monkeypatch: pytest.MonkeyPatch, query: str, limit: int) -> None:
    """Wherever tables stop being asked, and however few texts are read at once."""
    expected = find(few, query, limit=limit)
    assert (query in NOWHERE) is not bool(expected.records or expected.hierarchy_nodes)
    monkeypatch.setattr(word_search, "MANY", 0)
    members = findable_members(None, few.reader)
    assert word_search.suits(members.index, members.seen)
    for bound in (0, 10, 10_000):
        monkeypatch.setattr(word_search, "FEW", bound)
        monkeypatch.setattr(word_search, "LARGE", bound // 2)
        monkeypatch.setattr(word_search, "FIRST_BLOCK", bound)
        monkeypatch.setattr(lexicon, "FEW", bound)
        monkeypatch.setattr(lexicon, "FREQUENT", bound)
        monkeypatch.setattr(lexicon, "MAX_SHORT", bound)
        assert find(few, query, limit=limit) == expected


@pytest.mark.parametrize("query", [query for query in QUERIES if query not in ("#", "& &", "s a", "a z")])
def test_ten_times_the_members_have_as_many_texts_read(
    few: Door, many: Door, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(word_search, "MANY", 0)
    monkeypatch.setattr(word_search, "FIRST_BLOCK", 20)
    monkeypatch.setattr(word_search, "FEW", 40)
    read = [0]
    matching, texts_of = WordQuery._matching, Index.texts_of

    def matching_counted(query: WordQuery, firsts: pl.Series, condition: pl.Expr) -> pl.Series:
        read[0] += len(firsts)
        return matching(query, firsts, condition)

    def texts_counted(index: Index, seen: SeenRows, *words: object) -> pl.DataFrame:
        texts = texts_of(index, seen, *words)  # type: ignore[arg-type]  # those of texts_of
        read[0] += texts.height
        return texts

    monkeypatch.setattr(WordQuery, "_matching", matching_counted)
    monkeypatch.setattr(Index, "texts_of", texts_counted)
    counts = []
    for books in (few, many):
        read[0] = 0
        find(books, query, limit=3)
        counts.append(read[0])
    assert counts[1] <= 2 * counts[0] + 400
