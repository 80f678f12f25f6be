"""Expressions: what the figures of a line or metric are made of: facts, formulas over others, or a length of days."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from engine.model.aggregation import TimeRule
from engine.model.calendar.periods import Grain
from engine.model.catalogue import Base, DayKey
from engine.model.evaluation import ColumnFormula
from engine.model.exact import ONE, ZERO, Exact
from engine.model.formulas import FigureKind, FigureType, Formula, is_linear, linear_terms
from engine.model.functions import LENGTH_TYPES, renamed, replaced, uses_function
from engine.model.scenarios import OwnSide


class MeasureExpression(Struct, frozen=True, eq=False):
    """A figure read from the facts."""

    base: Base
    type: FigureType
    name: str  # its name in notes
    reference: str  # its name in the `metric` filter of an inspection

    @property
    def bases(self) -> tuple[Base, ...]:
        """The base itself."""
        return (self.base,)

    @property
    def operands(self) -> tuple["MeasureExpression", ...]:
        """Itself."""
        return (self,)

    @property
    def column_operands(self) -> tuple["MeasureExpression", ...]:
        """Itself."""
        return (self,)

    @property
    def adds_up(self) -> bool:
        """Whether it does nothing but add figures up."""
        return True

    @property
    def applies_function(self) -> bool:
        """Whether a function makes it."""
        return False


class FormulaExpression(Struct, frozen=True, eq=False, dict=True):
    """A figure computed from other figures."""

    formula: Formula
    parts: Mapping[str, "Expression"]
    type: FigureType
    name: str
    reference: str  # "" for a formula of a request, which no inspection knows

    @cached_property
    def in_columns(self) -> ColumnFormula:
        """The formula as it is computed, with the types of its operands."""
        types = {name: operand.type for name, operand in self.inputs.items()}
        return ColumnFormula(replaced(self.formula, self._written_out), types)

    @cached_property
    def inputs(self) -> Mapping[str, "Expression"]:
        """What it is computed of: its parts, and of those that add a constant their operands.

        A formula that is used by name is computed as written out. Only the constant of a missing sum tells them apart.
        """
        inputs: dict[str, Expression] = {}
        for name, part in self.parts.items():
            if name in self._written_out and isinstance(part, FormulaExpression):
                inputs |= {f"{name}({inner})": operand for inner, operand in part.inputs.items()}
            else:
                inputs[name] = part
        return inputs

    @cached_property
    def adding_sides(self) -> Sequence[tuple[str, "OwnExpression"]]:
        """The inputs with a side of their own that add up; the formula is blank where one of the others is."""
        sided = ((name, part) for name, part in self.inputs.items() if isinstance(part, OwnExpression))
        return [(name, part) for name, part in sided if part.type.additive]

    @cached_property
    def _written_out(self) -> Mapping[str, Formula]:
        """The formulas of the parts that add a constant, by name; their operands have the part's name before theirs."""
        formulas = {}
        for name, part in self.parts.items():
            if isinstance(part, FormulaExpression) and not part.type.additive:
                formula = part.in_columns.formula
                if is_linear(formula):
                    formulas[name] = renamed(formula, {inner: f"{name}({inner})" for inner in formula.names})
        return formulas

    @cached_property
    def types(self) -> Mapping[str, FigureType]:
        """The types of the parts."""
        return {name: part.type for name, part in self.parts.items()}

    @cached_property
    def bases(self) -> tuple[Base, ...]:
        """The distinct bases below the formula."""
        return tuple(dict.fromkeys(base for part in self.parts.values() for base in part.bases))

    @cached_property
    def operands(self) -> tuple[MeasureExpression, ...]:
        """The figures below the formula that are read from the facts, one for each base."""
        each = (operand for part in self.parts.values() for operand in part.operands)
        return tuple({operand.base: operand for operand in each}.values())

    @cached_property
    def column_operands(self) -> tuple[MeasureExpression, ...]:
        """Those of them that the formula reads in the scenario of the column."""
        each = (operand for part in self.parts.values() for operand in part.column_operands)
        return tuple({operand.base: operand for operand in each}.values())

    @cached_property
    def has_own(self) -> bool:
        """Whether it, or a formula that it is made of, has an operand with a side of its own."""
        return any(
            isinstance(part, OwnExpression) or (isinstance(part, FormulaExpression) and part.has_own)
            for part in self.parts.values()
        )

    @cached_property
    def day_bases(self) -> Mapping[DayKey, Base]:
        """A base below the formula for each of the days of the column that decide on its figures."""
        return {operand.base.day_key: operand.base for operand in self.column_operands}

    @cached_property
    def adds_up(self) -> bool:
        """Whether it does nothing but add figures up, nor does any formula that it is made of."""
        return linear_terms(self.formula) is not None and all(part.adds_up for part in self.parts.values())

    @cached_property
    def linear(self) -> Mapping[Base, Exact] | None:
        """The bases that it adds up, each with what it counts for; None if it is not linear."""
        terms: dict[Base, Exact] = {}
        part_terms: Mapping[Base, Exact] | None
        for name, factor in linear_terms(self.formula) or ():
            part = self.parts[name]
            if isinstance(part, FormulaExpression):
                part_terms = part.linear
            elif isinstance(part, MeasureExpression) and not part.base.own:  # rows of its own members are others
                part_terms = {part.base: ONE}
            else:
                return None
            if part_terms is None:
                return None
            for base, coefficient in part_terms.items():
                terms[base] = terms.get(base, ZERO) + factor * coefficient
        return terms or None

    @cached_property
    def applies_function(self) -> bool:
        """Whether it applies a function, or any formula that it is made of does."""
        return uses_function(self.formula) or any(part.applies_function for part in self.parts.values())


