"""Functions of formulas against the fractions that Python's own functions make, whatever is missing."""

from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.evaluation import ColumnFormula, FigureColumn
from engine.model.exact import Exact
from engine.model.formula_parser import parse
from engine.model.formulas import Figure, FigureKind, FigureType, Nothing

MONEY = FigureType(kind=FigureKind.MONEY, additive=True)
NAMES = ("a", "b", "c")
Row = Mapping[str, Fraction]
UNIT = 100


def half_up(figure: Fraction, places: int) -> Fraction:
    """Round a decimal figure as Python's decimals do: half away from zero."""
    unit = Decimal(1).scaleb(-places)
    quotient = Decimal(figure.numerator) / Decimal(figure.denominator) / unit
    return Fraction(quotient.quantize(Decimal(1), ROUND_HALF_UP)) * Fraction(unit)


def quotient(row: Row) -> Fraction | None:
    """Divide a by b, if a is there."""
    return row["a"] / row["b"] if "a" in row else None


EXPECTED: dict[
    str, tuple[tuple[str, ...], Callable[[Row], Fraction | None]]
] = {  # the operands it needs, and its value
    "max(a, b)": (("a", "b"), lambda row: max(row["a"], row["b"])),
    "min(a, 0, b)": (("a", "b"), lambda row: min(row["a"], Fraction(0), row["b"])),
    "abs(a) - abs(b)": (("a", "b"), lambda row: abs(row["a"]) - abs(row["b"])),
    "round(a)": (("a",), lambda row: half_up(row["a"], 0)),
    "round(a, 1)": (("a",), lambda row: half_up(row["a"], 1)),
    "round(a, -1)": (("a",), lambda row: half_up(row["a"], -1)),
    "round(a, 3)": (("a",), lambda row: row["a"]),
    "if(a > b, a, b)": (("a", "b"), lambda row: max(row["a"], row["b"])),
    "if(a <= b, a, b)": (("a", "b"), lambda row: min(row["a"], row["b"])),
    "if(a = b, 1, 0)": (("a", "b"), lambda row: Fraction(row["a"] == row["b"])),
    "if(a != b, 1, 0)": (("a", "b"), lambda row: Fraction(row["a"] != row["b"])),
    "if(a >= b, 1, 0)": (("a", "b"), lambda row: Fraction(row["a"] >= row["b"])),
    "if(a < b, 1, 0)": (("a", "b"), lambda row: Fraction(row["a"] < row["b"])),
    "if(b != 0, a / b, 0)": (("b",), lambda row: quotient(row) if row["b"] else Fraction(0)),
    "if(b = 0, 7, a / b)": (("b",), lambda row: quotient(row) if row["b"] else Fraction(7)),
    "max(a, a / b)": (("a", "b"), lambda row: max(row["a"], row["a"] / row["b"]) if row["b"] else None),
}
numerators = st.lists(st.none() | st.integers(-260, 260), min_size=3, max_size=3)


def evaluated(text: str, types: Mapping[str, FigureType], **numbers: int | None) -> Figure:
    """Return the figure of a formula of some amounts in hundredths."""
    columns = {name: FigureColumn([number], UNIT) for name, number in numbers.items()}
    return ColumnFormula(parse(text), types).evaluate(columns)[0]


@pytest.mark.parametrize("text", EXPECTED)
@given(drawn=numerators)
def test_a_function_is_that_of_fractions_and_missing_where_an_argument_is(text: str, drawn: list[int | None]) -> None:
    needed, expected = EXPECTED[text]
    numbers = dict(zip(NAMES, drawn, strict=True))
    found = evaluated(text, dict.fromkeys(NAMES, MONEY), **numbers)
    if any(numbers[name] is None for name in needed):
        assert found is Nothing.MISSING
        return
    row = {name: Fraction(number, UNIT) for name, number in numbers.items() if number is not None}
    made = Fraction(found.numerator, found.denominator) if isinstance(found, Exact) else None
    assert made == expected(row)


def test_a_choice_looks_at_the_branch_that_it_takes_alone() -> None:
    types = dict.fromkeys(NAMES, MONEY)
    assert evaluated("if(a > 0, a, b)", types, a=100, b=None) == Exact(1)
    assert evaluated("if(a > 0, b, a)", types, a=100, b=None) is Nothing.MISSING
    assert evaluated("if(b > 0, a, a)", types, a=100, b=None) is Nothing.MISSING
    ratio = {**types, "b": FigureType(kind=FigureKind.MONEY, additive=False)}
    assert evaluated("if(a > 0, a, b)", ratio, a=100, b=None) == Exact(1)


def test_an_argument_counts_a_missing_operand_as_0_beside_another() -> None:
    types = dict.fromkeys(NAMES, MONEY)
    assert evaluated("max(a + b, 0)", types, a=150, b=None) == Exact(3, 2)
    assert evaluated("max(b, 0) + a", types, a=150, b=None) is Nothing.MISSING


def test_what_is_unavailable_makes_a_choice_unavailable_whatever_it_takes() -> None:
    columns: dict[str, list[Figure]] = {"a": [Exact(1)], "b": [Nothing.UNAVAILABLE]}
    found = ColumnFormula(parse("if(a > 0, a, b)"), dict.fromkeys(NAMES, MONEY)).evaluate(columns)
    assert list(found) == [Nothing.UNAVAILABLE]


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("round(a)", "3"),
        ("round(-a)", "-3"),
        ("round(a / 3, 2)", "0.83"),
        ("round(a / -3, 2)", "-0.83"),
        ("round(a * 100, -2)", "300"),
        ("round(a * -100, -2)", "-300"),
        ("round(a / 10)", "0"),
        ("round(a * 1000000000000, -12)", "3000000000000"),
    ],
)
def test_half_is_rounded_away_from_zero(text: str, digits: str) -> None:
    found = evaluated(text, {"a": MONEY}, a=250)
    assert isinstance(found, Exact)
    assert found.digits() == digits
