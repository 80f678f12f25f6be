"""What threads share is whole before it is seen: no class that memos hold changes but through the helper of caching."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from engine.books.books import Books, Shelf
from engine.books.reader import Reader
from engine.model.caching import LazyTable, cached_method
from engine.model.profiles import Profile
from engine.queries.values import Filter, Query
from server.base.interfaces import Principal
from server.caller.caller import Caller, Callers
from server.caller.feeds import Feeds
from server.feeds.instance import read_instance
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.contracts.test_stops import CALLS, SMALL, books_of
from tests.support.answers.calls import LISTS
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.checks.memo_check import OF_ONE_CALL
from tests.support.engines.memory import MemoryLoads
from tests.support.service.shared_objects import faults, reached, shared_classes

SEARCHES = ({"query": "C001"}, {"query": "Nmae1"}, {"dimension": "customer"})
CHANGING = {  # class to the members that change, and why
    "Books": "self._memos, self._memo_members, self._turns: the memos themselves, behind a lock",
    "Shelf": "self._books, self._earlier, self._reads, self._forgets_at: the next version, which is opened before it "
    "stands here, and when the memos of earlier ones go, which a thread may do later",
    "Pin": "self._descriptor: the version is let go of when nobody has it",
    "Answer": "result, details: made whole by its tool; JSON is written as dict everywhere",
}


def shelf_after_calls(folder: Path) -> Shelf:
    """Return a shelf once every kind of call was made on its books."""
    instance = read_instance(books_of(folder, SMALL))
    shelf, keeping = Shelf(instance.catalogue, folder / "state" / "store"), keeping_in(folder / "files")
    callers = Callers(instance, shelf, Feeds.of({}, MemoryLoads(), {}), keeping, WORKSHOP, 5_000, 1_000)
    listed = [*LISTS.values(), *(("search_hierarchy", asked) for asked in SEARCHES)]
    for name, sent in (*listed, *(call(SMALL) for call in CALLS.values())):
        tool = TOOLS[name]
        tool.answer(callers.of(Principal("dev"), lambda: None), read_request(tool.shape, sent))
    return shelf


def told(cls: type) -> list[str]:
    """Return what can change of a class, the members aside that are named above."""
    named = CHANGING.get(cls.__name__, "").partition(":")[0].split(", ")
    return [fault for fault in faults(cls) if not any(name and name in fault for name in named)]


def test_a_class_that_memos_hold_changes_through_the_helper_alone(tmp_path: Path) -> None:
    classes = shared_classes(shelf_after_calls(tmp_path))
    assert {"BaseGroup", "SeenDays", "IntervalSplits", "RaggedNodes", "AmountMemo", "MappedFacts", "Index"} <= {
        cls.__name__ for cls in classes
    }
    assert {cls.__qualname__: said for cls in classes if (said := told(cls))} == {}
    assert OF_ONE_CALL.isdisjoint(cls.__name__ for cls in classes)


def test_what_memos_hold_for_all_callers_carries_nothing_of_the_first_one(tmp_path: Path) -> None:
    memos = shelf_after_calls(tmp_path).current()._memos
    for_all = {key: value for key, (value, _) in memos.items() if isinstance(key, tuple) and key[0] == "for all"}
    assert {"base_groups", "classes", "amounts", "windows", "expression"} <= {key[1][0] for key in for_all}
    carried = {
        (key[1][0], type(one).__name__)
        for key, value in for_all.items()
        for one in reached(value, (Books,))
        if isinstance(one, (Reader, Filter, Query, Profile, Caller, Principal))
    }
    assert carried == set()


class Filled(Struct, frozen=True, dict=True):
    """What is filled as it should be."""

    names: Sequence[str]

    @cached_property
    def by_name(self) -> Mapping[str, int]:
        """A value that is made whole."""
        return {name: at for at, name in enumerate(self.names)}

    @cached_property
    def table(self) -> LazyTable[str, int]:
        """Values that are made later."""
        return LazyTable()

    @cached_method
    def length(self, name: str) -> int:
        """Return a value that is made later."""
        return len(name)


class Unfrozen(Struct):
    """A structure that anybody changes."""

    name: str


class WithList(Struct, frozen=True):
    """A structure with a list."""

    names: list[str]


class WithTable(Struct, frozen=True, dict=True):
    """A structure whose cached member is filled later."""

    @cached_property
    def table(self) -> dict[str, int]:
        """A table."""
        return {}


class WithMethod(Struct, frozen=True, dict=True):
    """A structure whose cached method returns what changes."""

    @cached_method
    def names(self, name: str) -> set[str]:
        """Return names."""
        return {name}


@dataclass
class Remembering:
    """A dataclass that remembers its first caller."""

    first: str | None = None


class AmountTexts(dict[str, int]):
    """A table."""


class Seen:
    """An object that remembers who asked."""

    def __init__(self) -> None:
        self.names = deque[str](maxlen=3)


class Counting:
    """An object that counts who asked."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names
        self.count = 0

    def ask(self) -> None:
        """Count."""
        self.count += 1


class Adding(Counting):
    """An object that adds a name."""

    def add(self, name: str) -> None:
        """Add a name."""
        self.names["all"].append(name)


class Setting(Filled, frozen=True):
    """A structure that sets a member of a frozen object."""

    def rename(self, names: Sequence[str]) -> None:
        """Set the names."""
        object.__setattr__(self, "names", names)


@pytest.mark.parametrize(
    ("cls", "fault"),
    [
        (Unfrozen, "it is not frozen"),
        (WithList, "names is a list[str]"),
        (WithTable, "table returns a dict[str, int]"),
        (WithMethod, "names returns a set[str]"),
        (Remembering, "it is not frozen"),
        (AmountTexts, "it is a dict"),
        (Seen, "it is made with self.names"),
        (Counting, "ask changes self.count"),
        (Adding, "add changes self.names['all']"),
        (Setting, "rename changes object.__setattr__(self, 'names', names)"),
    ],
)
def test_a_member_that_the_helper_does_not_fill_is_found(cls: type, fault: str) -> None:
    assert list(faults(Filled)) == []
    assert list(faults(cls)) == [fault]
