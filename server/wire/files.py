"""Files on the wire."""

from urllib.parse import urlsplit

from server.files import Given
from server.settings import LOOPBACK
from server.wire.answer import Json

LOCAL = "This link opens on the machine of the server alone; a host elsewhere cannot download from it."


def given_json(given: Given) -> Json:
    """Return a file and its link, times as UTC."""
    file = given.file
    is_local = urlsplit(given.url).hostname in LOOPBACK
    return {
        "file_id": file.file_id,
        "name": file.name,
        "mime_type": file.mime_type,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
        "download_url": given.url,
        "link_expires_at": given.link_ends.isoformat(timespec="seconds"),
        "file_expires_at": file.expires_at.isoformat(timespec="seconds"),
        **({"reachable_from": LOCAL} if is_local else {}),
    }