class LengthExpression(Struct, frozen=True):
    """The length of the days that a figure reads, an operand of formulas alone."""

    name: str
    reference: str = ""
    bases: tuple[Base, ...] = ()
    operands: tuple[MeasureExpression, ...] = ()
    column_operands: tuple[MeasureExpression, ...] = ()
    adds_up: bool = False
    applies_function: bool = False

    @property
    def type(self) -> FigureType:
        """Its type: days, or a number of periods."""
        return LENGTH_TYPES[self.name]

    @property
    def grain(self) -> Grain | None:
        """The grain of the periods that it counts: of days the date, None for the grain of the range."""
        return Grain.DATE if self.type.kind is FigureKind.DAYS else None


class OwnExpression(Struct, frozen=True, eq=False):
    """An operand of a formula that reads a side of its own in place of that of the column."""

    part: "Expression"
    own: OwnSide
    name: str  # as the formula writes it
    column_operands: tuple[MeasureExpression, ...] = ()
    adds_up: bool = False

    @property
    def type(self) -> FigureType:
        """The type of the figure."""
        return self.part.type

    @property
    def reference(self) -> str:
        """The name of the figure in the `metric` filter of an inspection."""
        return self.part.reference

    @property
    def bases(self) -> tuple[Base, ...]:
        """The bases of the figure."""
        return self.part.bases

    @property
    def operands(self) -> tuple[MeasureExpression, ...]:
        """The operands of the figure."""
        return self.part.operands

    @property
    def applies_function(self) -> bool:
        """Whether a function makes the figure."""
        return self.part.applies_function


Expression = MeasureExpression | FormulaExpression | LengthExpression | OwnExpression


# Linear figures: figures to which each row contributes an amount.


TOGETHER = (TimeRule.SUM, TimeRule.CLOSING, TimeRule.TO_DATE)  # time rules whose terms can be added up row by row


class LinearTerm(Struct, frozen=True):
    """A base times a coefficient."""

    coefficient: Exact
    base: Base


def terms_of(expression: Expression) -> tuple[LinearTerm, ...] | None:
    """Return the linear terms of a figure, or None if it is not a sum of row contributions.

    A measured figure is one term. A formula is linear if it adds up sums of one domain.
    """
    if isinstance(expression, MeasureExpression):
        return (LinearTerm(ONE, expression.base),)
    terms = expression.linear if isinstance(expression, FormulaExpression) else None
    if terms is None or len({base.domain for base in terms}) > 1:
        return None
    if not all(base.over_members.is_additive and base.over_time.rule in TOGETHER for base in terms):
        return None
    return tuple(LinearTerm(coefficient, base) for base, coefficient in terms.items())


def operands_of(expression: Expression) -> Iterator[Expression]:
    """Yield the distinct linear figures that a figure is computed from; one with a side of its own with that side."""
    seen: set[Hashable] = set()
    for part in parts_of(expression):
        own = part.own if isinstance(part, OwnExpression) else None
        key = (part.reference, own, tuple(base.own for base in part.bases))
        if key not in seen:
            seen.add(key)
            yield part


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield the linear figures below a formula, those of a formula that others name once for each side of its own."""
    seen = set[tuple[Expression, OwnSide | None]]()
    pending: list[tuple[Expression, OwnSide | None, str]] = [(expression, None, "")]
    while pending:
        figure, own, name = pending.pop()
        if isinstance(figure, OwnExpression):
            side = figure.own if own is None else own.then(figure.own)
            pending.append((figure.part, side, figure.name))
        elif figure is not expression and terms_of(figure) is not None:
            yield figure if own is None else OwnExpression(figure, own, name)
        elif isinstance(figure, FormulaExpression) and (figure, own) not in seen:
            seen.add((figure, own))
            pending += [(part, own, name) for part in reversed(list(figure.parts.values()))]
