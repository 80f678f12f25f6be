"""The example of a refusal is one that was tried: books in which the first that comes to mind has no figures."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.books import books as opened_books
from engine.model.members.member_sets import LeafMembers
from engine.model.members.trees import RaggedNodes, ragged_nodes
from server.caller.caller import CallerDatasets
from server.tools import examples
from tests.laws.scoped.mistakes import has_data
from tests.support.books.calendars import four_four_five, table
from tests.support.books.fed import Fed
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

DOMAIN = """
time: {column: date, grain: month}
inspect_enabled: true
dimensions: {product: product, region: region}
measures: {amount: {places: 2}}
metrics:
  ghosts: {measure: amount, where: {region: [AP]}}
  sales: {measure: amount, where: {tree: [NET]}}
  total: {measure: amount}
"""
DIMENSIONS = """
product: {kind: leaf}
region: {kind: leaf}
tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
"""
TREE = """
node parent weight
NET -   1
A   NET 0
B   NET 0
C   NET 1
"""
SCENARIOS = """
draft:  {alias: Draft, kind: plan}
actual: {alias: Actuals, kind: actual}
budget: {alias: Budget, kind: budget}
"""
ROWS = """
date    scenario product region amount
2025-02 actual   A       EU     10
2025-02 actual   A       EU     20
2025-02 budget   A       EU     15
"""
PROFILES = "everyone: {operations: true, scenarios: {'*': {}}}\nassign: [{subject: somebody, profile: everyone}]\n"
LINES = {"empty": "ghosts", "net": "sales", "pnl": "total"}
WEEKS = table(date(2024, 12, 29), {2025: four_four_five()}, by_week=True)
METRIC = {"metrics": ["total"], "scenarios": [{"scenario": "actual"}], "period_start": "2025-02"}
EXPLAINED = {"metric": "total", "scenarios": ["actual", "budget"], "by": ["region"], "period_start": "2025-02"}
INSPECTED = {"source_key": "gl", "scenario_id": "actual", "period_start": "2025-02"}
STATEMENT = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2025-02"}


def opened(folder: Path, domain: str, metrics: Mapping[str, str] = LINES) -> Fed:
    """Return the tools over books of one domain, with a statement of each of some metrics."""
    instance = write_instance(
        folder / "books",
        facts={"gl": ROWS},
        domains={"gl": domain},
        dimensions=DIMENSIONS,
        tables={"tree": TREE},
        statements={statement: f"  - {{metric: {metric}}}\n" for statement, metric in metrics.items()},
        scenarios=SCENARIOS,
        trading=WEEKS,
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    return Fed(instance, folder / "state")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Fed:
    """Books by month beside a trading calendar, whose first scenario has no rows and whose tree weighs its rows 0."""
    return opened(tmp_path_factory.mktemp("examples"), DOMAIN)


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("run_statement", {**STATEMENT, "scenarios": []}),
        ("run_metric", {**METRIC, "scenarios": []}),
        ("run_metric_data", {**METRIC, "scenarios": []}),
        ("run_metric_data", {}),
        ("run_metric", {**METRIC, "scenarios": [{"scenario": "actual@yty"}]}),
        ("run_metric", {**METRIC, "scenarios": [{"scenario": "draft-budget"}]}),
        ("run_metric", {**METRIC, "period_start": "2025-12", "period_end": "2025-11"}),
        ("run_metric", {**METRIC, "filters": {"region": {"not": ["EU"]}}}),
        ("run_metric", {**METRIC, "filters": 5}),
        ("run_metric", {"scale": "3"}),
        ("explain_variance", {**EXPLAINED, "scenarios": []}),
        ("explain_variance", {**EXPLAINED, "scenarios": ["ghost"]}),
        ("explain_variance", {**EXPLAINED, "by": []}),
        ("inspect_rows", {**INSPECTED, "scenario_id": "actual@yty"}),
        ("inspect_rows", {**INSPECTED, "columns": 5}),
        ("list_kpis", {"domain": ["ghost"]}),
    ],
)
def test_the_example_of_a_refusal_is_answered_with_data(books: Fed, tool: str, asked: Mapping[str, Any]) -> None:
    refusal = books.refused(tool, **asked)
    assert "@ty'" not in str(refusal.get("did_you_mean")) + str(refusal["example"])
    answer = books.ask(tool, **{**asked, **refusal["example"]})
    assert has_data(tool, answer), (refusal, answer)


def test_an_example_of_a_median_is_tried(tmp_path: Path) -> None:
    median = DOMAIN + "  middle: {measure: amount, over_members: median}\n"
    books = opened(tmp_path, median)
    asked = {**METRIC, "metrics": ["middle"], "filters": {"region": ["EU"], "product": ["C"]}, "scale": "3"}
    refusal = books.refused("run_metric", **asked)
    answer = books.ask("run_metric", **{**asked, **refusal["example"]})
    assert has_data("run_metric", answer), (refusal, answer)


def test_the_example_of_a_refusal_changes_no_more_than_it_must(books: Fed) -> None:
    assert books.refused("run_metric", **{**METRIC, "metrics": "total"})["example"] == {"metrics": ["total"]}
    columns = books.refused("run_metric", **{**METRIC, "scenarios": []})["example"]["scenarios"]
    assert columns == [{"scenario": "actual"}, {"scenario": "budget"}]


def test_the_examples_of_descriptions_are_answered_with_data(books: Fed) -> None:
    tried = books.examples()
    assert tried["run_statement"]["statement"] == "pnl"
    assert tried["run_metric"]["metrics"] == ["total"]
    for tool in ("run_statement", "run_metric", "explain_variance", "inspect_rows"):
        assert has_data(tool, books.ask(tool, **tried[tool])), tool


@pytest.mark.parametrize(("most", "axis"), [(0, "period"), (20_000, "tree")])
def test_examples_open_no_tree_of_very_many_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, axis: str
) -> None:
    """The tree is tried first where there are few."""
    domain = "\n".join(line for line in DOMAIN.splitlines() if "ghosts" not in line and "sales" not in line)
    books = opened(tmp_path, domain, {"pnl": "total"})
    monkeypatch.setattr(examples, "MAX_OPENED", most)
    trees: list[str] = []

    def read(dimension: str, of: LeafMembers, table: pl.DataFrame, *, adds_paths: bool) -> RaggedNodes:
        trees.append(dimension)
        return ragged_nodes(dimension, of, table, adds_paths=adds_paths)

    monkeypatch.setattr(opened_books, "ragged_nodes", read)
    tried = books.examples()
    assert [tried["run_metric"]["dimensions"], tried["explain_variance"]["by"]] == [[axis], [axis]]
    assert tried["search_hierarchy"]["dimension"] == "tree"
    filters = books.refused("run_metric", **{**METRIC, "filters": 5})["example"]["filters"]
    assert ("tree" in filters) is bool(most)
    assert trees == (["tree"] if most else [])


def test_a_metric_that_is_blank_where_it_has_rows_is_no_example(tmp_path: Path) -> None:
    balances = DOMAIN.replace("where: {region: [AP]}", "over_time: opening").replace(
        "where: {tree: [NET]}", "over_time: opening"
    )
    tried = opened(
        tmp_path, balances.replace("total: {measure: amount}", "total: {measure: amount, over_time: closing}")
    ).examples()
    assert tried["run_metric"]["metrics"] == ["total"]
    assert tried["explain_variance"]["metric"] == "total"


def test_a_trial_keeps_nothing(books: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    def keep(*_: object) -> None:
        raise AssertionError("a trial keeps its result")

    monkeypatch.setattr(CallerDatasets, "keep", keep)
    assert books.refused("run_metric", **{**METRIC, "scenarios": []})["example"]
    assert books.call("run_metric", **METRIC)[1]["error_type"] == "internal"
