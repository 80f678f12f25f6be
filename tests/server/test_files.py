"""What is known of files and callers: one contract, held by memory, the embedded database and a separate server."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from server.ports import File, Files, Principals, Seen, StoreDown
from server.stores.disk import FORGOTTEN, Volume
from server.stores.files import PostgresFiles, PostgresPrincipals
from server.stores.held import MemoryFiles, MemoryPrincipals
from server.stores.migrations import migrate, read_migrations
from server.stores.postgres import Database
from tests.support.holding import archive_in
from tests.support.postgres import schema_of

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


@pytest.fixture(params=["memory", "embedded", "server"])
def stores(request: pytest.FixtureRequest) -> Iterator[tuple[Files, Principals]]:
    """Each store of files and callers, empty."""
    if request.param == "memory":
        yield MemoryFiles(), MemoryPrincipals()
        return
    uri = (
        request.getfixturevalue("embedded_server")
        if request.param == "embedded"
        else request.getfixturevalue("database_server").uri()
    )
    with schema_of(uri) as schema:
        migrate(schema, read_migrations(), lambda _: None)
        with closing(Database(schema)) as database:
            yield PostgresFiles(database), PostgresPrincipals(database)


def test_a_file_is_found_as_it_was_added_until_it_expires(stores: tuple[Files, Principals]) -> None:
    files, _ = stores
    assert files.add(FILE, QUOTA)
    assert files.get("f1", NOW) == FILE
    assert files.get("f1", FILE.expires_at) is None
    assert files.get("f2", NOW) is None
    assert files.get("f1'; drop table files; --", NOW) is None


def test_an_owner_has_room_for_so_much_and_gets_it_back(stores: tuple[Files, Principals]) -> None:
    files, _ = stores
    assert files.add(FILE, QUOTA)
    assert files.add(replace(FILE, file_id="f2"), QUOTA)
    assert not files.add(replace(FILE, file_id="f3"), QUOTA)
    assert files.get("f3", NOW) is None
    assert files.add(replace(FILE, file_id="f4", owner="bob"), QUOTA)
    assert files.add(replace(FILE, file_id="f5", size_bytes=200), QUOTA)
    assert sorted(files.expire(FILE.expires_at)) == ["f1", "f2", "f4", "f5"]
    assert list(files.expire(FILE.expires_at)) == []
    assert files.add(replace(FILE, file_id="f3"), QUOTA)


def test_many_at_once_are_no_more_than_there_is_room_for(stores: tuple[Files, Principals]) -> None:
    files, _ = stores
    with ThreadPoolExecutor(8) as threads:
        added = list(threads.map(lambda at: files.add(replace(FILE, file_id=f"f{at}"), QUOTA), range(16)))
    assert sum(added) == 2


def test_only_what_is_available_is_known(stores: tuple[Files, Principals]) -> None:
    files, _ = stores
    files.add(FILE, QUOTA)
    assert list(files.known(["f1", "f2", "../f1"])) == ["f1"]
    files.expire(FILE.expires_at)
    assert list(files.known(["f1"])) == []


def test_what_a_token_said_last_is_what_counts(stores: tuple[Files, Principals]) -> None:
    _, principals = stores
    first = Seen(claims={"groups": ("finance", "board"), "sub": ("ann",)}, at=NOW)
    later = Seen(claims={"groups": ("finance",)}, at=NOW + timedelta(seconds=1))
    assert principals.last("ann") is None
    principals.record("ann", first)
    assert principals.last("ann") == first
    principals.record("ann", later)
    principals.record("ann", first)  # of a call that took longer
    assert principals.last("ann") == later
    assert principals.last("bob") is None


def test_a_volume_keeps_files_whole_or_not_at_all(tmp_path: Path) -> None:
    volume = Volume(tmp_path / "files", 1)
    size, digest = volume.keep("f1", lambda path: path.write_bytes(b"abc") and None)
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


def test_sweeping_deletes_what_expired_and_what_nobody_knows(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    for file_id in ("kept", "over", "nobodys", "new"):
        archive.volume.keep(file_id, lambda path: path.touch())
    long_ago = NOW.timestamp() - FORGOTTEN
    archive.files.add(replace(FILE, file_id="kept", expires_at=datetime.max.replace(tzinfo=UTC)), 10**9)
    archive.files.add(replace(FILE, file_id="over", expires_at=datetime(2000, 1, 1, tzinfo=UTC)), 10**9)
    for file_id in ("kept", "over", "nobodys"):
        os.utime(archive.volume.path(file_id), (long_ago, long_ago))
    archive.sweep()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "new"]
