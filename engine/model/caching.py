"""Caching: what shared objects work out when it is first asked for, and keep for all who ask later.

Threads share these objects. A value is made whole and then kept, so that nobody sees a part of it. What an object fills
after it was made is a `LazyTable`, or what a `cached_method` or a `cached_property` returns; a test of the contracts
holds the classes that memos hold to it. The module stands alone, as `stopping` does: every room may use it.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock
from typing import Any, Final, Generic, TypeVar, TypeVarTuple

Owner = TypeVar("Owner")
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Arguments = TypeVarTuple("Arguments")
MOST_KEPT = 2_000  # of what reports leave for later ones beside what the books memoise
MISSING: Final[Any] = object()


class LazyTable(Generic[Key, Value]):
    """Values by key. Each is made when it is first asked for, whole, and then kept.

    Two threads that ask at once may both make it; both get the one that is kept. Beyond a bound all are let go of.
    """

    __slots__ = ("_most", "_values")

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._values: dict[Key, Value] = {}
        self._most = most

    def __len__(self) -> int:
        """The number of values that are kept."""
        return len(self._values)

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key; make it first if there is none. Nothing is kept of what raises."""
        value = self._values.get(key, MISSING)
        return self._fill(key, make()) if value is MISSING else value

    def _fill(self, key: Key, value: Value) -> Value:
        if len(self._values) >= self._most:
            self._values.clear()
        return self._values.setdefault(key, value)

    def at_hand(self, key: Key) -> Value | None:
        """Return the value of a key, None if there is none."""
        return self._values.get(key)

    def keep(self, keys: frozenset[Key]) -> None:
        """Let go of all values but those of some keys."""
        for key in list(self._values):
            if key not in keys:
                self._values.pop(key, None)


class GrowingTable(LazyTable[Key, Value]):
    """Values by key that grow: a value gives way to a larger one, which is made whole before."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()

    def grow(self, key: Key, larger: Callable[[Value | None], Value]) -> Value:
        """Put what is made of the value of a key, None if there is none, in its place, and return it."""
        with self._lock:
            value = self._values[key] = larger(self._values.get(key))
            return value


def cached_method(method: Callable[[Owner, *Arguments], Value]) -> Callable[[Owner, *Arguments], Value]:
    """Keep what a method returns on its object, by its arguments, as `cached_property` does: the object never changes.

    Two threads that ask at once may both compute it. Nothing is kept of a call that raises.
    """
    name = f"{method.__name__}()"

    @wraps(method)
    def cached(self: Owner, *arguments: *Arguments) -> Value:
        values: dict[tuple[Any, ...], Value] | None = self.__dict__.get(name)
        if values is None:
            values = self.__dict__.setdefault(name, {})
        value = values.get(arguments, MISSING)
        return values.setdefault(arguments, method(self, *arguments)) if value is MISSING else value

    return cached
