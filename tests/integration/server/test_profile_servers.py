"""Profiles that change while a server runs: every worker and open connection follows, and a fault hides."""

from contextlib import ExitStack, closing
from pathlib import Path
from signal import SIGHUP
from typing import Any

import psycopg
import pytest

from server.stores.migrations import migrate, read_migrations
from server.stores.postgres import Database
from tests.support.books.changed import CALLS, JAN, PROFILES, ledger
from tests.support.books.profiles import WrittenFile, WrittenTables
from tests.support.engines.postgres import schema_of
from tests.support.service.issuers import issuing
from tests.support.service.operations import metric
from tests.support.service.servers import McpBooks, connected, free_port, serving, wait_for
from tests.support.service.users import HOST, serving_many, write_books

SEEN_WITHIN = 5.0  # seconds, as the documentation promises


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
        settings: dict[str, Any] = {"SVC_PROFILES": "database", "DATABASE_URL": uri}
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
