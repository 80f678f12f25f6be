"""Migrations of the platform database, as an operator meets them."""

import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from traceback import format_exception

import psycopg
import pytest

from server.base.interfaces import StoreDown
from server.base.settings import BadSetting
from server.stores.migrations import (
    MIGRATIONS,
    MigrationFault,
    MigrationState,
    check,
    migrate,
    read_migrations,
    read_statuses,
)
from tests.support.books.loads import ROOT
from tests.support.engines.postgres import SeparateServer, schema_of
from tests.support.service import forks
from tests.support.service.servers import wait_for

COMMAND = (ROOT / "scripts" / "migrate.py", "--scope", "open")
KNOWN = [
    "001_load_attempts.sql",
    "002_load_history.sql",
    "003_profiles.sql",
    "004_profile_grants.sql",
    "005_profile_assignments.sql",
    "006_profile_changes.sql",
    "007_principals.sql",
    "008_artifacts.sql",
    "009_profile_members.sql",
    "010_rejected_rows.sql",
]


def script(uri: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/migrate.py on a database."""
    return forks.script(*COMMAND, *arguments, environment={**os.environ, "DATABASE_URL": uri})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A copy of the migrations that a test may change."""
    return Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))


def apply(uri: str, folder: Path = MIGRATIONS) -> list[str]:
    """Migrate a database; return the files that were applied."""
    applied: list[str] = []
    migrate(uri, read_migrations(folder), applied.append)
    return applied


def rows(uri: str, query: str) -> list[tuple[object, ...]]:
    """Ask a database."""
    with closing(psycopg.connect(uri, autocommit=True)) as connection:
        return connection.execute(query.encode()).fetchall()


def execute(uri: str, statement: str) -> None:
    """Tell a database."""
    with closing(psycopg.connect(uri, autocommit=True)) as connection:
        connection.execute(statement.encode())


def tables(uri: str) -> set[str]:
    """Return the tables of the schema."""
    return {str(name) for (name,) in rows(uri, "select tablename from pg_tables where schemaname = current_schema()")}


@pytest.mark.parametrize("empty_database", ["server"], indirect=True)
def test_the_script_lists_applies_and_checks(empty_database: str) -> None:
    listed = script(empty_database, "--status")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [line.split() for line in listed.stdout.splitlines()] == [["pending", name] for name in KNOWN]
    assert tables(empty_database) == set()  # looking changes nothing
    assert script(empty_database, "--check").returncode == 2
    applied = script(empty_database)
    assert (applied.returncode, applied.stderr) == (0, "")
    assert applied.stdout.splitlines() == [f"applied {name}" for name in KNOWN] + [
        "The platform database is up to date."
    ]
    again = script(empty_database)
    assert (again.returncode, again.stdout) == (0, "The platform database is up to date.\n")
    checked = script(empty_database, "--check")
    assert checked.returncode == 0
    assert [line.split() for line in checked.stdout.splitlines()] == [["applied", name] for name in KNOWN]
    assert {"load_attempts", "profiles", "principals", "files", "uploads"} < tables(empty_database)


def test_what_was_applied_is_recorded(empty_database: str) -> None:
    apply(empty_database)
    recorded = rows(
        empty_database, "select scope, version, name, checksum, app_version from schema_migrations order by 2"
    )
    assert [tuple(row[:4]) for row in recorded] == [
        ("open", known.version, known.name, known.checksum) for known in read_migrations()
    ]
    assert {row[4] for row in recorded} == {"0.3.0"}


def test_several_that_start_at_once_apply_each_file_once(empty_database: str) -> None:
    together, applied = Barrier(4), []

    def start() -> None:
        together.wait()
        applied.append(apply(empty_database))

    starting = [Thread(target=start) for _ in range(4)]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join()
    assert sorted(applied, key=len) == [[], [], [], KNOWN]


