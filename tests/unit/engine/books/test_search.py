"""search_hierarchy: what is found, in which order, why, how much of it, and for whom."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.books import search_index, word_search
from engine.books.search import MOST, findable_members
from engine.door import Door, open_books
from engine.model.errors import BadArguments, DimensionUnavailable, Refusal, Unavailable, UnknownName
from engine.model.stopping import never
from engine.present.answers.catalogue import members_answer
from server.feeds.instance import read_instance
from tests.support.books.loads import load_feeds, load_instance
from tests.support.books.searched import (
    CHANNEL,
    CUSTOMERS,
    DIMENSIONS,
    DOMAIN,
    FACTS,
    MANY,
    TERRITORY,
    books_of,
    find,
    ids,
    listed,
    write_crowd,
)
from tests.support.books.small import csv, figure, write_instance


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """The books as written above, whole."""
    return books_of(tmp_path_factory.mktemp("search"))


@pytest.mark.parametrize(
    ("query", "member", "why"),
    [
        ("K1", "K1", "exact"),
        ("k1", "K1", "exact"),
        ("  K1 ", "K1", "exact"),
        ("Ｋ１", "K1", "exact"),
        ("a-100", "K1", "exact"),
        ("A‑100", "K1", "exact"),
        ("b-1", "K3", "beginning"),
        ("MÜLLER SÖHNE", "K1", "exact"),
        ("mu\u0308ller", "K1", "beginning"),
        ("muller", "K1", "beginning"),
        ("müller  söhne", "K1", "exact"),
        ("sohne", "K1", "beginning of a word"),
        ("söhne mül", "K1", "beginning of a word"),
        ("a-100 söhne", "K1", "beginning of a word"),
        ("ohne", "K1", "part"),
        ("straßen", "K2", "beginning of a word"),
        ("STRASSEN", "K2", "beginning of a word"),
        ("sankt strassen bau", "K2", "exact"),
        ("rassen", "K2", "part"),
        ("o'brien", "K3", "beginning"),
        ("O’BRIEN STORES", "K3", "exact"),
        ("brien", "K3", "beginning of a word"),
        ("r&d", "K4", "exact"),
        ("R & D", "K4", "beginning of a word"),
        ("lodz", "K4", "beginning"),
        ("aero", "K4", "beginning of a word"),
        ("ærø research", "K4", "beginning of a word"),
        ("4711", "HQ", "exact"),
        ("４７１１", "HQ", "exact"),
        ("finanz", "HQ", "beginning"),
        ("ﬁnanz cafe", "HQ", "beginning"),
        ("angstrom café", "HQ", "beginning of a word"),
        ("fé", "HQ", "part"),
        ("obrien", "K3", "close spelling"),
        ("mülelr", "K1", "close spelling"),
        ("Angstorm", "HQ", "close spelling"),
        ("reserach", "K4", "close spelling"),
        ("brien storse", "K3", "close spelling"),
        ("lodz - research", "K4", "close spelling"),
    ],
)
def test_a_member_is_found_by_id_code_or_name_whatever_case_accent_and_width(
    books: Door, query: str, member: str, why: str
) -> None:
    hit = find(books, query, "customer").records[0]
    assert (hit.id, hit.why) == (member, why)


@pytest.mark.parametrize("query", ["", "  ", "\t", "\u200b"])
def test_an_empty_query_lists(books: Door, query: str) -> None:
    found = find(books, query, "customer")
    assert ids(found) == listed(books, "customer")
    assert {hit.why for hit in found.records} == {"listed"}


def test_a_record_has_all_that_it_takes_to_filter(books: Door) -> None:
    (record,) = find(books, "müller", "customer").records
    assert (record.dimension, record.id, record.name, record.code) == ("customer", "K1", "Müller Söhne", "A-100")
    assert record.path == ()
    (value,) = find(books, "whole", "segment").records
    assert (value.dimension, value.id, value.name, value.code) == ("segment", "Wholesale", "Wholesale", None)
    (node,) = find(books, "müller", "territory").hierarchy_nodes
    assert (node.dimension, node.id, node.name, node.code) == ("territory", "K1", "Müller Söhne", "A-100")
    assert node.path == ("World", "Europe")


def test_the_best_come_first_then_the_order_of_the_dimension(tmp_path: Path) -> None:
    names = {"P": "Am~Hannord", "Q": "Am~Nordkap", "R": "Nordsee", "S": "Nord", "T": "Nordkap", "U": "Bau~Nord"}
    customers = "id name segment\n" + "\n".join(f"{member} {name} -" for member, name in names.items())
    facts = "date scenario customer region voucher amount\n2026-01-05 actual P EU v1 1"
    books = books_of(
        tmp_path,
        facts={"sales": facts},
        tables={"customer": customers, "territory": "node parent\nP -", "channel": "node parent\nP -"},
    )
    found = find(books, "nord", "customer")
    assert [(hit.id, hit.why) for hit in found.records] == [
        ("S", "exact"),
        ("R", "beginning"),
        ("T", "beginning"),
        ("Q", "beginning of a word"),
        ("U", "beginning of a word"),
        ("P", "part"),
    ]


def test_close_spelling_only_where_nothing_else_matches(books: Door) -> None:
    assert [hit.why for hit in find(books, "A-100", "customer").records] == ["exact", "beginning"]
    near = find(books, "A-10O", "customer")
    assert (ids(near)[0], {hit.why for hit in near.records}) == ("K1", {"close spelling"})
    elsewhere = find(books, "Europe")
    assert [(hit.id, hit.why) for hit in elsewhere.hierarchy_nodes] == [("Europe", "exact")]
    assert elsewhere.records == ()


@pytest.mark.parametrize("query", ["zzzzqq", "&&&", "%", "_", ".*", "K1 K2", "\ud800" * 3 + "zq", "x" * 200])
def test_what_nothing_is_like_is_not_found(books: Door, query: str) -> None:
    found = find(books, query)
    assert (found.records, found.hierarchy_nodes, found.more_records, found.more_nodes) == ((), (), False, False)


def test_names_that_nothing_has_are_looked_up_together(books: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    findable, asked, search = findable_members("customer", books.reader), list[int](), pl.Series.search_sorted

    def counted(self: pl.Series, *arguments: Any, **named: Any) -> Any:
        asked.append(len(self))
        return search(self, *arguments, **named)

    monkeypatch.setattr(pl.Series, "search_sorted", counted)
    names = {"k1", *(f"nobody{number}" for number in range(500))}
    assert list(findable.index.named(names, findable.seen)) == ["k1"]
    assert len(asked) == 2


def test_every_kind_of_dimension_is_covered(books: Door) -> None:
    found = find(books, "k1")
    assert [(hit.dimension, hit.id) for hit in found.records] == [("customer", "K1")]
    assert [(hit.dimension, hit.id) for hit in found.hierarchy_nodes] == [("territory", "K1"), ("channel", "K1")]
    assert [(hit.dimension, hit.id) for hit in find(books, "retail").records] == [("segment", "Retail")]
    assert [(hit.dimension, hit.id) for hit in find(books, "apac").records] == [("region", "APAC")]


def test_a_dimension_is_listed_in_its_order(books: Door) -> None:
    assert listed(books, "customer") == ["K3", "K1", "K2", "K4", "HQ", "(unassigned)"]
    assert listed(books, "segment") == ["Non-Profit", "Retail", "Wholesale", "(unassigned)"]
    assert listed(books, "territory") == ["World", "World/(own)", "Europe", "K1", "K2", "K3", "(unassigned)"]
    assert listed(books, "channel") == ["Direct", "Shops", "K1", "K4", "Agents", "HQ", "(unassigned)"]


def test_postings_of_a_node_and_unassigned_ones_are_found_by_their_words(books: Door) -> None:
    own = find(books, "own", "territory").hierarchy_nodes[0]
    assert (own.id, own.why, own.path) == ("World/(own)", "beginning of a word", ("World",))
    assert ids(find(books, "world")) == ["World", "World/(own)"]
    found = find(books, "unassigned")
    assert {hit.id for hit in (*found.records, *found.hierarchy_nodes)} == {"(unassigned)"}
    assert [hit.dimension for hit in found.records] == ["customer", "region", "segment"]
    assert [hit.dimension for hit in found.hierarchy_nodes] == ["territory", "channel"]


AMOUNTS = {
    "customer": {"K3": 4, "K1": 1, "K2": 2, "K4": 8, "HQ": 16, "(unassigned)": 32},
    "region": {"EU": 35, "US": 12, "APAC": None, "(unassigned)": 16},
    "segment": {"Non-Profit": 16, "Retail": 3, "Wholesale": 4, "(unassigned)": 40},
    "territory": {"World": 23, "World/(own)": 16, "Europe": 3, "K1": 1, "K2": 2, "K3": 4, "(unassigned)": 40},
    "channel": {"Direct": 9, "Shops": 1, "K1": 1, "K4": 8, "Agents": 17, "HQ": 16, "(unassigned)": 38},
}


@pytest.mark.parametrize("dimension", AMOUNTS)
def test_a_filter_by_the_dimension_and_id_of_a_hit_selects_it(books: Door, dimension: str) -> None:
    found = find(books, dimension=dimension)
    amounts = {}
    for hit in (*found.records, *found.hierarchy_nodes):
        chosen = {hit.dimension: hit.id}
        report = books.metric("revenue", scenarios={"A": "actual"}, period="2026-01", filters=chosen)
        assert "unknown_member" not in {note.code for note in report.notes}
        amounts[hit.id] = figure(report)
    assert amounts == AMOUNTS[dimension]


def test_nothing_is_unassigned_where_every_row_and_member_has_a_place(tmp_path: Path) -> None:
    facts = "date scenario customer region voucher amount\n2026-01-05 actual K1 EU v1 1"
    customers = "id code name segment\nK1 - Only Retail"
    tree = "node parent\nTop -\nK1 Top"
    books = books_of(
        tmp_path, facts={"sales": facts}, tables={"customer": customers, "territory": tree, "channel": tree}
    )
    assert ids(find(books)) == ["K1", "EU", "Retail", "Top", "K1", "Top", "K1"]
    assert ids(find(books, "unassigned")) == []


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many customers, of whom a profile shows few."""
    return write_crowd(tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="module")
