"""Giving: files over links that carry no token.

A link is read before anything else is asked. Then its owner is looked at anew: what their token said last and what
today's profiles make of it must still show everything that the file was made of.
"""

from time import time

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from engine.errors import Unavailable
from server.caller import Callers
from server.files import Archive, may_open, now
from server.links import PATH, BadLink, LinkExpired, Purpose, owner_mark
from server.ports import File, StoreDown
from server.principal import Principal
from server.transfers.answers import HEADERS, refused

GONE = "This link does not open anything (any more). Ask for a new one with get_file_download, or export again."
EXPIRED = "This link has expired. get_file_download returns a new one."
BUSY = "Files cannot be opened just now. Try this link again shortly."
RETRY_SECONDS = "5"


class Giving:
    """Gives files to whoever has a good link to them."""

    def __init__(self, callers: Callers, archive: Archive) -> None:
        self._callers = callers
        self._archive = archive

    def routes(self) -> list[Route]:
        """Return the routes that give."""
        return [Route(f"{PATH}{{file_id}}", self.give, methods=["GET"])]  # HEAD comes with it

    async def give(self, request: Request) -> Response:
        """Give a file, whole or in ranges."""
        file_id, asked = request.path_params["file_id"], request.query_params.multi_items()
        try:
            mark = self._archive.links.read(Purpose.GET, file_id, asked, time())
            file = await to_thread.run_sync(self._open, file_id, mark)
        except BadLink:
            return refused(404, GONE)
        except LinkExpired:
            return refused(410, EXPIRED)
        except (StoreDown, Unavailable):
            return refused(503, BUSY, **{"Retry-After": RETRY_SECONDS})
        path = self._archive.volume.path(file_id)
        return FileResponse(path, media_type=file.mime_type, filename=file.name, headers=HEADERS)

    def _open(self, file_id: str, mark: str) -> File:
        """Return a file that its owner may still open; BadLink where there is none."""
        file = self._archive.files.get(file_id, now())
        if file is None or owner_mark(file.owner) != mark or not self._archive.volume.path(file_id).is_file():
            raise BadLink
        seen = self._archive.principals.last(file.owner)
        if seen is None or (now() - seen.at).total_seconds() > self._archive.terms.claims_max_age:
            raise BadLink
        if not may_open(file, self._callers.reader_of(Principal(file.owner, seen.claims))):
            raise BadLink
        return file
