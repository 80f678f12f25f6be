"""Report reads: the figures of a report, and what its ranking and its notes read besides, in one collect."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import polars as pl
from msgspec import Struct

from engine.books.reader import FactRead
from engine.model.catalogue import Base
from engine.notes.currency_notes import (
    CurrencyRead,
    CurrencyUse,
    UnitUse,
    currency_reads,
    currency_shown,
    currency_uses,
    unit_uses,
)
from engine.notes.outside_notes import LeafRead
from engine.notes.unassigned_notes import Keys, unassigned_plans
from engine.notes.weight_notes import unbroken_plan
from engine.plans.figures import FigurePlan, Figures

NO_PLANS: Mapping[Keys, FigurePlan] = {}


class ReportReads(Struct, frozen=True):
    """What a report reads; all of it is planned before any of it is read."""

    plan: FigurePlan
    order: FigurePlan | None = None  # of the figures that order the members of a ranking
    unbroken: FigurePlan | None = None  # of its figures without the breakdown, where that may differ
    unassigned: Mapping[Keys, FigurePlan] = NO_PLANS  # of rows without a member of some dimensions
    outside: Sequence[LeafRead] = ()
    currencies: Sequence[CurrencyRead] = ()

    @property
    def plans(self) -> Iterator[FigurePlan]:
        """The plans of its figures, those of the report first."""
        yield from (self.plan, *filter(None, (self.order, self.unbroken)), *self.unassigned.values())

    @property
    def lists(self) -> Iterator[Sequence[FactRead]]:
        """Its reads, those of each batch or note together."""
        for plan in self.plans:
            yield from (batch.reads for batch in plan.batches)
        yield from (read.reads for read in self.outside)
        yield from (read.reads for read in self.currencies)

    def finish(self, frames: Iterator[Sequence[pl.DataFrame]]) -> "ReportFigures":
        """Return the figures; takes the collected frames of its reads, list by list."""

        def finished(plan: FigurePlan) -> Figures:
            return plan.finish([next(frames) for _ in plan.batches])

        return ReportFigures(
            plan=self.plan,
            reads=self,
            figures=finished(self.plan),
            order=finished(self.order) if self.order else None,
            unbroken=finished(self.unbroken) if self.unbroken else None,
            unassigned={keys: finished(plan) for keys, plan in self.unassigned.items()},
            outside=[next(frames) for _ in self.outside],
            currencies=[next(frames) for _ in self.currencies],
        )


class ReportFigures(Struct, frozen=True, dict=True):
    """What a report has read."""

    plan: FigurePlan
    reads: ReportReads
    figures: Figures
    order: Figures | None
    unbroken: Figures | None
    unassigned: Mapping[Keys, Figures]
    outside: Sequence[Sequence[pl.DataFrame]]  # of each read
    currencies: Sequence[Sequence[pl.DataFrame]]  # of each read

    @cached_property
    def currency_rows(self) -> Sequence[pl.DataFrame]:
        """The currencies and units of each read."""
        return [pl.concat(frames) for frames in self.currencies]

    @cached_property
    def currency_uses(self) -> Mapping[Base, Sequence[CurrencyUse]]:
        """The currencies of its bases."""
        return currency_uses(self.plan, self.reads.currencies, self.currency_rows)

    @property
    def unit_uses(self) -> Mapping[Base, Sequence[UnitUse]]:
        """The units that its bases add up."""
        return unit_uses(self.plan, self.reads.currencies, self.currency_rows)

    @property
    def currency(self) -> str:
        """The currency of its amounts."""
        return currency_shown(self.plan, self.currency_uses)


def report_reads(plan: FigurePlan, order: FigurePlan | None = None, outside: Sequence[LeafRead] = ()) -> ReportReads:
    """Return what a report, its ranking and its notes read."""
    return ReportReads(plan, order, unbroken_plan(plan), unassigned_plans(plan), outside, currency_reads(plan))


def collected(each: Sequence[ReportReads]) -> list[ReportFigures]:
    """Read for some reports, in one collect."""
    plan = each[0].plan
    frames = iter(plan.reader.collect_each([reads for report in each for reads in report.lists], plan.stop))
    return [report.finish(frames) for report in each]
