"""Formulas: their grammar, their trees, and the figures and the two kinds of nothing that they evaluate to."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from engine.model.exact import ONE, ZERO, Exact
from engine.model.stopping import Stop, never, watched

# Figures and the two kinds of nothing, and what can be done with a figure of each type.


class Nothing(Enum):
    """Why there is no figure: no row was seen, or the question cannot be asked."""

    MISSING = "missing"
    UNAVAILABLE = "unavailable"


Figure = Exact | Nothing


class FigureKind(Enum):
    """What a figure is an amount of."""

    MONEY = "money"
    NUMBER = "number"
    PRICE = "price"  # money for each
    RATIO = "ratio"


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureType:
    """What a figure is, whether parts add up to the whole, and whether it was divided."""

    kind: FigureKind
    additive: bool
    quotient: bool = False


class FormulaFault(ValueError):
    """A formula that cannot be read, or whose parts do not go together; says so to whoever wrote it."""


PRODUCTS: dict[tuple[FigureKind, FigureKind], FigureKind] = {
    (FigureKind.NUMBER, FigureKind.NUMBER): FigureKind.NUMBER,
    (FigureKind.MONEY, FigureKind.NUMBER): FigureKind.MONEY,
    (FigureKind.PRICE, FigureKind.NUMBER): FigureKind.MONEY,
    **{(kind, FigureKind.RATIO): kind for kind in FigureKind},
}
QUOTIENTS: dict[tuple[FigureKind, FigureKind], FigureKind] = {
    (FigureKind.MONEY, FigureKind.NUMBER): FigureKind.PRICE,
    (FigureKind.MONEY, FigureKind.PRICE): FigureKind.NUMBER,
    (FigureKind.NUMBER, FigureKind.MONEY): FigureKind.NUMBER,
    (FigureKind.NUMBER, FigureKind.PRICE): FigureKind.NUMBER,
    (FigureKind.PRICE, FigureKind.NUMBER): FigureKind.PRICE,
    (FigureKind.RATIO, FigureKind.NUMBER): FigureKind.RATIO,
    **{(kind, FigureKind.RATIO): kind for kind in FigureKind},
    **{(kind, kind): FigureKind.RATIO for kind in FigureKind},
}


def product_type(left: FigureType, right: FigureType) -> FigureType:
    """Return what one figure times another makes; never an additive one."""
    kind = PRODUCTS.get((left.kind, right.kind)) or PRODUCTS.get((right.kind, left.kind))
    if kind is None:
        raise FormulaFault(f"multiplies {left.kind.value} by {right.kind.value}")
    return FigureType(kind=kind, additive=False, quotient=left.quotient or right.quotient)


def quotient_type(over: FigureType, under: FigureType) -> FigureType:
    """Return what one figure over another makes: like over like is a ratio, money over a number a price."""
    kind = QUOTIENTS.get((over.kind, under.kind))
    if kind is None:
        raise FormulaFault(f"divides {over.kind.value} by {under.kind.value}")
    return FigureType(kind=kind, additive=False, quotient=True)


# Formulas as trees: each part knows the names it uses, its type and its value.
#
# A *missing* figure counts as 0 in + and - beside another additive figure (a constant is none). Where more than a
# constant multiplies or divides it, or where it is no additive figure itself, it makes the whole formula missing; so
# does a zero divisor. An *unavailable* figure makes the whole formula unavailable.


class Undefined(Exception):
    """A zero divisor, or a missing figure where only a present one makes sense."""


Operands = Callable[[str], Exact | None]  # None: missing, and counts as 0 beside another


class Formula(ABC):
    """A part of a formula, or all of it."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The metrics and lines used, each once, in order; none: a constant."""

    @abstractmethod
    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """Return what it makes, None for a constant; FormulaFault where its parts do not go together."""

    @abstractmethod
    def value(self, operand: Operands) -> Exact | None:
        """Return its value, None where it is missing; Undefined where that makes the whole missing."""


def nothing(_: str) -> Exact:
    """Return what a missing operand counts as beside one that is present."""
    return ZERO


@dataclass(frozen=True)
class Constant(Formula):
    """A decimal number."""

    number: Exact

    @property
    def names(self) -> tuple[str, ...]:
        """A constant uses no name."""
        return ()

    def type_of(self, types: Mapping[str, FigureType]) -> None:
        """Return None: a constant takes the type of what it meets."""

    def value(self, operand: Operands) -> Exact:  # noqa: ARG002 - asks for none
        """Return the number."""
        return self.number


