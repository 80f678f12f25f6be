"""Backup and restore, as drills: what was there is destroyed, and comes back the same."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path
from secrets import token_hex

import psycopg
import pytest

from engine.door import open_books
from engine.instance.read import instance_files
from server.auth.bearer import dev_key
from server.base.interfaces import LoadQuery, StoreDown
from server.base.settings import Settings
from server.feeds.feeds import LoadAttempt
from server.run.backup import BundleFault, back_up, restore
from server.run.embedded.platform import platform
from server.stores.migrations import migrate, read_migrations
from tests.support.books.loads import ROOT, load_feeds
from tests.support.books.small import write_instance
from tests.support.engines.postgres import SeparateServer
from tests.support.service import forks
from tests.support.service.keeper import said, using

ACTUALS = {"A": "actual"}


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    """A ledger, with a calendar table and prose of its own."""
    folder = write_instance(
        tmp_path / "books",
        facts={"gl": "date scenario product amount\n2021-01-05 actual A 10.25\n2021-02-05 actual B 32.5"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            metrics: {revenue: {measure: amount}}
            """
        },
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id name\nA Apple\nB Bear"},
    )
    (folder / "orientation.md").write_text("Ask for revenue.\n")
    return folder


def script(name: str, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run one of the scripts."""
    return forks.script(ROOT / "scripts" / name, *arguments, environment={**os.environ, **environment})


def load(instance: Path, settings: Settings) -> Sequence[LoadAttempt]:
    """Load the books, one good attempt and one that fails, and return the history."""
    with platform(settings) as opened:
        opened.wait()
        load_feeds(instance, settings.state_folder, loads=opened.loads)
        data = instance / "data" / "gl.csv"
        good = data.read_text()
        data.write_text(good + "2021-03-05,actual,A,none\n")
        with pytest.raises(Exception, match="rejected"):
            load_feeds(instance, settings.state_folder, "gl", loads=opened.loads)
        data.write_text(good)
        return history(settings)


def history(settings: Settings) -> Sequence[LoadAttempt]:
    """Return the history of loads."""
    with platform(settings) as opened:
        opened.wait()
        return list(opened.loads.find(LoadQuery(bindings=("gl", "product"))))


def figures(instance: Path, state: Path) -> object:
    """Return the figures of the books."""
    books = open_books(instance, state=state)
    return books.metric(
        "revenue", scenarios=ACTUALS, period=("2021-01", "2021-02"), dimensions=["product"]
    ).frame.rows()


def test_a_drill_on_the_embedded_database(instance: Path, tmp_path: Path) -> None:
    state, bundle = tmp_path / "state", tmp_path / "backup.tar"
    settings = Settings(instance=instance, state=state)
    attempts, before = load(instance, settings), figures(instance, state)
    assert [attempt.status.value for attempt in attempts][:2] == ["failed_validate", "success"]
    key = dev_key(None, state)
    (state / "files").mkdir()
    (state / "files" / "export.json").write_text("{}")
    done = script("backup.py", bundle, "--with-keys", SVC_INSTANCE=str(instance), SVC_STATE_DIR=str(state))
    assert (done.returncode, done.stderr) == (0, "")
    assert "books of version" in done.stdout
    assert bundle.stat().st_mode & 0o777 == 0o600

    shutil.rmtree(state)
    shutil.rmtree(instance)
    restored = script("restore.py", bundle, tmp_path / "new")
    assert (restored.returncode, restored.stderr) == (0, "")
    assert f"set SVC_STATE_DIR={tmp_path / 'new'}" in restored.stdout

    again = tmp_path / "new" / "instance"
    assert (again / "orientation.md").read_text() == "Ask for revenue.\n"
    assert figures(again, tmp_path / "new") == before
    assert history(Settings(instance=again, state=tmp_path / "new")) == attempts
    assert dev_key(None, tmp_path / "new") == key
    assert (tmp_path / "new" / "dev.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new" / "files" / "export.json").read_text() == "{}"
    assert len(list((tmp_path / "new" / "rejects").iterdir())) == 1
    assert not list(tmp_path.glob("*.restoring"))


def test_a_drill_on_a_separate_server(instance: Path, tmp_path: Path, database_server: SeparateServer) -> None:
    state, bundle = tmp_path / "state", tmp_path / "backup.tar"
    old, new = (f"{name}_{token_hex(4)}" for name in ("old", "new"))
    with closing(psycopg.connect(database_server.uri(), autocommit=True)) as connection:
        connection.execute(f"create database {old}".encode())
        uri = database_server.uri(old)
        migrate(uri, read_migrations(), lambda _: None)
        attempts = load(instance, Settings(instance=instance, state=state, database_url=uri))
        before = figures(instance, state)
        done = script("backup.py", bundle, SVC_INSTANCE=str(instance), SVC_STATE_DIR=str(state), DATABASE_URL=uri)
        assert (done.returncode, done.stderr) == (0, "")

        kept = script("restore.py", bundle, tmp_path / "new", DATABASE_URL=uri)
        assert "the database to restore into holds tables; name a new one, and switch to it afterwards" in kept.stderr
        connection.execute(f"create role reader_{new} login password 'reads-only'".encode())
        reading = database_server.uri(new, "reads-only").replace("platform:", f"reader_{new}:")
        with pytest.raises(
            StoreDown, match=r"cannot be created \(permission denied .*create it yourself, empty, and restore"
        ):
            restore(Settings(database_url=reading), bundle, tmp_path / "new")
        shutil.rmtree(state)
        connection.execute(f"drop database {old}".encode())
        restored = script("restore.py", bundle, tmp_path / "new", DATABASE_URL=database_server.uri(new))
        assert (restored.returncode, restored.stderr) == (0, "")
        assert database_server.password not in done.stdout + kept.stderr + restored.stdout
        settings = Settings(instance=instance, state=tmp_path / "new", database_url=database_server.uri(new))
        assert figures(instance, tmp_path / "new") == before
        assert history(settings) == attempts
        assert not (tmp_path / "new" / "postgres").exists()


@pytest.fixture
def backed_up(instance: Path, tmp_path: Path) -> Path:
    """A bundle."""
    state, bundle = tmp_path / "state", tmp_path / "backup.tar"
    load(instance, Settings(instance=instance, state=state))
    dev_key(None, state)
    back_up(Settings(instance=instance, state=state), bundle, with_keys=False)
    return bundle


def part_of(bundle: tarfile.TarFile, name: str) -> bytes:
    """Return the content of a file of a bundle."""
    found = bundle.extractfile(name)
    assert found is not None
    return found.read()


def rewritten(bundle: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """Return a copy of a bundle with its parts changed, or left out."""
    copy = bundle.with_name(f"{change.__name__}.tar")
    with tarfile.open(bundle) as source, tarfile.open(copy, "w") as target:
        for entry in source:
            content = change(entry.name, part_of(source, entry.name))
            if content is not None:
                entry.size = len(content)
                target.addfile(entry, BytesIO(content))
    return copy


def test_a_backup_tells_keys_by_an_id_and_holds_them_only_if_asked(backed_up: Path, tmp_path: Path) -> None:
    key = (tmp_path / "state" / "dev.key").read_text()
    with tarfile.open(backed_up) as tar:
        manifest = json.loads(part_of(tar, "manifest.json"))
        names = tar.getnames()
    assert not [name for name in names if name.startswith("keys")]
    assert key.encode() not in backed_up.read_bytes()
    assert set(manifest["keys"]) == {"dev.key"}
    assert manifest["app_version"] == "0.3.0"
    assert list(manifest["migrations"]) == sorted(path.name for path in (ROOT / "migrations").glob("*.sql"))
    assert set(manifest["parts"]) == set(names) - {"manifest.json"}


def test_what_is_damaged_or_not_whole_is_restored_by_nothing(backed_up: Path, tmp_path: Path) -> None:
    def flipped(name: str, content: bytes) -> bytes:
        return bytes([content[0] ^ 1]) + content[1:] if name == "database.dump" else content

    def beside(name: str, content: bytes) -> bytes | None:
        return None if name.startswith("store/facts") else content

    def newer(name: str, content: bytes) -> bytes:
        return content.replace(b'"008_artifacts.sql"', b'"099_later.sql"') if name == "manifest.json" else content

    def unreadable(name: str, content: bytes) -> bytes:
        return b"{" if name == "manifest.json" else content

    def ended(name: str, content: bytes) -> bytes | None:
        return None if name == "manifest.json" else content

    cut = tmp_path / "cut.tar"
    cut.write_bytes(backed_up.read_bytes()[:5000])
    other = tmp_path / "other.tar"
    other.write_text("no tar at all")
    for bundle, says in (
        (rewritten(backed_up, flipped), "is damaged: database.dump is not what was backed up; use another one"),
        (rewritten(backed_up, beside), "is damaged: store/facts/"),
        (cut, "is not a whole backup: it is no tar file, or it is cut off; use another one"),
        (other, "is not a whole backup: it is no tar file, or it is cut off; use another one"),
        (rewritten(backed_up, unreadable), "is not a whole backup: its manifest.json cannot be read; use another one"),
        (rewritten(backed_up, ended), "is not a whole backup: it has no manifest.json at its end; use another one"),
        (tmp_path / "nowhere.tar", "nowhere.tar is not there; use another one"),
        (rewritten(backed_up, newer), "which has 099_later.sql; restore it with that version"),
    ):
        with pytest.raises(BundleFault) as refused:
            restore(Settings(), bundle, tmp_path / "new")
        assert says in str(refused.value)
        assert not (tmp_path / "new").exists()
        assert not (tmp_path / "new.restoring").exists()


def test_a_part_that_would_be_written_elsewhere_is_refused(tmp_path: Path) -> None:
    for name, kind in (("../outside", tarfile.REGTYPE), ("/outside", tarfile.REGTYPE), ("link", tarfile.SYMTYPE)):
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, str(tmp_path)
        with tarfile.open(tmp_path / "odd.tar", "w") as tar:
            tar.addfile(entry)
        with pytest.raises(BundleFault, match=f"a backup has no part like {re.escape(name)}; use another one"):
            restore(Settings(), tmp_path / "odd.tar", tmp_path / "new")
        assert not list(tmp_path.rglob("outside"))


def test_nothing_that_is_there_is_overwritten(backed_up: Path, instance: Path, tmp_path: Path) -> None:
    refused = script("restore.py", backed_up, tmp_path / "state")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("Nothing was restored: ")
    assert "is there already; restore into a new folder, and switch to it afterwards" in refused.stderr
    (tmp_path / "new.restoring").mkdir()
    with pytest.raises(BundleFault, match=r"new\.restoring is left of a restore that was cut off; remove it first"):
        restore(Settings(), backed_up, tmp_path / "new")
    with pytest.raises(BundleFault, match=r"the backup cannot be restored: .*Not a directory"):
        restore(Settings(), backed_up, backed_up / "new")
    before = backed_up.read_bytes()
    settings = Settings(instance=instance, state=tmp_path / "state")
    with pytest.raises(BundleFault, match="is there already; a backup never replaces another"):
        back_up(settings, backed_up, with_keys=False)
    assert backed_up.read_bytes() == before
    with pytest.raises(BundleFault, match=r"the backup cannot be written: .*No such file or directory"):
        back_up(settings, tmp_path / "nowhere" / "backup.tar", with_keys=False)


def test_a_calendar_table_is_a_file_that_people_wrote(tmp_path: Path) -> None:
    (tmp_path / "calendar.csv").write_text("code,first,last,quarter,year\n")
    (tmp_path / "rates.csv").write_text("data of a feed\n")
    (tmp_path / "trading.csv").write_text("code,first,last,quarter,year\n")
    two = "calendar: calendar.csv\ntrading_calendar: trading.csv\n"
    (tmp_path / "instance.yaml").write_text(f"name: Books\ncurrency: EUR\n{two}")
    assert list(instance_files(tmp_path)) == ["instance.yaml", "calendar.csv", "trading.csv"]


def test_a_backup_is_made_beside_a_server_that_runs(instance: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    attempts = load(instance, Settings(instance=instance, state=state))
    with using(state) as server:
        assert said(server) == "up"
        made = script("backup.py", tmp_path / "b.tar", SVC_INSTANCE=str(instance), SVC_STATE_DIR=str(state))
        assert made.returncode == 0, made.stderr
        assert server.poll() is None
    assert script("restore.py", tmp_path / "b.tar", tmp_path / "new").returncode == 0
    assert history(Settings(instance=instance, state=tmp_path / "new")) == attempts
