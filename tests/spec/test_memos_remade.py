"""Every memo holds what would be made now, whatever was asked before and by whom: the check of memos, and of itself."""

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from engine.books.books import Books
from engine.books.reader import Reader
from engine.model.caching import LazyTable
from engine.model.errors import Refusal
from engine.plans.base_groups import AccumulatorTarget, BaseGroup
from engine.report import ranking
from tests.support.books.loads import ROOT
from tests.support.books.varied import FILTERS, PERIODS, WHO, VariedBooks, calls, metric, statement
from tests.support.checks.memo_check import NOT_REMADE, Checks, MemoDiffers, checked_memos

LISTED = set(re.findall(r"^\| `(\S.*?)` \|", (ROOT / "docs" / "memos.md").read_text(encoding="utf-8"), re.MULTILINE))
HELD = {  # memos that books always meet in these calls
    *("axis", "base_groups", "classes", "windows", "reads", "lines", "places", "presences", "catalogue", "restricted"),
    *("BaseGroup.targets", "Batch.amounts", "Batch.amounts of leaves", "Presences.anchor", "RaggedNodes.leaves"),
}


@pytest.fixture
def collects() -> None:
    """Count no collects: the check reads what is kept anew."""


def test_every_memo_holds_what_would_be_made_now(tmp_path: Path) -> None:
    """Calls that vary one input at a time, by three callers of the same books; each kept value is made anew."""
    books = VariedBooks(tmp_path)
    refused = set[str]()
    with checked_memos() as checks:
        for call in calls():
            for who in WHO:
                try:
                    books.ask(call, who)
                except Refusal as refusal:
                    refused.add(type(refusal).__name__)
    assert checks.remade.keys() >= HELD
    assert checks.hits.keys() <= LISTED
    assert not any(checks.remade[name] for name in NOT_REMADE)
    assert refused <= {"UnknownName"}


def test_the_frames_of_months_hold_what_would_be_read_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", 0)
    books = VariedBooks(tmp_path)
    with checked_memos() as checks:
        for (start, end), metrics, who in product(PERIODS, (["gl.revenue"], ["gl.costs", "gl.revenue"]), WHO):
            books.ask(metric(metrics=metrics, period_start=start, period_end=end, top=1), who)
        for filters, who in product(FILTERS, WHO):
            books.ask(metric(filters=filters, top=1), who)
    assert checks.remade["FramedBatch.framed"] >= 2 * len(WHO)
    assert checks.hits.keys() <= LISTED


def test_a_key_that_forgets_an_input_is_found_by_name_and_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = VariedBooks(tmp_path)
    memo = Books.memo

    def forgetting(self: Books, key: object, *more: Any, **options: Any) -> object:
        """Forget the places of axes, as the key of base groups once did."""
        if isinstance(key, tuple) and key[0] == "for all" and key[1][0] == "base_groups":
            _, (name, bases, axes, *others) = key
            key = ("for all", (name, bases, tuple(axis[1:] for axis in axes), *others))
        return memo(self, key, *more, **options)

    monkeypatch.setattr(Books, "memo", forgetting)
    differs = r"base_groups: \[0\]\[0\]\.axes\[0\]\.place: 0 is kept, 1 is made"
    with pytest.raises(MemoDiffers, match=differs), checked_memos():
        for dimensions in (["entity", "product"], ["product", "entity"]):
            books.ask(statement(dimensions=dimensions), WHO[0])


def test_a_value_that_is_published_before_it_is_whole_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list stands in the table while it is filled; another thread reads it after its first entry."""
    books = VariedBooks(tmp_path)
    found: list[MemoDiffers] = []

    def read_beside(group: BaseGroup, key: tuple[tuple[int, ...], bool], make: Callable[[], object]) -> None:
        try:
            group._targets.get(key, make)  # type: ignore[arg-type]  # it makes targets
        except MemoDiffers as difference:
            found.append(difference)

    def too_early(self: BaseGroup, classes: tuple[int, ...], *, subtotals: bool) -> Sequence[AccumulatorTarget]:
        targets: list[AccumulatorTarget] = []
        key = (classes, subtotals)
        kept = self._targets.get(key, lambda: targets)
        for target in self._make_targets(classes, subtotals=subtotals) if kept is targets else ():
            targets.append(target)
            if len(targets) == 1:
                make = partial(tuple, self._make_targets(classes, subtotals=subtotals))
                beside = Thread(target=read_beside, args=(self, key, make))
                beside.start()
                beside.join()
        return kept

    monkeypatch.setattr(BaseGroup, "targets", too_early)
    with pytest.raises(MemoDiffers, match="read_beside"), checked_memos():
        books.ask(metric(), WHO[0])
    assert found


def part_of(value: Any) -> Any:
    """Return what a reader may see of a value that is not whole yet; the value itself if it is of one piece."""
    if isinstance(value, dict):
        return dict(list(value.items())[:-1])
    if isinstance(value, frozenset | set):
        return type(value)(sorted(value, key=repr)[:-1])
    return value[:-1] if isinstance(value, list | tuple) and type(value) in (list, tuple) else value


def test_every_value_that_is_published_before_it_is_whole_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader sees a part of what a table is filled with, once for each member of a shared object that has parts."""
    books, get = VariedBooks(tmp_path), LazyTable.get
    shown, found, checking = set[str](), set[str](), list[Checks]()

    def too_early(self: LazyTable[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
        made: list[None] = []

        def making() -> Any:
            value = make()
            made.append(None)
            return value

        value = get(self, key, making)
        reader = sys._getframe(2).f_code.co_qualname
        if made or reader in shown or checking[0].is_making or (part := part_of(value)) is value or part == value:
            return value
        shown.add(reader)
        return part

    monkeypatch.setattr(LazyTable, "get", too_early)
    with pytest.raises(MemoDiffers), checked_memos() as checks:
        checking.append(checks)
        for call in calls():
            try:
                books.ask(call, WHO[0])
            except MemoDiffers as difference:
                found.add(str(difference).partition(":")[0])
            except Refusal:
                continue
    assert found == shown
    assert shown >= {"BaseGroup.targets", "RaggedNodes.leaves", "DayCauses._causes_of_days"}


def test_the_check_leaves_the_product_as_it_was() -> None:
    before = (Books.memo, LazyTable.get, vars(Reader)["catalogue"])
    with checked_memos():
        assert Books.memo is not before[0]
    assert (Books.memo, LazyTable.get, vars(Reader)["catalogue"]) == before
