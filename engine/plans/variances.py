"""Variances: the difference of two readings, with the rule for a side that has no figure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.exact import ZERO, Exact
from engine.formulas.figures import Figure, Nothing
from engine.notes import Note
from engine.plans.expressions import Expression
from engine.plans.figures import Figures, Reading
from engine.plans.view import View
from engine.plans.windows import Window
from engine.scenarios import Variance


@dataclass(frozen=True, eq=False)
class Variances:
    """The variances of a plan, and the notes on sides that stay unknown."""

    figures: Figures
    notes: dict[Note, None] = field(default_factory=dict)

    def of(self, variance: Variance, expression: Expression, a: Reading, b: Reading) -> list[Figure]:
        """Return the variance of an expression between two readings, by place.

        A missing side of an additive figure counts as 0 where its scenario holds rows of every domain concerned in its
        own window, and that window is closed and loaded to its end; otherwise the variance is missing.
        """
        pairs = zip(self.figures.of(expression, a), self.figures.of(expression, b), self.figures.places, strict=True)
        return [
            variance.of_exact(first, second)
            if isinstance(first, Exact) and isinstance(second, Exact)
            else variance.of(*self.sides(expression, (a, b), (first, second), place.time))
            for first, second, place in pairs
        ]

    def sides(
        self, expression: Expression, readings: Sequence[Reading], pair: tuple[Figure, Figure], time: int
    ) -> tuple[Figure, Figure]:
        """Return two figures, a missing one as 0 where it counts as 0 beside the other."""
        if not expression.type.additive or not any(isinstance(figure, Exact) for figure in pair):
            return pair
        first, second = (
            ZERO if figure is Nothing.MISSING and self.counts_as_zero(expression, reading, time) else figure
            for figure, reading in zip(pair, readings, strict=True)
        )
        return first, second

    def counts_as_zero(self, expression: Expression, reading: Reading, time: int) -> bool:
        """Tell whether no rows of a figure mean 0 in a window: others are there, and no more will come."""
        window = reading.windows[time]
        reads = self.figures.plan.reads
        for base in expression.bases:
            view = reading.view(base.domain)
            if not reads.holds(view, base, window):
                return False
            if not reads.is_complete(view, base, window, self.figures.plan.query.asked.grain):
                self.note_open(view, reading, window)
                return False
        return True

    def note_open(self, view: View, reading: Reading, window: Window) -> None:
        """Note that a missing figure is unknown because its window is open or not loaded."""
        note = Note.of("open_period", scenario=reading.side.key, window=window.label, domain=view.domain)
        self.notes[note] = None
