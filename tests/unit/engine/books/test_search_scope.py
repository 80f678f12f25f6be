"""search_hierarchy for callers who see a part: what is hidden is not found, and crowds nothing out."""

from pathlib import Path

import pytest

from engine.books.search import findable_members
from engine.door import Door, open_books
from engine.model.errors import UnknownName
from tests.support.books.searched import (
    CHANNEL,
    CUSTOMERS,
    DOMAIN,
    FACTS,
    TERRITORY,
    books_of,
    find,
    ids,
    listed,
    write_crowd,
)

PROFILES = """
europe: {scenarios: {'*': {dimensions: {territory: {allow: [Europe]}}}}}
not_europe: {scenarios: {'*': {dimensions: {territory: {deny: [Europe]}}}}}
all_but_k1: {scenarios: {'*': {dimensions: {customer: {deny: [K1]}}}}}
in_us: {scenarios: {'*': {dimensions: {region: {allow: [US]}}}}}
actual_only: {scenarios: {actual: {}}}
nothing: {scenarios: {forecast: {domains: {deny: [sales]}}}}
"""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The books as written above with profiles, and a customer of a single row that has no member row."""
    folder = tmp_path_factory.mktemp("scoped")
    books_of(
        folder,
        facts={"sales": FACTS + "2026-01-05 actual newcomer EU v1 1"},
        profiles=PROFILES,
    )
    return folder


def seen_by(instance: Path, profile: str) -> Door:
    """Open the books with profiles as one of them sees them."""
    return open_books(instance / "small", state=instance / "state", profile=profile)


def test_what_a_profile_hides_is_never_found(instance: Path) -> None:
    books = seen_by(instance, "europe")
    assert listed(books, "customer") == ["K1", "K2"]
    assert listed(books, "territory") == ["World", "Europe", "K1", "K2"]
    assert listed(books, "channel") == ["Direct", "Shops", "K1", "Agents", "(unassigned)"]
    assert listed(books, "segment") == ["Retail"]
    for query in ("K3", "B-100", "O’Brien", "wholesale", "own", "newcomer", "Angstorm", "K4"):
        assert not {"K3", "K4", "HQ", "Wholesale", "World/(own)", "newcomer"} & set(ids(find(books, query))), query


@pytest.mark.parametrize("dimension", [None, "customer"])
def test_a_search_reads_no_text_that_is_hidden(instance: Path, dimension: str | None) -> None:
    """So its time does not tell whether somebody else has what it looks for."""
    books = seen_by(instance, "europe")
    read = findable_members(dimension, books.reader)
    texts = " ".join(read.index.texts_of(read.seen)["text"])
    words = read.index.lexicon.words.filter(read.words())["word"].to_list()
    for hidden in ("newcomer", "wholesale", "k3"):
        assert hidden in " ".join(read.index.entries["text"])
        assert hidden not in texts
        assert hidden not in words
    assert "k1" in texts


def test_a_deny_by_node_hides_the_unplaced_as_well(instance: Path) -> None:
    books = seen_by(instance, "not_europe")
    assert listed(books, "territory") == ["World", "World/(own)", "K3"]
    assert listed(books, "customer") == ["K3", "HQ"]


def test_a_deny_leaves_the_rest_and_the_unassigned(instance: Path) -> None:
    books = seen_by(instance, "all_but_k1")
    assert listed(books, "customer") == ["K3", "K2", "K4", "HQ", "newcomer", "(unassigned)"]
    assert listed(books, "channel") == ["Direct", "K4", "Agents", "HQ", "(unassigned)"]


def test_members_that_only_hidden_rows_brought_do_not_exist(instance: Path) -> None:
    books = seen_by(instance, "in_us")
    assert listed(books, "region") == ["US"]
    assert "newcomer" not in ids(find(books, "newcomer"))
    assert listed(books, "customer") == ["K3", "K4"]
    assert "APAC" in listed(seen_by(instance, "all_but_k1"), "region")
    assert "APAC" not in listed(seen_by(instance, "actual_only"), "region")


def test_who_sees_nothing_finds_nothing(instance: Path) -> None:
    books = seen_by(instance, "nothing")
    assert ids(find(books)) == ids(find(books, "k1")) == ids(find(books, "angstorm")) == []
    with pytest.raises(UnknownName) as refused:
        find(books, "k1", "customer")
    assert (refused.value.valid, refused.value.did_you_mean) == ([], [])


def test_profiles_of_one_version_do_not_see_what_another_found(instance: Path) -> None:
    one = seen_by(instance, "europe")
    other = Door(one._shelf, seen_by(instance, "not_europe")._profile)
    for _ in range(2):
        assert (listed(one, "customer"), listed(other, "customer")) == (["K1", "K2"], ["K3", "HQ"])
        assert ids(find(one, "Angstorm", "customer")) == []
        assert ids(find(other, "Angstorm", "customer")) == ["HQ"]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many customers, of whom a profile shows few."""
    return write_crowd(tmp_path_factory.mktemp("many"))


