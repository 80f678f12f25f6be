"""The sources of profiles, each held to the same: the file, an embedded PostgreSQL and a separate one."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

import psycopg
import pytest

from engine.instance.documents import Document
from engine.instance.profiles import profiles_document, profiles_of
from engine.model.catalogue import Catalogue
from engine.model.errors import Unavailable
from engine.model.profiles import EVERYONE, Profiles
from server.base.interfaces import StoreDown
from server.base.settings import Settings
from server.caller.profiles import KEPT_SECONDS, LiveProfiles, followed
from server.feeds.instance import read_instance
from server.stores.migrations import migrate, read_migrations
from server.stores.postgres import Database
from server.stores.profiles import FileProfiles, PostgresProfiles, opened_to_one
from tests.support.books.profiles import ProfilePlace, WrittenFile, WrittenTables
from tests.support.books.small import write_instance
from tests.support.engines.postgres import schema_of
from tests.support.service.servers import wait_for

PLACES = ("file", "embedded", "server")
LOW, HIGH = "low: {scenarios: {actual: {}}}\n", "high: {operations: true, scenarios: {'*': {}}}\n"
ASSIGNED = "assign: [{subject: ada, profile: low}, {subject: ada, profile: high}, {subject: bob, profile: low}]"
BOTH = LOW + HIGH + ASSIGNED


@contextmanager
def tables(uri: str) -> Iterator[tuple[str, Database]]:
    """Make the tables of a database in a schema of their own."""
    with schema_of(uri) as schema:
        migrate(schema, read_migrations(), lambda _: None)
        with closing(Database(schema)) as database:
            yield schema, database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An instance of a ledger whose data nobody loads."""
    return write_instance(
        tmp_path / "small",
        facts={"gl": "date scenario product amount", "people": "date scenario heads"},
        domains={
            "gl": "time: {column: date}\ndimensions: {product: product}\nmeasures: {amount: {places: 2}}\n",
            "people": "time: {column: date}\ndimensions: {}\nmeasures: {heads: {type: number, places: 0}}\n",
        },
        dimensions="product: {kind: leaf}\n",
    )


@pytest.fixture
def catalogue(folder: Path) -> Catalogue:
    """Its catalogue."""
    return read_instance(folder).catalogue


@pytest.fixture(params=PLACES)
def written(request: pytest.FixtureRequest, folder: Path) -> Iterator[ProfilePlace]:
    """Each place of profiles."""
    if request.param == "file":
        yield WrittenFile(folder)
        return
    server = request.getfixturevalue("embedded_server" if request.param == "embedded" else "database_server")
    with tables(server if isinstance(server, str) else server.uri()) as (uri, database):
        yield WrittenTables(uri, database)


class ServerProfiles:
    """What one server knows of a place."""

    def __init__(self, written: ProfilePlace, catalogue: Catalogue) -> None:
        self.live = LiveProfiles(written.source(), catalogue)
        self.catalogue = catalogue
        self.live.look()

    @property
    def profiles(self) -> Profiles:
        """The profiles known now."""
        return self.live.of(self.catalogue)

    def held(self, subject: str, **claims: tuple[str, ...]) -> list[str]:
        """Return the names of the profiles that a caller holds."""
        return [profile.key for profile in self.profiles.held_by(subject, claims)]

    def comes_to_hold(self, subject: str, keys: list[str]) -> None:
        """Look, as a server does all the time, until a caller holds these."""

        def holds() -> bool:
            self.live.look()
            return self.held(subject) == keys

        wait_for(holds)


def test_profiles_are_held_by_subject_and_by_every_claim(written: ProfilePlace, catalogue: Catalogue) -> None:
    written.write(
        LOW + HIGH + "assign: [{subject: ada, profile: low}, {claim: {groups: finance, country: FR}, profile: high}, "
        "{subject: bob, claim: {groups: finance}, profile: low}]"
    )
    seen = ServerProfiles(written, catalogue)
    assert seen.held("ada") == ["low"]
    assert seen.held("ada", groups=("it", "finance"), country=("FR",)) == ["high", "low"]
    assert seen.held("cyd", groups=("finance",)) == seen.held("cyd", country=("FR",)) == []
    assert (seen.held("bob"), seen.held("bob", groups=("finance",))) == ([], ["low"])
    assert seen.held("ada ", groups=("Finance",), country=("FR",)) == []
    assert seen.profiles.by_key["high"].operations
    assert not seen.profiles.by_key["low"].operations