@dataclass(frozen=True)
class Operand(Formula):
    """The figure of a metric or line."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """The name itself."""
        return (self.name,)

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType:
        """Return the type of what it names."""
        return types[self.name]

    def value(self, operand: Operands) -> Exact | None:
        """Return the figure."""
        return operand(self.name)


@dataclass(frozen=True)
class Sum(Formula):
    """Terms added, or subtracted."""

    terms: tuple[tuple[bool, Formula], ...]  # (subtracted, term)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all terms."""
        return tuple(dict.fromkeys(name for _, term in self.terms for name in term.names))

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """Only like figures add up; the sum is additive if every term is, and none is a constant."""
        found = [term.type_of(types) for _, term in self.terms]
        figures = [figure for figure in found if figure is not None]
        kinds = dict.fromkeys(figure.kind.value for figure in figures)
        if len(kinds) > 1:
            raise FormulaFault(f"adds {' to '.join(kinds)}; only like figures add up")
        if not figures:
            return None
        return FigureType(
            kind=figures[0].kind,
            additive=len(figures) == len(found) and all(figure.additive for figure in figures),
            quotient=any(figure.quotient for figure in figures),
        )

    def value(self, operand: Operands) -> Exact | None:
        """What is missing counts as 0 where another that is no constant is present; constants beside it stay."""
        total, present = ZERO, not self.names
        for subtracted, term in self.terms:
            value = term.value(operand)
            present = present or (value is not None and bool(term.names))
            if value is None:
                value = term.value(nothing)
            if value is not None:
                total = total - value if subtracted else total + value
        return total if present else None


@dataclass(frozen=True)
class Product(Formula):
    """One formula times another."""

    left: Formula
    right: Formula

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of both."""
        return tuple(dict.fromkeys(self.left.names + self.right.names))

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """A constant factor changes no type."""
        left, right = self.left.type_of(types), self.right.type_of(types)
        return product_type(left, right) if left and right else left or right

    def value(self, operand: Operands) -> Exact | None:
        """A missing figure stays missing under a constant factor; another factor makes the whole missing."""
        left, right = self.left.value(operand), self.right.value(operand)
        if left is not None and right is not None:
            return left * right
        if self.left.names and self.right.names:
            raise Undefined
        return None


@dataclass(frozen=True)
class Quotient(Formula):
    """One formula over another."""

    over: Formula
    under: Formula

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of both."""
        return tuple(dict.fromkeys(self.over.names + self.under.names))

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """A constant divisor changes no type."""
        over, under = self.over.type_of(types), self.under.type_of(types)
        if under is None:
            if not self.under.value(lambda _: None):
                raise FormulaFault("divides by zero")
            return over
        return quotient_type(over, under) if over else FigureType(kind=under.kind, additive=False, quotient=True)

    def value(self, operand: Operands) -> Exact | None:
        """A zero or missing divisor makes the whole missing; so does a missing figure over more than a constant."""
        over, under = self.over.value(operand), self.under.value(operand)
        if not under or (over is None and self.under.names):
            raise Undefined
        return None if over is None else over * (ONE / under)


def evaluate(
    formula: Formula, types: Mapping[str, FigureType], columns: Mapping[str, Sequence[Figure]], stop: Stop = never
) -> list[Figure]:
    """Return the figures of a formula, each from the figures of its operands in the same place."""
    operands = [(name, columns[name], types[name].additive) for name in formula.names]
    return [figure_at(formula, operands, at) for at in watched(range(len(operands[0][1])), stop)]


def figure_at(formula: Formula, operands: Sequence[tuple[str, Sequence[Figure], bool]], at: int) -> Figure:
    """Return the figure of a formula in one place."""
    known: dict[str, Exact | None] = {}
    undefined = False
    for name, column, additive in operands:
        figure = column[at]
        if isinstance(figure, Exact):
            known[name] = figure
        elif figure is Nothing.UNAVAILABLE:
            return figure
        else:
            known[name] = None
            undefined = undefined or not additive
    if undefined:
        return Nothing.MISSING
    try:
        value = formula.value(known.__getitem__)
    except Undefined:
        return Nothing.MISSING
    return Nothing.MISSING if value is None else value


# The grammar of formulas: names (`revenue`, `gl.revenue`), decimal numbers, `+ - * /` and parentheses.


VALID = "use names, decimal numbers, + - * / and parentheses"


def parse(text: str, resolve: Callable[[str], str] = str) -> Formula:
    """Read a formula; FormulaFault where it is none. `resolve` turns each name written into the one it means.

    >>> parse("revenue - gl.costs / 2").names
    ('revenue', 'gl.costs')
    """
    source = text.strip()
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        raise FormulaFault(f"'{text}' is no formula: {VALID}") from fault
    return read(tree, source, resolve)


def read(node: ast.expr, source: str, resolve: Callable[[str], str]) -> Formula:
    """Return the part of a formula that a syntax node writes."""
    match node:
        case ast.Name(id=name):
            return Operand(resolve(name))
        case ast.Attribute(value=ast.Name(id=domain), attr=name):
            return Operand(resolve(f"{domain}.{name}"))
        case ast.Constant(value=value) if type(value) in (int, float):
            return Constant(number(ast.get_source_segment(source, node) or ""))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return Sum(((True, read(inner, source, resolve)),))
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
            first = read(left, source, resolve)
            terms = first.terms if isinstance(first, Sum) else ((False, first),)
            return Sum((*terms, (isinstance(sign, ast.Sub), read(right, source, resolve))))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return Product(read(left, source, resolve), read(right, source, resolve))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return Quotient(read(left, source, resolve), read(right, source, resolve))
    raise FormulaFault(f"'{ast.get_source_segment(source, node)}' cannot stand in a formula: {VALID}")


def number(text: str) -> Exact:
    """Read a constant; Python's other ways to write one, such as 0x10, are none here."""
    try:
        return Exact.of(text)
    except ValueError as fault:
        raise FormulaFault(f"'{text}' cannot stand in a formula: {VALID}") from fault
