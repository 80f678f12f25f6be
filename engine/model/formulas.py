"""Formulas: their expression trees, their types, and the figures that they evaluate to."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from msgspec import Struct

from engine.model.exact import ONE, ZERO, Exact

# Figure types and the two reasons why a figure can be absent.


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
    DAYS = "days"
    RATE = "money a day"


MONEY_KINDS = (FigureKind.MONEY, FigureKind.PRICE, FigureKind.RATE)  # whose figures have a currency


class FigureType(Struct, frozen=True, kw_only=True):
    """The kind of a figure, whether it is additive, and whether a division made it."""

    kind: FigureKind
    additive: bool
    quotient: bool = False

    @property
    def is_scaled(self) -> bool:
        """Tell whether the scale of a report divides its figures."""
        return self.kind is FigureKind.MONEY and self.additive

    def written(self, figure: Figure, scale: int) -> str:
        """Return a figure as digits at the scale of a report."""
        scaled = figure.scaled(scale) if self.is_scaled and isinstance(figure, Exact) else figure
        return written(scaled, quotient=self.quotient)


def written(figure: Figure, *, quotient: bool = False) -> str:
    """Return a figure as digits, or "blank" if there is none."""
    return figure.digits(quotient=quotient) if isinstance(figure, Exact) else "blank"


class FormulaFault(ValueError):
    """A formula has a syntax error or combines incompatible types. The message addresses the formula's author.

    `position` counts the characters of the text before the fault, plus one; None if no place in the text is at fault.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position

    @property
    def located(self) -> str:
        """The message with the character at fault."""
        return f"{self} at character {self.position}" if self.position else str(self)


PRODUCTS: dict[tuple[FigureKind, FigureKind], FigureKind] = {
    (FigureKind.NUMBER, FigureKind.NUMBER): FigureKind.NUMBER,
    (FigureKind.MONEY, FigureKind.NUMBER): FigureKind.MONEY,
    (FigureKind.PRICE, FigureKind.NUMBER): FigureKind.MONEY,
    (FigureKind.RATE, FigureKind.DAYS): FigureKind.MONEY,
    (FigureKind.RATE, FigureKind.NUMBER): FigureKind.MONEY,
    (FigureKind.NUMBER, FigureKind.DAYS): FigureKind.NUMBER,
    **{(kind, FigureKind.RATIO): kind for kind in FigureKind},
}
QUOTIENTS: dict[tuple[FigureKind, FigureKind], FigureKind] = {
    (FigureKind.MONEY, FigureKind.NUMBER): FigureKind.PRICE,
    (FigureKind.MONEY, FigureKind.PRICE): FigureKind.NUMBER,
    (FigureKind.NUMBER, FigureKind.MONEY): FigureKind.NUMBER,
    (FigureKind.NUMBER, FigureKind.PRICE): FigureKind.NUMBER,
    (FigureKind.PRICE, FigureKind.NUMBER): FigureKind.PRICE,
    (FigureKind.RATIO, FigureKind.NUMBER): FigureKind.RATIO,
    (FigureKind.MONEY, FigureKind.DAYS): FigureKind.RATE,
    (FigureKind.MONEY, FigureKind.RATE): FigureKind.DAYS,
    (FigureKind.RATE, FigureKind.NUMBER): FigureKind.RATE,
    (FigureKind.NUMBER, FigureKind.DAYS): FigureKind.NUMBER,
    (FigureKind.DAYS, FigureKind.NUMBER): FigureKind.DAYS,
    **{(kind, FigureKind.RATIO): kind for kind in FigureKind},
    **{(kind, kind): FigureKind.RATIO for kind in FigureKind},
    (FigureKind.DAYS, FigureKind.DAYS): FigureKind.NUMBER,
}


def product_type(left: FigureType, right: FigureType) -> FigureType:
    """Return the type of a product of two figures. A product is never additive."""
    kind = PRODUCTS.get((left.kind, right.kind)) or PRODUCTS.get((right.kind, left.kind))
    if kind is None:
        raise FormulaFault(f"multiplies {left.kind.value} by {right.kind.value}")
    return FigureType(kind=kind, additive=False, quotient=left.quotient or right.quotient)


