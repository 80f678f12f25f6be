"""Profiles that change while they are served: what is new is seen soon and nothing of the old is left."""

import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from signal import SIGHUP
from typing import Any

import psycopg
import pytest

from engine.books.books import Shelf
from engine.instance.profiles import profiles_document, profiles_of
from engine.instance.read import Instance, read_instance
from engine.model.errors import Refusal, Unavailable
from engine.model.profiles import Profiles
from server.base.interfaces import Principal, StoreDown
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.caller.profiles import KEPT_SECONDS, LiveProfiles
from server.stores.migrations import migrate, read_migrations
from server.stores.postgres import Database
from server.stores.profiles import FileProfiles, PostgresProfiles
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.support.books import ROOT, load_instance
from tests.support.demo import DEMO
from tests.support.holding import keeping_in
from tests.support.issuing import issuing
from tests.support.many import HOST, serving_many, write_books
from tests.support.memory import MemoryLoads
from tests.support.operating import metric
from tests.support.postgres import postgres, schema_of
from tests.support.profiled import WrittenFile, WrittenTables
from tests.support.serving import McpBooks, connected, free_port, serving, wait_for
from tests.support.small import write_instance

SEEN_WITHIN = 5.0  # seconds, as the documentation promises
JAN = {"period_start": "2021-01", "period_end": "2021-03"}
EUROPE = "{dimensions: {region: {allow: [EU]}}}"
AMERICA = "{dimensions: {region: {deny: [EU]}}}"
PROFILES = f"""
whole: {{operations: true, scenarios: {{'*': {{}}}}}}
europe: {{scenarios: {{actual: {EUROPE}}}}}
america: {{scenarios: {{'*': {AMERICA}}}}}
ledger: {{scenarios: {{'*': {{domains: {{allow: [gl]}}, dimensions: {{tree: {{allow: [North]}}}}}}}}}}
"""
KEYS = ("whole", "europe", "america", "ledger")
SCENARIOS = ({"scenario": "actual"}, {"scenario": "budget"}, {"scenario": "var(actual,budget)"})
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("svc_orientation", {}),
    ("list_scenarios", {}),
    ("list_kpis", {}),
    ("list_dimensions", {}),
    ("list_inspection_sources", {}),
    ("list_load_history", {}),
    ("list_bindings", {}),
    ("get_inspection_schema", {"source_key": "gl"}),
    ("search_hierarchy", {"query": "a"}),
    ("search_hierarchy", {"dimension": "tree"}),
    ("search_hierarchy", {"query": "US", "dimension": "region"}),
    ("run_statement", {"statement": "pnl", "scenarios": SCENARIOS, **JAN}),
    ("run_statement_data", {"statement": "pnl", "scenarios": SCENARIOS[:1], "dimensions": ["region"], **JAN}),
    ("run_metric_data", {"metrics": ["revenue"], "scenarios": SCENARIOS, "dimensions": ["tree"], **JAN}),
    ("run_metric_data", {"metrics": ["revenue"], "scenarios": SCENARIOS, "dimensions": ["product", "region"], **JAN}),
    ("run_metric", {"metrics": ["headcount"], "scenarios": SCENARIOS[:1], **JAN}),
    ("inspect_rows", {"source_key": "gl", "scenario_id": "actual", "filters": {"metric": "revenue"}, **JAN}),
    ("inspect_rows", {"source_key": "gl", "scenario_id": "budget", "filters": {"region": "US"}, **JAN}),
)


