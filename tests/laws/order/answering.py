"""What a tool answers, byte for byte but for references and times, and the books that several callers ask."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from msgspec import Struct
from msgspec.json import encode

from engine.books import books as engine_books
from engine.books.books import Shelf
from engine.instance.read import STORE
from engine.model.errors import Refusal
from server.base.interfaces import LoadHistory, Principal
from server.caller.caller import Caller, Callers, CallerStores, Recorder
from server.caller.feeds import Feeds
from server.caller.files import FileTerms
from server.caller.importer import Importer
from server.feeds.instance import ServedInstance, read_instance
from server.stores.memory import REFERENCE, MemorySnapshots
from server.tools.toolbox import REQUESTS
from server.wire.arguments import read_request
from tests.laws.scoped.writing import ROW_CAP
from tests.support.books.holders import WORKSHOP, archive_in

LIFETIME = 3600  # seconds of what is kept: longer than any sequence
TERMS = FileTerms(
    file_seconds=LIFETIME, link_seconds=LIFETIME, quota_megabytes=1000, upload_megabytes=2, claims_max_age=LIFETIME
)
TIMES = ("made_at", "expires_at", "file_expires_at", "link_expires_at")
REFERENCES = ("file_id", "upload_id", "download_url", "upload_url")  # beside data_ref, which is known by its shape
OF_TIMES = ("size_bytes", "sha256")  # of a file that says when it was made; its content is compared
MASKED = re.compile(rf'"({"|".join((*TIMES, *REFERENCES, *OF_TIMES))})":\s*("[^"]*"|\d+)'.encode())
DATA_REF = re.compile(REFERENCE.pattern.encode())
PROPERTIES = "docProps/"  # of a workbook: when it was made
MADE_AT = re.compile(rb"(Made at.{1,60}<t>)[^<]*")  # in a workbook


def masked(text: bytes) -> bytes:
    """Return JSON without the references and times that no two calls share."""
    return MASKED.sub(rb'"\1":""', DATA_REF.sub(b"ds_", text))


class CallAnswer(Struct, frozen=True):
    """What a call was answered or refused, masked, and the references to what it kept."""

    text: bytes
    data_ref: str | None = None
    file_id: str | None = None


def answer(caller: Caller, name: str, arguments: Mapping[str, Any]) -> CallAnswer:
    """Return what a tool answers or refuses: the result, what stands beside it, and the file that it makes."""
    tool = REQUESTS[name]
    try:
        reply = tool.answer(caller, read_request(tool.shape, arguments))
    except Refusal as refusal:
        return CallAnswer(masked(encode(refusal.as_data())))
    parts = [reply.json, encode(reply.render_block() if tool.widget else None), encode(reply.details)]
    file_id = reply.result.get("file_id")
    if file_id and name == "export_dataset":
        parts.append(content(caller.files.archive.volume.path(file_id), str(arguments["format"])))
    return CallAnswer(masked(b"\n".join(parts)) + (reply.picture or b""), reply.result.get("data_ref"), file_id)


def content(file: Path, form: str) -> bytes:
    """Return what a file holds, a workbook without its properties."""
    if form != "xlsx":
        return file.read_bytes()
    with ZipFile(file) as workbook:
        names = sorted(name for name in workbook.namelist() if not name.startswith(PROPERTIES))
        return MADE_AT.sub(rb"\1", b"\n".join(workbook.read(name) for name in names))


class OrderedBooks:
    """Loaded books whose calls can be asked of one shelf, or each of a fresh one."""

    def __init__(self, folder: Path, state: Path, loads: LoadHistory, instance: ServedInstance | None = None) -> None:
        self.folder = folder
        self.state = state
        self.loads = loads
        self.instance = instance or read_instance(folder)
        self.alone: dict[bytes, CallAnswer] = {}  # what calls are answered alone, where nothing is loaded in between
        self._feeds = Feeds.of(self.instance.bindings, loads, {})

    def fresh(self) -> Shelf:
        """Return a shelf in whose books nothing was worked out."""
        return Shelf(self.instance.catalogue, self.state / STORE)

    def keeping(self) -> CallerStores:
        """Return empty stores of kept results and files."""
        archive = archive_in(self.state / "files", TERMS)
        snapshots = MemorySnapshots(LIFETIME, LIFETIME)
        return CallerStores(snapshots, archive, Recorder(archive.principals), Importer((), 1.0))

    def caller(self, shelf: Shelf, keeping: CallerStores, who: Principal, answer_tokens: int) -> Caller:
        """Return a caller who asks the books of a shelf."""
        callers = Callers(self.instance, shelf, self._feeds, keeping, WORKSHOP, answer_tokens, ROW_CAP)
        return callers.of(who, lambda: None)


@contextmanager
def memo_members(count: int | None) -> Iterator[None]:
    """Let the memos of books hold so many members until the block ends; None leaves the budget as it is."""
    usual = engine_books.MEMO_MEMBERS
    engine_books.MEMO_MEMBERS = usual if count is None else count
    try:
        yield
    finally:
        engine_books.MEMO_MEMBERS = usual
