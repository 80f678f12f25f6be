"""The databases of the stack: the script that makes them, run by psql against a real PostgreSQL."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import conninfo

from server.run.embedded.binaries import known_binaries
from tests.support.books.loads import ROOT, load_instance
from tests.support.books.small import write_instance
from tests.support.engines.postgres import SeparateServer, separate_server

SCRIPT = ROOT / "deploy" / "database" / "databases.sql"
PASSWORDS = {"tieout": """it's "awkward" \\ $1; drop role identity""", "identity": "other"}
OWNERS = list(PASSWORDS)


PAGE = (ROOT / "docs" / "operations" / "install.md").read_text(encoding="utf-8")


def is_healthy(server: SeparateServer, health_check: str) -> bool:
    """Run the health check of the stack as its container does, on the port of a server."""
    programs = next(known_binaries()).program("psql").parent
    known = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PGPORT": str(server.port),
        "TIEOUT_DATABASE_PASSWORD": PASSWORDS["tieout"],
    }
    return subprocess.run(["/bin/sh", "-c", health_check], env=known, check=False, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def health_check(services: dict[str, dict[str, Any]]) -> str:
    """The health check of the database."""
    kind, text = services["database"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    return str(text).replace("$$", "$")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, health_check: str) -> Iterator[SeparateServer]:
    """A server whose first start ran the script, as the image's entry point does."""
    psql = next(known_binaries()).program("psql")
    given = {f"{owner.upper()}_DATABASE_PASSWORD": password for owner, password in PASSWORDS.items()}
    with separate_server(tmp_path_factory.mktemp("databases")) as server:
        assert not is_healthy(server, health_check)
        command: list[str | Path] = [psql, "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--quiet", "--dbname"]
        subprocess.run([*command, server.uri(), "--file", SCRIPT], env={**os.environ, **given}, check=True)
        yield server


def uri_of(server: SeparateServer, owner: str, database: str) -> str:
    """Return how an owner connects to a database."""
    return conninfo.make_conninfo(server.uri(), user=owner, password=PASSWORDS[owner], dbname=database)


def test_the_database_is_healthy_once_its_roles_are_there(server: SeparateServer, health_check: str) -> None:
    assert is_healthy(server, health_check)


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


def test_the_restore_of_the_page_closes_the_database_to_the_role_of_the_identity_provider(
    server: SeparateServer,
) -> None:
    steps = PAGE.partition("createdb --username postgres --owner tieout --template template0 restored")[2]
    statements = re.findall(r"--command '([^']+)'", steps.partition("```")[0])
    assert len(statements) == 3
    with psycopg.connect(server.uri(), autocommit=True) as superuser:
        superuser.execute("drop database if exists restored")
        superuser.execute("create database restored owner tieout template template0")
        for statement in statements:
            superuser.execute(statement.encode())
    try:
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(uri_of(server, "identity", "tieout"))
        with psycopg.connect(uri_of(server, "tieout", "tieout")) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    finally:
        with psycopg.connect(server.uri(), autocommit=True) as superuser:
            superuser.execute("drop database tieout")
            superuser.execute("alter database before rename to tieout")


def script(server: SeparateServer, database: str, folder: Path, name: str, *arguments: str | Path) -> str:
    """Run one of the scripts of the image as the service would; return what it printed."""
    uri = conninfo.make_conninfo(server.uri(), user="tieout", password=PASSWORDS["tieout"], dbname=database)
    command = [sys.executable, ROOT / "scripts" / name, *arguments]
    environment = {**os.environ, "DATABASE_URL": uri, "SVC_STATE_DIR": str(folder / "state")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
