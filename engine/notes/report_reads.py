"""Report reads: the figures of a report, and what its ranking and its notes read besides, in one collect."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import FactRead
from engine.model.catalogue import Base
from engine.model.exact import Exact
from engine.notes.currency_notes import (
    MIXED,
    CurrencyRead,
    CurrencyUse,
    UnitUse,
    currency_reads,
    currency_shown,
    currency_uses,
    unit_uses,
)
from engine.notes.operand_notes import column_reads
from engine.notes.outside_notes import LeafRead
from engine.notes.unassigned_notes import Keys, unassigned_plans
from engine.notes.weight_notes import unbroken_plan
from engine.plans.class_members import NotInFrames
from engine.plans.figures import FigurePlan, Figures
from engine.plans.framed_figures import FramedFigures, MemberRank, contributing, ranked
from engine.queries.values import Ranking

NO_PLANS: Mapping[Keys, FigurePlan] = {}


class ReportReads(Struct, frozen=True):
    """What a report reads; all of it is planned before any of it is read."""

    plan: FigurePlan
    order: FigurePlan | None = None  # of the figures that order the members of a ranking
    unbroken: FigurePlan | None = None  # of its figures without the breakdown, where that may differ
    unassigned: Mapping[Keys, FigurePlan] = NO_PLANS  # of rows without a member of some dimensions
    outside: Sequence[LeafRead] = ()
    currencies: Sequence[CurrencyRead] = ()
    ranking: Ranking | None = None  # of the members, if their sums stay in frames
    contributions: bool = False  # whether they are ranked by what they contribute to a variance

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

        ordering = [self.plan, *([self.order] if self.order else [])]
        framed = [FramedFigures.of(plan, [next(frames) for _ in plan.batches]) for plan in ordering if self.ranking]
        figures, *order = (Figures(plan, {}) if framed else finished(plan) for plan in ordering)
        report = ReportFigures(
            plan=self.plan,
            reads=self,
            figures=figures,
            order=order[0] if order else None,
            rank=None,
            unbroken=finished(self.unbroken) if self.unbroken else None,
            unassigned={keys: finished(plan) for keys, plan in self.unassigned.items()},
            outside=[next(frames) for _ in self.outside],
            currencies=[next(frames) for _ in self.currencies],
        )
        return self._ranked(report, *framed) if framed else report

    def _ranked(
        self, report: "ReportFigures", figures: FramedFigures, order: FramedFigures | None = None
    ) -> "ReportFigures":
        """Return what was read with the figures of the members that a ranking shows, or with those of all.

        The others of several currencies have those of all members. A formula that is missing in the total may be there
        in a member that is not shown, which a note asks for.
        """
        rank = None if self.ranking is None or report.currency == MIXED else self._rank(self.ranking, figures, order)
        with suppress(NotInFrames):
            if rank is not None and self._has_totals(only := figures.only(rank.members)):
                return replace(report, figures=only, order=None, rank=rank)
        return replace(report, figures=figures.whole(), order=order.whole() if order else None)

    def _has_totals(self, figures: Figures) -> bool:
        formulas, reads = self.plan.reads.formulas.values(), column_reads(self.plan)
        return all(isinstance(figures.of(formula, read)[-1], Exact) for formula in formulas for read in reads)

    def _rank(self, ranking: Ranking, figures: FramedFigures, order: FramedFigures | None) -> MemberRank | None:
        return contributing(figures, ranking.top or 0) if self.contributions else ranked(figures, order, ranking)


class ReportFigures(Struct, frozen=True, dict=True):
    """What a report has read."""

    plan: FigurePlan
    reads: ReportReads
    figures: Figures
    order: Figures | None
    rank: MemberRank | None  # the members that a ranking shows, where the figures are those of these alone
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


def report_reads(
    plan: FigurePlan,
    order: FigurePlan | None = None,
    outside: Sequence[LeafRead] = (),
    ranking: Ranking | None = None,
) -> ReportReads:
    """Return what a report, its ranking and its notes read; `ranking` is that of a plan whose sums stay in frames."""
    unbroken, unassigned, currencies = unbroken_plan(plan), unassigned_plans(plan), currency_reads(plan)
    return ReportReads(plan, order, unbroken, unassigned, outside, currencies, ranking)


def collected(each: Sequence[ReportReads]) -> list[ReportFigures]:
    """Read for some reports, in one collect."""
    plan = each[0].plan
    frames = iter(plan.reader.collect_each([reads for report in each for reads in report.lists], plan.stop))
    return [report.finish(frames) for report in each]