def test_both_say_the_same_profiles(written: ProfilePlace, catalogue: Catalogue, folder: Path) -> None:
    text = """
some:
  scenarios:
    actual: {domains: {allow: [gl]}, dimensions: {product: {allow: [A, "0010", (unassigned)]}}}
    kind:budget: {domains: {deny: [people]}, dimensions: {product: {deny: [NO]}}}
    '*': {dimensions: {product: {deny: [B]}}, open_domains: [people]}
none: {scenarios: {}}
open: {members: all, scenarios: {}}
"""
    written.write(text)
    expected = WrittenFile(folder)
    expected.write(text)
    profiles = ServerProfiles(written, catalogue).profiles
    assert profiles.faults == ()
    by_key = ServerProfiles(expected, catalogue).profiles.by_key
    said = [
        {key: (dict(profile.grants), profile.operations, profile.all_members) for key, profile in known.items()}
        for known in (profiles.by_key, by_key)
    ]
    assert said[0] == said[1]
    assert profiles.by_key["open"].all_members


@pytest.mark.parametrize(
    ("faulty", "words"),
    [
        ("high: {scenarios: {'*': {}, actuals: {}}}\n", "there is no scenario 'actuals'"),
        ("high: {scenarios: {'*': {domains: {deny: [salaries]}}}}\n", "there is no domain 'salaries'"),
        ("high: {scenarios: {'*': {dimensions: {region: {deny: [EU]}}}}}\n", "there is no dimension 'region'"),
        ("high: {scenarios: {'*': {dimensions: {product: {deny: []}}}}}\n", "high.scenarios.*.dimensions.product.deny"),
        ("high: {scenarios: {'*': {open_domains: [Salaries]}}}\n", "high.scenarios.*.open_domains.0 has a shape"),
        ("High Court: {scenarios: {'*': {}}}\n", "High Court has a shape that is not allowed"),
    ],
)
def test_a_profile_with_a_fault_closes_its_holders_and_nobody_else_until_it_is_mended(
    written: ProfilePlace, catalogue: Catalogue, faulty: str, words: str
) -> None:
    name = faulty.partition(":")[0]
    written.write(BOTH.replace(HIGH, faulty).replace("profile: high", f"profile: {name}"))
    seen = ServerProfiles(written, catalogue)
    assert (seen.held("ada"), seen.held("bob")) == ([], ["low"])
    (fault,) = seen.live.faults
    assert words in fault
    assert fault.startswith(("profiles.yaml:2: ", f"the tables of profiles {name}"))
    written.write(BOTH)
    seen.comes_to_hold("ada", ["high", "low"])
    assert seen.live.faults == ()


def test_a_change_is_seen_by_every_server_and_the_old_is_gone(written: ProfilePlace, catalogue: Catalogue) -> None:
    written.write(BOTH)
    servers = [ServerProfiles(written, catalogue) for _ in range(3)]
    assert [seen.held("ada") for seen in servers] == [["high", "low"]] * 3
    for text, keys in (
        (LOW + HIGH + "assign: [{subject: ada, profile: low}]", ["low"]),
        (LOW + HIGH + "assign: [{subject: ada, profile: high}]", ["high"]),
        (LOW + HIGH, []),
        (BOTH, ["high", "low"]),
        ("", []),
    ):
        written.write(text)
        for seen in servers:
            seen.comes_to_hold("ada", keys)


def test_what_says_the_same_is_not_built_again(written: ProfilePlace, catalogue: Catalogue) -> None:
    written.write(BOTH)
    seen = ServerProfiles(written, catalogue)
    known = seen.profiles
    for _ in range(3):
        seen.live.look()
    assert seen.profiles is known


def test_another_catalogue_has_the_same_profiles_held_to_its_own_names(
    written: ProfilePlace, catalogue: Catalogue, folder: Path
) -> None:
    written.write("seen: {scenarios: {'*': {domains: {allow: [gl, people]}}}}\nassign: [{subject: ada, profile: seen}]")
    seen = ServerProfiles(written, catalogue)
    assert seen.held("ada") == ["seen"]
    (folder / "domains" / "people.yaml").unlink()
    (folder / "integrations.yaml").write_text("{}\n")
    seen.catalogue = read_instance(folder).catalogue
    assert seen.held("ada") == []
    assert "there is no domain 'people'" in seen.live.faults[0]
    seen.catalogue = catalogue
    assert (seen.held("ada"), seen.live.faults) == (["seen"], ())


class SilentSource:
    """A source that says what it is told to, or nothing."""

    def __init__(self) -> None:
        self.document: Document | None = None

    def read(self) -> Document:
        """Return what it was told to say."""
        if self.document is None:
            raise StoreDown("it does not answer")
        return self.document