def ledger(folder: Path, profiles: str) -> Path:
    """Write and load books of a ledger and of people, by product, tree and region."""
    instance = write_instance(
        folder / "small",
        facts={
            "gl": "date scenario product region amount\n"
            + "\n".join(
                f"2021-0{month}-05 {scenario} {product} {region} {number * 7 + 1}"
                for number, (month, scenario, product, region) in enumerate(
                    (month, scenario, product, region)
                    for month in (1, 2, 3)
                    for scenario in ("actual", "budget")
                    for product in "ABC"
                    for region in ("EU", "US", "-")
                )
            ),
            "people": "date scenario region heads\n2021-01 actual EU 6\n2021-02 actual US 7",
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product, region: region}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics: {revenue: {measure: amount}, doubled: {formula: revenue * 2}}
            """,
            "people": """
            time: {column: date, grain: month}
            dimensions: {region: region}
            measures: {heads: {type: number, places: 0}}
            metrics: {headcount: {measure: heads, over_time: closing}}
            """,
        },
        dimensions="""
            product: {kind: leaf, members: live.product}
            region: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={
            "product": "id name\nA Ale\nB Beer\nC Cider",
            "tree": "node parent\nNorth -\nSouth -\nA North\nB North\nC South",
        },
        statements={"pnl": "  - {metric: revenue}\n  - {rollup: {metric: revenue, dimension: tree, node: North}}\n"},
        profiles=profiles,
    )
    load_instance(instance, folder / "state")
    return instance


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of such books, whose profiles tests say themselves."""
    folder = tmp_path_factory.mktemp("changing")
    ledger(folder, "")
    return folder


def callers_of(instance: Instance, state: Path, profiles: LiveProfiles | None = None) -> Callers:
    """Return what makes the callers of some books."""
    feeds = Feeds.of(instance.bindings, MemoryLoads(), {})
    shelf = Shelf(instance.catalogue, state / "store")
    return Callers(instance, shelf, feeds, keeping_in(state / "files"), 100_000, 1000, profiles)


def answer(callers: Callers, principal: Principal, tool: str, asked: Mapping[str, Any]) -> str:
    """Return what a call answers or refuses, as text, without its data_ref, which no two calls share."""
    try:
        result = TOOLS[tool].run(callers.of(principal, lambda: None), read_request(TOOLS[tool].shape, asked)).result
    except Refusal as refusal:
        result = refusal.as_data()
    return json.dumps({key: part for key, part in result.items() if key != "data_ref"}, sort_keys=True, default=str)


def alone(folder: Path, assigned: str) -> list[str]:
    """Return what a caller who holds some profiles is answered over books that nobody has read before."""
    instance = read_instance(folder / "small")
    (folder / "small" / "profiles.yaml").write_text(PROFILES + assigned)
    live = LiveProfiles(FileProfiles(folder / "small"), instance.catalogue)
    live.look()
    callers = callers_of(instance, folder / "state", live)
    return [answer(callers, Principal("ada"), tool, asked) for tool, asked in CALLS]


class Said:
    """A source that says what it was told last."""

    def __init__(self, text: str) -> None:
        self.say(text)

    def say(self, text: str) -> None:
        """Say something else from now on."""
        self.document = profiles_document(text.encode())

    def read(self) -> Any:
        """Return what it says."""
        return self.document


def assigning(*keys: str) -> str:
    """Return the assignments of some profiles to one subject."""
    return f"assign: [{', '.join(f'{{subject: ada, profile: {key}}}' for key in keys)}]"


def test_after_a_change_a_caller_gets_what_is_new_and_nothing_of_the_old(books: Path) -> None:
    instance = read_instance(books / "small")
    source = Said(PROFILES)
    live = LiveProfiles(source, instance.catalogue)
    callers = callers_of(instance, books / "state", live)
    steps = [(key,) for key in KEYS] + [("europe", "ledger"), (), ("europe",), ("whole",), ("europe",)]
    expected = {keys: alone(books, assigning(*keys)) for keys in dict.fromkeys(steps)}
    assert len(set(map(tuple, expected.values()))) == len(expected)
    for keys in steps:  # over the same books, with all that they have worked out for whoever asked before
        source.say(PROFILES + assigning(*keys))
        live.look()
        assert [answer(callers, Principal("ada"), tool, asked) for tool, asked in CALLS] == expected[keys]


def test_a_call_in_flight_ends_under_the_profiles_that_it_began_with(books: Path) -> None:
    instance = read_instance(books / "small")
    source = Said(PROFILES + assigning("whole"))
    live = LiveProfiles(source, instance.catalogue)
    live.look()
    callers = callers_of(instance, books / "state", live)
    begun = callers.of(Principal("ada"), lambda: None)
    source.say(PROFILES)
    live.look()
    assert sorted(begun.reader.metrics) == ["doubled", "headcount", "revenue"]
    assert sorted(callers.of(Principal("ada"), lambda: None).reader.metrics) == []


def test_callers_who_ask_at_once_each_get_what_they_get_alone(books: Path) -> None:
    instance = read_instance(books / "small")
    subjects = {key: Principal(key) for key in KEYS} | {"both": Principal("both")}
    assigned = [f"{{subject: {key}, profile: {key}}}" for key in KEYS]
    assigned += ["{subject: both, profile: europe}", "{subject: both, profile: ledger}"]
    live = LiveProfiles(Said(f"{PROFILES}assign: [{', '.join(assigned)}]"), instance.catalogue)
    live.look()
    callers = callers_of(instance, books / "state", live)
    expected = {key: alone(books, assigning(key)) for key in KEYS}
    expected["both"] = alone(books, assigning("europe", "ledger"))
    asked = [(key, at) for _ in range(5) for at in range(len(CALLS)) for key in subjects]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda one: answer(callers, subjects[one[0]], *CALLS[one[1]]), asked))
    assert len(answers) == 450
    assert [key for (key, at), found in zip(asked, answers, strict=True) if found != expected[key][at]] == []


def test_profiles_that_change_while_calls_run_give_each_call_one_or_the_other(books: Path) -> None:
    instance = read_instance(books / "small")
    source, turns = Said(PROFILES + assigning("whole")), count()
    live = LiveProfiles(source, instance.catalogue)
    live.look()
    callers = callers_of(instance, books / "state", live)
    expected = [alone(books, assigning(key)) for key in ("whole", "europe")]

    def turn() -> None:
        source.say(PROFILES + assigning("europe" if next(turns) % 2 else "whole"))
        live.look()

    with ThreadPoolExecutor(6) as threads:
        running = []
        for at in list(range(len(CALLS))) * 12:
            running.append((at, threads.submit(answer, callers, Principal("ada"), *CALLS[at])))
            threads.submit(turn)
        for at, one in running:
            assert one.result() in (expected[0][at], expected[1][at])


def names(client: McpBooks) -> list[str]:
    """Return the names of the metrics that a client sees."""
    domains = client.ask("list_kpis")["domains"]
    return sorted(metric["key"] for domain in domains for metric in domain["metrics"])


def total(client: McpBooks) -> Any:
    """Return the revenue that a client sees, or the refusal."""
    return client.call("run_metric_data", metrics=["revenue"], scenarios=[{"scenario": "actual"}], **JAN).result


@pytest.fixture
def served(tmp_path: Path) -> tuple[Path, Path]:
    """An instance whose developer sees all, and its state folder."""
    instance = ledger(tmp_path, PROFILES + "assign: [{subject: dev, profile: whole}]")
    return instance, tmp_path / "state"


def test_a_profile_that_is_withdrawn_shows_nothing_within_seconds_on_open_connections_too(
    served: tuple[Path, Path],
) -> None:
    instance, state = served
    written = WrittenFile(instance)
    with (
        serving(instance, state) as server,
        connected(server.url, "auto") as one,
        connected(server.url, "legacy") as two,
    ):
        before = [total(client)["rows"][0]["values"] for client in (one, two)]
        assert before[0] == before[1]
        written.write(PROFILES + "assign: [{subject: dev, profile: europe}]")
        wait_for(lambda: total(one)["rows"][0]["values"] != before[0], SEEN_WITHIN)
        assert total(two)["rows"][0]["values"] == total(one)["rows"][0]["values"]
        written.write(PROFILES)
        wait_for(lambda: names(one) == [], SEEN_WITHIN)
        assert names(two) == []
        for client in (one, two):
            assert total(client)["error_type"] == "unknown_name"
            assert client.ask("list_scenarios")["scenarios"] == []
        (instance / "new").write_text(PROFILES + "assign: [{subject: dev, profile: whole}]")
        (instance / "new").replace(instance / "profiles.yaml")
        wait_for(lambda: names(two) == ["doubled", "headcount", "revenue"], SEEN_WITHIN)
        assert total(one)["rows"][0]["values"] == before[0]


def test_callers_with_tokens_are_told_apart_and_swapped_while_they_are_connected(tmp_path: Path) -> None:
    books = write_books(tmp_path)
    asked = {"metrics": ["revenue"], "scenarios": [{"scenario": "actual"}], "period_start": "2026-01"}
    granted = "all: {scenarios: {'*': {}}}\nnorth: {scenarios: {'*': {dimensions: {region: {allow: [north]}}}}}\n"

    def assign(first: str, second: str) -> None:
        assigned = f"{{claim: {{groups: one}}, profile: {first}}}, {{claim: {{groups: two}}, profile: {second}}}"
        WrittenFile(books[0]).write(f"{granted}assign: [{assigned}]")

    def revenue(client: McpBooks) -> Any:
        return client.ask("run_metric_data", **asked)["rows"][0]["values"][0]

    assign("all", "north")
    with (
        issuing() as issuer,
        serving_many(books, issuer.url) as server,
        connected(server.url, "auto", issuer.token(sub="x", groups=["one"]), Host=HOST) as one,
        connected(server.url, "auto", issuer.token(sub="x", groups=["two", "three"]), Host=HOST) as two,
    ):
        assert [revenue(client) for client in (one, two) * 5] == [120, 100] * 5
        assign("north", "all")
        wait_for(lambda: revenue(one) == 100, SEEN_WITHIN)
        assert [revenue(client) for client in (one, two) * 5] == [100, 120] * 5


def test_faults_of_profiles_close_and_never_stop_a_server(served: tuple[Path, Path]) -> None:
    instance, state = served
    written = WrittenFile(instance)
    written.write("whole: {scenarios: {'*': {domain: {allow: [gl]}}}}\nassign: [{subject: dev, profile: whole}]")
    with serving(instance, state) as server, connected(server.url, "auto") as client:
        assert names(client) == []
        assert "profiles.yaml:1: unknown key 'whole.scenarios.*.domain'" in server.log.read_text()
        wait_for(lambda: metric(server, "tieout_profile_faults") == 1)
        written.write(PROFILES + "assign: [{subject: dev, profile: whole}]")
        wait_for(lambda: names(client) != [], SEEN_WITHIN)
        for text in ("assign: [{subject: dev, profile: whole", "assign: [{profile: whole}]", "assign: {subject: dev}"):
            written.write(PROFILES + text)
            wait_for(lambda: names(client) == [], SEEN_WITHIN)
            written.write(PROFILES + "assign: [{subject: dev, profile: whole}]")
            wait_for(lambda: names(client) != [], SEEN_WITHIN)
        (instance / "profiles.yaml").unlink()
        wait_for(lambda: names(client) == [], SEEN_WITHIN)
        assert server.process.poll() is None


def test_what_is_no_file_of_profiles_stops_no_server(served: tuple[Path, Path]) -> None:
    instance, state = served
    (instance / "profiles.yaml").unlink()
    (instance / "profiles.yaml").mkdir()
    with serving(instance, state) as server, connected(server.url, "auto") as client:
        assert names(client) == []
        assert "profiles.yaml:1: cannot be read: Is a directory" in server.log.read_text()
        server.process.send_signal(SIGHUP)
        wait_for(lambda: "were reloaded" in server.log.read_text())
        (instance / "profiles.yaml").rmdir()
        WrittenFile(instance).write(PROFILES + "assign: [{subject: dev, profile: whole}]")
        wait_for(lambda: names(client) != [], SEEN_WITHIN)


def test_every_worker_sees_what_is_withdrawn(served: tuple[Path, Path]) -> None:
    instance, state = served
    with serving(instance, state, SVC_WORKERS="2") as server, ExitStack() as opened:
        clients = [opened.enter_context(connected(server.url, "auto")) for _ in range(8)]
        assert all(names(client) for client in clients)
        WrittenFile(instance).write(PROFILES)
        wait_for(lambda: not any(names(client) for client in clients), SEEN_WITHIN)
        assert not any(names(client) for client in clients * 3)


def test_profiles_follow_a_catalogue_that_is_read_anew(served: tuple[Path, Path]) -> None:
    instance, state = served
    domain = instance / "domains" / "people.yaml"
    text, feeds = domain.read_text(), (instance / "integrations.yaml").read_text()
    narrow = "seen: {scenarios: {'*': {domains: {allow: [gl, people]}}}}\nassign: [{subject: dev, profile: seen}]"
    (instance / "profiles.yaml").write_text(narrow)
    with serving(instance, state) as server, connected(server.url, "auto") as client:
        assert names(client) == ["doubled", "headcount", "revenue"]
        before = client.ask("svc_orientation")["catalogue_version"]
        domain.unlink()
        (instance / "integrations.yaml").write_text("{}\n")
        server.process.send_signal(SIGHUP)
        wait_for(lambda: names(client) == [])
        assert "there is no domain 'people'" in server.log.read_text()
        domain.write_text(text)
        (instance / "integrations.yaml").write_text(feeds)
        server.process.send_signal(SIGHUP)
        wait_for(lambda: names(client) == ["doubled", "headcount", "revenue"])
        assert client.ask("svc_orientation")["catalogue_version"] == before


def test_profiles_in_the_database_are_served_and_seen_to_change(
    served: tuple[Path, Path], embedded_server: str
) -> None:
    instance, state = served
    with schema_of(embedded_server) as uri:
        migrate(uri, read_migrations(), lambda _: None)
        settings = {"SVC_PROFILES": "database", "DATABASE_URL": uri}
        with (
            serving(instance, state, **settings) as server,
            connected(server.url, "auto") as client,
            closing(Database(uri)) as database,
        ):
            assert names(client) == []  # whatever profiles.yaml says
            written = WrittenTables(uri, database)
            written.write(PROFILES + "assign: [{subject: dev, profile: ledger}]")
            wait_for(lambda: names(client) == ["doubled", "revenue"], SEEN_WITHIN)
            with closing(psycopg.connect(uri, autocommit=True)) as connection:
                connection.execute("update profile_grants set domains = null where profile = 'ledger'")
                connection.execute("update profile_grants set dimensions = '{}' where profile = 'ledger'")
                wait_for(lambda: names(client) == ["doubled", "headcount", "revenue"], SEEN_WITHIN)
                connection.execute("truncate profile_assignments")
                wait_for(lambda: names(client) == [], SEEN_WITHIN)


def test_a_server_that_cannot_ask_for_profiles_says_so_and_shows_nothing(served: tuple[Path, Path]) -> None:
    instance, state = served
    nowhere = f"postgresql://tieout:secret@127.0.0.1:{free_port()}/books"
    with (
        serving(instance, state, healthy=False, SVC_PROFILES="database", DATABASE_URL=nowhere) as server,
        connected(server.url, "auto") as client,
    ):
        for tool, asked in CALLS:
            refused = client.call(tool, **asked)
            assert refused.is_error
            assert refused.result == {
                "error": "Who may see what cannot be read just now, so nothing is shown. Call again shortly.",
                "error_type": "unavailable",
                "retryable": True,
                "retry_after_ms": 2000,
            }
        assert "profiles cannot be read, those known serve for 60 s: the platform database" in server.log.read_text()


def test_a_database_that_dies_serves_what_is_known_for_a_minute(tmp_path: Path, books: Path) -> None:
    catalogue, now = read_instance(books / "small").catalogue, 1000.0
    with postgres(tmp_path) as uri:
        migrate(uri, read_migrations(), lambda _: None)
        database = Database(uri)
        written = WrittenTables(uri, database)
        written.write(PROFILES + assigning("whole"))
        live = LiveProfiles(PostgresProfiles(database), catalogue, clock=lambda: now)
        live.look()
    with pytest.raises(StoreDown):
        PostgresProfiles(database).read()
    now += KEPT_SECONDS
    live.look()
    assert [known.key for known in live.of(catalogue).held_by("ada", {})] == ["whole"]
    now += 0.1
    with pytest.raises(Unavailable):
        live.of(catalogue)
    with postgres(tmp_path) as again:
        assert again == uri
        written.write(PROFILES)
        live.look()
        assert live.of(catalogue).held_by("ada", {}) == ()
    database.close()


def statements() -> list[str]:
    """Return the SQL of the page for operators, block by block."""
    page = ROOT / "docs" / "operations" / "security.md"
    section = page.read_text(encoding="utf-8").partition("## Who sees what\n")[2].partition("\n## ")[0]
    return re.findall(r"```sql\n(.+?)```", section, re.DOTALL)


def test_the_sql_that_operators_are_shown_does_what_is_said_of_it(database_server: Any) -> None:
    catalogue = read_instance(DEMO).catalogue
    give, withdraw, administer = statements()
    with schema_of(database_server.uri()) as uri:
        migrate(uri, read_migrations(), lambda _: None)
        with closing(Database(uri)) as database, closing(psycopg.connect(uri, autocommit=True)) as connection:

            def known() -> Profiles:
                return profiles_of(PostgresProfiles(database).read(), catalogue)

            def held(subject: str, *groups: str) -> list[str]:
                return [profile.key for profile in known().held_by(subject, {"groups": groups})]

            assert held("ada", "finance-europe") == []
            connection.execute(give.encode())
            assert known().faults == ()
            assert held("ada") == held("bob", "finance-europe") == ["europe"]
            assert (held("bob"), held("bob", "finance")) == ([], [])
            granted = dict(known().by_key["europe"].grants)
            assert (granted["*"].domains.names, granted["kind:budget"].domains.names) == ((), ("gl", "sales"))
            connection.execute(withdraw.encode())
            assert (held("ada"), held("bob", "finance-europe")) == ([], ["europe"])
            schema = uri.partition("search_path%3D")[2]
            try:
                connection.execute(administer.encode())
                connection.execute(f"grant usage on schema {schema} to profile_administrator")
                connection.execute("set role profile_administrator")
                connection.execute("delete from profiles")
                assert held("bob", "finance-europe") == []
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute("delete from profile_changes")
            finally:
                connection.execute("reset role")
                connection.execute("drop owned by profile_administrator")
                connection.execute("drop role profile_administrator")
