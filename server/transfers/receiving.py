"""Receiving: the bytes of an upload, sent to the link that its caller was given.

One body, whole and of the size that was reserved, is received; anything else leaves the upload as it was, to be tried
again. Whoever sends is held to a pace and to the end of the reservation.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic, time

import anyio
from anyio import to_thread
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from server.files import Archive, now
from server.links import PATH, BadLink, LinkExpired, Purpose, owner_mark
from server.pacing import Pace
from server.ports import Arrived, NoRoom, StoreDown, Upload
from server.stores.disk import Arrival, Taken
from server.transfers.answers import HEADERS, refused

GONE = "Nothing is received here (any more). begin_file_upload returns a new link."
HAD = "The file was received already. Call complete_file_upload."
TWICE = "The file is being sent already. Wait until it has come, then call complete_file_upload."
SLOW = "The file came too slowly, or not before the end of its link. Send it again."
FULL = "There is no room for files just now. Send this one again later."
BUSY = "Files cannot be received just now. Send this one again shortly."
PLAIN = "Send the whole file as it is, without a content coding."
log = logging.getLogger("tieout.transfers")


class NotTaken(Exception):
    """A body that is not received, with what its sender is told."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


ANSWERS: Sequence[tuple[type[Exception], int, str]] = (
    (BadLink, 404, GONE),
    (LinkExpired, 410, GONE),
    (Taken, 409, TWICE),
    (TimeoutError, 408, SLOW),
    (ClientDisconnect, 400, ""),  # which nobody reads
    (NoRoom, 507, FULL),
    (StoreDown, 503, BUSY),
)
FAULTS = tuple(kind for kind, _, _ in ANSWERS)


class Receiving:
    """Takes files from whoever has a good link for one."""

    def __init__(self, archive: Archive, pace: Pace) -> None:
        self._archive = archive
        self._pace = pace

    def routes(self) -> list[Route]:
        """Return the routes that receive."""
        return [Route(f"{PATH}{{upload_id}}", self.take, methods=["PUT"])]

    async def take(self, request: Request) -> Response:
        """Receive a file."""
        upload_id, asked = request.path_params["upload_id"], request.query_params.multi_items()
        begun = monotonic()
        try:
            mark = self._archive.links.read(Purpose.PUT, upload_id, asked, time())
            upload = await to_thread.run_sync(self._awaited, upload_id, mark)
            hold_declared(request.headers, upload)
            with self._archive.volume.arriving(upload_id, upload.size_bytes) as arrival:
                await to_thread.run_sync(self._awaited, upload_id, mark)  # nobody was faster
                await self._fill(request, upload, arrival)
                digest = await to_thread.run_sync(arrival.settle)
                await to_thread.run_sync(self._note, upload, digest)
        except NotTaken as why:
            return refused(why.status, why.words)
        except FAULTS as fault:
            return next(refused(status, words) for kind, status, words in ANSWERS if isinstance(fault, kind))
        told = {"upload_id": upload_id, "size_bytes": upload.size_bytes, "sha256": digest}
        ms = round((monotonic() - begun) * 1000, 2)
        log.info("file received", extra={"subject": upload.owner, "bytes": upload.size_bytes, "ms": ms})
        return JSONResponse(told, status_code=201, headers=HEADERS)

    def _awaited(self, upload_id: str, mark: str) -> Upload:
        """Return an upload whose bytes may come; BadLink where there is none, NotTaken where they came."""
        upload = self._archive.uploads.get(upload_id, now())
        if upload is None or owner_mark(upload.owner) != mark:
            raise BadLink
        if upload.arrived is not Arrived.NO:
            raise NotTaken(409, HAD)
        return upload

    async def _fill(self, request: Request, upload: Upload, arrival: Arrival) -> None:
        """Write a body as it comes; NotTaken where it has another size, TimeoutError where it is too slow."""
        begun, body = monotonic(), request.stream()
        ends = begun + (upload.expires_at - now()).total_seconds()
        while True:
            due = min(ends, self._pace.due(begun, arrival.size))
            with anyio.fail_after(max(0.0, due - monotonic())):
                chunk = await anext(body)
            if not chunk:
                break
            if arrival.size + len(chunk) > upload.size_bytes:
                raise NotTaken(400, other_size(upload, "more"))
            await to_thread.run_sync(arrival.write, chunk)
        if arrival.size < upload.size_bytes:
            raise NotTaken(400, other_size(upload, str(arrival.size)))

    def _note(self, upload: Upload, digest: str) -> None:
        """Take note of bytes that came, and leave time to complete the upload; LinkExpired where they came too late."""
        came = now()
        ends = came + timedelta(seconds=self._archive.terms.link_seconds)
        if not self._archive.uploads.receive(upload.upload_id, upload.size_bytes, digest, came, ends):
            raise LinkExpired


def hold_declared(headers: Headers, upload: Upload) -> None:
    """Raise NotTaken where a request says of itself that it is not what was reserved."""
    if headers.get("content-encoding", "identity") != "identity" or "content-range" in headers:
        raise NotTaken(415, PLAIN)
    declared = headers.get("content-length", str(upload.size_bytes))  # which the HTTP edge has found to be digits
    if int(declared[:20]) != upload.size_bytes:
        raise NotTaken(400, other_size(upload, declared[:20]))


def other_size(upload: Upload, came: str) -> str:
    """Return what is told of a body of another size than was reserved."""
    return (
        f"The upload is of {upload.size_bytes} bytes, and {came} came. Send all of the file, or begin again with "
        "its real size."
    )