def many(crowd: Path) -> Door:
    """All of them."""
    return open_books(crowd / "small", state=crowd / "state")


@pytest.mark.parametrize("query", [None, "client", "1", "client 12"])
@pytest.mark.parametrize("few", [0, 1_000_000])
def test_many_matches_and_few_are_ranked_alike(
    many: Door, monkeypatch: pytest.MonkeyPatch, query: str | None, few: int
) -> None:
    """Which of the two ways ranks them depends on their number alone."""
    expected = find(many, query)
    monkeypatch.setattr(search_index, "FEW", few)
    assert find(many, query) == expected


@pytest.mark.parametrize("query", ["mullersohne", "muller", "k1", "a", "own", "europe", "ohne", "zzyzx"])
@pytest.mark.parametrize("limit", [1, 50])
def test_a_word_finds_the_same_among_many_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, limit: int
) -> None:
    """Sorted tables tell which texts begin with it, and nothing begins with words that a space parts."""
    territory = TERRITORY.replace("HQ", "-")  # no leaf lends a node its name, so all is seen
    books = books_of(tmp_path, tables={"customer": CUSTOMERS, "territory": territory, "channel": CHANNEL})
    expected = find(books, query, limit=limit)
    monkeypatch.setattr(word_search, "MANY", 0)
    members = findable_members(None, books.reader)
    assert word_search.suits(members.index, members.seen)
    assert find(books, query, limit=limit) == expected


