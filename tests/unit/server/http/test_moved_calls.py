"""Heavy calls that compute for long while somebody else's wait: they leave their thread and begin anew, once."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from engine.model.errors import Refusal
from engine.model.stopping import look
from engine.present.answers.budget import DataRef
from sandbox.render import RenderError
from server.base.requests import EmptyRequest
from server.caller.caller import Caller
from server.http import stop_check
from server.http.dispatch import CallResult, Dispatcher
from server.tools.tool import Effect
from server.tools.toolbox import TOOLS
from server.wire.answers import Answer
from tests.support.books.loads import load_instance
from tests.support.books.small import LEDGER, small_books, write_instance
from tests.support.service.servers import wait_for
from tests.unit.server.http.test_dispatch import ANN, BOB, DEADLINE, dispatch_of, tool, until

FACTS = {"gl": "date scenario amount\n2021-01-05 actual 1"}
LIGHT = tool(lambda *_: Answer({"light": True}), lane="heavy")


class LongCall:
    """A tool that computes until it is let go, and notes each time that it begins."""

    def __init__(self, work: Callable[[Caller], None] = lambda _: None) -> None:
        self.callers: list[Caller] = []
        self.entered, self.open = Event(), Event()
        self._work = work

    def run(self, caller: Caller, _: EmptyRequest) -> Answer:
        """Work, then look at `stop` until let go."""
        self.callers.append(caller)
        self._work(caller)
        self.compute()
        return Answer({"times": len(self.callers)})

    def compute(self) -> None:
        """Look at `stop` until let go."""
        self.entered.set()
        while not self.open.wait(0.01):
            look()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls give way at their next look, so that no test waits."""
    monkeypatch.setattr(stop_check, "PATIENCE", 0.0)


def heavy(small: tuple[Path, Path], long: LongCall) -> Dispatcher:
    """Return a dispatch with one thread of heavy calls."""
    return dispatch_of(small, {"long": tool(long.run, lane="heavy"), "light": LIGHT}, workers=1000)


async def both(dispatch: Dispatcher, long: LongCall) -> tuple[CallResult, CallResult]:
    """Call the long tool, then a light one beside it; let the long one go when the light one is answered."""
    of_ann = asyncio.create_task(dispatch.call("long", {}, ANN))
    await until(long.entered)
    light = await dispatch.call("light", {}, BOB)
    long.open.set()
    return await of_ann, light


