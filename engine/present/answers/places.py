"""Places: which combinations of members a cut answer keeps, and the note that says so."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, islice

from msgspec import Struct

from engine.model.calendar.periods import GRAINS
from engine.model.exact import ZERO, Exact, sort_keys
from engine.model.notes import Note
from engine.model.stopping import watched
from engine.report.data import ReportData

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
        if self._column is None or not self._lines:
            return [Note.of("first_kept", left=str(left), rest=rest)]
        line, *others = (report.lines[at].key for at in self._decisive(left))
        then = f", then of {', then of '.join(others)}" if others else ""
        about = {"line": line, "then": then, "scenario": report.columns[self._column].heading}
        return [Note.of("largest_kept", left=str(left), **about, rest=rest)]

    def _decisive(self, left: int) -> Sequence[int]:
        """Return the lines that decide which members stay, without those in which no member has an amount."""
        places, order = self.report.places, self._order
        count = len(order) - left
        last, first = (places[order[at]].members[0].id for at in (max(count - 1, 0), count))
        pairs = list(zip(self._amounts[last], self._amounts[first], strict=False))
        apart = next((at for at, (one, other) in enumerate(pairs) if one != other), len(pairs) - 1)
        each = watched(self._amounts.values())
        held = {at for amounts in each for at, amount in enumerate(amounts) if amount}
        return [self._lines[at] for at in range(apart + 1) if at in held] or self._lines[:1]

    @property
    def _is_by_time(self) -> bool:
        """Whether the first dimension has periods, not the numbers that periods of every year share."""
        first = self.report.places[0].members[:1] if self.report.breakdown[0] in self.report.time else ()
        return any(form.fits(member.id) for member in first for form in GRAINS.values())

    @cached_property
    def _lines(self) -> Sequence[int]:
        """The additive lines."""
        lines = enumerate(self.report.lines)
        return [at for at, line in lines if line.type is not None and line.type.additive and not line.repeats_over]

    @cached_property
    def _column(self) -> int | None:
        """The first column with figures of members themselves, in the unit of their lines; None if there is none."""
        columns = enumerate(self.report.columns)
        return next((at for at, column in columns if column.comparison.keeps_unit and column.has_rows), None)

    @cached_property
    def _amounts(self) -> Mapping[str, list[Exact]]:
        """The absolute amounts of each member of the first dimension, in further lines while members are equal."""
        report, column = self.report, self._column or 0
        positions: dict[str, list[int]] = defaultdict(list)
        for at, place in enumerate(watched(report.places[:-1])):
            positions[place.members[0].id] += [] if report.depth(place) else [at]
        found: dict[str, list[Exact]] = {member: [] for member in watched(positions)}
        tied = set(found)
        for line in self._lines:
            for member in watched(tied):
                amounts = (report.figures.amount(line, column, at) for at in watched(positions[member]))
                found[member].append(abs(sum(amounts, start=ZERO)))
            alike = Counter(tuple(found[member]) for member in watched(tied))
            tied = {member for member in watched(tied) if alike[tuple(found[member])] > 1}
        return found

    @cached_property
    def _order(self) -> Sequence[int]:
        """The places without the total, in the order in which they stay: what stands below sub-totals goes first."""
        places = self.report.places[:-1]
        return sorted(watched(self._by_first), key=lambda at: self.report.depth(places[at]))

    @property
    def _by_first(self) -> Sequence[int]:
        """The places without the total, in the order of the members of the first dimension that stay."""
        places = self.report.places[:-1]
        if self.report.ranked:
            return sorted(range(len(places)), key=lambda at: places[at].holds is None)
        if self._is_by_time:
            return range(len(places))[::-1]
        if self._column is None or not self._lines:
            return range(len(places))
        keys_in_turn = iter(sort_keys([amount for amounts in watched(self._amounts.values()) for amount in amounts]))
        keys = {  # flat, as such tuples compare fastest
            first: tuple(chain.from_iterable(islice(keys_in_turn, len(amounts))))
            for first, amounts in watched(self._amounts.items())
        }
        largest = sorted(keys, key=keys.__getitem__, reverse=True)
        rank = {first: at for at, first in enumerate(watched(largest))}
        return sorted(watched(range(len(places))), key=lambda at: rank[places[at].members[0].id])
