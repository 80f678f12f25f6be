"""Formulas as trees: their text, and their value from exact fractions.

Two readings of the rules are decided here. + and - and constant factors are a linear combination however it is
written: a missing operand counts as 0 in it beside any operand that is there, and a constant never is one. A missing
figure that is no additive one leaves the whole formula blank, as does one under × or ÷ by more than a constant.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


class Blank(Exception):
    """A zero divisor, or a missing figure where only one that is there makes sense."""


@dataclass(frozen=True, slots=True)
class Name:
    """The figure of a metric; `text` is how the formula writes it."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    text: str


@dataclass(frozen=True, slots=True)
class Negative:
    """The opposite."""

    inner: "Expression"


@dataclass(frozen=True, slots=True)
class Binary:
    """Two parts joined by + - * or /."""

    sign: str
    left: "Expression"
    right: "Expression"


Expression = Name | Number | Negative | Binary
Operand = Callable[[str], Fraction | None]


@dataclass(frozen=True, slots=True)
class Value:
    """What a part comes to with missing operands at 0, and whether any operand is there."""

    amount: Fraction
    is_there: bool


def text(expression: Expression) -> str:
    """Return a formula as a person writes it, every part in parentheses."""
    match expression:
        case Name(_, written) | Number(written):
            return written
        case Negative(inner):
            return f"(-{text(inner)})"
        case Binary(sign, left, right):
            return f"({text(left)} {sign} {text(right)})"


def names(expression: Expression) -> tuple[str, ...]:
    """Return the metrics that a formula uses."""
    match expression:
        case Name(key, _):
            return (key,)
        case Number():
            return ()
        case Negative(inner):
            return names(inner)
        case Binary(_, left, right):
            return (*names(left), *names(right))


def is_additive(expression: Expression, additive: Callable[[str], bool]) -> bool:
    """Tell whether only + - and constant factors stand over additive operands."""
    match expression:
        case Name(key, _):
            return additive(key)
        case Number():
            return False
        case Negative(inner):
            return is_additive(inner, additive)
        case Binary("+" | "-", left, right):
            return is_additive(left, additive) and is_additive(right, additive)
        case Binary("*", left, right):
            factors = [part for part in (left, right) if names(part)]
            return len(factors) == 1 and is_additive(factors[0], additive)
        case Binary(_, left, right):
            return not names(right) and is_additive(left, additive)


def divides(expression: Expression) -> bool:
    """Tell whether a formula divides by anything."""
    match expression:
        case Negative(inner):
            return divides(inner)
        case Binary(sign, left, right):
            return sign == "/" or divides(left) or divides(right)
    return False


def evaluate(expression: Expression, operand: Operand, additive: Callable[[str], bool]) -> Fraction | None:
    """Return what a formula comes to, None where that is missing."""
    try:
        found = value(expression, operand, additive)
    except Blank:
        return None
    return found.amount if found.is_there else None


def value(expression: Expression, operand: Operand, additive: Callable[[str], bool]) -> Value:
    """Return the value of a part."""
    match expression:
        case Name(key, _):
            figure = operand(key)
            if figure is None and not additive(key):
                raise Blank
            return Value(Fraction(0) if figure is None else figure, figure is not None)
        case Number(written):
            return Value(Fraction(written), is_there=False)
        case Negative(inner):
            found = value(inner, operand, additive)
            return Value(-found.amount, found.is_there)
        case Binary(sign, left, right):
            return joined(sign, expression, value(left, operand, additive), value(right, operand, additive))


def joined(sign: str, expression: Binary, left: Value, right: Value) -> Value:
    """Return what two parts come to."""
    there = left.is_there or right.is_there
    if sign in "+-":
        return Value(left.amount + right.amount if sign == "+" else left.amount - right.amount, there)
    for part, found in ((expression.left, left), (expression.right, right)):
        if names(part) and not found.is_there and (names(expression.right) and names(expression.left)):
            raise Blank
    if sign == "*":
        return Value(left.amount * right.amount, there)
    if (names(expression.right) and not right.is_there) or not right.amount:
        raise Blank
    return Value(left.amount / right.amount, there)
