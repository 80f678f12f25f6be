"""Caching: methods that keep what they found on their object, and tables of results that are bounded.

The module stands alone, as `stopping` does: every room of the engine may use it.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar, TypeVarTuple

Owner = TypeVar("Owner")
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Arguments = TypeVarTuple("Arguments")
MOST_KEPT = 2_000  # of what reports leave for later ones beside what the books memoise


def cached_method(method: Callable[[Owner, *Arguments], Value]) -> Callable[[Owner, *Arguments], Value]:
    """Keep what a method returns on its object, by its arguments, as `cached_property` does: the object never changes.

    Two threads that ask at once may both compute it. Nothing is kept of a call that raises.
    """
    name = f"{method.__name__}()"

    @wraps(method)
    def cached(self: Owner, *arguments: *Arguments) -> Value:
        known: dict[tuple[Any, ...], Value] | None = self.__dict__.get(name)
        if known is None:
            known = self.__dict__.setdefault(name, {})
        elif arguments in known:
            return known[arguments]
        found = known[arguments] = method(self, *arguments)
        return found

    return cached


def kept(known: dict[Key, Value], key: Key, make: Callable[[], Value]) -> Value:
    """Return what is kept under a key; make it first if there is nothing. Beyond a bound all are let go of."""
    found = known.get(key)
    if found is None:
        if len(known) >= MOST_KEPT:
            known.clear()
        found = known[key] = make()
    return found
