"""Imports of one caller: files of hosts, fetched instead of sent, and then files as any that was uploaded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from engine.errors import BadArguments
from engine.notes import Note
from engine.requests import HostFile
from server.files import MEGABYTE, now, unavailable
from server.importing.importer import FIELD, Found, Importer
from server.naming import ANY_TYPE, tidied_mime_type, tidied_name
from server.ports import File, StoreDown, Upload
from server.uploads import CallerUploads


@dataclass(frozen=True, slots=True)
class Imported:
    """A file that was imported, and what is to be said of it."""

    file: File
    notes: Sequence[Note]


@dataclass(frozen=True, slots=True)
class CallerImports:
    """The imports of one caller."""

    uploads: CallerUploads
    importer: Importer
    stop: Callable[[], None]

    def take(self, asked: HostFile) -> Imported:
        """Import a file; a Refusal where its host does not give it, or there is no room for it."""
        with self.importer.opened(asked.download_url, self.stop) as found:
            sent = tidied_mime_type(found.mime_type)
            said = tidied_mime_type(asked.mime_type or sent)
            differs = ANY_TYPE not in (said, sent) and said != sent
            notes = [Note.of("type_differs", said=said, sent=sent)] if differs else []
            room = self._most if found.size is None else self._held_to(found.size)
            with self.uploads.room(tidied_name(asked.file_name or ""), said, room) as upload:
                return Imported(self._filed(found, upload), notes)

    def _filed(self, found: Found, upload: Upload) -> File:
        """Make what a host sends a file."""
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
        """Return a size that a file may have; BadArguments where it may not."""
        if not 0 < size <= self._most:
            raise BadArguments(f"The file is empty, or larger than {self._most} bytes. Import another.", field=FIELD)
        return size
