"""The memos of the books: as large as their bound, however many profiles ask."""

from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import pytest

from engine.books import books as opened_books
from engine.books.books import Books
from engine.books.reader import Reader
from engine.books.search import index_of, search
from engine.door import Door
from engine.model.errors import Unavailable
from engine.model.exact import Exact
from engine.model.members.member_sets import LeafMembers
from engine.model.profiles import EVERYONE, Grant, Profile
from engine.model.requests import SearchRequest
from engine.model.scope import UNASSIGNED, Cut
from engine.plans import base_groups
from tests.support.books.loads import load_feeds
from tests.support.books.small import LEDGER, csv, figure, small_books

MEMBERS, PROFILES = 2_000, 90
SHARE = 10  # the bound is so many times less here: as many profiles reach it with so many fewer members


def test_the_memos_of_many_profiles_are_bounded_by_the_members_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = opened_books.MEMO_MEMBERS // SHARE
    monkeypatch.setattr(opened_books, "MEMO_MEMBERS", bound)
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario product amount\n2021-01-05 actual M1 1"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            """
        },
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id\n" + "\n".join(f"M{number}" for number in range(MEMBERS))},
    ).reader._books
    for number in range(PROFILES):
        half = tuple(f"M{member}" for member in range(MEMBERS) if member % 2 or member == 2 * number)
        grant = Grant(dimensions=(Cut("product", half),))
        reader = Reader(books, [Profile(key=f"p{number}", grants=(("*", grant),))])
        assert len(reader.visible("product")) == MEMBERS // 2 + 1
    assert bound / 2 < books._memo_members <= bound
    assert sum(size for _, size in books._memos.values()) == books._memo_members


def test_the_combinations_that_a_large_report_meets_are_kept_up_to_a_bound_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_groups, "KEPT_TARGETS", 5)
    rows = "\n".join(f"2021-01-05 actual M{number} {number}" for number in range(100))
    books = small_books(
        tmp_path,
        facts={"gl": f"date scenario product amount\n{rows}"},
        domains={"gl": LEDGER.replace("dimensions: {}", "dimensions: {product: product}")},
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id\n" + "\n".join(f"M{number}" for number in range(100))},
    )
    for _ in range(2):
        report = books.metric("revenue", scenarios={"A": "actual"}, period="2021", dimensions=["product"])
        shown = [figure.as_json() for figure in report.figures[0][0] if isinstance(figure, Exact)]
        assert shown == [*range(100), 4950]
    memos: dict[Any, Any] = books.reader._books._memos
    ((made, size),) = (memo for key, memo in memos.items() if key[:1] == ("for all",) and "base_groups" in key[1])
    assert all(0 < len(group._targets) <= 5 for groups in made for group in groups)
    assert size == 1 + 101 + 101 + 5  # the memo; members of the axis and codes, with the unassigned; targets


def test_amounts_kept_for_a_filter_are_not_taken_for_those_of_who_sees_only_what_it_keeps(tmp_path: Path) -> None:
    north = "\n".join(f"2021-{month:02}-05 actual north 7" for month in range(1, 13))
    south = "2021-06-05 actual south 100\n2021-09-05 actual south 1000"  # in fewer months than the north
    whole = small_books(
        tmp_path,
        facts={"gl": f"date scenario product amount\n{north}\n{south}"},
        domains={"gl": LEDGER.replace("dimensions: {}", "dimensions: {product: product}")},
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id\nnorth\nsouth"},
    )
    of_south = Grant(dimensions=(Cut("product", ("south",)),))
    part = Door(whole._shelf, Profile(key="south", grants=(("*", of_south),)))
    for door, filters in ((whole, {"product": ["south"]}), (part, {"product": ["south"]}), (part, {})):
        report = door.metric(
            "revenue", scenarios={"A": "actual"}, period=("2021-01", "2021-12"), dimensions=["period"], filters=filters
        )
        shown = [figure.as_json() if isinstance(figure, Exact) else None for figure in report.figures[0][0]]
        assert shown == [*[None] * 5, 100, None, None, 1000, None, None, None, 1100]


def test_members_go_over_to_the_next_version_while_their_tables_stay_the_same(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario product amount\n2021-01-05 actual M1 1"},
        domains={"gl": LEDGER.replace("dimensions: {}", "dimensions: {product: product}")},
        dimensions="""
        product: {kind: leaf, members: live.product}
        family: {kind: derived, from: product, attribute: family}
        region: {kind: ragged, leaf_dimension: product, nodes: live.region}
        """,
        tables={
            "product": "id name family\nM1 Lamp light\nM2 Desk wood",
            "region": "node parent name leaf\nall - World -\nnorth all North -\nn1 north - M1\nn2 all - M2",
        },
    )
    shelf, folder = books._shelf, tmp_path / "small"

    def load(feed: str, rows: str) -> Door:
        (folder / "data" / f"{feed}.csv").write_text(csv(rows))
        load_feeds(folder, tmp_path / "state", feed)
        return Door(shelf, EVERYONE)

    def found(door: Door, query: str) -> list[tuple[str, str, str]]:
        result = search(SearchRequest(query=query), door.reader)
        return [(hit.dimension, hit.id, hit.name) for hit in (*result.records, *result.hierarchy_nodes)]

    keys, before = ("product", "family", "region"), books.reader
    first = {key: before.members(key) for key in keys} | {"index": index_of(before)}

    later = load("gl", "date scenario product amount\n2021-01-05 actual M1 3\n2021-01-06 actual M2 4")
    assert {key: later.reader.members(key) for key in keys} | {"index": index_of(later.reader)} == first
    assert all(later.reader.members(key) is first[key] for key in keys)
    assert figure(later.metric("revenue", scenarios={"A": "actual"}, period="2021")) == 7
    assert {hit[:2] for hit in found(later, "desk")} >= {("product", "M2"), ("region", "n2")}  # hidden before: no row

    renamed = load("product", "id name family\nM1 Lamp light\nM2 Table wood")
    assert found(renamed, "desk") == []
    assert ("product", "M2", "Table") in found(renamed, "table")
    assert renamed.reader.members("region").label("n2") == "Table"
    assert before.members("product").label("M2") == "Desk"  # the version that a running call reads

    extended = load("gl", "date scenario product amount\n2021-01-05 actual M1 3\n2021-01-06 actual Zebra 5")
    assert ("product", "Zebra", "Zebra") in found(extended, "zebra")
    moved = load("region", "node parent name leaf\nall - World -\nsouth all South -\ns1 south - M1\nn2 all - M2")
    assert found(moved, "north") == []
    assert ("region", "south", "South") in found(moved, "south")
    held = moved.reader._books._memos
    assert all(memo is not first["index"] for memo, _ in held.values())


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    """Books with one member."""
    return small_books(
        tmp_path_factory.mktemp("books"),
        facts={"gl": "date scenario product amount\n2021-01-05 actual M1 1"},
        domains={"gl": LEDGER.replace("dimensions: {}", "dimensions: {product: product}")},
        dimensions="product: {kind: leaf}",
    ).reader._books


