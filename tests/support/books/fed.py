"""Small books fed from files and from a database that is never asked, and the tools over them in this process."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from weakref import finalize

from msgspec.json import encode
from msgspec.structs import replace

from engine.books.books import Shelf
from engine.facts.load_modes import LoadMode
from engine.model.calendar.periods import Span
from engine.model.profiles import Assignment, Profile, Profiles
from server.base.interfaces import LoadHistory, Principal
from server.base.settings import Settings
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.feeds.feeds import LoadAttempt, LoadStatus
from server.feeds.instance import ServedInstance, read_instance
from server.http.dispatch import Dispatcher
from server.stores.memory import MemoryLeases
from server.telemetry.calls import Telemetry
from server.telemetry.metrics import Metrics
from server.tools.toolbox import LIST_TOOLS
from tests.support.answers.reader import filled_in
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.small import write_instance
from tests.support.engines.memory import MemoryLoads

BEGIN = datetime(2021, 3, 1, 5, tzinfo=UTC)
SOMEBODY = Principal("somebody")
FEEDS: dict[str, dict[str, Any]] = {
    "gl": {"scenario": "actual", "load": "replace_periods", "schedule": "15 5 * * *", "timezone": "Europe/Paris"},
    "budget": {"source": "files", "target": "live.gl", "file": "budget/*.csv", "scenario": "budget"},
    "ledger": {
        "source": "erp",
        "target": "live.gl",
        "scenario": "forecast",
        "load": "replace_periods",
        "extract": "select * from ledger where day >= :period_start and day < :period_end_exclusive and of = :company",
        "parameters": {"company": "4711"},
        "map": {
            "date": {"column": "day", "format": "%d.%m.%Y"},
            "product": {"column": "article", "values": {"A1": "A", "B1": "B"}},
            "region": {"constant": "EU"},
            "amount": "booked",
            "currency": "booked_in",
        },
        "convert": {"rates": "live.fx", "from": "currency", "kind": "average", "into": "amount_group"},
        "rejects": {"allow": 7},
        "unknown_members": "extend",
    },
}
DOMAINS = {
    "gl": """
    time: {column: date}
    dimensions: {product: product, region: region}
    measures: {amount: {places: 2}, amount_group: {places: 8}}
    metrics: {revenue: {measure: amount}}
    """,
    "people": """
    time: {column: date, grain: month}
    dimensions: {region: region}
    measures: {heads: {type: number, places: 0}}
    metrics: {headcount: {measure: heads, over_time: closing}}
    """,
}


def fed_instance(folder: Path, **parts: Any) -> Path:
    """Write books of a ledger and of people: feeds of facts, members, nodes and rates."""
    instance = write_instance(
        folder,
        facts={
            "gl": "date product region amount amount_group\n2021-01-05 A EU 10 10\n2021-02-05 B US 20 20",
            "people": "date scenario region heads\n2021-01 actual EU 6",
        },
        domains=DOMAINS,
        dimensions="""
            product: {kind: leaf, members: live.product}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
            region: {kind: leaf}
        """,
        tables={
            "product": "id name\nA Ale\nB Beer",
            "tree": "node parent\nAll -\nA All\nB All",
            "fx": "currency date kind rate\nEUR 2021 average 1.25",
        },
        sources={"erp": {"kind": "postgresql", "uri_env": "ERP_URI"}},
        bindings=parts.pop("bindings", FEEDS),
        **parts,
    )
    (instance / "data" / "budget").mkdir()
    return instance


class Fed:
    """The tools over fed books, as a caller with some profiles meets them."""

    def __init__(
        self,
        folder: Path,
        state: Path,
        *profiles: Profile,
        loads: LoadHistory | None = None,
        environment: Mapping[str, str] | None = None,
        answer_tokens: int = 10_000,
    ) -> None:
        self.loads = loads or MemoryLoads()
        instance = read_instance(folder)
        self.instance = given(instance, profiles) if profiles else instance
        shelf = Shelf(self.instance.catalogue, state / "store")
        feeds = Feeds.of(self.instance.bindings, self.loads, environment or {})
        callers = Callers(self.instance, shelf, feeds, keeping_in(state / "files"), WORKSHOP, answer_tokens, 10_000)
        known = Settings(instance=folder, state=state)
        self.dispatch = Dispatcher(callers, known, Telemetry(Metrics()), MemoryLeases(16, 64))
        finalize(self, self.dispatch.close)  # else its threads stay until the tests end

    def call(self, tool: str, /, **arguments: Any) -> tuple[bool, dict[str, Any], str]:
        """Call a tool; return whether it refused, the JSON object, and its text."""
        outcome = asyncio.run(self.dispatch.call(tool, arguments, SOMEBODY))
        text = encode(outcome.result).decode()
        self.details = outcome.details or {}
        return outcome.is_error, json.loads(text), text

    def ask(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer; return the answer with its defaults and its details filled in."""
        refused, result, text = self.call(tool, **arguments)
        assert not refused, text
        return {**filled_in(result), **self.details}

    def refused(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must refuse."""
        refused, result, text = self.call(tool, **arguments)
        assert refused, text
        assert result["error_type"] != "internal"
        return result

    def examples(self) -> dict[str, dict[str, Any]]:
        """Return the example call of each tool that has one for the caller."""
        return dict(asyncio.run(self.dispatch.run(LIST_TOOLS, {}, SOMEBODY)).result)

    def remember(self, *attempts: LoadAttempt) -> None:
        """Write attempts into the history, as loaders do."""
        for attempt in attempts:
            self.loads.begin(replace(attempt, status=LoadStatus.RUNNING))
            if attempt.status is not LoadStatus.RUNNING:
                self.loads.finish(attempt)


def given(instance: ServedInstance, profiles: tuple[Profile, ...]) -> ServedInstance:
    """Return an instance in which somebody has some profiles."""
    assignments = [Assignment(profile=profile.key, subject=SOMEBODY.subject) for profile in profiles]
    return replace(instance, profiles=Profiles.of(profiles, assignments))


def attempt_of(load_id: str, binding: str = "gl", status: LoadStatus = LoadStatus.SUCCESS, **parts: Any) -> LoadAttempt:
    """Return an attempt that began as many hours later as the number in its id says."""
    started = BEGIN + timedelta(hours=int("".join(filter(str.isdigit, load_id)) or 0))
    known: dict[str, Any] = {"source": "files", "target": "live.gl", "mode": LoadMode.FULL, "started_at": started}
    if status is not LoadStatus.RUNNING:
        known["finished_at"] = started + timedelta(seconds=90)
    if status is LoadStatus.SUCCESS:
        known |= {"rows_read": 1000, "rows_landed": 990, "rows_rejected": 10}
    return LoadAttempt(load_id=load_id, binding=binding, status=status, **known | parts)


def days(first: str, last: str) -> Span:
    """Return a span of days."""
    return Span(datetime.fromisoformat(first).date(), datetime.fromisoformat(last).date())