def test_what_is_known_serves_for_a_minute_and_then_nothing_does(catalogue: Catalogue) -> None:
    now, source = 1000.0, SilentSource()
    live = LiveProfiles(source, catalogue, clock=lambda: now)
    live.look()
    with pytest.raises(Unavailable) as refused:  # never read: nobody sees anything, and it says why
        live.of(catalogue)
    assert refused.value.as_data() == {
        "error": "Who may see what cannot be read just now, so nothing is shown. Call again shortly.",
        "error_type": "unavailable",
        "retryable": True,
        "retry_after_ms": 2000,
    }
    source.document = profiles_document(b"all: {scenarios: {'*': {}}}\nassign: [{subject: ada, profile: all}]")
    live.look()
    source.document = None
    for later in (1.0, KEPT_SECONDS):
        now = 1000.0 + later
        live.look()
        assert live.of(catalogue).held_by("ada", {})
    now = 1000.1 + KEPT_SECONDS
    with pytest.raises(Unavailable):
        live.of(catalogue)
    source.document = Document("a source", tree={})
    live.look()
    assert live.of(catalogue).held_by("ada", {}) == ()


def test_a_file_that_is_half_written_or_swapped_closes_nobody(catalogue: Catalogue, folder: Path) -> None:
    written = WrittenFile(folder)
    written.write(BOTH)
    source = FileProfiles(folder)
    whole = source.read()
    path = folder / "profiles.yaml"
    path.write_text(LOW)  # an editor has truncated it and written the beginning
    assert source.read() is whole
    path.write_text(LOW + HIGH)  # and some more
    assert source.read() is whole
    path.unlink()  # another moves it away and puts a new one in its place
    assert source.read() is whole
    (folder / "new.txt").write_text(LOW)
    (folder / "new.txt").replace(path)
    assert source.read() is whole
    assert profiles(source.read(), catalogue) == ["low"]  # which rests by now


def profiles(document: Document, catalogue: Catalogue) -> list[str]:
    """Return the names of the profiles of a document."""
    return sorted(profiles_of(document, catalogue).by_key)


def test_a_file_that_never_rests_is_taken_all_the_same(catalogue: Catalogue, folder: Path) -> None:
    written = WrittenFile(folder)
    written.write(BOTH)
    seen, count = ServerProfiles(written, catalogue), iter(range(1_000_000))

    def closed() -> bool:
        written.write(f"# {next(count)}\n{LOW}")
        seen.live.look()
        return seen.held("ada") == []

    wait_for(closed)


