"""Nested rankings: below sub-totals `top` keeps the largest members of each group, and one row holds its others.

The figures of others are those of the same query, filtered to a group and to what the members shown leave of it. All
groups of one depth are collected together. The groups below a period stay whole and in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from engine.model.errors import BadArguments
from engine.model.exact import ONE
from engine.model.formulas import Figure
from engine.model.stopping import watched
from engine.plans.figures import FigurePlan, Figures, collect_together
from engine.plans.places import Coordinates
from engine.plans.report_size import refuse_too_many_shown
from engine.plans.variances import Variances
from engine.queries.filters import filter_of
from engine.queries.values import Ranking
from engine.report.data import OTHERS, MemberTuple, ReportMember
from engine.report.drill import filter_json, joined, place_drill, selection_of_member
from engine.report.ranking import (
    OTHERS_LABEL,
    FigureTable,
    LabelledMembers,
    figure_table,
    figures_by_row,
    in_order,
    into_parent,
    members_of,
    others_plan,
)

MOST_FOLDED = 200  # groups whose others are computed


def report_table(plan: FigurePlan, figures: Figures, ranking: Ranking | None) -> FigureTable:
    """Return the figures of a plan at all its places, or those that a ranking shows; of sub-totals, of every group."""
    if ranking is None or not plan.query.nests or len(figures.places) == 1:
        return figure_table(plan, figures, ranking)
    return NestedRanking(plan, ranking).table(figures, figures_by_row(plan, figures, Variances(figures)))


class RankedFigures(Struct, frozen=True, eq=False):
    """Figures whose places stand below some members: those of the report, or of the others of a group."""

    figures: Figures
    by_row: Sequence[Sequence[Sequence[Figure]]]
    above: tuple[ReportMember, ...] = ()
    holds: int | None = None  # members of the others

    @property
    def plan(self) -> FigurePlan:
        """The plan of the figures."""
        return self.figures.plan


class RankedPlace(Struct, frozen=True):
    """A place of the report, at one position of some figures."""

    ranked: RankedFigures
    at: int


class FoldedGroup(Struct, frozen=True):
    """The members that a group does not show, before their figures are collected."""

    plan: FigurePlan
    above: tuple[ReportMember, ...]
    holds: int


Entry = RankedPlace | FoldedGroup


class NestedRanking(Struct, frozen=True, dict=True):
    """A report with sub-totals, and how every group of it is ranked."""

    plan: FigurePlan
    ranking: Ranking

    @cached_property
    def labelled(self) -> LabelledMembers:
        """The members of the report."""
        return LabelledMembers(self.plan.reader)

    def table(self, figures: Figures, whole: Sequence[Sequence[Sequence[Figure]]]) -> FigureTable:
        """Return the figures of the top members of every group, of its others, and of the total.

        Raises BadArguments if members of a folded group share leaves, or if too many groups are folded.
        """
        ranked, total = RankedFigures(figures, whole), len(figures.places) - 1
        entries: list[Entry] = [*self.group(ranked, range(total), ()), RankedPlace(ranked, total)]
        folded = 0
        while groups := [entry for entry in entries if isinstance(entry, FoldedGroup)]:
            folded += len(groups)
            if folded > MOST_FOLDED:
                raise too_many_groups()
            collected = iter(collect_together([group.plan for group in groups]))
            entries = [
                known
                for entry in watched(entries)
                for known in ([entry] if isinstance(entry, RankedPlace) else self.others(entry, next(collected)))
            ]
        places = [entry for entry in entries if isinstance(entry, RankedPlace)]
        refuse_too_many_shown(self.plan, len(places))
        return FigureTable.of(
            tuple(self.place_of(known) for known in watched(places, self.plan.stop)),
            [
                [
                    [known.ranked.by_row[row][column][known.at] for known in watched(places)]
                    for column in range(len(columns))
                ]
                for row, columns in enumerate(whole)
            ],
            [(known.ranked.figures, known.at) for known in places],
        )

    def group(
        self, ranked: RankedFigures, positions: Sequence[int], named: tuple[ReportMember, ...]
    ) -> Iterator[Entry]:
        """Yield the places of one group in their order; `named` are the members above it in its figures."""
        plan, depth = ranked.plan, len(named)
        dimension = plan.query.breakdown[depth]
        if dimension.grain:
            yield from (RankedPlace(ranked, at) for at in watched(positions))
            return
        axis = next(axis.place for axis in plan.axes if axis.key == dimension.key)
        by_member: dict[str, list[int]] = {}
        for at in watched(positions, plan.stop):
            by_member.setdefault(str(ranked.figures.places[at].members[axis]), []).append(at)
        figures = ranked.by_row[self.ranking.line][self.ranking.column]
        first = {member: figures[found[0]] for member, found in by_member.items()}
        ordered = in_order(by_member, first, asc=self.ranking.asc)
        shown = ordered[: self.ranking.top]
        for member in watched(shown):
            head, *below = by_member[member]
            yield RankedPlace(ranked, head)
            if below:
                yield from self.group(ranked, below, (*named, ReportMember(dimension.key, member, member)))
        if len(shown) < len(ordered):
            above = (*ranked.above, *(self.labelled[known.dimension, known.id] for known in named))
            yield FoldedGroup(others_plan(within(plan, named), shown), above, len(ordered) - len(shown))

    def others(self, group: FoldedGroup, figures: Figures) -> Iterator[Entry]:
        """Yield the places of the others of a group: the row that holds them, then what stands below it."""
        by_row = figures_by_row(group.plan, figures, Variances(figures))
        dimension = self.plan.query.breakdown[len(group.above)]
        member = ReportMember(dimension.key, OTHERS, OTHERS_LABEL)
        ranked, last = RankedFigures(figures, by_row, (*group.above, member), group.holds), len(figures.places) - 1
        yield RankedPlace(ranked, last)
        if last:
            yield from self.group(ranked, range(last), ())

    def place_of(self, known: RankedPlace) -> MemberTuple:
        """Return a place of the report: its members below those above it, and the filters that lead to its rows."""
        ranked, plan = known.ranked, known.ranked.plan
        place: Coordinates = ranked.figures.places[known.at]
        members = members_of(place, plan, self.labelled)
        weight = into_parent(members, plan)
        return MemberTuple(
            (*ranked.above, *members),
            is_total=place.is_total and not ranked.above,
            drill=joined(place_drill(members, plan, place.time), {"filters": self.filters_beside(plan)}),
            into_parent=None if weight == ONE else weight,
            holds=ranked.holds if place.is_total else None,
        )

    def filters_beside(self, plan: FigurePlan) -> Mapping[str, object]:
        """Return the filters that a plan has beside those of the report."""
        if plan is self.plan:
            return {}
        asked = {known.dimension.key: known.asked for known in self.plan.query.filters}
        return {
            known.dimension.key: filter_json(known.asked)
            for known in plan.query.filters
            if asked.get(known.dimension.key) != known.asked
        }


def within(plan: FigurePlan, named: Sequence[ReportMember]) -> FigurePlan:
    """Return the plan of what stands below some members of the first dimensions."""
    query, dimensions = plan.query, plan.query.breakdown
    keys = {member.dimension for member in named}
    filters = [known for known in query.filters if known.dimension.key not in keys]
    for dimension, member in zip(dimensions, named, strict=False):
        filters.append(filter_of(dimension, selection_of_member(member, plan), plan.reader))
    below = replace(query, filters=tuple(filters), breakdown=dimensions[len(named) :])
    return replace(plan, query=below, of_report=plan.of_report or plan.availability)


def too_many_groups() -> BadArguments:
    """Return the refusal of a ranking that folds the others of too many groups."""
    return BadArguments(
        f"top folds the others of more than {MOST_FOLDED} groups of this breakdown. Give a smaller top, filter the "
        "first dimension, or leave subtotals out.",
        field="top",
    )
