"""Gaps between two looks at `stop`: the processor time that a call uses between them, and the function it stood in.

Collections of garbage do not count: they come at any line, and what they may take is bounded where they are set up.
"""

import gc
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread, get_ident
from time import thread_time

from engine.model.stopping import stopped_by

ROOT = f"{Path(__file__).parents[3]}/"
ROOMS = ("engine/", "server/", "sandbox/")
SAMPLED = 0.01  # seconds between two looks at where a call stands


@dataclass
class LookGaps:
    """A `Stop` that notes the longest processor time between two looks, and where the call stood then."""

    longest: float = 0.0
    stood_in: str = ""
    _since: float = field(default_factory=thread_time)
    _collected: float = 0.0
    _seen: Counter[str] = field(default_factory=Counter)

    def __call__(self) -> None:
        """Look: what the call did since the last look is a gap."""
        gap = thread_time() - self._since - self._collected
        if gap > self.longest:
            self.longest = gap
            self.stood_in = ", ".join(name for name, _ in self._seen.most_common(2))
        self._seen.clear()
        self._collected = 0.0
        self._since = thread_time()

    def collect(self, phase: str, _: object) -> None:
        """Note how long collections of garbage take in the gap that they fall into."""
        self._collected += thread_time() if phase == "stop" else -thread_time()

    def sample(self, thread: int, ends: Event) -> None:
        """Note again and again in which function of ours a thread stands."""
        while not ends.wait(SAMPLED):
            frame = sys._current_frames().get(thread)
            while frame is not None:
                name = frame.f_code.co_filename.removeprefix(ROOT)
                if name.startswith(ROOMS):
                    self._seen[f"{name}:{frame.f_lineno} {frame.f_code.co_qualname}"] += 1
                    break
                frame = frame.f_back


@contextmanager
def looked_at() -> Iterator[LookGaps]:
    """Run a block as a call whose looks at `stop` are timed; its end is a look."""
    gaps, ends = LookGaps(), Event()
    sampler = Thread(target=gaps.sample, args=(get_ident(), ends), daemon=True)
    sampler.start()
    gc.callbacks.append(gaps.collect)
    try:
        with stopped_by(gaps):
            yield gaps
        gaps()
    finally:
        gc.callbacks.remove(gaps.collect)
        ends.set()
        sampler.join()
