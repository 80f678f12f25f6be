"""The oracle of figures: one line in one column and cell, row by row, by the words of docs/figures.md."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cache
from operator import ge, gt, le, lt
from typing import Any

from tests.differential.books import FileBooks, PostedRow
from tests.differential.calendars import DAY, UNITS, FilePeriod, Window
from tests.differential.formulas import FoundOperand, evaluate, is_additive, names, parse
from tests.differential.references import (
    Reference,
    Scope,
    WrittenSide,
    conditions,
    how,
    is_opening,
    over_time,
)
from tests.differential.side_rows import SideRow, inside

COMPARISONS = {"<": lt, "<=": le, ">": gt, ">=": ge}
LONG_AGO = date(1900, 1, 1)
EXTREMES = ("count_distinct", "min", "max", "average")


class CannotBeAsked(Exception):
    """A figure cannot be asked this way."""


@dataclass(frozen=True, slots=True)
class AskedCell:
    """A cell: the range, filters and breakdown of its request, and its members and period; none: the total."""

    asked: Window
    filters: Mapping[str, Any]
    breakdown: tuple[str, ...]  # dimensions of members
    members: Mapping[str, str] = field(default_factory=dict)
    period: FilePeriod | None = None
    time: str = ""  # grain of a breakdown by periods
    leaves: Mapping[str, frozenset[str]] = field(default_factory=dict)  # what a fold of members is over


class Oracle:
    """Answers of one instance, as one profile sees it."""

    counts_rows = False  # whether (others) holds members of which only rows are there

    def __init__(self, books: FileBooks, formulas: Mapping[str, str] | None = None) -> None:
        self.books = books
        own = {key: body["formula"] for key, (_, body) in books.metrics.items() if "formula" in body}
        self.formulas = {**own, **(formulas or {})}
        self.parsed, self.bases = cache(self.tree), cache(self._bases)
        self.held = cache(self._held)
        self.read = cache(self._read)

    # Lines.

    def _bases(self, key: str) -> list[str]:
        """Return the metrics that count rows and that a metric is made of."""
        return names(self.parsed(key)) if key in self.formulas else [key]

    def tree(self, key: str) -> ast.expr:
        """Return a formula with all others written out."""
        return parse(self.formulas[key], self.formulas)

    def additive(self, key: str) -> bool:
        """Tell whether the figures of parts add up to that of the whole."""
        if key in self.formulas:
            return is_additive(self.parsed(key), self.additive)
        return how(self.books.metrics[key][1]) in ("sum", "count")

    def figure(self, key: str, reference: Reference, cell: AskedCell) -> Fraction | None:
        """Return the figure of a line in a column and cell."""
        try:
            if len(reference.sides) == 1:
                return self.plain(key, reference.sides[0], cell, frozenset())
            return self.variance(key, reference, cell)
        except CannotBeAsked:
            return None

    def variance(self, key: str, reference: Reference, cell: AskedCell) -> Fraction | None:
        """Return a - b, or its share of |b|, each side within what may be seen of all scenarios that are named."""
        a, b = reference.sides
        scopes = [self.scope(side, other) for side, other in ((a, b), (b, a))]
        found = [self.plain(key, side, cell, scope) for side, scope in zip((a, b), scopes, strict=True)]
        if found == [None, None]:
            return None
        minuend, subtrahend = (
            Fraction(0) if figure is None and self.is_nothing(key, side, cell, scope) else figure
            for figure, side, scope in zip(found, (a, b), scopes, strict=True)
        )
        if minuend is None or subtrahend is None:
            return None
        if not reference.relative:
            return minuend - subtrahend
        return (minuend - subtrahend) / abs(subtrahend) if found[1] is not None and subtrahend else None

    def scope(self, side: WrittenSide, other: WrittenSide) -> Scope:
        """Return the scenarios that narrow a side of a variance: all that it names, none of a side beside itself."""
        return frozenset() if side == other else side.scenarios | other.scenarios

    def plain(self, key: str, side: WrittenSide, cell: AskedCell, scope: Scope) -> Fraction | None:
        """Return a figure of one side."""
        bases = self.bases(key)
        for base in bases:
            self.check(base, side, cell)
        shared = {
            tuple(self.books.has(self.books.metrics[b][0], key) for key in (*cell.members, *cell.leaves)) for b in bases
        }
        if len(shared) > 1:
            raise CannotBeAsked
        if key not in self.formulas:
            return self.counted(key, side, cell, scope)
        return evaluate(self.parsed(key), lambda base: self.operand(base, side, cell, scope))

    def operand(self, base: str, side: WrittenSide, cell: AskedCell, scope: Scope) -> FoundOperand:
        """Return what a formula finds of a metric."""
        figure = self.counted(base, side, cell, scope)
        outside = figure is None and self.is_outside(base, side, cell, scope)
        return FoundOperand(figure, self.additive(base), outside)

    # What cannot be asked.

    def check(self, base: str, side: WrittenSide, cell: AskedCell) -> None:
        """Raise CannotBeAsked where a metric cannot be asked this way."""
        books, domain = self.books, self.books.metrics[base][0]
        grains = {cell.asked.end.grain, *([cell.period.grain] if cell.period else [])}
        lacking = not all(books.has(domain, key) for key in cell.filters)
        if lacking or not all(books.carries(domain, grain) for grain in grains):
            raise CannotBeAsked
        window = self.window(side, cell)
        if window is not None and not books.calendar.fits(books.grain(domain), *books.calendar.inside(window)):
            raise CannotBeAsked
        if how(books.metrics[base][1]) in EXTREMES and self.is_weighed(base, domain, cell):
            raise CannotBeAsked

    def is_weighed(self, base: str, domain: str, cell: AskedCell) -> bool:
        """Tell whether a tree weighs what cannot be weighed, of what the caller sees in any scenario."""
        where = self.books.metrics[base][1].get("where", {})
        found: list[tuple[str, Mapping[str, Fraction]]] = [
            (key, self.filtered(key, ids)) for key, ids in cell.filters.items() if key not in where
        ]
        for key in cell.breakdown:
            if self.books.is_tree(key) and self.books.has(domain, key) and key not in where:
                found += self.of_nodes(key)
        return any(
            weight != 1 and leaf in self.books.grants.seen_leaves.get(self.books.leaf_of(key), ())
            for key, weights in found
            for leaf, weight in weights.items()
        )

    def of_nodes(self, key: str) -> list[tuple[str, Mapping[str, Fraction]]]:
        """Return what the leaves of each node of a tree, and of all of it, count for."""
        nodes = {node for node, _, _ in self.books.edges(key)}
        return [(key, self.books.below(key, node)) for node in ("", *nodes)]

    # Rows.

    def window(self, side: WrittenSide, cell: AskedCell) -> Window | None:
        """Return the range that a side reads in a cell."""
        grain, asked = cell.asked.end.grain, cell.asked
        if cell.period is not None:
            grain, asked = cell.period.grain, Window(cell.period, cell.period)
        elif cell.time and any(shift in (*UNITS, "ltm") for shift in side.shifts):
            last = self.books.calendar.at(cell.time, asked.last)
            assert last is not None
            grain, asked = cell.time, Window(last, last)
        return self.shifted(asked, side.shifts, grain)

    def shifted(self, asked: Window, shifts: Sequence[str], grain: str) -> Window | None:
        """Return what shifts make of a range."""
        return self.books.calendar.shifted(asked, shifts, grain)

    def _held(self, domain: str, side: WrittenSide, scope: Scope) -> tuple[SideRow, ...]:
        """Return the rows of a side that may be seen."""
        closed = self.books.closed_through(side.terms[0].scenario, domain)
        found = []
        for row in self.books.rows[domain]:
            late = len(side.terms) > 1 and not self.is_before(row.period, closed)
            term = side.terms[-1] if late else side.terms[0]
            seen = all(self.books.grants.sees(domain, name, row) for name in scope | {term.scenario})
            if row.scenario == term.scenario and seen:
                found.append(SideRow(row, term))
        return tuple(found)

    def is_before(self, period: FilePeriod, closed: date | None) -> bool:
        """Tell whether the period of a row is closed."""
        return closed is not None and period.last <= closed

    def days(self, base: str, window: Window) -> tuple[date, date]:
        """Return the days that a rule over time applies to."""
        if is_opening(self.books.metrics[base][1]):
            return LONG_AGO, window.first - DAY
        return window.first, window.last

    def _read(
        self, base: str, side: WrittenSide, window: Window, scope: Scope, *, before_close: bool = False
    ) -> tuple[tuple[SideRow, ...], int]:
        """Return the rows that a metric reads before its own restriction and any filter, and what divides their sum."""
        domain, body = self.books.metrics[base]
        rows = self.held(domain, side, scope)
        first, last = self.days(base, window)
        rule, since = over_time(body)
        if rule in ("to_date", "last_known"):
            first = self.since(since, first, last)
        if rule == "closing":
            in_range = inside(rows, window.first, window.last) if before_close else ()
            return (*self.closing(base, inside(rows, first, last)), *in_range), 1
        rows = inside(rows, first, last)
        if rule == "last_known":
            return self.last_known(domain, base, rows), 1
        if rule == "average":
            groups: dict[FilePeriod, list[SideRow]] = {}
            for each in rows:
                period = self.books.calendar.at(since, each.row.period.last)
                assert period is not None
                groups.setdefault(period, []).append(each)
            closes = [self.closing(base, tuple(group)) for group in groups.values()]
            return tuple(each for close in closes for each in close), max(sum(map(bool, closes)), 1)
        return rows, 1

    def since(self, since: str, first: date, last: date) -> date:
        """Return the first day of what a rule looks back on."""
        year = self.books.calendar.at("year", min(last, self.books.calendar.last))
        return {"range": first, "fiscal_year": year.first if year else LONG_AGO}.get(since, LONG_AGO)

    def close_grain(self, domain: str, base: str) -> str:
        """Return the grain at which a balance closes: its group's of data by day, else that of the data."""
        if self.books.grain(domain) != "date":
            return self.books.grain(domain)
        groups = self.books.domains[domain].get("balances", {})
        declared = groups.get(self.books.metrics[base][1].get("balance", next(iter(groups), "")), {})
        return "date" if declared.get("grain") == "day" else "month"

    def closing(self, base: str, rows: tuple[SideRow, ...]) -> tuple[SideRow, ...]:
        """Return the rows of the last period in which the balances have any."""
        domain, body = self.books.metrics[base]
        groups = self.books.domains[domain].get("balances", {})
        if groups:
            wheres = [groups[body.get("balance", next(iter(groups)))].get("where", {})]
        else:
            bodies = [other for name, other in self.books.metrics.values() if name == domain and "formula" not in other]
            wheres = [other.get("where", {}) for other in bodies if over_time(other)[0] != "sum"]
        mine = [each for each in rows if any(self.meets(domain, where, each.row) for where in wheres)]
        if not mine:
            return ()
        last = self.books.calendar.at(self.close_grain(domain, base), max(each.row.period.last for each in mine))
        assert last is not None
        return inside(rows, last.first, last.last)

    def last_known(self, domain: str, base: str, rows: tuple[SideRow, ...]) -> tuple[SideRow, ...]:
        """Return of each combination of members the rows of the last period that has an amount; all if none has."""
        grain, measure, found = self.close_grain(domain, base), self.books.metrics[base][1].get("measure"), []
        for each in rows:
            alike = [other for other in rows if other.row.members == each.row.members]
            last = [other.row.period.last for other in alike if measure is None or measure in other.row.amounts]
            if not last or self.books.calendar.at(grain, max(last)) == self.books.calendar.at(
                grain, each.row.period.last
            ):
                found.append(each)
        return tuple(found)

    def meets(self, domain: str, where: Mapping[str, Any], row: PostedRow) -> bool:
        """Tell whether a row lies within the cuts and conditions of a `where`."""
        for key, wanted in where.items():
            if key in self.books.domains[domain]["measures"]:
                comparison, limit = wanted.split()
                if key not in row.amounts or not COMPARISONS[comparison](row.amounts[key], Fraction(limit)):
                    return False
            elif row.members[self.books.leaf_of(key)] not in self.books.together(key, wanted):
                return False
        return True

    # Figures.

    def counted(
        self, base: str, side: WrittenSide, cell: AskedCell, scope: Scope, *, before_close: bool = False
    ) -> Fraction | None:
        """Return what a metric makes of the rows of a cell, None where there are none.

        `before_close`: of the close of a balance and of all rows in its range.
        """
        window = self.window(side, cell)
        if window is None:
            return None
        domain, body = self.books.metrics[base]
        rows, divisor = self.read(base, side, window, scope, before_close=before_close)
        cuts = list(self.cuts(domain, body, cell))
        found = []
        for each in rows:
            weight = Fraction(1)
            for leaf, weights, weighs in cuts:
                known = weights.get(each.row.members[leaf])
                if known is None:
                    break
                weight *= known if weighs else 1
            else:
                if self.meets(domain, conditions(body, self.books.domains[domain]["measures"]), each.row):
                    found.append((weight, each))
        return self.made(domain, body, found, divisor)

    def made(
        self, domain: str, body: Mapping[str, Any], found: list[tuple[Fraction, SideRow]], divisor: int
    ) -> Fraction | None:
        """Return what a metric makes of weighted rows."""
        over = how(body)
        if over == "count_distinct":
            leaf = body["over_members"]["count_distinct"]
            members = {each.row.members[leaf] for _, each in found} - {""}
            return Fraction(len(members)) if found else None
        if over == "count":
            return Fraction(sum(weight != 0 for weight, _ in found), divisor) if found else None
        sign, measure = (-1 if body.get("sign") == "negate" else 1), body["measure"]
        amounts = [
            sign * weight * each.row.amounts[measure] * self.factor(domain, measure, each)
            for weight, each in found
            if measure in each.row.amounts
        ]
        if not amounts:
            return None
        total = sum(amounts, Fraction(0))
        return {"min": min(amounts), "max": max(amounts), "average": total / len(amounts)}.get(over, total / divisor)

    def factor(self, domain: str, measure: str, each: SideRow) -> Fraction:
        """Return what a variant multiplies a row by."""
        factor = Fraction(1)
        if each.term.variant:
            variants = self.books.scenarios[each.term.scenario]["variants"]
            for adjust in variants[each.term.variant]["adjust"]:
                where = adjust.get("where", {})
                applies = measure in adjust.get("measures", [measure])
                if applies and all(self.books.has(domain, key) for key in where):
                    factor *= Fraction(str(adjust["factor"])) if self.meets(domain, where, each.row) else 1
        return factor

    def cuts(
        self, domain: str, body: Mapping[str, Any], cell: AskedCell
    ) -> Iterator[tuple[str, Mapping[str, Fraction], bool]]:
        """Yield what restricts a figure: a leaf dimension, what its members count for, and whether that weighs."""
        books, measures = self.books, self.books.domains[domain]["measures"]
        weighed = set()
        for key, ids in body.get("where", {}).items():
            if key not in measures:
                yield books.leaf_of(key), books.together(key, ids), True
                weighed.add(key)
        for key in cell.breakdown:
            if not books.has(domain, key):
                continue
            weights: Mapping[str, Fraction] | None = None
            if key in cell.leaves:
                within = self.filtered(key, cell.filters[key]) if key in cell.filters else books.top(key)
                whole = dict.fromkeys(cell.leaves[key], Fraction(1)) if within is None or key in weighed else within
                weights = {leaf: weight for leaf, weight in whole.items() if leaf in cell.leaves[key]}
            elif key in cell.members:
                weights = books.weights(key, cell.members[key])
            elif key not in cell.filters and key not in weighed:
                weights = books.top(key)
            if weights is not None:
                yield books.leaf_of(key), weights, key not in weighed
                weighed.add(key)
        for key, ids in cell.filters.items():
            yield books.leaf_of(key), self.filtered(key, ids), key not in weighed

    def filtered(self, key: str, ids: Any) -> Mapping[str, Fraction]:
        """Return what the leaves of a filter count for."""
        if not isinstance(ids, Mapping):
            return self.books.together(key, [ids] if isinstance(ids, str) else ids)
        left_out = set(self.books.together(key, ids["exclude"]))
        leaf = self.books.leaf_of(key)
        return {m: Fraction(1) for m in {*self.books.leaves.get(leaf, set()), ""} if m not in left_out}

    # What ranks a member, and what the others are.

    def ranked(self, cell: AskedCell) -> AskedCell:
        """Return the cell whose figure ranks a member: its sub-total in this answer."""
        return cell

    def others(self, key: str, _shown: Sequence[str], rest: Sequence[str]) -> frozenset[str]:
        """Return the leaves that (others) is over: those of the other members alone."""
        return frozenset(leaf for member in rest for leaf in self.books.weights(key, member))

    # What is missing.

    def is_nothing(self, key: str, side: WrittenSide, cell: AskedCell, scope: Scope) -> bool:
        """Tell whether a missing side of a variance counts as 0."""
        window = self.window(side, cell)
        grain = cell.period.grain if cell.period else cell.asked.end.grain
        return (
            window is not None
            and self.additive(key)
            and all(self.is_closed(base, side, window, grain, scope) for base in self.bases(key))
        )

    def is_closed(self, base: str, side: WrittenSide, window: Window, grain: str, scope: Scope) -> bool:
        """Tell whether a domain has rows in a window that is closed and loaded to its end."""
        domain = self.books.metrics[base][0]
        if not self.read(base, side, window, scope)[0]:
            return False
        last = self.days(base, window)[1]
        loaded = max(each.row.period.last for each in self.held(domain, side, scope))
        end = self.books.calendar.at(grain if grain in ("date", "week") else "month", last)
        return not self.is_open(base, side, window) and end is not None and end.first <= loaded

    def is_open(self, base: str, side: WrittenSide, window: Window) -> bool:
        """Tell whether the last day that a metric reads lies after the last closed one of its scenario."""
        domain, last = self.books.metrics[base][0], self.days(base, window)[1]
        each = [self.books.closed_through(term.scenario, domain) for term in side.terms]
        closed = each[-1] if each[0] is not None and last > each[0] else each[0]
        return closed is not None and last > closed

    def is_outside(self, base: str, side: WrittenSide, cell: AskedCell, scope: Scope) -> bool:
        """Tell whether a metric reads days outside what its scenario holds of its domain, which are not open."""
        domain, body = self.books.metrics[base]
        window = self.window(side, cell)
        held = self.held(domain, side, scope)
        if window is None or not (held or self.is_open(base, side, window)):
            return True
        if self.is_open(base, side, window):
            return False
        rule, since = over_time(body)
        first, last = self.days(base, window)
        begins, ends = min(each.row.period.first for each in held), max(each.row.period.last for each in held)
        if rule == "to_date" and since != "fiscal_year":
            return False  # nothing lies before the first movement
        if rule in ("to_date", "last_known"):
            first = self.since(since, first, last)
        return last < begins or first > ends