def test_each_section_has_its_own_default_limit(many: Door) -> None:
    found = find(many)
    assert (len(found.records), len(found.hierarchy_nodes)) == (200, 100)
    assert (found.more_records, found.more_nodes) == (True, True)
    found = find(many, "client")
    assert (len(found.records), len(found.hierarchy_nodes)) == (50, 20)
    assert (found.more_records, found.more_nodes) == (True, True)
    assert [hit.id for hit in found.records] == [f"C{at:03d}" for at in range(50)]


def test_a_limit_holds_for_each_section_and_the_rest_is_told(many: Door) -> None:
    found = find(many, "client", limit=3)
    assert (len(found.records), len(found.hierarchy_nodes), found.notes) == (3, 3, ())
    exactly = find(many, "client", "customer", limit=MANY)
    assert (len(exactly.records), exactly.more_records, exactly.more_nodes) == (MANY, False, False)
    assert find(many, "client", "customer", limit=MANY - 1).more_records
    assert (find(many, "client", "territory", limit=MANY).more_nodes, find(many, "top").more_nodes) == (False, False)


def test_a_limit_above_the_maximum_is_reduced_and_said(many: Door) -> None:
    found = find(many, dimension="customer", limit=10_001)
    assert [(note.code, dict(note.about)) for note in found.notes] == [
        ("limit_reduced", {"got": "10001", "maximum": "10000"})
    ]
    assert len(found.records) == MANY
    assert find(many, dimension="customer", limit=10_000).notes == ()


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(books: Door, limit: int) -> None:
    with pytest.raises(BadArguments, match="below 1") as refused:
        find(books, "k", limit=limit)
    assert (refused.value.field, refused.value.got) == ("limit", limit)


