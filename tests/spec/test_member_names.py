"""Filters name members as people do: by id, code or name, whatever the case, accents and spaces."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from engine.books.search import search
from engine.door import Door
from engine.model.errors import BadArguments, DimensionUnavailable
from engine.model.requests import SearchRequest
from engine.report.report import Report
from engine.report.snapshots import keep, opened
from tests.support.books.small import figure, figures, small_books

A = {"A": "actual"}
JAN = "2026-01"
DOMAIN = """
time: {column: date}
dimensions: {customer: customer}
measures: {amount: {places: 2}}
inspect_enabled: true
metrics:
  revenue: {measure: amount}
"""
DIMENSIONS = """
customer: {kind: leaf, members: live.customer}
segment: {kind: derived, from: customer, attribute: segment}
territory: {kind: ragged, leaf_dimension: customer, nodes: live.territory}
"""
FACTS = """
date       scenario customer amount
2026-01-05 actual   K1       1
2026-01-05 actual   K2       2
2026-01-05 actual   K3       4
2026-01-05 actual   K4       8
2026-01-05 actual   k9       16
2026-01-05 actual   a-100    32
2026-01-05 budget   K5       64
"""
CUSTOMERS = """
id    code  name               segment
K1    A-100 Müller~&~Söhne     Retail
K2    B-1   North~Sea~Trading  Retail
K3    b-1   North~Sea~Trading  Whole~Sale
K4    c-7   K1                 Whole~Sale
k9    D-9   Acme               Retail
a-100 E-1   Elsewhere          Retail
K5    F-1   Hidden~House       Budgeted
"""
TERRITORY = """
node   parent name
World  -      Everywhere
Nordics World Nordic~Countries
K1     Nordics -
K2     Nordics -
K3     World  -
"""
SEEN = "seen: {scenarios: {actual: {}}}"


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Seven customers, one of them in a scenario that is not granted."""
    return small_books(
        tmp_path_factory.mktemp("names"),
        facts={"sales": FACTS},
        domains={"sales": DOMAIN},
        dimensions=DIMENSIONS,
        tables={"customer": CUSTOMERS, "territory": TERRITORY},
        profiles=SEEN.replace("actual: {}", "actual: {dimensions: {customer: {deny: [K5]}}}"),
        profile="seen",
    )


def asked(books: Door, dimension: str, *names: str) -> Report:
    """Return revenue under a filter."""
    return books.metric("revenue", scenarios=A, period=JAN, filters={dimension: names})


def said(report: Report) -> list[dict[str, object]]:
    """Return the notes of a report without severity and message."""
    return [
        {key: part for key, part in note.as_data().items() if key not in ("severity", "message")}
        for note in report.notes
    ]


@pytest.mark.parametrize(
    ("dimension", "name", "member", "amount"),
    [
        ("customer", "k1", "K1", 1),  # id, before the name K1 of K4
        ("customer", " K1 ", "K1", 1),
        ("customer", "K 2", "K2", 2),
        ("customer", "Ｋ２", "K2", 2),
        ("customer", "K9", "k9", 16),
        ("customer", "A-100", "a-100", 32),  # id, before the code A-100 of K1
        ("customer", "C-7", "K4", 8),  # code
        ("customer", "b-1", "K3", 4),  # two codes, and one of them letter for letter
        ("customer", "B-1", "K2", 2),
        ("customer", "MULLER & SOHNE", "K1", 1),  # name
        ("customer", "müller&söhne", "K1", 1),
        ("segment", "wholesale", "Whole Sale", 12),
        ("territory", "nordic countries", "Nordics", 3),
        ("territory", "EVERYWHERE", "World", 7),
    ],
)
def test_a_member_is_named_by_id_then_code_then_name(
    books: Door, dimension: str, name: str, member: str, amount: int
) -> None:
    report = asked(books, dimension, name)
    assert figure(report) == amount
    assert report.filters == {dimension: (member,)}
    assert said(report) == [{"code": "resolved", "dimension": dimension, "members": f"'{name}' as '{member}'"}]


def test_an_id_as_it_is_written_needs_no_note(books: Door) -> None:
    assert said(asked(books, "customer", "K1", "K4")) == []


def test_a_member_named_twice_counts_once(books: Door) -> None:
    report = asked(books, "customer", "K1", "k1", "müller & söhne", "K2")
    assert (figure(report), report.filters) == (3, {"customer": ("K1", "K2")})
    assert said(report)[0]["members"] == "'k1' as 'K1', 'müller & söhne' as 'K1'"


def test_a_breakdown_shows_the_ids(books: Door) -> None:
    shown = books.metric("revenue", scenarios=A, period=JAN, filters={"segment": "WHOLESALE"}, dimensions=["segment"])
    assert figures(shown, "segment") == {"Whole Sale": 12, None: 12}


