"""The databases of the stack: the script that makes them, run by psql against a real PostgreSQL."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from server.run.embedded.binaries import known_binaries
from tests.support.books import ROOT, load_instance
from tests.support.postgres import SeparateServer, separate_server
from tests.support.small import write_instance

SCRIPT = ROOT / "deploy" / "database" / "databases.sql"
PASSWORDS = {"tieout": """it's "awkward" \\ $1; drop role identity""", "identity": "other"}
OWNERS = list(PASSWORDS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateServer]:
    """A server whose first start ran the script, as the image's entry point does."""
    psql = next(known_binaries()).program("psql")
    given = {f"{owner.upper()}_DATABASE_PASSWORD": password for owner, password in PASSWORDS.items()}
    with separate_server(tmp_path_factory.mktemp("databases")) as server:
        command: list[str | Path] = [psql, "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--quiet", "--dbname"]
        subprocess.run([*command, server.uri(), "--file", SCRIPT], env={**os.environ, **given}, check=True)
        yield server


def uri_of(server: SeparateServer, owner: str, database: str) -> str:
    """Return how an owner connects to a database."""
    return conninfo.make_conninfo(server.uri(), user=owner, password=PASSWORDS[owner], dbname=database)


@pytest.mark.parametrize("owner", OWNERS)
def test_each_owner_has_a_database_of_its_own_and_may_make_tables_in_it(server: SeparateServer, owner: str) -> None:
    with psycopg.connect(uri_of(server, owner, owner)) as connection:
        connection.execute("create table something (id bigint primary key)")
        assert connection.execute("show server_encoding").fetchone() == ("UTF8",)


@pytest.mark.parametrize(("owner", "other"), [("tieout", "identity"), ("identity", "tieout")])
def test_no_owner_reaches_the_database_of_another(server: SeparateServer, owner: str, other: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(uri_of(server, owner, other))


def test_text_sorts_as_in_the_embedded_database(server: SeparateServer) -> None:
    with psycopg.connect(uri_of(server, "tieout", "tieout")) as connection:
        assert connection.execute("select datcollate from pg_database where datname = 'tieout'").fetchone() == ("C",)


def test_the_service_migrates_backs_up_and_restores_as_the_owner_of_its_database(
    server: SeparateServer, tmp_path: Path
) -> None:
    instance = write_instance(
        tmp_path / "instance",
        facts={"gl": "date scenario region amount\n2021-01-05 actual EU 10.50"},
        domains={"gl": "time: {column: date}\ndimensions: {region: region}\nmeasures: {amount: {places: 2}}"},
        dimensions="region: {kind: leaf}",
    )
    load_instance(instance, tmp_path / "state")
    told = script(server, "tieout", tmp_path, "migrate.py", "--scope", "open")
    assert "applied 008_artifacts.sql" in told
    status = script(server, "tieout", tmp_path, "migrate.py", "--scope", "open", "--status")
    assert {line.split()[0] for line in status.splitlines()} == {"applied"}
    bundle = tmp_path / "backup.tar"
    script(server, "tieout", tmp_path, "backup.py", "--instance", instance, bundle)
    with psycopg.connect(server.uri(), autocommit=True) as superuser:
        superuser.execute("create database restored owner tieout template template0")
    script(server, "restored", tmp_path, "restore.py", bundle, tmp_path / "restored")
    status = script(server, "restored", tmp_path, "migrate.py", "--scope", "open", "--status")
    assert {line.split()[0] for line in status.splitlines()} == {"applied"}


def script(server: SeparateServer, database: str, folder: Path, name: str, *arguments: str | Path) -> str:
    """Run one of the scripts of the image as the service would; return what it printed."""
    uri = conninfo.make_conninfo(server.uri(), user="tieout", password=PASSWORDS["tieout"], dbname=database)
    command = [sys.executable, ROOT / "scripts" / name, *arguments]
    environment = {**os.environ, "DATABASE_URL": uri, "SVC_STATE_DIR": str(folder / "state")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
