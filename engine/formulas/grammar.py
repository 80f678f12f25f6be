"""The grammar of formulas: names (`revenue`, `gl.revenue`), decimal numbers, `+ - * /` and parentheses."""

import ast
from collections.abc import Callable

from engine.exact import Exact
from engine.formulas.figures import FormulaFault
from engine.formulas.formula import Constant, Formula, Operand, Product, Quotient, Sum

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
