"""The law of shared books: what is worked out for one caller changes no byte of what another is answered.

Two callers with profiles of their own ask the same Books in turn and from several threads; each answer, versions and
all, is the one that the caller gets alone from Books in which nothing was worked out before.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from server.base.interfaces import Principal
from tests.laws.scoped.answering import told
from tests.laws.scoped.books import random_books
from tests.laws.scoped.calls import BudgetedCall, calls
from tests.laws.scoped.profiles import profiles_asked
from tests.laws.scoped.writing import Held, ScopedTools
from tests.support.memory import folder_in_memory

CALLERS = (Principal("ada"), Principal("bob"))
THREADS = 4


@st.composite
def shared_books(draw: st.DrawFn) -> tuple[Any, Held]:
    """Draw books, and two callers with profiles."""
    books = draw(random_books())
    return books, {who.subject: draw(profiles_asked(books.world)) for who in CALLERS}


def answer(opened: ScopedTools, call: BudgetedCall, who: Principal) -> str:
    """Return what a caller is answered."""
    return told(call.tool, call.arguments, opened.caller(call.budget, who))


def answer_alone(opened: ScopedTools, call: BudgetedCall, who: Principal) -> str:
    """Return what a caller is answered from books in which nothing was worked out."""
    opened.open()
    return answer(opened, call, who)


@given(known=shared_books(), random_calls=st.lists(calls(), min_size=6, max_size=12))
def test_callers_of_the_same_books_never_change_what_another_is_answered(
    known: Any, random_calls: Sequence[BudgetedCall]
) -> None:
    books, held = known
    asked = [(call, who) for call in random_calls for who in CALLERS]
    with folder_in_memory() as folder:
        opened = ScopedTools(books, held, folder)
        alone = [answer_alone(opened, *one) for one in asked]
        opened.open()
        assert [answer(opened, *one) for one in asked * 2] == alone * 2
        opened.open()
        with ThreadPoolExecutor(THREADS) as threads:
            assert list(threads.map(lambda one: answer(opened, *one), asked * 2)) == alone * 2