def quotient_type(over: FigureType, under: FigureType) -> FigureType:
    """Return the type of a quotient: two figures of one kind give a ratio, money over a number gives a price."""
    kind = QUOTIENTS.get((over.kind, under.kind))
    if kind is None:
        raise FormulaFault(f"divides {over.kind.value} by {under.kind.value}")
    return FigureType(kind=kind, additive=False, quotient=True)


# Expression trees.
#
# A *missing* additive figure counts as 0 in + and - if another additive figure is present (a constant is not one). It
# makes the whole formula missing if it is not additive, or if anything but a constant multiplies or divides it. A zero
# divisor also makes the whole formula missing. An *unavailable* figure makes the whole formula unavailable.


class UndefinedFigure(Exception):
    """A zero divisor, or a missing figure where only a present one makes sense."""


Operands = Callable[[str], Exact | None]  # None: missing, and counts as 0 beside another


class Formula(ABC):
    """A node of an expression tree."""

    @property
    @abstractmethod
    def parts(self) -> "tuple[Formula, ...]":
        """The formulas that it joins; none for a name and for a constant."""

    @abstractmethod
    def with_parts(self, parts: "Sequence[Formula]") -> "Formula":
        """Return the same with other formulas in the place of its parts."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The metrics and lines that the formula uses, each once, in order. Empty for a constant."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.names))

    @abstractmethod
    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """Return the type of the formula, None for a constant. Raises FormulaFault if its operands are incompatible."""

    @abstractmethod
    def value(self, operand: Operands) -> Exact | None:
        """Return the value, None if it is missing. Raises UndefinedFigure if it makes the whole formula missing."""

    def parts_used(self, operand: Operands) -> "tuple[Formula, ...]":  # noqa: ARG002 - a choice asks for its condition
        """Return the parts that its value is made of."""
        return self.parts


def nothing(_: str) -> Exact:
    """Return zero for any operand: a missing operand counts as 0 beside a present one."""
    return ZERO


@dataclass(frozen=True)
class Constant(Formula):
    """A decimal number."""

    number: Exact

    @property
    def parts(self) -> tuple[Formula, ...]:
        """A constant joins nothing."""
        return ()

    def with_parts(self, parts: Sequence[Formula]) -> Formula:  # noqa: ARG002 - it has none
        """Return the constant."""
        return self

    def type_of(self, types: Mapping[str, FigureType]) -> None:
        """Return None: a constant takes the type of the other operand."""

    def value(self, operand: Operands) -> Exact:  # noqa: ARG002 - asks for none
        """Return the number."""
        return self.number


@dataclass(frozen=True)
class Operand(Formula):
    """The figure of a metric or line."""

    name: str

    @property
    def parts(self) -> tuple[Formula, ...]:
        """A name joins nothing."""
        return ()

    def with_parts(self, parts: Sequence[Formula]) -> Formula:  # noqa: ARG002 - it has none
        """Return the name."""
        return self

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name itself."""
        return (self.name,)

    @property
    def figure(self) -> str:
        """The metric or line whose figure it is."""
        return self.name

    def renamed(self, names: Mapping[str, str]) -> "Operand":
        """Return the operand with another name, if there is one for it."""
        return Operand(names.get(self.name, self.name))

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType:
        """Return the type of the metric or line."""
        return types[self.name]

    def value(self, operand: Operands) -> Exact | None:
        """Return the figure."""
        return operand(self.name)


