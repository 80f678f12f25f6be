"""Earlier versions of the books: they go when no call reads them, though some of their memos hold them."""

import gc
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from weakref import ref

import pytest

from engine.model.errors import Refusal
from engine.report import ranking
from tests.support.books.varied import WHO, VariedBooks, calls, metric


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Collect no garbage: in a worker the collector comes once in millions of objects."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("small", [ranking.MAX_SMALL, 0])
def test_a_version_that_no_call_reads_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", small)
    books = VariedBooks(tmp_path)
    books.open(reads=1)
    first = ref(books.shelf.current())
    for call, who in product(calls(), WHO):
        with suppress(Refusal):
            books.ask(call, who)
    assert first() is books.shelf.current()
    books.load_other_members()
    books.ask(metric(), WHO[0])
    assert first() is None


@pytest.mark.usefixtures("uncollected")
def test_memos_of_a_version_stay_while_calls_read_it_and_go_however_long_one_does(tmp_path: Path) -> None:
    books = VariedBooks(tmp_path)
    books.open(reads=15)
    books.ask(metric(), WHO[0])
    long = books.shelf.current()  # of a call that still runs
    first = ref(long)
    books.load_other_members()
    for _ in range(13):
        books.ask(metric(), WHO[0])
    memos = long.memo_bytes
    assert memos > 0
    second = books.shelf.current()
    assert second is not long
    books.load_other_members()
    books.ask(metric(), WHO[0])
    assert long.memo_bytes == 0 < second.memo_bytes
    long.members("entity")
    assert long.memo_bytes > 0
    del long, second
    for _ in range(16):
        books.ask(metric(), WHO[0])
    assert first() is None
