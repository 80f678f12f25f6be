"""Evaluation: figures in columns, and the formulas that are evaluated over them."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, count, groupby, repeat
from math import lcm
from operator import add, is_, sub
from typing import Generic, TypeVar, overload

from msgspec import Struct

from engine.model.exact import ZERO, Exact
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
Places = tuple[int, ...]  # the positions of some
Fractions = tuple[Numbers, Numbers]  # numerators and denominators
Key = TypeVar("Key", bound=Hashable)


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
        Nothing.UNAVAILABLE
        if denominator == UNAVAILABLE
        else Nothing.MISSING
        if numerator is None
        else Exact(numerator, denominator or 1)
        for numerator, denominator in zip(numerators, denominators, strict=True)
    ]


@dataclass(slots=True)
class KeyedFigures(Generic[Key]):
    """The figures of one column by key and place: numerators over one denominator for each key, else one by one."""

    numerators: dict[Key, Numbers] = field(default_factory=dict)  # None where a figure is missing
    denominators: dict[Key, int] = field(default_factory=dict)
    others: dict[Key, Sequence[Figure]] = field(default_factory=dict)
    _made: dict[Key, FigureColumn] = field(default_factory=dict)

    def add(self, key: Key, figures: Sequence[Figure]) -> None:
        """Add the figures of a key that has none."""
        if isinstance(figures, FigureColumn):
            self.numerators[key], self.denominators[key] = figures.numerators, figures.denominator
        else:
            self.others[key] = figures

    def replace(self, key: Key, figures: Sequence[Figure]) -> None:
        """Put other figures in the place of those of a key."""
        for known in (self.numerators, self.denominators, self.others, self._made):
            known.pop(key, None)
        self.add(key, figures)

    def of(self, key: Key) -> Sequence[Figure] | None:
        """Return the figures of a key, by place."""
        if key in self.others:
            return self.others[key]
        if key not in self._made and key in self.numerators:
            self._made[key] = FigureColumn(self.numerators[key], self.denominators[key])
        return self._made.get(key)


class FigureCube(Sequence[Sequence[Sequence[Figure]]]):
    """Figures by row, column and place, kept in that order as their numerators and their denominators.

    A missing figure has no numerator; an unavailable one has the denominator UNAVAILABLE. The figures themselves are
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
        each = [figure for by_column in by_row for column in by_column for figure in watched(column)]
        numerators, denominators = map(numerator_of, watched(each)), map(denominator_of, watched(each))
        return cls(list(numerators), list(denominators), columns, len(by_row[0][0]) if columns else 0)

    @classmethod
    def of_columns(cls, rows: Sequence[Key], columns: Sequence[KeyedFigures[Key]], places: int) -> "FigureCube":
        """Return the cube of some rows of columns; the figures of a row that a column lacks are missing."""
        none: Numbers = (None,) * places
        numerators = list(chain.from_iterable([each.numerators.get(row, none) for row in rows for each in columns]))
        units = [each.denominators.get(row) for row in rows for each in columns]
        denominators = list(chain.from_iterable(map(repeat, units, repeat(places))))
        positions = {row: at for at, row in enumerate(rows)} if any(each.others for each in columns) else {}
        for at, each in enumerate(columns):
            for row, figures in each.others.items():
                first = (positions[row] * len(columns) + at) * places
                after = first + places
                numerators[first:after] = [
                    figure.numerator if isinstance(figure, Exact) else None for figure in watched(figures)
                ]
                denominators[first:after] = [
                    figure.denominator if isinstance(figure, Exact) else denominator_of(figure)
                    for figure in watched(figures)
                ]
        return cls(numerators, denominators, len(columns), places)

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

    def figure(self, row: int, column: int, place: int) -> Figure:
        """Return one figure."""
        at = (row * self.columns + column) * self.places + place
        (figure,) = figures_of([self.numerators[at]], [self.denominators[at]])
        return figure

    def amount(self, row: int, column: int, place: int) -> Exact:
        """Return one figure, 0 for none."""
        at = (row * self.columns + column) * self.places + place
        numerator = self.numerators[at]
        return ZERO if numerator is None else Exact(numerator, self.denominators[at] or 1)

    def _column(self, at: int) -> list[Figure]:
        first, after = at * self.places, (at + 1) * self.places
        return figures_of(watched(self.numerators[first:after]), self.denominators[first:after])

    def only(self, rows: Sequence[int]) -> "FigureCube":
        """Return the cube of some rows, in ascending order."""
        if len(rows) == len(self):
            return self
        width = self.width
        left_out = sorted(set(range(len(self))).difference(rows))
        bounds = [(after + 1) * width for after in (-1, *left_out)], [at * width for at in (*left_out, len(self))]
        parts = [slice(first, after) for first, after in zip(*bounds, strict=True) if first < after]
        numerators = list(chain.from_iterable([self.numerators[part] for part in parts]))
        denominators = list(chain.from_iterable([self.denominators[part] for part in parts]))
        return FigureCube(numerators, denominators, self.columns, self.places)

    def with_rows(self, more: Sequence[Sequence[Figure]]) -> "FigureCube":
        """Return the cube with more rows of one place at its end, each by column."""
        last = FigureCube.of([[[figure] for figure in by_column] for by_column in more])
        numerators = [*self.numerators, *last.numerators]
        return FigureCube(numerators, [*self.denominators, *last.denominators], self.columns, self.places)

    def in_order(self, rows: Sequence[int]) -> "FigureCube":
        """Return the cube of some rows in their order."""
        parts = [slice(row * self.width, (row + 1) * self.width) for row in rows]
        numerators = list(chain.from_iterable([self.numerators[part] for part in parts]))
        denominators = list(chain.from_iterable([self.denominators[part] for part in parts]))
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
        part = slice(row * self.width, (row + 1) * self.width)
        return any(number is not None for number in self.numerators[part]) or UNAVAILABLE in self.denominators[part]

    def blanks(self) -> Iterator[tuple[int, int, Places]]:
        """Yield the row and column of figures that are missing or unavailable, with the places of these."""
        numerators = self.numerators if None in self.numerators else ()
        absent = list(compress(count(), map(is_, numerators, repeat(None))))
        if self.places == 1:
            yield from ((*divmod(at, self.columns), (0,)) for at in absent)
            return
        for of_column, together in groupby(absent, self.places.__rfloordiv__):
            first = of_column * self.places
            yield *divmod(of_column, self.columns), tuple([at - first for at in watched(together)])


