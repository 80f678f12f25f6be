"""Figures in columns: sums and quotients of columns against plain fractions, whatever is missing."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.evaluation import FigureColumn, evaluate
from engine.model.exact import Exact
from engine.model.formulas import Figure, FigureKind, FigureType, Nothing, parse

ADDITIVE = FigureType(kind=FigureKind.MONEY, additive=True)
RATIO = FigureType(kind=FigureKind.RATIO, additive=False)
NAMES = ("a", "b", "c")
Row = Mapping[str, Fraction | None]


def total(row: Row, *signed: tuple[int, str]) -> Fraction | None:
    """Add what is there; None if nothing is."""
    found = [sign * value for sign, name in signed if (value := row[name]) is not None]
    return sum(found, Fraction()) if found else None


def ratio(over: Fraction | None, under: Fraction | None) -> Fraction | None:
    """Divide, if both are there and the divisor is not 0."""
    return over / under if over is not None and under else None


EXPECTED = {
    "a": lambda row: row["a"],
    "-a": lambda row: total(row, (-1, "a")),
    "a + b - c": lambda row: total(row, (1, "a"), (1, "b"), (-1, "c")),
    "a - (b + c)": lambda row: total(row, (1, "a"), (-1, "b"), (-1, "c")),
    "a / b": lambda row: ratio(row["a"], row["b"]),
    "(a - b) / c": lambda row: ratio(total(row, (1, "a"), (-1, "b")), row["c"]),
    "a / (b - c)": lambda row: ratio(row["a"], total(row, (1, "b"), (-1, "c"))),
}
numerators = st.lists(st.none() | st.integers(-3, 3), min_size=4, max_size=4)


def fraction(figure: Figure) -> Fraction | None:
    """Return a figure as a fraction."""
    return Fraction(figure.numerator, figure.denominator) if isinstance(figure, Exact) else None


@pytest.mark.parametrize("text", EXPECTED)
@given(drawn=st.lists(numerators, min_size=3, max_size=3), units=st.lists(st.sampled_from((1, 100, 30)), min_size=3))
def test_a_formula_of_columns_is_that_of_fractions(
    text: str, drawn: list[list[int | None]], units: Sequence[int]
) -> None:
    columns = {name: FigureColumn(*known) for name, *known in zip(NAMES, drawn, units, strict=False)}
    values = {
        name: [None if number is None else Fraction(number, unit) for number in known]
        for name, known, unit in zip(NAMES, drawn, units, strict=False)
    }
    rows = [dict(zip(NAMES, row, strict=True)) for row in zip(*values.values(), strict=True)]
    found = evaluate(parse(text), dict.fromkeys(NAMES, ADDITIVE), columns)
    assert list(map(fraction, found)) == list(map(EXPECTED[text], rows))
    one_by_one = evaluate(parse(text), dict.fromkeys(NAMES, ADDITIVE), {name: [*columns[name]] for name in NAMES})
    assert list(map(fraction, one_by_one)) == list(map(EXPECTED[text], rows))
    assert all(figure.denominator > 0 for figure in found if isinstance(figure, Exact))


def test_a_missing_ratio_counts_as_nothing_in_no_column() -> None:
    columns = {"a": FigureColumn([1, None], 2), "b": FigureColumn([1, 1], 2)}
    assert list(evaluate(parse("a + b"), {"a": RATIO, "b": RATIO}, columns)) == [Exact(1), Nothing.MISSING]


def test_what_is_unavailable_stays_so_beside_a_column() -> None:
    columns: dict[str, Sequence[Figure]] = {"a": FigureColumn([1, 2], 1), "b": [Nothing.UNAVAILABLE, Exact(1)]}
    found = evaluate(parse("a + b"), dict.fromkeys("ab", ADDITIVE), columns)
    assert list(found) == [Nothing.UNAVAILABLE, Exact(3)]
    assert columns["a"][0] == Exact(1)
    assert columns["a"][-1:] == [Exact(2)]
