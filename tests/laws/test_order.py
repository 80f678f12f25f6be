"""The law of order: no answer depends on what was asked before, or at the same time.

A sequence of random calls of all tools, with profiles of one to three callers, is answered from one shelf of books as
each call alone is from fresh books, byte for byte but for references and times.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from server.base.interfaces import Principal
from server.feeds.instance import read_instance
from tests.conftest import AW
from tests.laws.order.answering import OrderedBooks
from tests.laws.order.chains import MONTHS, write_chains
from tests.laws.order.law import THREADS, hold_at_once, hold_fewest, hold_in_turn
from tests.laws.order.loading import Loading
from tests.laws.order.served import ServedBooks, busy, hold_served, served
from tests.laws.order.steps import SequenceStep, sequences, without_reads
from tests.laws.order.vocabulary import Vocabulary, book_calls, figure_calls, months_of, statements
from tests.laws.scoped.books import ScopedBooks, random_books
from tests.laws.scoped.calls import BudgetedCall, calls
from tests.laws.scoped.profiles import profiles_asked
from tests.laws.scoped.writing import Held, write
from tests.support.books.loads import edited_copy, load_feeds
from tests.support.engines.memory import MemoryLoads, folder_in_memory

CALLERS = (Principal("ada"), Principal("bob"), Principal("cyd"))
OF_DEMO = (
    Principal("dev"),
    Principal("eve", {"groups": ("finance-europe",)}),
    Principal("ian", {"groups": ("it", "sales-americas")}),
)
BY_TOKEN = (Principal("cas", {"groups": ("finance",)}), *OF_DEMO[1:])
OF_ADVENTUREWORKS = (Principal("dev"), Principal("usa"))
BUDGETS = (None, None, 1, 10, 100, 1000, 10_000, 100_000)  # members of memos

LEAVES_OUT = [Phase.explicit, Phase.generate]  # the law itself leaves out steps that break nothing
EXAMPLES = settings().max_examples


def examples(one_in: int) -> settings:
    """Return the settings of a test whose examples cost so many times those of others."""
    return settings(phases=LEAVES_OUT, max_examples=max(2, EXAMPLES // one_in))


budgets = st.sampled_from(BUDGETS)


@contextmanager
def opened(books: ScopedBooks, profiles: Held) -> Iterator[OrderedBooks]:
    """Load books until the block ends."""
    with folder_in_memory() as folder:
        written, loads = write(books, profiles, folder / "books"), MemoryLoads()
        instance = read_instance(written)
        load_feeds(written, folder / "state", loads=loads, read=instance)
        yield OrderedBooks(written, folder / "state", loads, instance)


@st.composite
def shared_books(draw: st.DrawFn) -> tuple[ScopedBooks, Held]:
    """Draw books, and one to three callers with profiles."""
    books = draw(random_books())
    callers = CALLERS[: draw(st.integers(1, len(CALLERS)))]
    return books, {who.subject: draw(profiles_asked(books.world)) for who in callers}


def callers_of(profiles: Held) -> list[Principal]:
    """Return the callers who have profiles."""
    return [who for who in CALLERS if who.subject in profiles]


@examples(2)
@given(data=st.data(), known=shared_books(), budget=budgets)
def test_random_books_answer_a_sequence_as_each_call_alone(
    data: st.DataObject, known: tuple[ScopedBooks, Held], budget: int | None
) -> None:
    steps = data.draw(sequences(calls(), callers_of(known[1])))
    with opened(*known) as books:
        hold_fewest(books, steps, budget)


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> OrderedBooks:
    """Books whose classes have many targets."""
    folder = tmp_path_factory.mktemp("chains")
    loads, written = MemoryLoads(), write_chains(folder / "books")
    load_feeds(written, folder / "state", loads=loads)
    return OrderedBooks(written, folder / "state", loads)


@pytest.fixture(scope="module")
def demo_books(demo_folder: Path) -> OrderedBooks:
    """The demo, whose history of loads is empty here."""
    return OrderedBooks(demo_folder, demo_folder / ".tieout", MemoryLoads())


@pytest.fixture(scope="module")
def adventureworks_books(adventureworks_state: Path, tmp_path_factory: pytest.TempPathFactory) -> OrderedBooks:
    """AdventureWorks, and a caller who sees the USA alone."""
    assigned = (
        "{subject: dev, profile: controller}",
        "{subject: dev, profile: controller}\n  - {subject: usa, profile: usa}",
    )
    copy = edited_copy(AW, tmp_path_factory.mktemp("usa"), {"profiles.yaml": assigned})
    return OrderedBooks(copy, adventureworks_state, MemoryLoads())


def words_of(books: OrderedBooks, first: int, last: int) -> Vocabulary:
    """Return the words of books whose rows lie in some years, of chains in the first months of one."""
    months = months_of(first, last)
    return Vocabulary.of(books.instance, books.fresh(), months[:MONTHS] if first == last else months)


@examples(4)
@given(data=st.data(), budget=budgets)
def test_books_of_many_targets_answer_a_sequence_as_each_call_alone(
    data: st.DataObject, chains: OrderedBooks, budget: int | None
) -> None:
    hold_fewest(chains, data.draw(sequences(book_calls(words_of(chains, 2020, 2020)), CALLERS)), budget)


@examples(8)
@given(data=st.data(), budget=budgets)
def test_the_demo_answers_a_sequence_as_each_call_alone(
    data: st.DataObject, demo_books: OrderedBooks, budget: int | None
) -> None:
    hold_fewest(demo_books, data.draw(sequences(book_calls(words_of(demo_books, 2025, 2026)), OF_DEMO)), budget)


@examples(8)
@given(data=st.data(), budget=budgets)
def test_adventureworks_answers_a_sequence_as_each_call_alone(
    data: st.DataObject, adventureworks_books: OrderedBooks, budget: int | None
) -> None:
    words = words_of(adventureworks_books, 2006, 2008)
    hold_fewest(adventureworks_books, data.draw(sequences(book_calls(words), OF_ADVENTUREWORKS)), budget)


@st.composite
def reordered(draw: st.DrawFn, words: Vocabulary) -> list[SequenceStep]:
    """Draw a statement by dimensions in two orders; one of its domains may lack some of them."""
    keys = sorted({key for keys in words.dimensions.values() for key in keys})
    dimensions = draw(
        st.lists(st.sampled_from(keys), min_size=2, max_size=3, unique=True).filter(
            lambda some: words.shown(some) == some
        )
    )
    asked = {**draw(statements(words)), "dimensions": dimensions, "subtotals": False}
    asked.pop("summary", None)
    who = draw(st.sampled_from(CALLERS[:1]))
    again = {**asked, "dimensions": dimensions[::-1]}
    return [SequenceStep(BudgetedCall("run_statement_data", arguments), who) for arguments in (asked, again)]


@examples(2)
@given(data=st.data())
def test_a_breakdown_in_another_order_is_answered_as_alone(data: st.DataObject, chains: OrderedBooks) -> None:
    hold_in_turn(chains, data.draw(reordered(words_of(chains, 2020, 2020))))


@st.composite
def at_once(draw: st.DrawFn, steps: Sequence[SequenceStep]) -> list[list[SequenceStep]]:
    """Draw what each thread asks: the same call at the same moment, or the calls in an order of its own."""
    if draw(st.booleans()):
        return [list(steps)] * THREADS
    return [draw(st.permutations(steps)) for _ in range(THREADS)]


@examples(4)
@given(data=st.data(), budget=budgets)
def test_threads_of_the_same_books_are_answered_as_alone(
    data: st.DataObject, chains: OrderedBooks, budget: int | None
) -> None:
    steps = data.draw(sequences(figure_calls(words_of(chains, 2020, 2020)), CALLERS, 4))
    hold_at_once(chains, data.draw(at_once(without_reads(steps))), budget)


@examples(12)
@given(data=st.data(), budget=budgets)
def test_threads_of_the_demo_are_answered_as_alone(
    data: st.DataObject, demo_books: OrderedBooks, budget: int | None
) -> None:
    steps = data.draw(sequences(figure_calls(words_of(demo_books, 2025, 2026)), OF_DEMO, 4))
    hold_at_once(demo_books, data.draw(at_once(without_reads(steps))), budget)


FEEDS = ("gl", "gl", "people", "sales", "product", "customer", "tree")


@examples(4)
@given(data=st.data(), known=shared_books(), other=random_books(), budget=budgets)
def test_with_loads_in_between_each_call_is_answered_as_alone_on_its_version(
    data: st.DataObject, known: tuple[ScopedBooks, Held], other: ScopedBooks, budget: int | None
) -> None:
    steps = data.draw(sequences(calls(), callers_of(known[1])))
    feeds = data.draw(st.dictionaries(st.integers(1, len(steps) - 1), st.sampled_from(FEEDS), min_size=1, max_size=3))
    with opened(*known) as books:
        loading = Loading(books, other)
        hold_in_turn(books, steps, budget, lambda at: loading.load(feeds[at]) if at in feeds else None)


@examples(8)
@given(data=st.data(), known=shared_books(), other=random_books())
def test_while_something_is_loaded_each_call_is_answered_as_alone_before_it_or_after_it(
    data: st.DataObject, known: tuple[ScopedBooks, Held], other: ScopedBooks
) -> None:
    steps = without_reads(data.draw(sequences(calls(), callers_of(known[1]), 6)))
    with opened(*known) as books:
        Loading(books, other).hold_meanwhile(steps, data.draw(st.sampled_from(FEEDS)))


@pytest.fixture(scope="module")
def served_demo(demo_folder: Path) -> Iterator[ServedBooks]:
    """A server of the demo with two workers, whose callers have tokens."""
    with served(demo_folder, demo_folder / ".tieout") as server:
        yield server


@examples(12)
@given(data=st.data())
def test_callers_of_busy_workers_are_answered_as_alone(
    data: st.DataObject, demo_books: OrderedBooks, served_demo: ServedBooks
) -> None:
    steps = data.draw(sequences(figure_calls(words_of(demo_books, 2025, 2026)), BY_TOKEN, 4))
    with busy(served_demo, BY_TOKEN[0]):
        hold_served(demo_books, served_demo, data.draw(at_once(without_reads(steps))))
