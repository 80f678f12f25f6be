"""Where the time of a statement goes, once its sums are kept: processor time and function calls of each stage.

A stage is a function of the engine that the report calls; the rest of `run` is the rest. Calls are those of Python and
of its built-in functions, counted apart from the timing. The floor is what as many calls of an empty function take:
below it lies only code that makes fewer calls. Objects are collected as in a worker.
"""

import gc
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from statistics import median
from time import process_time_ns
from types import FrameType
from typing import Any, ParamSpec

from msgspec.json import encode
from pydantic import TypeAdapter

from benches.books import demo_books
from benches.calls import ROWS as OF_CALLS
from benches.page import README, write_block
from benches.statement import shelf_of
from engine.door import Door
from engine.model.profiles import EVERYONE
from engine.model.requests import StatementRequest
from engine.plans.figures import plan_statement
from engine.present.answers.reports import answer, details
from engine.queries.reports import statement_query
from engine.report import run as running
from engine.report.snapshots import keep
from server.run.workers import COLLECTED

ROWS, ROUNDS, COUNTED, WARM = 150_000, 400, 20, 60
BUDGET = 20_000
CASES = ("pnl × 3", "full_pnl × 3")
REQUEST = TypeAdapter(StatementRequest)
INSIDE = {  # functions that `run` calls, and the stage that each belongs to
    "report_size": "size, presence and days",
    "report_reads": "batches of sums",
    "collected": "amounts of the batches",
    "report_table": "figures of the lines",
    "blank_notes": "blanks and their causes",
    "report_notes": "notes",
    "freshness": "freshness",
    "made_of": "lines and columns of the report",
}
REST = "the rest of the run"
Parameters = ParamSpec("Parameters")
STAGES = ("request", *dict.fromkeys(INSIDE.values()), REST, "snapshot", "answer", "JSON text")


class StageMeter:
    """Times stages, or counts their calls: what a stage calls that is a stage itself counts there alone."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self._within = [REST]
        self._since = process_time_ns()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what a block takes for a stage."""
        self._settle()
        self._within.append(name)
        try:
            yield
        finally:
            self._settle()
            self._within.pop()

    def of(self, name: str, work: Callable[Parameters, object]) -> Callable[Parameters, object]:
        """Return a function that counts for a stage; what it yields is made at once."""

        def measured(*args: Parameters.args, **named: Parameters.kwargs) -> object:
            with self.stage(name):
                made = work(*args, **named)
                return list(made) if isinstance(made, Iterator) else made

        return measured

    def _settle(self) -> None:
        now = process_time_ns()
        self.found[self._within[-1]] += now - self._since
        self._since = now

    def count(self, _frame: FrameType, event: str, _about: object) -> None:
        """Count one call, as sys.setprofile tells of it."""
        if event in ("call", "c_call"):
            self.found[self._within[-1]] += 1


class CallCounter(StageMeter):
    """Counts the calls of stages."""

    def _settle(self) -> None:
        return


@contextmanager
def measuring(meter: StageMeter) -> Iterator[None]:
    """Have the stages inside `run` measured."""
    plain = {name: getattr(running, name) for name in INSIDE}
    for name, work in plain.items():
        setattr(running, name, meter.of(INSIDE[name], work))
    try:
        yield
    finally:
        for name, work in plain.items():
            setattr(running, name, work)


def ask(door: Door, asked: dict[str, Any], meter: StageMeter) -> None:
    """Answer one statement as a call does, stage by stage."""
    with meter.stage("request"):
        query = statement_query(REQUEST.validate_python(asked, strict=False), door.reader)
        plan = plan_statement(query, door.reader)
    with meter.stage(REST):
        report = running.run(plan)
    with meter.stage("snapshot"):
        keep(report)
    with meter.stage("answer"):
        answered, beside = answer(report, BUDGET), details(report)
    with meter.stage("JSON text"):
        encode(answered)
        encode(beside)


def times(door: Door, draw: Callable[[Random], dict[str, Any]]) -> dict[str, float]:
    """Return the median processor time of each stage, in milliseconds."""
    drawn, found = Random(7), defaultdict[str, list[float]](list)
    for at in range(WARM + ROUNDS):
        meter = StageMeter()
        with measuring(meter):
            ask(door, draw(drawn), meter)
        for stage in STAGES if at >= WARM else ():
            found[stage].append(meter.found[stage] / 1e6)
    return {stage: median(of_stage) for stage, of_stage in found.items()}


def calls(door: Door, draw: Callable[[Random], dict[str, Any]]) -> dict[str, int]:
    """Return the number of function calls of each stage."""
    drawn, meter = Random(7), CallCounter()
    with measuring(meter):
        for _ in range(COUNTED):
            asked = draw(drawn)
            sys.setprofile(meter.count)
            try:
                ask(door, asked, meter)
            finally:
                sys.setprofile(None)
    return {stage: meter.found[stage] // COUNTED for stage in STAGES}


def empty_call() -> float:
    """Return the processor time of a call of an empty function, in milliseconds."""
    many = 1_000_000
    work = partial(int)
    began = process_time_ns()
    for _ in range(many):
        work()
    return (process_time_ns() - began) / many / 1e6


def main(_: int) -> None:
    """Measure, print, and write the table into the README."""
    gc.freeze()
    gc.set_threshold(*COLLECTED)
    door = Door(shelf_of(demo_books(ROWS)), EVERYONE)
    measured = {name: (times(door, OF_CALLS[name][1]), calls(door, OF_CALLS[name][1])) for name in CASES}
    lines = [f"| {ROWS:,} rows, in process | {' | '.join(f'{name}, ms | calls' for name in CASES)} |"]
    lines.append("|---|" + "--:|--:|" * len(CASES))
    for stage in STAGES:
        cells = (f"{took[stage]:.2f} | {made[stage]:,}" for took, made in measured.values())
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    totals = (f"{sum(took.values()):.2f} | {sum(made.values()):,}" for took, made in measured.values())
    lines.append(f"| together | {' | '.join(totals)} |")
    floor = empty_call()
    floors = (f"{sum(made.values()) * floor:.2f} | " for _, made in measured.values())
    lines.append(f"| as many calls of an empty function | {' | '.join(floors)} |")
    print("\n".join(lines))
    write_block(README, "stages", lines)
