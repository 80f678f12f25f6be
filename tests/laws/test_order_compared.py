"""What the law of order compares: everything but references and times; a planted difference breaks it."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest

from engine.books.books import Books
from server.base.interfaces import Principal
from tests.laws.order.answering import OrderedBooks, masked
from tests.laws.order.chains import write_chains
from tests.laws.order.law import BrokenOrder, hold_at_once, hold_fewest
from tests.laws.order.steps import SequenceStep
from tests.laws.scoped.calls import BudgetedCall
from tests.support.books.loads import load_feeds
from tests.support.engines.memory import MemoryLoads

ANSWER = b'{"data_ref":"ds_%b","values":[1,20],"notes":["a"],"made_at":"2026-01-0%b","file_id":"%b"}'
USUAL = ANSWER % (b"a" * 32, b"1", b"f1")
ASKED = {"metrics": ["m0"], "scenarios": [{"scenario": "actual"}], "period_start": "2020-01"}
STEPS = [
    SequenceStep(BudgetedCall("run_metric", {**ASKED, "dimensions": dimensions}), Principal("ada"))
    for dimensions in (["shop"], ["item"], ["items"])
]


def test_references_and_times_are_not_compared() -> None:
    assert masked(USUAL) == masked(ANSWER % (b"b" * 32, b"2", b"f2"))


@pytest.mark.parametrize(
    ("old", "new"), [(b"20", b"21"), (b'"a"', b'"b"'), (b"[1,20]", b"[20,1]"), (b'"notes":["a"],', b"")]
)
def test_all_else_is_compared(old: bytes, new: bytes) -> None:
    assert masked(USUAL) != masked(USUAL.replace(old, new))


@pytest.fixture
def chains(tmp_path: Path) -> OrderedBooks:
    """Books whose classes have many targets."""
    loads, written = MemoryLoads(), write_chains(tmp_path / "books")
    load_feeds(written, tmp_path / "state", loads=loads)
    return OrderedBooks(written, tmp_path / "state", loads)


def shortened(key: Any) -> Hashable:
    """Return the key of a memo of base groups without its axes."""
    is_groups = isinstance(key, tuple) and isinstance(key[-1], tuple) and key[-1][:1] == ("base_groups",)
    return (*key[:-1], key[-1][:2]) if is_groups else key


def test_a_memo_that_forgets_its_axes_breaks_the_law(chains: OrderedBooks, monkeypatch: pytest.MonkeyPatch) -> None:
    hold_fewest(chains, STEPS)
    hold_at_once(chains, [STEPS] * 2)
    memo = Books.memo
    monkeypatch.setattr(Books, "memo", lambda books, key, *given, **named: memo(books, shortened(key), *given, **named))
    with pytest.raises(BrokenOrder, match="run_metric"):
        hold_fewest(chains, STEPS)
    with pytest.raises(BrokenOrder, match="run_metric"):
        hold_at_once(chains, [STEPS] * 2)
