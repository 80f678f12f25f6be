"""Where callers of this process keep results and files."""

import atexit
from pathlib import Path

from sandbox.pool import Pool
from server.base.interfaces import Snapshots
from server.base.links import LinkSigner
from server.caller.caller import CallerStores, Recorder
from server.caller.exporter import Exporter
from server.caller.files import Archive, FileTerms
from server.caller.importer import Importer
from server.caller.scripts import ScriptRunner
from server.stores.disk import Volume
from server.stores.memory import MemorySnapshots
from tests.support.engines.memory import MemoryFiles, MemoryPrincipals, MemoryUploads, ProcessFiles

SIGNING_KEY = "0123456789abcdef" * 4
EXPORTER = Exporter()  # of all archives in this process
atexit.register(EXPORTER.close)
WORKSHOP = ScriptRunner(Pool(8))  # of all callers in this process; with a place for each thread that asks at once
atexit.register(WORKSHOP.close)
TERMS = FileTerms(file_seconds=60, link_seconds=30, quota_megabytes=10, upload_megabytes=2, claims_max_age=60)


def archive_in(folder: Path, terms: FileTerms = TERMS) -> Archive:
    """Return files in a folder, known to this process."""
    held = ProcessFiles()
    return Archive(
        files=MemoryFiles(held),
        uploads=MemoryUploads(held),
        principals=MemoryPrincipals(),
        volume=Volume(folder, 1),
        links=LinkSigner("http://127.0.0.1:8768", SIGNING_KEY),
        terms=terms,
        exporter=EXPORTER,
    )


def keeping_in(folder: Path, importer: Importer | None = None) -> CallerStores:
    """Return where results and files are kept in a folder and in memory."""
    archive = archive_in(folder)
    return CallerStores(MemorySnapshots(60, 60), archive, Recorder(archive.principals), importer or Importer((), 1.0))


def kept_in(store: Snapshots, owner: str, data: bytes) -> str:
    """Keep bytes and return their reference."""
    with store.keeping(owner, data) as reference:
        return reference
