"""Transfers: files sent and received over signed links that carry no token."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic, time

import anyio
from anyio import to_thread
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from engine.model.errors import Unavailable
from server.base.interfaces import File, MinimumRate, Principal, StoreDown, Upload, UploadState, VolumeFull
from server.base.links import PATH, BadLink, LinkExpired, LinkPurpose, owner_mark
from server.base.settings import Settings
from server.caller.caller import Callers
from server.caller.files import Archive, may_open, now
from server.stores.disk import IncomingFile, UploadInProgress

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Referrer-Policy": "no-referrer",
}


def refusal_response(status: int, words: str, **headers: str) -> JSONResponse:
    """Return the response of a link that is refused."""
    return JSONResponse({"error": words}, status_code=status, headers={**HEADERS, **headers})


# Downloads. The signature is verified first. Then the owner's latest claims and the current profiles must still allow
# everything that the file contains.


NOT_FOUND = "This link does not open anything (any more). Ask for a new one with get_file_download, or export again."
EXPIRED = "This link has expired. get_file_download returns a new one."
DOWNLOADS_BUSY = "Files cannot be opened just now. Try this link again shortly."
RETRY_SECONDS = "5"


class DownloadRoutes:
    """Serves files to holders of a valid link."""

    def __init__(self, callers: Callers, archive: Archive) -> None:
        self._callers = callers
        self._archive = archive

    def routes(self) -> list[Route]:
        """Return the download routes."""
        return [Route(f"{PATH}{{file_id}}", self.give, methods=["GET"])]  # HEAD comes with it

    async def give(self, request: Request) -> Response:
        """Send a file, whole or in ranges."""
        file_id, asked = request.path_params["file_id"], request.query_params.multi_items()
        try:
            mark = self._archive.links.read(LinkPurpose.GET, file_id, asked, time())
            file = await to_thread.run_sync(self._open, file_id, mark)
        except BadLink:
            return refusal_response(404, NOT_FOUND)
        except LinkExpired:
            return refusal_response(410, EXPIRED)
        except (StoreDown, Unavailable):
            return refusal_response(503, DOWNLOADS_BUSY, **{"Retry-After": RETRY_SECONDS})
        path = self._archive.volume.path(file_id)
        return FileResponse(path, media_type=file.mime_type, filename=file.name, headers=HEADERS)

    def _open(self, file_id: str, mark: str) -> File:
        """Return a file that its owner may still open; raises BadLink if there is none."""
        file = self._archive.files.get(file_id, now())
        if file is None or owner_mark(file.owner) != mark or not self._archive.volume.path(file_id).is_file():
            raise BadLink
        seen = self._archive.principals.last(file.owner)
        if seen is None or (now() - seen.at).total_seconds() > self._archive.terms.claims_max_age:
            raise BadLink
        if not may_open(file, self._callers.reader_of(Principal(file.owner, seen.claims))):
            raise BadLink
        return file


# Uploads. One body of exactly the reserved size is accepted; any other leaves the upload unchanged, for another try. A
# sender must keep a minimum rate and finish before the reservation ends.


UPLOAD_GONE = "Nothing is received here (any more). begin_file_upload returns a new link."
HAD = "The file was received already. Call complete_file_upload."
TWICE = "The file is being sent already. Wait until it has come, then call complete_file_upload."
SLOW = "The file came too slowly, or not before the end of its link. Send it again."
FULL = "There is no room for files just now. Send this one again later."
UPLOADS_BUSY = "Files cannot be received just now. Send this one again shortly."
PLAIN = "Send the whole file as it is, without a content coding."
log = logging.getLogger("tieout.transfers")


class UploadRefused(Exception):
    """A body is refused; holds the status and the message for its sender."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


ANSWERS: Sequence[tuple[type[Exception], int, str]] = (
    (BadLink, 404, UPLOAD_GONE),
    (LinkExpired, 410, UPLOAD_GONE),
    (UploadInProgress, 409, TWICE),
    (TimeoutError, 408, SLOW),
    (ClientDisconnect, 400, ""),  # which nobody reads
    (VolumeFull, 507, FULL),
    (StoreDown, 503, UPLOADS_BUSY),
)
FAULTS = tuple(kind for kind, _, _ in ANSWERS)


