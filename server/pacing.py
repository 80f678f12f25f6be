"""Pace: how slowly whoever sends a file may send it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A rate that is to be held on the whole, once some time has passed."""

    bytes_a_second: int = 16 << 10
    at_first: float = 15.0  # seconds

    def due(self, begun: float, size: int) -> float:
        """Return until when more must come, where so many bytes have come since a time."""
        return begun + self.at_first + size / self.bytes_a_second
