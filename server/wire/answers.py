"""Answers of tools, and files as JSON."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.json import encode

from engine.model.notes import Note, notes_as_data
from server.base.addresses import LOOPBACK
from server.base.interfaces import File
from server.caller.files import LinkedFile, PlacedFile
from server.caller.uploads import UploadReservation

# Answers: one JSON object, sent as data and as text.


Json = dict[str, Any]


class Answer(Struct, frozen=True, dict=True):
    """What a tool returns: a JSON object, and what goes beside it.

    That is a function that makes the block for its widget, details for programs, a picture as a PNG, and the address
    at which hosts read the result that it is about.
    """

    result: Json
    rendered: Callable[[], Json] | None = None
    details: Json | None = None
    picture: bytes | None = None
    address: str | None = None

    @cached_property
    def json(self) -> bytes:
        """The result as JSON."""
        return encode(self.result)

    def render_block(self) -> Json | None:
        """Return the block that a widget shows, None if there is none."""
        return None if self.rendered is None else self.rendered()


PICTURE_TYPE, JSON_TYPE = "image/png", "application/json"
LINKS_SINCE = "2025-06-18"  # the version of the protocol that has links to resources in answers


def blocks_beside(picture: bytes | None, address: str | None) -> Iterator[Json]:
    """Yield the content blocks of MCP that follow the text of an answer: a picture, and a link to a resource."""
    if picture:
        yield {"type": "image", "data": b64encode(picture).decode(), "mimeType": PICTURE_TYPE}
    if address:
        yield {"type": "resource_link", "uri": address, "name": address.rpartition("/")[2], "mimeType": JSON_TYPE}


def call_result(result: bytes, meta: Json, beside: Iterable[Json], *, is_error: bool, is_typed: bool) -> bytes:
    """Return the CallToolResult of MCP for a result, which it holds as text and as data, with the blocks beside it.

    `is_typed` adds the type of the result, as the newest protocol wants it.
    """
    return b'{%b"content":[{"type":"text","text":%b}%b],"structuredContent":%b,"isError":%b%b}' % (
        b'"_meta":%b,' % encode(meta) if meta else b"",
        encode(result.decode()),
        b"".join(b",%b" % encode(block) for block in beside),
        result,
        b"true" if is_error else b"false",
        b',"resultType":"complete"' if is_typed else b"",
    )


# Files on the wire.


LOCAL = "This link opens on the machine of the server alone; a host elsewhere cannot use it."


def given_json(given: LinkedFile | PlacedFile) -> Json:
    """Return a file and its link or its path, with times in UTC."""
    if isinstance(given, PlacedFile):
        return {**named_json(given.file), "path": str(given.path), "file_expires_at": time(given.file.expires_at)}
    is_local = urlsplit(given.url).hostname in LOOPBACK
    return {
        **named_json(given.file),
        "download_url": given.url,
        "link_expires_at": time(given.link_ends),
        "file_expires_at": time(given.file.expires_at),
        **({"reachable_from": LOCAL} if is_local else {}),
    }


def reserved_json(reserved: UploadReservation) -> Json:
    """Return a reserved upload and the URL that receives its bytes."""
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
    """Return an uploaded or imported file."""
    told = {**named_json(file), "expires_at": time(file.expires_at)}
    return {**told, "notes": notes_as_data(notes)} if notes else told


def named_json(file: File) -> Json:
    """Return the fields that every file has."""
    return {
        "file_id": file.file_id,
        "name": file.name,
        "mime_type": file.mime_type,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
    }


def time(moment: datetime) -> str:
    """Return a time as ISO 8601 text, to the second."""
    return moment.isoformat(timespec="seconds")
