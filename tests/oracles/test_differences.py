"""AdventureWorks with its rows in an engine, or in attached tables: every answer is that of the files of this machine.

The oracles hold the files' answers to figures computed elsewhere, so they hold the engines' answers as well.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from engine.books.books import Shelf
from engine.door import Door
from engine.model.errors import Refusal
from engine.report.report import Report
from server.feeds.instance import ServedInstance, read_instance
from tests.support.books.loads import ROOT
from tests.support.engines.attached_tables import ATTACHABLE, attached_versions
from tests.support.engines.warehouses import ENGINES, versions_in_engine

AW = ROOT / "instances" / "adventureworks"
ROWS = 300
Asked = Callable[[Door], object]


def shown(report: Report) -> object:
    """Return what a report says."""
    return report.frame.rows(), report.freshness, report.notes


def of_statement(statement: str, asked: dict[str, Any], door: Door) -> object:
    """Ask a statement."""
    return shown(door.statement(statement, **asked))


def of_metric(metric: str, scenarios: Mapping[str, str], door: Door) -> object:
    """Ask a metric in total."""
    return shown(door.metric(metric, scenarios=scenarios))


def of_rows(domain: str, scenario: str, door: Door) -> object:
    """Ask for rows."""
    return door.rows(domain, scenario=scenario, limit=ROWS).rows


def questions(instance: ServedInstance) -> Iterator[Asked]:
    """Yield statements in total and by each of some dimensions, metrics in total, and rows."""
    catalogue = instance.catalogue
    scenarios = {key: key for key in catalogue.scenarios}
    for statement, by in product(catalogue.statements, (None, *sorted(catalogue.dimensions)[::6])):
        asked: dict[str, Any] = {"scenarios": scenarios, "dimensions": [by] if by else []}
        yield partial(of_statement, statement, asked)
    for metric in sorted(catalogue.metrics)[::4]:
        yield partial(of_metric, metric, scenarios)
    for domain, scenario in product(catalogue.domains, scenarios):
        yield partial(of_rows, domain, scenario)


def answer(asked: Asked, door: Door) -> Any:
    """Return the answer to a question, or the refusal."""
    try:
        return asked(door)
    except Refusal as refusal:
        return type(refusal), str(refusal)


STORES = {
    **{engine: versions_in_engine(engine) for engine in ENGINES},
    **{f"attached in {engine}": attached_versions(engine) for engine in ATTACHABLE if engine != "duckdb"},
}


@pytest.fixture(scope="module")
def of_files(adventureworks_state: Path) -> Mapping[str, Sequence[Any]]:
    """What the files of this machine answer, by profile."""
    instance = read_instance(AW)
    files = Shelf(instance.catalogue, adventureworks_state / "store")
    profiles = instance.profiles.by_key.items()
    return {key: [answer(asked, Door(files, profile)) for asked in questions(instance)] for key, profile in profiles}


@pytest.mark.usefixtures("stores_in_warehouses", "attached_stores")
@pytest.mark.parametrize("stored", STORES)
def test_every_question_is_answered_alike_in_files_and_in_an_engine(
    adventureworks_state: Path, of_files: Mapping[str, Sequence[Any]], stored: str
) -> None:
    instance = read_instance(AW)
    away = Shelf(instance.catalogue, adventureworks_state / "store", STORES[stored])
    answered = 0
    for key, profile in instance.profiles.by_key.items():
        there = Door(away, profile)
        for asked, expected in zip(questions(instance), of_files[key], strict=True):
            assert answer(asked, there) == expected
            answered += bool(expected) and not isinstance(expected[0], type)
    assert answered > 10