def test_an_index_that_is_built_concurrently_does_not_wait_for_who_waits_for_it(
    empty_database: str, files: Path
) -> None:
    (files / "011_index.sql").write_text(
        "-- migrate: no-transaction\ncreate index concurrently if not exists slow on load_attempts (source);\n"
    )
    starting = [Thread(target=apply, args=(empty_database, files)) for _ in range(3)]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join()
    assert rows(empty_database, "select indisvalid from pg_index where indexrelid = 'slow'::regclass") == [(True,)]
    with pytest.raises(MigrationFault, match=r"ahead: 011_index\.sql"):
        apply(empty_database)


def test_a_migration_that_fails_is_taken_back_whole_and_the_rest_waits(empty_database: str, files: Path) -> None:
    (files / "011_more.sql").write_text("create table more (n int);\ncreate index on\n  mor (n);\n")
    (files / "012_most.sql").write_text("create table most (n int);\n")
    with pytest.raises(MigrationFault) as failed:
        apply(empty_database, files)
    told = str(failed.value)
    assert told == '011_more.sql: nothing of it was applied: relation "mor" does not exist'
    assert "more" not in tables(empty_database)
    (files / "011_more.sql").write_text("create table more (n int);\ncreate inde on more (n);\n")
    with pytest.raises(
        MigrationFault, match=r'^011_more\.sql, line 2: nothing of it was applied: syntax error at or near "inde"'
    ):
        apply(empty_database, files)
    (files / "011_more.sql").write_text("create table more (n int);\n")
    assert apply(empty_database, files) == ["011_more.sql", "012_most.sql"]


def test_a_file_that_was_edited_stops_everything(empty_database: str, files: Path) -> None:
    apply(empty_database, files)
    path = files / "003_profiles.sql"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))  # a checkout on another system is no edit
    assert apply(empty_database, files) == []
    path.write_text(path.read_text() + "-- a remark\n")
    (files / "011_more.sql").write_text("create table more (n int);\n")
    with pytest.raises(MigrationFault, match=r"CHECKSUM MISMATCH: 003_profiles.sql .* put back the released one"):
        apply(empty_database, files)
    assert "more" not in tables(empty_database)
    execute(empty_database, "update schema_migrations set checksum = '0' where version = 3")
    checked = script(empty_database, "--check")
    assert checked.returncode == 1
    assert "CHECKSUM MISMATCH  003_profiles.sql\n" in checked.stdout
    assert "CHECKSUM MISMATCH: 003_profiles.sql is not the file that was applied" in checked.stderr


def test_a_database_that_is_ahead_is_left_alone(empty_database: str) -> None:
    apply(empty_database)
    execute(
        empty_database,
        "insert into schema_migrations (scope, version, name, checksum, duration_ms, app_version) "
        "values ('open', 11, '011_later.sql', 'x', 1, '0.4.0')",
    )
    for refused in (apply, check):
        with pytest.raises(MigrationFault) as ahead:
            refused(empty_database)
        assert "011_later.sql was applied by a newer version than 0.3.0; install that version" in str(ahead.value)
        assert "restore the backup made before the upgrade" in str(ahead.value)
    assert [known.name for known in read_statuses(empty_database) if known.standing is MigrationState.AHEAD] == [
        "011_later.sql"
    ]


def test_a_file_that_comes_late_is_told(empty_database: str, files: Path) -> None:
    (files / "010_rejected_rows.sql").rename(files / "011_profile_members.sql")
    apply(empty_database, files)
    (files / "010_late.sql").write_text("select 1;\n")
    with pytest.raises(MigrationFault, match=r"010_late\.sql is pending below one that was applied.* above 011"):
        apply(empty_database, files)


def test_files_are_named_by_a_number_of_their_own(files: Path) -> None:
    (files / "010_twice.sql").write_text("select 1;\n")
    with pytest.raises(MigrationFault, match=r"010_twice\.sql: a migration is named as 009_what_it_makes\.sql"):
        read_migrations(files)
    (files / "010_twice.sql").rename(files / "9_short.sql")
    with pytest.raises(MigrationFault, match=r"9_short\.sql"):
        read_migrations(files)