@pytest.mark.parametrize("of", [[], ["product"]])
def test_one_thread_makes_a_memo_and_others_wait_for_it(books: Books, of: list[str]) -> None:
    key, begun, ends, made = f"made of {of}", Event(), Event(), list[object]()

    def make() -> object:
        made.append(object())
        begun.set()
        ends.wait(10)
        if len(made) == 1:
            raise Unavailable("the first attempt fails")
        return made[-1]

    with ThreadPoolExecutor() as pool:
        first = pool.submit(books.memo, key, make, 1, of)
        assert begun.wait(10)
        others = [pool.submit(books.memo, key, make, 1, of) for _ in range(3)]
        wait(others, timeout=0.2)
        assert len(made) == 1
        assert books.kept(key) is None
        ends.set()
    assert isinstance(first.exception(), Unavailable)
    assert [other.result() for other in others] == made[1:] * 3


def test_threads_whose_memos_hold_each_other_do_not_wait_for_each_other(books: Books) -> None:
    both = Barrier(2, timeout=10)

    def make(other: str) -> str:
        both.wait()
        return books.memo(other, lambda: "made inside")

    pairs = (("a", "b"), ("b", "a"))
    asking = [Thread(target=books.memo, args=(key, partial(make, other)), daemon=True) for key, other in pairs]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(10)
    assert not any(thread.is_alive() for thread in asking)
    assert {books.kept(key) for key, _ in pairs} == {"made inside"}


def test_a_thread_that_makes_a_memo_waits_for_members(books: Books) -> None:
    begun, ends, made = Event(), Event(), list[int]()

    def members() -> int:
        made.append(len(made))
        begun.set()
        ends.wait(10)
        return made[-1]

    with ThreadPoolExecutor() as pool:
        first = pool.submit(books.memo, "members", members, 1, ["product"])
        assert begun.wait(10)
        inside = pool.submit(books.memo, "made of members", lambda: books.memo("members", members, 1, ["product"]))
        wait([inside], timeout=0.2)
        ends.set()
    assert (first.result(), inside.result(), made) == (0, 0, [0])


DENIED, DOMAINS, SCENARIOS = 50, 3, 4


@pytest.mark.parametrize("written", ["once", "by scenario", "by two profiles"])
@pytest.mark.parametrize("deny", [True, False])
def test_a_list_of_members_is_resolved_once_for_all_scenarios_and_domains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, *, deny: bool
) -> None:
    keys = [f"s{number}" for number in range(SCENARIOS)]
    books = small_books(
        tmp_path,
        facts={f"d{number}": "date scenario product amount\n2021-01-05 s0 M1 1" for number in range(DOMAINS)},
        domains={
            f"d{number}": LEDGER.replace("dimensions: {}", "dimensions: {product: product}")
            for number in range(DOMAINS)
        },
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id\n" + "\n".join(f"M{number}" for number in range(2 * DENIED))},
        scenarios="\n".join(f"{key}: {{alias: {key.upper()}, kind: actual}}" for key in keys),
    ).reader._books
    resolved = list[str]()
    below = LeafMembers.below

    def counted(members: LeafMembers, member: str) -> frozenset[int]:
        resolved.append(member)
        return below(members, member)

    monkeypatch.setattr(LeafMembers, "below", counted)

    def grant() -> Grant:
        return Grant(dimensions=(Cut("product", tuple(f"M{number}" for number in range(DENIED)), deny=deny),))

    by_key = ["*"] if written != "by scenario" else keys
    names = ["one", "other"] if written == "by two profiles" else ["one"]
    reader = Reader(books, [Profile(key=name, grants=tuple((key, grant()) for key in by_key)) for name in names])
    cells = [reader.cell(key, domain) for key in keys for domain in reader.domains]
    assert len(cells) == SCENARIOS * DOMAINS
    assert [member for member in resolved if member != UNASSIGNED] == [f"M{number}" for number in range(DENIED)]
    assert len(set(map(id, cells))) == 1
    assert [code in cells[0].granted("product").codes for code in range(1, 4)] == [True] * 3
    (size,) = (size for key, (_, size) in books._memos.items() if isinstance(key, tuple) and key[0] == "cells")
    assert size == 1 + len(cells[0].granted("product").codes)
