"""Stop checks: what a call that runs looks at, and what ends it: a client that is gone, a deadline, others who wait."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import monotonic

from server.base.errors import DeadlineExceeded

PATIENCE = 0.25  # seconds of a heavy call for which calls of others wait behind it


class CallAbandoned(Exception):
    """The client of a call is gone."""


class LargeCall(Exception):
    """A call turned out to be large, or to take long. It has kept nothing yet."""


@dataclass(slots=True)
class StopCheck:
    """Raises in a running call that should stop."""

    deadline: float
    gone: bool = False  # a call asks hundreds of times, so this is no Event
    patience: float = inf  # until when calls of others wait behind it
    others_wait: Callable[[], bool] = bool

    def __call__(self) -> None:
        """Raise CallAbandoned if the client is gone, DeadlineExceeded past the deadline, LargeCall if others wait."""
        if self.gone:
            raise CallAbandoned
        now = monotonic()
        if now > self.deadline:
            raise DeadlineExceeded("The call took longer than its deadline. Ask for less at once.")
        if now > self.patience and self.others_wait():
            raise LargeCall

    def give_way(self, others_wait: Callable[[], bool]) -> None:
        """Leave the thread from now on if others wait, but not at once."""
        self.patience, self.others_wait = monotonic() + PATIENCE, others_wait

    def stay(self) -> None:
        """Leave the thread no more: something is kept, drawn or run that would be there twice."""
        self.patience = inf
