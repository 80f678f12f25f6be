"""The table of a report: its figures by row, column and place, and the places with their members and labels."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from engine.books.reader import label_of
from engine.model.caching import MOST_KEPT
from engine.model.catalogue import DimensionKind
from engine.model.evaluation import FigureCube, Places
from engine.model.exact import ONE, Exact
from engine.model.formulas import Figure
from engine.model.requests import Exclusion
from engine.model.scenarios import Variance
from engine.model.stopping import watched
from engine.notes.weight_notes import is_weighed
from engine.plans.figures import FigurePlan, Figures
from engine.plans.places import Coordinates
from engine.plans.variances import Variances
from engine.report.data import MemberTuple, ReportMember

PLACE_SIZE = 10  # of a place with its text, in members that take as much memory


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


def whole_table(plan: FigurePlan, figures: Figures) -> FigureTable:
    """Return the figures of a plan at all its places."""
    return FigureTable(places_of(plan, figures), figures_by_row(figures), (), figures)


def places_of(plan: FigurePlan, figures: Figures) -> tuple[MemberTuple, ...]:
    """Return the report's places, memoised by the books: together those that are periods alone, which all may see."""
    breakdown = tuple(known.key for known in plan.query.breakdown)
    of_time = (plan.time_key, breakdown)
    labelled = LabelledMembers(plan)
    if not plan.axes:

        def make() -> tuple[MemberTuple, ...]:
            return tuple(place_of(place, plan, labelled) for place in watched(figures.places, plan.stop))

        return plan.reader.memo(("places", of_time), make, len)
    asked = tuple((known.dimension.key, known.asked) for known in plan.query.filters)  # as members keep it
    key = ("places of", plan.reads, of_time, asked)

    def some() -> dict[Coordinates, MemberTuple]:
        first = figures.places[:MOST_KEPT]
        return {place: place_of(place, plan, labelled) for place in watched(first, plan.stop)}

    known = plan.reader.memo_as_seen(key, some, lambda made: len(made) * PLACE_SIZE)  # those of the first report
    return tuple(known.get(place) or place_of(place, plan, labelled) for place in watched(figures.places, plan.stop))


def figures_by_row(figures: Figures) -> FigureCube:
    """Return the figures of each row and column of a plan, by place."""
    plan, variances = figures.plan, Variances(figures)
    columns = [
        variances.by_row(column.reference, *readings)
        if isinstance(column.reference, Variance)
        else figures.by_row(readings[0])
        for column, readings in zip(plan.query.columns, plan.columns, strict=True)
    ]
    return FigureCube.of_columns(plan.rows, columns, len(figures.places))


class LabelledMembers(dict[tuple[str, str], ReportMember]):
    """The members of a report by dimension and id; each is made once."""

    def __init__(self, plan: FigurePlan) -> None:
        super().__init__()
        trees = (known for known in plan.query.filters if known.dimension.kind is DimensionKind.RAGGED)
        self._reader, self._asked = plan.reader, {known.dimension.key: known.asked for known in trees}

    def __missing__(self, key: tuple[str, str]) -> ReportMember:
        asked = self._asked.get(key[0])  # a node keeps what the filter of the request leaves of it
        kept_by = Exclusion(exclude=asked.exclude, include=key[1:]) if isinstance(asked, Exclusion) else None
        made = self[key] = ReportMember(*key, label_of(*key, self._reader), kept_by)
        return made


def place_of(place: Coordinates, plan: FigurePlan, labelled: LabelledMembers) -> MemberTuple:
    """Return the report's place for coordinates, with member labels."""
    members = members_of(place, plan, labelled)
    weight = into_parent(members, plan)
    return MemberTuple(members, is_total=place.is_total, into_parent=None if weight == ONE else weight)


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
