"""Places: which combinations of members a cut answer keeps, and the note that says so."""

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from engine.model.calendar.periods import GRAINS
from engine.model.exact import ZERO, Exact
from engine.model.notes import Note
from engine.model.stopping import watched
from engine.report.data import Comparison, ReportData

RANK = "Give order_by and top to rank them."
FILTER = "Filter {dimension}, or rank them by order_by and top of run_metric."
ASK_FEWER = "Ask for fewer periods to see them."


class PlaceCut(Struct, frozen=True, dict=True):
    """The places of a report in the order in which an answer keeps them; the total always stays."""

    report: ReportData

    def kept(self, count: int) -> Sequence[int]:
        """Return the positions of the places that stay if `count` beside the total do, in the order of the report."""
        total = len(self.report.places) - 1
        return [*(range(total) if count >= total else sorted(self._order[: max(count, 0)])), total]

    def notes(self, left: int) -> list[Note]:
        """Return the note that says which members are left out, if any are; a ranking says it by itself."""
        report = self.report
        if not left or report.ranked or not report.breakdown:
            return []
        rest = FILTER.format(dimension=report.breakdown[0]) if report.statement else RANK
        if self._is_by_time:
            return [Note.of("latest_kept", left=str(left), rest=ASK_FEWER)]
        if self._largest_by is None:
            return [Note.of("first_kept", left=str(left), rest=rest)]
        line, column = self._largest_by
        about = {"line": report.lines[line].key, "scenario": report.columns[column].heading}
        return [Note.of("largest_kept", left=str(left), **about, rest=rest)]

    @property
    def _is_by_time(self) -> bool:
        """Whether the first dimension has periods, not the numbers that periods of every year share."""
        first = self.report.places[0].members[:1] if self.report.breakdown[0] in self.report.time else ()
        return any(form.fits(member.id) for member in first for form in GRAINS.values())

    @cached_property
    def _largest_by(self) -> tuple[int, int] | None:
        """The first additive line and the first column that is no share; None if there is none."""
        report = self.report
        lines = (
            at
            for at, line in enumerate(report.lines)
            if line.type is not None and line.type.additive and not line.repeats_over
        )
        columns = (at for at, column in enumerate(report.columns) if column.comparison is not Comparison.SHARE)
        line, column = next(lines, None), next(columns, None)
        return None if line is None or column is None else (line, column)

    @cached_property
    def _order(self) -> Sequence[int]:
        """The places without the total, in the order in which they stay: what stands below sub-totals goes first."""
        places = self.report.places[:-1]
        return sorted(self._by_first, key=lambda at: self.report.depth(places[at]))

    @property
    def _by_first(self) -> Sequence[int]:
        """The places without the total, in the order of the members of the first dimension that stay."""
        places = self.report.places[:-1]
        if self.report.ranked:
            return sorted(range(len(places)), key=lambda at: places[at].holds is None)
        if self._is_by_time:
            return range(len(places))[::-1]
        if self._largest_by is None:
            return range(len(places))
        line, column = self._largest_by
        amounts: dict[str, Exact] = {}
        for place, figure in watched(zip(places, self.report.figures[line][column], strict=False)):
            first = place.members[0].id
            known = amounts.get(first, ZERO)
            amounts[first] = known + figure if isinstance(figure, Exact) and not self.report.depth(place) else known
        largest = sorted(amounts, key=lambda first: abs(amounts[first]), reverse=True)
        rank = {first: at for at, first in enumerate(watched(largest))}
        return sorted(range(len(places)), key=lambda at: rank[places[at].members[0].id])
