"""Dumps: the platform database as a file of pg_dump, and back."""

import os
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from server.ports import StoreDown
from server.stores.postgres import connect, connection_string

NO_OWNERS = ("--no-owner", "--no-privileges")  # whoever restores it owns it
MAINTENANCE = "postgres"  # database that every server has
TABLES = "select count(*) from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'"


class NotEmpty(StoreDown):
    """A database that holds something already."""


def server_major(uri: str) -> int:
    """Return the version of the server of a database."""
    with closing(connect(uri)) as connection:
        return connection.info.server_version // 10000


def dump(uri: str, program: Path, file: Path) -> None:
    """Write a database to a file, as it is at one moment; StoreDown where that fails."""
    run([program, "--format=custom", f"--file={file}", *NO_OWNERS], uri)


def fill(uri: str, program: Path, file: Path) -> None:
    """Fill a database with what was dumped, all of it or nothing; StoreDown where that fails."""
    run([program, "--single-transaction", "--exit-on-error", *NO_OWNERS, str(file)], uri)


def run(command: list[str | Path], uri: str) -> None:
    """Run a tool of PostgreSQL on a database; its password is in the environment, where ps does not show it."""
    said = {name: str(value) for name, value in conninfo_to_dict(connection_string(uri)).items()}
    password = {"PGPASSWORD": said.pop("password")} if "password" in said else {}
    done = subprocess.run(  # noqa: S603 - the tools are those found beside the server
        [command[0], f"--dbname={make_conninfo(**said)}", *command[1:]],
        env={**os.environ, **password},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        name = Path(command[0]).name
        raise StoreDown(f"{name} failed: {done.stderr.strip().splitlines()[0] if done.stderr else done.returncode}")


def new_database(uri: str) -> None:
    """Make a database where there is none of its name; NotEmpty where there is one that holds tables."""
    name = str(conninfo_to_dict(connection_string(uri)).get("dbname", MAINTENANCE))
    with closing(connect(make_conninfo(uri, dbname=MAINTENANCE))) as server:
        try:
            if server.execute("select from pg_database where datname = %s", (name,)).fetchone() is None:
                server.execute(SQL("create database {}").format(Identifier(name)))
        except psycopg.Error as fault:
            said = fault.diag.message_primary or "the connection was lost"
            raise StoreDown(f"the new database cannot be made ({said}); make it, empty, and restore into it") from None
    with closing(connect(uri)) as database:
        if database.execute(TABLES).fetchone() != (0,):
            raise NotEmpty("the database to restore into holds tables; name a new one, and switch to it afterwards")
