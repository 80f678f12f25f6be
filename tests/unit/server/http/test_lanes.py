"""Lanes: callers in turn, each caller's work in order, and nothing of what was cancelled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, active_count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.base.waits import WAITS
from server.http.lanes import Lane
from tests.support.service.servers import DEADLINE, wait_for

CALLERS = st.lists(st.sampled_from("abcd"), max_size=30)


@contextmanager
def lane(threads: int) -> Iterator[Lane]:
    """Lend a lane whose threads end with the block."""
    before = active_count()
    opened = Lane("test", threads)
    yield opened
    opened.close()
    wait_for(lambda: active_count() <= before)


def held(opened: Lane, caller: str) -> Event:
    """Occupy a thread of a lane until the event is set."""
    entered, gate = Event(), Event()

    def work() -> None:
        entered.set()
        assert gate.wait(DEADLINE)

    opened.submit(caller, work)
    assert entered.wait(DEADLINE)
    return gate


def test_the_second_caller_does_not_wait_behind_all_of_the_first() -> None:
    order: list[str] = []
    with lane(1) as opened:
        gate = held(opened, "ann")
        turns = [opened.submit("ann", noting(order, f"ann {number}")) for number in range(16)]
        turns.append(opened.submit("bob", noting(order, "bob")))
        gate.set()
        for turn in turns:
            turn.result(DEADLINE)
    assert order == ["bob", *(f"ann {number}" for number in range(16))]  # who had no turn yet goes first


def noting(order: list[str], name: str) -> Callable[[], None]:
    """Return work that notes when it runs."""
    return lambda: order.append(name)


@given(callers=CALLERS)
def test_each_caller_is_served_in_order_and_callers_in_turn(callers: list[str]) -> None:
    order: list[tuple[str, int]] = []

    def work(caller: str, number: int) -> Callable[[], None]:
        return lambda: order.append((caller, number))

    opened = Lane("test", 1)
    gate = held(opened, "x")
    turns = [opened.submit(caller, work(caller, number)) for number, caller in enumerate(callers)]
    gate.set()
    for turn in turns:
        turn.result(DEADLINE)
    opened.close()
    assert sorted(order, key=lambda one: one[1]) == list(zip(callers, range(len(callers)), strict=True))
    for caller in set(callers):
        numbers = [number for who, number in order if who == caller]
        assert numbers == sorted(numbers)
    rounds = dict.fromkeys(callers, 0)  # with one thread nobody runs beside another, so it is round by round
    for caller, _ in order:
        waiting = {who for who in rounds if rounds[who] < callers.count(who)}
        assert rounds[caller] == min(rounds[who] for who in waiting)
        rounds[caller] += 1


def test_who_has_less_running_goes_first() -> None:
    order: list[str] = []
    with lane(2) as opened:
        of_ann, of_bob = held(opened, "ann"), held(opened, "bob")
        turns = [opened.submit("ann", noting(order, "ann")), opened.submit("cy", noting(order, "cy"))]
        of_bob.set()
        for turn in turns:
            turn.result(DEADLINE)
        of_ann.set()
    assert order == ["cy", "ann"]


def test_what_is_cancelled_while_it_waits_never_runs_and_leaves_at_once() -> None:
    order: list[str] = []
    with lane(1) as opened:
        gate = held(opened, "ann")
        dropped = [opened.submit("ann", noting(order, "dropped")) for _ in range(1000)]
        kept = opened.submit("ann", noting(order, "kept"))
        assert all(turn.cancel() for turn in dropped)
        assert {caller: len(line) for caller, line in opened._lines.items()} == {"ann": 1}
        gate.set()
        kept.result(DEADLINE)
    assert order == ["kept"]


def test_what_runs_cannot_be_cancelled_and_gives_its_result() -> None:
    with lane(1) as opened:
        entered, gate = Event(), Event()

        def work() -> str:
            entered.set()
            assert gate.wait(DEADLINE)
            return "done"

        turn = opened.submit("ann", work)
        assert entered.wait(DEADLINE)
        assert not turn.cancel()
        gate.set()
        assert turn.result(DEADLINE) == "done"


def test_a_lane_that_is_closed_drops_what_waits() -> None:
    opened = Lane("test", 1)
    gate = held(opened, "ann")
    waiting = opened.submit("bob", lambda: None)
    opened.close()
    assert waiting.cancelled()
    gate.set()


@pytest.mark.parametrize("threads", [1, 4])
def test_many_who_submit_and_cancel_at_once_lose_nothing(threads: int) -> None:
    ran: list[int] = []
    kept: list[int] = []

    def submit(caller: str, first: int) -> None:
        for number in range(first, first + 500):
            turn = opened.submit(caller, lambda number=number: ran.append(number))  # type: ignore[misc]  # a lambda keeps the number it was made with
            if number % 3 or not turn.cancel():
                kept.append(number)

    with lane(threads) as opened:
        callers = [Thread(target=submit, args=(f"c{n % 3}", n * 500)) for n in range(6)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(DEADLINE)
        wait_for(lambda: len(ran) == len(kept))
        assert not opened._lines
        wait_for(lambda: not opened._running)
    assert sorted(ran) == sorted(kept)


def test_a_thread_that_waits_for_an_engine_holds_no_place_of_its_lane() -> None:
    answered = Event()

    def wait_far_away() -> bool:
        with WAITS.substituted():
            return answered.wait(DEADLINE)

    with lane(1) as opened:
        turns = [opened.submit(caller, wait_far_away) for caller in "abc"]
        opened.submit("d", answered.set).result(DEADLINE)  # which comes to its turn although all others wait
        assert all(turn.result(DEADLINE) for turn in turns)
        assert opened.submit("e", lambda: 5).result(DEADLINE) == 5
