"""Profiles that change while they are served: what is new is seen soon and nothing of the old is left."""

import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from engine.books.books import Shelf
from engine.instance.profiles import profiles_document, profiles_of
from engine.model.errors import Refusal, Unavailable
from engine.model.profiles import Profiles
from server.base.interfaces import Principal, StoreDown
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.caller.profiles import KEPT_SECONDS, LiveProfiles
from server.feeds.instance import ServedInstance, read_instance
from server.stores.migrations import migrate, read_migrations
from server.stores.postgres import Database
from server.stores.profiles import FileProfiles, PostgresProfiles
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.support.books.changed import CALLS, PROFILES, ledger
from tests.support.books.demo import DEMO
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.loads import ROOT
from tests.support.books.profiles import WrittenTables
from tests.support.engines.memory import MemoryLoads
from tests.support.engines.postgres import postgres, schema_of

KEYS = ("whole", "europe", "america", "ledger")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of such books, whose profiles tests say themselves."""
    folder = tmp_path_factory.mktemp("changing")
    ledger(folder, "")
    return folder


def callers_of(instance: ServedInstance, state: Path, profiles: LiveProfiles | None = None) -> Callers:
    """Return what makes the callers of some books."""
    feeds = Feeds.of(instance.bindings, MemoryLoads(), {})
    shelf = Shelf(instance.catalogue, state / "store")
    return Callers(instance, shelf, feeds, keeping_in(state / "files"), WORKSHOP, 100_000, 1000, profiles)


def answer(callers: Callers, principal: Principal, tool: str, asked: Mapping[str, Any]) -> str:
    """Return what a call answers or refuses, as text, without its data_ref, which no two calls share."""
    try:
        result = TOOLS[tool].answer(callers.of(principal, lambda: None), read_request(TOOLS[tool].shape, asked)).result
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
