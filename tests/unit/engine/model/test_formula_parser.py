"""Formulas as trees: what a text means, written down by hand, and the character that a fault names."""

from fractions import Fraction

import pytest

from engine.model.exact import Exact
from engine.model.formula_parser import MAX_NESTED, parse
from engine.model.formulas import (
    Constant,
    FigureKind,
    FigureType,
    Formula,
    FormulaFault,
    Operand,
    Product,
    Quotient,
    Sum,
)
from engine.model.functions import Call, Conditional, types_of

A, B, C = map(Operand, "abc")
TWO = Constant(Exact(2))
MONEY = FigureType(kind=FigureKind.MONEY, additive=True)
UNITS = FigureType(kind=FigureKind.NUMBER, additive=True)


def plus(*terms: Formula) -> Sum:
    """Return a sum."""
    return Sum(tuple((False, term) for term in terms))


def less(first: Formula, *terms: Formula) -> Sum:
    """Return a difference."""
    return Sum(((False, first), *((True, term) for term in terms)))


def minus(formula: Formula) -> Sum:
    """Return the opposite."""
    return Sum(((True, formula),))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        (" ( (a) ) ", A),
        ("gl.a", Operand("gl.a")),
        ("gl . a", Operand("gl.a")),
        ("a + b - c", Sum(((False, A), (False, B), (True, C)))),
        ("a-b+c", Sum(((False, A), (True, B), (False, C)))),
        ("a - (b - c)", less(A, less(B, C))),
        ("(a - b) - c", less(A, B, C)),
        ("a + b * c", plus(A, Product(B, C))),
        ("a * b + c", plus(Product(A, B), C)),
        ("(a + b) * c", Product(plus(A, B), C)),
        ("a / b / c", Quotient(Quotient(A, B), C)),
        ("a / b * c", Product(Quotient(A, B), C)),
        ("a / (b * c)", Quotient(A, Product(B, C))),
        ("a - b / c * 2", less(A, Product(Quotient(B, C), TWO))),
        ("-a", minus(A)),
        ("--a", minus(minus(A))),
        ("-a * b", Product(minus(A), B)),
        ("a * -b", Product(A, minus(B))),
        ("a - -b", less(A, minus(B))),
        ("-a + b", Sum(((True, A), (False, B)))),
        ("-(a + b)", minus(plus(A, B))),
        ("2 * a", Product(TWO, A)),
        ("a\n\t+ b", plus(A, B)),
        ("if2 + max", plus(Operand("if2"), Operand("max"))),
        ("max(a, b)", Call("max", (A, B))),
        ("min (a, b, -c)", Call("min", (A, B, minus(C)))),
        ("2 * abs(a - b)", Product(TWO, Call("abs", (less(A, B),)))),
        ("round(a / b, 2) + c", plus(Call("round", (Quotient(A, B), TWO)), C)),
        ("round(max(a, 2))", Call("round", (Call("max", (A, TWO)),))),
        ("a / days(period)", Quotient(A, Operand("days(period)"))),
        ("periods ( period ) * a", Product(Operand("periods(period)"), A)),
        ("days + period", plus(Operand("days"), Operand("period"))),
        ("if(a > 2, b, c)", Conditional(">", A, TWO, B, C)),
        ("if(a+b<=c, a*b, 2)", Conditional("<=", plus(A, B), C, Product(A, B), TWO)),
        ("if (a != b, if(a = c, a, b), c)", Conditional("!=", A, B, Conditional("=", A, C, A, B), C)),
    ],
)
def test_a_text_is_the_tree_that_arithmetic_makes_of_it(text: str, tree: Formula) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", 2), ("0.25", Fraction(1, 4)), (".5", Fraction(1, 2)), ("1.", 1), ("007.50", Fraction(15, 2)), ("1e3", 1000)],
)
def test_a_constant_is_exact(text: str, number: Fraction) -> None:
    found = parse(text)
    assert isinstance(found, Constant)
    assert Fraction(found.number.numerator, found.number.denominator) == number


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 1, "a name or a number is missing"),
        ("   ", 4, "a name or a number is missing"),
        ("a +", 4, "a name or a number is missing"),
        ("a + * b", 5, "'*' cannot stand there"),
        ("+a", 1, "'+' cannot stand there"),
        ("a b", 3, "'b' cannot stand there"),
        ("a // b", 4, "'/' cannot stand there"),
        ("a)", 2, "')' cannot stand there"),
        ("(a", 3, "')' is missing"),
        ("(a b)", 4, "')' is missing"),
        ("gl.a.b", 5, "'.' cannot stand there"),
        ("gl.2", 3, "'.2' cannot stand there"),
        ("gl.", 4, "a name or a number is missing"),
        ("a + %", 5, "'%' cannot stand in a formula"),
        ("a # note", 3, "'#' cannot stand in a formula"),
        ("ä + €", 5, "'€' cannot stand in a formula"),
        ("a * 2b", 5, "'2b' is no decimal number"),
        ("a * 1.2.3", 5, "'1.2.3' is no decimal number"),
        ("a + sum(b)", 5, "there is no function 'sum'; there are min, max, abs, round, if, days, periods"),
        ("gl.max(a, b)", 7, "'(' cannot stand there"),
        ("max(a)", 1, "max takes 2 to 20 arguments, not 1: write max(a, b)"),
        ("2 * abs(a, b)", 5, "abs takes 1 argument, not 2: write abs(a)"),
        ("round(a, 1, 2)", 1, "round takes 1 to 2 arguments, not 3: write round(a) or round(a, places)"),
        ("max()", 5, "')' cannot stand there"),
        ("max(a b)", 7, "')' is missing"),
        ("max(a,", 7, "a name or a number is missing"),
        ("a / days(month)", 5, "days takes the word period alone: write days(period)"),
        ("a / days(period", 16, "')' is missing"),
        ("if(a, b, c)", 5, "a condition takes one of < <= = != >= >"),
        ("if(a => b, a, b)", 7, "'>' cannot stand there"),
        ("if(a > b, a)", 12, "',' is missing"),
        ("if(a > b, a, b, c)", 15, "')' is missing"),
        ("a > b", 3, "'>' cannot stand there"),
        ("abs(" * (MAX_NESTED + 1) + "a", 4 * MAX_NESTED + 1, "it nests deeper than 100 levels"),
        ("(" * (MAX_NESTED + 1) + "a", MAX_NESTED + 1, "it nests deeper than 100 levels"),
        ("-" * (MAX_NESTED + 1) + "a", MAX_NESTED + 1, "it nests deeper than 100 levels"),
    ],
)
def test_a_fault_names_its_character(text: str, position: int, words: str) -> None:
    with pytest.raises(FormulaFault) as fault:
        parse(text)
    assert (fault.value.position, str(fault.value)) == (position, words)
    assert fault.value.located == f"{words} at character {position}"