@pytest.mark.parametrize("name", ["files", "artifacts"])
def test_a_table_of_files_that_is_not_ours_is_told_and_left_as_it_is(empty_database: str, name: str) -> None:
    execute(empty_database, f"create table {name} as select 1 as id, 'kept' as path")
    with pytest.raises(MigrationFault) as refused:
        apply(empty_database)
    told = str(refused.value)
    assert f"008_artifacts.sql: nothing of it was applied: there is a table {name} already" in told
    assert "with the columns id, path; it is left as it is. Keep what you need of it, rename it" in told
    assert rows(empty_database, f"table {name}") == [(1, "kept")]
    assert [known.name for known in read_statuses(empty_database) if known.standing is MigrationState.PENDING] == KNOWN[
        7:
    ]
    execute(empty_database, f"alter table {name} rename to kept_{name}")
    assert apply(empty_database) == KNOWN[7:]


def test_a_lock_that_somebody_holds_is_not_waited_for_for_ever(empty_database: str, files: Path) -> None:
    apply(empty_database)
    (files / "011_more.sql").write_text("alter table load_attempts add column more text;\n")
    with closing(psycopg.connect(empty_database)) as reading:
        reading.execute("select * from load_attempts")
        with pytest.raises(MigrationFault, match="somebody holds a table that it changes; try again later"):
            apply(empty_database, files)
    assert apply(empty_database, files) == ["011_more.sql"]


def test_a_migration_that_is_cut_off_leaves_nothing_behind(database_server: SeparateServer, files: Path) -> None:
    (files / "011_slow.sql").write_text("create table slow (n int);\nselect pg_sleep(60);\n")
    with schema_of(database_server.uri()) as uri:
        apply(uri)
        failed: list[str] = []

        def start() -> None:
            try:
                apply(uri, files)
            except MigrationFault as fault:
                failed.append(str(fault))

        migrating = Thread(target=start)
        migrating.start()
        sleeping = (
            "select pid from pg_stat_activity where state = 'active' and query like '%slow (n int)%pg_sleep(60)%'"
        )
        sleeping += " and pid <> pg_backend_pid()"
        wait_for(lambda: bool(rows(uri, sleeping)))
        rows(uri, sleeping.replace("pid from", "pg_terminate_backend(pid) from"))
        migrating.join()
        assert failed[0].startswith("011_slow.sql: nothing of it was applied")
        assert "slow" not in tables(uri)
        (files / "011_slow.sql").write_text("create table slow (n int);\n")
        assert apply(uri, files) == ["011_slow.sql"]


def test_a_user_who_may_not_make_tables_is_told(database_server: SeparateServer) -> None:
    with schema_of(database_server.uri()) as uri:
        execute(uri, "create role reader login password 'reads-only'; grant usage on schema public to reader")
        try:
            reading = uri.replace("platform:", "reader:").replace(database_server.password, "reads-only")
            with pytest.raises(MigrationFault, match="does not let migrations be read or applied: "):
                apply(reading)
        finally:
            execute(uri, "drop owned by reader; drop role reader")


