"""Ranked reports: the top members of the first dimension, one row for the others, and the total."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader, label_of
from engine.model.caching import MOST_KEPT
from engine.model.errors import BadArguments, quoted
from engine.model.evaluation import FigureCube, Places
from engine.model.exact import ONE, Exact
from engine.model.formulas import Figure
from engine.model.requests import Exclusion
from engine.model.scenarios import Variance
from engine.model.stopping import watched
from engine.notes.weight_notes import is_weighed
from engine.plans.figures import FigurePlan, Figures
from engine.plans.places import Coordinates
from engine.plans.report_size import refuse_too_many_shown
from engine.plans.variances import Variances
from engine.plans.weights import Axis
from engine.queries.filters import filter_of
from engine.queries.values import Filter, Ranking
from engine.report.data import OTHERS, MemberTuple, ReportMember
from engine.report.drill import filter_json, joined, place_drill

OTHERS_LABEL = "Others"
PLACE_SIZE = 10  # of a place with its drill part and its text, in members that take as much memory


class FigureTable(Struct, frozen=True):
    """Figures by row, column and place; the total is the last place. Each place has its source."""

    places: tuple[MemberTuple, ...]
    by_row: FigureCube
    sources: Sequence[tuple[Figures, int]]  # the figures that a place is taken from, and its position in them
    whole: Figures | None = None  # if all places are taken from these in their order; then `sources` is empty

    def of_sources(self, places: Places) -> Iterable[tuple[Figures, Places, Places]]:
        """Return the figures that some places are taken from, with these places and their positions in them."""
        return self._by_source(places) if self.whole is None else ((self.whole, places, places),)

    def _by_source(self, places: Places) -> Iterator[tuple[Figures, Places, Places]]:
        each = [(*self.sources[place], place) for place in watched(places)]
        for found, together in groupby(each, key=itemgetter(0)):
            _, positions, own = zip(*together, strict=True)
            yield found, own, positions

    @classmethod
    def of(
        cls,
        places: tuple[MemberTuple, ...],
        by_row: Sequence[Sequence[Sequence[Figure]]],
        sources: Sequence[tuple[Figures, int]],
    ) -> "FigureTable":
        """Return the table of some figures by row, column and place."""
        return cls(places, FigureCube.of(by_row), sources)


def figure_table(plan: FigurePlan, figures: Figures, ranking: Ranking | None) -> FigureTable:
    """Return the figures of a plan at all its places, or those that a ranking shows."""
    variances = Variances(figures)
    by_row = figures_by_row(plan, figures, variances)
    if ranking is not None and len(figures.places) > 1:
        return ranked(plan, figures, by_row, ranking)
    places = places_of(plan, figures)
    return FigureTable(places, by_row, (), figures)


def places_of(plan: FigurePlan, figures: Figures) -> tuple[MemberTuple, ...]:
    """Return the report's places, memoised by the books: together those that are periods alone, which all may see."""
    breakdown = tuple(known.key for known in plan.query.breakdown)
    of_time = (plan.time_key, breakdown, tuple(plan.query.by_time))
    labelled = LabelledMembers(plan.reader)
    if not plan.axes:

        def make() -> tuple[MemberTuple, ...]:
            return tuple(place_of(place, plan, labelled) for place in watched(figures.places, plan.stop))

        return plan.reader.memo(("places", of_time), make, len)
    asked = tuple((known.dimension.key, known.asked) for known in plan.query.filters)  # as it is written in drill parts
    key = ("places of", plan.reads, of_time, asked)

    def some() -> dict[Coordinates, MemberTuple]:
        first = figures.places[:MOST_KEPT]
        return {place: place_of(place, plan, labelled) for place in watched(first, plan.stop)}

    known = plan.reader.memo_as_seen(key, some, lambda made: len(made) * PLACE_SIZE)  # those of the first report
    return tuple(known.get(place) or place_of(place, plan, labelled) for place in watched(figures.places, plan.stop))