REFUSED: list[tuple[str, type[Refusal], str]] = [
    ("custmer", UnknownName, "Did you mean 'customer'"),
    ("period", DimensionUnavailable, "period codes"),
    ("week", DimensionUnavailable, "period codes; write them: an ISO week YYYY-Wnn."),
    ("voucher", DimensionUnavailable, "only be broken down by"),
]


@pytest.mark.parametrize(("dimension", "refusal", "says"), REFUSED)
def test_a_dimension_that_cannot_be_searched_is_refused_with_those_that_can(
    books: Door, dimension: str, refusal: type[Refusal], says: str
) -> None:
    with pytest.raises(refusal, match=says) as refused:
        find(books, "k", dimension)
    assert (refused.value.field, refused.value.got) == ("dimension", dimension)
    assert sorted(refused.value.valid) == ["channel", "customer", "region", "segment", "territory"]


def test_a_query_that_is_no_name_is_refused(books: Door) -> None:
    with pytest.raises(BadArguments, match="10,000 characters") as refused:
        find(books, "x" * 10_000)
    assert refused.value.field == "query"
    assert len(str(refused.value.as_data())) < 1_000


def test_the_next_load_is_searched_by_the_next_call(tmp_path: Path) -> None:
    books = books_of(tmp_path)
    assert ids(find(books, "Newtown")) == []
    (tmp_path / "small" / "data" / "customer.csv").write_text(csv(CUSTOMERS + "K9 N-1 Newtown -"))
    load_instance(tmp_path / "small", tmp_path / "state")
    assert [hit.id for hit in find(books, "Newtown").records] == ["K9"]
    assert ids(find(books, "Newtwon")) == ["K9"]


