"""The cases in the folder `cases`: their parameters, copies of their instances, and the tools over what they load."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.instance.read import STATE
from engine.model.profiles import EVERYONE
from server.feeds.instance import read_instance
from server.ingest.load import BindingFailed, LoadResult
from tests.support.books.fed import Fed
from tests.support.books.loads import load_feeds
from tests.support.service.servers import McpBooks, connected, serving

CASES = Path(__file__).parent / "cases"
Figures = dict[tuple[str, ...], Decimal | None]


def parameters(group: str, checks: Mapping[str, object], not_yet: Mapping[str, str]) -> list[Any]:
    """Return a parameter for each case of a group; one that is not right yet has to fail."""
    cases = sorted(path.stem for path in (CASES / group).iterdir() if path.suffix != ".md")
    assert cases == sorted(checks), "each case has a check, and each check a case"
    assert set(not_yet) <= set(cases)
    return [
        pytest.param(case, marks=[pytest.mark.xfail(reason=not_yet[case], strict=True)] if case in not_yet else [])
        for case in cases
    ]


def read_case(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a case."""
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return case


def copy_case(case: Path, folder: Path) -> Path:
    """Copy a folder of a case to where a test may write."""
    return Path(shutil.copytree(case, folder / "books"))


class CaseBooks:
    """The tools over an instance that is loaded, as a caller with one of its profiles meets them."""

    def __init__(self, folder: Path, profile: str | None = None) -> None:
        self.loads: list[LoadResult] = load_feeds(folder, folder / STATE)
        profiles = read_instance(folder).profiles.by_key
        chosen = profiles[profile] if profile else next(iter(profiles.values()), EVERYONE)
        self.fed = Fed(folder, folder / STATE, chosen)

    def ask(self, tool: str, period: str, scenario: str = "actual", **arguments: Any) -> dict[str, Any]:
        """Return the answer of a reporting tool for one scenario and period, or range of periods."""
        return self.fed.ask(tool, scenarios=[{"scenario": scenario}], **bounds(period), **arguments)

    def figures(self, metric: str, period: str, scenario: str = "actual", **arguments: Any) -> Figures:
        """Return the figures of a metric by the members of their rows; those of the total are (Total,)."""
        answer = self.ask("run_metric", period, scenario, metrics=[metric], **arguments)
        return {members(row): number(row["values"][0]) for row in answer["rows"]}

    def figure(self, metric: str, period: str, scenario: str = "actual", **arguments: Any) -> Decimal | None:
        """Return the only figure of a metric, or that of the total."""
        answer = self.ask("run_metric", period, scenario, metrics=[metric], **arguments)
        return number(answer["rows"][-1]["values"][0])


def opened(folder: Path) -> CaseBooks | str:
    """Return the books of an instance, or why its load is refused."""
    try:
        return CaseBooks(folder)
    except BindingFailed as fault:
        return str(fault)


def bounds(period: str) -> dict[str, str]:
    """Return a period or range, written start..end, as the arguments of a call."""
    start, _, end = period.partition("..")
    return {"period_start": start, "period_end": end or start}


def members(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the members of a row of metrics."""
    return tuple(row["members"].values()) or ("Total",)


def number(value: float | str | None) -> Decimal | None:
    """Return a figure of an answer; it is exact."""
    return None if value is None else Decimal(str(value))


def codes(answer: Mapping[str, Any]) -> set[str]:
    """Return the codes of the notes of an answer."""
    return {note["code"] for note in answer.get("notes", [])}


@contextmanager
def served_books(folder: Path) -> Iterator[McpBooks]:
    """Load the books of a case and serve them over HTTP until the block ends."""
    load_feeds(folder, folder / STATE)
    with serving(folder, folder / STATE) as server, connected(server.url, "auto") as books:
        yield books


def asked_of(metric: str, period: str, scenario: str = "actual", **arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call for one metric in one scenario."""
    return {"metrics": [metric], "scenarios": [{"scenario": scenario}], **bounds(period), **arguments}
