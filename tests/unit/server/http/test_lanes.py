"""Lanes: callers in turn, each caller's work in order, and nothing of what was cancelled."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread, active_count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.base.waits import WAITS
from server.http.lanes import EQUAL, SECOND, Lane, LaneUse, outcome_of
from tests.support.service.servers import DEADLINE, wait_for

CALLERS = st.lists(st.sampled_from("abcd"), max_size=30)


@contextmanager
def lane(threads: int, use: LaneUse | None = None, alone: float = 0.0) -> Iterator[Lane]:
    """Lend a lane whose threads end with the block."""
    before = active_count()
    opened = Lane("test", threads, use, alone)
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


def test_who_stops_waiting_for_a_turn_cancels_it_and_a_closed_lane_cancels_who_waits() -> None:
    with lane(1) as opened:
        gate = held(opened, "a")

        async def scene() -> tuple[bool, bool]:
            left, dropped = opened.submit("b", int), opened.submit("b", int)
            tasks = [asyncio.create_task(outcome_of(turn)) for turn in (left, dropped)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            await asyncio.wait(tasks[:1])
            opened.close()
            await asyncio.wait(tasks[1:])
            return left.cancelled(), tasks[1].cancelled()

        assert asyncio.run(scene()) == (True, True)
        gate.set()


def test_the_line_of_a_caller_keeps_its_place_when_one_of_its_calls_is_cancelled() -> None:
    ran: list[str] = []
    with lane(1) as opened:
        gate = held(opened, "x")
        first = opened.submit("a", lambda: ran.append("never"))
        turns = [opened.submit(caller, partial(ran.append, caller)) for caller in ("a", "b")]
        assert first.cancel()
        gate.set()
        for turn in turns:
            turn.result(DEADLINE)
    assert ran == ["a", "b"]


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


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def pass_by(self, seconds: float) -> None:
        """Move the clock."""
        self.now += int(seconds * SECOND)


@pytest.mark.parametrize(("used", "ago", "first"), [(3, 0, "bob"), (0.05, 0, "ann"), (3, 59, "bob"), (3, 61, "ann")])
def test_who_used_the_fewest_seconds_in_the_last_minute_goes_first(used: float, ago: float, first: str) -> None:
    clock = Clock()
    use, order = LaneUse(clock), list[str]()
    call = use.begin("ann")
    clock.pass_by(used)
    use.end(call)
    clock.pass_by(ago)
    with lane(1, use) as opened:
        gate = held(opened, "x")
        turns = [opened.submit(caller, noting(order, caller)) for caller in ("ann", "bob")]
        gate.set()
        for turn in turns:
            turn.result(DEADLINE)
    assert order[0] == first


def test_lanes_count_the_seconds_of_a_caller_together_and_what_still_runs_counts() -> None:
    clock = Clock()
    use, order = LaneUse(clock), list[str]()
    with lane(1, use) as one, lane(1, use) as other:
        of_ann, gate = held(one, "ann"), held(other, "x")
        clock.pass_by(2)
        turns = [other.submit(caller, noting(order, caller)) for caller in ("ann", "bob")]
        gate.set()
        for turn in turns:
            turn.result(DEADLINE)
        of_ann.set()
    assert order == ["bob", "ann"]


@given(calls=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.integers(0, 40))))
def test_what_callers_used_is_what_their_calls_of_the_last_minute_took(calls: list[tuple[str, int, int]]) -> None:
    clock = Clock()
    use, ended = LaneUse(clock), list[tuple[int, str, int]]()
    for caller, took, pause in calls:
        call = use.begin(caller)
        clock.pass_by(took)
        use.end(call)
        ended.append((clock.now, caller, took * SECOND))
        clock.pass_by(pause)
    last = [(caller, took) for at, caller, took in ended if at >= clock.now - 60 * SECOND]
    assert use.spent("abc") == {who: sum(took for caller, took in last if caller == who) // EQUAL for who in "abc"}


def test_a_call_that_has_run_long_lets_one_of_another_caller_run_beside_it_and_none_of_its_own() -> None:
    clock, order, begun = Clock(), list[str](), Event()

    def of_bob() -> None:
        order.append("bob")
        begun.set()

    with lane(2, LaneUse(clock), alone=5) as opened:
        of_ann = held(opened, "ann")
        turns = [opened.submit("ann", noting(order, "ann")), opened.submit("bob", of_bob)]
        clock.pass_by(4.9)
        turns.append(opened.submit("ann", noting(order, "ann")))  # which wakes the other thread
        assert not begun.wait(0.3)
        clock.pass_by(0.2)
        turns.append(opened.submit("ann", noting(order, "ann")))
        turns[1].result(DEADLINE)
        assert order == ["bob"]
        of_ann.set()
        for turn in turns:
            turn.result(DEADLINE)
    assert order == ["bob", "ann", "ann", "ann"]


def test_the_other_thread_of_a_lane_begins_by_itself_when_a_call_has_run_long() -> None:
    with lane(2, alone=0.01) as opened:
        of_ann = held(opened, "ann")
        opened.submit("bob", lambda: None).result(DEADLINE)
        of_ann.set()


def test_a_lane_tells_whether_calls_of_somebody_else_wait() -> None:
    with lane(1) as opened:
        gate = held(opened, "ann")
        opened.submit("ann", lambda: None)
        assert (opened.others_wait("ann"), opened.others_wait("bob")) == (False, True)
        opened.submit("bob", lambda: None)
        assert opened.others_wait("ann")
        gate.set()
