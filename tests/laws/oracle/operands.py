"""Formulas of a request whose operands have members or a side of their own, by the words of the rules.

Readings decided here: an own side replaces that of the column, own steps come after its steps; a missing operand with a
side of its own counts as 0 where a missing side of a variance does, else it leaves the whole formula blank; all
operands are seen inside what may be seen of all the scenarios that the formula reads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from tests.laws.oracle.books import LEAF_OF, OracleBase, OracleBooks
from tests.laws.oracle.calendar import CALENDAR_WINDOWS, OF_TRADING, TRADING_WINDOWS
from tests.laws.oracle.cuts import cuts_of
from tests.laws.oracle.expressions import LENGTHS, Expression, Name, evaluate, names, parts_of, with_parts
from tests.laws.oracle.figures import (
    MISSING,
    UNAVAILABLE,
    BlankReason,
    Figure,
    OracleLine,
    bases_of,
    counts_as_zero,
    lacks,
    length,
    metric_of,
    operand_is_additive,
    plain,
)
from tests.laws.oracle.formulas import kinds_of, part
from tests.laws.oracle.reading import Scope, is_unknown
from tests.laws.oracle.references import OracleCell, OracleSide, Reference, window_of
from tests.laws.oracle.requests import MOVES, OracleRequest, grains_of, may_cut, sides


@dataclass(frozen=True, slots=True)
class OwnName:
    """A metric with members or a side of its own, or with more steps than its column has."""

    key: str
    side: OracleSide | None
    shifts: tuple[str, ...] = ()
    cuts: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def text(self) -> str:
        """The operand as a formula writes it."""
        side = self.side.text if self.side else "".join(f"@{step}" for step in self.shifts)
        ids = ", ".join(f"{key}: [{', '.join(f'{chr(34)}{each}{chr(34)}' for each in of)}]" for key, of in self.cuts)
        return f"{self.key}{f'{{{ids}}}' if ids else ''}{f'[{side}]' if side else ''}"

    @property
    def has_side(self) -> bool:
        """Tell whether it reads other days or scenarios than its column."""
        return self.side is not None or bool(self.shifts)

    def within(self, cell: OracleCell) -> OracleCell:
        """Return the cell in which it stands: its own members replace those of every dimension of their leaf."""
        leaves = {LEAF_OF[key] for key, _ in self.cuts}

        def others(cuts: Mapping[str, Any]) -> dict[str, Any]:
            return {key: ids for key, ids in cuts.items() if LEAF_OF[key] not in leaves}

        return replace(
            cell,
            filters={**others(cell.filters), **dict(self.cuts)},
            excluded=others(cell.excluded),
            breakdown=tuple(key for key in cell.breakdown if LEAF_OF[key] not in leaves),
            place=None if cell.place is None else others(cell.place),
        )

    def under(self, side: OracleSide) -> OracleSide:
        """Return the side that it reads where the formula is computed of a side."""
        return self.side or OracleSide(side.parts, (*side.shifts, *self.shifts))


@dataclass(frozen=True, slots=True)
class OwnFormula:
    """A formula, and those of its names that have a side of their own, by how they are written."""

    expression: Expression
    own: Mapping[str, OwnName]

    def sides(self, side: OracleSide) -> Iterator[tuple[OracleSide, bool]]:
        """Yield the sides that its operands read, each with whether it follows that of the column."""
        for key in names(self.expression):
            if key in self.own:
                yield self.own[key].under(side), self.own[key].side is None
            elif key not in LENGTHS:
                yield side, True

    def scope(self, side: OracleSide, compared: Scope) -> Scope:
        """Return the scenarios whose limits hold for every operand; `compared` are those of a variance."""
        read = set(self.sides(side))
        limits = compared if any(follows for _, follows in read) else frozenset[str]()
        if len({known for known, _ in read}) == 1 and not limits:
            return limits
        return limits.union(*(known.scenarios for known, _ in read))


def own_figure(books: OracleBooks, formula: OwnFormula, reference: Reference, cell: OracleCell) -> Figure:
    """Return the figure of a formula in a column and place; no side of a variance of it counts as 0."""
    if isinstance(reference, OracleSide):
        return own_side(books, formula, reference, cell, frozenset())
    a, b = (own_side(books, formula, side, cell, scope) for side, scope in reference.sides)
    if UNAVAILABLE in (a, b):
        return UNAVAILABLE
    if isinstance(a, BlankReason) or isinstance(b, BlankReason):
        return MISSING
    if not reference.relative:
        return a - b
    return (a - b) / abs(b) if b else MISSING


def own_side(books: OracleBooks, formula: OwnFormula, side: OracleSide, cell: OracleCell, compared: Scope) -> Figure:
    """Return the figure of a formula of one side."""
    scope, found = formula.scope(side, compared), dict[str, Figure]()
    metrics = {key: formula.own[key].key if key in formula.own else key for key in names(formula.expression)}
    metrics = {key: metric for key, metric in metrics.items() if metric not in LENGTHS}
    bases = [base for metric in metrics.values() for base in bases_of(books, metric_of(books, metric))]
    bound = [base for base in bases if not base.repeats] or bases
    if len({lacks(base.domain, cell) for base in bound}) > 1:
        return UNAVAILABLE
    is_blank = False
    for key, metric in metrics.items():
        line, known = OracleLine(metric_of(books, metric)), formula.own.get(key)
        read = known.under(side) if known else side
        found[key] = plain(books, line, read, known.within(cell) if known else cell, scope)
        if known and known.has_side and found[key] is MISSING and operand_is_additive(books, metric):
            is_blank = is_blank or not counts_as_zero(books, line.metric, read, cell, scope)
        if not known or not known.has_side:
            is_blank = is_blank or any(unknown(books, base, side, cell, scope) for base in bases_of(books, line.metric))
    if UNAVAILABLE in found.values():
        return UNAVAILABLE
    if is_blank:
        return MISSING

    def operand(key: str) -> Fraction | None:
        figure = length(books, side, cell, key) if key in LENGTHS else found[key]
        return figure if isinstance(figure, Fraction) else None

    value = evaluate(formula.expression, operand, lambda key: operand_is_additive(books, metrics.get(key, key)))
    return MISSING if value is None else value


def unknown(books: OracleBooks, base: OracleBase, side: OracleSide, cell: OracleCell, scope: Scope) -> bool:
    """Tell whether no one knows a metric in the days that a column reads."""
    window = window_of(books, side, cell)
    return window is not None and is_unknown(books, base, side, window, scope)


@st.composite
def own_formulas(draw: st.DrawFn, books: OracleBooks, request: OracleRequest) -> OwnFormula:
    """Draw a formula of base metrics of the domain of a request, some of them with sides of their own."""
    domain = metric_of(books, request.metrics[0]).domain
    known = {key: of for key, of in kinds_of(books.bases).items() if of[1] == domain}
    expression = draw(part(draw(st.sampled_from(sorted({kind for kind, _ in known.values()}))), domain, known, 2))
    cuts = may_cut(grains_of(request.dimensions, request.asked))
    windows = TRADING_WINDOWS if request.asked.grain in OF_TRADING else CALENDAR_WINDOWS
    side = sides(books, windows, MOVES).filter(lambda drawn: not (cuts and drawn.shifts))
    step = st.sampled_from((*MOVES, *windows))
    own: dict[str, OwnName] = {}

    def with_own(found: Expression) -> Expression:
        if not isinstance(found, Name):
            return with_parts(found, [with_own(below) for below in parts_of(found)])
        if found.key in LENGTHS or draw(st.integers(0, 2)) == 0:
            return found
        members = tuple(draw(cuts_of(books, domain, 1)).items())
        members = members if draw(st.integers(0, 2)) == 0 else ()
        alone, steps = draw(st.sampled_from((True, False))), draw(st.sampled_from((True, False)))
        if members and alone:
            name = OwnName(found.key, None, (), members)
        elif not cuts and steps:
            name = OwnName(found.key, None, (draw(step),), members)
        else:
            name = OwnName(found.key, draw(side), (), members)
        own[name.text] = name
        return Name(name.text, name.text)

    return OwnFormula(with_own(expression), own)
