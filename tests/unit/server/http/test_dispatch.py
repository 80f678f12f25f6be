"""Dispatch: caps answered at once, deadlines, callers who left, and faults that tell nothing."""

import asyncio
import gc
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from engine.books.books import Shelf
from engine.model.errors import BadArguments
from engine.plans.report_size import ReportSize
from server.base.errors import DeadlineExceeded
from server.base.interfaces import Leases, Principal
from server.base.memory_ceiling import MemoryCeiling, anonymous_bytes
from server.base.requests import EmptyRequest
from server.base.settings import Settings
from server.caller.caller import Caller, Callers, CallerStores
from server.caller.feeds import Feeds
from server.caller.scripts import ScriptRunner
from server.feeds.instance import read_instance
from server.http.dispatch import BUSY_AT_ONCE, CallResult, Dispatcher
from server.http.stop_check import CallAbandoned
from server.stores.memory import MemoryLeases
from server.telemetry.calls import Telemetry
from server.telemetry.metrics import Metrics
from server.tools.examples import no_example
from server.tools.tool import LaneName, Tool
from server.tools.toolbox import TOOLS
from server.wire.answers import Answer
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.engines.memory import MemoryLoads

ANN, BOB = Principal("ann"), Principal("bob")
DEADLINE = 20.0


class Gate:
    """A tool that waits until it is let go, looking at `stop` meanwhile."""

    def __init__(self) -> None:
        self.entered, self.open, self.stopped = Event(), Event(), Event()

    def run(self, caller: Caller, _: EmptyRequest) -> Answer:
        self.entered.set()
        try:
            while not self.open.wait(0.01):
                caller.stop()
        except (CallAbandoned, DeadlineExceeded):
            self.stopped.set()
            raise
        return Answer({"through": True})


def tool(run: Any, lane: LaneName = "light") -> Tool:
    """Return a tool of no arguments."""
    return Tool(
        name="tool",
        title="Tool",
        description="For tests.",
        request=EmptyRequest,
        run=run,
        example=no_example,
        lane=lane,
    )


def dispatch_of(
    small: tuple[Path, Path],
    tools: Mapping[str, Tool],
    metrics: Metrics | None = None,
    keeping: CallerStores | None = None,
    workshop: ScriptRunner = WORKSHOP,
    memory: MemoryCeiling | None = None,
    leases: Leases | None = None,
    **settings: Any,
) -> Dispatcher:
    """Return a dispatch over the small books."""
    folder, state = small
    instance = read_instance(folder)
    feeds = Feeds.of({}, MemoryLoads(), {})
    shelf, keeping = Shelf(instance.catalogue, state / "store"), keeping or keeping_in(state / "files")
    callers = Callers(instance, shelf, feeds, keeping, workshop, 10_000, 10_000)
    known = replace(Settings(instance=folder, state=state), **settings)
    leases = leases or MemoryLeases(known.calls_per_caller, known.calls)
    return Dispatcher(callers, known, Telemetry(metrics or Metrics()), leases, tools, memory=memory)


class LargeReport(Gate):
    """A tool that asks to be admitted with a large report, then waits until it is let go."""

    def run(self, caller: Caller, asked: EmptyRequest) -> Answer:
        caller.admit(ReportSize(figures=100_000, places=100_000))
        return super().run(caller, asked)


def test_a_large_report_leaves_its_thread_to_others_and_waits_for_another_large_one(
    small_instance: tuple[Path, Path],
) -> None:
    first, second = LargeReport(), LargeReport()
    tools = {
        "first": tool(first.run, lane="heavy"),
        "second": tool(second.run, lane="heavy"),
        "light": tool(lambda *_: Answer({"light": True}), lane="heavy"),
    }
    dispatch = dispatch_of(small_instance, tools, workers=1000)  # one thread of heavy calls

    async def scene() -> list[CallResult]:
        large = [asyncio.create_task(dispatch.call("first", {}, ANN))]
        await until(first.entered)
        large.append(asyncio.create_task(dispatch.call("second", {}, BOB)))
        light = [await dispatch.call("light", {}, caller) for caller in (ANN, BOB)]
        assert not second.entered.is_set()
        first.open.set()
        second.open.set()
        return [*light, *await asyncio.gather(*large)]

    assert [outcome.is_error for outcome in asyncio.run(scene())] == [False] * 4