def test_no_message_holds_a_password(database_server: SeparateServer) -> None:
    secret = "hunter2-and-more"  # noqa: S105 - a wrong one
    no_uri = "DATABASE_URL is no URI of a PostgreSQL database; it takes postgresql://USER:PASSWORD@HOST:5432/DATABASE"
    for uri, says in {
        database_server.uri(password=secret): "cannot be reached: it refuses the password",
        database_server.uri("nowhere"): "cannot be reached: it has no such database",
        database_server.uri().replace("platform:", "nobody:"): "cannot be reached: it refuses the password",
        f"postgresql://u:{secret}@127.0.0.1:1/x": "cannot be reached: nothing listens at its address",
        f"postgresql://u:{secret}@nowhere.invalid/x": "cannot be reached: its host name is not known",
        f"postgresql://u:{secret}@/x?host=/{'long' * 30}": "cannot be reached: the path of its socket has more than",
        f"postgresql://u:{secret} x@127.0.0.1/x": no_uri,
        f"mysql://u:{secret}@127.0.0.1/x": no_uri,
        f"postgresql://u:{secret}@127.0.0.1:5432x/x": "its URI has a parameter without a valid value",
        f"postgresql://u:{secret}@127.0.0.1/x?connect_timeout=a": "its URI has a parameter without a valid value",
    }.items():
        with pytest.raises((StoreDown, BadSetting)) as refused:
            apply(uri)
        told = "".join(format_exception(refused.value))
        assert says in str(refused.value)
        for word in (secret, database_server.password, "hunter2", "127.0.0.1", "postgresql://u"):
            assert word not in told
    shown = script(database_server.uri(password=secret))
    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr == "the platform database cannot be reached: it refuses the password\n"


def test_what_an_upgrade_finds_pending_is_told_with_what_to_run(empty_database: str) -> None:
    with pytest.raises(StoreDown) as pending:
        check(empty_database)
    assert "001_load_attempts.sql" in str(pending.value)
    assert "run scripts/migrate.py --scope open" in str(pending.value)
    apply(empty_database)
    check(empty_database)
    assert {known.standing.value for known in read_statuses(empty_database)} == {"applied"}


def test_a_change_of_a_permission_is_recorded_with_who_made_it(empty_database: str) -> None:
    apply(empty_database)
    for statement in (
        "insert into profiles values ('emea', true)",
        """insert into profile_grants (profile, scenario, domains, dimensions)
           values ('emea', 'kind:actual', '{"allow": ["gl"]}', '{"organisation": {"allow": ["EMEA"]}}')""",
        """insert into profile_assignments (profile, claims) values ('emea', '{"groups": "finance"}')""",
        "update profiles set operations = false",
        "delete from profiles",
    ):
        execute(empty_database, statement)
    changes = rows(
        empty_database, "select part, operation, after is null, changed_by from profile_changes order by revision"
    )
    user = rows(empty_database, "select session_user")[0][0]
    assert changes[:4] == [
        ("profiles", "insert", False, user),
        ("profile_grants", "insert", False, user),
        ("profile_assignments", "insert", False, user),
        ("profiles", "update", False, user),
    ]
    assert sorted(changes[4:]) == [
        ("profile_assignments", "delete", True, user),
        ("profile_grants", "delete", True, user),
        ("profiles", "delete", True, user),
    ]


MISREADABLE = {
    "both": """insert into profile_grants (profile, scenario, domains) values ('p', 'a', '{"allow": 1, "deny": 1}')""",
    "a typo": """insert into profile_grants (profile, scenario, domains) values ('p', '*', '{"alow": ["gl"]}')""",
    "neither": """insert into profile_grants (profile, scenario, dimensions) values ('p', '*', '{"entity": ["FR"]}')""",
    "no object": """insert into profile_grants (profile, scenario, dimensions) values ('p', '*', '[]')""",
    "no profile": """insert into profile_grants (profile, scenario) values ('nobody', '*')""",
    "nobody": """insert into profile_assignments (profile) values ('p')""",
    "a list": """insert into profile_assignments (profile, claims) values ('p', '{"groups": ["finance"]}')""",
    "no claims": """insert into principals values ('ada', '[]', now())""",
}


@pytest.mark.parametrize("statement", MISREADABLE.values(), ids=MISREADABLE)
def test_the_tables_take_no_permission_that_could_be_misread(embedded_server: str, statement: str) -> None:
    with schema_of(embedded_server) as uri:
        apply(uri)
        execute(uri, "insert into profiles values ('p')")
        with pytest.raises(psycopg.errors.IntegrityError):
            execute(uri, statement)
