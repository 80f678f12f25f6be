"""The check of the books reads their manifest when it has changed, and lets go of what it read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.facts.manifest import Manifest, current_version, manifest_file
from server.base.interfaces import StoreDown
from server.feeds.instance import read_instance
from server.ops.health_checks import StoredBooks
from tests.support.books.loads import load_instance
from tests.support.books.small import write_ledger


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    """An instance of one ledger that is loaded."""
    path = write_ledger(tmp_path, "2021-01-05 actual 10\n2021-02-05 actual 20")
    load_instance(path, tmp_path / "state")
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the manifests that are read, as they are read."""
    sizes: list[int] = []
    read: Callable[[bytes], Manifest] = Manifest.from_json

    def counting(text: bytes) -> Manifest:
        sizes.append(len(text))
        return read(text)

    monkeypatch.setattr(Manifest, "from_json", counting)
    return sizes


def stored(instance: Path, told: list[int]) -> StoredBooks:
    """Return the check of a loaded instance, and what it tells of the version in a list."""
    catalogue = read_instance(instance).catalogue
    return StoredBooks(catalogue, instance.parent / "state" / "store", lambda version, _: told.append(version))


def test_a_manifest_that_did_not_change_is_read_once(instance: Path, reads: list[int]) -> None:
    told: list[int] = []
    books = stored(instance, told)
    assert [books.use() for _ in range(5)] == [None] * 5
    assert (len(reads), told) == (1, [1] * 5)


def test_a_publish_is_seen_by_the_next_check_and_deletes_the_version_of_before(instance: Path, tmp_path: Path) -> None:
    told: list[int] = []
    books, store = stored(instance, told), tmp_path / "state" / "store"
    books.use()
    with (instance / "data" / "gl.csv").open("a") as rows:
        rows.write("2021-03-05,actual,30\n")
    load_instance(instance, tmp_path / "state")
    books.use()
    assert told == [1, current_version(store)]
    assert [path.name for path in (store / "manifests").iterdir()] == [f"{current_version(store):06}.json"]


def test_a_manifest_that_is_written_again_is_read_again(instance: Path, tmp_path: Path, reads: list[int]) -> None:
    books, path = stored(instance, []), manifest_file(tmp_path / "state" / "store", 1)
    books.use()
    text = path.read_text()
    for broken in (text[:-1], text.replace('"version":1', '"version":x'), "{}"):
        path.write_text(broken)
        with pytest.raises(StoreDown, match="cannot be opened"):
            books.use()
        path.write_text(text)
        books.use()
    path.unlink()
    with pytest.raises(StoreDown, match=r"cannot be opened: manifests/000001\.json \(No such file"):
        books.use()
    path.write_text(text)
    before = len(reads)
    assert [books.use() for _ in range(2)] == [None] * 2
    assert len(reads) == before + 1