def test_a_large_report_whose_caller_left_while_it_waits_never_runs_and_holds_no_place(
    small_instance: tuple[Path, Path],
) -> None:
    first, second = LargeReport(), LargeReport()
    tools = {"first": tool(first.run, lane="heavy"), "second": tool(second.run, lane="heavy"), **TOOLS}
    dispatch = dispatch_of(small_instance, tools, calls_per_caller=1, deadline_seconds=15)

    async def scene() -> CallResult:
        large = asyncio.create_task(dispatch.call("first", {}, ANN))
        await until(first.entered)
        left = asyncio.create_task(dispatch.call("second", {}, BOB))
        await asyncio.sleep(0.2)  # it is queued a second time
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        outcome = await dispatch.call("list_kpis", {}, BOB)
        first.open.set()
        await large
        return outcome

    assert not asyncio.run(asyncio.wait_for(scene(), DEADLINE)).is_error
    assert not second.entered.is_set()


def test_a_report_that_does_not_fit_below_the_ceiling_is_busy_and_its_worker_is_told_of(
    small_instance: tuple[Path, Path],
) -> None:
    held: list[int] = []
    report, size = LargeReport(), ReportSize(figures=100_000, places=100_000)
    ceiling = MemoryCeiling(anonymous_bytes() + size.bytes + (64 << 20), held.append)
    dispatch = dispatch_of(small_instance, {"large": tool(report.run, lane="heavy")}, memory=ceiling)
    taken = bytearray(b"x" * (256 << 20))  # of this process, by something else
    busy = asyncio.run(dispatch.call("large", {}, ANN)).result
    assert (busy["error_type"], busy["retryable"]) == ("busy", True)
    assert busy["retry_after_ms"] > 0
    assert "Call again shortly, or ask for less at once." in busy["error"]
    assert held[0] > len(taken)
    del taken
    report.open.set()
    assert not asyncio.run(dispatch.call("large", {}, ANN)).is_error
    with (
        ceiling.admitting() as admit,
        pytest.raises(BadArguments, match=r"take about .* MB of memory.* filter a dimension"),
    ):
        admit(ReportSize(figures=1, places=10_000_000))


