"""Functions of formulas: min, max, abs, round, the choice that `if` makes; and operands that are no plain names.

A missing argument makes the whole formula missing. No function is additive: the one of a total is that of its figures.
The lengths of the period are operands, whose figures the days of a column make. An operand may read a scenario of its
own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import eq, lt, ne

from msgspec import Struct
from msgspec.structs import replace as with_fields

from engine.model.exact import ZERO, Exact
from engine.model.formulas import (
    FigureKind,
    FigureType,
    Formula,
    FormulaFault,
    Operand,
    Operands,
    UndefinedFigure,
    constant,
)

MAX_ARGUMENTS = 20
MAX_PLACES = 12  # to which round rounds, before and after the point
IF = "if"
ROUND = "round"


class Function(Struct, frozen=True):
    """A function by its arguments: how it is written, how many it takes, and what it makes of their values."""

    usage: str
    counts: range
    value: Callable[[Sequence[Exact]], Exact]

    @property
    def takes(self) -> str:
        """How many arguments it takes, in words."""
        bounds = dict.fromkeys((self.counts[0], self.counts[-1]))
        return f"{' to '.join(map(str, bounds))} argument{'s' if self.counts[-1] > 1 else ''}"


def smallest(values: Sequence[Exact]) -> Exact:
    """Return the smallest of some values."""
    least, *others = values
    for value in others:
        least = min(least, value)
    return least


def largest(values: Sequence[Exact]) -> Exact:
    """Return the largest of some values."""
    most, *others = values
    for value in others:
        most = max(most, value)
    return most


def rounded(values: Sequence[Exact]) -> Exact:
    """Return the first value rounded to the decimal places of the second, to whole numbers without it.

    Half is rounded away from zero; places below 0 are those before the point.
    """
    figure, places = values[0], whole(values[1]) if len(values) > 1 else 0
    if places >= 0:
        return figure.rounded(places)
    return Exact(figure.scaled(-places).rounded(0).numerator * 10**-places)


def whole(number: Exact) -> int:
    """Return a whole number as an integer."""
    return number.reduced()[0]


FUNCTIONS: Mapping[str, Function] = {
    "min": Function("min(a, b)", range(2, MAX_ARGUMENTS + 1), smallest),
    "max": Function("max(a, b)", range(2, MAX_ARGUMENTS + 1), largest),
    "abs": Function("abs(a)", range(1, 2), lambda values: abs(values[0])),
    ROUND: Function("round(a) or round(a, places)", range(1, 3), rounded),
}
PERIOD = "period"
LENGTHS: Mapping[str, tuple[str, FigureType]] = {  # of the days that a figure reads: the operand, and its type
    "days": ("days(period)", FigureType(kind=FigureKind.DAYS, additive=False)),
    "periods": ("periods(period)", FigureType(kind=FigureKind.NUMBER, additive=False)),
}
LENGTH_TYPES = dict(LENGTHS.values())
COMPARISONS: Mapping[str, Callable[[Exact, Exact], bool]] = {
    "<": lt,
    "<=": lambda a, b: not b < a,
    "=": eq,
    "!=": ne,
    ">=": lambda a, b: not a < b,
    ">": lambda a, b: b < a,
}


def common_type(formulas: Sequence[Formula], types: Mapping[str, FigureType], says: str) -> FigureType | None:
    """Return the type that some formulas share, not additive; None if all are constants.

    Raises FormulaFault if they are of several kinds.
    """
    figures = [figure for formula in formulas if (figure := formula.type_of(types)) is not None]
    kinds = dict.fromkeys(figure.kind.value for figure in figures)
    if len(kinds) > 1:
        raise FormulaFault(f"{says} {' and '.join(kinds)}; give it figures of one kind")
    if not figures:
        return None
    return FigureType(kind=figures[0].kind, additive=False, quotient=any(figure.quotient for figure in figures))


@dataclass(frozen=True)
class Call(Formula):
    """A function of some formulas. `position` is that of its name in the text."""

    name: str
    arguments: tuple[Formula, ...]
    position: int | None = field(default=None, compare=False)

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The arguments."""
        return self.arguments

    def with_parts(self, parts: Sequence[Formula]) -> Formula:
        """Return the function of others."""
        return replace(self, arguments=tuple(parts))

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """Return the type that the arguments share."""
        compared = self.arguments
        if self.name == ROUND:
            compared, places = self.arguments[:1], self.arguments[1:]
            if places and not is_count_of_places(places[0]):
                words = f"round takes a whole number of places from -{MAX_PLACES} to {MAX_PLACES}"
                raise FormulaFault(words, self.position)
        try:
            return common_type(compared, types, f"{self.name} takes")
        except FormulaFault as fault:
            raise at_position(fault, self.position) from fault

    def value(self, operand: Operands) -> Exact:
        """Return what the function makes of its arguments. Raises UndefinedFigure if one is missing."""
        return FUNCTIONS[self.name].value([present_value(argument, operand) for argument in self.arguments])