@dataclass(frozen=True)
class Sum(Formula):
    """A sum or difference of terms."""

    terms: tuple[tuple[bool, Formula], ...]  # (subtracted, term)

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The terms without their signs."""
        return tuple([term for _, term in self.terms])

    def with_parts(self, parts: Sequence[Formula]) -> Formula:
        """Return the sum of other terms with the same signs."""
        return Sum(tuple((subtracted, part) for (subtracted, _), part in zip(self.terms, parts, strict=True)))

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """Return the common type of the terms. The sum is additive if every term is additive and none is a constant."""
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
        """Return the sum. A missing term counts as 0 if another term that is not a constant is present."""
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

    @property
    def parts(self) -> tuple[Formula, ...]:
        """Both."""
        return self.left, self.right

    def with_parts(self, parts: Sequence[Formula]) -> Formula:
        """Return the product of others."""
        return Product(*parts)

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """Return the type of the product. A constant factor keeps the type of the other factor."""
        left, right = self.left.type_of(types), self.right.type_of(types)
        return product_type(left, right) if left and right else left or right

    def value(self, operand: Operands) -> Exact | None:
        """Return the product, None for a missing figure times a constant. Raises UndefinedFigure otherwise."""
        left, right = self.left.value(operand), self.right.value(operand)
        if left is not None and right is not None:
            return left * right
        if self.left.names and self.right.names:
            raise UndefinedFigure
        return None


@dataclass(frozen=True)
class Quotient(Formula):
    """One formula over another."""

    over: Formula
    under: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        """Both."""
        return self.over, self.under

    def with_parts(self, parts: Sequence[Formula]) -> Formula:
        """Return the quotient of others."""
        return Quotient(*parts)

    def type_of(self, types: Mapping[str, FigureType]) -> FigureType | None:
        """Return the type of the quotient. A constant divisor keeps the type of the dividend."""
        over, under = self.over.type_of(types), self.under.type_of(types)
        if under is None:
            if not constant(self.under):
                raise FormulaFault("divides by zero")
            return over
        return quotient_type(over, under) if over else FigureType(kind=under.kind, additive=False, quotient=True)

    def value(self, operand: Operands) -> Exact | None:
        """Return the quotient, None for a missing figure over a constant.

        Raises UndefinedFigure for a zero or missing divisor, and for a missing figure over anything but a constant.
        """
        over, under = self.over.value(operand), self.under.value(operand)
        if not under or (over is None and self.under.names):
            raise UndefinedFigure
        return None if over is None else over * (ONE / under)


def constant(formula: Formula) -> Exact | None:
    """Return the value of a formula without names."""
    return formula.value(lambda _: None)


def linear_terms(formula: Formula, factor: Exact = ONE) -> list[tuple[str, Exact]] | None:
    """Return the names that a formula adds up, each as often as it stands there, with what it counts times.

    None if the formula does anything but add its names up: if it adds a constant, or multiplies or divides by a name.

    >>> from engine.model.formula_parser import parse
    >>> [(name, times.digits()) for name, times in linear_terms(parse("revenue - 2 * costs / 4"))]
    [('revenue', '1'), ('costs', '-0.5')]
    """
    match formula:
        case Operand(name=name):
            return [(name, factor)]
        case _ if not formula.names:
            return None if constant(formula) else []
        case Sum(terms=terms):
            found: list[tuple[str, Exact]] = []
            for subtracted, term in terms:
                part = linear_terms(term, -factor if subtracted else factor)
                if part is None:
                    return None
                found += part
            return found
        case Product(left=left, right=right) if not (left.names and right.names):
            known, other = (right, left) if left.names else (left, right)
            return linear_terms(other, factor * (constant(known) or ZERO))
        case Quotient(over=over, under=under) if not under.names and (divisor := constant(under)):
            return linear_terms(over, factor / divisor)
    return None


def is_linear(formula: Formula) -> bool:
    """Tell whether a formula adds up its names and constants, each perhaps times a constant."""
    match formula:
        case Sum(terms=terms):
            return all(is_linear(term) for _, term in terms)
        case Product(left=left, right=right):
            return not (left.names and right.names) and is_linear(left) and is_linear(right)
        case Quotient(over=over, under=under):
            return not under.names and is_linear(over)
    return isinstance(formula, Operand) or not formula.names


def formulas_used(formula: Formula, operand: Operands) -> Iterator[Formula]:
    """Yield a formula and all formulas below it that its value is made of: of a choice, one branch."""
    yield formula
    for part in formula.parts_used(operand):
        yield from formulas_used(part, operand)
