"""Chosen rows over HTTP, on books that are not the demo, through a profile that hides rows, a scenario and a measure.

Rules: Chosen rows.
"""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.servers import ERAS, McpBooks, connected, serving

FACTS = """
date       scenario account shop amount cost memo
2026-01-05 actual   Sales   A    100    1    Invoice~7
2026-01-06 actual   Sales   A    -30    1    CRÉDIT~NOTE~7
2026-01-07 actual   Sales   A    40.50  1    -
2026-01-08 actual   Rent    A    12     1    note~of~credit
2026-01-09 actual   Sales   B    9000   9    credit~note~of~B
2026-02-01 actual   Rent    A    13     1    Invoice~8
2026-01-05 board    Sales   A    7777   9    credit~note
"""
LEDGER = """
time: {column: date}
dimensions: {account: account, shop: shop}
measures: {amount: {places: 2}, cost: {places: 2}}
inspect_enabled: true
inspect_columns: [date, account, shop, amount, memo]
metrics:
  net: {measure: amount, where: {tree: [Net]}}
  least: {measure: amount, over_members: min}
"""
DIMENSIONS = """
account: {kind: leaf}
shop: {kind: leaf}
tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
"""
PROFILES = """
seen: {scenarios: {actual: {dimensions: {shop: {allow: [A]}}}}}
assign: [{subject: dev, profile: seen}]
"""
ROWS = {"source_key": "gl", "scenario_id": "actual", "period_start": "2026-01"}


@pytest.fixture(scope="module", params=ERAS)
def shops(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """A client who sees one of two shops, and neither the board's scenario nor the costs of rows."""
    folder: Path = tmp_path_factory.mktemp("shops")
    instance = write_instance(
        folder / "books",
        facts={"gl": FACTS},
        domains={"gl": LEDGER},
        dimensions=DIMENSIONS,
        tables={"tree": "node parent weight\nNet - 1\nSales Net 1\nRent Net -1"},
        scenarios="actual: {alias: Actuals, kind: actual}\nboard: {alias: Board, kind: plan}",
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    with serving(instance, folder / "state") as server, connected(server.url, request.param) as client:
        yield client


def amounts(answer: dict[str, Any], name: str = "amount") -> list[Decimal]:
    """Return the values of a column of the rows of an answer."""
    at = [column["name"] for column in answer["columns"]].index(name)
    return [Decimal(str(row[at])) for row in answer["rows"]]


def test_the_largest_postings_are_one_call(shops: McpBooks) -> None:
    found = shops.ask("inspect_rows", **ROWS, order_by="amount", limit=2)
    assert (amounts(found), found["total_rows"], found["truncated"]) == ([100, Decimal("40.5")], 4, True)
    assert found["sums"] == {"amount": {"sum": 122.5, "positive": 152.5, "negative": -30}}
    subtracted = shops.ask(
        "inspect_rows", **ROWS, filters={"metric": "net"}, order_by="contribution", asc=True, limit=2
    )
    assert amounts(subtracted, "contribution") == [-30, -12]
    assert (subtracted["contribution_total"], subtracted["figure"]) == (98.5, 98.5)


def test_amounts_texts_and_counts_are_those_of_the_rows_that_are_seen(shops: McpBooks) -> None:
    found = shops.ask("inspect_rows", **ROWS, amount={"min": 12, "max": 40.5})
    assert sorted(amounts(found)) == [12, Decimal("40.5")]
    credit = shops.ask("inspect_rows", **ROWS, text="credit note")
    assert (sorted(amounts(credit)), credit["text_searched"]) == ([-30, 12], ["memo"])
    assert credit["sums"] == {"amount": {"sum": -18, "positive": 12, "negative": -30}}
    counted = shops.ask("inspect_rows", **ROWS, count_by=["account", "shop"])
    assert counted["rows"] == [["Sales", "A", 3, 110.5], ["Rent", "A", 1, 12]]
    none = shops.ask("inspect_rows", **ROWS, text="B")
    assert (none["total_rows"], none["rows"]) == (0, [])


def test_a_summary_has_sums_and_keeps_its_rows(shops: McpBooks) -> None:
    found = shops.ask("inspect_rows", **ROWS, summary=True, filters={"metric": "net"}, amount={"max": 0})
    assert not {"rows", "columns", "figure"} & found.keys()
    assert (found["total_rows"], found["contribution_total"], found["row_count"]) == (2, -42, 2)
    assert found["sums"] == {"contribution": {"sum": -42, "positive": 0, "negative": -42, "unit": "USD"}}
    assert found["chosen"] == {"Amount": "to 0"}
    kept = shops.ask(
        "eval_chart_transform",
        data_refs=[found["data_ref"]],
        transform_code="result = df.select(total=pl.col('contribution').sum())",
    )
    assert kept["rows"] == [[-42]]


@pytest.mark.parametrize(
    ("asked", "error", "field"),
    [
        ({"order_by": "cost"}, "column_unavailable", "order_by"),
        ({"count_by": ["cost"]}, "column_unavailable", "count_by"),
        ({"order_by": "amount", "filters": {"metric": "least"}}, "bad_arguments", "order_by"),
        ({"amount": {}}, "bad_arguments", "amount"),
        ({"amount": {"least": 5}}, "bad_arguments", "amount.least"),
        ({"count_by": ["shop"], "columns": ["shop"]}, "bad_arguments", "columns"),
    ],
)
def test_a_refusal_says_what_can_be_asked(shops: McpBooks, asked: dict[str, Any], error: str, field: str) -> None:
    refused = shops.call("inspect_rows", **ROWS, **asked).told
    assert (refused["error_type"], refused["field"]) == (error, field)
    assert "9000" not in str(refused)
