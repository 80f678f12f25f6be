"""The oracle of rankings: which members an answer shows, in which order, and what (others) is over."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from tests.differential.figures import AskedCell, CannotBeAsked, Oracle
from tests.differential.questions import DrawnQuestion
from tests.differential.references import Reference

OTHERS = "(others)"


@dataclass(frozen=True)
class RankedRow:
    """A row of a ranked answer: its members, its cell, and how many members an (others) holds."""

    members: tuple[str, ...]
    cell: AskedCell
    holds: tuple[int, ...] = ()


class OracleRanking:
    """Ranks the members of one question."""

    def __init__(self, oracle: Oracle, question: DrawnQuestion, whole: AskedCell) -> None:
        self.oracle, self.question, self.whole = oracle, question, whole
        metric, _, _ = (question.order_by or "").partition("@")
        self.metric, self.reference = metric, Reference.of(question.scenarios[0])
        self.lines = (*question.metrics, *question.formulas)
        self.references = [Reference.of(text) for text in question.scenarios]

    def rows(self, cell: AskedCell | None = None, members: tuple[str, ...] = ()) -> Iterator[RankedRow]:
        """Yield the rows below a cell."""
        cell = cell or self.whole
        depth, dimensions = len(members), self.question.dimensions
        if depth == len(dimensions):
            return
        key = dimensions[depth]
        below = [(member, self.at(cell, key, member)) for member in self.names(key)]
        present = [(member, found) for member, found in below if self.is_there(found)]
        if depth == 0 or self.question.subtotals:
            present = self.ordered(present)
            shown, rest = present[: self.question.top], present[self.question.top or 0 :]
        else:
            shown, rest = present, []
        for member, found in shown:
            yield from self.row(found, (*members, member))
        if rest:
            leaves = self.oracle.others(key, [member for member, _ in shown], [member for member, _ in rest])
            folded = replace(cell, leaves={**cell.leaves, key: leaves})
            certain = sum(self.is_there(found, certainly=True) for _, found in rest)
            yield from self.row(folded, (*members, OTHERS), (certain, len(rest)))

    def row(self, cell: AskedCell, members: tuple[str, ...], holds: tuple[int, ...] = ()) -> Iterator[RankedRow]:
        """Yield a row, where it has one, and those below it."""
        if self.question.subtotals or len(members) == len(self.question.dimensions):
            yield RankedRow(members, cell, holds)
        yield from self.rows(cell, members)

    def names(self, key: str) -> list[str]:
        """Return the members that a breakdown may show."""
        filtered = self.question.filters.get(key, ())
        return self.oracle.books.shown(key, () if isinstance(filtered, dict) else filtered)

    def at(self, cell: AskedCell, key: str, member: str) -> AskedCell:
        """Return the cell of a member below another."""
        return replace(cell, members={**cell.members, key: member})

    def ordered(self, present: list[tuple[str, AskedCell]]) -> list[tuple[str, AskedCell]]:
        """Return members by the figure that their sub-total has; blanks last, equal ones by their ids."""

        def place(each: tuple[str, AskedCell]) -> tuple[bool, Fraction, str]:
            figure = self.oracle.figure(self.metric, self.reference, self.oracle.ranked(each[1]))
            size = figure or Fraction(0)
            return figure is None, size if self.question.asc else -size, each[0]

        return sorted(present, key=place)

    def is_there(self, cell: AskedCell, *, certainly: bool = False) -> bool:
        """Tell whether a member has a row, its own (that of an outer dimension is a sub-total) or one below it."""
        below = self.question.dimensions[len({*cell.members, *cell.leaves}) :][:1]
        if (self.question.subtotals or not below) and self.has_row(cell, certainly=certainly):
            return True
        return any(
            self.is_there(self.at(cell, key, member), certainly=certainly)
            for key in below
            for member in self.names(key)
        )

    def has_row(self, cell: AskedCell, *, certainly: bool) -> bool:
        """Tell whether a cell has a row: a figure, or if that is not certain rows behind a figure that is blank."""
        lines = [line for line in self.lines if not self.repeats(line, cell)]
        for reference in self.references:
            for line in lines:
                if self.oracle.figure(line, reference, cell) is not None:
                    return True
        return not certainly and any(self.has_rows(cell, reference) for reference in self.references)

    def repeats(self, line: str, cell: AskedCell) -> bool:
        """Tell whether a line repeats its aggregate in a cell: such a figure makes no member."""
        books, oracle = self.oracle.books, self.oracle
        keys = (*cell.members, *cell.leaves)
        return any(not books.has(books.metrics[base][0], key) for base in oracle.bases(line) for key in keys)

    def has_rows(self, cell: AskedCell, reference: Reference) -> bool:
        """Tell whether any metric has rows in a cell that may be asked for."""
        scope = (
            frozenset[str]()
            if len(set(reference.sides)) < 2
            else reference.sides[0].scenarios | reference.sides[1].scenarios
        )
        bases = {base for line in self.lines for base in self.oracle.bases(line)}
        for base in (base for base in bases if not self.repeats(base, cell)):
            for side in reference.sides:
                try:
                    self.oracle.check(base, side, cell)
                except CannotBeAsked:
                    domain = self.oracle.books.metrics[base][0]
                    if not self.oracle.counts_rows or not all(
                        self.oracle.books.has(domain, key) for key in cell.filters
                    ):
                        continue
                if self.oracle.counted(base, side, cell, scope, before_close=True) is not None:
                    return True
        return False

    def shares(self) -> bool:
        """Tell whether members of the first dimension share leaves."""
        for key in self.question.dimensions:
            seen: set[str] = set()
            for member in self.names(key):
                leaves = set(self.oracle.books.weights(key, member))
                if leaves & seen:
                    return True
                seen |= leaves
        return False
