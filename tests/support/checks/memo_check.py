"""The check of memos: each value that is kept is made anew where it is read, and compared field by field.

    with checked_memos() as checks: …       checks what runs inside, in this process
    CHECK_MEMOS=1 python -m pytest …        checks all that a run of tests does in its processes; 7: each seventh read

A difference raises `MemoDiffers` with the name of the memo and the field, and again at the end, in case something
caught it. The product knows nothing of the check and pays nothing for it: the check stands in for `Books.memo`, for
`LazyTable.get`, for the cached methods and properties of shared classes, for functions with a cache, and for the end of
a plan, where amounts by month are read again. What it passes over is told in NOT_REMADE, with the reason.
"""

import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, local
from typing import Any

import pytest
from msgspec.structs import replace

from engine.books.books import Books, OfMembers, OfRows
from engine.model.caching import LazyTable
from engine.model.fact_store import SPAN
from engine.plans.accumulators import BatchAmounts
from engine.plans.figures import FigurePlan, Figures
from engine.plans.frames import FramedBatch, FramedSums
from engine.plans.measure import Batch
from tests.support.answers.differences import difference
from tests.support.service.shared_objects import is_cached_method

NOT_REMADE = {
    "amounts": "it grows: Batch.amounts is checked in its place",
    "sums in frames": "FramedBatch.framed is checked in its place",
    "first filter": "it remembers which filter came first, which decides how amounts are read, not what they are",
    "MappedFacts.occurring": "it remembers that a question came before, which decides whether a sample is asked first",
}
OF_ONE_CALL = {  # classes whose objects belong to one call: nobody else reads what they keep
    *("FramedBatch", "FramedFigures", "FramedSums"),
    *("AnswerParts", "Batch", "BlankCauses", "ColumnRead", "DayCauses", "DrillTemplate", "FigurePlan", "Figures"),
    *("Inspection", "Layout", "MetricBuilder", "RankedReport", "PlaceCut", "Platform", "Report", "ReportFigures"),
    *("DrillRule", "RowFilter", "RowPlan", "ShownCurrencies", "SidePairs", "TableProfile", "Variances"),
}
FIRST, OFTEN = 200, 50  # cached methods, properties and functions: each of the first reads, then each fiftieth
OF_NO_VALUE = ("_conf", "default_ssl_context")  # functions with a cache that make what cannot be compared


class MemoDiffers(AssertionError):
    """A memo holds something else than what would be made now."""


class State(local):
    """What a thread does."""

    is_making = False  # whether it makes a value anew, whose own reads are not checked


class Checks:
    """How often each memo was read, remade and found to differ, and the first differences in words."""

    def __init__(self, every: int = 1) -> None:
        self.every = every
        self.hits, self.remade, self.differing = Counter[str](), Counter[str](), Counter[str]()
        self.differences: list[str] = []
        self._state, self._lock = State(), Lock()

    @property
    def is_making(self) -> bool:
        """Whether this thread makes a value anew."""
        return self._state.is_making

    def remake(self, make: Callable[[], Any]) -> Any:
        """Make a value anew; nothing that is read for it is checked."""
        self._state.is_making = True
        try:
            return make()
        finally:
            self._state.is_making = False

    def check(self, name: str, kept: object, make: Callable[[], Any], *, is_often: bool = False) -> None:
        """Hold a kept value to the one that is made now. Of what is read very often, most reads are passed over."""
        with self._lock:
            number = self.hits[name]
            self.hits[name] += 1
            stride = self.every * (OFTEN if is_often and number > FIRST else 1)
            is_due = name not in NOT_REMADE and number % stride == 0
            self.remade[name] += is_due
        if is_due and (found := difference(kept, self.remake(make))):
            self.fail(f"{name}: {found}", name)

    def fail(self, words: str, name: str) -> None:
        """Note a difference and raise it."""
        with self._lock:
            self.differing[name] += 1
            self.differences.append(words)
        raise MemoDiffers(words)

    def table(self) -> str:
        """Return a line for each memo: reads, values made anew, differences."""
        lines = [
            f"| {name} | {count:,} | {self.remade[name]:,} | {self.differing[name] or 'none'} |"
            for name, count in sorted(self.hits.items())
        ]
        return "\n".join(("| Memo | Reads | Made anew | Differences |", "|---|---|---|---|", *lines))


