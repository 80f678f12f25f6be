"""The order of members and of periods by their figures, and which of them meet conditions.

Periods stand in a report whether or not they have rows. The others of periods are the same query over the other
periods alone: what adds up over time, or is computed of such sums. Balances, and windows that overlap, do not add up
over periods: of them the row says how many periods it holds, and no figure.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from engine.model.calendar.periods import PeriodRange
from engine.model.exact import ONE, Exact, sort_keys
from engine.model.formulas import Figure, Nothing
from engine.model.notes import Note
from engine.model.requests import Exclusion, Selection
from engine.model.stopping import watched
from engine.model.views import has_running_sums
from engine.plans.figures import FigurePlan, Figures
from engine.plans.rows import Row
from engine.queries.filters import runs_of
from engine.queries.values import DIRECTIONS, MISSING_STATE, FigureCondition, Ranking, ScenarioColumn
from engine.report.data import OTHERS, OTHERS_LABEL, MemberTuple, ReportMember
from engine.report.figure_table import (
    FigureTable,
    LabelledMembers,
    ReadCell,
    figures_by_row,
    into_parent,
    members_of,
    path_of,
    places_of,
    whole_table,
)
from engine.report.views import ReportViews

NO_OTHERS = Note.of("no_others")


def in_order(members: Iterable[str], figures: Mapping[str, Figure], *, asc: bool) -> list[str]:
    """Return members by their figures, those without one last; equal figures stand in the order of their ids."""
    by_id = sorted(members)
    known = {member: figure for member in watched(by_id) if isinstance(figure := figures.get(member), Exact)}
    keys = dict(zip(known, sort_keys(list(known.values())), strict=True))
    return [
        *sorted(known, key=keys.__getitem__, reverse=not asc),
        *(member for member in watched(by_id) if member not in known),
    ]


# Conditions on figures.


def unmet_of(table: FigureTable, plan: FigurePlan, conditions: Sequence[FigureCondition]) -> Collection[str]:
    """Return the members of the first dimension that do not meet all conditions at their total in a table."""
    each = enumerate(watched(table.places))
    positions = {place.members[0].id: at for at, place in each if len(place.members) == 1}
    viewed = ReportViews(plan, {}).table(table) if plan.query.views else table
    failing = set[str]()
    for condition in conditions:
        figures = viewed.by_row[condition.line][condition.column]
        sign = DIRECTIONS.get(plan.rows[condition.line].favourable, 0)
        pairs = watched(positions.items())
        failing.update(member for member, at in pairs if not meets(figures[at], condition, sign))
    return failing


def meets(figure: Figure, condition: FigureCondition, direction: int) -> bool:
    """Tell whether a figure meets a condition; a missing one meets `missing` alone.

    `direction` is 1 where more is favourable, -1 where less is, and 0 where neither is.
    """
    if not isinstance(figure, Exact):
        return condition.state == MISSING_STATE and (condition.least, condition.most) == (None, None)
    if condition.state == MISSING_STATE or (condition.least is not None and figure < condition.least):
        return False
    if condition.most is not None and condition.most < figure:
        return False
    wanted = {"favourable": 1, "unfavourable": -1}.get(condition.state or "")
    return wanted is None or direction * sign_of(figure) == wanted


def sign_of(figure: Exact) -> int:
    """Return 1 above 0, -1 below, 0 for 0."""
    return (figure.numerator > 0) - (figure.numerator < 0)


# Periods.


class PeriodEntry(Struct, frozen=True):
    """A place of a report of periods: where its figures stand, and whether they are those of the others."""

    figures: Figures
    at: int
    place: MemberTuple
    is_others: bool = False
    is_passed: bool = False  # conditions leave its period out, and running sums pass over it


class RankedPeriods(Struct, frozen=True, dict=True):
    """A report whose first dimension is time: its periods in their order, and those that its ranking shows.

    `order` are the figures of the periods where the report does not show them. What stands below a period stays in its
    order.
    """

    figures: Figures
    ranking: Ranking
    order: Figures | None = None

    @property
    def plan(self) -> FigurePlan:
        """The plan of the figures."""
        return self.figures.plan

    @cached_property
    def positions(self) -> Mapping[str, Sequence[int]]:
        """The positions of the places of each period, in their order."""
        groups: dict[str, list[int]] = {}
        for at, place in enumerate(watched(self.figures.places[:-1], self.plan.stop)):
            groups.setdefault(str(path_of(place, self.plan)[0]), []).append(at)
        return groups

    @cached_property
    def ordered(self) -> Sequence[str]:
        """The periods in their order."""
        first, ranking = self.order or self.figures, self.ranking
        if not ranking.is_ordered:
            return list(self.positions)
        has_all = self.order is None or bool(ranking.conditions)
        line, column = (ranking.line, ranking.column) if has_all else (0, 0)
        figures = figures_by_row(first)[line][column]
        by_period = {period: figures[at] for period, at in watched(totals_of_periods(first).items())}
        return in_order(self.positions, by_period, asc=ranking.asc)

    @cached_property
    def unmet(self) -> Collection[str]:
        """The periods that do not meet the conditions at their total over the other dimensions."""
        first, conditions = self.order or self.figures, self.ranking.conditions
        if not conditions:
            return ()
        views, table = first.plan.query.views, whole_table(first.plan, first)
        if has_running_sums([views[condition.column] for condition in conditions if views]):
            table = RankedPeriods(first, replace(self.ranking, conditions=(), top=None)).table()
        return unmet_of(table, first.plan, conditions)

    @cached_property
    def members(self) -> Sequence[str]:
        """The periods that are shown."""
        return [period for period in watched(self.ordered) if period not in self.unmet][: self.ranking.top]

    def table(self) -> FigureTable:
        """Return the figures of the periods that are shown, of the others, and of the total."""
        places, total = places_of(self.plan, self.figures), len(self.figures.places) - 1
        periods = [PeriodEntry(self.figures, at, places[at], is_passed=passed) for at, passed in watched(self._shown())]
        entries = [*periods, *self._others(), PeriodEntry(self.figures, total, places[total])]
        tables = {read: figures_by_row(read) for read in dict.fromkeys(entry.figures for entry in watched(entries))}
        blanks: dict[ReadCell, Note] = {}
        cube: list[list[list[Figure]]] = []
        for at, row in enumerate(self.plan.rows):
            cube.append([])
            for column in range(tables[self.figures].columns):
                line = [tables[entry.figures][at][column][entry.at] for entry in watched(entries)]
                if not self._adds_up(row, column):
                    lacking = [place for place, entry in watched(enumerate(entries)) if entry.is_others]
                    for place in (place for place in watched(lacking) if line[place] is not Nothing.UNAVAILABLE):
                        line[place], blanks[ReadCell(at, column, place)] = Nothing.MISSING, NO_OTHERS
                cube[-1].append(line)
        sources = [(entry.figures, entry.at) for entry in watched(entries)]
        table = FigureTable.of(tuple(entry.place for entry in watched(entries)), cube, sources)
        passed = frozenset(at for at, entry in watched(enumerate(entries)) if entry.is_passed)
        return replace(table, blanks=blanks, passed=passed)

    def _shown(self) -> Iterator[tuple[int, bool]]:
        """Yield the positions of the periods that are shown, and of those that running sums pass over."""
        query, members = self.plan.query, frozenset(self.members)
        nests = query.nests or len(query.breakdown) == 1
        passes = nests and bool(self.ranking.conditions) and has_running_sums(query.views)
        until = self.ordered.index(self.members[-1]) + 1 if self.members and passes else 0
        for period in watched(self.ordered[:until] if until else self.members):
            if period in members:
                yield from ((at, False) for at in self.positions[period])
            else:
                yield self.positions[period][0], True

    def _adds_up(self, row: Row, column: int) -> bool:
        """Tell whether the figures of a row in a column, or what they are computed of, add up over periods."""
        columns = self.plan.query.columns
        return row.expression is None or column >= len(columns) or adds_over_time(row, columns[column])

    def _others(self) -> Iterator[PeriodEntry]:
        """Yield the places of the periods that are not shown; with sub-totals first the one that holds the others."""
        members = frozenset(self.members)
        folded = frozenset(period for period in watched(self.ordered) if period not in members)
        if not folded:
            return
        figures, nests = others_of_periods(self.plan, folded).collect(), self.plan.query.nests
        first, last = self.plan.query.breakdown[0], len(figures.places) - 1
        others = ReportMember(first.key, OTHERS, OTHERS_LABEL, kept_by(self.plan, folded))
        labelled, failing = LabelledMembers(self.plan), len(folded.intersection(self.unmet))
        for at in (*([last] if nests or not last else ()), *watched(range(last))):
            inner = members_of(figures.places[at], figures.plan, labelled)
            weight, is_whole = into_parent(inner, figures.plan), at == last or not nests
            place = MemberTuple(
                (others, *inner),
                is_total=False,
                into_parent=None if weight == ONE else weight,
                holds=len(folded) if is_whole else None,
                unmet=failing if is_whole and self.ranking.conditions else None,
            )
            yield PeriodEntry(figures, at, place, is_others=True)


def adds_over_time(row: Row, column: ScenarioColumn) -> bool:
    """Tell whether a column reads the days of each period alone, and sums of them are what a row is computed of."""
    bases = row.expression.bases if row.expression else ()
    is_window = any(side.has_window or side.opens for side in column.reference.sides)
    return not is_window and all(base.over_time.is_flow for base in bases)


def totals_of_periods(figures: Figures) -> Mapping[str, int]:
    """Return where the figures of the periods of the first dimension stand at their total over the others."""
    paths = [path_of(place, figures.plan) for place in watched(figures.places)]
    return {str(path[0]): at for at, path in enumerate(watched(paths)) if len(path) == 1}


def others_of_periods(plan: FigurePlan, folded: Collection[str]) -> FigurePlan:
    """Return the plan of some periods of the first dimension together."""
    periods = [column.periods[0] for column in watched(plan.times)]
    selected = runs_of(period for period in watched(periods) if period.code in folded)
    query = replace(plan.query, selected=selected, breakdown=plan.query.breakdown[1:], time=plan.query.time[1:])
    return replace(plan, query=query, of_report=plan.of_report or plan.availability, framed=False)


def kept_by(plan: FigurePlan, folded: Collection[str]) -> Selection:
    """Return the filter by the first dimension that keeps some of its periods: it leaves out the others, if few."""
    first, last = plan.times[0].periods[0], plan.times[-1].periods[0]
    codes = [period.code for period in watched(plan.reader.catalogue.calendar.periods(PeriodRange(first, last)))]
    others = tuple(code for code in watched(codes) if code not in folded)
    if 0 < len(others) <= len(folded):
        return Exclusion(exclude=others)
    return tuple(code for code in watched(codes) if code in folded)
