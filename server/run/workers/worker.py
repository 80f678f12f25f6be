"""A worker: a process that answers calls on a shared socket until its parent sends Leave or ends."""

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import partial
from multiprocessing.connection import Connection
from threading import Thread

import uvloop

from engine.books.books import Shelf
from engine.model.errors import Unavailable
from sandbox.pool import WORKER, Pool
from server.auth.bearer import secrets_of, verifier_of
from server.base.interfaces import LoadHistory
from server.base.memory_ceiling import MemoryCeiling, container_memory, worker_ceiling
from server.base.settings import Settings
from server.base.signals import die_with_parent
from server.caller.caller import Callers, CallerStores, Recorder, recorded
from server.caller.feeds import Feeds
from server.caller.files import archive_of, swept
from server.caller.importer import importer_of
from server.caller.profiles import LiveProfiles, followed
from server.caller.scripts import ScriptRunner
from server.feeds.instance import ServedInstance, read_instance
from server.http.app import HttpServer, application
from server.http.dispatch import Dispatcher
from server.http.playground import playground
from server.http.routes import AuthenticationMiddleware
from server.http.transfers import transfer_routes
from server.ops.readiness import HealthFile
from server.run.embedded.platform import Platform, platform
from server.run.shelves import open_shelf
from server.run.workers.process import (
    CallOverrun,
    Leave,
    LocalCounting,
    MemoryShort,
    Ready,
    ScriptsUnavailable,
    SigningKeysUnavailable,
    WorkerBrief,
)
from server.stores.leases import CacheLeases, SharedLeases
from server.stores.loads import PostgresLoadHistory
from server.stores.memory import MemoryLeases
from server.stores.postgres import CircuitBreakingDatabase
from server.stores.profiles import source_of
from server.telemetry.calls import Telemetry, export_spans
from server.telemetry.logs import log_to
from server.telemetry.metrics import CallMetrics
from server.tools.tool import Tool
from server.tools.toolbox import TOOLS

ORPHANED = 1  # exit status
TURN = 0.002  # seconds of a thread's turn; a light call waits for several of a heavy one
Places = SharedLeases | MemoryLeases  # for calls
OPEN_FILES = 1 << 14  # connections, and files of the books
log = logging.getLogger("tieout")


