"""The databases of the stack: the script that makes them, run by psql against a real PostgreSQL."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import conninfo

from tests.support.books import ROOT
from tests.support.postgres import PACKAGE, postgres

SCRIPT = ROOT / "deploy" / "database" / "databases.sql"
PSQL = PACKAGE / "pginstall" / "bin" / "psql"
AWKWARD = """it's "awkward" \\ $1; drop role identity"""
OWNERS = ("tieout", "identity")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose first start ran the script, as the image's entry point does."""
    with postgres(tmp_path_factory.mktemp("databases")) as uri:
        passwords = {"TIEOUT_DATABASE_PASSWORD": AWKWARD, "IDENTITY_DATABASE_PASSWORD": "other"}
        subprocess.run(
            [PSQL, "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--quiet", "--dbname", uri, "--file", SCRIPT],
            env={**os.environ, **passwords},
            check=True,
        )
        yield uri


@pytest.mark.parametrize("owner", OWNERS)
def test_each_owner_has_a_database_of_its_own_and_may_make_tables_in_it(uri: str, owner: str) -> None:
    with psycopg.connect(conninfo.make_conninfo(uri, user=owner, dbname=owner)) as connection:
        connection.execute("create table something (id bigint primary key)")
        assert connection.execute("show server_encoding").fetchone() == ("UTF8",)


@pytest.mark.parametrize(("owner", "other"), [("tieout", "identity"), ("identity", "tieout"), ("tieout", "postgres")])
def test_no_owner_reaches_the_database_of_another(uri: str, owner: str, other: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(conninfo.make_conninfo(uri, user=owner, dbname=other))


def test_text_sorts_as_in_the_embedded_database(uri: str) -> None:
    with psycopg.connect(conninfo.make_conninfo(uri, dbname="tieout")) as connection:
        assert connection.execute("select datcollate from pg_database where datname = 'tieout'").fetchone() == ("C",)


def test_passwords_are_taken_as_text_and_kept_as_hashes(uri: str) -> None:
    with psycopg.connect(uri) as connection:
        kept = connection.execute("select rolname, rolpassword from pg_authid where rolname in ('tieout', 'identity')")
        assert {name: secret.partition("$")[0] for name, secret in kept} == dict.fromkeys(OWNERS, "SCRAM-SHA-256")


def test_the_owner_of_the_services_database_may_do_all_that_migrations_need(uri: str) -> None:
    environment = {**os.environ, "DATABASE_URL": conninfo.make_conninfo(uri, user="tieout", dbname="tieout")}
    migrate = [sys.executable, ROOT / "scripts" / "migrate.py", "--scope", "open"]
    subprocess.run(migrate, env=environment, check=True, capture_output=True)
    told = subprocess.run([*migrate, "--status"], env=environment, check=True, capture_output=True, text=True)
    assert {line.split()[0] for line in told.stdout.splitlines()} == {"applied"}
    assert "008_artifacts.sql" in told.stdout
