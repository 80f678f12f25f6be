"""Exponential back-off between restarts.

The module stands alone because the supervisor of the workers and the keepers of embedded servers both use it.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """A delay in seconds that doubles with each failure, from `first` up to `longest`; 0 before the first failure."""

    first: float
    longest: float
    delay: float = 0.0

    def fail(self) -> None:
        """Lengthen the delay after a failure."""
        self.delay = min(max(self.first, 2 * self.delay), self.longest)

    def reset(self) -> None:
        """Drop the delay after a success."""
        self.delay = 0.0
