"""Variances of a plan: two sides of a figure, where a missing one counts as 0, and their difference."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.model.evaluation import difference
from engine.model.exact import ZERO, Exact
from engine.model.formulas import Figure, Nothing
from engine.model.scenarios import Variance
from engine.model.stopping import watched
from engine.plans.figures import Figures
from engine.plans.rows import Expression
from engine.plans.windows import ColumnRead


@dataclass(frozen=True, eq=False)
class Variances:
    """The variances of a plan."""

    figures: Figures

    def by_row(self, variance: Variance, a: ColumnRead, b: ColumnRead) -> Sequence[Sequence[Figure] | None]:
        """Return the variances of each row of the plan between two column reads, by place; None for a header."""
        rows, of_a, of_b = self.figures.plan.rows, self.figures.by_row(a), self.figures.by_row(b)
        return [
            None
            if first is None or second is None or row.expression is None
            else self._between(variance, row.expression, (a, b), first, second)
            for row, first, second in zip(rows, of_a, of_b, strict=True)
        ]

    def of(self, variance: Variance, expression: Expression, a: ColumnRead, b: ColumnRead) -> Sequence[Figure]:
        """Return the variance of an expression between two column reads, one figure for each place.

        A missing side of an additive figure counts as 0 if its scenario holds rows of every domain in its own window
        and the window is closed and loaded to its end. Otherwise the variance is missing.
        """
        figures = self.figures
        return self._between(variance, expression, (a, b), figures.of(expression, a), figures.of(expression, b))

    def _between(
        self,
        variance: Variance,
        expression: Expression,
        column_reads: tuple[ColumnRead, ColumnRead],
        of_a: Sequence[Figure],
        of_b: Sequence[Figure],
    ) -> Sequence[Figure]:
        differences = None if variance.relative else difference(of_a, of_b)
        if differences is not None:
            return differences
        pairs = zip(of_a, of_b, self.figures.places, strict=True)
        return [
            variance.of_exact(first, second)
            if isinstance(first, Exact) and isinstance(second, Exact)
            else variance.of(*self.sides(expression, column_reads, (first, second), place.time))
            for first, second, place in watched(pairs, self.figures.plan.stop)
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
        window = column_read.windows[time]
        window_resolver = self.figures.plan.window_resolver
        for base in expression.bases:
            domain_read = column_read.domain_read(base.domain)
            if not window_resolver.holds(domain_read, base, window):
                return False
            if not window_resolver.is_complete(domain_read, base, window, self.figures.plan.query.asked.grain):
                return False
        return True
