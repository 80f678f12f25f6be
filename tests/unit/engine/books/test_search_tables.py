"""The tables of a search are kept beside the store: whoever comes first makes them, once."""

import shutil
from pathlib import Path
from threading import Thread

import polars as pl
import pytest

from engine.books import lexicon, search_index
from engine.books import search as search_module
from engine.books.lexicon import words_in
from engine.books.search import index_of, is_findable, keep_index, make_index
from engine.books.search_index import tables_of
from engine.books.search_rows import TreeNodes, described
from engine.door import Door, open_books
from engine.facts import derived
from engine.facts.manifest import locked
from engine.model.scope import UNASSIGNED
from engine.model.stopping import stopped_by
from tests.support.books.loads import load_feeds
from tests.support.books.searched import FACTS, books_of, find, ids
from tests.support.books.small import LEDGER, csv, small_books

QUERIES = (None, "k1", "muller sohne", "r&d", "angstorm", "europe", "retail", "own", "a-100", "zzyzx")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of loaded books that nobody searched."""
    books_of(tmp_path)
    return tmp_path


class TooLateError(Exception):
    """Nobody waits for the call any more."""


def stop() -> None:
    """Stop the call."""
    raise TooLateError


def opened(home: Path) -> Door:
    """Open the books anew, with nothing in memory."""
    return open_books(home / "small", state=home / "state")


def folder(home: Path) -> Path:
    """The folder of tables that are made of others."""
    return home / "state" / "store" / derived.FOLDER


def kept(home: Path) -> list[Path]:
    """Return the folders of tables that are kept."""
    return sorted(path for path in folder(home).glob("*") if path.is_dir())


def answers(books: Door) -> list[object]:
    """Return what some searches find."""
    return [find(books, query) for query in QUERIES]


def unmade(*_: object) -> None:
    """Fail where the tables are made."""
    raise AssertionError("the tables are made again")


def test_whoever_searches_first_makes_the_tables_and_all_others_map_them(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a store that an earlier release wrote has them after the first search."""
    assert not kept(home)
    first = answers(opened(home))
    assert len(kept(home)) == 1
    monkeypatch.setattr(search_module, "make_index", unmade)
    books = opened(home)
    assert answers(books) == first
    assert index_of(books.reader).are_mapped


def test_a_load_or_a_start_keeps_them_beforehand(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_index(opened(home)._shelf.current())
    monkeypatch.setattr(search_module, "make_index", unmade)
    assert ids(find(opened(home), "k1"))


def test_a_load_of_facts_leaves_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = answers(opened(home))
    monkeypatch.setattr(search_module, "make_index", unmade)
    version = opened(home)._shelf.current().version
    for facts in ("date scenario customer region voucher amount\n2026-02-05 actual K2 EU v2 7", FACTS):
        (home / "small" / "data" / "sales.csv").write_text(csv(facts))
        load_feeds(home / "small", home / "state", "sales")
    assert opened(home)._shelf.current().version == version + 2
    assert answers(opened(home)) == first


@pytest.mark.parametrize("harm", ["damaged", "cut", "gone"])
def test_tables_that_cannot_be_read_are_made_again(home: Path, harm: str) -> None:
    first = answers(opened(home))
    (place,) = kept(home)
    for file in sorted(place.iterdir())[:1] if harm != "gone" else [place]:
        if harm == "damaged":
            file.write_bytes(b"no table")
        elif harm == "cut":
            file.write_bytes(file.read_bytes()[:-100])
        else:
            shutil.rmtree(place)
    assert answers(opened(home)) == first
    assert index_of(opened(home).reader).are_mapped


def test_where_the_store_cannot_be_written_they_stay_in_memory(home: Path) -> None:
    first = answers(opened(home))
    shutil.rmtree(folder(home))
    folder(home).write_text("a file, so that nothing can be written below it")
    books = opened(home)
    assert answers(books) == first
    index = index_of(books.reader)
    assert not index.are_mapped
    assert index.members_held() > 0
    folder(home).unlink()


def test_a_full_disk_leaves_them_in_memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = answers(opened(home))
    shutil.rmtree(folder(home))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(derived, "spool", full)
    assert answers(opened(home)) == first
    monkeypatch.undo()
    assert answers(opened(home)) == first
    assert len(kept(home)) == 1


def test_two_that_come_at_once_make_them_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = search_module.make_index

    def counted(*arguments: object) -> object:
        made.append(1)
        return make(*arguments)  # type: ignore[arg-type]  # those of make_index

    monkeypatch.setattr(search_module, "make_index", counted)
    doors = [opened(home), opened(home)]
    threads = [Thread(target=find, args=(door, "k1")) for door in doors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_whoever_waits_for_them_can_be_stopped(home: Path) -> None:
    find(opened(home), "k1")
    shutil.rmtree(kept(home)[0])

    with (folder(home) / derived.LOCK).open("ab") as lock:
        assert locked(lock.fileno())
        with stopped_by(stop), pytest.raises(TooLateError):
            find(opened(home), "k1")
    assert ids(find(opened(home), "k1"))


def test_tables_are_the_same_however_much_is_read_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = opened(home).reader
    findable = [dimension for dimension in reader.catalogue.dimensions.values() if is_findable(dimension)]
    whole = tables_of(make_index(findable, reader))
    sizes: list[int] = []

    def counted(texts: pl.Series, first: int) -> pl.DataFrame:
        sizes.append(len(texts))
        return words_in(texts, first)

    monkeypatch.setattr(lexicon, "words_in", counted)
    for count in (1, 3):
        sizes.clear()
        monkeypatch.setattr(search_index, "ENTRIES_AT_ONCE", count)
        monkeypatch.setattr(lexicon, "PIECE", count)
        tables = tables_of(make_index(findable, reader))
        assert {name: table.to_dicts() for name, table in tables.items()} == {
            name: table.to_dicts() for name, table in whole.items()
        }
        assert sum(sizes) == whole["entries"].height
        assert max(sizes) == count


def test_a_walk_down_the_nodes_of_a_tree_can_be_stopped() -> None:
    nodes = [f"n{at}" for at in range(5_000)]
    table = pl.DataFrame({"node": nodes, "parent": [None, *nodes[:-1]]})
    tree = TreeNodes.of(described(pl.Series([UNASSIGNED]), None), table)

    with stopped_by(stop), pytest.raises(TooLateError):
        _ = tree.order
    assert tree.is_simple


def test_tables_of_members_of_long_ago_are_deleted(home: Path) -> None:
    rows = index_of(opened(home).reader).rows
    for name in ("a", "b", "c"):
        derived.derived_tables(home / "state" / "store", name, lambda: {"rows": rows})
    assert len(kept(home)) == derived.MAX_FOLDERS


def test_books_without_dimensions_are_searched_for_metrics(tmp_path: Path) -> None:
    books = small_books(tmp_path, facts={"gl": "date scenario amount\n2021-01-05 actual 1"}, domains={"gl": LEDGER})
    found = find(books, "revenue")
    assert ([metric.key for metric in found.metrics], ids(found)) == (["revenue"], [])
    assert not kept(tmp_path)
