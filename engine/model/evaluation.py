"""Evaluation: figures in columns, and the formulas that are evaluated over them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import lcm
from operator import add, sub
from typing import overload

from engine.model.exact import Exact
from engine.model.formulas import Figure, FigureType, Formula, Nothing, Operand, Quotient, Sum, UndefinedFigure
from engine.model.stopping import Stop, never, watched


class FigureColumn(Sequence[Figure]):
    """Figures over one denominator, kept as their numerators; None where one is missing. None is unavailable.

    Sums of columns are sums of integers; the figures themselves are made when they are asked for.
    """

    __slots__ = ("_figures", "denominator", "is_whole", "numerators")

    def __init__(self, numerators: Sequence[int | None], denominator: int) -> None:
        self.numerators, self.denominator = numerators, denominator
        self.is_whole = None not in numerators
        self._figures: list[Figure] | None = None

    def __len__(self) -> int:
        return len(self.numerators)

    @overload
    def __getitem__(self, at: int) -> Figure: ...

    @overload
    def __getitem__(self, at: slice) -> list[Figure]: ...

    def __getitem__(self, at: int | slice) -> Figure | list[Figure]:
        if self._figures is None and isinstance(at, int):
            numerator = self.numerators[at]
            return Nothing.MISSING if numerator is None else Exact(numerator, self.denominator)
        return self.figures[at]

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.figures)

    @property
    def figures(self) -> list[Figure]:
        """The figures, made once."""
        if self._figures is None:
            unit = self.denominator
            self._figures = [
                Nothing.MISSING if numerator is None else Exact(numerator, unit)
                for numerator in watched(self.numerators)
            ]
        return self._figures

    def over(self, denominator: int) -> Sequence[int | None]:
        """Return the numerators over a multiple of the denominator."""
        factor = denominator // self.denominator
        if factor == 1:
            return self.numerators
        return [None if numerator is None else numerator * factor for numerator in watched(self.numerators)]


UNAVAILABLE = 0  # the denominator of an unavailable figure
Numbers = Sequence[int | None]
Fractions = tuple[Numbers, Numbers]  # numerators and denominators


def numerator_of(figure: object) -> int | None:
    """Return the numerator of a figure; None if there is no figure."""
    return figure.numerator if isinstance(figure, Exact) else None


def denominator_of(figure: object) -> int | None:
    """Return the denominator of a figure; UNAVAILABLE, or None if it is missing."""
    if isinstance(figure, Exact):
        return figure.denominator
    return UNAVAILABLE if figure is Nothing.UNAVAILABLE else None


def figures_of(numerators: Iterable[int | None], denominators: Iterable[int | None]) -> list[Figure]:
    """Return the figures of some numerators and denominators."""
    return [
        Exact(numerator, denominator or 1)
        if numerator is not None
        else Nothing.MISSING
        if denominator is None
        else Nothing.UNAVAILABLE
        for numerator, denominator in zip(numerators, denominators, strict=True)
    ]


class FigureCube(Sequence[Sequence[Sequence[Figure]]]):
    """Figures by row, column and place, kept in that order as their numerators and their denominators.

    A missing figure has neither; an unavailable one has the denominator UNAVAILABLE alone. The figures themselves are
    made when they are asked for, a row at a time.
    """

    __slots__ = ("_rows", "columns", "denominators", "numerators", "places")

    def __init__(self, numerators: Numbers, denominators: Numbers, columns: int, places: int) -> None:
        self.numerators, self.denominators = numerators, denominators
        self.columns, self.places = columns, places
        self._rows: dict[int, Sequence[Sequence[Figure]]] = {}

    @classmethod
    def of(cls, by_row: Sequence[Sequence[Sequence[Figure]]]) -> "FigureCube":
        """Return the cube of some figures by row, column and place."""
        columns = len(by_row[0]) if by_row else 0
        places = len(by_row[0][0]) if columns else 0
        numerators: list[int | None] = []
        denominators: list[int | None] = []
        for by_column in by_row:
            for column in by_column:
                if isinstance(column, FigureColumn) and column.is_whole:
                    numerators += column.numerators
                    denominators += [column.denominator] * places
                else:
                    numerators += map(numerator_of, watched(column))
                    denominators += map(denominator_of, watched(column))
        return cls(numerators, denominators, columns, places)

    @property
    def width(self) -> int:
        """How many figures a row has."""
        return self.columns * self.places

    def __len__(self) -> int:
        return len(self.numerators) // (self.width or 1)

    @overload
    def __getitem__(self, at: int) -> Sequence[Sequence[Figure]]: ...

    @overload
    def __getitem__(self, at: slice) -> list[Sequence[Sequence[Figure]]]: ...

    def __getitem__(self, at: int | slice) -> Sequence[Sequence[Figure]] | list[Sequence[Sequence[Figure]]]:
        if isinstance(at, slice):
            return [self[row] for row in range(*at.indices(len(self)))]
        row = range(len(self))[at]
        if row not in self._rows:
            self._rows[row] = [self._column(row * self.columns + column) for column in range(self.columns)]
        return self._rows[row]

    def _column(self, at: int) -> list[Figure]:
        first, after = at * self.places, (at + 1) * self.places
        return figures_of(watched(self.numerators[first:after]), self.denominators[first:after])

    def only(self, rows: Sequence[int]) -> "FigureCube":
        """Return the cube of some rows, in order."""
        if len(rows) == len(self):
            return self
        width = self.width
        parts = [slice(row * width, (row + 1) * width) for row in rows]
        numerators = list(chain.from_iterable(self.numerators[part] for part in parts))
        denominators = list(chain.from_iterable(self.denominators[part] for part in parts))
        return FigureCube(numerators, denominators, self.columns, self.places)

    def with_headers(self, rows: Sequence[int]) -> "FigureCube":
        """Return the cube with rows of missing figures inserted, at ascending positions of the cube to return."""
        numerators, denominators, none = list(self.numerators), list(self.denominators), [None] * self.width
        for row in rows:
            first = row * self.width
            numerators[first:first] = denominators[first:first] = none
        return FigureCube(numerators, denominators, self.columns, self.places)

    def holds(self, row: int) -> bool:
        """Tell whether any figure of a row is not missing."""
        return self.denominators[row * self.width : (row + 1) * self.width].count(None) < self.width

    def is_unavailable(self, row: int, column: int, place: int) -> bool:
        """Tell whether a figure is unavailable."""
        return self.denominators[(row * self.columns + column) * self.places + place] == UNAVAILABLE

    def blanks(self) -> Iterator[tuple[int, int, int]]:
        """Yield the row, column and place of each figure that is missing or unavailable."""
        for at, numerator in enumerate(watched(self.numerators if None in self.numerators else ())):
            if numerator is None:
                of_column, place = divmod(at, self.places)
                yield *divmod(of_column, self.columns), place


PRESENT = frozenset({Exact})


def is_whole(figures: Sequence[Figure]) -> bool:
    """Tell whether every figure is present."""
    return figures.is_whole if isinstance(figures, FigureColumn) else PRESENT.issuperset(map(type, figures))


def evaluate(
    formula: Formula, types: Mapping[str, FigureType], columns: Mapping[str, Sequence[Figure]], stop: Stop = never
) -> Sequence[Figure]:
    """Return the figures of a formula, one per row of its operands' columns, in the same order."""
    made = in_columns(formula, columns) if all(types[name].additive for name in formula.names) else None
    if made is not None:
        stop()
        return made
    operands = [(name, columns[name], types[name].additive) for name in formula.names]
    return [figure_at(formula, operands, at) for at in watched(range(len(operands[0][1])), stop)]


