"""Receiving in this process: clients that take their time, and what is left of those that broke off."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from threading import Thread

import httpx2
import pytest
from msgspec import structs
from starlette.applications import Starlette

from server.base.errors import UploadIncomplete
from server.base.interfaces import MinimumRate, Principal
from server.base.requests import UploadRequest
from server.base.settings import Settings
from server.caller.files import Archive, now
from server.caller.uploads import CallerUploads, UploadReservation
from server.http.app import HttpServer
from server.http.transfers import UploadRoutes
from tests.integration.server.test_uploads import put, sending
from tests.support.books.holders import TERMS, archive_in
from tests.support.service.servers import DEADLINE, free_port, wait_for
from tests.unit.server.http.test_bounds import all_of

BODY = b"0123456789" * 10
ASKED = UploadRequest(filename="a.txt", mime_type="text/plain", size_bytes=len(BODY))


@dataclass
class ReceivingServer:
    """A server that receives files, and the uploads of ann."""

    uploads: CallerUploads
    folder: Path
    port: int

    @property
    def archive(self) -> Archive:
        """Its files."""
        return self.uploads.archive

    def begun(self) -> UploadReservation:
        """Begin an upload, whose link is of this server."""
        reserved = self.uploads.begin(ASKED)
        return structs.replace(reserved, url=reserved.url.replace(":8768/", f":{self.port}/"))

    def names(self) -> list[str]:
        """Return the names of the files that there are."""
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def receiving(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ReceivingServer]:
    """A server that receives files at a pace of 100 bytes a second, after two seconds."""
    archive = archive_in(tmp_path, structs.replace(TERMS, **getattr(request, "param", {})))
    settings = Settings(port=free_port())
    app = Starlette(routes=UploadRoutes(archive, MinimumRate(bytes_a_second=100, at_first=2.0)).routes())
    server = HttpServer(app, settings)
    with socket.create_server((settings.host, settings.port)) as listening:
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_for(lambda: server.started)
            yield ReceivingServer(CallerUploads(Principal("ann"), archive), tmp_path, settings.port)
        finally:
            server.should_exit = True
            thread.join(DEADLINE)


def test_a_client_that_sends_too_slowly_is_cut(receiving: ReceivingServer) -> None:
    upload = receiving.begun()
    with sending(upload.url, BODY[:20], len(BODY)) as opened:
        answer = all_of(opened)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"came too slowly" in answer
    wait_for(lambda: receiving.names() == [])
    assert put(upload.url, BODY).status_code == 201


def test_a_pace_is_held_on_the_whole(receiving: ReceivingServer) -> None:
    pace = MinimumRate(bytes_a_second=100, at_first=2.0)
    assert [pace.due(10.0, size) for size in (0, 50, 1000)] == [12.0, 12.5, 22.0]
    upload = receiving.begun()
    with sending(upload.url, BODY[:10], len(BODY)) as opened:
        for at in range(10, len(BODY), 10):
            opened.sendall(BODY[at : at + 10])
        assert b" 201 " in opened.recv(64)
    assert receiving.uploads.complete(upload.upload.upload_id).sha256 == sha256(BODY).hexdigest()


@pytest.mark.parametrize("receiving", [{"link_seconds": 3}], indirect=True)
def test_nothing_is_received_beyond_the_end_of_a_reservation(receiving: ReceivingServer) -> None:
    upload = receiving.begun()
    with sending(upload.url, BODY[:90], len(BODY)) as opened:
        assert all_of(opened).startswith(b"HTTP/1.1 408 ")
    assert put(upload.url, BODY).status_code == 410
    receiving.archive.sweep()
    assert receiving.names() == []
    receiving.uploads.begin(replace(ASKED, size_bytes=2 << 20))


def test_what_a_killed_server_left_is_neither_taken_for_the_file_nor_in_its_way(receiving: ReceivingServer) -> None:
    upload = receiving.begun()
    upload_id = upload.upload.upload_id
    receiving.archive.volume.path(upload_id).write_bytes(b"put in its place, and not written down")
    receiving.archive.volume.path(f"{upload_id}.part").write_bytes(b"half of it")
    receiving.archive.volume.path(f"{upload_id}.lock").touch()
    with pytest.raises(UploadIncomplete):
        receiving.uploads.complete(upload_id)
    assert put(upload.url, BODY).status_code == 201
    assert receiving.names() == [upload_id]
    assert receiving.uploads.complete(upload_id).sha256 == sha256(BODY).hexdigest()
    assert receiving.archive.volume.path(upload_id).read_bytes() == BODY


def test_what_was_received_is_completed_by_whoever_is_asked_later(receiving: ReceivingServer) -> None:
    upload = receiving.begun()
    assert put(upload.url, BODY).status_code == 201
    elsewhere = CallerUploads(Principal("ann"), receiving.archive)
    ends = now() + timedelta(hours=1)
    assert receiving.archive.uploads.file(upload.upload.upload_id, "upload", now(), ends)  # and then nobody was told
    assert elsewhere.complete(upload.upload.upload_id) == receiving.uploads.complete(upload.upload.upload_id)


def test_a_client_that_waits_to_be_asked_is_told_before_it_sends(receiving: ReceivingServer) -> None:
    upload = receiving.begun()
    assert put(upload.url, BODY).status_code == 201
    answer = httpx2.put(upload.url, content=BODY, headers={"Expect": "100-continue"})
    assert answer.status_code == 409
