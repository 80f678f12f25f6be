"""Uploads that something breaks off: a killed worker, a full disk, a database that is away. Each is sent again."""

import os
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from signal import SIGKILL

import pytest

from server.base.interfaces import VolumeFull
from server.stores.disk import Volume
from tests.integration.server.test_stores_down import store_of
from tests.integration.server.test_uploads import ON, put, sending, told
from tests.support.books.small import write_instance
from tests.support.engines.disks import disk
from tests.support.service.pauses import paused
from tests.support.service.servers import McpBooks, Server, connected, serving, wait_for
from tests.support.service.workers import serve, workers

BODY = os.urandom(3 << 20)
ASKED = {"filename": "a.bin", "mime_type": "application/octet-stream", "size_bytes": len(BODY)}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB."""
    with disk(tmp_path / "disk", 8) as folder:
        yield folder


@pytest.fixture
def server(tmp_path: Path, small_disk: Path) -> Iterator[Server]:
    """A server whose files are on the small disk."""
    instance = write_instance(tmp_path / "small", facts={}, domains={})
    with serving(
        instance,
        tmp_path,
        **ON,
        USER_DATA_DIR=str(small_disk),
        SVC_FREE_MEGABYTES="1",
        SVC_QUOTA_MEGABYTES="5",
    ) as server:
        yield server


def finished(books: McpBooks, upload: dict[str, str]) -> None:
    """Send a file again and complete it."""
    assert put(upload["upload_url"], BODY).status_code == 201
    file = books.ask("complete_file_upload", upload_id=upload["upload_id"])
    assert file["sha256"] == sha256(BODY).hexdigest()


def test_an_upload_survives_whatever_breaks_it_off(server: Server, small_disk: Path) -> None:
    wait_for(lambda: serve(server, 1))
    with connected(server.url, "auto") as books:
        upload = books.ask("begin_file_upload", **ASKED)
        with sending(upload["upload_url"], BODY[: 1 << 20], len(BODY)):
            wait_for(lambda: any(path.stat().st_size for path in small_disk.glob("*.part")))
            (killed,) = workers(server)
            os.kill(killed, SIGKILL)
            wait_for(lambda: workers(server) != [killed] and serve(server, 1))
    with connected(server.url, "auto") as books:
        assert told(books, "complete_file_upload", upload_id=upload["upload_id"])["error_type"] == "upload_incomplete"
        assert told(books, "begin_file_upload", **ASKED)["error_type"] == "quota_exceeded"  # the room is still reserved

        filler = small_disk / ".filler"
        filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - (2 << 20)))
        answer = put(upload["upload_url"], BODY)
        assert (answer.status_code, "no room" in answer.json()["error"]) == (507, True)
        refused = told(books, "begin_file_upload", **ASKED | {"size_bytes": 1 << 21})
        assert (refused["error_type"], refused["retryable"]) == ("unavailable", True)
        filler.unlink()

        database = store_of(server, "postgres")
        assert database is not None
        with paused(database):
            assert put(upload["upload_url"], BODY).status_code == 503
            refused = told(books, "complete_file_upload", upload_id=upload["upload_id"])
            assert (refused["error_type"], refused["retryable"]) == ("unavailable", True)

        def is_back() -> bool:
            refused = books.call("complete_file_upload", upload_id=upload["upload_id"]).result
            return bool(refused["error_type"] == "upload_incomplete")

        wait_for(is_back)
        finished(books, upload)
        assert [path.name for path in small_disk.iterdir()] == [upload["upload_id"]]


def test_a_disk_that_fills_while_a_file_arrives_is_told_as_such_and_left_clean(small_disk: Path) -> None:
    volume = Volume(small_disk, 0)
    with pytest.raises(VolumeFull), volume.arriving("u1", 1 << 20) as arrival:
        for _ in range(9):
            arrival.write(b"x" * (1 << 20))
        arrival.settle()
    assert list(small_disk.iterdir()) == []
