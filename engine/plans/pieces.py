"""Pieces: the days of some windows cut so that each piece lies wholly inside or outside of every window."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property
from itertools import pairwise

from engine.calendar.periods import Span
from engine.plans.windows import Window


class Pieces:
    """The pieces that the sums of some windows are made by, ascending."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans

    @property
    def count(self) -> int:
        """How many amounts there are of each base and member."""
        return len(self.spans)

    def of(self, window: Window) -> Sequence[int]:
        """Return the positions of the pieces a window is made of."""
        found = self._known.get(window)
        if found is None:
            found = self._known[window] = [place for span in window.spans for place in self.inside(span)]
        return found

    def inside(self, span: Span) -> range:
        """Return the positions of the pieces inside a span."""
        return range(bisect_left(self._starts, span.first), bisect_right(self._starts, span.last))

    @cached_property
    def _starts(self) -> list[date]:
        return [piece.first for piece in self.spans]

    @cached_property
    def _known(self) -> dict[Window, Sequence[int]]:
        return {}


def atoms(windows: Iterable[Window], boundaries: Sequence[date] = ()) -> tuple[Span, ...]:
    """Return the days of some windows cut into pieces, at some first days as well."""
    spans = {span for window in windows for span in window.spans}
    ordered = sorted(spans, key=lambda span: span.first)
    ends = {span.first.toordinal() for span in spans} | {span.last.toordinal() + 1 for span in spans}
    cuts = sorted(ends | {day.toordinal() for day in boundaries})
    pieces = []
    reach = ahead = 0
    for first, after in pairwise(cuts):
        while ahead < len(ordered) and ordered[ahead].first.toordinal() <= first:
            reach = max(reach, ordered[ahead].last.toordinal())
            ahead += 1
        if first <= reach:
            pieces.append(Span(date.fromordinal(first), date.fromordinal(after - 1)))
    return tuple(pieces)
