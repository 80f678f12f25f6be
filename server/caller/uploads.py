"""Uploads and imports of one caller: reserved room, the received bytes, and the file that they become."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from secrets import token_hex

from msgspec import Struct

from engine.model.errors import BadArguments
from engine.model.notes import Note
from server.base.errors import UnknownFile, UploadIncomplete
from server.base.file_names import ANY_TYPE, sanitize_mime_type, sanitize_name, validate_mime_type, validate_name
from server.base.interfaces import File, Principal, StoreDown, Upload, UploadState
from server.base.links import FILE_ID, LinkPurpose
from server.base.notes import ServerNote
from server.base.requests import HostFile, UploadRequest
from server.caller.files import MEGABYTE, Archive, now, over_quota, unavailable
from server.caller.importer import FIELD, DownloadedFile, Importer

# Uploads. A file has the id of its upload, so completing an upload twice returns the same file. Nothing here parses or
# runs the bytes.


class UploadReservation(Struct, frozen=True):
    """An upload and the link that receives its bytes."""

    upload: Upload
    url: str


class CallerUploads(Struct, frozen=True):
    """The uploads of one caller."""

    principal: Principal
    archive: Archive

    def begin(self, asked: UploadRequest) -> UploadReservation:
        """Reserve room for a file; raises BadArguments, QuotaExceeded if there is no room, or Unavailable."""
        name, mime_type = validate_name(asked.filename), validate_mime_type(asked.mime_type)
        most = self.archive.terms.upload_megabytes * MEGABYTE
        if not 0 < asked.size_bytes <= most:
            raise BadArguments(
                f"The size_bytes takes the exact size of the file, 1 to {most}.",
                field="size_bytes",
                got=asked.size_bytes,
            )
        upload = self.reserve(name, mime_type, asked.size_bytes)
        ends = int(upload.expires_at.timestamp())
        return UploadReservation(upload, self.archive.links.make(LinkPurpose.PUT, upload.upload_id, upload.owner, ends))

    def complete(self, upload_id: str) -> File:
        """Return the file of an upload; raises UploadIncomplete until its bytes have arrived, UnknownFile."""
        try:
            upload = self.archive.uploads.get(upload_id, now()) if FILE_ID.fullmatch(upload_id) else None
            if upload is None or upload.owner != self.principal.subject:
                raise UnknownFile.of_upload(upload_id)
            if upload.arrived is UploadState.NO:
                raise incomplete(upload)
            if not self.archive.volume.path(upload_id).is_file():
                raise UnknownFile.of_upload(upload_id)
            return self.filed(upload_id, "upload")
        except StoreDown as down:
            raise unavailable() from down

    def reserve(self, name: str, mime_type: str, size: int) -> Upload:
        """Reserve room of a size; raises QuotaExceeded if there is none, Unavailable if no file can be kept."""
        made, terms = now(), self.archive.terms
        upload = Upload(
            upload_id=token_hex(16),
            owner=self.principal.subject,
            name=name,
            mime_type=mime_type,
            size_bytes=size,
            created_at=made,
            expires_at=made + timedelta(seconds=terms.link_seconds),
        )
        try:
            self.archive.volume.hold_room(size)
            if not self.archive.uploads.reserve(upload, terms.quota_megabytes * MEGABYTE):
                raise over_quota(terms, size)
        except StoreDown as down:
            raise unavailable() from down
        return upload

    @contextmanager
    def room(self, name: str, mime_type: str, size: int) -> Iterator[Upload]:
        """Reserve room while the block runs; release it if the block makes no file."""
        upload = self.reserve(name, mime_type, size)
        try:
            yield upload
        finally:
            with suppress(StoreDown):  # then it expires
                if self.archive.uploads.release(upload.upload_id):
                    self.archive.volume.drop([upload.upload_id])

    def filed(self, upload_id: str, purpose: str) -> File:
        """Return the file of a received upload, made now or before; raises UnknownFile or StoreDown."""
        made = now()
        ends = made + timedelta(seconds=self.archive.terms.file_seconds)
        self.archive.uploads.file(upload_id, purpose, made, ends)
        file = self.archive.files.get(upload_id, made)
        if file is None:
            raise UnknownFile.of_upload(upload_id)
        return file


def incomplete(upload: Upload) -> UploadIncomplete:
    """Return the error for an upload whose bytes have not arrived."""
    return UploadIncomplete(
        f"The {upload.size_bytes} bytes of '{upload.name}' have not come yet, or not all of them. Send them to the "
        "upload_url that begin_file_upload returned, as the body of one PUT (curl --upload-file FILE 'UPLOAD_URL'), "
        f"by {upload.expires_at.isoformat(timespec='seconds')}, then call again.",
        field="upload_id",
        got=upload.upload_id,
    )


# Imports: files that the server downloads from a host; afterwards they are files like any upload.


class ImportedFile(Struct, frozen=True):
    """An imported file and its notes."""

    file: File
    notes: Sequence[Note]


class CallerImports(Struct, frozen=True):
    """The imports of one caller."""

    uploads: CallerUploads
    importer: Importer
    stop: Callable[[], None]

    def take(self, asked: HostFile) -> ImportedFile:
        """Import a file; raises a Refusal if its host does not send it or there is no room for it."""
        with self.importer.opened(asked.download_url, self.stop) as found:
            sent = sanitize_mime_type(found.mime_type)
            said = sanitize_mime_type(asked.mime_type or sent)
            differs = ANY_TYPE not in (said, sent) and said != sent
            notes = [ServerNote.of("type_differs", said=said, sent=sent)] if differs else []
            room = self._most if found.size is None else self._held_to(found.size)
            with self.uploads.room(sanitize_name(asked.file_name or ""), said, room) as upload:
                return ImportedFile(self._filed(found, upload), notes)

    def _filed(self, found: DownloadedFile, upload: Upload) -> File:
        """Write the bytes that a host sends to a file."""
        archive = self.uploads.archive
        try:
            with archive.volume.arriving(upload.upload_id, upload.size_bytes) as arrival:
                for chunk in found.chunks:
                    self._held_to(arrival.size + len(chunk))
                    arrival.write(chunk)
                self._held_to(arrival.size)
                digest = arrival.settle()
            came = now()
            ends = came + timedelta(seconds=archive.terms.link_seconds)
            if not archive.uploads.receive(upload.upload_id, arrival.size, digest, came, ends):
                raise unavailable()
            return self.uploads.filed(upload.upload_id, "import")
        except StoreDown as down:
            raise unavailable() from down

    @property
    def _most(self) -> int:
        return self.uploads.archive.terms.upload_megabytes * MEGABYTE

    def _held_to(self, size: int) -> int:
        """Return the size; raises BadArguments if a file may not have it."""
        if not 0 < size <= self._most:
            raise BadArguments(f"The file is empty, or larger than {self._most} bytes. Import another.", field=FIELD)
        return size
