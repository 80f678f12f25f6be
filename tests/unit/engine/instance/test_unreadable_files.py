"""Files and folders of an instance that the service may not read: each is named with the way out."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest

from engine.instance.documents import InstanceFaults
from server.feeds.instance import read_instance
from server.ingest.folder import InstanceWatcher
from tests.support.books.small import write_instance

WAY_OUT = "let the user that runs Tieout read it: chmod -R go+rX FOLDER"


@pytest.fixture
def instance() -> Iterator[Path]:
    """An instance in a folder that every user reaches."""
    folder = Path(mkdtemp(prefix="tieout-unreadable-"))
    folder.chmod(0o755)
    made = write_instance(
        folder / "books",
        facts={"gl": "date scenario region amount\n2021-01-05 actual EU 10.50"},
        domains={"gl": "time: {column: date}\ndimensions: {region: region}\nmeasures: {amount: {places: 2}}"},
        dimensions="region: {kind: leaf}",
    )
    for path in (made, *made.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield made
    rmtree(folder)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Let this process be nobody until the block ends, where it is root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


def faults_of(instance: Path, part: str) -> list[str]:
    """Return the faults of an instance of which nobody but its owner may read a part, and that not either."""
    path = instance / part
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        with ordinary_user(), pytest.raises(InstanceFaults) as refused:
            read_instance(instance)
    finally:
        path.chmod(mode)
    return list(map(str, refused.value.faults))


def test_who_watches_the_files_says_the_same_and_keeps_what_was_read(
    instance: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watcher = InstanceWatcher(instance)
    instance.chmod(0)
    try:
        with ordinary_user():
            assert not watcher.look()  # a change, which has not rested yet
            assert not watcher.look()
            with pytest.raises(InstanceFaults):
                InstanceWatcher(instance)
    finally:
        instance.chmod(0o755)
    assert f"{instance}: is a folder that may not be read — {WAY_OUT}" in caplog.messages
    assert list(watcher.instance.catalogue.domains) == ["gl"]
    with ordinary_user():
        assert not watcher.look()
        assert watcher.look()


def test_what_everybody_may_read_is_read(instance: Path) -> None:
    with ordinary_user():
        assert list(read_instance(instance).catalogue.domains) == ["gl"]


@pytest.mark.parametrize("file", ["instance.yaml", "domains/gl.yaml", "scenarios.yaml", "integrations.yaml"])
def test_a_file_that_may_not_be_read_is_named(instance: Path, file: str) -> None:
    (instance / "integrations.yaml").touch(0o644)
    assert faults_of(instance, file) == [f"{file}: may not be read — {WAY_OUT}"]


def test_a_folder_that_may_not_be_read_is_named_and_not_taken_for_an_empty_one(instance: Path) -> None:
    assert faults_of(instance, "domains") == [f"domains: is a folder that may not be read — {WAY_OUT}"]
    assert faults_of(instance, "") == [f"{instance}: is a folder that may not be read — {WAY_OUT}"]
