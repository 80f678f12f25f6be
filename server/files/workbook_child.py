"""The process that reads workbooks: what it takes of memory is bounded, and its end is not that of the load."""

import resource
import sys
from multiprocessing.connection import Connection

import fastexcel
import msgspec
import polars as pl

from server.files.workbook_cells import sheet_cells


class WorkbookRequest(msgspec.Struct, frozen=True):
    """What is asked of a workbook: the names of its sheets, or the cells of one, as an Arrow file."""

    path: str
    sheet: str | None = None
    into: str | None = None


class WorkbookReply(msgspec.Struct, frozen=True):
    """The names of the sheets, or why the workbook cannot be read."""

    names: list[str] = []
    fault: str | None = None


def main() -> None:
    """Answer requests until the other end closes."""
    link, most_bytes = Connection(int(sys.argv[3])), int(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    opened: tuple[str, fastexcel.ExcelReader] | None = None
    while True:
        try:
            request = msgspec.msgpack.decode(link.recv_bytes(), type=WorkbookRequest)
        except EOFError:
            return
        try:
            if opened is None or request.sheet is None or opened[0] != request.path:
                opened = None  # the one before is gone before the next is read
                opened = request.path, fastexcel.read_excel(request.path)
            if request.sheet is not None and request.into is not None:
                cells = sheet_cells(opened[1], request.sheet)
                cells.write_ipc(request.into)
            reply = WorkbookReply(opened[1].sheet_names)
        except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError) as fault:
            reply = WorkbookReply(fault=str(fault))
        link.send_bytes(msgspec.msgpack.encode(reply))