def test_a_tree_that_was_never_loaded_is_said(tmp_path: Path) -> None:
    folder = write_instance(
        tmp_path / "small",
        facts={"sales": FACTS},
        domains={"sales": DOMAIN},
        dimensions=DIMENSIONS,
        tables={"customer": CUSTOMERS, "territory": TERRITORY, "channel": CHANNEL},
    )
    read = read_instance(folder)
    feeds = [key for key, binding in read.bindings.items() if binding.target != "live.channel"]
    load_feeds(folder, tmp_path / "state", *feeds)
    books = open_books(folder, state=tmp_path / "state")
    found = find(books, "k1")
    assert ids(found) == ["K1", "K1"]
    assert [(note.code, "live.channel" in note.message) for note in found.notes] == [("unavailable", True)]
    with pytest.raises(Unavailable, match=r"live\.channel"):
        find(books, "k1", "channel")


def chain(length: int) -> Iterator[str]:
    """Yield the rows of a tree that is one long branch."""
    yield "node parent"
    yield "N0 -"
    yield from (f"N{at} N{at - 1}" for at in range(1, length))
    yield f"K1 N{length - 1}"


def test_a_very_deep_tree_is_searched(tmp_path: Path) -> None:
    books = books_of(tmp_path, tables={"customer": CUSTOMERS, "territory": "\n".join(chain(3_000)), "channel": CHANNEL})
    (node,) = find(books, "k1", "territory").hierarchy_nodes
    assert (len(node.path), node.path[-1]) == (3_000, "N2999")
    report = books.metric("revenue", scenarios={"A": "actual"}, period="2026-01", filters={"territory": "N0"})
    assert figure(report) == 1


@pytest.mark.parametrize("budget", [300, 400, 1_000, 10_000])
def test_next_offset_leads_to_every_hit_of_every_section(tmp_path: Path, budget: int) -> None:
    metrics = "".join(f"  sales_{at}: {{measure: amount}}\n" for at in range(9))
    crowd = books_of(
        tmp_path,
        domains={"sales": DOMAIN + metrics},
        statements=dict.fromkeys(("sales_a", "sales_b", "sales_c"), "- {metric: revenue}"),
        tables={
            "customer": "id code name segment\n" + "\n".join(f"C{at:03d} - Sales~{at} Retail" for at in range(60)),
            "territory": "node parent\n" + "\n".join(f"Sales{at} -" for at in range(4)) + "\nC000 Sales0",
            "channel": "node parent\nC000 -",
        },
        facts={"sales": "date scenario customer region voucher amount\n2026-01-05 actual C000 EU v1 1"},
    )
    whole = members_answer([find(crowd, "sales", limit=MOST)], 10**9, never)
    sections = {"records": "id", "hierarchy_nodes": "id", "metrics": "key", "statements": "key"}
    found: dict[str, list[str]] = {name: [] for name in sections}
    offset: int | None = 0
    while offset is not None:
        page = members_answer([find(crowd, "sales", limit=MOST, offset=offset)], budget, never)
        for name, key in sections.items():
            found[name] += [hit[key] for hit in page.get(name, ())]
        assert page.get("next_offset", offset + 1) > offset
        offset = page.get("next_offset")
    assert {name: len(whole[name]) for name in ("records", "metrics", "statements")} == {
        "records": 60,
        "metrics": 9,
        "statements": 3,
    }
    for name, key in sections.items():  # each hit once
        assert found[name] == [hit[key] for hit in whole[name]]


def test_a_search_is_read_in_pages_of_each_section(books: Door) -> None:
    whole = find(books, "k")
    pages = [find(books, "k", limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [hit.id for page in pages for hit in page.records] == [hit.id for hit in whole.records]
    assert [hit.id for page in pages for hit in page.hierarchy_nodes] == [hit.id for hit in whole.hierarchy_nodes]
    assert [page.more_nodes for page in pages] == [True, True, False, False]
    assert listed(books, "customer")[2:4] == ids(find(books, dimension="customer", limit=2, offset=2))
    for beyond in (6, 10**30):
        nothing = find(books, dimension="customer", offset=beyond)
        assert (ids(nothing), nothing.more) == ([], frozenset())
    with pytest.raises(BadArguments, match="offset -1 is below 0"):
        find(books, offset=-1)
