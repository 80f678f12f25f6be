"""Files on the wire."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

from engine.notes import Note
from server.files import Given
from server.ports import File
from server.settings import LOOPBACK
from server.uploads import Reserved
from server.wire.answer import Json

LOCAL = "This link opens on the machine of the server alone; a host elsewhere cannot use it."


def given_json(given: Given) -> Json:
    """Return a file and its link, times as UTC."""
    is_local = urlsplit(given.url).hostname in LOOPBACK
    return {
        **named_json(given.file),
        "download_url": given.url,
        "link_expires_at": time(given.link_ends),
        "file_expires_at": time(given.file.expires_at),
        **({"reachable_from": LOCAL} if is_local else {}),
    }


def reserved_json(reserved: Reserved) -> Json:
    """Return an upload that was begun, and where its bytes are sent."""
    upload = reserved.upload
    is_local = urlsplit(reserved.url).hostname in LOOPBACK
    return {
        "upload_id": upload.upload_id,
        "name": upload.name,
        "mime_type": upload.mime_type,
        "size_bytes": upload.size_bytes,
        "upload_url": reserved.url,
        "method": "PUT",
        "expires_at": time(upload.expires_at),
        **({"reachable_from": LOCAL} if is_local else {}),
    }


def file_json(file: File, notes: Sequence[Note] = ()) -> Json:
    """Return a file that came from outside."""
    told = {**named_json(file), "expires_at": time(file.expires_at)}
    return {**told, "notes": [note.as_data() for note in notes]} if notes else told


def named_json(file: File) -> Json:
    """Return what every file says of itself."""
    return {
        "file_id": file.file_id,
        "name": file.name,
        "mime_type": file.mime_type,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
    }


def time(moment: datetime) -> str:
    """Return a time as UTC."""
    return moment.isoformat(timespec="seconds")