def in_columns(formula: Formula, columns: Mapping[str, Sequence[Figure]]) -> Sequence[Figure] | None:
    """Return the figures of a sum of figure columns, or of the quotient of two sums; None for any other formula."""
    if not isinstance(formula, Quotient):
        return sum_of_columns(formula, columns)
    over, under = sum_of_columns(formula.over, columns), sum_of_columns(formula.under, columns)
    if over is None or under is None:
        return None
    by_over, by_under = under.denominator, over.denominator
    pairs = list(zip(over.numerators, under.numerators, strict=True))
    return [
        Nothing.MISSING
        if dividend is None or not divisor
        else Exact(dividend * by_over, divisor * by_under)
        if divisor > 0
        else Exact(-dividend * by_over, -divisor * by_under)
        for dividend, divisor in watched(pairs)
    ]


def sum_of_columns(formula: Formula, columns: Mapping[str, Sequence[Figure]]) -> FigureColumn | None:
    """Return the figures of a formula that only adds and subtracts figure columns; None for any other."""
    if isinstance(formula, Operand):
        column = columns[formula.name]
        return column if isinstance(column, FigureColumn) else None
    if not isinstance(formula, Sum):
        return None
    return added([(subtracted, sum_of_columns(term, columns)) for subtracted, term in formula.terms])


def added(terms: Sequence[tuple[bool, Sequence[Figure] | None]]) -> FigureColumn | None:
    """Return the sum of figure columns, some of them subtracted; None if one is no figure column.

    A missing figure counts as 0 beside one that is present.
    """
    known = [(subtracted, column) for subtracted, column in terms if isinstance(column, FigureColumn)]
    if len(known) < len(terms):
        return None
    units = {column.denominator for _, column in known}
    unit = lcm(*units) if len(units) > 1 else units.pop()
    every = all(column.is_whole for _, column in known)
    total: Sequence[int | None] = [0 if every else None] * len(known[0][1])
    for subtracted, column in known:
        numerators = column.over(unit)
        if every:
            total = list(map(sub if subtracted else add, total, numerators))
        else:
            sign, pairs = -1 if subtracted else 1, list(zip(total, numerators, strict=True))
            total = [so_far if number is None else (so_far or 0) + sign * number for so_far, number in watched(pairs)]
    return FigureColumn(total, unit)


def difference(first: Sequence[Figure], second: Sequence[Figure]) -> FigureColumn | None:
    """Return the difference of figures over denominators, none of which is missing; None for any others."""
    if not (isinstance(first, FigureColumn) and isinstance(second, FigureColumn)):
        return None
    if not (first.is_whole and second.is_whole):
        return None
    unit = first.denominator
    if unit != second.denominator:
        return added([(False, first), (True, second)])
    return FigureColumn(list(map(sub, first.numerators, second.numerators)), unit)


def figure_at(formula: Formula, operands: Sequence[tuple[str, Sequence[Figure], bool]], at: int) -> Figure:
    """Return the figure of a formula at one row of its operands' columns."""
    known: dict[str, Exact | None] = {}
    undefined = False
    for name, column, additive in operands:
        figure = column[at]
        if isinstance(figure, Exact):
            known[name] = figure
        elif figure is Nothing.UNAVAILABLE:
            return figure
        else:
            known[name] = None
            undefined = undefined or not additive
    if undefined:
        return Nothing.MISSING
    try:
        value = formula.value(known.__getitem__)
    except UndefinedFigure:
        return Nothing.MISSING
    return Nothing.MISSING if value is None else value
