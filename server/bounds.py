"""Bounds of connections: how long a client may take over a request or an answer, and how many may be open.

uvicorn closes a connection that rests. One that drips bytes of a request, or does not read its answer, it would keep
for ever; and where it refuses those beyond a number, the first to come keep out everybody else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

LOOKS = 10  # in the time that a client may take


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a client may take."""

    seconds: float = 30.0  # over the headers of a request, over its body, without reading any more of an answer
    connections: int = 1000  # of a worker at once


@dataclass(frozen=True, slots=True)
class Seen:
    """How a connection stood, and since when."""

    request: Any  # the request that it is at or was at last, None before the first
    unread: int  # bytes of answers that the client has not taken
    since: float

    def stands(self, now: "Seen") -> bool:
        """Tell whether it stands the same."""
        return self.request is now.request and self.unread == now.unread


class Connections:
    """The connections of a worker, held to their bounds."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._seen: Mapping[H11Protocol, Seen] = {}
        self._next = 0.0

    def look(self, connections: Iterable[object]) -> None:
        """Cut connections that stand still for too long; of too many those that rest, the longest first."""
        now, known = monotonic(), [one for one in connections if isinstance(one, H11Protocol)]
        if now < self._next and len(known) <= self._bounds.connections:
            return
        self._next = now + self._bounds.seconds / LOOKS
        self._seen = {one: self._see(one, now) for one in known}
        for one, seen in self._seen.items():
            if now - seen.since > self._bounds.seconds and (rests(one) or seen.unread):
                one.transport.abort()  # closing it would wait until the client has read
        resting = sorted((one for one in known if rests(one)), key=lambda one: self._seen[one].since)
        for one in resting[: max(0, len(known) - self._bounds.connections)]:
            one.transport.abort()

    def _see(self, one: H11Protocol, now: float) -> Seen:
        seen, before = Seen(one.cycle, one.transport.get_write_buffer_size(), now), self._seen.get(one)
        return before if before is not None and before.stands(seen) else seen


def rests(one: H11Protocol) -> bool:
    """Tell whether no request on a connection waits for its answer."""
    return one.cycle is None or one.cycle.response_complete  # type: ignore[redundant-expr]  # None at first, untold