def figures_by_row(plan: FigurePlan, figures: Figures, variances: Variances) -> FigureCube:
    """Return the figures of each row and column of a plan, by place."""
    columns = [
        variances.by_row(column.reference, *readings)
        if isinstance(column.reference, Variance)
        else figures.by_row(readings[0])
        for column, readings in zip(plan.query.columns, plan.columns, strict=True)
    ]
    return FigureCube.of_columns(plan.rows, columns, len(figures.places))


class LabelledMembers(dict[tuple[str, str], ReportMember]):
    """The members of a report by dimension and id; each is made once."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self._reader = reader

    def __missing__(self, key: tuple[str, str]) -> ReportMember:
        made = self[key] = ReportMember(*key, label_of(*key, self._reader))
        return made


def place_of(place: Coordinates, plan: FigurePlan, labelled: LabelledMembers) -> MemberTuple:
    """Return the report's place for coordinates, with member labels."""
    members = members_of(place, plan, labelled)
    drill, weight = place_drill(members, plan, place.time), into_parent(members, plan)
    return MemberTuple(members, is_total=place.is_total, drill=drill, into_parent=None if weight == ONE else weight)


def into_parent(members: Sequence[ReportMember], plan: FigurePlan) -> Exact:
    """Return what the figures of a place count for in the total, by the trees that weigh a figure of the plan.

    Below a sub-total it is what they count for in that one.
    """
    weight = ONE
    for member in members[-1:] if plan.query.nests else members:
        axis = next((axis for axis in plan.axes if axis.key == member.dimension and plan.into_total(axis)), None)
        if axis and any(is_weighed(base, axis, plan) for base in plan.bases):
            weight = weight * plan.into_total(axis).get(member.id, ONE)
    return weight


def members_of(place: Coordinates, plan: FigurePlan, labelled: LabelledMembers) -> tuple[ReportMember, ...]:
    """Return the members of coordinates in the order of the breakdown: of a sub-total the first, of the total none."""
    by_axis = dict(zip((axis.key for axis in plan.axes), place.members, strict=True))
    members = []
    for dimension in plan.query.breakdown:
        member = by_axis.get(dimension.key)
        if dimension.grain and place.time < len(plan.times):
            for axis, period in zip(
                plan.query.time, plan.times[place.time].periods, strict=False
            ):  # one in a sub-total
                if axis.dimension is dimension:
                    members.append(ReportMember(dimension.key, axis.member(period), axis.label(period)))
        elif member is not None:
            members.append(labelled[dimension.key, member])
    return tuple(members)


# Ranking: the first dimension of the breakdown is one of members, and thus the first axis of the plan. `(others)` is
# the figure of the same query without the first dimension, filtered to what the members shown leave of it.


def ranked(
    plan: FigurePlan, figures: Figures, whole: Sequence[Sequence[Sequence[Figure]]], ranking: Ranking
) -> FigureTable:
    """Return the figures of the top members in their order, of the others, and of the total."""
    positions: dict[str, list[int]] = {}
    for at, place in enumerate(watched(figures.places[:-1], plan.stop)):
        positions.setdefault(str(place.members[0]), []).append(at)
    by_member = ranking_figures(plan, figures.places, whole, ranking)
    ordered = in_order(positions, by_member, asc=ranking.asc)
    shown = ordered[: ranking.top]
    kept = [at for member in watched(shown) for at in watched(positions[member])]
    others = others_table(plan, shown, len(ordered) - len(shown)) if len(shown) < len(ordered) else NO_OTHERS
    refuse_too_many_shown(plan, len(kept) + len(others.places) + 1)
    total, labelled = len(figures.places) - 1, LabelledMembers(plan.reader)
    places = [place_of(figures.places[at], plan, labelled) for at in watched([*kept, total], plan.stop)]
    by_row = [
        [
            [
                *(column[at] for at in watched(kept)),
                *(others.by_row[row][position] if others.places else ()),
                column[total],
            ]
            for position, column in enumerate(columns)
        ]
        for row, columns in enumerate(whole)
    ]
    return FigureTable.of(
        (*places[:-1], *others.places, places[-1]),
        by_row,
        [*((figures, at) for at in watched(kept)), *others.sources, (figures, total)],
    )


NO_OTHERS = FigureTable.of((), (), ())


