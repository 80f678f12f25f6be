"""Blanks: the notes on the nulls of a report, each of which names the lines, scenarios and members that it covers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from engine.model.notes import BLANKS, Note
from engine.model.stopping import watched
from engine.notes.blank_causes import BlankCauses
from engine.plans.day_causes import NO_ROWS
from engine.plans.figures import FigurePlan, Figures
from engine.plans.rows import Row
from engine.report.data import MemberTuple
from engine.report.figure_table import Because, FigureTable, ReadCell

TOTAL = "(total)"
MEMBERS = "(members)"  # every member, without the total
Pair = tuple[int, int]  # of the positions of a row and a column
Positions = tuple[int, ...]


def blank_notes(plan: FigurePlan, table: FigureTable, shown: Sequence[bool]) -> Iterator[Note]:
    """Yield the notes on blanks: each null of the shown rows is covered by exactly one, `no_rows` by default."""
    blanks: dict[Note, dict[Pair, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, column, places, causes in causes_of(plan, table, shown):
        if causes.count(causes[0]) == len(causes):
            blanks[causes[0]][row, column] += places
            continue
        for cause, place in watched(zip(causes, places, strict=True)):
            blanks[cause][row, column].append(place)
    if not blanks:
        return
    each, query = table.rows(plan), plan.query
    rows = [at for at, row in enumerate(each) if shown[at] and row.expression is not None]
    references = [column.reference.key for column in query.columns]
    keys = [shown.view.key if shown.view else references[shown.read] for shown in query.views] or references
    whole = Block(tuple(rows), tuple(range(len(keys))), tuple(range(len(table.places))))
    names = PlaceNames(table.places)
    for cause in sorted(blanks, key=lambda cause: (BLANKS.index(cause.code), cause == NO_ROWS)):
        if cause == NO_ROWS:
            yield cause
            continue
        for block in blocks(blanks[cause]):
            yield Note(cause.code, (*names_of(block, whole, each, keys, names), *cause.about))


def causes_of(
    plan: FigurePlan, table: FigureTable, shown: Sequence[bool]
) -> Iterator[tuple[int, int, Sequence[int], Sequence[Note]]]:
    """Yield the rows and columns with blanks that are shown: places of these, and the cause of each."""
    causes = ReadCauses(plan, table)
    rows = table.rows(plan)
    for row, column, places in table.by_row.blanks():
        if not shown[row] or rows[row].expression is None:
            continue
        if plan.query.views:
            yield row, column, places, viewed_causes(row, column, places, causes)
            continue
        for own, told in causes.of(row, column, places):
            yield row, column, own, told


def viewed_causes(row: int, column: int, places: Positions, causes: "ReadCauses") -> Sequence[Note]:
    """Return the cause of each blank of a column that is shown: its own, or that of the figure that it lacks."""
    table, view = causes.table, causes.plan.query.views[column]
    because = [
        table.because.get(ReadCell(row, column, place), ReadCell(row, view.read, place)) for place in watched(places)
    ]
    by_read: dict[Pair, list[int]] = defaultdict(list)
    for cell in watched(dict.fromkeys(because)):
        if isinstance(cell, ReadCell):
            by_read[cell.row, cell.read].append(cell.place)
    told: dict[Because, Note] = {}
    for (of_row, read), lacking in by_read.items():
        for own, found in causes.of(of_row, read, tuple(lacking)):
            told.update(zip((ReadCell(of_row, read, place) for place in own), found, strict=True))
    return [cause if isinstance(cause, Note) else told[cause] for cause in watched(because)]


class ReadCauses:
    """The causes of the blanks of what a plan reads."""

    def __init__(self, plan: FigurePlan, table: FigureTable) -> None:
        self.plan, self.table, self._rows = plan, table, table.rows(plan)
        self._causes: dict[Figures, BlankCauses] = {}
        self._whole = BlankCauses(Figures(plan, {}))

    def of(self, row: int, read: int, places: Positions) -> Iterator[tuple[Positions, Sequence[Note]]]:
        """Yield some places of a row and a column that is read, with the cause of each."""
        plan, expression = self.plan, self._rows[row].expression
        if expression is None:
            return
        if self.table.blanks:
            pairs = [(place, self.table.blanks.get(ReadCell(row, read, place))) for place in watched(places)]
            untold = {place: note for place, note in pairs if note}
            if untold:
                yield tuple(untold), list(untold.values())
            places = tuple(place for place, note in pairs if note is None)
        reference = plan.query.columns[read].reference
        for found, own, sources in self.table.of_sources(row, places):
            if found.plan is not plan and plan.availability.why_not(expression):  # it may be there in the others alone
                first = plan.columns[read][0]
                places_of = (found.places[at] for at in watched(sources))
                told = [
                    self._whole.unavailable(expression, first, place.time, place.broken_down) for place in places_of
                ]
                yield own, told
                continue
            if found not in self._causes:
                self._causes[found] = BlankCauses(found)
            yield own, self._causes[found].of(expression, reference, found.plan.columns[read], sources)


class Block(Struct, frozen=True):
    """The blanks where some rows, columns and places meet."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    places: tuple[int, ...]


