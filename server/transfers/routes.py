"""The routes of transfers, as a deployment offers them."""

from starlette.routing import Route

from server.caller import Callers
from server.files import Archive
from server.pacing import Pace
from server.settings import Settings
from server.transfers.giving import Giving
from server.transfers.receiving import Receiving


def transfer_routes(callers: Callers, archive: Archive, settings: Settings) -> list[Route]:
    """Return the routes of files that are given, and of those that are received where that is enabled."""
    receiving = Receiving(archive, Pace()).routes() if settings.uploads_enabled else []
    return [*Giving(callers, archive).routes(), *receiving]