def test_a_name_of_several_members_is_refused_with_their_ids(books: Door) -> None:
    with pytest.raises(BadArguments) as refusal:
        asked(books, "customer", "K1", "north sea trading")
    told = refusal.value.as_data()
    assert (told["field"], told["got"], told["valid"]) == ("filters.customer", "north sea trading", ["K2", "K3"])
    assert "'K2' (North Sea Trading), 'K3' (North Sea Trading)" in refusal.value.error
    with pytest.raises(BadArguments, match="2 members of customer are called 'B -1'"):
        asked(books, "customer", "B -1")


@pytest.mark.parametrize(
    ("dimension", "name", "close"),
    [
        ("customer", "Mueler & Sohne", ["K1"]),
        ("customer", "elsewere", ["a-100"]),
        ("territory", "Nordcis", ["Nordics"]),
        ("segment", "Retial", ["Retail"]),
    ],
)
def test_an_unknown_member_matches_nothing_and_the_closest_are_named(
    books: Door, dimension: str, name: str, close: list[str]
) -> None:
    report = asked(books, dimension, name)
    assert figure(report) is None
    assert said(report) == [
        {"code": "unknown_member", "dimension": dimension, "members": f"'{name}'", "did_you_mean": close},
        {"code": "no_rows"},
    ]


@pytest.mark.parametrize("name", ["K5", "k5", "F-1", "hidden house", "Hiden House", "budgeted", "", " "])
def test_a_hidden_member_is_unknown_by_every_name(books: Door, name: str) -> None:
    for dimension in ("customer", "segment"):
        note, blank = said(asked(books, dimension, name))
        assert blank == {"code": "no_rows"}
        assert note == {"code": "unknown_member", "dimension": dimension, "members": f"'{name}'"}


def test_rows_are_filtered_by_the_same_names(books: Door) -> None:
    found = books.rows(
        "sales", scenario="actual", period=JAN, filters={"customer": "muller & sohne", "segment": "RETAIL"}
    )
    assert (len(found.rows), found.filters) == (1, {"customer": ("K1",), "segment": ("Retail",)})
    assert [note.code for note in found.notes] == ["resolved", "resolved"]


def test_notes_of_names_are_kept_with_the_result(books: Door) -> None:
    report = asked(books, "customer", "k1", "elsewere")
    kept = opened(keep(report), books.reader)
    assert kept.notes == report.notes
    assert [note.code for note in kept.notes] == ["resolved", "unknown_member"]


def with_journals(folder: Path, journals: Iterable[str]) -> Door:
    """Return books of an axis with these values in actual, and PURCHASES in a budget that is not granted."""
    rows = "\n".join(f"2026-01-05 actual {journal} 1" for journal in journals)
    return small_books(
        folder,
        facts={"gl": f"date scenario journal amount\n{rows}\n2026-01-05 budget PURCHASES 1"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {}
            axes: {journal: journal}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics: {revenue: {measure: amount}}
            """
        },
        profiles=SEEN,
        profile="seen",
    )


@pytest.mark.parametrize(
    ("name", "near"), [("sales", ["SALES"]), ("Bankk", ["BANK"]), ("purchase", None), ("PURCHASES", None)]
)
def test_an_unknown_value_of_an_axis_is_noted_with_the_visible_one_that_is_spelled_like_it(
    tmp_path: Path, name: str, near: list[str] | None
) -> None:
    books = with_journals(tmp_path, ["SALES", "BANK"])
    found = books.rows("gl", scenario="actual", period=JAN, filters={"journal": name})
    (note,) = [note.as_data() for note in found.notes]
    assert (note["code"], note.get("did_you_mean")) == ("unknown_member", near)
    assert "search_hierarchy" not in note["message"]
    assert not found.rows
    for value in near or ():
        assert len(books.rows("gl", scenario="actual", period=JAN, filters={"journal": value}).rows) == 1


def test_what_the_note_says_of_an_axis_can_be_done(tmp_path: Path) -> None:
    books = with_journals(tmp_path, ["SALES", "BANK"])
    found = books.rows("gl", scenario="actual", period=JAN, filters={"journal": "ghost"})
    assert "The rows without this filter show the ids." in found.notes[0].message
    shown = books.rows("gl", scenario="actual", period=JAN, columns=["journal"])
    assert sorted(str(row[0]) for row in shown.rows) == ["BANK", "SALES"]
    with pytest.raises(DimensionUnavailable, match="A breakdown by journal, or inspect_rows, shows its ids"):
        search(SearchRequest(dimension="journal"), books.reader)
    assert set(figures(books.metric("revenue", scenarios=A, period=JAN, dimensions=["journal"]), "journal")) == {
        "BANK",
        "SALES",
        None,
    }


def test_names_are_not_compared_with_an_axis_of_many_values(tmp_path: Path) -> None:
    books = with_journals(tmp_path, [f"D{number}" for number in range(1001)])
    (note,) = books.rows("gl", scenario="actual", period=JAN, filters={"journal": "d7"}).notes
    assert "did_you_mean" not in note.as_data()