@pytest.mark.parametrize("lane", ["light", "heavy"])
def test_an_answer_is_gone_with_its_call_without_a_collection(
    small_instance: tuple[Path, Path], lane: LaneName
) -> None:
    class Answered(dict[str, Any]):
        """A result that can be told from others."""

    dispatch = dispatch_of(small_instance, {"tool": tool(lambda *_: Answer(Answered(through=True)), lane=lane)})

    async def scene() -> int:
        for _ in range(20):
            assert not (await dispatch.call("tool", {}, ANN)).is_error
        await asyncio.sleep(0.05)  # the tasks of the last call end
        return sum(isinstance(known, Answered) for known in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(scene()) <= 1  # a thread may still hold the last one
    finally:
        gc.enable()


async def until(event: Event) -> None:
    """Wait for a thread's event without holding up the loop."""
    assert await asyncio.to_thread(event.wait, DEADLINE)


def test_over_the_cap_a_call_is_answered_busy_at_once_and_others_still_come_in(
    small_instance: tuple[Path, Path],
) -> None:
    gate = Gate()
    dispatch = dispatch_of(small_instance, {"gate": tool(gate.run), **TOOLS}, calls_per_caller=1, calls=2)

    async def scene() -> list[CallResult]:
        first = asyncio.create_task(dispatch.call("gate", {}, ANN))
        await until(gate.entered)
        busy = await dispatch.call("list_kpis", {}, ANN)
        other = await dispatch.call("list_scenarios", {}, BOB)
        gate.open.set()
        through = await first
        again = await dispatch.call("list_kpis", {}, ANN)
        return [busy, other, through, again]

    busy, other, through, again = asyncio.run(scene())
    assert (busy.is_error, busy.result["error_type"], busy.result["retryable"]) == (True, "busy", True)
    assert busy.result["retry_after_ms"] > 0
    assert "Call again shortly" in busy.result["error"]
    assert [outcome.is_error for outcome in (other, through, again)] == [False, False, False]


def test_a_caller_who_does_not_heed_busy_waits_for_it_and_nobody_else_does(small_instance: tuple[Path, Path]) -> None:
    gate = Gate()
    dispatch = dispatch_of(small_instance, {"gate": tool(gate.run), **TOOLS}, calls_per_caller=1)

    async def scene() -> list[CallResult]:
        first = asyncio.create_task(dispatch.call("gate", {}, ANN))
        await until(gate.entered)
        again = [asyncio.create_task(dispatch.call("list_kpis", {}, ANN)) for _ in range(BUSY_AT_ONCE + 1)]
        at_once = await asyncio.gather(*again[:BUSY_AT_ONCE])
        other = await dispatch.call("list_kpis", {}, BOB)
        assert not again[-1].done()
        late = await again[-1]
        gate.open.set()
        return [*at_once, late, other, await first]

    *busy, other, first = asyncio.run(scene())
    assert {outcome.result["error_type"] for outcome in busy} == {"busy"}
    assert not other.is_error
    assert not first.is_error


def test_the_cap_of_all_callers(small_instance: tuple[Path, Path]) -> None:
    gate = Gate()
    dispatch = dispatch_of(small_instance, {"gate": tool(gate.run), **TOOLS}, calls_per_caller=5, calls=1)

    async def scene() -> CallResult:
        first = asyncio.create_task(dispatch.call("gate", {}, ANN))
        await until(gate.entered)
        busy = await dispatch.call("list_kpis", {}, BOB)
        gate.open.set()
        await first
        return busy

    assert asyncio.run(scene()).result["error_type"] == "busy"


def test_a_call_past_its_deadline_is_told_so_and_stops(small_instance: tuple[Path, Path]) -> None:
    gate = Gate()
    dispatch = dispatch_of(small_instance, {"gate": tool(gate.run)}, deadline_seconds=2)

    async def scene() -> CallResult:
        outcome = await dispatch.call("gate", {}, ANN)
        await until(gate.stopped)
        return outcome

    outcome = asyncio.run(scene())
    assert (outcome.result["error_type"], outcome.result["retryable"]) == ("timeout", True)
    assert "Ask for less at once" in outcome.result["error"]


def test_a_call_whose_caller_left_stops_and_gives_its_slot_back(small_instance: tuple[Path, Path]) -> None:
    gate = Gate()
    dispatch = dispatch_of(small_instance, {"gate": tool(gate.run, lane="heavy"), **TOOLS}, calls_per_caller=1)

    async def scene() -> CallResult:
        first = asyncio.create_task(dispatch.call("gate", {}, ANN))
        await until(gate.entered)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await until(gate.stopped)
        outcome = await dispatch.call("list_kpis", {}, ANN)
        while outcome.is_error:  # the slot comes back when the thread has ended
            outcome = await dispatch.call("list_kpis", {}, ANN)
        return outcome

    assert asyncio.run(asyncio.wait_for(scene(), DEADLINE)).is_error is False


def test_a_fault_of_our_own_tells_an_id_that_stands_in_the_log(
    small_instance: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_caller: Caller, _asked: EmptyRequest) -> Answer:
        raise RuntimeError("the password is swordfish")

    dispatch = dispatch_of(small_instance, {"broken": tool(broken)})
    with caplog.at_level(logging.ERROR, logger="tieout"):
        outcome = asyncio.run(dispatch.call("broken", {}, ANN))
    assert set(outcome.result) == {"error", "error_type", "error_id"}
    assert outcome.result["error_type"] == "internal"
    assert "swordfish" not in str(outcome.result)
    assert outcome.result["error_id"] in caplog.text
    assert "swordfish" in caplog.text


def test_a_principal_without_a_profile_sees_nothing(small_instance: tuple[Path, Path]) -> None:
    dispatch = dispatch_of(small_instance, TOOLS)
    listed = asyncio.run(dispatch.call("list_scenarios", {}, ANN)).result
    assert (listed["scenarios"], listed["comparisons"]) == ([], [])
    metrics = asyncio.run(dispatch.call("list_kpis", {}, ANN)).result
    assert (metrics["domains"], [note["code"] for note in metrics["notes"]]) == ([], ["nothing_visible"])
    refused = asyncio.run(dispatch.call("run_statement", {"statement": "pnl"}, ANN)).result
    assert refused["error_type"] == "unknown_name"
    assert "valid" not in refused


def test_nobody_waits_behind_all_that_another_asked_for(small_instance: tuple[Path, Path]) -> None:
    gate, order = Gate(), []

    def note(caller: Caller, _: EmptyRequest) -> Answer:
        order.append(caller.stop)  # which is another for each call
        return Answer({"place": len(order)})

    tools = {"gate": tool(gate.run, lane="heavy"), "note": tool(note, lane="heavy")}
    dispatch = dispatch_of(small_instance, tools, workers=1000)  # one thread of heavy calls

    async def scene() -> tuple[int, list[int]]:
        first = asyncio.create_task(dispatch.call("gate", {}, ANN))
        await until(gate.entered)
        others = [asyncio.create_task(dispatch.call("note", {}, ANN)) for _ in range(15)]
        await asyncio.sleep(0)
        of_bob = asyncio.create_task(dispatch.call("note", {}, BOB))
        await asyncio.sleep(0)
        gate.open.set()
        await first
        return (await of_bob).result["place"], [(await one).result["place"] for one in others]

    of_bob, of_ann = asyncio.run(scene())
    assert of_bob == 1
    assert of_ann == sorted(of_ann)


def test_a_call_that_is_late_or_left_while_it_waits_never_runs_and_holds_no_place(
    small_instance: tuple[Path, Path],
) -> None:
    gate, ran = Gate(), []

    def note(_caller: Caller, _asked: EmptyRequest) -> Answer:
        ran.append(1)
        return Answer({})

    tools = {"gate": tool(lambda *_: wait(gate), lane="heavy"), "note": tool(note, lane="heavy"), **TOOLS}
    dispatch = dispatch_of(small_instance, tools, workers=1000, deadline_seconds=2, calls_per_caller=2)

    async def scene() -> list[CallResult]:
        held = asyncio.create_task(dispatch.call("gate", {}, ANN))
        await until(gate.entered)
        left = asyncio.create_task(dispatch.call("note", {}, ANN))
        await asyncio.sleep(0)
        busy = await dispatch.call("list_kpis", {}, ANN)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        again = await dispatch.call("list_kpis", {}, ANN)
        late = await dispatch.call("note", {}, ANN)
        once_more = await dispatch.call("list_kpis", {}, ANN)
        gate.open.set()
        return [busy, again, late, once_more, await held]

    busy, again, late, once_more, held = asyncio.run(scene())
    assert [one.result.get("error_type") for one in (busy, late, held)] == ["busy", "timeout", "timeout"]
    assert not again.is_error
    assert not once_more.is_error
    assert not ran


def wait(gate: Gate) -> Answer:
    """Wait at a gate and heed nothing."""
    gate.entered.set()
    assert gate.open.wait(DEADLINE)
    return Answer({})


def test_a_tool_that_is_turned_off_is_neither_listed_nor_run(small_instance: tuple[Path, Path]) -> None:
    ran = []
    withheld = replace(tool(lambda *_: ran.append(1)), withheld=lambda _: "MACHINE-WORDS", name="turned_off")

    async def scene(dispatch: Dispatcher) -> tuple[list[str], CallResult, CallResult]:
        listed = list(await dispatch.offered(ANN))
        direct = await dispatch.call("turned_off", {"what": "ever"}, ANN)
        return listed, direct, await dispatch.call("turned_of", {}, ANN)

    tools = {"turned_off": withheld, **TOOLS}
    listed, direct, close = asyncio.run(scene(dispatch_of(small_instance, tools)))
    assert "turned_off" not in listed
    assert "list_kpis" in listed
    assert not ran
    assert (direct.is_error, direct.result["error_type"], "retryable" in direct.result) == (
        True,
        "tool_disabled",
        False,
    )
    assert direct.result["error"] == (
        "The tool 'turned_off' is turned off in this deployment. Use the others; tools/list lists them."
    )
    assert "MACHINE-WORDS" not in direct.text
    assert close.result["error_type"] == "unknown_name"
    assert "turned_off" not in close.text


def test_a_tool_may_depend_on_the_settings(small_instance: tuple[Path, Path]) -> None:
    cap = replace(tool(lambda *_: Answer({})), withheld=lambda here: "too few" if here.settings.row_cap < 5 else None)

    def is_offered(row_cap: int) -> bool:
        return bool(asyncio.run(dispatch_of(small_instance, {"cap": cap}, row_cap=row_cap).offered(ANN)))

    assert [is_offered(4), is_offered(5)] == [False, True]


class Panic(BaseException):
    """What Polars raises where it has a fault of its own."""


def test_a_panic_is_a_fault_of_our_own_like_any_other(
    small_instance: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    def panics(_caller: Caller, _asked: EmptyRequest) -> Answer:
        raise Panic("index out of bounds")

    dispatch = dispatch_of(small_instance, {"panics": tool(panics), **TOOLS})
    outcome = asyncio.run(dispatch.call("panics", {}, ANN))
    assert outcome.result["error_type"] == "internal"
    assert outcome.result["error_id"] in caplog.text
    assert not asyncio.run(dispatch.call("list_kpis", {}, ANN)).is_error