def test_a_call_gives_its_thread_up_to_another_caller_and_begins_anew_once_with_one_line_of_audit(
    small_instance: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    long = LongCall()
    dispatch = heavy(small_instance, long)

    async def scene() -> list[CallResult]:
        of_ann = asyncio.create_task(dispatch.call("long", {}, ANN))
        await until(long.entered)
        light = [await dispatch.call("light", {}, BOB) for _ in range(3)]  # which move it no second time
        assert len(long.callers) in (1, 2)
        long.open.set()
        return [await of_ann, *light]

    with caplog.at_level(logging.INFO, logger="tieout.calls"):
        moved, *light = asyncio.run(asyncio.wait_for(scene(), DEADLINE))
    assert (moved.result, [one.result for one in light]) == ({"times": 2}, [{"light": True}] * 3)
    told = [(line.tool, line.moved) for line in caplog.records if line.name == "tieout.calls"]  # type: ignore[attr-defined]  # fields of the line
    assert sorted(told) == [("light", None), ("light", None), ("light", None), ("long", True)]


def test_a_call_stays_where_it_is_for_calls_of_its_own_caller_and_where_nobody_waits(
    small_instance: tuple[Path, Path],
) -> None:
    long = LongCall()
    dispatch = heavy(small_instance, long)

    async def scene() -> list[CallResult]:
        of_ann = [asyncio.create_task(dispatch.call("long", {}, ANN))]
        await until(long.entered)
        of_ann.append(asyncio.create_task(dispatch.call("light", {}, ANN)))
        looks = 0
        while looks < 20:  # of this call, one in a hundredth of a second
            await asyncio.sleep(0.01)
            looks += 1
        long.open.set()
        return await asyncio.gather(*of_ann)

    assert [one.result for one in asyncio.run(scene())] == [{"times": 1}, {"light": True}]


def test_a_call_that_begins_anew_holds_one_lease(small_instance: tuple[Path, Path]) -> None:
    long = LongCall()
    dispatch = dispatch_of(
        small_instance,
        {"long": tool(long.run, lane="heavy"), "light": LIGHT},
        workers=1000,
        calls_per_caller=1,
        calls=2,
    )

    async def scene() -> tuple[CallResult, ...]:
        pair = await both(dispatch, long)
        return *pair, await dispatch.call("light", {}, ANN)

    assert not any(one.is_error for one in asyncio.run(asyncio.wait_for(scene(), DEADLINE)))


def test_a_call_that_begins_anew_has_the_deadline_that_it_had(small_instance: tuple[Path, Path]) -> None:
    long, deadlines = LongCall(), list[float]()
    long._work = lambda caller: deadlines.append(caller.stop.deadline)  # type: ignore[attr-defined]  # of a StopCheck
    asyncio.run(both(heavy(small_instance, long), long))
    assert len(deadlines) == 2
    assert deadlines[0] == deadlines[1]


def test_a_call_that_keeps_a_result_stays_to_its_end(small_instance: tuple[Path, Path], tmp_path: Path) -> None:
    books = small_books(tmp_path, facts=FACTS, domains={"gl": LEDGER})
    report = books.metric("revenue", scenarios={"A": "actual"}, period="2021")
    long, waiting = LongCall(), Event()

    def keeping(caller: Caller, _: EmptyRequest) -> Answer:
        long.callers.append(caller)

        def answer(_: DataRef) -> Answer:
            long.entered.set()
            assert waiting.wait(DEADLINE)
            for _look in range(5):
                caller.stop()
            return Answer({"times": len(long.callers)})

        return caller.datasets.keep(report, answer)

    dispatch = dispatch_of(small_instance, {"long": tool(keeping, lane="heavy"), "light": LIGHT}, workers=1000)

    async def scene() -> list[CallResult]:
        of_ann = asyncio.create_task(dispatch.call("long", {}, ANN))
        await until(long.entered)
        of_bob = asyncio.create_task(dispatch.call("light", {}, BOB))
        await asyncio.to_thread(wait_for, lambda: dispatch._lanes["heavy"].others_wait("ann"))
        waiting.set()
        return [await of_ann, await of_bob]

    assert [one.result for one in asyncio.run(scene())] == [{"times": 1}, {"light": True}]


@pytest.mark.parametrize("act", ["draw", "picture", "run", "export"])
def test_whoever_draws_runs_a_script_or_makes_a_file_stays(
    act: str, small_instance: tuple[Path, Path], tmp_path: Path
) -> None:
    report = small_books(tmp_path, facts=FACTS, domains={"gl": LEDGER}).metric(
        "revenue", scenarios={"A": "actual"}, period="2021"
    )
    seen = list[float]()

    def acting(caller: Caller, _: EmptyRequest) -> Answer:
        acts: dict[str, Callable[[], Any]] = {
            "draw": lambda: caller.scripts.draw({}, "svg"),
            "picture": lambda: caller.scripts.picture({}),
            "run": lambda: caller.scripts.run("tool", "result = df", [report.frame]),
            "export": lambda: caller.files.picture(report, "svg", b"drawn"),
        }
        seen.append(caller.stop.patience)  # type: ignore[attr-defined]  # of a StopCheck
        with suppress(Refusal, RenderError):  # what cannot be drawn or run
            acts[act]()
        seen.append(caller.stop.patience)  # type: ignore[attr-defined]  # of a StopCheck
        return Answer({})

    dispatch = dispatch_of(small_instance, {"long": tool(acting, lane="heavy")})
    asyncio.run(dispatch.call("long", {}, ANN))
    assert seen[0] < seen[1] == inf


def test_what_makes_a_file_or_runs_a_script_has_a_lane_of_its_own() -> None:
    assert not [name for name, known in TOOLS.items() if known.lane == "heavy" and known.effect is not Effect.NONE]


def test_memos_that_were_finished_stay_and_the_one_that_was_being_made_is_made_anew(
    small_instance: tuple[Path, Path],
) -> None:
    made = list[str]()
    long = LongCall()

    def finished() -> str:
        made.append("finished")
        return "value"

    def unfinished() -> str:
        made.append("unfinished")
        long.compute()
        return "value"

    def work(caller: Caller) -> None:
        caller.reader.memo_as_seen("finished", finished)
        caller.reader.memo_as_seen("unfinished", unfinished)

    long._work = work
    moved, _ = asyncio.run(asyncio.wait_for(both(heavy(small_instance, long), long), DEADLINE))
    assert (moved.result, made) == ({"times": 2}, ["finished", "unfinished", "unfinished"])


def test_a_call_that_waits_for_a_memo_of_another_gives_its_thread_up_as_well(small_instance: tuple[Path, Path]) -> None:
    maker = LongCall()
    entered = Event()

    def wanting(caller: Caller, _: EmptyRequest) -> Answer:
        entered.set()
        caller.reader.memo_as_seen("slow", lambda: None)
        return Answer({"known": True})

    def make(caller: Caller) -> None:
        caller.reader.memo_as_seen("slow", maker.compute)

    maker._work = make
    tools = {"maker": tool(maker.run), "long": tool(wanting, lane="heavy"), "light": LIGHT}
    dispatch = dispatch_of(small_instance, tools, workers=1000)

    async def scene() -> list[CallResult]:
        making = asyncio.create_task(dispatch.call("maker", {}, ANN))
        await until(maker.entered)
        wants = asyncio.create_task(dispatch.call("long", {}, ANN))
        await until(entered)
        light = await dispatch.call("light", {}, BOB)
        assert not making.done()
        maker.open.set()
        return [light, await wants, await making]

    told = [one.result for one in asyncio.run(asyncio.wait_for(scene(), DEADLINE))]
    assert told == [{"light": True}, {"known": True}, {"times": 1}]


def test_a_call_that_begins_anew_reads_the_version_of_then(tmp_path: Path) -> None:
    instance = write_instance(tmp_path / "books", facts=FACTS, domains={"gl": LEDGER})
    load_instance(instance, tmp_path / "state")
    long = LongCall()
    dispatch = heavy((instance, tmp_path / "state"), long)

    async def scene() -> None:
        of_ann = asyncio.create_task(dispatch.call("long", {}, ANN))
        await until(long.entered)
        await asyncio.to_thread(load_instance, instance, tmp_path / "state")
        await dispatch.call("light", {}, BOB)
        long.open.set()
        await of_ann

    asyncio.run(scene())
    first, second = (caller.reader._books.version for caller in long.callers)
    assert first < second
