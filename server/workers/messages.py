"""Messages: what a parent and each of its workers tell each other, over a pipe of the two alone."""

from dataclasses import dataclass
from pathlib import Path

from server.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a worker goes by; the first that it is told."""

    settings: Settings
    files: Path  # of the instance, as the parent read them
    health: Path  # where the parent writes how the service stands


@dataclass(frozen=True, slots=True)
class Leave:
    """Take no more connections, answer what is under way, and end.

    Patiently: what comes on connections that are open is answered as well, and tells its client to open another.
    """

    patiently: bool


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker takes connections."""


@dataclass(frozen=True, slots=True)
class Overrun:
    """A call computes on although its deadline is long past; nothing but the end of the worker ends it."""

    tool: str


@dataclass(frozen=True, slots=True)
class CountsAlone:
    """Whether the worker counts calls by itself, against its share of the caps, for the cache store does not."""

    alone: bool


@dataclass(frozen=True, slots=True)
class NoScripts:
    """The worker runs no scripts of charts, for its jail does not hold."""

    reason: str
