"""Formulas as trees: their text, and their value from exact fractions.

Two readings of the rules are decided here. + and - and constant factors are a linear combination however it is
written: a missing operand counts as 0 in it beside any operand that is there, and a constant never is one. A missing
figure that is no additive one leaves the whole formula blank, as does one under × or ÷ by more than a constant, and a
missing argument of a function. Of a choice the condition and the branch that it takes are looked at alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

DAYS_HELD, PERIODS_HELD = LENGTHS = ("days(period)", "periods(period)")  # operands that are no metrics


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


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of parts: min, max, abs or round."""

    function: str
    arguments: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class Chosen:
    """One of two parts, by a comparison of two others."""

    sign: str
    left: "Expression"
    right: "Expression"
    then: "Expression"
    otherwise: "Expression"


Expression = Name | Number | Negative | Binary | Applied | Chosen
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
        case Applied(function, arguments):
            return f"{function}({', '.join(map(text, arguments))})"
        case Chosen(sign, left, right, then, otherwise):
            return f"if({text(left)} {sign} {text(right)}, {text(then)}, {text(otherwise)})"


def parts_of(expression: Expression) -> "tuple[Expression, ...]":
    """Return the parts that an expression joins."""
    match expression:
        case Negative(inner):
            return (inner,)
        case Binary(_, left, right):
            return left, right
        case Applied(_, arguments):
            return arguments
        case Chosen(_, left, right, then, otherwise):
            return left, right, then, otherwise
    return ()


def with_parts(expression: Expression, parts: "Sequence[Expression]") -> Expression:
    """Return an expression with other parts."""
    match expression:
        case Negative():
            return Negative(*parts)
        case Binary(sign):
            return Binary(sign, *parts)
        case Applied(function):
            return Applied(function, tuple(parts))
        case Chosen(sign):
            return Chosen(sign, *parts)
    return expression


def names(expression: Expression) -> tuple[str, ...]:
    """Return the metrics that a formula uses, and the lengths of the period."""
    if isinstance(expression, Name):
        return (expression.key,)
    return tuple(name for part in parts_of(expression) for name in names(part))


def metrics(expression: Expression) -> tuple[str, ...]:
    """Return the metrics that a formula uses, without the lengths of the period."""
    return tuple(name for name in names(expression) if name not in LENGTHS)


def names_shown(expression: Expression) -> tuple[str, ...]:
    """Return the metrics that a formula shows something of; a condition shows nothing."""
    match expression:
        case Name(key, _):
            return () if key in LENGTHS else (key,)
        case Chosen(_, _, _, then, otherwise):
            return (*names_shown(then), *names_shown(otherwise))
    return tuple(name for part in parts_of(expression) for name in names_shown(part))


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
    return False


def divides(expression: Expression) -> bool:
    """Tell whether a formula shows what a division makes."""
    match expression:
        case Binary("/"):
            return True
        case Chosen(_, _, _, then, otherwise):
            return divides(then) or divides(otherwise)
    return any(map(divides, parts_of(expression)))


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
        case Applied(function, arguments):
            amounts = [there(argument, operand, additive) for argument in arguments]
            return Value(applied(function, amounts), is_there=bool(names(expression)))
        case Chosen():
            taken = there(branch(expression, operand, additive), operand, additive)
            return Value(taken, is_there=bool(names(expression)))


def there(expression: Expression, operand: Operand, additive: Callable[[str], bool]) -> Fraction:
    """Return the value of an argument, which must be there."""
    found = value(expression, operand, additive)
    if names(expression) and not found.is_there:
        raise Blank
    return found.amount


def branch(chosen: Chosen, operand: Operand, additive: Callable[[str], bool]) -> Expression:
    """Return the branch that a condition takes."""
    left, right = (there(side, operand, additive) for side in (chosen.left, chosen.right))
    holds = {"<": left < right, "<=": left <= right, "=": left == right, "!=": left != right, ">=": left >= right}
    return chosen.then if {**holds, ">": left > right}[chosen.sign] else chosen.otherwise


def parts_seen(expression: Expression, operand: Operand, additive: Callable[[str], bool]) -> "tuple[Expression, ...]":
    """Return the parts that the value of an expression looks at."""
    if not isinstance(expression, Chosen):
        return parts_of(expression)
    try:
        return expression.left, expression.right, branch(expression, operand, additive)
    except Blank:
        return expression.left, expression.right


def applied(function: str, found: Sequence[Fraction]) -> Fraction:
    """Return what a function makes of its arguments; round is half away from zero."""
    if function != "round":
        return {"min": min(found), "max": max(found), "abs": abs(found[0])}[function]
    unit = Fraction(10) ** int(found[1]) if len(found) > 1 else Fraction(1)
    size = floor(abs(found[0]) * unit + Fraction(1, 2)) / unit
    return -size if found[0] < 0 else size


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
