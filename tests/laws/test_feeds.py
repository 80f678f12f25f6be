"""The law of feeds: what a caller is told of feeds and loads follows from the profile alone.

Which feeds may be seen, and which whole, an oracle says that enumerates the rows there can be. What may not be seen is
then taken away, or said otherwise, and not one byte of any answer or refusal changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from msgspec.json import encode
from msgspec.structs import replace

from engine.books.books import Shelf
from engine.facts.load_modes import LoadMode
from engine.model.calendar.periods import Span
from engine.model.errors import Refusal
from engine.model.profiles import Grant, NameSet, Profile
from engine.model.scope import Cut
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.feeds.feeds import (
    Binding,
    ColumnMapping,
    Conversion,
    FeedSource,
    LoadAttempt,
    LoadStatus,
    RejectAllowance,
    SourceKind,
)
from server.feeds.instance import ServedInstance, read_instance
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.laws.scoped.profiles import NEW, NOBODY, UNASSIGNED, ProfileSpec, World, profiles_asked
from tests.support.books.fed import BEGIN, SOMEBODY
from tests.support.books.fed import given as granted_to_somebody
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance
from tests.support.engines.memory import MemoryLoads

PRODUCTS, REGIONS, CUSTOMERS = ("A", "B", "C", "D"), ("EU", "US"), ("X", "Y")
TREE = {"North": ("A", "B"), "South": ("C",)}  # D is in no node
MEMBERS = {"product": PRODUCTS, "region": REGIONS, "customer": CUSTOMERS}
LEAVES = {"gl": ("product", "region"), "people": ("region",), "sales": ("product", "customer")}
KINDS = {"actual": "actual", "budget": "budget", "board": "plan"}
SCENARIOS = "\n".join(f"{key}: {{alias: {key}, kind: {kind}}}" for key, kind in KINDS.items())
BRINGS: dict[str, tuple[str, tuple[str, ...]]] = {  # feed of facts: its domain, the scenarios that it may bring
    "ga": ("gl", ("actual",)),
    "gb": ("gl", ("budget",)),
    "gp": ("gl", ("board",)),
    "gc": ("gl", ("budget",)),  # by a constant
    "gv": ("gl", ("actual", "board")),  # by what the values of a column mean
    "gx": ("gl", tuple(KINDS)),
    "ha": ("people", ("actual",)),
    "hx": ("people", tuple(KINDS)),
    "sb": ("sales", ("budget",)),
}
READS = {"mp": ("live.product", "product"), "nt": ("live.tree", "product"), "mc": ("live.customer", "customer")}
CONVERTED: dict[str, tuple[str, ...]] = {"r1": ("gp", "gv"), "r2": ("ga", "gb"), "r3": ("gx",), "r4": ()}
FEEDS = (*BRINGS, *READS, *CONVERTED)
COUNTS = {"rows_read", "rows_landed", "rows_rejected", "rejects_file", "rejected"}  # of a load whose feed is seen whole
READING = {"extract", "sheet", "parameters", "source_variable"}  # of a feed, where it is

WORLD = World(
    kinds=KINDS,
    leaves=LEAVES,
    members=MEMBERS,
    above={"tree": "product"},
    below={
        "tree": {**{node: frozenset(leaves) for node, leaves in TREE.items()}, UNASSIGNED: frozenset({"D", NOBODY})}
    },
    trees=frozenset({"tree"}),
)


def expected(asked: Sequence[ProfileSpec]) -> dict[str, bool]:
    """Return the feeds that profiles show, and whether whole."""
    seen = {(scenario, domain): WORLD.rows_seen(asked, scenario, domain) for scenario in KINDS for domain in LEAVES}
    told: dict[str, bool] = {}
    for feed, (domain, scenarios) in BRINGS.items():
        parts = [seen[scenario, domain] for scenario in scenarios]
        if any(parts):
            told[feed] = all(len(rows) == len(list(WORLD.every_row(domain))) for rows in parts)
    for feed, (_, leaf) in READS.items():
        members = {row[leaf] for rows in seen.values() for row in rows if leaf in row}
        known = {
            member
            for scenario, domain in seen
            if leaf in LEAVES[domain]
            for member in WORLD.members_known(asked, scenario, domain, leaf)
        }
        if members:
            told[feed] = known == {*MEMBERS[leaf], NOBODY, NEW}
    for feed, facts in CONVERTED.items():
        if brought := [told[fact] for fact in facts if fact in told]:
            told[feed] = all(brought)
    return {feed: whole or any(profile.operations for profile in asked) for feed, whole in told.items()}


def profile_of(asked: ProfileSpec, key: str) -> Profile:
    """Return a profile as the service knows it."""
    return Profile(
        key=key,
        operations=asked.operations,
        all_members=asked.all_members,
        grants=tuple(
            (
                scenario,
                Grant(
                    domains=NameSet((), deny=True)
                    if grant.domains is None
                    else NameSet(grant.domains.names, deny=grant.domains.deny),
                    dimensions=tuple(Cut(known, cut.names, deny=cut.deny) for known, cut in grant.dimensions.items()),
                    open_domains=grant.open_domains,
                ),
            )
            for scenario, grant in asked.grants.items()
        ),
    )


def binding_of(feed: str, secret: str) -> Binding:
    """Return a feed whose extract, parameter, constants and values hold a word that only some may read."""
    fillings = {"amount": ColumnMapping(column="booked", values={secret: f"{secret}-means"})}
    domain, scenarios = BRINGS.get(feed, ("", ()))
    if feed == "gc":
        fillings["scenario"] = ColumnMapping(constant=scenarios[0])
    elif feed == "gv":
        fillings["scenario"] = ColumnMapping(
            column="version", values={f"{secret}{at}": key for at, key in enumerate(scenarios)}
        )
    rates = [key for key, facts in CONVERTED.items() if feed in facts]
    return Binding(
        key=f"feed-{feed}",
        source=FeedSource(key=f"source-{feed}", kind=SourceKind.POSTGRESQL, environment=f"URI_{secret}"),
        target=f"live.{domain}" if domain else READS[feed][0] if feed in READS else f"live.{feed}",
        extract=f"select {secret}",
        sheet=f"sheet {secret}",
        scenario=scenarios[0] if len(scenarios) == 1 and feed != "gc" else None,
        fillings={**fillings, "text": ColumnMapping(constant=secret)},
        parameters={"company": secret},
        rejects=RejectAllowance(),
        extends_members=False,
        allows_empty=False,
        fills_rates=feed in CONVERTED,
        conversion=Conversion(
            rates=f"live.{rates[0]}", kind=None, currency="currency", on="date", measure="amount", into="amount_group"
        )
        if rates
        else None,
    )


def attempts_of(feed: str, binding: Binding, secret: str) -> list[LoadAttempt]:
    """Return loads of a feed, of all and of a period, with counts, days and words that only some may read."""
    number = sum(map(ord, secret))
    begun: dict[str, Any] = {
        "binding": binding.key,
        "source": binding.source.key,
        "target": binding.target,
        "mode": LoadMode.FULL,
        "started_at": BEGIN,
        "rows_read": 70_000_000 + number,
        "rows_landed": 80_000_000 + number,
        "rows_rejected": 90_000_000 + number,
        "rejects_file": f"{secret}.csv",
        "rejected": {f"amount is none of {secret}": number},
    }
    came = Span(date(2021, 1, 1) + timedelta(days=number % 300), date(2022, 12, 31))
    asked = Span(date(2021, 2, 1), date(2021, 2, 28))
    return [
        LoadAttempt(load_id=f"load-{feed}-1", status=LoadStatus.SUCCESS, span=came, message=None, **begun),
        LoadAttempt(
            load_id=f"load-{feed}-2",
            status=LoadStatus.FAILED_VALIDATE,
            periods="2021-02",
            span=asked,
            message=f"failed at {secret}",
            **begun,
        ),
    ]


class FeedAnswers:
    """Everything that the tools tell a caller, asked for everything there is."""

    def __init__(self, instance: ServedInstance, shelf: Shelf, files: Path, secrets: Mapping[str, str]) -> None:
        loads = MemoryLoads()
        bindings = {}
        for feed, secret in secrets.items():
            binding = binding_of(feed, secret)
            bindings[binding.key] = binding
            for attempt in attempts_of(feed, binding, secret):
                loads.begin(replace(attempt, status=LoadStatus.RUNNING))
                loads.finish(attempt)
        feeds = Feeds.of(bindings, loads, {})
        callers = Callers(instance, shelf, feeds, keeping_in(files), WORKSHOP, 1_000_000, 1)
        self.caller = callers.of(SOMEBODY, lambda: None)

    def ask(self, tool: str, /, **asked: Any) -> tuple[dict[str, Any], str]:
        """Return what a call answers or refuses, as an object and as text."""
        try:
            result = TOOLS[tool].run(self.caller, read_request(TOOLS[tool].shape, asked)).result
        except Refusal as refusal:
            result = refusal.as_data()
        return result, encode(result).decode()

    def everything(self) -> Iterator[str]:
        """Yield every answer and refusal."""
        calls: list[tuple[str, dict[str, Any]]] = [("list_bindings", {}), ("list_load_history", {"limit": 200})]
        targets = {binding_of(feed, "").target for feed in FEEDS}
        for name in (*(f"feed-{feed}" for feed in FEEDS), "feed-zz"):
            calls += [("get_binding", {"binding_id": name}), ("list_load_history", {"binding_id": name})]
        for name in (*(f"load-{feed}-{number}" for feed in FEEDS for number in (1, 2)), "load-zz-1"):
            calls.append(("get_load_status", {"load_id": name}))
        for name in (*(f"source-{feed}" for feed in FEEDS), "source-zz"):
            calls.append(("list_bindings", {"source_id": name}))
        for name in (*sorted(targets), "live.zz"):
            calls += [("list_bindings", {"target": name}), ("list_load_history", {"dataset_id": name})]
        calls += [("list_load_history", {"period": period, "limit": 200}) for period in ("2021-02", "2021-07", "2019")]
        calls += [("list_load_history", {"status": status}) for status in ("success", "failed_*", "running")]
        return (self.ask(tool, **asked)[1] for tool, asked in calls)


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> tuple[ServedInstance, Shelf, Path]:
    """Books with members, nodes and a row of each region, nothing of which any profile of the law is granted for."""
    home = tmp_path_factory.mktemp("feeds")
    edges = [f"{node} -" for node in TREE] + [f"{leaf} {node}" for node, leaves in TREE.items() for leaf in leaves]
    folder = write_instance(
        home / "small",
        facts={
            "gl": "date scenario product region amount amount_group\n"
            + "\n".join(f"2021-01-05 board A {region} 1 1" for region in REGIONS)
        },
        domains={
            domain: f"time: {{column: date}}\ndimensions: {{{', '.join(f'{leaf}: {leaf}' for leaf in leaves)}}}\n"
            "measures: {amount: {places: 2}, amount_group: {places: 8}}\n"
            f"metrics: {{total_{domain}: {{measure: amount}}}}\n"
            for domain, leaves in LEAVES.items()
        },
        dimensions="""
            product: {kind: leaf, members: live.product}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
            region: {kind: leaf}
            customer: {kind: leaf, members: live.customer}
        """,
        tables={
            "product": "id\n" + "\n".join(PRODUCTS),
            "customer": "id\n" + "\n".join(CUSTOMERS),
            "tree": "node parent\n" + "\n".join(edges),
        },
        scenarios=SCENARIOS,
    )
    load_feeds(folder, home / "state")
    instance = read_instance(folder)
    return instance, Shelf(instance.catalogue, home / "state" / "store"), home / "files"


@given(asked=profiles_asked(WORLD))
def test_what_is_told_of_feeds_and_loads_follows_from_the_profile_alone(
    books: tuple[ServedInstance, Shelf, Path], asked: Sequence[ProfileSpec]
) -> None:
    instance, shelf, files = books
    instance = granted_to_somebody(instance, tuple(profile_of(one, f"p{at}") for at, one in enumerate(asked)))
    seen = expected(asked)
    secrets = {feed: f"zq{feed}zq" for feed in FEEDS}
    told = FeedAnswers(instance, shelf, files, secrets)

    listed, _ = told.ask("list_bindings")
    assert {feed["binding_id"] for feed in listed["bindings"]} == {f"feed-{feed}" for feed in seen}
    history, _ = told.ask("list_load_history", limit=200)
    assert {load["load_id"] for load in history["loads"]} == {f"load-{feed}-{at}" for feed in seen for at in (1, 2)}
    for feed, whole in seen.items():
        described, text = told.ask("get_binding", binding_id=f"feed-{feed}")
        assert READING & set(described) == (READING if whole else set())
        assert (secrets[feed] in text) is whole
        for number in (1, 2):
            load, text = told.ask("get_load_status", load_id=f"load-{feed}-{number}")
            assert COUNTS & set(load) == (COUNTS if whole else set())
            assert (secrets[feed] in text) is whole
            assert ("days" in load) is (whole or number == 2)

    answers = list(told.everything())
    assert not any(secrets[feed] in text for feed in FEEDS if not seen.get(feed) for text in answers)
    without = FeedAnswers(instance, shelf, files, {feed: secret for feed, secret in secrets.items() if feed in seen})
    assert list(without.everything()) == answers
    otherwise = FeedAnswers(
        instance, shelf, files, {feed: secret if seen.get(feed) else f"xj{feed}" for feed, secret in secrets.items()}
    )
    assert list(otherwise.everything()) == answers
