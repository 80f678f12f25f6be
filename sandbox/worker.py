"""The fork server, `python -I -c … FOLDER MODULE CONTROL`, and its children, one for each job.

The fork server is a separate program with an empty environment. It imports everything, runs no query, and holds neither
frames nor secrets. A child enters the jail before it reads its job.
"""

import gc
import os
import selectors
import socket
import sys
import zoneinfo
from collections.abc import Callable
from importlib import import_module

import polars as pl

from sandbox.jail import JailUnavailable, enter
from sandbox.job import Failure, JobResult
from sandbox.job_requests import JobRequest, read_sealed, receive
from sandbox.probes import is_refused
from sandbox.reply import encode
from sandbox.script import run

READY = b"ready"
BROKEN = 70  # exit status of a child that could not reply
PRELOADED = """encodings.hex_codec encodings.idna polars._utils.async_ polars._utils.convert polars._utils.parquet
polars._utils.udfs polars._utils.various polars._warnings polars.convert polars.datatypes._parse polars.functions.lazy
polars.interchange.protocol polars.io.partition polars.lazyframe.engine polars.lazyframe.engine_config
polars.lazyframe.in_process polars.lazyframe.opt_flags polars.lazyframe.query_result polars.selectors
polars.series.utils unicodedata"""
NESTED = 3  # queries that may run in callbacks of each other, below the first
ZONES: list[zoneinfo.ZoneInfo] = []  # keeps zones alive; zoneinfo's cache holds weak references
Runner = Callable[[str, list[pl.DataFrame]], JobResult]


def main() -> None:
    """Run the fork server for scripts."""
    serve(run)


def serve(runner: Runner) -> None:
    """Report that all imports are done. Then start a child for each request, until the pool closes the socket."""
    preload()
    control = socket.socket(fileno=int(sys.argv[3]))
    control.send(READY)
    with selectors.DefaultSelector() as waiting:
        waiting.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.data is not None:
                    waiting.unregister(key.fileobj)
                    report_exit(int(key.fd), key.data)
                elif (request := receive(control)) is None:
                    return
                else:
                    waiting.register(start_child(request, runner), selectors.EVENT_READ, request.done)


def preload() -> None:
    """Load everything that a script may need from files, because a child cannot open files."""
    for name in PRELOADED.split():
        import_module(name)
    ZONES.extend(map(zoneinfo.ZoneInfo, sorted(zoneinfo.available_timezones())))
    gc.collect()
    gc.freeze()  # children share these pages


def start_child(request: JobRequest, runner: Runner) -> int:
    """Start the child of a request, send its pidfd to the pool, and return it."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        run_child(request, runner, parent)
    for descriptor in request.kept:
        os.close(descriptor)
    pidfd = os.pidfd_open(child)
    with socket.socket(fileno=os.dup(request.done)) as done:
        try:
            socket.send_fds(done, [b"started"], [pidfd])
        except OSError:
            return pidfd  # the pool is gone or abandoned the job
    return pidfd


def report_exit(pidfd: int, done: int) -> None:
    """Report to the pool how a child ended."""
    child = os.waitid(os.P_PIDFD, pidfd, os.WEXITED)
    os.close(pidfd)
    with socket.socket(fileno=done) as link:
        try:
            link.send(f"{child.si_code} {child.si_status}".encode() if child else b"")
        except OSError:
            return  # the pool no longer waits


def run_child(request: JobRequest, runner: Runner, parent: int) -> None:
    """Run as the child of a request. Never returns."""
    try:
        reply = encode(run_job(request, runner, parent))
        if len(reply) > request.limits.output:
            reply = encode(JobResult(failure=Failure.of("limit", f"the answer has {len(reply):,} bytes: aggregate")))
        view = memoryview(reply)
        while view:
            view = view[os.write(request.reply, view) :]
        os._exit(0)
    finally:
        os._exit(BROKEN)


def start_threads(nested: int = NESTED) -> pl.Series:
    """Make polars start its threads, by a query; each query in a callback of another takes one more."""
    query = pl.LazyFrame({"a": [0]})
    if nested:
        column = pl.col("a").map_batches(lambda _: start_threads(nested - 1), pl.Int64, is_elementwise=True)
        query = query.select(column)
    return query.collect(engine="streaming")["a"]


def run_job(request: JobRequest, runner: Runner, parent: int) -> JobResult:
    """Enter the jail, then read and run the job."""
    try:
        enter(request.limits, parent, request.kept, start_threads)
    except JailUnavailable as fault:
        return JobResult(failure=Failure.of("unavailable", f"this machine cannot jail scripts: {fault}"))
    if request.probe:
        return JobResult(failure=Failure("forbidden", request.probe) if is_refused(request.probe) else None)
    code = read_sealed(request.code).decode()
    return runner(code, [pl.read_ipc_stream(read_sealed(frame)) for frame in request.frames])
