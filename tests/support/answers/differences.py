"""What differs between two values, field by field: the path to the first difference, and both sides of it."""

import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from operator import itemgetter
from threading import Lock
from typing import Any

import polars as pl
from msgspec import Struct

from engine.books.books import Books
from engine.books.reader import Reader
from engine.model.caching import LazyTable

OPAQUE = (Books, LazyTable, type(Lock()))  # of one version; filled later, and compared where it is read
LONGEST = 200  # characters of a side
Seen = dict[tuple[int, int], tuple[object, object]]  # the pairs that were compared, kept so that no id is given twice
Compare = Callable[[Any, Any, str, Seen], Iterator[str]]


def difference(one: Any, other: Any) -> str | None:
    """Return where two values differ, and how; None if they are alike in every field."""
    return next(differences(one, other, "", {}), None)


def differences(one: Any, other: Any, at: str, seen: Seen) -> Iterator[str]:
    """Yield where two values differ. Values that are one object are alike; so are pairs that were compared before."""
    if one is other or isinstance(one, OPAQUE) or (id(one), id(other)) in seen:
        return
    seen[id(one), id(other)] = one, other
    if type(one) is not type(other):
        yield said(at, one, other)
    else:
        yield from next(compare for kinds, compare in KINDS if isinstance(one, kinds))(one, other, at, seen)


def of_readers(one: Reader, other: Reader, at: str, seen: Seen) -> Iterator[str]:
    """Yield where the profiles of two readers differ."""
    yield from differences(one.profiles, other.profiles, f"{at}.profiles", seen)


def of_frames(one: Any, other: Any, at: str, _: Seen) -> Iterator[str]:
    """Yield two frames or series that differ."""
    if not alike(one, other):
        yield said(at, one, other)


def of_plans(one: pl.LazyFrame, other: pl.LazyFrame, at: str, _: Seen) -> Iterator[str]:
    """Yield two plans that differ."""
    if one.explain() != other.explain():
        yield said(at, one.explain(), other.explain())


def of_expressions(one: pl.Expr, other: pl.Expr, at: str, _: Seen) -> Iterator[str]:
    """Yield two expressions that differ."""
    if not one.meta.eq(other):
        yield said(at, one, other)


def of_sets(one: Any, other: Any, at: str, seen: Seen) -> Iterator[str]:
    """Yield where two sets differ. Members that compare by identity are compared by what they hold."""
    if one != other:
        yield from of_lists(sorted(one, key=repr), sorted(other, key=repr), at, seen)


def of_mappings(one: Mapping[Any, Any], other: Mapping[Any, Any], at: str, seen: Seen) -> Iterator[str]:
    """Yield where two mappings differ, in their order, too."""
    yield from of_lists(list(one), list(other), f"{at} keys", seen)
    for (key, value), another in zip(one.items(), other.values(), strict=False):
        yield from differences(value, another, f"{at}[{key!r:.60}]", seen)


def of_functions(one: types.FunctionType, other: types.FunctionType, at: str, seen: Seen) -> Iterator[str]:
    """Yield where two functions differ: in their code, or in what they close over."""
    if one.__code__ != other.__code__:
        yield said(at, one, other)
    yield from of_lists(closed_over(one), closed_over(other), f"{at} closure", seen)


def of_methods(one: types.MethodType, other: types.MethodType, at: str, seen: Seen) -> Iterator[str]:
    """Yield where two methods differ: in their function, or in their object."""
    yield from of_lists([one.__func__, one.__self__], [other.__func__, other.__self__], at, seen)


def of_partials(one: partial[Any], other: partial[Any], at: str, seen: Seen) -> Iterator[str]:
    """Yield where two partial calls differ."""
    yield from of_lists([one.func, one.args], [other.func, other.args], at, seen)


def of_getters(one: Any, other: Any, at: str, seen: Seen) -> Iterator[str]:
    """Yield two getters of other items."""
    yield from differences(one.__reduce__(), other.__reduce__(), at, seen)


def alike(one: Any, other: Any) -> bool:
    """Tell whether two frames or series hold the same values in the same types."""
    kinds = (one.schema, other.schema) if isinstance(one, pl.DataFrame) else (one.dtype, other.dtype)
    return kinds[0] == kinds[1] and bool(one.equals(other, null_equal=True))


def of_lists(one: Any, other: Any, at: str, seen: Seen) -> Iterator[str]:
    """Yield where two lists differ."""
    if len(one) != len(other):
        yield said(f"{at} length", len(one), len(other))
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        yield from differences(a, b, f"{at}[{number}]", seen)


def closed_over(function: types.FunctionType) -> list[object]:
    """Return what a function closes over."""
    return [cell.cell_contents for cell in function.__closure__ or ()]


def of_objects(one: Any, other: Any, at: str, seen: Seen) -> Iterator[str]:
    """Yield where two objects differ: in their fields, without what was worked out from them later."""
    names = fields(one)
    if not names:
        if one != other:
            yield said(at, one, other)
        return
    for name in names:
        yield from differences(getattr(one, name, None), getattr(other, name, None), f"{at}.{name}", seen)


def fields(one: Any) -> list[str]:
    """Return the names of the fields that an object was made with."""
    if isinstance(one, Struct):
        return list(one.__struct_fields__)
    names = [name for name in getattr(one, "__dict__", {}) if not name.endswith("()")]
    return [name for name in names if not isinstance(getattr(type(one), name, None), property | partial)]


def said(at: str, one: object, other: object) -> str:
    """Return a difference in words."""
    words = []
    for side in (one, other):
        text = f"<{type(side).__name__}>"
        with suppress(Exception):
            text = repr(side)
        words.append(text[:LONGEST])
    return f"{at or 'the value'}: {words[0]} is kept, {words[1]} is made"


KINDS: tuple[tuple[Any, Compare], ...] = (
    (Reader, of_readers),
    ((pl.Series, pl.DataFrame), of_frames),
    (pl.LazyFrame, of_plans),
    (pl.Expr, of_expressions),
    ((list, tuple), of_lists),
    ((set, frozenset), of_sets),
    (Mapping, of_mappings),
    (types.FunctionType, of_functions),
    (types.MethodType, of_methods),
    (partial, of_partials),
    (itemgetter, of_getters),
    (object, of_objects),
)
