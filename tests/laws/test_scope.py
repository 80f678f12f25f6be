"""The law of scope: what a tool answers through profiles is what it answers to everyone on books cut to them.

The cut is made by plain Python over the rows, members, nodes and the catalogue as they were written; nothing of the
engine decides what is visible. What two scenarios differ by is held to books in which both are cut to what is seen of
both.
"""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.scoped.answering import asked, compared_alike
from tests.laws.scoped.books import Books, random_books
from tests.laws.scoped.calls import EVERYTHING_LISTED, LARGE, Call, calls, comparing
from tests.laws.scoped.cutting import Sight, cut
from tests.laws.scoped.profiles import ProfileAsked, profiles_asked
from tests.laws.scoped.writing import EVERYTHING, IN_MEMORY, Opened

NEARLY = range(-60, 61)  # tokens of budget: ids of loads and versions are not of the same digits


@st.composite
def seen_books(draw: st.DrawFn) -> tuple[Books, tuple[ProfileAsked, ...]]:
    """Draw books and the profiles that they are seen through."""
    books = draw(random_books())
    return books, draw(profiles_asked(books.world))


@st.composite
def compared_books(draw: st.DrawFn) -> tuple[Books, tuple[ProfileAsked, ...], tuple[str, str], list[Call]]:
    """Draw books seen through profiles that show other parts of two scenarios, and calls about these."""
    books, profiles = draw(seen_books())
    sight = Sight(books, profiles)
    pairs = [
        (a, b) for a in sorted(sight.scenarios) for b in sorted(sight.scenarios) if a != b and not sight.alike([a, b])
    ]
    assume(pairs)
    pair = draw(st.sampled_from(pairs))
    return books, profiles, pair, draw(st.lists(comparing(pair), min_size=6, max_size=12))


def same(call: Call, seen: Opened, whole: Opened) -> bool:
    """Tell whether a call is answered alike; what is cut to a budget, as by nearly the same budget."""
    mine = asked(call, seen)
    return mine == asked(call, whole) or (
        call.budget < LARGE and any(mine == asked(call, whole, call.budget + more) for more in NEARLY)
    )


def compares(call: Call, sight: Sight) -> bool:
    """Tell whether a call shows a default column that compares what is not seen alike."""
    columns = [] if "scenarios" in call.arguments else sight.books.default.get("scenarios", ())
    return any("var" in column["scenario"] for column in columns) and not sight.alike(["actual", "budget"])


@given(known=seen_books(), random_calls=st.lists(calls(), min_size=8, max_size=16))
def test_an_answer_through_profiles_is_that_of_books_cut_to_them(known: Any, random_calls: list[Call]) -> None:
    books, profiles = known
    sight = Sight(books, profiles)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        seen = Opened(books, profiles, Path(folder, "seen"))
        whole = Opened(cut(books, sight), [EVERYTHING], Path(folder, "cut"))
        for call in (*EVERYTHING_LISTED, *random_calls):
            assert compares(call, sight) or same(call, seen, whole), (call, asked(call, seen), asked(call, whole))


@given(known=compared_books())
def test_scenarios_are_compared_inside_what_is_seen_of_both(known: Any) -> None:
    books, profiles, pair, asked_calls = known
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        seen = Opened(books, profiles, Path(folder, "seen"))
        both = Opened(cut(books, Sight(books, profiles), pair), [EVERYTHING], Path(folder, "both"))
        for call in asked_calls:
            mine, theirs = asked(call, seen), asked(call, both)
            assert compared_alike(mine) == compared_alike(theirs), (call, mine, theirs)
