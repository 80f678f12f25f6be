"""Backends: the books answer alike whichever store is handed to them."""

from pathlib import Path
from typing import Any

import pytest

from engine.books.books import Shelf
from engine.door import Door, open_books
from engine.model.profiles import EVERYONE
from server.feeds.instance import read_instance
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.engines.warehouses import ENGINES, versions_in_engine

FACTS = """
    date        scenario  account  centre  amount
    2024-01-05  actual    4000     north   100.10
    2024-01-31  actual    4000     south   -20.05
    2024-02-01  actual    5000     north   7
    2024-02-29  actual    -        north   1.5
    2024-01-31  budget    4000     north   90
"""
GL = """
    time: {column: date}
    dimensions: {account: account, centre: centre}
    inspect_enabled: true
    measures: {amount: {places: 2}}
    metrics:
      revenue: {measure: amount}
      lines: {over_members: count}
      largest: {measure: amount, over_members: max}
      centres: {over_members: {count_distinct: centre}}
      close: {measure: amount, over_time: closing}
      known: {measure: amount, over_time: {last_known: always}}
"""


@pytest.mark.usefixtures("stores_in_warehouses")
@pytest.mark.parametrize("engine", ENGINES)
def test_books_in_a_warehouse_answer_as_books_on_arrow_files(tmp_path: Path, engine: str) -> None:
    dimensions = "account: {kind: leaf}\ncentre: {kind: leaf}\n"
    folder = write_instance(tmp_path / "small", facts={"gl": FACTS}, domains={"gl": GL}, dimensions=dimensions)
    load_instance(folder, tmp_path / "state")
    shelf = Shelf(read_instance(folder).catalogue, tmp_path / "state" / "store", versions_in_engine(engine))
    away, arrow = Door(shelf, EVERYONE), open_books(folder, state=tmp_path / "state")
    scenarios = {"Actual": "actual", "Budget": "budget", "V": "var(actual,budget)"}
    for by in ((), ("account",), ("centre", "account")):
        asked: dict[str, Any] = {"period": "2024", "scenarios": scenarios, "dimensions": by}
        metrics = ("revenue", "lines", "largest", "centres", "close", "known")
        found, expected = (door.metric(*metrics, **asked) for door in (away, arrow))
        assert found.frame.equals(expected.frame)
        assert found.freshness == expected.freshness
    for limit in (1, 3, 10):
        for filters in ({}, {"metric": "known"}, {"metric": "centres"}):
            few, wanted = (
                door.rows("gl", scenario="actual", period="2024", limit=limit, filters=filters)
                for door in (away, arrow)
            )
            assert (few.rows, few.truncated) == (wanted.rows, wanted.truncated)
            assert few.contribution_total == wanted.contribution_total
