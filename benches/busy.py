"""What the answer `busy` costs the worker that gives it, beside a light report and a request that HTTP alone refuses.

The worker's HTTP server runs in a thread of this process; clients are processes of their own, one request at a time, in
turns. What is told is the processor time of this process for each answer: the least of some rounds.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import process_time

from benches.books import BenchBooks, demo_books
from benches.page import README, write_block
from engine.books.books import Shelf
from engine.instance.read import STORE
from server.auth.bearer import DevKey
from server.base.settings import Settings
from server.base.sockets import listen
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.caller.scripts import ScriptRunner
from server.feeds.instance import read_instance
from server.http import dispatch
from server.http.app import HttpServer, application
from server.http.dispatch import Dispatcher
from server.ops.readiness import Readiness
from server.stores.memory import MemoryLeases
from server.telemetry.calls import Telemetry
from server.telemetry.metrics import Metrics
from tests.support.books.holders import keeping_in
from tests.support.engines.memory import MemoryLoads
from tests.support.service.servers import KEY, free_port, wait_for

SMALL, ROUNDS, CALLS = 150_000, 5, 200
MANY = 100  # calls at once that the server which answers allows
MAX_SHARE = 0.15  # of a light report's time, of which HTTP itself takes the most
JSON_TYPE, TEXT_TYPE = "application/json", "text/plain"
CLIENT = "import sys; from benches.busy_client import ask; ask(*sys.argv[1:])"


@contextmanager
def served(books: BenchBooks, folder: Path, calls: int) -> Iterator[str]:
    """Serve books from a thread of this process, with room for some calls at once."""
    settings = Settings(instance=books.instance, state=books.state, port=free_port())
    instance = read_instance(books.instance)
    shelf = Shelf(instance.catalogue, books.state / STORE)
    feeds = Feeds.of({}, MemoryLoads(), {})
    with closing(ScriptRunner()) as workshop, listen(settings) as listening:
        callers = Callers(instance, shelf, feeds, keeping_in(folder), workshop, 10_000, 10_000)
        dispatcher = Dispatcher(callers, settings, Telemetry(Metrics()), MemoryLeases(calls, calls))
        app = application(dispatcher, DevKey(KEY), settings, Readiness([], Metrics()), Metrics())
        server = HttpServer(app, settings)
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        wait_for(lambda: server.started)
        try:
            yield f"{settings.base_url}/mcp"
        finally:
            server.should_exit = True
            thread.join()


def spent(url: str, content_type: str, wanted: str) -> float:
    """Return the processor time of this process for an answer, in milliseconds; the answer has a text."""
    begun = process_time()
    command = [sys.executable, "-c", CLIENT, url, str(CALLS), content_type, KEY]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if wanted not in told:
        raise SystemExit(told)
    return (process_time() - begun) / CALLS * 1000


def main(_: int) -> None:
    """Run the bench; it fails above its goal."""
    dispatch.BUSY_AT_ONCE = CALLS * ROUNDS * 2  # the bench does not wait as who calls on regardless does
    books = demo_books(SMALL)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        light, full = (stack.enter_context(served(books, folder, calls)) for calls in (MANY, 0))
        contestants = {
            "a light report": (light, JSON_TYPE, "financial-table"),
            "`busy`": (full, JSON_TYPE, "Too many calls are in flight"),
            "a request that HTTP alone refuses": (full, TEXT_TYPE, "Content-Type"),
        }
        rounds = [[spent(*asked) for asked in contestants.values()] for _ in range(ROUNDS)]
        times = dict(zip(contestants, map(min, zip(*rounds, strict=True)), strict=True))
    lines = ["| answer | processor ms | share |", "|---|--:|--:|"]
    least = times["a light report"]
    lines += [f"| {name} | {time:.2f} | {time / least:.0%} |" for name, time in times.items()]
    print("\n".join(lines))
    write_block(README, "busy", lines)
    if times["`busy`"] > MAX_SHARE * least:
        raise SystemExit("`busy` costs too much")
