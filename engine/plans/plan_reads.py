"""Plan reads: what the rows and columns of a plan read, whatever the days. The books keep them for later reports."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.aggregation import TimeRule
from engine.model.catalogue import Base, DayKey
from engine.model.scenarios import Reference, Side
from engine.plans.availability import Availability
from engine.plans.base_groups import size_of_groups
from engine.plans.expressions import Expression, FormulaExpression, MeasureExpression, OwnExpression
from engine.plans.measure import BatchShape, batch_shapes
from engine.plans.presence import compared_with
from engine.plans.rows import Row
from engine.plans.weights import Axis, axis_of
from engine.plans.windows import ColumnRead, DomainRead, domain_read_of

CARRIED = (TimeRule.LAST_KNOWN, TimeRule.TO_DATE)  # balances that stand at the end of what is loaded of a range


Scope = frozenset[str] | None  # of a formula while it is computed: the scenarios of all its operands; None of a column
ReadSide = tuple[Side, frozenset[str]]  # with the compared scenarios that narrow its scope


class DomainShapes(Struct, frozen=True, eq=False):
    """What a plan reads of one domain read: for which of its sides, and in which batches."""

    domain_read: DomainRead
    by_time: Sequence[tuple[Base, ...]]  # its bases, those that read the same windows together
    sides: Sequence[tuple[int, ...]]  # of these, the positions of the sides that they are read in
    shapes: Sequence[BatchShape]


class PlanReads(Struct, frozen=True, eq=False, dict=True):
    """What the rows and columns of a plan read, whatever the days. The reports of a statement share it."""

    bases: tuple[Base, ...]  # the available ones of all rows
    balances: tuple[Base, ...]  # one closing and one opening balance of each stock group among them
    axes: tuple[Axis, ...]  # of the breakdown, without time
    weighing: tuple[str, ...]  # the trees among them whose total does not count every leaf once
    topped: tuple[str, ...]  # those that may make the total another figure than it is without the breakdown
    sides: tuple[ReadSide, ...]  # those of columns first
    of_operands: Mapping[ReadSide, Mapping[Base, None]]  # what operands with sides of their own read in these
    columns: tuple[tuple[int, ...], ...]  # of each column, the positions of its sides
    domains: tuple[str, ...]
    shapes: tuple[DomainShapes, ...]
    measured: Mapping[Row, Base]  # the rows that show an available base
    computed: tuple[Row, ...]  # the other rows

    @classmethod
    def of(
        cls, rows: Sequence[Row], references: Sequence[Reference], askable: Sequence[Availability], *, nests: bool
    ) -> "PlanReads":
        """Return what some rows read in the columns of some references, perhaps with sub-totals.

        The first of `askable` is the availability of the plan; a base is read if each of them can ask for it.
        """
        availability, reader = askable[0], askable[0].reader
        every = (base for row in rows if row.expression for base in row.expression.bases)
        bases = tuple(base for base in dict.fromkeys(every) if not any(known.why_not_base(base) for known in askable))
        balances = {(base.domain, base.stock_group, base.over_time): base for base in bases if base.over_time.closes}
        filters = availability.filters
        axes = tuple(axis_of(at, key, reader, filters) for at, key in enumerate(availability.dimensions))
        columns = [
            [(side, shared_with(side, reference.sides, bases, reader)) for side in reference.sides]
            for reference in references
        ]
        of_columns = tuple(dict.fromkeys(side for column in columns for side in column))
        of_operands = sides_of_operands(rows, of_columns, reader)
        sides = list(dict.fromkeys((*of_columns, *of_operands)))
        domains = tuple(dict.fromkeys(base.domain for base in bases))
        by_read: dict[DomainRead, list[int]] = defaultdict(list)
        for at, (side, shared) in enumerate(sides):
            for domain in domains:
                by_read[domain_read_of(domain, side, shared, reader)].append(at)
        shapes = []
        for read, of_sides in by_read.items():
            by_cut: dict[Hashable, dict[tuple[tuple[int, ...], Hashable], list[Base]]] = {}
            for base in (base for base in bases if base.domain == read.domain):
                used = tuple(at for at in of_sides if at < len(of_columns) or base in of_operands[sides[at]])
                if used:
                    days = None if base.over_time.is_flow else (base.over_time, base.stock_group)
                    by_cut.setdefault(base.own, {}).setdefault((used, days), []).append(base)
            for by_time in by_cut.values():
                alike = list(map(tuple, by_time.values()))
                first = alike[0][0]
                across = [axis for axis in axes if availability.across_of(first)[axis.place]]
                kept = availability.filters_of(first)
                found = batch_shapes(read, alike, across, len(axes), kept, reader, subtotals=nests)
                shapes.append(DomainShapes(read, alike, [used for used, _ in by_time], found))
        positions = tuple(tuple(map(sides.index, column)) for column in columns)
        measured = {row: row.expression.base for row in rows if isinstance(row.expression, MeasureExpression)}
        measured = {row: base for row, base in measured.items() if base in bases}
        computed = tuple(row for row in rows if row not in measured)
        weighing = axes_weighing(axes, availability)
        trees = (axis for axis in axes if axis.key in weighing)
        topped = tuple(axis.key for axis in trees if any(availability.is_topped(base, axis) for base in bases))
        shown = (axes, weighing, topped, tuple(sides), of_operands, positions)
        return cls(bases, tuple(balances.values()), *shown, domains, tuple(shapes), measured, computed)

    @property
    def operand_sides(self) -> Sequence[ReadSide]:
        """The sides that only operands of formulas read."""
        return self.sides[len(set().union(*self.columns)) :]

    def in_side(self, side: Side, shared: frozenset[str]) -> Callable[[Sequence[Base]], bool]:
        """Return what tells whether bases that are read alike are read in a side: in those of columns every one is."""
        if (side, shared) in self._of_columns:
            return bool
        used = self.of_operands.get((side, shared), {})
        return lambda alike: alike[0] in used

    @cached_property
    def _of_columns(self) -> frozenset[ReadSide]:
        return frozenset(self.sides[at] for column in self.columns for at in column)

    @cached_property
    def shown(self) -> frozenset[Base]:
        """The bases that rows show as they are."""
        return frozenset(self.measured.values())

    @cached_property
    def by_days(self) -> Mapping[DayKey, Base]:
        """A base for each of the days that decide on its figures."""
        return {base.day_key: base for base in self.bases}

    @cached_property
    def formulas(self) -> Mapping[Row, FormulaExpression]:
        """The rows that are formulas, with these."""
        return {row: row.expression for row in self.computed if isinstance(row.expression, FormulaExpression)}

    @cached_property
    def uses(self) -> Mapping[MeasureExpression, Sequence[Row]]:
        """The formulas of each operand that reads the scenario of a column, one operand for each base."""
        firsts: dict[Base, MeasureExpression] = {}
        uses: dict[MeasureExpression, list[Row]] = defaultdict(list)
        for row, expression in self.formulas.items():
            for operand in expression.column_operands:
                uses[firsts.setdefault(operand.base, operand)].append(row)
        return dict(uses)

    @cached_property
    def operands(self) -> Sequence[Sequence[MeasureExpression]]:
        """The operands of the formulas, those together that the same days decide on."""
        alike: dict[DayKey, list[MeasureExpression]] = defaultdict(list)
        for operand in self.uses:
            alike[operand.base.day_key].append(operand)
        return list(alike.values())

    @cached_property
    def closes(self) -> Sequence[Base]:
        """A base for each of the days at whose close rows stand: of the rows that are balances alone."""
        each = (row.expression.bases for row in (*self.measured, *self.computed) if row.expression)
        return list({base.day_key: base for bases in each if all(map(is_close, bases)) for base in bases}.values())

    @property
    def size(self) -> int:
        """The size of the memo, in members."""
        return len(self.bases) + sum(size_of_groups(shape.alike) for read in self.shapes for shape in read.shapes)


def is_close(base: Base) -> bool:
    """Tell whether a base stands at the close of a range; one that opens it, or averages it, does not."""
    return not base.over_time.opening and base.over_time.rule in (TimeRule.CLOSING, *CARRIED)


def axes_weighing(axes: Sequence[Axis], availability: Availability) -> tuple[str, ...]:
    """Return the trees of a breakdown, without those filtered, whose total does not count every visible leaf once."""
    filtered = {known.dimension.key for known in availability.filters}
    trees = [axis for axis in axes if axis.total is not None and axis.key not in filtered]
    return tuple(axis.key for axis in trees if not availability.reader.counts_all(axis.key, axis.total or {}))


def shared_with(side: Side, sides: Sequence[Side], bases: Sequence[Base], reader: Reader) -> frozenset[str]:
    """Return the compared scenarios whose scope narrows that of a side; none if they do not narrow it."""
    return narrowing(side, compared_with(side, sides), {base.domain for base in bases}, reader)


def narrowing(side: Side, compared: frozenset[str], domains: Iterable[str], reader: Reader) -> frozenset[str]:
    """Return some scenarios if the scope of a side is another within theirs, in some domains; else none."""
    narrows = any(
        reader.shared_cell([term.scenario.id, *compared], domain) != reader.cell(term.scenario.id, domain)
        for domain in (domains if compared else ())
        for term in side.terms
    )
    return compared if narrows else frozenset()


# Operands with a side of their own. A formula is computed inside the cells that the scenarios of all its operands
# share, as a variance is: these scenarios are its scope, and narrow each side that an operand reads.


def formula_read(
    expression: FormulaExpression, column_read: ColumnRead, make: Callable[[Side, frozenset[str], Scope], ColumnRead]
) -> ColumnRead:
    """Return what a formula of a column is computed in: the column read itself, or one within its scope.

    `make` returns the column read of a plan for a side, what narrows it, and a scope.
    """
    if not expression.has_own or column_read.scope is not None:
        return column_read
    scope = scope_of(expression, column_read.side, column_read.shared)
    return make(column_read.side, shared_within(column_read.side, scope, column_read.reader), scope)


def own_read(
    operand: OwnExpression, column_read: ColumnRead, make: Callable[[Side, frozenset[str], Scope], ColumnRead]
) -> ColumnRead:
    """Return what an operand with a side of its own reads where its formula is computed in a column read."""
    side, scope = operand.own.under(column_read.side), column_read.scope or frozenset()
    return make(side, shared_within(side, scope, column_read.reader), scope)


def scope_of(expression: FormulaExpression, side: Side, shared: frozenset[str]) -> frozenset[str]:
    """Return the scenarios whose cells the operands of a formula share; none if all of them read one side alone.

    `shared` are those that narrow the column; they matter if an operand reads its scenario.
    """
    read = set(sides_read(expression, side))
    limits = shared if any(follows for _, follows in read) else frozenset[str]()
    if len({known for known, _ in read}) == 1 and not limits:
        return frozenset()
    return limits.union(term.scenario.id for known, _ in read for term in known.terms)


def sides_read(expression: Expression, side: Side, *, follows: bool = True) -> Iterator[tuple[Side, bool]]:
    """Yield the sides that the operands of a figure read in a side, each with whether it follows that of the column."""
    if isinstance(expression, MeasureExpression):
        yield side, follows
    elif isinstance(expression, OwnExpression):
        own = expression.own
        yield from sides_read(expression.part, own.under(side), follows=follows and own.side is None)
    elif isinstance(expression, FormulaExpression):
        for part in expression.parts.values():
            yield from sides_read(part, side, follows=follows)


def shared_within(side: Side, scope: frozenset[str], reader: Reader) -> frozenset[str]:
    """Return the scenarios of a scope that narrow a side, besides its own if it reads only one."""
    own = {term.scenario.id for term in side.terms}
    return narrowing(side, scope - own if len(own) == 1 else scope, reader.domains, reader)


def leaf_reads(expression: FormulaExpression, within: ColumnRead) -> Mapping[ReadSide, Mapping[Base, None]]:
    """Return the sides in which the bases of a formula with sides of its own are read, each with these bases."""
    by_side: dict[ReadSide, dict[Base, None]] = defaultdict(dict)
    for read, base in leaves_read(expression, within.side, within.scope or frozenset(), within.reader):
        by_side[read][base] = None
    return by_side


def sides_of_operands(
    rows: Sequence[Row], columns: Iterable[ReadSide], reader: Reader
) -> Mapping[ReadSide, Mapping[Base, None]]:
    """Return the sides that operands of some rows read in some columns, where a formula has one of its own."""
    by_side: dict[ReadSide, dict[Base, None]] = defaultdict(dict)
    formulas = [row.expression for row in rows if isinstance(row.expression, FormulaExpression)]
    for expression in (formula for formula in formulas if formula.has_own):
        for side, shared in columns:
            for read, base in leaves_read(expression, side, scope_of(expression, side, shared), reader):
                by_side[read][base] = None
    return by_side


def leaves_read(
    expression: Expression, side: Side, scope: frozenset[str], reader: Reader
) -> Iterator[tuple[ReadSide, Base]]:
    """Yield the bases below a figure with what they are read in, where it is computed in a side and a scope."""
    if isinstance(expression, MeasureExpression):
        yield (side, shared_within(side, scope, reader)), expression.base
    elif isinstance(expression, OwnExpression):
        yield from leaves_read(expression.part, expression.own.under(side), scope, reader)
    elif isinstance(expression, FormulaExpression):
        for part in expression.parts.values():
            yield from leaves_read(part, side, scope, reader)
