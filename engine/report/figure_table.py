"""The table of a report: its figures by row, column and place, and the places with their members and labels."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import label_of
from engine.model.caching import MOST_KEPT
from engine.model.catalogue import DimensionKind
from engine.model.evaluation import FigureCube, KeyedFigures, Places
from engine.model.exact import ONE, Exact, sort_keys
from engine.model.formulas import Figure, Nothing
from engine.model.notes import Note
from engine.model.requests import Exclusion
from engine.model.scenarios import Variance
from engine.model.stopping import watched
from engine.model.views import ranked_columns
from engine.notes.weight_notes import is_weighed
from engine.plans.figures import FigurePlan, Figures
from engine.plans.places import Coordinates
from engine.plans.rows import Row
from engine.plans.variances import Variances
from engine.report.data import Drill, MemberTuple, ReportMember

PLACE_SIZE = 10  # of a place with its text, in members that take as much memory


class ReadCell(NamedTuple):
    """A figure that is read: its row, the column that is read, and its place."""

    row: int
    read: int
    place: int


class MemberRow(Struct, frozen=True, eq=False, kw_only=True):
    """A member, or the others, in a row below a line of a statement: its figures in the total."""

    row: Row
    line: int  # the row that it stands below
    figures: Sequence[Figure]  # by column that is read
    source: "tuple[Figures, int]"
    drill: Drill | None
    holds: int | None = None  # members behind a row of others


Because = Note | ReadCell  # why a view is blank: the note that says so, or a figure that is blank itself


class FigureTable(Struct, frozen=True):
    """Figures by row, column and place; the total is the last place. Each place has its source."""

    places: tuple[MemberTuple, ...]
    by_row: FigureCube
    sources: Sequence[tuple[Figures, int]]  # the figures that a place is taken from, and its position in them
    whole: Figures | None = None  # if all places are taken from these in their order; then `sources` is empty
    because: Mapping[
        ReadCell, Because
    ] = {}  # of a blank of a view, by its row, the column that shows it, and its place
    passed: frozenset[int] = frozenset()  # places that conditions leave out; running sums pass over them
    members: Sequence[MemberRow] = ()  # the last rows, of a table of one place
    blanks: Mapping[ReadCell, Note] = {}  # of figures that are read and not told: why

    def with_members(self, members: Sequence[MemberRow]) -> "FigureTable":
        """Return the table of a statement with rows of members after all others."""
        return replace(self, by_row=self.by_row.with_rows([each.figures for each in members]), members=members)

    def rows(self, plan: FigurePlan) -> Sequence[Row]:
        """Return its rows: those of its plan, then those of members."""
        return (*plan.rows, *(each.row for each in self.members)) if self.members else plan.rows

    def of_sources(self, row: int, places: Places) -> Iterable[tuple[Figures, Places, Places]]:
        """Return the figures that places of a row are taken from, with these places and their positions in them."""
        first = len(self.by_row) - len(self.members)
        if row >= first:
            figures, at = self.members[row - first].source
            return ((figures, places, (at,)),)
        return self._by_source(places) if self.whole is None else ((self.whole, places, places),)

    def without_passed(self) -> "FigureTable":
        """Return the table without the places that running sums pass over."""
        positions = [at for at in watched(range(len(self.places))) if at not in self.passed]
        position = {at: place for place, at in enumerate(watched(positions))}

        def moved(cell: ReadCell) -> ReadCell:
            return ReadCell(cell.row, cell.read, position[cell.place])

        table = FigureTable.of(
            tuple(self.places[at] for at in watched(positions)),
            [[[column[at] for at in watched(positions)] for column in row] for row in self.by_row],
            [self.sources[at] for at in watched(positions)],
        )
        because = {
            moved(cell): moved(why) if isinstance(why, ReadCell) else why
            for cell, why in watched(self.because.items())
            if cell.place in position
        }
        blanks = {moved(cell): note for cell, note in watched(self.blanks.items()) if cell.place in position}
        return replace(table, because=because, blanks=blanks)

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


class PlaceGroups(Struct, frozen=True, dict=True):
    """The places of a table, what stands above each, and the groups that they stand in."""

    places: Sequence[MemberTuple]

    @cached_property
    def paths(self) -> Sequence[tuple[str, ...]]:
        """The ids of the members of each place."""
        return [tuple([member.id for member in place.members]) for place in watched(self.places)]

    @cached_property
    def parents(self) -> Sequence[int]:
        """The place of the sub-total above each place, the total where there is none."""
        total = len(self.places) - 1
        positions = {path: at for at, path in enumerate(watched(self.paths))}
        return [positions.get(path[:-1], total) for path in watched(self.paths)]

    @cached_property
    def numbers(self) -> Sequence[int]:
        """The number of the group that each place stands in: those with the same members but the last."""
        numbers: dict[tuple[str, ...], int] = {}
        return [numbers.setdefault(path[:-1], len(numbers)) for path in watched(self.paths)]


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
    """Return the figures of each row and column of a plan, by place; then the ranks of those columns that show some."""
    plan, variances = figures.plan, Variances(figures)
    columns = [
        variances.by_row(column.reference, *readings)
        if isinstance(column.reference, Variance)
        else figures.by_row(readings[0])
        for column, readings in zip(plan.query.columns, plan.columns, strict=True)
    ]
    columns += [ranks_of(columns[at], figures) for at in ranked_columns(plan.query.views)]
    return FigureCube.of_columns(plan.rows, columns, len(figures.places))


def ranks_of(column: KeyedFigures[Row], figures: Figures) -> KeyedFigures[Row]:
    """Return the ranks of the figures of a column: 1 is the largest, and equal figures share a rank (1, 2, 2, 4).

    A member is ranked among those that stand beside it in its group. Sub-totals, the total and what has no figure have
    no rank.
    """
    plan, ranks = figures.plan, KeyedFigures[Row]()
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for at, place in enumerate(watched(figures.places, plan.stop)):
        path = path_of(place, plan)
        if path and len(path) == len(plan.query.breakdown):
            groups[path[:-1]].append(at)
    for row in plan.rows:
        each = column.of(row)
        if each is None:
            continue
        found: list[Figure] = [Nothing.MISSING] * len(each)
        for group in watched(groups.values(), plan.stop):
            known = {at: figure for at in watched(group) if isinstance(figure := each[at], Exact)}
            keys = dict(zip(known, sort_keys(list(known.values())), strict=True))
            first: dict[Hashable, Exact] = {}
            for before, at in enumerate(sorted(keys, key=keys.__getitem__, reverse=True), 1):
                found[at] = first.setdefault(keys[at], Exact(before))
        ranks.add(row, found)
    return ranks


def path_of(place: Coordinates, plan: FigurePlan) -> tuple[Hashable, ...]:
    """Return the members and periods of a place in the order of the breakdown, without those that it lacks."""
    members = dict(zip((axis.key for axis in plan.axes), place.members, strict=True))
    periods = plan.times[place.time].periods if place.time < len(plan.times) else ()
    by_time = {axis.dimension.key: period.code for axis, period in zip(plan.query.time, periods, strict=False)}
    found = ({**members, **by_time}.get(dimension.key) for dimension in plan.query.breakdown)
    return tuple(member for member in found if member is not None)


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
