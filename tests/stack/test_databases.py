"""The databases of the stack: the script that makes them, run by psql against a real PostgreSQL."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import conninfo

from server.embedded.binaries import known_binaries
from tests.support.books import ROOT
from tests.support.postgres import SeparateServer, separate_server

SCRIPT = ROOT / "deploy" / "database" / "databases.sql"
PASSWORDS = {"tieout": """it's "awkward" \\ $1; drop role identity""", "identity": "other"}
OWNERS = list(PASSWORDS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateServer]:
    """A server whose first start ran the script, as the image's entry point does."""
    psql = next(known_binaries()).program("psql")
    given = {f"{owner.upper()}_DATABASE_PASSWORD": password for owner, password in PASSWORDS.items()}
    with separate_server(tmp_path_factory.mktemp("databases")) as server:
        command = [psql, "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--quiet", "--dbname", server.uri(), "--file", SCRIPT]
        subprocess.run(command, env={**os.environ, **given}, check=True)
        yield server


def uri_of(server: SeparateServer, owner: str, database: str) -> str:
    """Return how an owner connects to a database."""
    return conninfo.make_conninfo(server.uri(), user=owner, password=PASSWORDS[owner], dbname=database)


@pytest.mark.parametrize("owner", OWNERS)
def test_each_owner_has_a_database_of_its_own_and_may_make_tables_in_it(server: SeparateServer, owner: str) -> None:
    with psycopg.connect(uri_of(server, owner, owner)) as connection:
        connection.execute("create table something (id bigint primary key)")
        assert connection.execute("show server_encoding").fetchone() == ("UTF8",)


@pytest.mark.parametrize(("owner", "other"), [("tieout", "identity"), ("identity", "tieout"), ("tieout", "postgres")])
def test_no_owner_reaches_the_database_of_another(server: SeparateServer, owner: str, other: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(uri_of(server, owner, other))


def test_text_sorts_as_in_the_embedded_database(server: SeparateServer) -> None:
    with psycopg.connect(uri_of(server, "tieout", "tieout")) as connection:
        assert connection.execute("select datcollate from pg_database where datname = 'tieout'").fetchone() == ("C",)


def test_the_owner_of_the_services_database_may_do_all_that_migrations_need(server: SeparateServer) -> None:
    environment = {**os.environ, "DATABASE_URL": uri_of(server, "tieout", "tieout")}
    migrate = [sys.executable, ROOT / "scripts" / "migrate.py", "--scope", "open"]
    subprocess.run(migrate, env=environment, check=True, capture_output=True)
    told = subprocess.run([*migrate, "--status"], env=environment, check=True, capture_output=True, text=True)
    assert {line.split()[0] for line in told.stdout.splitlines()} == {"applied"}
    assert "008_artifacts.sql" in told.stdout