@dataclass(frozen=True)
class Conditional(Formula):
    """One of two formulas, by a condition that compares two others. `position` is that of `if` in the text."""

    sign: str
    left: Formula
    right: Formula
    then: Formula
    otherwise: Formula
    position: int | None = field(default=None, compare=False)

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The sides of the condition, then both branches."""
        return self.left, self.right, self.then, self.otherwise

    def with_parts(self, parts: Sequence[Formula]) -> Formula:
        """Return the choice by other sides between other branches."""
        left, right, then, otherwise = parts
        return replace(self, left=left, right=right, then=then, otherwise=otherwise)

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """Return the type that the branches share; constants that figures choose between are numbers."""
        try:
            common_type((self.left, self.right), types, "if compares")
            figure = common_type((self.then, self.otherwise), types, "if chooses between")
        except FormulaFault as fault:
            raise at_position(fault, self.position) from fault
        return figure or (FigureType(kind=FigureKind.NUMBER, additive=False) if self.names else None)

    def value(self, operand: Operands) -> Exact:
        """Return the value of one branch. Raises UndefinedFigure if it or a side of the condition is missing."""
        return present_value(self.branch(operand), operand)

    def branch(self, operand: Operands) -> Formula:
        """Return the branch that the condition chooses. Raises UndefinedFigure if a side of it is missing."""
        left, right = present_value(self.left, operand), present_value(self.right, operand)
        return self.then if COMPARISONS[self.sign](left, right) else self.otherwise

    def parts_used(self, operand: Operands) -> tuple[Formula, ...]:
        """Return the sides of the condition and the branch that it chooses; no branch if a side is missing."""
        try:
            return self.left, self.right, self.branch(operand)
        except UndefinedFigure:
            return self.left, self.right


def present_value(formula: Formula, operand: Operands) -> Exact:
    """Return the value of an argument. Raises UndefinedFigure if it is missing."""
    value = formula.value(operand)
    if value is None:
        raise UndefinedFigure
    return value


def is_count_of_places(formula: Formula) -> bool:
    """Tell whether a formula is a constant that `round` takes as its places."""
    number = (constant(formula) or ZERO) if not formula.names else None
    return number is not None and number.reduced()[1] == 1 and abs(whole(number)) <= MAX_PLACES


def at_position(fault: FormulaFault, position: int | None) -> FormulaFault:
    """Return a fault at a position, unless it has one."""
    return fault if fault.position else FormulaFault(str(fault), position)


def uses_function(formula: Formula) -> bool:
    """Tell whether a formula applies a function to anything that it names."""
    if isinstance(formula, Call | Conditional):
        return bool(formula.names)
    return any(map(uses_function, formula.parts))


Members = tuple[tuple[str, tuple[str, ...]], ...]  # dimensions with ids
PLAIN_MEMBER = re.compile(r"[\w.-]+")


def written_members(ids: Sequence[str]) -> str:
    """Return some ids as a formula writes them: in quotes where they have other characters than plain ones."""
    each = [member if PLAIN_MEMBER.fullmatch(member) else f'"{member}"' for member in ids]
    return each[0] if len(each) == 1 else f"[{', '.join(each)}]"


@dataclass(frozen=True)
class OwnOperand(Operand):
    """The figure of a metric or line of members or a scenario of its own, or in that of the column with more steps.

    `own` is what stands in the brackets: `budget@py`, `@fy`, or nothing. Such a figure never makes a sum of members or
    periods, so that a total is computed from totals.
    """

    of: str
    own: str
    cuts: Members = ()

    @classmethod
    def written(cls, figure: str, own: str, cuts: Members = ()) -> "OwnOperand":
        """Return the operand of a metric or line; its name is as a formula writes it.

        >>> OwnOperand.written("opex", "budget", (("region", ("EU",)), ("team", ("A", "B 2")))).name
        'opex{region: EU, team: [A, "B 2"]}[budget]'
        """
        members = ", ".join(f"{key}: {written_members(ids)}" for key, ids in cuts)
        return cls(f"{figure}{f'{{{members}}}' if cuts else ''}{f'[{own}]' if own else ''}", figure, own, cuts)

    @property
    def figure(self) -> str:
        """The metric or line whose figure it is."""
        return self.of

    @property
    def cut_name(self) -> str:
        """Its name without the brackets."""
        return OwnOperand.written(self.of, "", self.cuts).name

    def renamed(self, names: Mapping[str, str]) -> Operand:
        """Return the operand with another name, if there is one for it or for its metric."""
        if self.name in names:
            return Operand(names[self.name])
        return OwnOperand.written(names.get(self.of, self.of), self.own, self.cuts)

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType:
        """Return the type of the metric or line, not additive."""
        return with_fields(types[self.name], additive=False)


def operands_in(formula: Formula) -> Iterator[Operand]:
    """Yield the operands of a formula, each as often as it stands there."""
    if isinstance(formula, Operand):
        yield formula
    for part in formula.parts:
        yield from operands_in(part)


def metrics_of(formula: Formula) -> tuple[str, ...]:
    """Return the metrics and lines that a formula uses: the figures of its operands without lengths of the period."""
    figures = dict.fromkeys(operand.figure for operand in operands_in(formula))
    return tuple([figure for figure in figures if figure not in LENGTH_TYPES])


def own_operands_in(formula: Formula) -> frozenset[OwnOperand]:
    """Return the operands of a formula with a scenario or members of their own."""
    return frozenset(operand for operand in operands_in(formula) if isinstance(operand, OwnOperand))


def own_sides(operands: Iterable[OwnOperand]) -> frozenset[str]:
    """Return what some operands read in place of the scenario of a column, as written."""
    return frozenset(operand.own for operand in operands if operand.own)


def types_of(formula: Formula, type_of: Callable[[str], FigureType]) -> Mapping[str, FigureType]:
    """Return the type of each name in a formula; `type_of` returns that of a metric or line."""
    return {operand.name: LENGTH_TYPES.get(operand.name) or type_of(operand.figure) for operand in operands_in(formula)}


def renamed(formula: Formula, names: Mapping[str, str]) -> Formula:
    """Return a formula with other names for some of its operands."""
    if isinstance(formula, Operand):
        return formula.renamed(names)
    return formula.with_parts([renamed(part, names) for part in formula.parts])


def replaced(formula: Formula, operands: Mapping[str, Formula]) -> Formula:
    """Return a formula with formulas in place of some of its operands."""
    if isinstance(formula, Operand):
        return operands.get(formula.name, formula)
    return formula.with_parts([replaced(part, operands) for part in formula.parts])
