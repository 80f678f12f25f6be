"""Formulas as Python's own parser reads them, and their values from exact fractions."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction


class BlankFormula(Exception):
    """A zero divisor, or a missing figure where only one that is there makes sense."""


class Unknown(Exception):
    """An operand lies outside what is loaded: it is not 0, it is not known."""


@dataclass(frozen=True, slots=True)
class FoundOperand:
    """What a metric has in a cell: a figure or nothing, and whether nothing counts as 0."""

    figure: Fraction | None
    additive: bool = True
    outside: bool = False


@dataclass(frozen=True, slots=True)
class PartValue:
    """What a part comes to with missing operands at 0, and whether any operand is there."""

    amount: Fraction
    is_there: bool


def parse(text: str, formulas: Mapping[str, str]) -> ast.expr:
    """Return a formula with the formulas that it names written out."""
    tree: ast.expr = Inlined(formulas).visit(ast.parse(text, mode="eval").body)
    return tree


class Inlined(ast.NodeTransformer):
    """Writes out the formulas that a formula uses by name."""

    def __init__(self, formulas: Mapping[str, str]) -> None:
        self.formulas = formulas

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Write out a name that is a formula."""
        return parse(self.formulas[node.id], self.formulas) if node.id in self.formulas else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Read domain.metric as the metric."""
        return self.visit_Name(ast.Name(id=node.attr))


def names(node: ast.AST) -> list[str]:
    """Return the metrics that a formula uses."""
    return [found.id for found in ast.walk(node) if isinstance(found, ast.Name)]


def is_additive(node: ast.AST, additive: Callable[[str], bool]) -> bool:
    """Tell whether only + - and constant factors stand over additive operands."""
    match node:
        case ast.Name(id=key):
            return additive(key)
        case ast.UnaryOp(operand=inner):
            return is_additive(inner, additive)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return is_additive(left, additive) and is_additive(right, additive)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            factors = [part for part in (left, right) if names(part)]
            return len(factors) == 1 and is_additive(factors[0], additive)
        case ast.BinOp(left=left, right=right):
            return not names(right) and is_additive(left, additive)
    return False


def evaluate(node: ast.expr, operand: Callable[[str], FoundOperand]) -> Fraction | None:
    """Return what a formula comes to, None where that is missing."""
    try:
        found = value(node, operand)
    except (BlankFormula, Unknown):
        return None
    return found.amount if found.is_there else None


def value(node: ast.AST, operand: Callable[[str], FoundOperand]) -> PartValue:
    """Return the value of a part."""
    match node:
        case ast.Name(id=key):
            found = operand(key)
            if found.figure is None and found.outside:
                raise Unknown
            if found.figure is None and not found.additive:
                raise BlankFormula
            return PartValue(found.figure or Fraction(0), found.figure is not None)
        case ast.Constant(value=number):
            return PartValue(Fraction(str(number)), is_there=False)
        case ast.UnaryOp(operand=inner):
            part = value(inner, operand)
            return PartValue(-part.amount, part.is_there)
        case ast.BinOp(left=left, op=sign, right=right):
            return joined(sign, (left, value(left, operand)), (right, value(right, operand)))
    raise TypeError(ast.dump(node))


def joined(sign: ast.operator, *sides: tuple[ast.AST, PartValue]) -> PartValue:
    """Return what two parts come to."""
    (left, a), (right, b) = sides
    there = a.is_there or b.is_there
    if isinstance(sign, ast.Add | ast.Sub):
        return PartValue(a.amount + b.amount if isinstance(sign, ast.Add) else a.amount - b.amount, there)
    if names(left) and names(right) and not (a.is_there and b.is_there):
        raise BlankFormula
    if isinstance(sign, ast.Mult):
        return PartValue(a.amount * b.amount, there)
    if (names(right) and not b.is_there) or not b.amount:
        raise BlankFormula
    return PartValue(a.amount / b.amount, there)
