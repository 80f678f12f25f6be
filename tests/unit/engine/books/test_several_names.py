"""search_hierarchy for several names at once, for words of several names, and for what is not there."""

from pathlib import Path
from typing import Any

import pytest

from engine.books.absence import SEARCH_NOTES
from engine.books.several_names import MAX_NAMES, search_names
from engine.door import Door, open_books
from engine.model.errors import BadArguments
from engine.model.notes import Note, Severity
from engine.model.requests import SearchRequest
from engine.model.stopping import never
from engine.present.answers.catalogue import members_answer
from tests.support.books.searched import CUSTOMERS, DOMAIN, books_of, find, find_names

SEEN = "europe: {scenarios: {'*': {dimensions: {customer: {allow: [K1, K2]}}}}}"
INSPECTED = "inspect_enabled: true\ninspect_columns: [date, customer, memo]\n"
FACTS = """
date       scenario customer region voucher memo amount
2026-01-05 actual   K1       EU     v1      a    1
2026-01-05 actual   K3       IT     v1      b    2
2026-01-05 actual   K2       Italy  v1      c    4
"""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Books with three regions, two of which begin alike, and texts of rows."""
    folder = tmp_path_factory.mktemp("names")
    books_of(folder, facts={"sales": FACTS}, domains={"sales": DOMAIN + INSPECTED}, profiles=SEEN)
    return folder


@pytest.fixture(scope="module")
def books(instance: Path) -> Door:
    """The books without profiles."""
    return open_books(instance / "small", state=instance / "state")


@pytest.fixture(scope="module")
def europe(instance: Path) -> Door:
    """The books as a caller sees them who sees two customers."""
    return open_books(instance / "small", state=instance / "state", profile="europe")


def named(books: Door, *names: str, **asked: Any) -> dict[str | None, list[str]]:
    """Return the ids and keys that each name of a search finds, members first."""
    return {
        result.query: [
            *(hit.id for hit in (*result.records, *result.hierarchy_nodes)),
            *(metric.key for metric in result.metrics),
            *(statement.key for statement in result.statements),
        ]
        for result in find_names(books, *names, **asked)
    }


def notes(books: Door, *names: str, dimension: str | None = None) -> list[Note]:
    """Return the notes on a search."""
    return [note for result in find_names(books, *names, dimension=dimension) for note in result.notes]


def test_each_name_of_a_list_is_searched_by_itself(books: Door) -> None:
    assert named(books, "müller", "retail", "revenue", "nothing") == {
        "müller": ["K1", "K1", "K1"],
        "retail": ["Retail"],
        "revenue": ["revenue"],
        "nothing": [],
    }
    assert named(books, "müller", "brien", dimension="customer") == {"müller": ["K1"], "brien": ["K3"]}
    assert named(books, "müller", "", " ", "müller") == {None: ["K1", "K1", "K1"]}
    assert len(search_names(SearchRequest(query=()), books.reader)[0].records) == len(find(books).records)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("IT Müller Söhne", {"IT": ["IT"], "Müller Söhne": ["K1", "K1", "K1"]}),
        ("müller söhne it", {"müller söhne": ["K1", "K1", "K1"], "it": ["IT"]}),
        ("Retail Ital", {"Retail": ["Retail"], "Ital": ["Italy"]}),
        ("revenue wholesale EU", {"revenue": ["revenue"], "wholesale": ["Wholesale"], "EU": ["EU"]}),
        ("IT Mülelr", {"IT": ["IT"], "Mülelr": ["K1", "K1", "K1"]}),
        ("A-100 Research", {"A-100": ["K1", "K1", "K1"], "Research": ["K4", "K4"]}),
    ],
)
def test_words_of_several_names_are_read_as_the_fewest_names_that_have_them(
    books: Door, query: str, expected: dict[str, list[str]]
) -> None:
    assert named(books, query) == expected
    (note,) = {*notes(books, query)}
    assert (note.code, note.wording.severity, dict(note.about)["names"]) == (
        "several_names",
        Severity.INFO,
        tuple(expected),
    )


@pytest.mark.parametrize("query", ["Müller nowhere", "Müller xq", "ohne tail", "K1 K2 K3 K4 HQ IT EU müller retail"])
def test_words_of_which_one_names_nothing_find_nothing(books: Door, query: str) -> None:
    """A part inside a word is no name: `tail` is that of Retail."""
    assert named(books, query) == {None: []}
    assert [note.code for note in notes(books, query)] == ["nothing_found"]


def test_words_that_one_name_has_are_not_read_as_several(books: Door) -> None:
    assert named(books, "söhne mül", dimension="customer") == {None: ["K1"]}
    assert notes(books, "söhne mül") == []


def test_hits_of_several_names_say_which_they_are_of_and_have_no_next_page(tmp_path: Path) -> None:
    customers = CUSTOMERS + "\n".join(f"X{at} - Many~{at} -" for at in range(8))
    books = books_of(
        tmp_path, tables={"customer": customers, "territory": "node parent\nX1 -", "channel": "node parent\nX1 -"}
    )
    answer = members_answer(find_names(books, "many", "K1"), 10_000, never)
    assert [(hit["id"], hit["query"]) for hit in answer["records"]] == [
        *((f"X{at}", "many") for at in range(5)),
        ("K1", "K1"),
    ]
    assert (answer["more_records"], "next_offset" in answer) == (True, False)
    few = members_answer(find_names(books, "many", "K1", limit=2), 10_000, never)
    assert [hit["id"] for hit in few["records"]] == ["X0", "X1", "K1"]
    one = members_answer(find_names(books, "many", limit=2), 10_000, never)
    assert (one["next_offset"], one["records"][0].keys()) == (2, {"dimension", "id", "name"})


@pytest.mark.parametrize(
    ("names", "offset", "field"),
    [(tuple(f"n{at}" for at in range(MAX_NAMES + 1)), 0, "query"), (("a", "b"), 1, "offset")],
)
def test_too_many_names_and_a_page_of_several_are_refused(
    books: Door, names: tuple[str, ...], offset: int, field: str
) -> None:
    with pytest.raises(BadArguments) as refused:
        search_names(SearchRequest(query=names, offset=offset), books.reader)
    assert refused.value.field == field
    mended = {"query": names, "offset": offset} | refused.value.example
    assert len(search_names(SearchRequest(**mended), books.reader)) <= MAX_NAMES


def test_what_is_not_there_says_what_was_looked_through(books: Door) -> None:
    (note,) = notes(books, "overdue")
    assert note.code == "nothing_found"
    assert note.message == (
        "No dimension, member, node, metric, statement or column that this caller sees holds 'overdue'. "
        "Texts of rows were not searched: inspect_rows takes text for the column memo of sales."
    )
    (inside,) = notes(books, "overdue", dimension="customer")
    assert inside.message == "No member of customer that this caller sees holds 'overdue'."
    answer = members_answer(find_names(books, "overdue", "ageing", "K1"), 10_000, never)
    (both,) = answer["notes"]
    assert (both["names"], both["severity"]) == (["overdue", "ageing"], "caution")


def test_a_page_beyond_the_last_is_no_absence(books: Door) -> None:
    (result,) = search_names(SearchRequest(query="müller", offset=50), books.reader)
    assert (result.is_empty, result.notes) == (True, ())


@pytest.mark.parametrize(
    ("query", "what"), [("customer", "the dimension customer"), ("memo", "the column memo of sales")]
)
def test_a_name_of_a_dimension_or_a_column_is_told(books: Door, query: str, what: str) -> None:
    (note,) = notes(books, query)
    assert (note.code, dict(note.about)["what"]) == ("named_elsewhere", what)
    assert note.message == f"'{query}' is no member, metric or statement, but {what}."


def test_a_hidden_member_is_as_absent_as_an_unknown_one(europe: Door) -> None:
    """It neither finds nor splits."""
    for query in ("brien", "Müller O’Brien"):
        known = [note.as_data() for note in notes(europe, query)]
        never_there = [note.as_data() for note in notes(europe, query.replace("rien", "xxxx"))]
        assert str(known).replace("rien", "xxxx") == str(never_there)
        assert [note["code"] for note in known] == ["nothing_found"]
    assert {*SEARCH_NOTES} >= {"nothing_found", "named_elsewhere", "several_names"}
