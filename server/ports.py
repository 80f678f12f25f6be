"""Ports: what the service keeps outside of itself, as protocols."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from engine.calendar.periods import Span
from engine.feeds import LoadAttempt, LoadStatus
from engine.instance.documents import Document


class StoreDown(Exception):
    """A store cannot be reached or does not answer in time; says which, never with what credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadsAsked:
    """Which attempts to show: those that hold every one of these, the most recent first."""

    bindings: Collection[str]  # feeds that may be seen, or the one asked for
    cut: Collection[str] = ()  # of these feeds only the days asked for are told, never those of the rows that landed
    target: str | None = None
    span: Span | None = None  # attempts that touch one of these days, or may have
    statuses: Collection[LoadStatus] = tuple(LoadStatus)
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTally:
    """How many attempts of a feed are of one status, and when the latest of them ended."""

    binding: str
    status: LoadStatus
    attempts: int
    latest: datetime | None


class CapReached(Exception):
    """Too many calls are in flight: of the caller's own, or of all."""

    def __init__(self, cap: str) -> None:
        super().__init__(cap)
        self.cap = cap  # caller or all


class Leases(Protocol):
    """Places for calls in flight, of each caller and of all, over every process that shares them."""

    async def take(self, subject: str) -> str:
        """Take a place and return the lease on it; CapReached, at once, where there is none."""

    async def give_back(self, lease: str) -> None:
        """Give a place back; one that was lost already is none to give."""


class Loads(Protocol):
    """The history of loads."""

    def begin(self, attempt: LoadAttempt) -> None:
        """Record an attempt that starts; StoreDown where that cannot be."""

    def finish(self, attempt: LoadAttempt) -> None:
        """Record how an attempt ended, once; an attempt that is not running any more stays as it is."""

    def find(self, asked: LoadsAsked) -> Sequence[LoadAttempt]:
        """Return attempts in the order in which they began, the latest first."""

    def get(self, load_id: str) -> LoadAttempt | None:
        """Return one attempt, None where there is none."""

    def latest(self, bindings: Collection[str], statuses: Collection[LoadStatus]) -> Sequence[LoadAttempt]:
        """Return of each of some feeds the attempt that began last among those that stand so, where there is one."""

    def running(self) -> Sequence[LoadAttempt]:
        """Return the attempts that have not ended, as far as is known."""

    def tally(self) -> Sequence[LoadTally]:
        """Return the attempts of every feed, counted by status."""

    def last_due(self, binding: str) -> datetime | None:
        """Return the latest slot of a feed's schedule that some attempt answered, None where none did."""


class ProfileSource(Protocol):
    """Where it is written who sees what."""

    def read(self) -> Document:
        """Return what it says now, the same document while it says the same; StoreDown where it cannot be asked."""
