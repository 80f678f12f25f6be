"""Dispatch: one call from its arguments to its answer, with caps, lanes and a deadline.

Calls over the cap are answered busy at once. Admitted ones run in one of two lanes of threads, first come first
served: heavy calls in as many as there are cores, light ones beside them. A call whose client is gone or whose
deadline has passed stops at the next frame it would collect; its slot is given back when its thread has ended.
"""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from secrets import token_hex
from threading import Event
from time import monotonic
from typing import Any

from engine.errors import Busy, DeadlineExceeded, Refusal, UnknownName
from server.caller import Callers
from server.principal import Principal
from server.settings import Settings
from server.telemetry.calls import Telemetry
from server.toolbox import TOOLS, Tool
from server.wire.answer import as_text
from server.wire.read import read_request
from server.wire.schema import Json

LIGHT_THREADS = 8
RETRY_AFTER_MS = 250
log = logging.getLogger("tieout")


class CallerGone(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call answers: one JSON object as data and as text, whether it is an error, and the table for a widget."""

    result: Json
    text: str
    is_error: bool = False
    render_block: Json | None = None

    @classmethod
    def refused(cls, result: Json) -> "Outcome":
        """Return the outcome of a call that has no answer."""
        return cls(result, as_text(result), is_error=True)


@dataclass(frozen=True, slots=True)
class Stopper:
    """Tells a running call when to stop."""

    gone: Event
    deadline: float

    def __call__(self) -> None:
        """Raise where the call should not go on."""
        if self.gone.is_set():
            raise CallerGone
        if monotonic() > self.deadline:
            raise DeadlineExceeded("The call took longer than its deadline. Ask for less at once.")


class Dispatch:
    """Runs the calls of all callers in one process."""

    def __init__(
        self, callers: Callers, settings: Settings, telemetry: Telemetry, tools: Mapping[str, Tool] = TOOLS
    ) -> None:
        self.tools = tools
        self._callers = callers
        self._settings = settings
        self._telemetry = telemetry
        telemetry.expect(tools)
        self._in_flight: Counter[str] = Counter()
        self._heavy = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="heavy")
        self._light = ThreadPoolExecutor(LIGHT_THREADS, thread_name_prefix="light")

    def close(self) -> None:
        """Let running calls end and take no more."""
        self._heavy.shutdown(cancel_futures=True)
        self._light.shutdown(cancel_futures=True)

    async def call(
        self, name: str, arguments: Mapping[str, Any], principal: Principal, fault: Refusal | None = None
    ) -> Outcome:
        """Return the answer of one call; what goes wrong is an answer too, and told of as any other.

        `fault` is what was found wrong with its arguments before they came here.
        """
        with self._telemetry.call(name, arguments, principal.subject, known=name in self.tools) as told:
            try:
                if fault is not None:
                    raise fault
                outcome = await self._admitted(self._tool(name), arguments, principal)
            except Refusal as refusal:
                outcome = Outcome.refused(refusal.as_data())
            told.answered(outcome.result, outcome.text)
        return outcome

    def _tool(self, name: str) -> Tool:
        tool = self.tools.get(name)
        if tool is None:
            raise UnknownName.of("tool", name, self.tools, field="tool", hint="tools/list lists the tools.")
        return tool

    async def _admitted(self, tool: Tool, arguments: Mapping[str, Any], principal: Principal) -> Outcome:
        self._take(principal)
        loop, gone = asyncio.get_running_loop(), Event()
        stop = Stopper(gone, monotonic() + self._settings.deadline_seconds)
        lane = self._heavy if tool.heavy else self._light
        running: Future[Outcome] = lane.submit(copy_context().run, self._run, tool, arguments, principal, stop)
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._give_back, principal))
        try:
            waiting = asyncio.wrap_future(running)
            done, _ = await asyncio.wait({waiting}, timeout=self._settings.deadline_seconds)
        finally:
            gone.set()
        if not done:
            raise DeadlineExceeded("The call took longer than its deadline. Ask for less at once.")
        return waiting.result()

    def _take(self, principal: Principal) -> None:
        own, every = self._in_flight[principal.subject], self._in_flight.total()
        if own >= self._settings.calls_per_caller or every >= self._settings.calls:
            self._telemetry.busy("caller" if own >= self._settings.calls_per_caller else "all")
            raise Busy(
                "Too many calls are in flight. Call again shortly, a few at a time.", retry_after_ms=RETRY_AFTER_MS
            )
        self._in_flight[principal.subject] += 1
        self._telemetry.in_flight(every + 1)

    def _give_back(self, principal: Principal) -> None:
        self._in_flight[principal.subject] -= 1
        if not self._in_flight[principal.subject]:
            del self._in_flight[principal.subject]
        self._telemetry.in_flight(self._in_flight.total())

    def _run(self, tool: Tool, arguments: Mapping[str, Any], principal: Principal, stop: Stopper) -> Outcome:
        try:
            stop()
            asked = read_request(tool.shape, arguments)
            answer = tool.run(self._callers.of(principal, stop), asked)
            block = answer.render_block() if tool.renders else None
            return Outcome(answer.result, as_text(answer.result), render_block=block)
        except Refusal as refusal:
            return Outcome.refused(refusal.as_data())
        except CallerGone:
            return Outcome.refused({})
        except Exception:  # the one place where anything else becomes an answer, and one that tells nothing
            error_id = token_hex(8)
            log.exception("call of %s failed, error_id=%s", tool.name, error_id)
            return Outcome.refused(internal(error_id))


def internal(error_id: str) -> Json:
    """Return the answer to a fault of our own: an id that stands in the log, and nothing else."""
    return {
        "error": "Something failed inside the service. Report the error_id to whoever runs it.",
        "error_type": "internal",
        "retryable": False,
        "error_id": error_id,
    }
