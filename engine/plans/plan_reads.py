"""Plan reads: what the rows and columns of a plan read, whatever the days. The books keep them for later reports."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.aggregation import TimeRule
from engine.model.catalogue import Base, DayKey
from engine.model.scenarios import Reference, Side
from engine.plans.availability import Availability
from engine.plans.base_groups import size_of_groups
from engine.plans.measure import BatchShape, batch_shapes
from engine.plans.presence import compared_with
from engine.plans.rows import FormulaExpression, MeasureExpression, Row
from engine.plans.weights import Axis, axis_of
from engine.plans.windows import DomainRead, domain_read_of

CARRIED = (TimeRule.LAST_KNOWN, TimeRule.TO_DATE)  # balances that stand at the end of what is loaded of a range


class DomainShapes(Struct, frozen=True, eq=False):
    """What a plan reads of one domain read: for which of its sides, and in which batches."""

    domain_read: DomainRead
    sides: Sequence[int]  # the positions of the sides
    by_time: Sequence[tuple[Base, ...]]  # its bases, those that read the same windows together
    shapes: Sequence[BatchShape]


class PlanReads(Struct, frozen=True, eq=False, dict=True):
    """What the rows and columns of a plan read, whatever the days. The reports of a statement share it."""

    bases: tuple[Base, ...]  # the available ones of all rows
    balances: tuple[Base, ...]  # one closing and one opening balance of each stock group among them
    axes: tuple[Axis, ...]  # of the breakdown, without time
    weighing: tuple[str, ...]  # the trees among them whose total does not count every leaf once
    topped: tuple[str, ...]  # those that may make the total another figure than it is without the breakdown
    sides: tuple[tuple[Side, frozenset[str]], ...]  # each with the compared scenarios that narrow its scope
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
        sides = list(dict.fromkeys(side for column in columns for side in column))
        domains = tuple(dict.fromkeys(base.domain for base in bases))
        by_read: dict[DomainRead, list[int]] = defaultdict(list)
        for at, (side, shared) in enumerate(sides):
            for domain in domains:
                by_read[domain_read_of(domain, side, shared, reader)].append(at)
        shapes = []
        for read, of_sides in by_read.items():
            by_time: dict[Hashable, list[Base]] = defaultdict(list)
            for base in (base for base in bases if base.domain == read.domain):
                by_time[None if base.over_time.is_flow else (base.over_time, base.stock_group)].append(base)
            alike = list(map(tuple, by_time.values()))
            across = [axis for axis in axes if availability.across[read.domain][axis.place]]
            found = batch_shapes(read, alike, across, len(axes), filters, reader, subtotals=nests)
            shapes.append(DomainShapes(read, of_sides, alike, found))
        positions = tuple(tuple(map(sides.index, column)) for column in columns)
        measured = {row: row.expression.base for row in rows if isinstance(row.expression, MeasureExpression)}
        measured = {row: base for row, base in measured.items() if base in bases}
        computed = tuple(row for row in rows if row not in measured)
        weighing = axes_weighing(axes, availability)
        trees = (axis for axis in axes if axis.key in weighing)
        topped = tuple(axis.key for axis in trees if any(availability.is_topped(base, axis) for base in bases))
        of_columns = (axes, weighing, topped, tuple(sides), positions)
        return cls(bases, tuple(balances.values()), *of_columns, domains, tuple(shapes), measured, computed)

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
        """The formulas of each operand, one operand for each base."""
        firsts: dict[Base, MeasureExpression] = {}
        uses: dict[MeasureExpression, list[Row]] = defaultdict(list)
        for row, expression in self.formulas.items():
            for operand in expression.operands:
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
    compared = compared_with(side, sides)
    narrows = any(
        reader.shared_cell([term.scenario.id, *compared], domain) != reader.cell(term.scenario.id, domain)
        for domain in {base.domain for base in bases}
        for term in side.terms
    )
    return compared if narrows else frozenset()
