"""Terms of an instance: synonyms, words of several readings, and what the books do not hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.books.absence import SEARCH_NOTES
from engine.books.books import Shelf
from engine.books.checks import data_faults
from engine.instance.documents import InstanceFaults
from engine.model.notes import Severity
from server.feeds.instance import read_instance
from tests.support.books.fed import Fed
from tests.support.books.trading import PROFILES, VOCABULARY, write_trading

WORDS = ("xxxxxx", "Ausgaben", "Kader")  # one that nothing has, and two terms of what is hidden
ACTUAL = [{"scenario": "actual"}]
YEAR = {"period_start": "2026", "period_end": "2026"}
SELLER = PROFILES.replace("somebody, profile: whole", "somebody, profile: sales")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Fed:
    """The books of somebody who sees all."""
    folder = tmp_path_factory.mktemp("terms")
    return Fed(write_trading(folder), folder / "state")


@pytest.fixture(scope="module")
def seller(tmp_path_factory: pytest.TempPathFactory) -> Fed:
    """The books of somebody who sees the sales of two customers."""
    folder = tmp_path_factory.mktemp("seller")
    return Fed(write_trading(folder, SELLER), folder / "state")


def values(answer: dict[str, Any]) -> list[Any]:
    """Return the figures of the total."""
    return list(answer["rows"][-1]["values"])


@pytest.mark.parametrize("word", ["Umsatz", "umsatz", "UMSATZ", " um satz"])
def test_a_synonym_stands_for_its_metric(books: Fed, word: str) -> None:
    answer = books.ask("run_metric", metrics=[word], scenarios=ACTUAL, **YEAR)
    assert values(answer) == [224]
    assert values(books.ask("run_metric", metrics=["revenue"], scenarios=ACTUAL, **YEAR)) == [224]


def test_a_synonym_stands_in_formulas_explanations_and_statements(books: Fed) -> None:
    answer = books.ask("run_metric", metrics=["revenue"], formulas={"x": "Umsatz / 2"}, scenarios=ACTUAL, **YEAR)
    assert values(answer) == [224, 112]
    explained = books.ask(
        "explain_variance", metric="umsatz", scenarios=["actual", "actual@py"], by=["customer"], **YEAR
    )
    assert (explained["a"], explained["b"]) == (224, 16)
    assert books.ask("run_statement", statement="guv", scenarios=ACTUAL, **YEAR)["statement"] == "pnl"


def test_a_synonym_orders_and_tests_the_column_of_its_metric(books: Fed) -> None:
    asked = {"metrics": ["Umsatz"], "scenarios": ACTUAL, "dimensions": ["customer"], "top": 1, **YEAR}
    for column in ("Umsatz", "umsatz@actual", "revenue"):
        answer = books.ask("run_metric", **asked, order_by=column, having=[{"column": column, "min": 100}])
        assert [row["key"] for row in answer["rows"]] == ["K3", "(others)", "total"]
    refusal = books.refused("run_metric", **asked, order_by="result")
    assert (refusal["field"], refusal["valid"]) == ("order_by", ["margin", "revenue"])
    assert "margin (revenue less costs), revenue (what customers bought)" in refusal["error"]


def test_a_synonym_finds_its_metrics_in_their_list(books: Fed, seller: Fed) -> None:
    def found(fed: Fed, query: str) -> list[str]:
        return [metric["key"] for each in fed.ask("list_kpis", query=query)["domains"] for metric in each["metrics"]]

    assert found(books, "Umsatz") == ["revenue"]
    assert found(books, "Result") == ["margin", "revenue"]
    assert found(seller, "Result") == ["revenue"]
    assert found(books, "Kader") == []


def test_the_orientation_says_what_terms_of_visible_metrics_mean(books: Fed, seller: Fed) -> None:
    assert books.ask("svc_orientation")["terms"] == {
        "Umsatz": "revenue",
        "GuV": "pnl",
        "result": "margin (revenue less costs), revenue (what customers bought)",
    }
    terms = seller.ask("svc_orientation")["terms"]
    assert terms["result"] == "revenue (what customers bought)"
    assert "margin" not in json.dumps(terms)


def test_a_synonym_of_a_member_filters_as_its_id(books: Fed) -> None:
    filters = {"customer": "The Pump People"}
    answer = books.ask("run_metric", metrics=["revenue"], scenarios=ACTUAL, filters=filters, **YEAR)
    assert values(answer) == [96]
    (note,) = [note for note in answer["notes"] if note["code"] == "resolved"]
    assert note["members"] == "'The Pump People' as 'K2'"


def test_a_word_of_several_readings_is_refused_with_what_each_means(books: Fed) -> None:
    refusal = books.refused("run_metric", metrics=["result"], scenarios=ACTUAL, **YEAR)
    assert (refusal["error_type"], refusal["field"], refusal["valid"]) == (
        "bad_arguments",
        "metrics",
        ["margin", "revenue"],
    )
    assert "margin (revenue less costs), revenue (what customers bought)" in refusal["error"]
    member = books.refused("run_metric", metrics=["revenue"], scenarios=ACTUAL, filters={"customer": "Group"}, **YEAR)
    assert (member["field"], member["valid"]) == ("filters.customer", ["K1", "K3"])
    assert "'K1' (the first group), 'K3' (the second group)" in member["error"]
    explained = books.refused("explain_variance", metric="Result", scenarios=["actual", "actual@py"], by=["customer"])
    assert (explained["field"], explained["valid"]) == ("metric", ["margin", "revenue"])


def test_a_dimension_tells_readings_apart(books: Fed) -> None:
    answer = books.ask("run_metric", metrics=["costs"], scenarios=ACTUAL, filters={"function": "group"}, **YEAR)
    assert values(answer) == [-3]


def test_a_search_shows_each_reading(books: Fed) -> None:
    assert books.ask("search_hierarchy", query="RESULT")["terms"] == [
        {"term": "result", "metric": "margin", "means": "revenue less costs"},
        {"term": "result", "metric": "revenue", "means": "what customers bought"},
    ]
    found = books.ask("search_hierarchy", query="group", dimension="customer")
    assert [(hit["id"], hit["means"]) for hit in found["terms"]] == [
        ("K1", "the first group"),
        ("K3", "the second group"),
    ]
    assert [hit["id"] for hit in found["records"]] == ["K1", "K3"]
    several = books.ask("search_hierarchy", query="Umsatz Corvane Pumpen")
    assert [(hit["query"], hit["metric"]) for hit in several["terms"]] == [("Umsatz", "revenue")]
    assert [(hit["query"], hit["id"]) for hit in several["records"]] == [("Corvane Pumpen", "K2")]


def test_one_visible_reading_is_what_a_word_means(seller: Fed) -> None:
    """The others name a metric, a function and a customer that the seller does not see."""
    answer = seller.ask("run_metric", metrics=["result"], scenarios=ACTUAL, **YEAR)
    assert values(answer) == [224]
    filtered = seller.ask("run_metric", metrics=["result"], scenarios=ACTUAL, filters={"customer": "group"}, **YEAR)
    assert values(filtered) == [128]
    assert seller.ask("search_hierarchy", query="group")["terms"] == [
        {"term": "group", "dimension": "customer", "id": "K3", "means": "the second group"}
    ]


def test_a_term_of_what_is_hidden_is_a_word_that_nothing_has(tmp_path: Path) -> None:
    """Neither a refusal nor a search tells it from another word."""
    more = "  Ausgaben: {metric: costs}\n  Kader: {dimension: customer, member: K1}\n"
    books = Fed(write_trading(tmp_path, SELLER, VOCABULARY + more), tmp_path / "state")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("run_metric", {"metrics": ["WORD"], "scenarios": ACTUAL}),
        ("search_hierarchy", {"query": "WORD"}),
        ("run_metric", {"metrics": ["revenue"], "scenarios": ACTUAL, "filters": {"customer": "WORD"}}),
        ("run_metric", {"metrics": ["revenue"], "scenarios": ACTUAL, "dimensions": ["customer"], "order_by": "WORD"}),
        ("list_kpis", {"query": "WORD"}),
    ]
    for tool, arguments in calls:
        asked = json.dumps(arguments)
        known, hidden, name = (books.call(tool, **json.loads(asked.replace("WORD", word)))[2] for word in WORDS)
        assert hidden.replace(WORDS[1], WORDS[0]) == name.replace(WORDS[2], WORDS[0]) == known


def test_an_absence_names_nothing_that_is_hidden(books: Fed, seller: Fed) -> None:
    """Neither the texts of a source nor the names of dimensions and columns."""
    for query in ("overdue", "function", "memo"):
        (note,) = seller.ask("search_hierarchy", query=query)["notes"]
        assert note["message"] == (
            f"No dimension, member, node, metric, statement or column that this caller sees holds '{query}'."
        )
    told = [
        books.ask("search_hierarchy", query=query)["notes"][0]["message"] for query in ("overdue", "function", "memo")
    ]
    assert ["memo" in told[0], "the dimension function" in told[1], "the column memo of costs" in told[2]] == [True] * 3


def test_the_orientation_says_what_is_not_held_and_a_search_answers_it(books: Fed, seller: Fed) -> None:
    for each in (books, seller):
        assert each.ask("svc_orientation")["not_held"] == ["ageing", "open invoices"]
        for query, words in (("Ageing of K2", ["ageing"]), ("invoices open", ["open invoices"])):
            notes = each.ask("search_hierarchy", query=query)["notes"]
            (note,) = [note for note in notes if note["code"] == "not_held"]
            assert (note["names"], note["severity"]) == (words, "caution")
            assert "nothing_found" not in [note["code"] for note in notes]
    assert SEARCH_NOTES["not_held"].severity is Severity.CAUTION
    assert [note["code"] for note in books.ask("search_hierarchy", query="invoices")["notes"]] == ["nothing_found"]


def test_books_without_a_vocabulary_say_nothing_of_it(tmp_path: Path) -> None:
    books = Fed(write_trading(tmp_path, vocabulary=""), tmp_path / "state")
    assert "not_held" not in books.ask("svc_orientation")
    assert "terms" not in books.ask("search_hierarchy", query="Umsatz")


@pytest.mark.parametrize(
    ("vocabulary", "said"),
    [
        ("terms: {A b: {metric: revenu}}", "there is no metric 'revenu' — did you mean 'revenue'?"),
        ("terms: {A b: {statement: pln}}", "there is no statement 'pln' — did you mean 'pnl'?"),
        ("terms: {A b: {dimension: custmer, member: K1}}", "there is no dimension 'custmer' with members"),
        ("terms: {A b: {metric: revenue, statement: pnl}}", "names nothing, or more than one thing"),
        ("terms: {A b: {dimension: customer}}", "names nothing, or more than one thing"),
        ("terms: {A b: {means: nothing}}", "names nothing, or more than one thing"),
        (
            "terms: {A b: [{metric: revenue}, {metric: margin, means: M}]}",
            "is one of several readings and has no means",
        ),
        ("terms: {revenue: {metric: margin}}", "is the key of a metric or statement"),
        ("not_held: [ageing, Revenue]", "'Revenue' is held"),
        ("not_held: [customer]", "'customer' is held"),
    ],
)
def test_check_says_what_a_term_names_that_is_not_there(tmp_path: Path, vocabulary: str, said: str) -> None:
    instance = write_trading(tmp_path, vocabulary="")
    with (instance / "instance.yaml").open("a", encoding="utf-8") as more:
        more.write(vocabulary + "\n")
    with pytest.raises(InstanceFaults) as refused:
        read_instance(instance)
    (fault,) = refused.value.faults
    assert said in str(fault)
    assert fault.file == "instance.yaml"


def test_check_of_the_data_says_which_member_of_a_term_is_not_loaded(tmp_path: Path) -> None:
    instance = write_trading(tmp_path, vocabulary="terms: {Pumps: {dimension: customer, member: K9}}\n")
    served = read_instance(instance)
    books = Shelf(served.catalogue, tmp_path / "state" / "store").current()
    (fault,) = data_faults(books, served.bindings)
    assert fault.startswith("instance.yaml:4: term 'Pumps': customer has no 'K9'")