class UploadRoutes:
    """Receives files from holders of a valid link."""

    def __init__(self, archive: Archive, pace: MinimumRate) -> None:
        self._archive = archive
        self._pace = pace

    def routes(self) -> list[Route]:
        """Return the upload routes."""
        return [Route(f"{PATH}{{upload_id}}", self.take, methods=["PUT"])]

    async def take(self, request: Request) -> Response:
        """Receive a file."""
        upload_id, asked = request.path_params["upload_id"], request.query_params.multi_items()
        begun = monotonic()
        try:
            mark = self._archive.links.read(LinkPurpose.PUT, upload_id, asked, time())
            upload = await to_thread.run_sync(self._awaited, upload_id, mark)
            check_headers(request.headers, upload)
            with self._archive.volume.arriving(upload_id, upload.size_bytes) as arrival:
                await to_thread.run_sync(self._awaited, upload_id, mark)  # still awaited, now locked
                await self._fill(request, upload, arrival)
                digest = await to_thread.run_sync(arrival.settle)
                await to_thread.run_sync(self._note, upload, digest)
        except UploadRefused as why:
            return refusal_response(why.status, why.words)
        except FAULTS as fault:
            return next(refusal_response(status, words) for kind, status, words in ANSWERS if isinstance(fault, kind))
        told = {"upload_id": upload_id, "size_bytes": upload.size_bytes, "sha256": digest}
        ms = round((monotonic() - begun) * 1000, 2)
        log.info("file received", extra={"subject": upload.owner, "bytes": upload.size_bytes, "ms": ms})
        return JSONResponse(told, status_code=201, headers=HEADERS)

    def _awaited(self, upload_id: str, mark: str) -> Upload:
        """Return an upload that awaits its bytes; raises BadLink if there is none, UploadRefused if they came."""
        upload = self._archive.uploads.get(upload_id, now())
        if upload is None or owner_mark(upload.owner) != mark:
            raise BadLink
        if upload.arrived is not UploadState.NO:
            raise UploadRefused(409, HAD)
        return upload

    async def _fill(self, request: Request, upload: Upload, arrival: IncomingFile) -> None:
        """Write a body as it arrives; raises UploadRefused for another size, TimeoutError if it is too slow."""
        begun, body = monotonic(), request.stream()
        ends = begun + (upload.expires_at - now()).total_seconds()
        while True:
            due = min(ends, self._pace.due(begun, arrival.size))
            with anyio.fail_after(max(0.0, due - monotonic())):
                chunk = await anext(body)
            if not chunk:
                break
            if arrival.size + len(chunk) > upload.size_bytes:
                raise UploadRefused(400, describe_size_mismatch(upload, "more"))
            await to_thread.run_sync(arrival.write, chunk)
        if arrival.size < upload.size_bytes:
            raise UploadRefused(400, describe_size_mismatch(upload, str(arrival.size)))

    def _note(self, upload: Upload, digest: str) -> None:
        """Record received bytes and extend the time to complete the upload; raises LinkExpired if they came late."""
        came = now()
        ends = came + timedelta(seconds=self._archive.terms.link_seconds)
        if not self._archive.uploads.receive(upload.upload_id, upload.size_bytes, digest, came, ends):
            raise LinkExpired


def check_headers(headers: Headers, upload: Upload) -> None:
    """Raise UploadRefused if a request's headers do not match the reservation."""
    if headers.get("content-encoding", "identity") != "identity" or "content-range" in headers:
        raise UploadRefused(415, PLAIN)
    declared = headers.get("content-length", str(upload.size_bytes))  # the HTTP edge has checked the digits
    if int(declared[:20]) != upload.size_bytes:
        raise UploadRefused(400, describe_size_mismatch(upload, declared[:20]))


def describe_size_mismatch(upload: Upload, came: str) -> str:
    """Return the message for a body whose size differs from the reservation."""
    return (
        f"The upload is of {upload.size_bytes} bytes, and {came} came. Send all of the file, or begin again with "
        "its real size."
    )


def transfer_routes(callers: Callers, archive: Archive, settings: Settings) -> list[Route]:
    """Return the download routes, and the upload routes if uploads are enabled."""
    receiving = UploadRoutes(archive, MinimumRate()).routes() if settings.uploads_enabled else []
    return [*DownloadRoutes(callers, archive).routes(), *receiving]
