"""The recipes of docs/instance.md: each file is loaded by the keys under it, and gives the rows of the table."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.door import open_books
from engine.instance.read import STORE
from server.ingest.rates import open_tables
from tests.support.books.instance_page import RECIPES, blocks, table
from tests.support.books.loads import load_feeds
from tests.support.books.small import figures, write_instance

DOMAIN = """
    time: {column: date, grain: day}
    dimensions: {account: account}
    measures: {amount: {places: 2}}
    metrics:
      revenue: {measure: amount}
"""
DIMENSIONS = """
    account: {kind: leaf}
    tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
"""
FOUND = {
    title: body
    for title, body in re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", RECIPES, re.MULTILINE | re.DOTALL)
    if "```yaml" in body
}


@pytest.mark.parametrize("title", FOUND)
def test_a_recipe_loads_what_its_table_says(title: str, tmp_path: Path) -> None:
    body = FOUND[title]
    keys = re.search(r"^```yaml\n(.*?)^```", body, re.MULTILINE | re.DOTALL)
    assert keys
    feed: dict[str, Any] = yaml.load(keys[1], yaml.BaseLoader)  # noqa: S506 - a loader of texts makes no objects
    grain = DOMAIN.replace("day", "month") if "`grain: month`" in body else DOMAIN
    of_tree = feed.get("target") == "live.tree"
    instance = write_instance(
        tmp_path / "recipe",
        facts={
            "gl": "date account amount scenario\n2026-01-31 4000 1 actual\n2026-01-31 5000 1 actual" if of_tree else "a"
        },
        domains={"gl": grain},
        dimensions=DIMENSIONS,
        tables={"tree": "node parent\nA -"},
        bindings={"tree" if of_tree else "gl": feed if of_tree else {"scenario": "actual", **feed}},
    )
    for block in blocks(body):
        if block.named.startswith("`data/"):
            (instance / block.file).write_text(block.text, encoding="utf-8")
    load_feeds(instance, tmp_path / "state", *(["gl", "tree"] if of_tree else ["gl"]))
    rows = table(body)[1:]
    if of_tree:
        with open_tables(tmp_path / "state" / STORE) as tables:
            nodes, parents = tables.known("live.tree", "node"), tables.known("live.tree", "parent")
        assert nodes is not None
        assert parents is not None
        assert sorted(zip(nodes, parents.fill_null(""), strict=True)) == sorted(map(tuple, rows))
        return
    books = open_books(instance, state=tmp_path / "state")
    asked: dict[str, Any] = {"scenarios": {"A": "actual"}, "dimensions": ["account"]}
    loaded = {
        (account, period): amount
        for period in {period for _, period, _ in rows}
        for account, amount in figures(books.metric("revenue", period=period, **asked), "account").items()
        if account is not None and amount is not None
    }
    assert loaded == {(account, period): Decimal(amount) for account, period, amount in rows}
    assert figures(books.metric("revenue", period="2026", **asked), "account")[None] == sum(loaded.values())