def name_of(key: object) -> str:
    """Return the name of a memo of the books."""
    if isinstance(key, OfRows):
        return str(key.name[0])
    while isinstance(key, OfMembers) or (isinstance(key, tuple) and key[0] in ("for all", "as seen")):
        key = key.key if isinstance(key, OfMembers) else key[-1]
    return str(key[0] if isinstance(key, tuple) else key)


def checked_get(checks: Checks, get: Callable[..., Any], *, name: Callable[..., str]) -> Callable[..., Any]:
    """Return what stands in for a method that returns the value of a key, and makes it if there is none."""

    def checked(self: Any, key: Any, make: Callable[[], Any], *more: Any, **options: Any) -> Any:
        if checks.is_making:
            return get(self, key, make, *more, **options)
        made: list[object] = []

        def noted() -> Any:
            value = make()
            made.append(value)
            return value

        kept = get(self, key, noted, *more, **options)
        if not made:
            checks.check(name(key), kept, make)
        return kept

    return checked


def reader_of(_: object) -> str:
    """Return the function that reads a table, two frames above this one."""
    return sys._getframe(2).f_code.co_qualname


def checked_method(checks: Checks, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in for a cached method."""
    made, name = method.__wrapped__, method.__qualname__  # type: ignore[attr-defined]  # a cached method wraps another
    table = f"{made.__name__}()"

    @functools.wraps(method)
    def checked(self: Any, *arguments: Any) -> Any:
        is_kept = arguments in self.__dict__.get(table, {})
        value = method(self, *arguments)
        if is_kept and not checks.is_making:
            checks.check(name, value, lambda: made(self, *arguments), is_often=True)
        return value

    return checked


class CheckedProperty:
    """What stands in for a cached property: it is asked each time, where a cached one is asked once."""

    def __init__(self, checks: Checks, known: functools.cached_property[Any], owner: type) -> None:
        self._checks, self._made, self._name = checks, known.func, str(known.attrname)
        self._called = f"{owner.__qualname__}.{self._name}"
        self.__doc__ = known.__doc__

    def __get__(self, one: Any, owner: type | None = None) -> Any:
        """Return the value; make it if there is none, else hold it to the one that is made now."""
        if one is None:
            return self
        if self._name not in one.__dict__:
            return one.__dict__.setdefault(self._name, self._made(one))
        kept = one.__dict__[self._name]
        if not self._checks.is_making and not isinstance(kept, LazyTable):
            self._checks.check(self._called, kept, lambda: self._made(one), is_often=True)
        return kept

    def __set__(self, one: Any, value: object) -> None:
        """Set the value, as it is possible with a cached property."""
        one.__dict__[self._name] = value


def checked_function(checks: Checks, cached: Any) -> Callable[..., Any]:
    """Return what stands in for a function with a cache."""
    name, lock = f"{cached.__module__}.{cached.__qualname__}", Lock()

    @functools.wraps(cached)
    def checked(*arguments: Any, **options: Any) -> Any:
        if checks.is_making:
            return cached(*arguments, **options)
        with lock:  # so that the count of hits is that of this call
            before = cached.cache_info().hits
            value = cached(*arguments, **options)
            is_kept = cached.cache_info().hits > before
        if is_kept:
            checks.check(name, value, lambda: cached.__wrapped__(*arguments, **options), is_often=True)
        return value

    return checked


def checked_finish(checks: Checks, finish: Callable[..., Figures]) -> Callable[..., Figures]:
    """Return what stands in for the end of a plan: amounts that the books keep by month are read again."""

    def checked(self: FigurePlan, sums: Any) -> Figures:
        figures = finish(self, sums)
        for batch, amounts in (pair for pairs in figures.amounts.values() for pair in pairs):
            if batch.memo is not None and not checks.is_making:
                kept = by_month(amounts, batch.months, subtotals=batch.subtotals)
                name = "amounts of leaves" if batch.by_leaf else "amounts"
                checks.check(f"Batch.{name}", kept, functools.partial(read_again, self, batch))
        return figures

    return checked


def checked_framed(checks: Checks, framed: Callable[..., FramedSums]) -> Callable[..., FramedSums]:
    """Return what stands in for the sums of a batch in frames: the months that the books keep are read again."""

    def checked(self: FramedBatch, frames: Any) -> FramedSums:
        sums = framed(self, frames)
        if self.kept and not checks.is_making:
            alone = replace(self, by_month=False)  # reads every interval, and keeps none

            def again() -> list[list[Any]]:
                read = self.presences.reader.collect(alone.reads, lambda: None)
                return rows_of(framed(alone, read), self.months)

            checks.check("FramedBatch.framed", rows_of(sums, self.months), again)
        return sums

    return checked


def rows_of(sums: FramedSums, months: int) -> list[list[Any]]:
    """Return the rows of some months in the frames of some sums, sorted."""
    each = (frame.select(SPAN, *sorted(set(frame.columns) - {SPAN})).rows() for _, frame in sums.frames)
    return [sorted((row for row in rows if months >> row[0] & 1), key=repr) for rows in each]


def read_again(plan: FigurePlan, batch: Batch) -> Any:
    """Return the amounts of a batch by month, read without its memo."""
    alone = replace(batch, memo=None, by_leaf=None)
    amounts = alone.amounts(plan.reader.collect(alone.reads, plan.stop), plan.stop)
    return by_month(amounts, batch.months, subtotals=batch.subtotals)


def by_month(amounts: BatchAmounts, months: int, *, subtotals: bool) -> dict[Any, Any]:
    """Return amounts by base, accumulator, members and month; sub-totals only for who asks for them."""
    table: dict[Any, Any] = {}
    for base, of_base in amounts.by_base.items():
        for place, by_members in enumerate(of_base.by_accumulator):
            for members, of_members in by_members.items():
                is_subtotal = None in members and any(member is not None for member in members)
                each = list(enumerate(of_members.by_interval()))
                held = {at: amount for at, amount in each if months >> at & 1 and amount is not None}
                lacks = sum(months >> at & 1 for at, _ in each) - len(held)
                if getattr(of_members, "has_all", False) and lacks:
                    raise MemoDiffers(f"Batch.amounts.has_all: {members} lacks {lacks} months")
                if held and (subtotals or not is_subtotal):
                    table[base, place, members] = (of_base.denominator, held)
    return dict(sorted(table.items(), key=lambda entry: (repr(entry[0][0].value), str(entry[0][1:]))))


def product_modules() -> list[Any]:
    """Return the modules of the product that are loaded."""
    names = [name for name in sys.modules if name.partition(".")[0] in ("engine", "server")]
    return [sys.modules[name] for name in names]


def stand_in(checks: Checks, patch: pytest.MonkeyPatch) -> None:
    """Put the check in place of everything that keeps values."""
    patch.setattr(Books, "memo", checked_get(checks, Books.memo, name=name_of))
    patch.setattr(LazyTable, "get", checked_get(checks, LazyTable.get, name=reader_of))
    patch.setattr(FigurePlan, "finish", checked_finish(checks, FigurePlan.finish))
    patch.setattr(FramedBatch, "framed", checked_framed(checks, FramedBatch.framed))
    functions: dict[int, Any] = {}
    for module in product_modules():
        for name, member in list(vars(module).items()):
            if isinstance(member, functools._lru_cache_wrapper) and name not in OF_NO_VALUE:
                stands = functions.setdefault(id(member), checked_function(checks, member))
                patch.setattr(module, name, stands)
            elif isinstance(member, type) and member.__module__ == module.__name__ and name not in OF_ONE_CALL:
                check_class(checks, patch, member)


def check_class(checks: Checks, patch: pytest.MonkeyPatch, cls: type) -> None:
    """Put the check in place of the cached methods and properties of a class."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, functools.cached_property):
            patch.setattr(cls, name, CheckedProperty(checks, member, cls))
        elif is_cached_method(member):
            patch.setattr(cls, name, checked_method(checks, member))


@contextmanager
def checked_memos(every: int = 1) -> Iterator[Checks]:
    """Check every memo that is read inside; fail at the end where one differs, even if that was caught before."""
    checks = Checks(every)
    with pytest.MonkeyPatch.context() as patch:
        stand_in(checks, patch)
        yield checks
    if checks.differences:
        raise MemoDiffers("\n".join(checks.differences[:10]))
