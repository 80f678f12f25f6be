"""The reader of workbooks: one process for each load, started with the first workbook, that this process outlives."""

import atexit
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Final

import msgspec
import polars as pl

from server.base.settings import read_settings
from server.files.limits import MEGABYTE, FileTooLarge
from server.files.workbook_child import WorkbookReply, WorkbookRequest

ROOT: Final = Path(__file__).parents[2]
BOOT: Final = "import sys; sys.path.insert(0, sys.argv[1]); __import__(sys.argv[2], fromlist=['main']).main()"
ENVIRONMENT: Final = {"LANG": "C.UTF-8", "TZ": "UTC", "MALLOC_ARENA_MAX": "1", "POLARS_MAX_THREADS": "2"}  # no secret


class WorkbookReader:
    """A process that reads workbooks, started when one is asked for and again after it ended."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Connection | None = None
        self._megabytes = 0

    def begin(self) -> None:
        """Start the process before the first workbook is asked for: it takes a second to import what it needs."""
        with self._turn:
            if self._process is None:
                self._start()

    def names(self, path: Path) -> list[str]:
        """Return the names of the sheets. Raises OSError if it is no workbook, FileTooLarge if it takes too much."""
        return self._ask(WorkbookRequest(str(path.absolute())), path.name).names

    def cells(self, path: Path, sheet: str) -> pl.DataFrame:
        """Return the cells of a sheet as text. Raises as `names` does."""
        with NamedTemporaryFile(suffix=".arrow") as file:
            self._ask(WorkbookRequest(str(path.absolute()), sheet, file.name), f"{path.name} [{sheet}]")
            return pl.read_ipc(file.name)

    def _ask(self, request: WorkbookRequest, name: str) -> WorkbookReply:
        with self._turn:
            if self._process is None or self._megabytes != read_settings().workbook_megabytes:
                self.end()
                self._start()
            assert self._link is not None  # noqa: S101 - it came with the process
            reply = None
            try:
                self._link.send_bytes(msgspec.msgpack.encode(request))
                reply = msgspec.msgpack.decode(self._link.recv_bytes(), type=WorkbookReply)
            except (EOFError, ConnectionError) as fault:
                what = "its reader ended, most often for want of memory"
                raise FileTooLarge(name, what, f"{self._megabytes:,} MB", "workbook_megabytes") from fault
            finally:
                if reply is None:  # the time is over, or somebody interrupts: no later question gets this answer
                    self.end()
        if reply.fault is not None:
            raise OSError(reply.fault)
        return reply

    def _start(self) -> None:
        self._megabytes = read_settings().workbook_megabytes
        self._link, theirs = Pipe()
        command = [sys.executable, "-I", "-c", BOOT, str(ROOT), "server.files.workbook_child"]
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [*command, str(theirs.fileno()), str(self._megabytes * MEGABYTE)],
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd="/",
            )

    def end(self) -> None:
        """End the process, if it runs."""
        if self._process is not None and self._link is not None:
            self._link.close()
            self._process.kill()
            self._process.wait()
        self._process = self._link = None


READER: Final = WorkbookReader()  # of this process; its child also ends with the pipe, where this one is killed
atexit.register(READER.end)