def absent(figures: Sequence[Figure], places: Places) -> Places:
    """Return those of some places at which there is no figure."""
    if isinstance(figures, FigureColumn):
        numerators = figures.numerators
        return () if figures.is_whole else tuple([at for at in watched(places) if numerators[at] is None])
    return tuple([at for at in watched(places) if not isinstance(figures[at], Exact)])


PRESENT = frozenset({Exact})


def is_whole(figures: Sequence[Figure]) -> bool:
    """Tell whether every figure is present."""
    return figures.is_whole if isinstance(figures, FigureColumn) else PRESENT.issuperset(map(type, figures))


SignedNames = Sequence[tuple[bool, str]]  # of what a sum adds, each with whether it is subtracted


class ColumnFormula(Struct, frozen=True, eq=False, dict=True):
    """A formula and the types of its operands, to be evaluated over columns of figures."""

    formula: Formula
    types: Mapping[str, FigureType]

    def evaluate(self, columns: Mapping[str, Sequence[Figure]], stop: Stop = never) -> Sequence[Figure]:
        """Return the figures, one per row of the operands' columns, in the same order."""
        if self.sums is not None:
            made = [added([(minus, columns[name]) for minus, name in terms]) for terms in self.sums]
            if len(made) == 1 and made[0] is not None:
                return made[0]
            if len(made) > 1 and made[0] is not None and made[1] is not None:
                return quotients(made[0], made[1])
        formula, types = self.formula, self.types
        operands = [(name, columns[name], types[name].additive) for name in formula.names]
        return [figure_at(formula, operands, at) for at in watched(range(len(operands[0][1])), stop)]

    @cached_property
    def sums(self) -> Sequence[SignedNames] | None:
        """The sum of additive figures that the formula is, or the two that it divides; None if it is any other."""
        if not all(self.types[name].additive for name in self.formula.names):
            return None
        parts = [self.formula.over, self.formula.under] if isinstance(self.formula, Quotient) else [self.formula]
        found = [signed_names(part) for part in parts]
        return None if None in found else [names for names in found if names]


def signed_names(formula: Formula, *, subtracted: bool = False) -> SignedNames | None:
    """Return the names that a formula adds and subtracts, None if it does anything else.

    A missing figure counts as 0 beside another in every sum, so a sum of sums is the sum of all of their names.
    """
    if isinstance(formula, Operand):
        return [(subtracted, formula.name)]
    if not isinstance(formula, Sum):
        return None
    found = [signed_names(term, subtracted=subtracted != minus) for minus, term in formula.terms]
    return None if None in found else [pair for names in found for pair in names or ()]


def added(terms: Sequence[tuple[bool, Sequence[Figure]]]) -> FigureColumn | None:
    """Return the sum of figure columns, some of them subtracted; None if one is no figure column.

    A missing figure counts as 0 beside one that is present.
    """
    known = []
    unit, are_whole = 1, True
    for minus, column in terms:
        if not isinstance(column, FigureColumn):
            return None
        known.append((minus, column))
        unit = column.denominator if unit == column.denominator else lcm(unit, column.denominator)
        are_whole = are_whole and column.is_whole
    total: Sequence[int | None] = [0 if are_whole else None] * len(known[0][1])
    for minus, column in known:
        numerators = column.over(unit)
        if are_whole:
            total = list(map(sub if minus else add, total, numerators))
        else:
            sign, pairs = -1 if minus else 1, list(zip(total, numerators, strict=True))
            total = [so_far if number is None else (so_far or 0) + sign * number for so_far, number in watched(pairs)]
    return FigureColumn(total, unit)


def quotients(over: FigureColumn, under: FigureColumn) -> list[Figure]:
    """Return the quotients of two columns; one is missing where a side is, and where the divisor is 0."""
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


class PresentFigures(dict[str, Exact | None]):
    """The figures of operands by name; None is missing and counts as 0 beside another, one that is not here counts not.

    What asks for one that is not here raises UndefinedFigure.
    """

    def __missing__(self, name: str) -> Exact | None:
        raise UndefinedFigure(name)


def figure_at(formula: Formula, operands: Sequence[tuple[str, Sequence[Figure], bool]], at: int) -> Figure:
    """Return the figure of a formula at one row of its operands' columns."""
    known = PresentFigures()
    for name, column, additive in operands:
        figure = column[at]
        if isinstance(figure, Exact):
            known[name] = figure
        elif figure is Nothing.UNAVAILABLE:
            return figure
        elif additive:
            known[name] = None
    try:
        value = formula.value(known.__getitem__)
    except UndefinedFigure:
        return Nothing.MISSING
    return Nothing.MISSING if value is None else value
