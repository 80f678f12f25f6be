"""Timing side by side: contestants take turns in one process, so that a busy moment falls on all of them."""

import gc
import multiprocessing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

Work = Callable[[], object]
NOTHING: Mapping[str, Work] = {}


@dataclass(frozen=True, slots=True)
class Times:
    """How long one contestant took, in milliseconds."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median."""
        return median(self.runs)

    @property
    def p95(self) -> float:
        """The 95th percentile."""
        return sorted(self.runs)[int(0.95 * (len(self.runs) - 1))]


def in_turns(contestants: Mapping[str, Work], rounds: int, before: Mapping[str, Work] = NOTHING) -> dict[str, Times]:
    """Run every contestant once unmeasured, then in turns, and return their times.

    `before` holds what some of them do before each turn, unmeasured.
    """
    for work in contestants.values():
        work()
    runs: dict[str, list[float]] = {name: [] for name in contestants}
    gc.collect()
    for _ in range(rounds):
        for name, work in contestants.items():
            if name in before:
                before[name]()
            begun = perf_counter()
            work()
            runs[name].append((perf_counter() - begun) * 1000)
    return {name: Times(tuple(times)) for name, times in runs.items()}


def peak_of(prepare: Callable[[], Work], rounds: int) -> tuple[int, int]:
    """Run one contestant in a process of its own; return its memory once prepared and at its peak, in MB."""
    answers: multiprocessing.SimpleQueue[tuple[int, int]] = multiprocessing.get_context("spawn").SimpleQueue()
    process = multiprocessing.get_context("spawn").Process(target=measure_peak, args=(prepare, rounds, answers))
    process.start()
    peaks = answers.get()
    process.join()
    return peaks


def measure_peak(
    prepare: Callable[[], Work], rounds: int, answers: "multiprocessing.SimpleQueue[tuple[int, int]]"
) -> None:
    """Prepare, work, and tell the memory held before and at the peak."""
    work = prepare()
    before = memory("VmRSS")
    for _ in range(rounds):
        work()
    answers.put((before, memory("VmHWM")))


def memory(kind: str, process: int | str = "self") -> int:
    """Return one of the memory figures that the kernel keeps of a process, this one or another, in MB."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    line = next(line for line in lines if line.startswith(kind))
    return int(line.split()[1]) // 1024


def report(times: Mapping[str, Times], against: str) -> None:
    """Print median, 95th percentile and the ratio of medians to one contestant's."""
    base = times[against].median
    for name, found in times.items():
        ratio = f"{found.median / base:5.2f} x {against}"
        print(f"{name:42} median {found.median:8.2f} ms   p95 {found.p95:8.2f} ms   {ratio}")