def test_a_limit_counts_what_may_be_seen(crowd: Path) -> None:
    few = seen_by(crowd, "few")
    found = find(few, "client", "customer", limit=2)
    assert ([hit.id for hit in found.records], found.more_records) == (["C007", "C100"], True)
    assert not find(few, "client", "customer", limit=3).more_records
    nodes = find(few, dimension="territory", limit=3)
    assert ([hit.id for hit in nodes.hierarchy_nodes], nodes.more_nodes) == (["Top", "C007", "C100"], True)
    assert {*ids(find(few, "C150")), *ids(find(few, "Cleint"))} <= {"C007", "C100", "C229"}


def test_hidden_names_do_not_crowd_out_a_close_spelling(tmp_path: Path) -> None:
    customers = "id code name segment\n" + "\n".join(f"A{at:03d} - Nordsea{at} -" for at in range(400))
    books_of(
        tmp_path,
        facts={"sales": "date scenario customer region voucher amount\n2026-01-05 actual Z EU v1 1"},
        tables={
            "customer": f"{customers}\nZ - Nordsee7x -",
            "territory": "node parent\nZ -",
            "channel": "node parent\nZ -",
        },
        profiles="last: {scenarios: {'*': {dimensions: {customer: {allow: [Z]}}}}}",
    )
    books = open_books(tmp_path / "small", state=tmp_path / "state", profile="last")
    assert [(hit.id, hit.why) for hit in find(books, "nordsea7", "customer").records] == [("Z", "close spelling")]


STATEMENTS = {"statements": {"pnl": "- {metric: gross_margin}", "secret": "- {metric: bonus}"}}


def reports_of(folder: Path, profile: str | None = None, customers: str = CUSTOMERS) -> Door:
    """Return books with metrics of two domains and statements of each."""
    return books_of(
        folder,
        tables={"customer": customers, "territory": TERRITORY, "channel": CHANNEL},
        facts={"sales": FACTS, "pay": "date scenario amount\n2026-01-05 actual 1"},
        domains={
            "sales": DOMAIN + "  gross_margin: {label: Gross margin, formula: revenue / revenue}\n",
            "pay": "time: {column: date}\ndimensions: {}\nmeasures: {amount: {places: 2}}\nmetrics:\n"
            "  bonus: {label: Gross bonus, measure: amount}\n",
        },
        profiles="seller: {scenarios: {actual: {domains: {allow: [sales]}}}}",
        profile=profile,
        **STATEMENTS,
    )


@pytest.mark.parametrize(
    ("query", "metrics", "statements"),
    [
        ("gross margin", ["gross_margin"], []),
        ("GROSS_MARGIN", ["gross_margin"], []),
        ("gross", ["bonus", "gross_margin"], []),
        ("grss margin", ["gross_margin"], []),
        ("pnl", [], ["pnl"]),
        ("Secret", [], ["secret"]),
        ("unassigned", [], []),
    ],
)
def test_metrics_and_statements_are_found_by_key_and_label(
    tmp_path: Path, query: str, metrics: list[str], statements: list[str]
) -> None:
    found = find(reports_of(tmp_path), query)
    assert [metric.key for metric in found.metrics] == metrics
    assert [statement.key for statement in found.statements] == statements


def test_close_spelling_only_where_neither_members_nor_reports_match(tmp_path: Path) -> None:
    books = reports_of(tmp_path, customers=CUSTOMERS.replace("O’Brien~Stores", "Bonsu"))
    member, metric, both = (find(books, query) for query in ("Bonsu", "bonus", "bonzu"))
    assert ([hit.why for hit in member.records], member.metrics) == (["exact"], ())
    assert ([hit.id for hit in metric.records], [found.key for found in metric.metrics]) == ([], ["bonus"])
    assert ([hit.why for hit in both.records], [found.key for found in both.metrics]) == (["close spelling"], ["bonus"])


def test_metrics_and_statements_are_found_among_the_visible_ones_and_outside_dimensions(tmp_path: Path) -> None:
    books = reports_of(tmp_path, "seller")
    assert [metric.key for metric in find(books, "gross").metrics] == ["gross_margin"]
    for query in ("bonus", "gross bonus", "secret", "bonsu"):
        found = find(books, query)
        assert (found.metrics, found.statements) == ((), ())
    inside = find(books, "gross", "customer")
    assert (inside.metrics, inside.statements) == ((), ())
    listing = find(books)
    assert (listing.metrics, listing.statements) == ((), ())
    assert find(books, "gross", limit=1, offset=1).metrics == ()