def blocks(places: Mapping[Pair, Sequence[int]]) -> list[Block]:
    """Return blocks that hold some places of rows and columns once: by rows or columns first, whichever makes fewer."""
    alike = {pair: tuple(found) for pair, found in places.items()}
    by_row = [Block(rows, columns, found) for columns, rows, found in grouped(alike, lambda pair: pair)]
    by_column = [Block(rows, columns, found) for rows, columns, found in grouped(alike, lambda pair: pair[::-1])]
    return min(by_row, by_column, key=len)


def grouped(
    places: Mapping[Pair, Positions], order: Callable[[Pair], Pair]
) -> list[tuple[Positions, Positions, Positions]]:
    """Group pairs of positions with the same places: inner positions, outer positions, places.

    `order` returns the outer position of a pair first.
    """
    inner: dict[int, dict[Positions, list[int]]] = defaultdict(lambda: defaultdict(list))
    for pair, alike in places.items():
        outer, within_it = order(pair)
        inner[outer][alike].append(within_it)
    groups: dict[tuple[Positions, Positions], list[int]] = defaultdict(list)
    for position, by_places in inner.items():
        for alike, found in by_places.items():
            groups[tuple(found), alike].append(position)
    return [(within, tuple(outers), alike) for (within, alike), outers in groups.items()]


class PlaceNames:
    """The names of the places of a report: member ids joined by `/`, with `*` for every member of a dimension.

    The name of a sub-total has the ids of the first dimensions alone.
    """

    def __init__(self, places: Sequence[MemberTuple]) -> None:
        self.total = len(places) - 1
        self._ids = [tuple(member.id for member in place.members) for place in watched(places[:-1])]
        self._counts = Counter(  # by number of members, dimension and id
            (len(ids), dimension, known) for ids in watched(self._ids) for dimension, known in enumerate(ids)
        )

    def of(self, positions: Sequence[int]) -> Iterator[str]:
        """Yield the names of places: by one dimension where its members make them up, else each by its path."""
        within = [place for place in watched(positions) if place != self.total]
        if within and len(within) == self.total:
            yield MEMBERS
        else:
            by_depth: dict[int, list[int]] = defaultdict(list)
            for place in watched(within):
                by_depth[len(self._ids[place])].append(place)
            for depth, found in by_depth.items():
                yield from self._by_dimension(found, depth)
        if len(within) < len(positions):
            yield TOTAL

    def _by_dimension(self, positions: Sequence[int], depth: int) -> Iterable[str]:
        for dimension in range(depth):
            names = dict.fromkeys(self._ids[place][dimension] for place in watched(positions))
            if sum(self._counts[depth, dimension, name] for name in watched(names)) == len(positions):
                return ["/".join(name if at == dimension else "*" for at in range(depth)) for name in watched(names)]
        return ["/".join(self._ids[place]) for place in positions]


def names_of(
    block: Block, whole: Block, rows: Sequence[Row], keys: Sequence[str], places: PlaceNames
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the names of a block: its lines, scenarios and members, each left out where it is every one of them.

    `keys` are the references of the columns that are shown.
    """
    lines = tuple(rows[row].key for row in block.rows)
    scenarios = tuple(dict.fromkeys(keys[column] for column in block.columns))
    everything = len(block.rows) == len(whole.rows) and len(block.places) == len(whole.places)
    if len(block.rows) < len(whole.rows):
        yield "lines", lines
    if everything or len(block.columns) < len(whole.columns):
        yield "scenarios", scenarios
    if len(block.places) < len(whole.places):
        yield "members", tuple(places.of(block.places))