def ranking_figures(
    plan: FigurePlan,
    places: Sequence[Coordinates],
    by_row: Sequence[Sequence[Sequence[Figure]]],
    ranking: Ranking,
) -> Mapping[str, Figure]:
    """Return the figure that orders each member of the first dimension: that of its sub-total, inner trees weigh."""
    figures = by_row[ranking.line][ranking.column]
    if len(plan.query.breakdown) > 1:
        columns = plan.query.columns[ranking.column : ranking.column + 1]
        weighing = {axis.key for axis in plan.axes[1:] if axis.total is not None}
        first, *inner = plan.query.breakdown
        breakdown = (first, *(dimension for dimension in inner if dimension.key in weighing))
        query = replace(plan.query, breakdown=breakdown, time=(), columns=columns, subtotals=True)
        alone = replace(plan, rows=plan.rows[ranking.line : ranking.line + 1], query=query)
        found = alone.collect()
        ((figures,),) = figures_by_row(alone, found, Variances(found))
        places = found.places
    each = watched(list(zip(places[:-1], figures, strict=False)))
    return {str(place.members[0]): figure for place, figure in each if set(place.members[1:]) <= {None}}


def in_order(members: Iterable[str], figures: Mapping[str, Figure], *, asc: bool) -> list[str]:
    """Return members by their figures, those without one last; equal figures stand in the order of their ids."""
    by_id = sorted(members)
    known = {member: figure for member in watched(by_id) if isinstance(figure := figures.get(member), Exact)}
    return [
        *sorted(known, key=lambda member: known[member], reverse=not asc),
        *(member for member in watched(by_id) if member not in known),
    ]


def others_plan(plan: FigurePlan, shown: Sequence[str]) -> FigurePlan:
    """Return the plan of the members of the first dimension that a ranking does not show.

    Raises BadArguments if members share leaves: what such members leave is no figure of the others.
    """
    refuse_shared_leaves(plan.axes[0], plan.reader)
    first, left = plan.query.breakdown[0], filter_without(plan, shown)
    filters = (*(known for known in plan.query.filters if known.dimension.key != first.key), left)
    query = replace(plan.query, filters=filters, breakdown=plan.query.breakdown[1:])
    return replace(plan, query=query, of_report=plan.of_report or plan.availability)


def others_table(plan: FigurePlan, shown: Sequence[str], holds: int) -> FigureTable:
    """Return the figures of the members that a ranking does not show, without their total."""
    first, other = plan.query.breakdown[0], others_plan(plan, shown)
    asked = next(known.asked for known in other.query.filters if known.dimension.key == first.key)
    figures = other.collect()
    variances = Variances(figures)
    by_row = figures_by_row(other, figures, variances)
    within = figures.places[:-1] if other.query.breakdown else figures.places
    places, labelled = [], LabelledMembers(plan.reader)
    for place in watched(within, plan.stop):
        members = members_of(place, other, labelled)
        drill = joined(place_drill(members, other, place.time), {"filters": {first.key: filter_json(asked)}})
        member = ReportMember(first.key, OTHERS, OTHERS_LABEL)
        weight = into_parent(members, other)
        places.append(
            MemberTuple(
                (member, *members),
                is_total=False,
                drill=drill,
                into_parent=None if weight == ONE else weight,
                holds=holds,
            )
        )
    return FigureTable.of(
        tuple(places),
        [[list(column[: len(within)]) for column in columns] for columns in by_row],
        [(figures, at) for at in range(len(within))],
    )


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
            f"Leave top out, or filter {axis.key} by nodes that share none.",
            field="top",
        )


def members_sharing(axis: Axis, reader: Reader) -> tuple[str, str] | None:
    """Return two members of an axis that have a visible leaf in common, None if no two do."""
    sees = reader.sees_leaf(axis.key)
    owners: dict[int, str] = {}
    for member in watched(axis.ids if reader.members(axis.key).top() is not None else ()):
        for code in watched(axis.members[member]):
            if (axis.kept is None or code in axis.kept) and sees(code) and owners.setdefault(code, member) != member:
                return owners[code], member
    return None
