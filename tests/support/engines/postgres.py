"""Real PostgreSQL servers: embedded ones for as long as a block, and a separate one that wants a password."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex, token_urlsafe
from signal import SIGINT, SIGQUIT

import psycopg
from psycopg.conninfo import conninfo_to_dict

from server.run.embedded import launch
from server.run.embedded.binaries import PostgresBinaries, known_binaries
from server.run.embedded.keeper import STOPPING, Keeper
from server.run.embedded.servers import EmbeddedPostgres
from server.run.embedded.users import hand_over, programs_for, server_user, way_of
from tests.support.service.servers import free_port, wait_for

DEADLINE = 30.0
USER = "platform"


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Run an embedded server whose data are in a folder of its own; yield its URI."""
    program = EmbeddedPostgres(lambda: next(known_binaries()), folder / "postgres")
    with closing(Keeper(program)) as keeper:
        keeper.start()
        keeper.wait(DEADLINE)
        yield program.uri


def run_unprivileged(folder: Path, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
    """Start a program of PostgreSQL, with its files in a folder, as an ordinary user; it ends with this process."""
    hand_over(folder, server_user(folder))
    how = [str(os.getpid()), str(int(SIGINT)), way_of(folder, unprivileged=True)]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", launch.__file__, *how, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@dataclass
class SeparateServer:
    """A server of its own on TCP, as an operator has one: Debian's where it is installed, else the wheel's."""

    binaries: PostgresBinaries
    folder: Path
    port: int
    password: str
    process: subprocess.Popen[bytes] | None = None

    def uri(self, database: str = "postgres", password: str | None = None, options: str = "") -> str:
        """Return how to connect to it."""
        return f"postgresql://{USER}:{password or self.password}@127.0.0.1:{self.port}/{database}{options}"

    def initialise(self) -> None:
        """Make its data and its user."""
        secret = self.folder / "password"
        secret.write_text(self.password)
        made = run_unprivileged(
            self.folder,
            [
                self.binaries.program("initdb"),
                *("-D", self.folder / "data", "-U", USER, f"--pwfile={secret}"),
                *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"),
            ],
        )
        assert made.wait(DEADLINE) == 0

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self.process = run_unprivileged(
            self.folder,
            [
                self.binaries.program("postgres"),
                *("-D", self.folder / "data", "-p", str(self.port)),
                *("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"),
            ],
        )
        wait_for(self.takes_connections)

    def takes_connections(self) -> bool:
        """Tell whether it does."""
        try:
            psycopg.connect(self.uri()).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop it: at once if a session that has yet to give its password holds it, which it may for a minute."""
        if self.process is not None:
            self.process.send_signal(SIGINT)
            try:
                self.process.wait(STOPPING)
            except subprocess.TimeoutExpired:
                self.process.send_signal(SIGQUIT)
                self.process.wait(DEADLINE)


@contextmanager
def separate_server(folder: Path) -> Iterator[SeparateServer]:
    """Run a separate server until the block ends."""
    *_, oldest = known_binaries()
    reachable = programs_for(server_user(folder), oldest)
    server = SeparateServer(reachable, folder, free_port(), token_urlsafe(12))
    server.initialise()
    server.start()
    try:
        yield server
    finally:
        server.stop()


def schema_in(uri: str) -> str:
    """Return the schema of a URI that `schema_of` yielded."""
    return str(conninfo_to_dict(uri)["options"]).partition("=")[2]


@contextmanager
def schema_of(uri: str) -> Iterator[str]:
    """Make a schema of its own in a database; yield a URI whose tables are in it."""
    name = f"t{token_hex(6)}"
    with closing(psycopg.connect(uri, autocommit=True)) as connection:
        connection.execute(f'create schema "{name}"'.encode())
    yield f"{uri}{'&' if '?' in uri else '?'}options=-csearch_path%3D{name}"
    with closing(psycopg.connect(uri, autocommit=True)) as connection:  # the server may have been restarted since
        connection.execute(f'drop schema "{name}" cascade'.encode())
