"""The exporter: separate processes of low priority write kept results to files.

A process writes one file at a time. Large results have their own process, so small results never wait for them.
A process starts with its first file. It ends when it is idle, when its job is stopped, or when its parent ends.
Its environment is empty. It reads and writes only in the folder of its job.
"""

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from select import select
from subprocess import Popen
from threading import Lock, Thread, Timer
from traceback import format_exc
from typing import Any

import pyarrow as pa
from msgspec import Struct
from msgspec.json import decode, encode

from engine.model.errors import BadArguments, ExpiredReference, Refusal
from engine.model.notes import Note
from engine.model.stopping import Stop
from engine.present.exports.about import ExportStamp
from engine.present.exports.json_document import write_document
from engine.present.exports.workbook import write_workbook
from engine.report.admission import Snapshot, restore
from engine.report.snapshots import Kept
from sandbox.server import spawn

PROGRAM = "server.caller.exporter"
NICENESS = 10  # reports go first; an export still gets a tenth of a core
LARGE = 1 << 20  # bytes of a snapshot
IDLE = 300.0  # seconds after which a process without work ends
TURN = 0.1  # seconds between two checks of `stop`
SOURCE = "source"  # file name of the job's snapshot, in the folder of the target
WRITE: Mapping[str, Callable[[Kept, ExportStamp, Path, Stop], None]] = {
    "json": write_document,
    "xlsx": write_workbook,
}
REFUSALS: Mapping[str, type[Refusal]] = {kind.error_type: kind for kind in (BadArguments, ExpiredReference)}
Reply = Mapping[str, Any]


class ExportLost(Exception):
    """The process ended before it wrote its file."""


class ExportJob(Struct, frozen=True, kw_only=True):
    """One file to write: its snapshot, format, stamp and target path."""

    snapshot: Snapshot
    form: str
    made: ExportStamp
    target: Path

    def order(self) -> bytes:
        """Return the job as one line of JSON for the process."""
        target = str(self.target.absolute())
        return encode(ExportOrder(form=self.form, made=self.made, newer=self.snapshot.newer, target=target)) + b"\n"


class ExportOrder(Struct, frozen=True, kw_only=True):
    """A job as its process receives it. The snapshot is in the folder of the target."""

    form: str
    made: ExportStamp
    newer: tuple[Note, ...]
    target: str


class Exporter:
    """Writes files in at most two processes: one for large results, one for all others."""

    def __init__(self) -> None:
        self._processes = {is_large: ExportProcess() for is_large in (False, True)}

    def export(self, job: ExportJob, stop: Stop) -> None:
        """Write a file and call `stop` meanwhile; an exception from `stop` ends the job.

        Other files of the job may stay in the folder of the target. Raises Refusal, OSError if the file cannot be
        written, and ExportLost if the process ended.
        """
        self._processes[len(job.snapshot.data) > LARGE].export(job, stop)

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.close()


class ExportProcess:
    """A process that writes one file at a time; the first file starts it, and a later file restarts it if it ended."""

    def __init__(self) -> None:
        self._busy = Lock()
        self._process: Popen[bytes] | None = None
        self._link: socket.socket | None = None
        self._idle: Timer | None = None

    def export(self, job: ExportJob, stop: Stop) -> None:
        """Write a file; see Exporter.export."""
        with self._alone(stop):
            (job.target.parent / SOURCE).write_bytes(job.snapshot.data)
            link = self._ready()
            with ExitStack() as unfinished:
                unfinished.callback(self._end)
                reply = asked(link, job, stop)
                unfinished.pop_all()
        raise_fault(reply)

    def close(self) -> None:
        """End the process."""
        with self._busy:
            self._end()

    @contextmanager
    def _alone(self, stop: Stop) -> Iterator[None]:
        while not self._busy.acquire(timeout=TURN):
            stop()
        try:
            if self._idle is not None:
                self._idle.cancel()
            yield
        finally:
            self._idle = Timer(IDLE, self._end_idle)
            self._idle.daemon = True
            self._idle.start()
            self._busy.release()

    def _ready(self) -> socket.socket:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._link is None:
            self._link, theirs = socket.socketpair()
            self._process = spawn(PROGRAM, theirs)
        return self._link

    def _end_idle(self) -> None:
        if self._busy.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._busy.release()

    def _end(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if self._link is not None:
            self._link.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._link = self._process = None


def asked(link: socket.socket, job: ExportJob, stop: Stop) -> Reply:
    """Send a job to a process and return its reply; raises ExportLost if the process ends."""
    answer = bytearray()
    try:
        link.sendall(job.order())
        while not answer.endswith(b"\n"):
            if not select([link], [], [], TURN)[0]:
                stop()
            elif part := link.recv(1 << 16):
                answer += part
            else:
                raise ExportLost("the process that writes files ended")
    except ConnectionError as gone:
        raise ExportLost("the process that writes files ended") from gone
    return decode(answer, type=dict)


def raise_fault(reply: Reply) -> None:
    """Raise the failure that a reply reports, if any: Refusal, OSError or RuntimeError."""
    if "refused" in reply:
        said = reply["refused"]
        raise REFUSALS[said["error_type"]](
            said["error"], field=said.get("field"), got=said.get("got"), valid=said.get("valid", ())
        )
    if "errno" in reply:
        raise OSError(reply["errno"], reply["strerror"])
    if "failed" in reply:
        raise RuntimeError(f"the process that writes files failed:\n{reply['failed']}")


def main() -> None:
    """Write the files that jobs on a socket ask for, until it closes."""
    os.nice(NICENESS)
    link = socket.socket(fileno=int(sys.argv[3]))  # as sandbox.server starts it
    orders: SimpleQueue[bytes] = SimpleQueue()
    folders: list[Path] = []
    Thread(target=heed, args=(link, orders, folders), name="orders", daemon=True).start()
    while True:
        order = decode(orders.get(), type=ExportOrder)
        folders[:] = [Path(order.target).parent]
        reply = answer_of(order)
        folders.clear()
        link.sendall(encode(reply) + b"\n")


def heed(link: socket.socket, orders: SimpleQueue[bytes], folders: Sequence[Path]) -> None:
    """Queue orders; when the parent is gone, delete the files of an unfinished job and exit at once."""
    with link.makefile("rb") as lines:
        for line in lines:
            orders.put(line)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def answer_of(order: ExportOrder) -> Reply:
    """Do a job and return its reply: empty if the file is written, else the failure."""
    target = Path(order.target)
    try:
        with pa.memory_map(str(target.parent / SOURCE)) as source:
            kept = restore(source.read_buffer(), order.newer)
            WRITE[order.form](kept, order.made, target, lambda: None)
    except Refusal as refusal:
        return {"refused": refusal.as_data()}
    except OSError as fault:
        return {"errno": fault.errno, "strerror": fault.strerror}
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError):
        return {"failed": format_exc()}
    return {}
