"""Figure forms: whether a figure is a sum, or a ratio of two sums, so that its variance can be explained."""

from collections.abc import Iterator

from msgspec import Struct

from engine.model.exact import ONE, Exact
from engine.model.formulas import Constant, Formula, Operand, Product, Quotient, Sum, constant, linear_terms
from engine.plans.expressions import Expression, FormulaExpression

OVER = "over"  # name of the numerator in a formula made of it


class SumForm(Struct, frozen=True):
    """A figure whose members add up."""

    sum: Expression


class RatioForm(Struct, frozen=True):
    """A figure that is one sum over another."""

    over: Expression
    under: Expression


FigureForm = SumForm | RatioForm


def form_of(expression: Expression) -> FigureForm | None:
    """Return the form of a figure, None if it is neither a sum nor a ratio of sums."""
    if expression.type.additive:
        return SumForm(expression)
    if not isinstance(expression, FormulaExpression):
        return None
    return ratio_of(expression.formula, expression)


def ratio_of(formula: Formula, of: FormulaExpression) -> RatioForm | None:
    """Return a formula over the parts of an expression as a ratio, perhaps times a constant; None if it is none."""
    match formula:
        case Operand(name=name):
            form = form_of(of.parts[name])
            return form if isinstance(form, RatioForm) else None
        case Sum(terms=((subtracted, term),)):
            return times(ratio_of(term, of), -ONE if subtracted else ONE)
        case Product(left=left, right=right) if not left.names or not right.names:
            known, other = (left, right) if not left.names else (right, left)
            return times(ratio_of(other, of), constant(known))
        case Quotient(over=over, under=under) if not under.names:
            divisor = constant(under)
            return times(ratio_of(over, of), ONE / divisor if divisor else None)
        case Quotient(over=over, under=under) if over.names:
            return ratio(part_of(over, of), part_of(under, of))
    return None


def ratio(over: Expression, under: Expression) -> RatioForm | None:
    """Return the ratio of two figures, None if they are no sums."""
    return RatioForm(over, under) if over.type.additive and under.type.additive else None


def part_of(formula: Formula, of: FormulaExpression) -> Expression:
    """Return a part of a formula as an expression: the figure itself where the part is its name alone."""
    if isinstance(formula, Operand):
        return of.parts[formula.name]
    known = formula.type_of(of.types)
    parts = {name: of.parts[name] for name in formula.names}
    return FormulaExpression(formula, parts, known or of.type, of.name, reference="")


def times(form: RatioForm | None, factor: Exact | None) -> RatioForm | None:
    """Return a ratio times a constant, which its numerator takes."""
    if form is None or factor is None:
        return None
    formula = Product(Constant(factor), Operand(OVER))
    over = FormulaExpression(formula, {OVER: form.over}, form.over.type, form.over.name, reference="")
    return RatioForm(over, form.under)


# Sums as their operands.


class Term(Struct, frozen=True):
    """An operand of a sum, and what it counts times in it."""

    name: str
    expression: Expression
    factor: Exact


def terms_of_sum(expression: Expression, depth: int) -> list[Term]:
    """Return the operands of a sum, each once, `depth` formulas deep: a formula in between is replaced by its own."""
    found: dict[str, Term] = {}
    for term in deep_terms(expression, ONE, depth):
        key = term.expression.reference
        known = found.get(key)
        found[key] = Term(known.name, known.expression, term.factor + known.factor) if known else term
    return list(found.values())


def deep_terms(expression: Expression, factor: Exact, depth: int) -> Iterator[Term]:
    """Yield the operands of a sum with their factors, times a factor."""
    if not isinstance(expression, FormulaExpression):
        return
    for name, own in linear_terms(expression.formula, factor) or ():
        part = expression.parts[name]
        if depth > 1 and isinstance(part, FormulaExpression):
            yield from deep_terms(part, own, depth - 1)
        else:
            yield Term(name, part, own)
