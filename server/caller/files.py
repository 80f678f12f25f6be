"""Files of callers: written whole, within a quota, opened by links while the owner may still see their contents."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread

from msgspec import Struct, field, to_builtins

from engine.books.reader import Reader
from engine.model.errors import BadArguments, Unavailable
from engine.model.stopping import Stop, never
from engine.present.exports.about import ExportStamp
from engine.report.admission import Snapshot
from engine.report.permission import Permission
from engine.report.snapshots import Kept, permission_from, still_allows
from server.base.credentials import read_or_create_key
from server.base.errors import LargerThanQuota, QuotaExceeded, UnknownFile
from server.base.interfaces import ClaimsRecord, File, Files, Principal, Principals, StoreDown, Uploads
from server.base.links import FILE_ID, LinkPurpose, LinkSigner
from server.base.settings import Settings
from server.caller.exporter import Exporter, ExportJob, ExportLost
from server.stores.disk import Volume, size_of
from server.stores.files import PostgresFiles, PostgresPrincipals, PostgresUploads
from server.stores.postgres import ConnectionProvider

RETRY_AFTER_MS = 2000
KEY_FILE = "signing.key"
FIRST_SWEEP_SECONDS, SWEPT_SECONDS = 15.0, 300.0
MEGABYTE = 1 << 20
MAX_DOCUMENT = 8 * MEGABYTE  # that one answer carries
LONGEST_NAME = 80
log = logging.getLogger("tieout")
UNNAMEABLE = re.compile(r"[^\w.-]+")


FORMS: Mapping[str, str] = {
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
PICTURES: Mapping[str, str] = {"svg": "image/svg+xml", "png": "image/png"}


class FileTerms(Struct, frozen=True, kw_only=True):
    """The lifetimes of files and links, and the limits on size."""

    file_seconds: int
    link_seconds: int
    quota_megabytes: int
    upload_megabytes: int
    claims_max_age: int


class Archive(Struct, frozen=True, kw_only=True):
    """All files of a deployment: their records, their bytes, and the links to them."""

    files: Files
    uploads: Uploads
    principals: Principals
    volume: Volume
    links: LinkSigner
    terms: FileTerms
    exporter: Exporter = field(default_factory=Exporter)

    def close(self) -> None:
        """End the processes that write files."""
        self.exporter.close()

    def sweep(self) -> None:
        """Delete expired files and uploads, and bytes without a record; raises StoreDown."""
        self.volume.drop([*self.files.expire(now()), *self.uploads.expire(now())])
        placed = self.volume.placed()
        self.volume.withdraw(placed - {*self.files.known(placed)})
        found = set(self.volume.forgotten())
        self.volume.drop(found - {*self.files.known(found), *self.uploads.known(found)})


def archive_of(settings: Settings, database: ConnectionProvider) -> Archive:
    """Return the files of a deployment, with their records in its database."""
    return Archive(
        files=PostgresFiles(database),
        uploads=PostgresUploads(database),
        principals=PostgresPrincipals(database),
        volume=Volume(settings.files, settings.free_megabytes),
        links=LinkSigner(
            settings.base_url, settings.signing_key or read_or_create_key(settings.state_folder / KEY_FILE)
        ),
        terms=FileTerms(
            file_seconds=settings.file_seconds,
            link_seconds=settings.link_seconds,
            quota_megabytes=settings.quota_megabytes,
            upload_megabytes=settings.upload_megabytes,
            claims_max_age=settings.claims_max_age,
        ),
    )


@contextmanager
def swept(archive: Archive) -> Iterator[None]:
    """Delete expired files every five minutes while the block runs."""
    ends = Event()

    def sweep() -> None:
        wait = FIRST_SWEEP_SECONDS  # a server that a desktop host starts may end before the next
        while not ends.wait(wait):
            wait = SWEPT_SECONDS
            try:
                archive.sweep()
            except (StoreDown, OSError) as fault:
                log.info("expired files are not deleted now: %s", fault)

    Thread(target=sweep, name="sweeping of files", daemon=True).start()
    try:
        yield
    finally:
        ends.set()


class LinkedFile(Struct, frozen=True):
    """A file and the link that opens it."""

    file: File
    url: str
    link_ends: datetime


class PlacedFile(Struct, frozen=True):
    """A file and where it lies on this machine, for its user to open."""

    file: File
    path: Path


GivenFile = LinkedFile | PlacedFile


class FileSource(Struct, frozen=True):
    """What a file is made of: the label of the result, and the permission it was computed under."""

    label: str
    permission: Permission


class CallerFiles(Struct, frozen=True):
    """The files of one caller."""

    principal: Principal
    archive: Archive
    reader: Reader
    stop: Stop
    stay: Callable[[], None] = never  # called before a file is made: its call no longer begins anew

    def export(self, snapshot: Snapshot, form: str) -> GivenFile:
        """Write a kept result to a file and call `stop` meanwhile.

        Raises QuotaExceeded if the owner has no room left, Unavailable if no file can be kept.
        """
        made = ExportStamp(at=now(), subject=self.principal.subject)

        def write(path: Path) -> None:
            job = ExportJob(snapshot=snapshot, form=form, made=made, target=path)
            self.archive.exporter.export(job, self._held_to_room(path.parent))

        return self._made(FileSource(snapshot.label, snapshot.permission), form, FORMS[form], write)

    def document(self, snapshot: Snapshot) -> str:
        """Return what an export of a kept result as JSON holds; no file stays.

        Raises as `export` does, and BadArguments if it is too long to be read at once.
        """
        made, file_id, text = ExportStamp(at=now(), subject=self.principal.subject), token_hex(16), ""

        def write(path: Path) -> None:
            nonlocal text
            held = self._held_to_room(path.parent)

            def stop() -> None:
                held()
                refuse_long(path)

            self.archive.exporter.export(ExportJob(snapshot=snapshot, form="json", made=made, target=path), stop)
            refuse_long(path)
            text = path.read_text(encoding="utf-8")

        self.stay()
        try:
            self.archive.volume.keep(file_id, write)
        except (StoreDown, ExportLost) as down:
            raise unavailable() from down
        finally:
            self.archive.volume.drop([file_id])
        return text

    def picture(self, kept: Kept, form: str, drawn: bytes) -> GivenFile:
        """Write a picture of a kept result to a file; raises as `export` does."""
        source = FileSource(kept.label, kept.permission)
        return self._made(source, form, PICTURES[form], lambda path: write_bytes(path, drawn))

    def _held_to_room(self, folder: Path) -> Stop:
        """Return a check that stops an export: its call ended, its owner's quota is used up, or the volume is full."""
        terms, volume = self.archive.terms, self.archive.volume
        room = terms.quota_megabytes * MEGABYTE - self.archive.files.bytes_of(self.principal.subject, now())

        def stop() -> None:
            self.stop()
            volume.hold_room()
            if (size := size_of(folder)) > room:
                raise over_quota(terms, size)

        return stop

    def _made(self, source: FileSource, form: str, mime_type: str, write: Callable[[Path], None]) -> GivenFile:
        made, file_id = now(), token_hex(16)
        terms, owner = self.archive.terms, self.principal.subject
        self.stay()
        try:
            size, digest = self.archive.volume.keep(file_id, write)
            file = File(
                file_id=file_id,
                owner=owner,
                purpose="export",
                name=f"{plain_name(source.label)}.{form}",
                mime_type=mime_type,
                size_bytes=size,
                sha256=digest,
                cell=to_builtins(source.permission),
                created_at=made,
                expires_at=made + timedelta(seconds=terms.file_seconds),
            )
            self.archive.principals.record(owner, ClaimsRecord(claims=self.principal.claims, at=made))
            if not self.archive.files.add(file, terms.quota_megabytes * MEGABYTE):
                self.archive.volume.drop([file_id])
                raise over_quota(terms, size)
        except (StoreDown, ExportLost) as down:
            self.archive.volume.drop([file_id])
            raise unavailable() from down
        return self._given(file)

    def link(self, file_id: str) -> GivenFile:
        """Return a new link to a file of this caller, or its path; raises UnknownFile if they may open none such."""
        try:
            file = self.archive.files.get(file_id, now()) if FILE_ID.fullmatch(file_id) else None
            if file is None or file.owner != self.principal.subject or not may_open(file, self.reader):
                raise UnknownFile.of(file_id)
            self.archive.principals.record(file.owner, ClaimsRecord(claims=self.principal.claims, at=now()))
        except StoreDown as down:
            raise unavailable() from down
        return self._given(file)

    def _given(self, file: File) -> GivenFile:
        if self.principal.is_local:
            try:
                return PlacedFile(file, self.archive.volume.place(file.file_id, file.name))
            except StoreDown as down:
                raise unavailable() from down
        ends = min(now() + timedelta(seconds=self.archive.terms.link_seconds), file.expires_at)
        url = self.archive.links.make(LinkPurpose.GET, file.file_id, file.owner, int(ends.timestamp()))
        return LinkedFile(file, url, ends)


