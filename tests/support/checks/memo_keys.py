"""What the keys of memos are made of, and which part of a key tells values apart.

A key that forgets a part returns the value of another key, and the check of memos makes that value anew. So it finds
the forgotten part where two keys that were asked for differ in this part alone and their values differ.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from engine.books.books import Books, OfMembers, OfRows
from tests.support.answers.differences import difference
from tests.support.checks.memo_check import name_of

Part = tuple[str, str]  # the name of a memo, and the place of a part in its key
OF_ONE_TUPLE = {"permission", "places", "presences", "times"}  # memos whose key has its parts in a tuple
Values = dict[Hashable, Any]


class KeptValues:
    """Every value that books kept, by the books, the name of the memo and its whole key."""

    def __init__(self) -> None:
        self.by_memo: dict[tuple[Books | None, str], Values] = defaultdict(dict)

    def parts(self) -> Mapping[Part, bool | None]:
        """Return for each part of each key whether it tells values apart, None where it was the same in all keys."""
        found: dict[Part, bool | None] = {}
        for (_, name), values in self.by_memo.items():
            for place in {place for key in values for place, _ in places(key)}:
                if not found.get((name, place)):
                    tells = tells_apart(values, place)
                    found[name, place] = found.get((name, place)) if tells is None else tells
        return dict(sorted(found.items()))


def tells_apart(values: Values, place: str) -> bool | None:
    """Tell whether two values differ whose keys differ in one part alone, None where no two keys do."""
    alike: dict[Hashable, list[Hashable]] = defaultdict(list)
    for key in values:
        alike[tuple(part for part in places(key) if part[0] != place)].append(key)
    pairs = [pair for keys in alike.values() for pair in pairwise(keys)]
    return any(difference(values[one], values[other]) for one, other in pairs) if pairs else None


def places(key: Any) -> Iterator[tuple[str, Hashable]]:
    """Yield the parts of a key with their places: `profiles`, then `1`, `2` … after the name of the memo."""
    if isinstance(key, OfMembers):
        yield "tables", key.identities
        yield from places(key.key)
    elif isinstance(key, OfRows):
        yield from (
            ("rows", key.rows),
            ("within", key.within),
            *((str(at), part) for at, part in enumerate(key.name[1:], 1)),
        )
    elif isinstance(key, tuple) and key[0] == "as seen":
        yield "profiles", key[1]
        yield from places(key[2])
    elif isinstance(key, tuple) and key[0] == "for all":
        yield from places(key[1])
    elif isinstance(key, tuple):
        whole = key[1] if key[0] in OF_ONE_TUPLE else key[1:]
        yield from ((str(at), part) for at, part in enumerate(whole, 1))


@contextmanager
def kept_values() -> Iterator[KeptValues]:
    """Keep every value that books keep inside."""
    found, memo = KeptValues(), Books.memo

    def noted(self: Books, key: Hashable, make: Callable[[], Any], *more: Any, **options: Any) -> Any:
        value = memo(self, key, make, *more, **options)
        tables = frozenset().union(*(self.loaded.identities[dimension] for dimension in options.get("of", ())))
        if tables:  # versions with the same members share it
            found.by_memo[None, name_of(key)].setdefault(OfMembers(key, tables), value)
        else:
            found.by_memo[self, name_of(key)].setdefault(key, value)
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Books, "memo", noted)
        yield found
