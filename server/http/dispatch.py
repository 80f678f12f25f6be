"""Dispatch: one call from its arguments to its answer, with caps, lanes of threads and a deadline."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from time import monotonic
from typing import Any

from msgspec import Struct
from msgspec.json import encode

from engine.books.reader import SCENARIOS
from engine.model.errors import Refusal, UnknownName
from engine.model.scenarios import resolve
from engine.model.stopping import stopped_by
from engine.plans.report_size import ReportSize
from server.base.errors import Busy, DeadlineExceeded, ToolDisabled
from server.base.interfaces import CapReached, Leases, Principal
from server.base.memory_ceiling import MemoryCeiling
from server.base.settings import Settings
from server.caller.caller import Admit, Callers
from server.http.lanes import Lane, LaneUse, outcome_of
from server.http.stop_check import CallAbandoned, LargeCall, StopCheck
from server.telemetry.calls import UNKNOWN_TOOL, CallRecord, Telemetry
from server.tools.tool import Deployment, Tool
from server.tools.toolbox import TOOLS
from server.wire.answers import LINKS_SINCE, Answer, blocks_beside
from server.wire.arguments import Json, read_request

# Dispatch. A call over a limit is answered `busy` immediately; who calls on regardless waits for it. An answer that the
# books memoise is sent at once, as a thread takes longer than that. Other calls run in one of five lanes: heavy calls
# on a thread for every two cores of the worker, scripts on as many as may run at once, exports and light calls on eight
# each. More would only take turns, since Python runs one thread at a time. A heavy call whose report or rows turn out
# to be large, or that computes for long while somebody else's waits, leaves its thread at its next look at `stop`. It
# begins anew in the fifth lane, once, at the version of then, and keeps its lease and its deadline; the memos that it
# finished stay. Large calls run one after another, and a second one beside one that takes long; each must fit below the
# memory ceiling of the worker. A call whose client is gone or whose deadline has passed does not start, or stops at its
# next look; its lease is released when its thread ends. A query past its deadline cannot be cancelled; dispatch reports
# it, so that the supervisor replaces the worker.


LIGHT_THREADS = 8
CORES_OF_A_HEAVY_CALL = 2
LARGE, LARGE_THREADS = "large", 2
LARGE_BYTES = 3 << 20  # of a report: about 1,000 places or rows, or 10,000 figures
ALONE = 5.0  # seconds of a large call for which those of others wait behind it
RETRY_AFTER_MS = 250
BUSY_AT_ONCE, BUSY_WAIT = 8, 1.0  # refusals of one caller in so many seconds; further ones wait as long
MOST_BUSY = 10_000  # callers whose refusals are counted
GRACE = 5.0  # seconds that a call may compute beyond its deadline
RENDER_BLOCK = "tieout/table"  # where the formatted table stands in _meta
DETAILS = "tieout/details"  # where versions, loads and the dataset's schema stand in _meta
log = logging.getLogger("tieout")


class CallResult(Struct, frozen=True):
    """The answer of a call: one object as data and as JSON, whether it is an error, and what goes into `_meta`."""

    result: Json
    json: bytes
    is_error: bool = False
    render_block: Json | None = None  # the table that a widget draws
    details: Json | None = None  # what only programs need
    picture: bytes | None = None  # a PNG
    address: str | None = None  # where hosts read the result that it is about

    @classmethod
    def of(cls, answer: Answer, block: Json | None = None) -> "CallResult":
        """Return the answer of a tool, with the block of its widget, as the result of a call."""
        return cls(
            answer.result,
            answer.json,
            render_block=block,
            details=answer.details,
            picture=answer.picture,
            address=answer.address,
        )

    @classmethod
    def refused(cls, result: Json) -> "CallResult":
        """Return an error as the result of a call."""
        return cls(result, encode(result), is_error=True)

    @property
    def text(self) -> str:
        """The object as JSON text."""
        return self.json.decode()

    def blocks(self, version: str) -> Iterator[Json]:
        """Yield the content blocks that follow the text in a version of the protocol."""
        return blocks_beside(self.picture, self.address if version >= LINKS_SINCE else None)

    @property
    def meta(self) -> Json:
        """What goes into `_meta`."""
        parts = {RENDER_BLOCK: self.render_block, DETAILS: self.details}
        return {key: part for key, part in parts.items() if part}


BUSY = CallResult.refused(  # made once: who calls on regardless is to cost little
    Busy("Too many calls are in flight. Call again shortly, a few at a time.", retry_after_ms=RETRY_AFTER_MS).as_data()
)


@dataclass(eq=False)
class AdmittedCall:
    """A call that holds a lease, and its turn in a lane."""

    tool: str
    subject: str
    stop: StopCheck
    work: Callable[[Admit], CallResult | None]
    turn: Future[CallResult | None]
    told: CallRecord


def refuse_large(size: ReportSize) -> None:
    """Raise LargeCall if a report takes more memory, and so more time, than others should wait for."""
    if size.bytes > LARGE_BYTES:
        raise LargeCall


def run_large(call: AdmittedCall, memory: MemoryCeiling) -> CallResult | None:
    """Return the answer of a call that begins anew: it moves no more, and waits for memory."""
    call.stop.stay()
    with memory.admitting(call.stop) as admit:
        return call.work(admit)


def lanes_of(settings: Settings) -> Mapping[str, Lane]:
    """Return the lanes of a worker. Those that a call moves between count the seconds of callers together."""
    use = LaneUse()
    return {
        "heavy": Lane("heavy", max(1, (os.cpu_count() or 1) // settings.workers // CORES_OF_A_HEAVY_CALL), use),
        LARGE: Lane(LARGE, LARGE_THREADS, use, ALONE),
        "light": Lane("light", LIGHT_THREADS),
        "scripts": Lane("scripts", settings.scripts_at_once),
        "exports": Lane("exports", LIGHT_THREADS),  # each waits for an export process
    }


class BusyCallers:
    """Delays those who are told `busy` again and again: refusals cost others as much time as answers do."""

    def __init__(self) -> None:
        """Nobody is told `busy` yet."""
        self._refusals: dict[str, tuple[float, int]] = {}  # of each caller since when, and how many since

    async def refuse(self, subject: str) -> None:
        """Count a refusal of a caller; wait if there were too many."""
        now = monotonic()
        since, count = self._refusals.get(subject, (now, 0))
        if now - since >= BUSY_WAIT:
            since, count = now, 0
        if len(self._refusals) >= MOST_BUSY:
            self._refusals.clear()
        self._refusals[subject] = (since, count + 1)
        if count >= BUSY_AT_ONCE:
            await asyncio.sleep(BUSY_WAIT)


class Dispatcher:
    """Runs the calls of all callers in one process."""

    def __init__(
        self,
        callers: Callers,
        settings: Settings,
        telemetry: Telemetry,
        leases: Leases,
        tools: Mapping[str, Tool] = TOOLS,
        overrun: Callable[[str], None] = lambda _: None,
        memory: MemoryCeiling | None = None,
    ) -> None:
        """`overrun` is called with the name of a tool whose call runs past its deadline."""
        self.tools = tools
        self._deployment = Deployment(settings=settings, workshop=callers.workshop)
        self._callers = callers
        self._deadline = settings.deadline_seconds
        self._telemetry = telemetry
        self.leases = leases
        self._overrun = overrun
        self._memory = memory or MemoryCeiling(settings.worker_megabytes << 20)
        telemetry.expect(tools)
        self._in_flight: set[asyncio.Task[CallResult]] = set()
        self._busy = BusyCallers()
        self._lanes = lanes_of(settings)

    def close(self) -> None:
        """Take no more calls."""
        for lane in self._lanes.values():
            lane.close()

    async def offered(self, principal: Principal) -> Mapping[str, Tool]:
        """Return the tools that a caller can call here."""

        def offered() -> Mapping[str, Tool]:
            return {name: tool for name, tool in self.tools.items() if self._is_open(tool, principal)}

        return await asyncio.to_thread(offered)

    async def call(
        self, name: str, arguments: Mapping[str, Any], principal: Principal, fault: Refusal | None = None
    ) -> CallResult:
        """Return the answer of one call; a failure is an answer too.

        `fault` is a fault in the arguments that an earlier check found.
        """
        tool = None if fault else self.tools.get(name)
        return await self._answer(name, tool, arguments, principal, fault)

    async def run(self, request: Tool, arguments: Mapping[str, Any], principal: Principal) -> CallResult:
        """Return the answer of a request of the protocol that is no call of a tool, within the same caps."""
        return await self._answer(request.name, request, arguments, principal)

    async def _answer(
        self,
        name: str,
        tool: Tool | None,
        arguments: Mapping[str, Any],
        principal: Principal,
        fault: Refusal | None = None,
    ) -> CallResult:
        named = name if tool is not None or name in self.tools else UNKNOWN_TOOL
        canonical = partial(self._canonical, principal)
        with self._telemetry.call(named, arguments, principal.subject, canonical) as told:
            try:
                found = tool or await self._no_tool(name, principal, fault)
                outcome = await self._admitted(found, arguments, principal, told)
            except CapReached:
                outcome = BUSY
            except Refusal as refusal:
                outcome = CallResult.refused(refusal.as_data())
            except Exception:  # of what stands around a tool; a tool's own become answers in `_run`
                error_id = token_hex(8)
                log.exception("call of %s failed, error_id=%s", named, error_id)
                outcome = CallResult.refused(internal_error(error_id))
            told.answered(outcome.result, len(outcome.json), outcome.details or {})
        return outcome

    def _canonical(self, principal: Principal, reference: str) -> str | None:
        """Return a scenario reference as written out, None if it is not known as one that its caller sees.

        It runs on the event loop, so it looks only at what the books have memoised.
        """
        reader = self._callers.at_hand(principal)
        seen = reader.kept_as_seen(SCENARIOS) if reader else None
        meant = resolve(reference, seen) if isinstance(seen, Mapping) else None
        return meant.key if meant else None

    async def _no_tool(self, name: str, principal: Principal, fault: Refusal | None) -> Tool:
        """Raise the fault in the arguments of a call, UnknownName without one."""
        offered, hint = await self.offered(principal), "tools/list lists the tools."
        raise fault or UnknownName.of("tool", name, offered, field="tool", hint=hint)

    async def _admitted(
        self, tool: Tool, arguments: Mapping[str, Any], principal: Principal, told: CallRecord
    ) -> CallResult:
        deadline = monotonic() + self._deadline
        known = None if self.leases.is_full(principal.subject) else self._at_hand(tool, arguments, principal)
        lease = await self._take(principal)
        if known is not None:
            await self.leases.give_back(lease)
            return known
        stop = StopCheck(deadline)
        context = copy_context()

        def work(admit: Admit) -> CallResult | None:
            return context.run(self._run, tool, arguments, principal, stop, admit)

        lane = self._lanes[tool.lane]

        def first() -> CallResult | None:
            if tool.lane == "heavy":
                stop.give_way(partial(lane.others_wait, principal.subject))
            return work(refuse_large)

        call = AdmittedCall(tool.name, principal.subject, stop, work, lane.submit(principal.subject, first), told)
        ended = asyncio.create_task(self._until_ended(call, lease))
        self._in_flight.add(ended)
        ended.add_done_callback(self._out)
        self._telemetry.in_flight(len(self._in_flight))
        try:
            done, _ = await asyncio.wait({ended}, timeout=deadline - monotonic())
        finally:
            stop.gone = True
            if call.turn.cancel():  # it was still queued
                await asyncio.wait({ended})
        if not done:
            raise DeadlineExceeded("The call took longer than its deadline. Ask for less at once.")
        return ended.result()

    def _at_hand(self, tool: Tool, arguments: Mapping[str, Any], principal: Principal) -> CallResult | None:
        """Return the answer of a call that the books memoise, None if a thread must make it. Waits for nothing."""
        reader = self._callers.at_hand(principal) if tool.is_memoised else None
        if reader is None:
            return None
        try:
            asked = read_request(tool.shape, arguments)
        except Refusal:
            return None
        known = tool.answer_at_hand(reader, self._callers.answer_tokens, asked)
        return None if known is None else CallResult.of(known)

    async def _take(self, principal: Principal) -> str:
        try:
            return await self.leases.take(principal.subject)
        except CapReached as reached:
            self._telemetry.busy(reached.cap)
            await self._busy.refuse(principal.subject)
            raise

    async def _until_ended(self, call: AdmittedCall, lease: str) -> CallResult:
        late = asyncio.get_running_loop().call_later(self._deadline + GRACE, self._overrun, call.tool)
        try:
            result = await outcome_of(call.turn)
            if result is None and not call.stop.gone:
                call.told.moved()
                call.turn = self._lanes[LARGE].submit(call.subject, partial(run_large, call, self._memory))
                result = await outcome_of(call.turn)
            return result or CallResult.refused({})
        finally:
            late.cancel()
            await self.leases.give_back(lease)

    def _out(self, ended: asyncio.Task[CallResult]) -> None:
        self._in_flight.remove(ended)
        self._telemetry.in_flight(len(self._in_flight))
        self._telemetry.memo_bytes(self._callers.shelf.memo_bytes)

    def _is_open(self, tool: Tool, principal: Principal) -> bool:
        return not (tool.takes_files and principal.is_local) and tool.withheld(self._deployment) is None

    def _hold_open(self, tool: Tool, principal: Principal) -> None:
        if not self._is_open(tool, principal):
            raise ToolDisabled.of(tool.name)

    def _run(
        self, tool: Tool, arguments: Mapping[str, Any], principal: Principal, stop: StopCheck, admit: Admit
    ) -> CallResult | None:
        """Return the answer of a call; None if it is to begin anew in the lane of large calls."""
        try:
            stop()
            self._hold_open(tool, principal)
            caller = self._callers.of(principal, stop, admit, stop.stay)
            with stopped_by(stop):
                answer = tool.call(caller, arguments)
                block = answer.render_block() if tool.widget else None
            return CallResult.of(answer, block)
        except LargeCall:
            return None
        except Refusal as refusal:
            return CallResult.refused(refusal.as_data())
        except CallAbandoned:
            return CallResult.refused({})
        except BaseException:  # the one place where anything else, a panic of Polars too, becomes an answer
            error_id = token_hex(8)
            log.exception("call of %s failed, error_id=%s", tool.name, error_id)
            return CallResult.refused(internal_error(error_id))


def internal_error(error_id: str) -> Json:
    """Return the answer to an internal error: an id that is also in the log, and no details."""
    return {
        "error": "Something failed inside the service. Report the error_id to whoever runs it.",
        "error_type": "internal",
        "error_id": error_id,
    }