def may_open(file: File, reader: Reader) -> bool:
    """Tell whether a reader may see everything in a file."""
    if file.cell is None:
        return True
    permission = permission_from(file.cell)
    return permission is not None and still_allows(permission, reader)


def plain_name(label: str) -> str:
    """Return a label as a file name that every system accepts."""
    return UNNAMEABLE.sub("_", label).strip("._")[:LONGEST_NAME] or "export"


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file."""
    path.write_bytes(content)


def refuse_long(document: Path) -> None:
    """Refuse a document that is too long to be read at once, also while it is being written."""
    if document.exists() and document.stat().st_size > MAX_DOCUMENT:
        raise BadArguments(
            f"This result has more than {MAX_DOCUMENT // MEGABYTE} MB as JSON, the most that one read returns. "
            "Call export_dataset, which makes it a file.",
            field="uri",
        )


def over_quota(terms: FileTerms, size: int) -> QuotaExceeded:
    """Return the error for a file of so many bytes, which exceeds its owner's quota: alone, or with other files."""
    if size > terms.quota_megabytes * MEGABYTE:
        return LargerThanQuota(f"This file would be more than {terms.quota_megabytes} MB, your quota. Ask for less.")
    return QuotaExceeded(
        f"Your files would be more than {terms.quota_megabytes} MB. A file is deleted {lasting(terms.file_seconds)} "
        f"after it was made, and room reserved for an upload is free {lasting(terms.link_seconds)} after it was "
        "reserved. Ask for less, or later."
    )


def lasting(seconds: int) -> str:
    """Return a time in words: 24 hours, 1 minute, 90 minutes or 40 seconds."""
    count, unit = next(
        (seconds // length, unit)
        for length, unit in ((3600, "hour"), (60, "minute"), (1, "second"))
        if seconds % length == 0
    )
    return f"{count} {unit}{'s' * (count != 1)}"


def unavailable() -> Unavailable:
    """Return the error for files that cannot be kept or opened now."""
    return Unavailable(
        "Files cannot be made or opened just now. Call again shortly; the figures themselves can still be read.",
        retry_after_ms=RETRY_AFTER_MS,
    )


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)
