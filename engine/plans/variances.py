"""Variances of a plan: two sides of a figure, where a missing one counts as 0, and their difference."""

from collections.abc import Sequence
from operator import sub

from msgspec import Struct

from engine.model.evaluation import KeyedFigures, added, is_whole
from engine.model.exact import ZERO, Exact
from engine.model.formulas import Figure, Nothing
from engine.model.scenarios import Variance
from engine.model.stopping import watched
from engine.plans.expressions import Expression
from engine.plans.figures import Figures
from engine.plans.rows import Row
from engine.plans.windows import ColumnRead


class Variances(Struct, frozen=True, eq=False, dict=True):
    """The variances of a plan."""

    figures: Figures

    def by_row(self, variance: Variance, a: ColumnRead, b: ColumnRead) -> KeyedFigures[Row]:
        """Return the variances of the rows of the plan between two column reads, by place; a header has none."""
        of_a, of_b, found = self.figures.by_row(a), self.figures.by_row(b), KeyedFigures[Row]()
        if not variance.relative and variance.only is None:
            units, none = of_b.denominators, (None,) * len(self.figures.places)
            alike = {row: unit for row, unit in of_a.denominators.items() if units.get(row) == unit}
            pairs = [(row, of_a.numerators[row], of_b.numerators[row]) for row in alike]
            found.numerators = {
                row: first if None in first else tuple(map(sub, first, second))
                for row, first, second in pairs
                if (None not in first and None not in second) or first == second == none
            }
            found.denominators = {row: alike[row] for row in found.numerators}
        for row in self.figures.plan.rows:
            if row.expression is not None and row not in found.numerators:
                found.add(row, self.of(variance, row.expression, a, b))
        return found

    def of(self, variance: Variance, expression: Expression, a: ColumnRead, b: ColumnRead) -> Sequence[Figure]:
        """Return the variance of an expression between two column reads, one figure for each place.

        A missing side of an additive figure counts as 0 if its scenario holds rows of every domain in its own window
        and the window is closed and loaded to its end. Otherwise the variance is missing.
        """
        figures = self.figures
        of_a, of_b = figures.of(expression, a), figures.of(expression, b)
        if not variance.relative and variance.only is None and is_whole(of_a) and is_whole(of_b):
            differences = added([(False, of_a), (True, of_b)])
            if differences is not None:
                return differences
        pairs = zip(of_a, of_b, figures.places, strict=True)
        return [
            variance.of_exact(first, second)
            if isinstance(first, Exact) and isinstance(second, Exact)
            else first
            if first is second  # neither side is there
            else variance.of(*self.sides(expression, (a, b), (first, second), place.time))
            for first, second, place in watched(pairs, figures.plan.stop)
        ]

    def sides(
        self, expression: Expression, column_reads: Sequence[ColumnRead], pair: tuple[Figure, Figure], time: int
    ) -> tuple[Figure, Figure]:
        """Return two figures; replace a missing one by 0 if it counts as 0."""
        if not expression.type.additive or not any(isinstance(figure, Exact) for figure in pair):
            return pair
        first, second = (
            ZERO if figure is Nothing.MISSING and self.counts_as_zero(expression, column_read, time) else figure
            for figure, column_read in zip(pair, column_reads, strict=True)
        )
        return first, second

    def counts_as_zero(self, expression: Expression, column_read: ColumnRead, time: int) -> bool:
        """Tell whether a missing figure means 0: its window holds other rows, is closed and loaded to its end."""
        means_zero = self.figures.day_causes.means_zero
        return all(means_zero(base, column_read, time) for base in expression.bases)
