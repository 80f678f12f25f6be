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
from tests.laws.scoped.books import ALL_DOMAINS, LEAVES, METRICS, random_books
from tests.laws.scoped.calls import BudgetedCall, calls
from tests.laws.scoped.profiles import GrantSpec, ProfileSpec, Restriction, profiles_asked
from tests.laws.scoped.writing import EVERYTHING, Held, ScopedTools
from tests.support.engines.memory import folder_in_memory

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
    known: tuple[Any, Held], random_calls: Sequence[BudgetedCall]
) -> None:
    answered_as_alone(*known, random_calls)


@st.composite
def filters_by_what_is_granted(draw: st.DrawFn) -> tuple[Any, Held, list[BudgetedCall]]:
    """Draw books, a caller who sees them all, one who sees some members, and calls that filter by these members."""
    books = draw(random_books())
    domain = draw(st.sampled_from(ALL_DOMAINS))
    leaf = draw(st.sampled_from(LEAVES[domain]))
    names = draw(st.lists(st.sampled_from(sorted(books.world.members[leaf])), min_size=1, max_size=2, unique=True))
    some = GrantSpec(dimensions={leaf: Restriction(tuple(names))}, open_domains=ALL_DOMAINS)
    held = dict(zip((who.subject for who in CALLERS), ((EVERYTHING,), (ProfileSpec({"*": some}),)), strict=True))
    asked = st.fixed_dictionaries(
        {
            "metrics": st.lists(st.sampled_from(sorted(METRICS[domain])), min_size=1, max_size=2, unique=True),
            "scenarios": st.just([{"scenario": "actual"}]),
            "period_start": st.sampled_from(("2020-01", "2020-02")),
            "period_end": st.just("2021-06"),
            "dimensions": st.sampled_from(([], ["period"])),
            "filters": st.sampled_from(({}, {leaf: names})),
        }
    )
    return (
        books,
        held,
        [BudgetedCall("run_metric_data", call) for call in draw(st.lists(asked, min_size=3, max_size=6))],
    )


@given(known=filters_by_what_is_granted())
def test_a_filter_by_all_that_another_may_see_leaves_his_answers_as_they_are(known: Any) -> None:
    answered_as_alone(*known)


def answered_as_alone(books: Any, held: Held, random_calls: Sequence[BudgetedCall]) -> None:
    """Hold the answers of callers of the same books, in turn and from threads, to those that each gets alone."""
    asked = [(call, who) for call in random_calls for who in CALLERS]
    with folder_in_memory() as folder:
        opened = ScopedTools(books, held, folder)
        alone = [answer_alone(opened, *one) for one in asked]
        opened.open()
        assert [answer(opened, *one) for one in asked * 2] == alone * 2
        opened.open()
        with ThreadPoolExecutor(THREADS) as threads:
            assert list(threads.map(lambda one: answer(opened, *one), asked * 2)) == alone * 2