def main(control: int, parent: int, *listening: int, tools: Mapping[str, Tool] = TOOLS, scripts: str = WORKER) -> None:
    """Serve on some sockets until the parent says to leave, or ends.

    `scripts` is the module whose main() serves as the fork server of scripts.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # handled by the parent
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    with suppress(OSError, ValueError):  # a system may have a lower limit than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    if not die_with_parent(parent):
        return
    sys.setswitchinterval(TURN)
    link = Connection(control)
    with suppress(EOFError):
        brief: WorkerBrief = link.recv()
        settings = brief.settings
        log_to(sys.stderr, settings.log_format, secrets_of(settings))
        instance, metrics = read_instance(brief.files), CallMetrics()
        with export_spans(), platform(settings, keeps=False) as opened:
            telemetry = Telemetry(metrics)
            profiles = LiveProfiles(source_of(settings, opened.database, brief.opening), instance.catalogue)
            spared = CircuitBreakingDatabase(opened.database)
            archive = archive_of(settings, spared)
            recorder = Recorder(archive.principals)
            keeping = CallerStores(opened.results.snapshots, archive, recorder, importer_of(settings))
            workshop = ScriptRunner(Pool(settings.scripts_at_once, scripts))
            Thread(target=check_scripts, args=(workshop, link), name="first look at the jail", daemon=True).start()
            callers = callers_of(settings, instance, PostgresLoadHistory(spared), keeping, profiles, workshop)
            leases = leases_of(settings, opened, partial(report_local_counting, link, telemetry))
            container = container_memory()
            ceiling = worker_ceiling(settings.worker_megabytes, settings.workers, container)
            memory = MemoryCeiling(ceiling, lambda held: link.send(MemoryShort(held)), container)
            dispatch = Dispatcher(callers, settings, telemetry, leases, tools, partial(report_overrun, link), memory)
            health = HealthFile(brief.health)
            verifier = verifier_of(settings, lambda reason: link.send(SigningKeysUnavailable(reason)))
            protect = partial(AuthenticationMiddleware, verifier=verifier, settings=settings, metrics=metrics)
            beside = [*transfer_routes(callers, archive, settings), *playground(settings, protect)]
            app = application(dispatch, verifier, settings, health, metrics, beside=beside)
            server = HttpServer(app, settings, ready=lambda: link.send(Ready()))
            with closing(workshop), closing(archive), followed(profiles), recorded(recorder), swept(archive):
                sockets = [socket.socket(fileno=number) for number in listening]
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
                    loop.run(serve(server, leases, link, sockets))


async def serve(
    server: HttpServer, leases: SharedLeases | MemoryLeases, link: Connection, listening: list[socket.socket]
) -> None:
    """Answer calls until the parent says to leave."""
    Thread(target=obey_parent, args=(link, asyncio.get_running_loop(), server), name="parent", daemon=True).start()
    keeping = asyncio.create_task(leases.keep())
    keeping.add_done_callback(lambda _: server.leave(patiently=True))  # without leases, the caps would not hold
    await server.serve(sockets=listening)
    keeping.cancel()
    await asyncio.wait({keeping})


def leases_of(settings: Settings, opened: Platform, tell: Callable[[bool], None]) -> Places:
    """Return the leases of calls: shared through the cache store; without one, this worker's share of the caps."""
    caps = settings.calls_per_caller, settings.calls
    share = MemoryLeases(*(max(1, cap // settings.workers) for cap in caps))
    return (
        share
        if opened.cache_address is None
        else SharedLeases(CacheLeases(opened.cache_address, *caps), share, tell=tell)
    )


def callers_of(
    settings: Settings,
    instance: ServedInstance,
    loads: LoadHistory,
    keeping: CallerStores,
    profiles: LiveProfiles,
    workshop: ScriptRunner,
) -> Callers:
    """Return the callers of an instance, as the parent read it."""
    shelf = open_shelf(instance, settings.instance, settings.store)
    Thread(target=look_at, args=(shelf,), name="first look at the books", daemon=True).start()
    feeds = Feeds.of(instance.bindings, loads, os.environ)
    limits = (settings.answer_tokens, settings.row_cap)
    return Callers(instance, shelf, feeds, keeping, workshop, *limits, profiles, settings.report_groups)


def look_at(shelf: Shelf) -> None:
    """Open the books before the first call; log why they cannot be opened, as each call then says."""
    try:
        shelf.current()
    except Unavailable as away:
        log.warning("calls are answered unavailable: %s", away)


def check_scripts(workshop: ScriptRunner, link: Connection) -> None:
    """Test the jail of scripts; log and report to the parent if no script can run."""
    trouble = workshop.pool.trouble()
    if trouble is not None:
        log.warning("eval_chart_transform is not offered, scripts cannot run here: %s", trouble)
        link.send(ScriptsUnavailable(trouble))


def report_local_counting(link: Connection, telemetry: Telemetry, alone: bool) -> None:
    """Report to the parent and the metrics whether this worker counts calls by itself."""
    link.send(LocalCounting(alone))
    telemetry.counts_alone(alone=alone)


def report_overrun(link: Connection, tool: str) -> None:
    """Tell the parent that this worker has to be replaced."""
    link.send(CallOverrun(tool))


def obey_parent(link: Connection, loop: asyncio.AbstractEventLoop, server: HttpServer) -> None:
    """Obey the messages of the parent; end immediately if it is gone."""
    try:
        while True:
            leave: Leave = link.recv()
            loop.call_soon_threadsafe(partial(server.leave, patiently=leave.patiently))
    except (EOFError, OSError):
        os._exit(ORPHANED)
