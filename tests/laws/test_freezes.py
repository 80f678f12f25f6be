"""The law of freezes: a freeze answers what its version answered, whatever is loaded after it and whoever asks.

Random loads of two feeds are published, with a freeze between two of them. After each later load random profiles are
told of the freeze what they were told of the scenario when it was frozen: figures, rows, notes, days and loads, byte
for byte but for the name, the version and freshness, and the note that open periods may still change.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door, open_books
from engine.facts.writer import stage
from engine.instance.read import STORE, read_instance
from engine.model.catalogue import Catalogue
from engine.model.errors import Unavailable
from engine.model.freezes import Freeze
from tests.laws.test_merged_loads import BUDGET, LoadStep, asks, cuts, instance_of, merging_after, publish, steps, told
from tests.support.answers.reader import answer

FREEZE = "actual#sep"
OF_VERSION = ("freshness", "catalogue_version", "data_version")
ROWS = ["date", "amount", "text"]


def books_of(folder: Path, allowed: list[dict[str, list[str]]]) -> Path:
    """Write an instance whose January is closed, with one profile for each cut."""
    instance = instance_of(folder, allowed)
    actual = {"alias": "Actuals", "kind": "actual", "closed_through": "2021-01"}
    budget = {"alias": "Budget", "kind": "budget"}
    (instance / "scenarios.yaml").write_text(yaml.safe_dump({"actual": actual, "budget": budget}))
    return instance


def freeze(root: Path, catalogue: Catalogue) -> bool:
    """Freeze the actuals; tell whether there are any."""
    closed = catalogue.scenarios["actual"].closed_through
    at = datetime(2026, 2, 1, tzinfo=UTC)
    actual = Freeze(base="actual", name="sep", file="", frozen_at=at, version=0, rows=0, closed_through=closed)
    with stage(root) as staged:
        try:
            staged.freeze(actual, catalogue.domains)
        except Unavailable:
            return False
        staged.publish()
    return True


def answers(door: Door, scenario: str) -> Iterator[str]:
    """Yield what is told of a scenario, with one name for it and its freeze, and without what names a version."""
    told_of: list[object] = [[(load.load, load.at, sorted(load.days)) for load in door.reader.loads("gl", scenario)]]
    told_of += [told(partial(report, door), asked) for asked in (*asks(scenario), views(scenario))]
    asked_rows = [{"scenario": scenario, "columns": ROWS, "limit": limit} for limit in (2, None)]
    told_of += [told(partial(rows_of, door), asked) for asked in asked_rows]
    for each in told_of:
        yield json.dumps(without_version(each), default=str).replace(FREEZE, "actual")


def rows_of(door: Door, asked: dict[str, Any]) -> object:
    """Return rows in their order, and what is said of them."""
    shown = door.rows("gl", **asked)
    return [shown.rows, shown.contribution_total, [str(note) for note in shown.notes]]


def report(door: Door, asked: dict[str, Any]) -> object:
    """Return the answer of a report."""
    return answer(door.metric("revenue", "balance", "lines", **asked), BUDGET)


def views(scenario: str) -> dict[str, Any]:
    """Return a report of steps and of a variance of a scenario."""
    columns = {"YTD": f"{scenario}@ytd", "PP": f"{scenario}@pp", "V": f"var({scenario},{scenario}@pp)"}
    return {"scenarios": columns, "period": ("2021-02", "2021-03"), "dimensions": ("product",)}


def without_version(told_of: Any) -> Any:
    """Return an answer without what names a version, and without the note that only live scenarios have."""
    if isinstance(told_of, dict):
        kept = {key: without_version(value) for key, value in told_of.items() if key not in OF_VERSION}
        if "notes" in kept:
            kept["notes"] = [note for note in kept["notes"] if note.get("code") != "open_in_range"]
        return kept
    return [without_version(each) for each in told_of] if isinstance(told_of, list) else told_of


@given(
    st.lists(steps, min_size=1, max_size=5),
    st.lists(steps, min_size=1, max_size=5),
    st.lists(cuts, min_size=1, max_size=2),
)
def test_a_freeze_answers_what_its_version_answered(
    before: list[LoadStep], after: list[LoadStep], allowed: list[dict[str, list[str]]]
) -> None:
    with TemporaryDirectory() as home, merging_after(2):
        folder, state = books_of(Path(home) / "books", allowed), Path(home) / "state"
        catalogue = read_instance(folder).catalogue
        for at, step in enumerate(before):
            publish(state / STORE, catalogue.domains["gl"], step, at)
        doors = partial(open_books, folder, state=state)
        profiles = [None, *(f"p{place}" for place in range(len(allowed)))]
        expected = {profile: [*answers(doors(profile=profile), "actual")] for profile in profiles}
        seen = {profile for profile in profiles if "actual" in doors(profile=profile).reader.scenarios}
        if not freeze(state / STORE, catalogue):
            return
        for at, step in enumerate(after, len(before)):
            publish(state / STORE, catalogue.domains["gl"], step, at)
            for profile in profiles:
                door = doors(profile=profile)
                assert profile in seen or not door.reader.loads(
                    "gl", FREEZE
                )  # it has no row of members that came later
                assert profile not in seen or [*answers(door, FREEZE)] == expected[profile]
