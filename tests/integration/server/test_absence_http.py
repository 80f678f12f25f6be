"""Several names, absences and terms over HTTP, on books of a small trading company."""

from collections.abc import Iterator

import pytest

from tests.support.books.trading import write_trading
from tests.support.service.servers import ERAS, McpBooks, connected, serving

ACTUAL = [{"scenario": "actual"}]
YEAR = {"period_start": "2026", "period_end": "2026"}


@pytest.fixture(scope="module", params=ERAS)
def books(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """A client of the books."""
    folder = tmp_path_factory.mktemp("trading")
    instance = write_trading(folder)
    with serving(instance, folder / "state") as server, connected(server.url, request.param) as client:
        yield client


def test_words_of_two_dimensions_find_a_function_and_a_customer(books: McpBooks) -> None:
    answer = books.ask("search_hierarchy", query="IT Corvane Pumpen")
    assert [(hit["dimension"], hit["id"], hit["query"]) for hit in answer["records"]] == [
        ("function", "IT", "IT"),
        ("customer", "K2", "Corvane Pumpen"),
    ]
    (note,) = answer["notes"]
    assert (note["code"], note["names"]) == ("several_names", ["IT", "Corvane Pumpen"])
    listed = books.ask("search_hierarchy", query=["pumpen", "HR", "overdue"])
    assert [(hit["id"], hit["query"]) for hit in listed["records"]] == [("K2", "pumpen"), ("HR", "HR")]
    assert [(note["code"], note["names"]) for note in listed["notes"]] == [("nothing_found", ["overdue"])]


def test_what_is_nowhere_is_said_to_be_nowhere(books: McpBooks) -> None:
    (note,) = books.ask("search_hierarchy", query="overdue")["notes"]
    assert note["message"] == (
        "No dimension, member, node, metric, statement or column that this caller sees holds 'overdue'. "
        "Texts of rows were not searched: inspect_rows takes text for the column memo of costs."
    )
    (note,) = books.ask("search_hierarchy", query="ageing")["notes"]
    assert (note["code"], note["names"]) == ("not_held", ["ageing"])
    assert books.ask("svc_orientation")["not_held"] == ["ageing", "open invoices"]


def test_a_customer_without_rows_this_year_bought_in_another(books: McpBooks) -> None:
    answer = books.ask("run_metric", metrics=["revenue"], scenarios=ACTUAL, filters={"customer": "K1"}, **YEAR)
    assert answer["rows"][-1]["values"] == [None]
    (note,) = [note for note in answer["notes"] if note["code"] == "rows_elsewhere"]
    assert note["message"] == (
        "actual of sales has no rows of revenue of customer 'K1' in 2026-01 to 2026-12 (loaded to 2026-02). It has "
        "rows in 2025-11."
    )
    beside = books.ask(
        "run_metric",
        metrics=["revenue"],
        scenarios=ACTUAL,
        filters={"customer": ["K1", "K2"]},
        dimensions=["customer"],
        **YEAR,
    )
    assert [(row["key"], row["values"]) for row in beside["rows"]] == [("K1", [None]), ("K2", [96]), ("total", [96])]
    (note,) = [note for note in beside["notes"] if note["code"] == "members_without_rows"]
    assert note["message"].endswith("in 2026-01 to 2026-12 (loaded to 2026-02): 'K1' (rows in 2025-11).")


def test_a_word_of_several_readings_is_refused_and_mended_by_what_it_says(books: McpBooks) -> None:
    refused = books.call("run_metric", metrics=["result"], scenarios=ACTUAL, **YEAR).told
    assert refused["valid"] == ["margin", "revenue"]
    mended = books.ask("run_metric", metrics=refused["valid"][:1], scenarios=ACTUAL, **YEAR)
    assert mended["rows"][-1]["values"] == [217]
    assert books.ask("run_metric", metrics=["Umsatz"], scenarios=ACTUAL, **YEAR)["rows"][-1]["values"] == [224]


def test_too_many_names_are_refused_with_those_that_one_call_takes(books: McpBooks) -> None:
    names = [f"K{at}" for at in range(21)]
    refused = books.call("search_hierarchy", query=names).told
    assert (refused["error_type"], refused["field"]) == ("bad_arguments", "query")
    assert refused["example"] == {"query": names[:20]}
    found = books.ask("search_hierarchy", **refused["example"])["records"]
    assert {hit["id"] for hit in found} == {"K1", "K2", "K3"}
