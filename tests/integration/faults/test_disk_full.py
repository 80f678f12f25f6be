"""A full disk: the load fails and says so, the books stay as they were, and the next load with room succeeds."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from engine.door import open_books
from engine.facts import landing
from engine.facts.manifest import current_version
from server.base.interfaces import LoadQuery
from server.feeds.feeds import LoadStatus
from server.ingest.load import BindingFailed
from tests.support.books.loads import load_feeds
from tests.support.books.small import figure, write_instance
from tests.support.engines.disks import disk
from tests.support.engines.memory import MemoryLoads

HEAD = "date,scenario,note,amount\n"
DOMAIN = """
    time: {column: date}
    dimensions: {}
    measures: {amount: {places: 2}}
    inspect_columns: [note]
    metrics:
      revenue: {measure: amount}
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MB."""
    with disk(tmp_path / "disk", 4) as folder:
        yield folder


def rows(count: int, amount: int) -> str:
    """Return rows whose notes do not compress."""
    return HEAD + "".join(f"2021-01-{row % 28 + 1:02},actual,note {row:030},{amount}\n" for row in range(count))


@pytest.mark.parametrize(
    ("room", "held"),  # full while it spools, while it stages what it spooled, and what it held in memory
    [(3_000_000, 0), (2_000_000, 0), (3_500_000, landing.HELD_BYTES)],
)
def test_a_full_disk_fails_the_load_and_harms_nothing(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch, room: int, held: int
) -> None:
    monkeypatch.setattr(landing, "HELD_BYTES", held)
    instance = write_instance(tmp_path / "small", facts={"gl": "date"}, domains={"gl": DOMAIN})
    ledger, loads = instance / "data" / "gl.csv", MemoryLoads()
    ledger.write_text(rows(10, 1))
    load_feeds(instance, small_disk, loads=loads)
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * room)
    ledger.write_text(rows(20_000, 2))
    with pytest.raises(BindingFailed, match=r"the disk that holds the books is full.* free some space") as failed:
        load_feeds(instance, small_disk, loads=loads)
    assert failed.value.status is LoadStatus.FAILED_STAGE
    attempt = loads.find(LoadQuery(bindings={"gl"}))[0]
    assert (attempt.status, attempt.message) == (LoadStatus.FAILED_STAGE, failed.value.message)
    assert current_version(small_disk / "store") == 1
    books = open_books(instance, state=small_disk)
    assert figure(books.metric("revenue", scenarios={"A": "actual"}, period="2021")) == 10
    filler.unlink()
    assert load_feeds(instance, small_disk, loads=loads)[0].rows_landed == 20_000
    assert figure(books.metric("revenue", scenarios={"A": "actual"}, period="2021")) == Decimal(40_000)
