"""The first calls: the orientation and the list of metrics, and no more than their caller sees."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from server.http.dispatch import CallResult
from tests.support.books.fed import SOMEBODY, Fed
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance
from tests.support.engines.memory import MemoryLoads

FACTS = """
    date       scenario entity centre amount
    2021-04-05 actual   DE     C1     1
    2021-06-30 actual   US     C2     2
    2022-01-31 budget   DE     C1     4
"""
DOMAIN = """
    inspect_enabled: true
    time: {column: date}
    dimensions: {entity: entity, centre: centre}
    measures: {amount: {places: 2}}
    metrics: {METRICS}
"""


def fed(folder: Path, profile: str = "{scenarios: {'*': {}}}", metrics: int = 1, dimensions: str = "") -> Fed:
    """Return the tools over a ledger and pay, as somebody with a profile meets them."""
    named = ", ".join(f"m{number}: {{measure: amount}}" for number in range(metrics))
    instance = write_instance(
        folder / "small",
        facts={"gl": FACTS, "hr": FACTS},
        domains={
            "gl": DOMAIN.replace("METRICS", named),
            "hr": DOMAIN.replace("METRICS", "pay: {measure: amount}"),
        },
        dimensions="entity: {kind: leaf}\ncentre: {kind: leaf}\n"
        f"tree: {{kind: ragged, leaf_dimension: centre, nodes: live.tree}}\n{dimensions}",
        tables={"tree": "node parent\nALL -\nA ALL\nB ALL\nC1 A\nC2 B"},
        scenarios="actual: {alias: Actuals, kind: actual}\nbudget: {alias: Budget, kind: budget}",
        statements={"pnl": "  - {metric: m0}\n", "staff": "  - {metric: pay}\n"},
        profiles=f"seen: {profile}\nassign: [{{subject: {SOMEBODY.subject}, profile: seen}}]",
    )
    loads = MemoryLoads()
    load_feeds(instance, folder / "state", loads=loads)
    return Fed(instance, folder / "state", loads=loads)


def told(books: Fed) -> dict[str, Any]:
    """Return the orientation."""
    return books.ask("svc_orientation")


def test_scenarios_have_the_months_of_their_first_and_last_rows(tmp_path: Path) -> None:
    shown = told(fed(tmp_path))
    assert shown["scenarios"] == {
        "actual": {"alias": "Actuals", "first": "2021-04", "last": "2021-06"},
        "budget": {"alias": "Budget", "first": "2022-01", "last": "2022-01"},
    }
    assert shown["fiscal_year"] == {"year": "2022", "first_day": "2022-01-01", "last_day": "2022-12-31"}
    assert "scope" not in shown


def test_what_is_hidden_is_in_no_part_of_it(tmp_path: Path) -> None:
    only = "{scenarios: {actual: {domains: {allow: [gl]}, dimensions: {entity: {allow: [DE]}}}}}"
    shown = told(fed(tmp_path, only))
    assert shown["scenarios"] == {"actual": {"alias": "Actuals", "first": "2021-04", "last": "2021-04"}}
    assert shown["fiscal_year"]["year"] == "2021"
    assert [domain["key"] for domain in shown["domains"]] == ["gl"]
    assert [statement["key"] for statement in shown["statements"]] == ["pnl"]
    assert shown["scope"] == {"entity": ["DE"]}


@pytest.mark.parametrize(
    ("grant", "scope"),
    [
        ("{dimensions: {entity: {allow: [DE, US, FR]}}}", {"entity": ["DE", "US"]}),  # there is no FR
        ("{dimensions: {tree: {allow: [A]}}}", {"tree": ["A"]}),
        ("{dimensions: {tree: {allow: [A, B]}, entity: {allow: [DE]}}}", {"tree": ["A"], "entity": ["DE"]}),
        ("{dimensions: {entity: {deny: [US]}}}", None),
    ],
)
def test_scope_is_what_allow_lists_name_and_a_search_finds(tmp_path: Path, grant: str, scope: Any) -> None:
    books = fed(tmp_path, f"{{scenarios: {{'*': {grant}}}}}")
    shown = told(books)
    assert shown.get("scope") == scope
    for dimension, members in (scope or {}).items():
        found = books.ask("search_hierarchy", dimension=dimension)
        assert set(members) <= {hit["id"] for hit in (*found["records"], *found["hierarchy_nodes"])}


def test_large_books_are_told_in_numbers(tmp_path: Path) -> None:
    shown = told(fed(tmp_path, metrics=90, dimensions=""))
    assert [domain["metrics"] for domain in shown["domains"]] == [90, 1]


def keys(books: Fed, **asked: str) -> dict[str, list[str]]:
    """Return the keys of the metrics that are listed, by domain."""
    listed = books.ask("list_kpis", **asked)["domains"]
    return {domain["domain"]: [metric["key"] for metric in domain["metrics"]] for domain in listed}


def test_metrics_are_those_of_a_domain_or_of_a_query(tmp_path: Path) -> None:
    books = fed(tmp_path, metrics=3)
    assert keys(books) == {"gl": ["m0", "m1", "m2"], "hr": ["pay"]}
    assert keys(books, domain="hr") == {"hr": ["pay"]}
    assert keys(books, query="PAY") == {"hr": ["pay"]}
    assert keys(books, query="m1") == {"gl": ["m1"]}
    assert keys(books, query="pay", domain="gl") == keys(books, query="zebra") == {}
    whole = {known["key"]: known for domain in books.ask("list_kpis")["domains"] for known in domain["metrics"]}
    (found,) = books.ask("list_kpis", query="m1")["domains"]
    assert found["metrics"] == [whole["m1"]]


def test_an_unknown_domain_is_refused_as_a_hidden_one_is(tmp_path: Path) -> None:
    books = fed(tmp_path, "{scenarios: {'*': {domains: {allow: [gl]}}}}")
    told = [books.refused("list_kpis", domain=name) for name in ("hr", "xx")]
    assert str(told[0]).replace("hr", "xx") == str(told[1])
    assert told[0]["valid"] == ["gl"]
    assert "list_kpis without arguments" in told[0]["error"]
    assert keys(books, query="pay") == {}


def test_who_sees_nothing_learns_why_and_nothing_else(tmp_path: Path) -> None:
    said = told(fed(tmp_path, profile="{scenarios: {}}"))
    assert "no profile that is assigned to them shows any data" in said["orientation"]
    assert "tieout check --subject says who sees what" in said["orientation"]
    assert "run_statement" not in said["orientation"]


LISTS = ("svc_orientation", "list_scenarios", "list_kpis", "list_dimensions", "list_inspection_sources")


def outcomes(books: Fed) -> list[CallResult]:
    """Return the answer of each of the first calls."""
    return [asyncio.run(books.dispatch.call(name, {}, SOMEBODY)) for name in LISTS]


def test_the_first_answers_are_made_once_for_a_version_and_anew_after_a_load(tmp_path: Path) -> None:
    books = fed(tmp_path)
    first, again = outcomes(books), outcomes(books)
    assert all(one.json is other.json for one, other in zip(first, again, strict=True))
    assert first[0].result["scenarios"]["actual"]["last"] == "2021-06"
    ledger = tmp_path / "small" / "data" / "gl.csv"
    ledger.write_text(ledger.read_text() + "2021-09-30,actual,US,C2,8\n")
    load_feeds(tmp_path / "small", tmp_path / "state", loads=books.loads)
    later = outcomes(books)
    assert later[0].result["scenarios"]["actual"]["last"] == "2021-09"
    assert later[0].result["data_version"] != first[0].result["data_version"]
    assert [one.json for one in later] == [one.json for one in outcomes(Fed(tmp_path / "small", tmp_path / "state"))]
