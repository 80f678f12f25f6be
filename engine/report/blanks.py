"""Blanks: the notes on the nulls of a report, each of which names the lines, scenarios and members that it covers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from engine.model.notes import BLANKS, Note
from engine.model.stopping import watched
from engine.notes.blank_causes import BlankCauses
from engine.plans.day_causes import NO_ROWS
from engine.plans.figures import FigurePlan, Figures
from engine.report.data import MemberTuple
from engine.report.figure_table import FigureTable

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
    rows = [at for at, row in enumerate(plan.rows) if shown[at] and row.expression is not None]
    whole = Block(tuple(rows), tuple(range(len(plan.columns))), tuple(range(len(table.places))))
    names = PlaceNames(table.places)
    for cause in sorted(blanks, key=lambda cause: (BLANKS.index(cause.code), cause == NO_ROWS)):
        if cause == NO_ROWS:
            yield cause
            continue
        for block in blocks(blanks[cause]):
            yield Note(cause.code, (*names_of(block, whole, plan, names), *cause.about))


def causes_of(
    plan: FigurePlan, table: FigureTable, shown: Sequence[bool]
) -> Iterator[tuple[int, int, Sequence[int], Sequence[Note]]]:
    """Yield the rows and columns with blanks that are shown: places of these, and the cause of each."""
    causes: dict[Figures, BlankCauses] = {}
    whole = BlankCauses(Figures(plan, {}))
    for row, column, places in table.by_row.blanks():
        expression, reference = plan.rows[row].expression, plan.query.columns[column].reference
        if not shown[row] or expression is None:
            continue
        for found, own, sources in table.of_sources(places):
            if found.plan is not plan and plan.availability.why_not(expression):  # it may be there in the others alone
                read = plan.columns[column][0]
                places_of = (found.places[at] for at in watched(sources))
                told = [whole.unavailable(expression, read, place.time, place.broken_down) for place in places_of]
                yield row, column, own, told
                continue
            if found not in causes:
                causes[found] = BlankCauses(found)
            yield row, column, own, causes[found].of(expression, reference, found.plan.columns[column], sources)


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


def names_of(block: Block, whole: Block, plan: FigurePlan, places: PlaceNames) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the names of a block: its lines, scenarios and members, each left out where it is every one of them."""
    lines = tuple(plan.rows[row].key for row in block.rows)
    scenarios = tuple(dict.fromkeys(plan.query.columns[column].reference.key for column in block.columns))
    everything = len(block.rows) == len(whole.rows) and len(block.places) == len(whole.places)
    if len(block.rows) < len(whole.rows):
        yield "lines", lines
    if everything or len(block.columns) < len(whole.columns):
        yield "scenarios", scenarios
    if len(block.places) < len(whole.places):
        yield "members", tuple(places.of(block.places))
