"""The largest members of the lines of a statement that are material, as rows below them, and one row of the others.

They are the figures of a breakdown of these lines by one dimension. The members of a line are ranked by the size of
what they count for in it, whatever its sign. The others are computed as a total is, over the leaves of what is left.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from engine.model.catalogue import Dimension, Style
from engine.model.errors import BadArguments, quoted
from engine.model.exact import ONE, Exact, sort_keys
from engine.model.notes import Note
from engine.model.stopping import watched
from engine.notes.shared_rows import members_sharing
from engine.notes.weight_notes import member_notes
from engine.plans.class_members import NotInFrames
from engine.plans.figures import FigurePlan, Figures, collect_together
from engine.plans.framed_figures import FramedFigures, MemberRank, largest
from engine.plans.report_size import MOST_GROUPS, ReportSize, report_size
from engine.plans.rows import Row, child_favourable
from engine.queries.values import Ranking
from engine.report.data import OTHERS, OTHERS_LABEL, Drill, ReportMember
from engine.report.drill import drill_rule, joined, line_drill
from engine.report.figure_table import FigureTable, MemberRow, whole_table
from engine.report.ranking import MOST_FOLDED, others_plan, stays_in_frames
from engine.report.shown_lines import MaterialLines
from engine.report.views import AddedUp

MEMBER_KIND, OTHERS_KIND = "member", "others"  # kinds of rows
FIELD = "materiality.by"


def member_rows(
    lines: MaterialLines, most_groups: int = MOST_GROUPS, admit: Callable[[ReportSize], None] = lambda _: None
) -> tuple[Sequence[MemberRow], Sequence[Note]]:
    """Return the rows of members below the lines that are beyond, line by line, and the notes on them.

    A line whose domain lacks the dimension has none. `admit` is called before any amount is read. Raises BadArguments
    where members are too many or share leaves, and what `admit` raises.
    """
    if lines.test.by is None:
        return (), ()
    plan, positions = members_plan(lines, lines.test.by)
    if not positions or not plan.axes:
        return (), ()
    ranking = Ranking(line=0, column=lines.read, asc=False, top=lines.test.top)
    if stays_in_frames(plan, ranking) and not plan.into_total(plan.axes[0]):
        plan = replace(plan, framed=True)
    try:
        size = report_size(plan, ranking if plan.framed else None, most_groups, admit)
    except BadArguments as too_large:
        raise too_many_members(plan) from too_large
    admit(size)
    ranks, figures = ranked_members(plan, lines.read, lines.test.top)
    each = LineMembers(figures, whole_table(figures.plan, figures), positions, ranks)
    others = each.others()
    rows = [row for at in range(len(positions)) for row in (*each.rows(at), *others.get(at, ()))]
    return rows, list(member_notes(figures, lines.figures))


def members_plan(lines: MaterialLines, by: Dimension) -> tuple[FigurePlan, Sequence[int]]:
    """Return the plan of a breakdown by a dimension of the rows that are beyond and shown and have it, and these."""
    planned = lines.figures.plan
    query = replace(planned.query, breakdown=(by,), views=(), subtotals=False)
    plan = FigurePlan(planned.rows, query, planned.reader, planned.stop)
    having = [
        at
        for at in lines.beyond
        if lines.is_shown[at]
        and (expression := planned.rows[at].expression)
        and not plan.availability.missing_dimensions(expression)
    ]
    return replace(plan, rows=tuple(planned.rows[at] for at in having)), having


def too_many_members(plan: FigurePlan) -> BadArguments:
    """Return the refusal of more members below lines than a report computes."""
    key, rows = plan.query.breakdown[0].key, len(plan.rows)
    return BadArguments(
        f"{key} has too many members to compute below {rows} lines. Filter {key}, name fewer lines in lines, ask for a "
        "larger absolute or percent, or name another dimension in by.",
        field=FIELD,
        got=key,
    )


def ranked_members(plan: FigurePlan, read: int, top: int) -> tuple[Sequence[MemberRank], Figures]:
    """Return the largest members of each row of a plan, and the figures of these at least."""
    frames = plan.reader.collect_each([batch.reads for batch in plan.batches], plan.stop)
    if not plan.framed:
        figures = plan.finish(frames)
        return [largest_in(figures, row, read, top) for row in range(len(plan.rows))], figures
    framed = FramedFigures.of(plan, frames)
    try:
        ranks = [largest(framed, row, read, top) for row in range(len(plan.rows))]
        return ranks, framed.only(list(dict.fromkeys(member for rank in ranks for member in watched(rank.members))))
    except NotInFrames:
        figures = framed.whole()
    return [largest_in(figures, row, read, top) for row in range(len(plan.rows))], figures


def largest_in(figures: Figures, row: int, read: int, top: int) -> MemberRank:
    """Return the members whose figures of a row in a column that is read count most for it, whatever their sign."""
    plan, expression = figures.plan, figures.plan.rows[row].expression
    ids = [str(place.members[0]) for place in watched(figures.places[:-1])]
    by_member = dict(zip(ids, whole_table(plan, figures).by_row[row][read][:-1], strict=True))
    weights = weights_of(plan, plan.rows[row])
    sizes = {
        member: abs(figure * weights.get(member, ONE))
        for member in watched(sorted(ids))
        if isinstance(figure := by_member[member], Exact)
    }
    keys = dict(zip(sizes, sort_keys(list(sizes.values())), strict=True))
    order = sorted(keys, key=keys.__getitem__, reverse=True)  # which keeps equal ones by id
    sides = [figures.of(expression, column_read) for column_read in plan.distinct_reads] if expression else []
    pairs = watched(list(zip(*sides, strict=True))[:-1])
    return MemberRank(order[:top], sum(any(isinstance(side, Exact) for side in each) for each in pairs))


def weights_of(plan: FigurePlan, row: Row) -> Mapping[str, Exact]:
    """Return what members count for in a row, 1 where none is named; none where the row does not add up over them."""
    added = AddedUp(plan, row)
    keys = [axis.key for axis in plan.axes]
    return added.weights().get(keys[0], {}) if added.over(keys) else {}


class LineMembers(Struct, frozen=True, eq=False):
    """The members below some lines."""

    figures: Figures
    table: FigureTable
    positions: Sequence[int]  # of the rows of the statement
    ranks: Sequence[MemberRank]  # of each

    @property
    def plan(self) -> FigurePlan:
        """The plan of the figures, whose rows are the lines."""
        return self.figures.plan

    def rows(self, at: int) -> Iterator[MemberRow]:
        """Yield the rows of the largest members of a line."""
        places = {place.members[0].id: position for position, place in enumerate(watched(self.table.places[:-1]))}
        weights = weights_of(self.plan, self.plan.rows[at])
        for member in watched(self.ranks[at].members):
            place = places[member]
            (named,) = self.table.places[place].members
            weight = weights.get(member)
            yield self._row(at, named, (self.figures, place), self._part(named), weight=weight)

    def others(self) -> Mapping[int, Sequence[MemberRow]]:
        """Return the row of the others of each line that has some.

        Lines with the same members share a plan. Raises BadArguments for members that share leaves, and for more groups
        than a report folds.
        """
        groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at, rank in enumerate(self.ranks):
            if rank.members and len(rank.members) < rank.count:
                groups[tuple(rank.members)].append(at)
        if groups:
            self._refuse_no_others(len(groups))
        plans = [
            others_plan(replace(self.plan, rows=tuple(self.plan.rows[at] for at in group), framed=False), members)
            for members, group in groups.items()
        ]
        rows: dict[int, Sequence[MemberRow]] = {}
        for figures, (members, group) in zip(collect_together(plans) if plans else (), groups.items(), strict=True):
            asked = figures.plan.query.filters[-1].asked
            named = ReportMember(self.plan.axes[0].key, OTHERS, OTHERS_LABEL, asked)
            source = (figures, len(figures.places) - 1)
            for at in group:
                holds = self.ranks[at].count - len(members)
                rows[at] = [self._row(at, named, source, self._part(named), holds=holds)]
        return rows

    def _refuse_no_others(self, groups: int) -> None:
        axis, reader = self.plan.axes[0], self.plan.reader
        if sharing := members_sharing(axis, reader):
            raise BadArguments(
                f"{quoted(sharing)} of {axis.key} share members below them, so that no figure of the others can be "
                f"told. Filter {axis.key} by nodes that share none, or name another dimension in by.",
                field=FIELD,
                got=axis.key,
            )
        if groups > MOST_FOLDED:
            raise too_many_members(self.plan)

    def _part(self, named: ReportMember) -> Drill:
        """Return the part of a member in the drill of its rows."""
        return drill_rule(self.plan).at([named])

    def _row(
        self,
        at: int,
        named: ReportMember,
        source: tuple[Figures, int],
        part: Drill,
        *,
        weight: Exact | None = None,
        holds: int | None = None,
    ) -> MemberRow:
        line, (figures, place) = self.plan.rows[at], source
        row = replace(
            line,
            key=f"{line.key}/{named.id}",
            label=named.label,
            level=line.level + 1,
            kind=MEMBER_KIND if holds is None else OTHERS_KIND,
            style=Style.PLAIN,
            favourable=line.favourable if weight is None else child_favourable(line.favourable, weight),
            into_parent=weight,
            reverses=None,
        )
        table = self.table if figures is self.figures else whole_table(figures.plan, figures)
        by_column = table.by_row[figures.plan.rows.index(line)]
        return MemberRow(
            row=row,
            line=self.positions[at],
            figures=[column[place] for column in by_column],
            source=source,
            drill=of_members(line_drill(line, self.plan), part),
            holds=holds,
        )


def of_members(drill: Drill | None, part: Drill) -> Drill | None:
    """Return the drill of a line for some members; an operand that lacks their dimension keeps all of them."""
    if drill is None:
        return None
    if "operands" in drill:
        return {"operands": [joined(part, call) for call in drill["operands"]]}
    return joined(part, drill)
