"""Linear figures: those whose rows each contribute an amount of their own, and the operands of those that are none."""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.adding import OverMembers, Rule
from engine.catalogue import Base
from engine.exact import ONE, Exact
from engine.formulas.formula import Constant, Formula, Operand, Product, Quotient, Sum
from engine.plans.expressions import Computed, Expression, Measured

TOGETHER = (Rule.SUM, Rule.CLOSING, Rule.TO_DATE)  # rules whose rows can be told apart beside others'


@dataclass(frozen=True, slots=True)
class Term:
    """A base and how often it counts."""

    coefficient: Exact
    base: Base


def terms_of(expression: Expression) -> tuple[Term, ...] | None:
    """Return what rows of one domain make a figure; None where no row's own contribution does.

    A measured figure is one term, however it adds up. A formula is linear if it adds up sums of one domain.
    """
    if isinstance(expression, Measured):
        return (Term(ONE, expression.base),)
    found = linear(expression.formula, expression)
    if found is None or len({term.base.domain for term in found}) > 1:
        return None
    adds_up = (
        term.base.over_members in (OverMembers.SUM, OverMembers.COUNT) and term.base.over_time.rule in TOGETHER
        for term in found
    )
    return tuple(found) if all(adds_up) else None


def linear(formula: Formula, expression: Computed) -> list[Term] | None:
    """Return the terms that a formula adds up, None where it does more than that."""
    match formula:
        case Operand(name=name):
            return terms_within(expression.parts[name])
        case Sum(terms=terms):
            found = [(subtracted, linear(term, expression)) for subtracted, term in terms]
            if any(part is None for _, part in found):
                return None
            return [
                Term(-term.coefficient if subtracted else term.coefficient, term.base)
                for subtracted, part in found
                for term in part or ()
            ]
        case Product(left=left, right=right) if not left.names or not right.names:
            constant, factor = (left, right) if not left.names else (right, left)
            return times(linear(factor, expression), constant.value(lambda _: None))
        case Quotient(over=over, under=under) if not under.names:
            divisor = under.value(lambda _: None)
            return times(linear(over, expression), ONE / divisor if divisor else None)
        case Constant():
            return None
    return None


def terms_within(expression: Expression) -> list[Term] | None:
    """Return the terms of a part of a formula."""
    if isinstance(expression, Measured):
        return [Term(ONE, expression.base)]
    return linear(expression.formula, expression)


def times(terms: list[Term] | None, factor: Exact | None) -> list[Term] | None:
    """Return terms that count more often."""
    if terms is None or factor is None:
        return None
    return [Term(term.coefficient * factor, term.base) for term in terms]


def operands_of(expression: Expression) -> Iterator[Expression]:
    """Yield the linear figures that a figure is computed from, each once."""
    seen: set[str] = set()
    for part in parts_of(expression):
        if part.reference not in seen:
            seen.add(part.reference)
            yield part


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield the linear figures below a formula, as often as they stand there."""
    for part in expression.parts.values() if isinstance(expression, Computed) else ():
        if terms_of(part) is not None:
            yield part
        else:
            yield from parts_of(part)
