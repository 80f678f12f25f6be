"""What is known of files, uploads and callers: one contract, held by memory, an embedded database and a server."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from server.base.interfaces import (
    ClaimsRecord,
    File,
    Files,
    Principals,
    StoreDown,
    Upload,
    Uploads,
    UploadState,
    VolumeFull,
)
from server.stores.disk import FORGOTTEN, UploadInProgress, Volume
from server.stores.files import PostgresFiles, PostgresPrincipals, PostgresUploads
from server.stores.migrations import migrate, read_migrations
from server.stores.postgres import Database
from tests.support.books.holders import archive_in
from tests.support.engines.memory import MemoryFiles, MemoryPrincipals, MemoryUploads, ProcessFiles
from tests.support.engines.postgres import schema_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
QUOTA = 1000
FILE = File(
    file_id="f1",
    owner="ann",
    purpose="export",
    name="Profit and loss.xlsx",
    mime_type="application/json",
    size_bytes=400,
    sha256="0" * 64,
    cell={"books": "Small", "cells": [["é", 1]]},
    created_at=NOW,
    expires_at=NOW + timedelta(hours=1),
)
UPLOAD = Upload(
    upload_id="u1",
    owner="ann",
    name="Rechnung 1.pdf",
    mime_type="application/pdf",
    size_bytes=400,
    created_at=NOW,
    expires_at=NOW + timedelta(minutes=15),
)
RECEIVED = NOW + timedelta(minutes=10)
DIGEST = "ab" * 32
Stores = tuple[Files, Uploads, Principals]


@pytest.fixture(params=["memory", "embedded", "server"])
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    """Each store of files, uploads and callers, empty."""
    if request.param == "memory":
        held = ProcessFiles()
        yield MemoryFiles(held), MemoryUploads(held), MemoryPrincipals()
        return
    uri = (
        request.getfixturevalue("embedded_server")
        if request.param == "embedded"
        else request.getfixturevalue("database_server").uri()
    )
    with schema_of(uri) as schema:
        migrate(schema, read_migrations(), lambda _: None)
        with closing(Database(schema)) as database:
            yield PostgresFiles(database), PostgresUploads(database), PostgresPrincipals(database)


def test_a_file_is_found_as_it_was_added_until_it_expires(stores: Stores) -> None:
    files, _, _ = stores
    assert files.add(FILE, QUOTA)
    assert files.get("f1", NOW) == FILE
    assert files.get("f1", FILE.expires_at) is None
    assert files.get("f2", NOW) is None
    assert files.get("f1'; drop table files; --", NOW) is None


def test_an_owner_has_room_for_so_much_and_gets_it_back(stores: Stores) -> None:
    files, _, _ = stores
    assert files.add(FILE, QUOTA)
    assert files.add(replace(FILE, file_id="f2"), QUOTA)
    assert not files.add(replace(FILE, file_id="f3"), QUOTA)
    assert files.get("f3", NOW) is None
    assert files.add(replace(FILE, file_id="f4", owner="bob"), QUOTA)
    assert files.add(replace(FILE, file_id="f5", size_bytes=200), QUOTA)
    assert sorted(files.expire(FILE.expires_at)) == ["f1", "f2", "f4", "f5"]
    assert list(files.expire(FILE.expires_at)) == []
    assert files.add(replace(FILE, file_id="f3"), QUOTA)


def test_many_at_once_are_no_more_than_there_is_room_for(stores: Stores) -> None:
    files, _, _ = stores
    with ThreadPoolExecutor(8) as threads:
        added = list(threads.map(lambda at: files.add(replace(FILE, file_id=f"f{at}"), QUOTA), range(16)))
    assert sum(added) == 2


def test_only_what_is_available_is_known(stores: Stores) -> None:
    files, _, _ = stores
    files.add(FILE, QUOTA)
    assert list(files.known(["f1", "f2", "../f1"])) == ["f1"]
    files.expire(FILE.expires_at)
    assert list(files.known(["f1"])) == []


def received(uploads: Uploads, upload: Upload, size: int = 400) -> bool:
    """Take note of the bytes of an upload."""
    ends = RECEIVED + timedelta(minutes=15)
    return uploads.receive(upload.upload_id, size, DIGEST, RECEIVED, ends)


def test_an_upload_is_reserved_then_received_then_a_file_each_once(stores: Stores) -> None:
    files, uploads, _ = stores
    ends = NOW + timedelta(days=1)
    assert uploads.reserve(UPLOAD, QUOTA)
    assert uploads.get("u1", NOW) == UPLOAD
    assert not uploads.file("u1", "upload", NOW, ends)
    assert received(uploads, UPLOAD)
    assert not received(uploads, UPLOAD)
    came = replace(UPLOAD, arrived=UploadState.WHOLE, sha256=DIGEST, expires_at=RECEIVED + timedelta(minutes=15))
    assert uploads.get("u1", RECEIVED) == came
    assert files.get("u1", RECEIVED) is None
    assert uploads.file("u1", "upload", RECEIVED, ends)
    assert not uploads.file("u1", "upload", RECEIVED, ends)
    assert not received(uploads, UPLOAD)
    made = replace(
        FILE, file_id="u1", purpose="upload", name=UPLOAD.name, mime_type="application/pdf", sha256=DIGEST, cell=None
    )
    assert files.get("u1", RECEIVED) == replace(made, created_at=RECEIVED, expires_at=ends)
    filed = uploads.get("u1", ends)
    assert filed is not None
    assert filed.arrived is UploadState.FILED
    assert list(uploads.known(["u1"])) == []
    assert list(uploads.expire(ends)) == []
    assert list(files.known(["u1"])) == ["u1"]


def test_room_that_is_reserved_is_nobody_elses_until_the_reservation_ends(stores: Stores) -> None:
    files, uploads, _ = stores
    assert uploads.reserve(UPLOAD, QUOTA)
    assert files.add(FILE, QUOTA)
    assert not files.add(replace(FILE, file_id="f2"), QUOTA)
    assert not uploads.reserve(replace(UPLOAD, upload_id="u2"), QUOTA)
    assert uploads.reserve(replace(UPLOAD, upload_id="u2", owner="bob"), QUOTA)
    assert uploads.reserve(replace(UPLOAD, upload_id="u3", size_bytes=200), QUOTA)
    assert received(uploads, UPLOAD)
    assert uploads.file("u1", "upload", RECEIVED, FILE.expires_at)
    assert not uploads.reserve(replace(UPLOAD, upload_id="u4", size_bytes=1), QUOTA)
    later = UPLOAD.expires_at
    again = replace(UPLOAD, upload_id="u5", size_bytes=200, created_at=later, expires_at=later + timedelta(minutes=15))
    assert uploads.reserve(again, QUOTA)


def test_room_that_is_given_back_is_free_again_but_that_of_a_file(stores: Stores) -> None:
    _, uploads, _ = stores
    for name in ("u1", "u2"):
        assert uploads.reserve(replace(UPLOAD, upload_id=name), QUOTA)
    assert received(uploads, UPLOAD)
    assert uploads.file("u1", "upload", RECEIVED, FILE.expires_at)
    assert [uploads.release(name) for name in ("u1", "u2", "u2", "u3")] == [False, True, False, False]
    assert uploads.get("u2", NOW) is None
    assert uploads.reserve(replace(UPLOAD, upload_id="u4", size_bytes=600), QUOTA)
    assert not uploads.reserve(replace(UPLOAD, upload_id="u5", size_bytes=1), QUOTA)


def test_an_import_counts_as_many_bytes_as_came(stores: Stores) -> None:
    files, uploads, _ = stores
    assert uploads.reserve(UPLOAD, QUOTA)
    assert received(uploads, UPLOAD, size=100)
    assert uploads.file("u1", "import", RECEIVED, FILE.expires_at)
    made = files.get("u1", RECEIVED)
    assert made is not None
    assert (made.purpose, made.size_bytes) == ("import", 100)
    assert files.add(replace(FILE, size_bytes=900, created_at=RECEIVED), QUOTA)


def test_reservations_made_at_once_are_no_more_than_there_is_room_for(stores: Stores) -> None:
    files, uploads, _ = stores

    def grow(at: int) -> bool:
        if at % 2:
            return files.add(replace(FILE, file_id=f"f{at}"), QUOTA)
        return uploads.reserve(replace(UPLOAD, upload_id=f"u{at}"), QUOTA)

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(grow, range(16))) == 2


def test_one_of_many_who_complete_an_upload_at_once_makes_it_a_file(stores: Stores) -> None:
    _, uploads, _ = stores
    uploads.reserve(UPLOAD, QUOTA)
    received(uploads, UPLOAD)
    with ThreadPoolExecutor(8) as threads:
        made = threads.map(lambda _: uploads.file("u1", "upload", RECEIVED, FILE.expires_at), range(16))
    assert sum(made) == 1


def test_an_upload_that_expired_is_none_and_is_swept_once(stores: Stores) -> None:
    _, uploads, _ = stores
    for name in ("u1", "u2"):
        uploads.reserve(replace(UPLOAD, upload_id=name), QUOTA)
    assert received(uploads, UPLOAD)
    assert uploads.get("u2", UPLOAD.expires_at) is None
    assert not uploads.receive("u2", 400, DIGEST, UPLOAD.expires_at, FILE.expires_at)
    assert sorted(uploads.known(["u1", "u2", "u3"])) == ["u1", "u2"]
    assert list(uploads.expire(UPLOAD.expires_at)) == ["u2"]
    assert list(uploads.expire(UPLOAD.expires_at)) == []
    assert list(uploads.known(["u1", "u2"])) == ["u1"]
    over = RECEIVED + timedelta(minutes=15)
    assert not uploads.file("u1", "upload", over, FILE.expires_at)
    assert list(uploads.expire(over)) == ["u1"]
    assert uploads.get("u1", NOW) is None


def test_what_a_token_said_last_is_what_counts(stores: Stores) -> None:
    _, _, principals = stores
    first = ClaimsRecord(claims={"groups": ("finance", "board"), "sub": ("ann",)}, at=NOW)
    later = ClaimsRecord(claims={"groups": ("finance",)}, at=NOW + timedelta(seconds=1))
    assert principals.last("ann") is None
    principals.record("ann", first)
    assert principals.last("ann") == first
    principals.record("ann", later)
    principals.record("ann", first)  # of a call that took longer
    assert principals.last("ann") == later
    assert principals.last("bob") is None


def test_a_volume_keeps_files_whole_or_not_at_all(tmp_path: Path) -> None:
    volume = Volume(tmp_path / "files", 1)

    def write(path: Path) -> None:
        path.write_bytes(b"abc")

    size, digest = volume.keep("f1", write)
    assert (size, digest) == (3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    assert volume.path("f1").read_bytes() == b"abc"

    def broken(path: Path) -> None:
        path.write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    with pytest.raises(StoreDown, match="No space left"):
        volume.keep("f2", broken)
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["f1"]
    with pytest.raises(StoreDown, match="no room left"):
        Volume(tmp_path / "files", 1 << 40).keep("f3", lambda path: path.touch())


def test_a_file_arrives_whole_or_not_at_all_and_from_one_at_a_time(tmp_path: Path) -> None:
    volume = Volume(tmp_path, 1)
    with volume.arriving("u1", 3) as arrival:
        arrival.write(b"ab")
        with pytest.raises(UploadInProgress), volume.arriving("u1", 3):
            pass
        arrival.write(b"c")
        assert not volume.path("u1").exists()
        assert arrival.settle() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        with pytest.raises(UploadInProgress), volume.arriving("u1", 3):  # before it is written down that it came
            pass
    assert volume.path("u1").read_bytes() == b"abc"
    with pytest.raises(ConnectionError), volume.arriving("u2", 3) as arrival:
        arrival.write(b"ab")
        raise ConnectionError
    (tmp_path / "u3.part").write_bytes(b"of somebody who was killed")
    with volume.arriving("u3", 1) as arrival:
        arrival.write(b"d")
        arrival.settle()
    assert volume.path("u3").read_bytes() == b"d"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["u1", "u3"]


def test_a_file_that_would_leave_too_little_free_does_not_arrive(tmp_path: Path) -> None:
    with pytest.raises(VolumeFull, match="no room left"), Volume(tmp_path, 1).arriving("u1", 1 << 60):
        pass
    assert list(tmp_path.iterdir()) == []


def test_sweeping_deletes_what_expired_and_what_nobody_knows(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    for file_id in ("kept", "over", "nobodys", "new", "awaited", "late", "left"):
        archive.volume.keep(file_id, lambda path: path.touch())
    long_ago = NOW.timestamp() - FORGOTTEN
    archive.files.add(replace(FILE, file_id="kept", expires_at=datetime.max.replace(tzinfo=UTC)), 10**9)
    archive.files.add(replace(FILE, file_id="over", expires_at=datetime(2000, 1, 1, tzinfo=UTC)), 10**9)
    far = datetime.max.replace(tzinfo=UTC)
    archive.uploads.reserve(replace(UPLOAD, upload_id="awaited", expires_at=far), 10**9)
    archive.uploads.reserve(replace(UPLOAD, upload_id="late", expires_at=datetime(2000, 1, 1, tzinfo=UTC)), 10**9)
    archive.volume.path("left").rename(tmp_path / "left.part")
    for name in ("awaited.part", "awaited.lock", "late.part", "left.lock"):
        (tmp_path / name).touch()
    for file_id in ("kept", "over", "nobodys", "awaited", "awaited.part", "awaited.lock", "left.part", "left.lock"):
        os.utime(archive.volume.path(file_id), (long_ago, long_ago))
    archive.sweep()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "awaited",
        "awaited.lock",
        "awaited.part",
        "kept",
        "new",
    ]
