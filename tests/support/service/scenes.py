"""Scenes: a server with stores of its own that can be harmed, and a session that tells what each call answers."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import redis

from server.run.embedded.binaries import valkey_binary
from server.stores.migrations import migrate, read_migrations
from tests.support.engines.disks import mount, unmount
from tests.support.engines.postgres import SeparateServer, separate_server
from tests.support.service.clocks import FalseClock
from tests.support.service.servers import SERVE, McpBooks, Server, connected, free_port, serving, wait_for
from tests.support.service.slow_network import Relay, relaying

CACHE_SETTINGS = {"maxmemory": "64mb", "maxmemory-policy": "volatile-lru"}
KEPT, NOT_KEPT = "figures, kept", "figures, not kept"
MADE, RENEWED, GIVEN = "a file", "a link", "200"


@dataclass
class CacheStore:
    """A cache store on a port, as an operator has one, that can be killed."""

    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def client(self) -> redis.Redis:
        """A client of it."""
        return redis.Redis(port=self.port)

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = [part for name, value in CACHE_SETTINGS.items() for part in (f"--{name}", value)]
        here: list[str | Path] = [valkey_binary(), "--port", str(self.port), "--bind", "127.0.0.1"]
        command = [*here, "--save", "", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_for(self.answers)

    def answers(self) -> bool:
        """Tell whether it answers."""
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False

    def set(self, **settings: str) -> None:
        """Change its settings."""
        with closing(self.client) as client:
            for name, value in settings.items():
                client.config_set(name, value)

    def forget(self, keys: Sequence[str]) -> None:
        """Delete some keys."""
        with closing(self.client) as client:
            client.delete(*keys)

    def kill(self) -> None:
        """Kill it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass(frozen=True)
class FaultScene:
    """A server and what it stands on."""

    server: Server
    books: McpBooks
    links: httpx2.Client
    asked: Mapping[str, Any]
    instance: Path
    files: Path
    no_disk: str | None  # why the files have no disk of their own
    cache: CacheStore
    relay: Relay
    database: SeparateServer
    clock: FalseClock | None = None


@contextmanager
def scene(
    instance: Path, state: Path, folder: Path, asked: Mapping[str, Any], clock: FalseClock | None = None, **more: str
) -> Iterator[FaultScene]:
    """Serve a copy of an instance, over the books of a state folder, with stores that can be harmed."""
    own, files = folder / "instance", folder / "files"
    shutil.copytree(instance, own)
    (folder / "state").mkdir()
    (folder / "state" / "store").symlink_to(state / "store")
    (folder / "database").mkdir()
    with ExitStack() as stack:
        no_disk = mount(files, 32)
        if no_disk is None:
            stack.callback(unmount, files)
        cache = CacheStore()
        cache.start()
        stack.callback(cache.kill)
        relay = stack.enter_context(relaying(cache.port))
        database = stack.enter_context(separate_server(folder / "database"))
        migrate(database.uri(), read_migrations(), lambda _: None)
        settings: dict[str, Any] = {
            "CACHE_HOST": f"127.0.0.1:{relay.port}",
            "DATABASE_URL": database.uri(),
            "USER_DATA_DIR": str(files),
            "SVC_FREE_MEGABYTES": "1",
            **more,
        }
        server = stack.enter_context(
            serving(own, folder / "state", command=SERVE, **settings, **(clock.environment if clock else {}))
        )
        books = stack.enter_context(connected(server.url, "auto"))
        links = stack.enter_context(httpx2.Client())
        yield FaultScene(server, books, links, asked, own, files, no_disk, cache, relay, database, clock)


@dataclass(frozen=True)
class SessionFiles:
    """What a session made before the fault: a kept result, a file of it, and the link to that."""

    reference: str
    file_id: str
    url: str


@dataclass(frozen=True)
class SessionStep:
    """One call of a session: what it answered, in a word, and how long that took."""

    answered: str
    ms: float


def made(on: FaultScene) -> SessionFiles:
    """Read a statement and export it, as soon as what that takes has healed."""
    wait_for(lambda: word(on.books, "run_statement", **on.asked) == KEPT)
    export = {"data_ref": on.books.ask("run_statement", **on.asked)["data_ref"], "format": "json"}
    wait_for(lambda: word(on.books, "export_dataset", **export) == MADE)
    file = on.books.ask("export_dataset", **export)
    return SessionFiles(export["data_ref"], file["file_id"], file["download_url"])


def session(on: FaultScene, before: SessionFiles) -> dict[str, SessionStep]:
    """Read a statement, and export, renew and download what was made before."""
    steps: Mapping[str, Callable[[], str]] = {
        "run_statement": lambda: word(on.books, "run_statement", **on.asked),
        "export json": lambda: word(on.books, "export_dataset", data_ref=before.reference, format="json"),
        "export xlsx": lambda: word(on.books, "export_dataset", data_ref=before.reference, format="xlsx"),
        "get_file_download": lambda: word(on.books, "get_file_download", file_id=before.file_id),
        "GET of the link": lambda: get(before.url, on.links),
    }
    return {name: timed(step) for name, step in steps.items()}


def get(url: str, client: httpx2.Client | None = None) -> str:
    """Return the status that a link answers with."""
    return str((client.get if client else httpx2.get)(url, timeout=30).status_code)


def timed(step: Callable[[], str]) -> SessionStep:
    """Return what a call answered and how long it took."""
    begun = time.perf_counter()
    answered = step()
    return SessionStep(answered, (time.perf_counter() - begun) * 1000)


def word(books: McpBooks, tool: str, /, **asked: Any) -> str:
    """Return what a call answers, in a word."""
    called = books.call(tool, **asked)
    if called.is_error:
        return str(called.result["error_type"])
    if tool == "run_statement":
        return KEPT if "data_ref" in called.result else NOT_KEPT
    return MADE if tool == "export_dataset" else RENEWED


def words(steps: Mapping[str, SessionStep]) -> tuple[str, ...]:
    """Return what the calls of a session answered."""
    return tuple(step.answered for step in steps.values())
