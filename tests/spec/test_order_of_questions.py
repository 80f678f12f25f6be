"""Answers do not depend on what was asked before, or at the same time."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Thread, get_ident
from typing import Any

import pytest

from engine.books import books as books_module
from engine.books.books import Shelf
from engine.door import Door
from engine.plans import base_groups
from engine.plans.weights import class_contributions
from engine.present.answers.budget import tokens_of
from server.base.interfaces import Principal
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.feeds.instance import read_instance
from server.stores.memory import new_reference
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.small import figures, small_books
from tests.support.engines.memory import MemoryLoads

ACTUAL = {"Actuals": "actual"}
EVERYONE = "everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n"
LEDGER = """
time: {column: date}
dimensions: {entity: entity, product: product}
measures: {amount: {places: 2}}
metrics:
  sales: {measure: amount}
"""
SALES = "date scenario entity product amount\n2026-01-05 actual FR Core 60\n2026-01-05 actual DE Pro 40"
DIMENSIONS = "entity: {kind: leaf}\nproduct: {kind: leaf}\n"

PEOPLE = """
time: {column: date}
dimensions: {entity: entity}
measures: {amount: {places: 2}}
metrics:
  cost: {measure: amount}
"""
COSTS = "date scenario entity amount\n2026-01-05 actual FR 6\n2026-01-05 actual DE 4"
PNL = "- {metric: gl.sales}\n- {metric: people.cost}\n"

STOCK = """
time: {column: date}
dimensions: {entity: entity}
measures: {amount: {places: 2}}
balances: {stock: {where: {entity: [FR, DE]}, grain: month}}
metrics:
  known: {measure: amount, over_time: {last_known: always}, balance: stock}
"""
COUNTED = """
date       scenario entity amount
2026-01-15 actual   FR     1
2026-02-15 actual   DE     2
2026-03-15 actual   FR     3
"""


def books_of(folder: Path, **parts: Any) -> Door:
    """Return books of which nothing was asked."""
    domains: Mapping[str, str] = {"gl": LEDGER, **parts.pop("domains", {})}
    facts = {"gl": SALES, **parts.pop("facts", {})}
    return small_books(folder, facts=facts, domains=domains, dimensions=DIMENSIONS, profiles=EVERYONE, **parts)


def test_who_asks_while_another_works_out_the_same_is_answered_from_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = books_of(tmp_path)
    first, other = get_ident(), list[Any]()

    def ask() -> Any:
        report = books.metric("sales", scenarios=ACTUAL, period="2026-01", dimensions=["entity"])
        return figures(report, "entity")

    def ask_beside(*arguments: Any, **options: Any) -> Iterator[Any]:
        """Yield what a class counts in; another thread asks between the first and the second."""
        for at, contribution in enumerate(class_contributions(*arguments, **options)):
            yield contribution
            if at == 0 and get_ident() == first and not other:
                beside = Thread(target=lambda: other.append(ask()))
                beside.start()
                beside.join()

    monkeypatch.setattr(base_groups, "class_contributions", ask_beside)
    sales = {"FR": 60, "DE": 40, None: 100}
    assert ask() == sales
    assert other == [sales]


@pytest.mark.parametrize("first", [["product", "entity"], ["entity", "product"]], ids=",".join)
def test_a_domain_that_lacks_a_dimension_repeats_its_aggregate_whichever_order_was_asked_first(
    tmp_path: Path, first: Sequence[str]
) -> None:
    """DE costs 4 and FR 6, in each product; a statement by the dimensions in the other order is asked first."""
    books = books_of(tmp_path, facts={"people": COSTS}, domains={"people": PEOPLE}, statements={"pnl": PNL})
    for dimensions in (first, first[::-1]):
        report = books.statement("pnl", scenarios=ACTUAL, period="2026-01", dimensions=dimensions)
        costs = {
            key[1:]: cost for key, cost in figures(report, "line", "entity", "product").items() if key[0] == "cost"
        }
        assert costs == {("FR", "Core"): 6, ("DE", "Pro"): 4, (None, None): 10}


@pytest.mark.parametrize("most", [1, 100, 1_000, 20_000])
def test_what_the_books_let_go_of_within_a_call_is_worked_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    books = books_of(tmp_path, facts={"stock": COUNTED}, domains={"stock": STOCK})
    monkeypatch.setattr(books_module, "MEMO_MEMBERS", most)
    report = books.metric("known", scenarios=ACTUAL, period=("2026-01", "2026-03"), dimensions=["entity", "period"])
    found = figures(report, "entity", "period")
    assert [found["FR", f"2026-0{month}"] for month in (1, 2, 3)] == [1, 1, 3]
    assert [found.get(("DE", f"2026-0{month}")) for month in (1, 2, 3)] == [None, 2, 2]
    assert found[None, None] == 5


def test_the_reference_of_a_result_decides_nothing(demo_folder: Path, tmp_path: Path) -> None:
    """At each of some budgets, equal calls show equally many rows, whatever characters chance puts into references."""
    assert len({tokens_of(new_reference().encode()) for _ in range(100)}) == 1
    instance = read_instance(demo_folder)
    shelf, keeping = Shelf(instance.catalogue, demo_folder / ".tieout" / "store"), keeping_in(tmp_path)
    sent = {"source_key": "gl", "scenario_id": "actual", "period_start": "2026-02", "filters": {"metric": "revenue"}}
    asked = read_request(TOOLS["inspect_rows"].shape, sent)
    for budget in range(1500, 1560, 3):
        caller = Callers(instance, shelf, Feeds.of({}, MemoryLoads(), {}), keeping, WORKSHOP, budget, 1000).of(
            Principal("dev"), lambda: None
        )
        answers = [TOOLS["inspect_rows"].answer(caller, asked).result for _ in range(10)]
        assert len({answer["data_ref"] for answer in answers}) == 10
        assert len({len(answer["rows"]) for answer in answers}) == 1