def type_of(text: str) -> FigureType | None:
    """Return the type of a formula of money and units."""
    formula = parse(text)
    return formula.type_of(types_of(formula, {"a": MONEY, "b": MONEY, "u": UNITS}.__getitem__))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a + days(period)", "adds money to days; only like figures add up"),
        ("days(period) * days(period)", "multiplies days by days"),
        ("max(a, u)", "max takes money and number; give it figures of one kind at character 1"),
        ("a + round(a, b)", "round takes a whole number of places from -12 to 12 at character 5"),
        ("round(a, 0.5)", "round takes a whole number of places from -12 to 12 at character 1"),
        ("round(a, 13)", "round takes a whole number of places from -12 to 12 at character 1"),
        ("if(a > u, a, b)", "if compares money and number; give it figures of one kind at character 1"),
        ("if(a > b, a, u)", "if chooses between money and number; give it figures of one kind at character 1"),
        ("a / round(0.4)", "divides by zero"),
    ],
)
def test_functions_take_figures_of_one_kind(text: str, words: str) -> None:
    with pytest.raises(FormulaFault) as fault:
        type_of(text)
    assert fault.value.located == words


@pytest.mark.parametrize(
    ("text", "kind", "quotient"),
    [
        ("max(a, 0)", FigureKind.MONEY, False),
        ("abs(a - b)", FigureKind.MONEY, False),
        ("round(a / u, 2)", FigureKind.PRICE, True),
        ("if(u > 0, a / u, 0)", FigureKind.PRICE, True),
        ("if(a / u > b / u, a, b)", FigureKind.MONEY, False),
        ("if(a > 0, 1, 0)", FigureKind.NUMBER, False),
        ("if(a > 0, 0.25, 0) * a", FigureKind.MONEY, False),
        ("a + max(2, 3)", FigureKind.MONEY, False),
        ("a / days(period)", FigureKind.RATE, True),
        ("a / days(period) * days(period)", FigureKind.MONEY, True),
        ("a / b * days(period)", FigureKind.DAYS, True),
        ("a / (b / days(period))", FigureKind.DAYS, True),
        ("a / days(period) / (b / days(period))", FigureKind.RATIO, True),
        ("days(period) / days(period)", FigureKind.NUMBER, True),
        ("u / days(period)", FigureKind.NUMBER, True),
        ("u * days(period)", FigureKind.NUMBER, False),
        ("a / periods(period)", FigureKind.PRICE, True),
        ("days(period) / 2", FigureKind.DAYS, False),
    ],
)
def test_a_function_has_the_kind_of_its_figures_and_is_not_additive(
    text: str, kind: FigureKind, quotient: bool
) -> None:
    found = type_of(text)
    assert found == FigureType(kind=kind, additive=False, quotient=quotient)


def test_a_function_of_constants_is_a_constant() -> None:
    assert parse("max(2, 3)").type_of({}) is None
    assert parse("a * max(2, 3)").type_of({"a": MONEY}) == MONEY


def test_the_deepest_formula_is_read() -> None:
    assert parse("(" * MAX_NESTED + "a" + ")" * MAX_NESTED) == A
    assert len(parse(" + ".join(["a"] * 5000)).names) == 1
