"""Ranked reports: `top` keeps the largest members, and one row holds the others.

Without sub-totals the first dimension is ranked, and what stands below a member stays whole and in order. With them
every group of every depth is ranked. Periods are ranked where they stand first, in engine/report/ordering.py.

The figures of others are those of the same query, filtered to their group and to what the members shown leave of it.
The others of all groups of one depth are collected together.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.errors import BadArguments, quoted
from engine.model.exact import ONE
from engine.model.formulas import Figure
from engine.model.requests import Exclusion
from engine.model.scope import UNASSIGNED
from engine.model.stopping import watched
from engine.model.views import has_running_sums, ranked_columns
from engine.notes.report_reads import ReportFigures
from engine.notes.shared_rows import members_sharing
from engine.plans.figures import FigurePlan, Figures, collect_together
from engine.plans.framed_figures import MemberRank
from engine.plans.report_size import COUNTED, refuse_too_many_shown
from engine.plans.weights import Axis
from engine.queries.filters import filter_of
from engine.queries.values import MAX_MET, Filter, Ranking
from engine.report.data import OTHERS, OTHERS_LABEL, MemberTuple, ReportMember
from engine.report.figure_table import (
    FigureTable,
    LabelledMembers,
    figures_by_row,
    into_parent,
    members_of,
    whole_table,
)
from engine.report.ordering import RankedPeriods, in_order, unmet_of

MOST_FOLDED = 200  # groups whose others are computed
MAX_SMALL = 1_000  # members whose figures are all computed, whatever a ranking shows of them


def report_table(plan: FigurePlan, found: ReportFigures, ranking: Ranking | None) -> FigureTable:
    """Return the figures of a plan at all its places, or those that a ranking shows."""
    if ranking is None or len(found.figures.places) == 1:
        return whole_table(plan, found.figures)
    if plan.query.breakdown[0].grain:
        return RankedPeriods(found.figures, ranking, found.order).table()
    return RankedReport(plan, ranking, found.order, found.rank).table(found.figures)


def stays_in_frames(plan: FigurePlan, ranking: Ranking) -> bool:
    """Tell whether the sums of a ranked report stay in frames until it is known which members are shown.

    They do where members are many, and where no note asks for the figures of those that are not shown.
    """
    if (
        (ranking.top is None and not ranking.conditions)
        or not plan.axes
        or plan.query.breakdown[0].key != plan.axes[0].key
    ):
        return False
    first, *inner = plan.axes  # each leaf is in a member of an inner one without a total, of weight 1
    top = ranking.top or MAX_MET
    if len(first.ids) <= max(MAX_SMALL, ranking.top or 0) or any(axis.total is not None for axis in inner):
        return False
    if (top + 1) * prod(len(axis.ids) + 1 for axis in inner) > max(COUNTED, top + 1):
        return False
    if any(plan.query.views[each.column].view for each in ranking.conditions if plan.query.views):
        return False  # a view of all members is computed from the figures of all
    if ranking.conditions and has_running_sums(plan.query.views):
        return False  # a running sum passes over the members that conditions leave out
    if ranked_columns(plan.query.views) and len(plan.query.breakdown) == 1 and not is_order_alone(plan, ranking):
        return False
    if not all(base.is_aggregate and not base.own for base in plan.bases) or not all(
        all(plan.availability.across[domain]) for domain in plan.domains
    ):
        return False
    return not (plan.reads.formulas and asks_for_all(plan))


def is_order_alone(plan: FigurePlan, ranking: Ranking) -> bool:
    """Tell whether the ranks that are shown are those of the order, the largest first: then the members shown do."""
    return len(plan.rows) == 1 and not ranking.asc and ranked_columns(plan.query.views) == (ranking.column,)


def asks_for_all(plan: FigurePlan) -> bool:
    """Tell whether a note on a formula may ask for its figures of members that are not shown."""
    return bool(plan.query.time) or any(
        axis.total is not None or UNASSIGNED in plan.reader.visible(axis.key) for axis in plan.axes
    )


def order_plan(plan: FigurePlan, ranking: Ranking | None) -> FigurePlan | None:
    """Return the plan of the figures that order the members, None if the report shows them itself.

    They are the sub-totals of the first dimension; inner trees weigh. Conditions ask for all lines and columns.
    """
    if ranking is None or plan.query.nests or len(plan.query.breakdown) == 1:
        return None
    weighing = {axis.key for axis in plan.axes[1:] if axis.total is not None}
    first, *inner = plan.query.breakdown
    breakdown = (first, *(dimension for dimension in inner if dimension.key in weighing))
    time = tuple(axis for axis in plan.query.time if axis.dimension.key == first.key)
    query = replace(plan.query, breakdown=breakdown, time=time, subtotals=True)
    if ranking.conditions:
        return replace(plan, query=query)
    columns = plan.query.columns[ranking.column : ranking.column + 1]
    rows = plan.rows[ranking.line : ranking.line + 1]
    return replace(plan, rows=rows, query=replace(query, columns=columns, views=()))


class RankedFigures(Struct, frozen=True, eq=False):
    """Figures whose places stand below some members: those of the report, or of the others of a group."""

    figures: Figures
    by_row: Sequence[Sequence[Sequence[Figure]]]
    above: tuple[ReportMember, ...] = ()
    holds: int | None = None  # members of the others
    unmet: Collection[str] = ()  # members of the first dimension that do not meet the conditions
    held_unmet: int | None = None  # how many of these the others hold

    @property
    def plan(self) -> FigurePlan:
        """The plan of the figures."""
        return self.figures.plan


class RankedPlace(Struct, frozen=True):
    """A place of the report, at one position of some figures."""

    ranked: RankedFigures
    at: int
    is_passed: bool = False  # conditions leave its member out, and running sums pass over it


class FoldedGroup(Struct, frozen=True):
    """The members that a group does not show, before their figures are collected."""

    plan: FigurePlan
    above: tuple[ReportMember, ...]  # the last are the others
    holds: int
    unmet: int | None = None  # how many of these do not meet the conditions


Entry = RankedPlace | FoldedGroup


class RankedReport(Struct, frozen=True, dict=True):
    """A report, and how its groups are ranked: the whole alone, or with sub-totals each group of every depth."""

    plan: FigurePlan
    ranking: Ranking
    order: Figures | None = None
    rank: MemberRank | None = None  # of the first dimension, where the figures are those of the members shown alone

    @cached_property
    def labelled(self) -> LabelledMembers:
        """The members of the report."""
        return LabelledMembers(self.plan)

    @cached_property
    def passes(self) -> bool:
        """Whether running sums pass over members of the first dimension that conditions leave out."""
        nests = self.plan.query.nests or len(self.plan.query.breakdown) == 1
        return nests and bool(self.ranking.conditions) and has_running_sums(self.plan.query.views)

    @cached_property
    def order_by_member(self) -> Mapping[str, Figure]:
        """The figures that order the members of the first dimension, where the report does not show them."""
        if self.order is None:
            return {}
        line, column = (self.ranking.line, self.ranking.column) if self.ranking.conditions else (0, 0)
        figures = figures_by_row(self.order)[line][column]
        return {member: figures[at] for member, at in watched(first_places(self.order).items())}

    def unmet(self, figures: Figures) -> Collection[str]:
        """Return the members of the first dimension that do not meet the conditions at their total."""
        first, conditions = self.order or figures, self.ranking.conditions
        if not conditions:
            return ()
        views, table = first.plan.query.views, whole_table(first.plan, first)
        if has_running_sums([views[condition.column] for condition in conditions if views]):
            whole = replace(self.ranking, conditions=(), top=None)
            table = replace(self, plan=first.plan, ranking=whole, order=None).table(first)
        return unmet_of(table, first.plan, conditions)

    def table(self, figures: Figures) -> FigureTable:
        """Return the figures of the top members of every ranked group, of its others, and of the total.

        Raises BadArguments if members of a folded group share leaves, or if too many groups are folded.
        """
        ranked, total = RankedFigures(figures, figures_by_row(figures)), len(figures.places) - 1
        ranked = ranked if self.rank else replace(ranked, unmet=self.unmet(figures))
        entries: list[Entry] = [*self.group(ranked, range(total), ()), RankedPlace(ranked, total)]
        folded = 0
        while groups := [entry for entry in entries if isinstance(entry, FoldedGroup)]:
            folded += len(groups)
            if folded > MOST_FOLDED:
                raise BadArguments(
                    f"top folds the others of more than {MOST_FOLDED} groups of this breakdown. Give a smaller top, "
                    "filter the first dimension, or leave subtotals out.",
                    field="top",
                )
            collected = iter(collect_together([group.plan for group in groups]))
            entries = [
                known
                for entry in watched(entries)
                for known in ([entry] if isinstance(entry, RankedPlace) else self.others(entry, next(collected)))
            ]
        places = [entry for entry in entries if isinstance(entry, RankedPlace)]
        passed = frozenset(at for at, known in enumerate(watched(places)) if known.is_passed)
        refuse_too_many_shown(self.plan, len(places) - len(passed))
        table = FigureTable.of(
            tuple(self.place_of(known) for known in watched(places, self.plan.stop)),
            [
                [
                    [known.ranked.by_row[row][column][known.at] for known in watched(places)]
                    for column in range(len(self.plan.query.columns) + len(ranked_columns(self.plan.query.views)))
                ]
                for row in range(len(self.plan.rows))
            ],
            [(known.ranked.figures, known.at) for known in watched(places)],
        )
        return replace(table, passed=passed)

    def group(
        self, ranked: RankedFigures, positions: Sequence[int], named: tuple[ReportMember, ...]
    ) -> Iterator[Entry]:
        """Yield the places of one group in their order; `named` are the members above it in its figures."""
        plan, depth, nests = ranked.plan, len(named), self.plan.query.nests
        if (not nests and (named or ranked.above)) or plan.query.breakdown[depth].grain:
            yield from (RankedPlace(ranked, at) for at in watched(positions))
            return
        dimension, heads = plan.query.breakdown[depth], 1 if nests else 0  # sub-totals of a member
        axis = next(axis.place for axis in plan.axes if axis.key == dimension.key)
        by_member: dict[str, list[int]] = {}
        for at in watched(positions, plan.stop):
            by_member.setdefault(str(ranked.figures.places[at].members[axis]), []).append(at)
        figures = ranked.by_row[self.ranking.line][self.ranking.column]
        if self.rank and not ranked.above and not named:
            shown, count = self.rank.members, self.rank.count
            ordered: Sequence[str] = shown
        else:
            first = self.order_by_member or {member: figures[at[0]] for member, at in watched(by_member.items())}
            is_ordered = self.ranking.is_ordered
            ordered = in_order(by_member, first, asc=self.ranking.asc) if is_ordered else list(by_member)
            count = len(ordered)
            unmet = () if named or ranked.above else ranked.unmet
            shown = [member for member in watched(ordered) if member not in unmet][: self.ranking.top]
        keeps = set(shown)
        until = ordered.index(shown[-1]) + 1 if shown and self.passes else 0
        for member in watched(ordered[:until] if until else shown):
            subtotals, below = by_member[member][:heads], by_member[member][heads:]
            if member not in keeps:
                yield RankedPlace(ranked, by_member[member][0], is_passed=True)
                continue
            yield from (RankedPlace(ranked, at) for at in subtotals)
            if below:
                yield from self.group(ranked, below, (*named, self.labelled[dimension.key, member]))
        if len(shown) < count:
            folded = others_plan(within(plan, named), shown)
            others = ReportMember(dimension.key, OTHERS, OTHERS_LABEL, folded.query.filters[-1].asked)
            held_unmet = None
            if self.ranking.conditions and not named and not ranked.above:
                held_unmet = self.rank.unmet if self.rank else len(ranked.unmet)
            yield FoldedGroup(folded, (*ranked.above, *named, others), count - len(shown), held_unmet)

    def others(self, group: FoldedGroup, figures: Figures) -> Iterator[Entry]:
        """Yield the places of the others of a group: with sub-totals the row that holds them, then what is below."""
        ranked = RankedFigures(figures, figures_by_row(figures), group.above, group.holds, held_unmet=group.unmet)
        last = len(figures.places) - 1
        if self.plan.query.nests or not group.plan.query.breakdown:
            yield RankedPlace(ranked, last)
        if last:
            yield from self.group(ranked, range(last), ())

    def place_of(self, known: RankedPlace) -> MemberTuple:
        """Return a place of the report: its members below those above it."""
        ranked, plan = known.ranked, known.ranked.plan
        place = ranked.figures.places[known.at]
        members = members_of(place, plan, self.labelled)
        weight = into_parent(members, plan)
        return MemberTuple(
            (*ranked.above, *members),
            is_total=place.is_total and not ranked.above,
            into_parent=None if weight == ONE else weight,
            holds=ranked.holds if place.is_total or not self.plan.query.nests else None,
            unmet=ranked.held_unmet if place.is_total or not self.plan.query.nests else None,
        )


def first_places(figures: Figures) -> Mapping[str, int]:
    """Return where the figures of the members of the first dimension stand at their total over the others."""
    each, whole = watched(list(enumerate(figures.places[:-1]))), len(figures.plan.times)
    return {str(place.members[0]): at for at, place in each if place.time == whole and set(place.members[1:]) <= {None}}


def within(plan: FigurePlan, named: Sequence[ReportMember]) -> FigurePlan:
    """Return the plan of what stands below some members of the first dimensions."""
    query, dimensions = plan.query, plan.query.breakdown
    keys = {member.dimension for member in named}
    filters = [known for known in query.filters if known.dimension.key not in keys]
    for dimension, member in zip(dimensions, named, strict=False):
        filters.append(filter_of(dimension, member.kept_by or (member.id,), plan.reader))
    below = replace(query, filters=tuple(filters), breakdown=dimensions[len(named) :])
    return replace(plan, query=below, of_report=plan.of_report or plan.availability, framed=False)


def others_plan(plan: FigurePlan, shown: Sequence[str]) -> FigurePlan:
    """Return the plan of the members of the first dimension that a ranking does not show.

    Raises BadArguments if members share leaves: what such members leave is no figure of the others.
    """
    refuse_shared_leaves(plan.axes[0], plan.reader)
    first, left = plan.query.breakdown[0], filter_without(plan, shown)
    filters = (*(known for known in plan.query.filters if known.dimension.key != first.key), left)
    query = replace(plan.query, filters=filters, breakdown=plan.query.breakdown[1:])
    return replace(plan, query=query, of_report=plan.of_report or plan.availability, framed=False)


def filter_without(plan: FigurePlan, shown: Sequence[str]) -> Filter:
    """Return the filter by the first dimension that leaves out the members shown, beside what the request filters."""
    return filter_of(plan.query.breakdown[0], exclusion_of(plan, shown), plan.reader)


def exclusion_of(plan: FigurePlan, shown: Sequence[str]) -> Exclusion:
    """Return what a filter by the first dimension names to keep the leaves of the members that are not shown.

    It leaves out the members shown, and what lies below an edge of weight 0 and thus in none of the others.
    """
    first = plan.query.breakdown[0]
    asked = next((known.asked for known in plan.query.filters if known.dimension.key == first.key), ())
    without, among = (asked.exclude, asked.include) if isinstance(asked, Exclusion) else ((), asked)
    named = Exclusion(exclude=(*without, *shown), include=among)
    if plan.reader.members(first.key).top() is None:
        return named  # no edge of a tree has weight 0
    return Exclusion(exclude=(*named.exclude, *in_no_other(plan, shown, named)), include=among)


def in_no_other(plan: FigurePlan, shown: Sequence[str], named: Exclusion) -> list[str]:
    """Return the uppermost visible nodes whose leaves an exclusion keeps and no member has but those shown."""
    axis, reader = plan.axes[0], plan.reader
    kept = filter_of(plan.query.breakdown[0], named, reader).leaves
    outside = {code for code, weight in watched(kept.items()) if not weight}
    for member in watched(set(axis.ids).difference(shown)) if outside else ():
        outside.difference_update(axis.members[member])
    nodes: list[str] = []
    for node in watched(reader.members(axis.key).ids()) if outside else ():
        leaves = reader.members(axis.key).leaves(node).keys()
        if leaves and leaves <= outside and reader.sees(axis.key, node):
            nodes.append(node)
            outside -= leaves
    return nodes


def refuse_shared_leaves(axis: Axis, reader: Reader) -> None:
    """Raise BadArguments if two members of an axis have a visible leaf in common."""
    if sharing := members_sharing(axis, reader):
        raise BadArguments(
            f"{quoted(sharing)} of {axis.key} share members below them, so that no figure of the others can be told. "
            f"Leave top and having out, or filter {axis.key} by nodes that share none.",
            field="top",
        )