def test_a_file_that_is_gone_closes_everybody_and_says_so(
    catalogue: Catalogue, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = folder / "profiles.yaml"
    path.unlink()
    never = ServerProfiles(WrittenFile(folder), catalogue)
    assert (never.held("ada"), never.live.faults) == ([], ())
    path.write_text(BOTH)
    seen = ServerProfiles(WrittenFile(folder), catalogue)
    path.unlink()
    seen.comes_to_hold("ada", [])
    assert seen.live.faults == ("profiles.yaml:1: is not there any more — an empty one says that nobody sees anything",)
    assert "nobody sees anything until this is mended: who holds which profile cannot be told" in caplog.text
    path.write_text(BOTH)
    seen.comes_to_hold("ada", ["high", "low"])


def test_without_a_file_the_one_user_sees_everything_until_there_was_one(
    catalogue: Catalogue, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, run = folder / "profiles.yaml", folder / "run"
    run.mkdir()
    settings = Settings(instance=folder)
    assert opened_to_one(settings, run) is None, "there is a file"
    path.unlink()
    assert opened_to_one(replace(settings, oidc_issuer="https://id.example.com"), run) is None, "of many users"
    opening = opened_to_one(settings, run)
    parent, worker = (LiveProfiles(FileProfiles(folder, opening), catalogue) for _ in range(2))
    for live in (parent, worker):
        live.look()
        (profile,) = live.of(catalogue).held_by("dev", {})
        assert (profile.operations, profile.grants) == (EVERYONE.operations, EVERYONE.grants)
        assert live.of(catalogue).held_by("ada", {}) == ()
    assert "the one user of this server sees everything until one is written" in caplog.text
    path.write_text(BOTH)
    parent.look()  # the worker does not see the file while it is there
    path.unlink()
    late = LiveProfiles(FileProfiles(folder, opening), catalogue)
    for live in (parent, worker, late):
        for _ in range(2):
            live.look()
        assert live.of(catalogue).held_by("dev", {}) == ()


def test_a_file_that_keeps_its_time_and_length_is_seen_to_change(catalogue: Catalogue, folder: Path) -> None:
    path = folder / "profiles.yaml"
    path.write_text(LOW + HIGH + "assign: [{subject: ada, profile: low}] ")
    seen, found = ServerProfiles(WrittenFile(folder), catalogue), path.stat()
    path.write_text(LOW + HIGH + "assign: [{subject: ada, profile: high}]")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_size == found.st_size
    seen.comes_to_hold("ada", ["high"])


def test_a_name_that_the_file_keeps_for_assignments_is_no_profile_of_the_database(
    embedded_server: str, catalogue: Catalogue
) -> None:
    with tables(embedded_server) as (uri, database), closing(psycopg.connect(uri, autocommit=True)) as connection:
        connection.execute("insert into profiles values ('assign')")
        connection.execute("insert into profile_grants values ('assign', '*')")
        connection.execute("insert into profile_assignments values ('assign', 'ada')")
        seen = ServerProfiles(WrittenTables(uri, database), catalogue)
        assert seen.held("ada") == []
        (fault,) = seen.live.faults
        assert fault == "the tables of profiles assign.0.profile: there is no profile 'assign' — known: none"


def test_rows_that_are_read_while_they_change_are_those_of_one_moment(
    embedded_server: str, catalogue: Catalogue
) -> None:
    with tables(embedded_server) as (uri, database):
        written, ended = WrittenTables(uri, database), []
        texts = [
            "a: {scenarios: {actual: {}}}\nassign: [{subject: ada, profile: a}]",
            "b: {scenarios: {actual: {}}}\nassign: [{subject: ada, profile: b}]",
        ]
        written.write(texts[0])

        def change() -> None:
            for number in range(100):
                written.write(texts[number % 2])
            ended.append(True)

        thread = Thread(target=change)
        thread.start()
        known = set()
        while not ended:
            (key,) = ServerProfiles(written, catalogue).held("ada")  # never none, never both
            known.add(key)
        thread.join()
        assert known == {"a", "b"}


def test_a_table_of_more_rows_than_can_be_held_closes_everybody(embedded_server: str, catalogue: Catalogue) -> None:
    with tables(embedded_server) as (uri, database):
        WrittenTables(uri, database).write(BOTH)
        for most, keys, faults in (
            (3, ["low"], []),
            (2, [], ["the tables of profiles: one of them has more than 2 rows"]),
        ):
            live = LiveProfiles(PostgresProfiles(database, most), catalogue)
            live.look()
            assert [known.key for known in live.of(catalogue).held_by("bob", {})] == keys
            assert list(live.faults) == faults


def test_reading_is_all_that_the_user_of_a_server_has_to_be_granted(embedded_server: str, catalogue: Catalogue) -> None:
    with tables(embedded_server) as (uri, database):
        WrittenTables(uri, database).write(BOTH)
        schema = uri.partition("search_path%3D")[2]
        with closing(psycopg.connect(uri, autocommit=True)) as connection:
            connection.execute(f"create role reader_{schema}")
            connection.execute(f"grant usage on schema {schema} to reader_{schema}")
            granted = ("profiles", "profile_grants", "profile_assignments", "profile_changes")
            try:
                with closing(Database(f"{uri}%20-crole%3Dreader_{schema}")) as reading:
                    with pytest.raises(StoreDown, match="grant it the tables of Tieout"):
                        PostgresProfiles(reading).read()
                    for table in granted:
                        connection.execute(f"grant select on {table} to reader_{schema}")
                    live = LiveProfiles(PostgresProfiles(reading), catalogue)
                    live.look()
                    assert [known.key for known in live.of(catalogue).held_by("bob", {})] == ["low"]
            finally:
                connection.execute(f"drop owned by reader_{schema}")
                connection.execute(f"drop role reader_{schema}")


class FailingSource(SilentSource):
    """A source that fails once in a way that nobody expects."""

    failed = False

    def read(self) -> Document:
        """Fail, and from then on return what it was told to say."""
        if not self.failed:
            self.failed = True
            raise RuntimeError("of our own")
        return super().read()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_our_own_does_not_end_the_following(catalogue: Catalogue) -> None:
    source = FailingSource()
    source.document = profiles_document(b"all: {scenarios: {'*': {}}}\nassign: [{subject: ada, profile: all}]")
    live = LiveProfiles(source, catalogue)
    with followed(live, again=0.01):
        wait_for(lambda: live.age < KEPT_SECONDS)
        assert [known.key for known in live.of(catalogue).held_by("ada", {})] == ["all"]
