"""Evaluation: figures in columns, and the formulas that are evaluated over them."""

from collections.abc import Iterator, Mapping, Sequence
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
    unit, every = lcm(*[column.denominator for _, column in known]), all(column.is_whole for _, column in known)
    total: Sequence[int | None] = [0 if every else None] * len(known[0][1])
    for subtracted, column in known:
        numerators = column.over(unit)
        if every:
            total = list(map(sub if subtracted else add, total, numerators))
        else:
            sign, pairs = -1 if subtracted else 1, list(zip(total, numerators, strict=True))
            total = [so_far if number is None else (so_far or 0) + sign * number for so_far, number in watched(pairs)]
    return FigureColumn(total, unit)


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
