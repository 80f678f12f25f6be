"""Figures in columns: sums and quotients of columns against plain fractions, whatever is missing."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.evaluation import ColumnFormula, FigureColumn, FigureCube
from engine.model.exact import Exact
from engine.model.formula_parser import parse
from engine.model.formulas import Figure, FigureKind, FigureType, Nothing

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
    columns = {name: FigureColumn(column, unit) for name, column, unit in zip(NAMES, drawn, units, strict=False)}
    values = {
        name: [None if number is None else Fraction(number, unit) for number in known]
        for name, known, unit in zip(NAMES, drawn, units, strict=False)
    }
    rows = [dict(zip(NAMES, row, strict=True)) for row in zip(*values.values(), strict=True)]
    found = ColumnFormula(parse(text), dict.fromkeys(NAMES, ADDITIVE)).evaluate(columns)
    assert list(map(fraction, found)) == list(map(EXPECTED[text], rows))
    one_by_one = ColumnFormula(parse(text), dict.fromkeys(NAMES, ADDITIVE)).evaluate(
        {name: [*columns[name]] for name in NAMES}
    )
    assert list(map(fraction, one_by_one)) == list(map(EXPECTED[text], rows))
    assert all(figure.denominator > 0 for figure in found if isinstance(figure, Exact))


def test_a_missing_ratio_counts_as_nothing_in_no_column() -> None:
    columns = {"a": FigureColumn([1, None], 2), "b": FigureColumn([1, 1], 2)}
    assert list(ColumnFormula(parse("a + b"), {"a": RATIO, "b": RATIO}).evaluate(columns)) == [
        Exact(1),
        Nothing.MISSING,
    ]


def test_what_is_unavailable_stays_so_beside_a_column() -> None:
    columns: dict[str, Sequence[Figure]] = {"a": FigureColumn([1, 2], 1), "b": [Nothing.UNAVAILABLE, Exact(1)]}
    found = ColumnFormula(parse("a + b"), dict.fromkeys("ab", ADDITIVE)).evaluate(columns)
    assert list(found) == [Nothing.UNAVAILABLE, Exact(3)]
    assert columns["a"][0] == Exact(1)
    assert columns["a"][-1:] == [Exact(2)]


figures = st.builds(Exact, st.integers(-3, 3), st.sampled_from((1, 7, 100))) | st.sampled_from(Nothing)
cubes = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3)).flatmap(
    lambda size: st.lists(
        st.lists(st.lists(figures, min_size=size[2], max_size=size[2]), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)


@given(by_row=cubes, drawn=st.data())
def test_a_cube_holds_the_figures_it_was_made_of(by_row: list[list[list[Figure]]], drawn: st.DataObject) -> None:
    cube = FigureCube.of(by_row)
    assert (len(cube), cube.columns, cube.places) == (len(by_row), len(by_row[0]), len(by_row[0][0]))
    assert list(cube) == by_row
    assert cube[-1:] == by_row[-1:]
    kept = drawn.draw(st.lists(st.sampled_from(range(len(by_row))), unique=True).map(sorted))
    assert list(cube.only(kept)) == [by_row[at] for at in kept]
    none = [[Nothing.MISSING] * cube.places] * cube.columns
    without = [at for at in range(len(by_row)) if at not in kept]
    assert list(cube.only(kept).with_headers(without)) == [row if at in kept else none for at, row in enumerate(by_row)]


@given(by_row=cubes)
def test_a_cube_knows_where_figures_are_missing_or_unavailable(by_row: list[list[list[Figure]]]) -> None:
    cube = FigureCube.of(by_row)
    each = [
        (row, column, place)
        for row, by_column in enumerate(by_row)
        for column, by_place in enumerate(by_column)
        for place, figure in enumerate(by_place)
        if not isinstance(figure, Exact)
    ]
    assert [(row, column, place) for row, column, places in cube.blanks() for place in places] == each
    for at, found in enumerate(by_row):
        assert cube.holds(at) == any(figure is not Nothing.MISSING for column in found for figure in column)
