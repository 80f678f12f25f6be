"""Sums of totals: the proof that a row of a table is the sum of the rows above it, for init and for loads alike."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

MAX_OPEN: Final = 1_000  # sums that a later one may add up
Amounts = Sequence[int | None]  # of the amount columns of a row; None where it has none


class TotalProof(Struct, frozen=True):
    """Of how many rows a total is the sum, and whether these are totals themselves."""

    rows: int
    of_totals: bool = False

    def __str__(self) -> str:
        """Return the proof in words."""
        return f"the sum of the {self.rows:,} {'sums' if self.of_totals else 'rows'} above"


class TotalSums:
    """Sums of rows that are no totals, against which totals are held.

    A total is the sum of the rows since the total before it, of all rows above, or of the last totals.
    """

    def __init__(self, fewest: int = 1) -> None:
        """`fewest` says of how many rows a sum is made at least."""
        self._fewest = fewest
        self._above: Amounts = ()  # sums of the rows above the last total
        self._rows = 0  # that they are of
        self._open: list[list[int]] = []  # totals that no later one adds up

    def proof(self, total: Amounts, above: Amounts, rows: int) -> TotalProof | None:
        """Return of what a total is the sum; `above` are the sums of all rows above it, which are so many `rows`."""
        if rows - self._rows >= self._fewest and differs(total, self._block(above)) == 0:
            return TotalProof(rows - self._rows)
        if rows >= self._fewest and differs(total, above) == 0:
            return TotalProof(rows)
        count = self._closing(total)
        return TotalProof(count, of_totals=True) if count else None

    def close(self, total: Amounts, above: Amounts, rows: int) -> None:
        """Count a row as a total: the next block begins behind it."""
        still_open = self._open[: len(self._open) - self._closing(total)]
        self._open = [*still_open, [amount or 0 for amount in total]][-MAX_OPEN:]
        self._above, self._rows = tuple(above), rows

    def difference(self, total: Amounts, above: Amounts) -> int:
        """Return by how much a total without proof differs from the sum that fits it in the most columns."""
        return differs(total, min(self._block(above), above, key=lambda sums: misfits(total, sums)))

    def _block(self, above: Amounts) -> Amounts:
        """Return the sums of the rows since the last total."""
        before = self._above or [0] * len(above)
        return [(one or 0) - (other or 0) for one, other in zip(above, before, strict=True)]

    def _closing(self, total: Amounts) -> int:
        """Return how many of the last totals one adds up; 0 if none."""
        added = [0] * len(total)
        for count, one in enumerate(reversed(self._open), 1):
            added = [sum_ + more for sum_, more in zip(added, one, strict=True)]
            if count >= self._fewest and differs(total, added) == 0:
                return count
        return 0


def misfits(total: Amounts, of: Amounts) -> int:
    """Return in how many columns a total differs from a sum."""
    return sum(one is not None and one != other for one, other in zip(total, of, strict=True))


def differs(total: Amounts, of: Amounts) -> int:
    """Return by how much a total differs from a sum in the first column in which it does; 0 if in none it has."""
    pairs = zip(total, of, strict=True)
    return next((one - (other or 0) for one, other in pairs if one is not None and one != (other or 0)), 0)
