"""Views: the columns of a report that are computed from its others: shares, their changes, ranks and running sums.

A share divides a figure by the total of its column as shown, by the sub-total above it, or by a line of the statement.
A running sum adds the figures of a group in the order of the rows. Rows of a weighted tree enter with what they count
for in the figure above them, so that shares add up to 1 and a running sum ends at the total. Shares are compared as
variances compare figures.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from engine.model.caching import cached_method
from engine.model.errors import BadArguments, UnknownName, quoted
from engine.model.evaluation import FigureCube, denominator_of, numerator_of
from engine.model.exact import ZERO, Exact
from engine.model.formulas import Figure, FigureKind, FigureType, Nothing
from engine.model.notes import Note
from engine.model.scenarios import Reference, Side, Variance
from engine.model.stopping import watched
from engine.model.views import PARENT, Rank, Running, Share, ShareChange, ShownColumn, View, ranked_columns
from engine.notes.weight_notes import is_weighed
from engine.plans.figures import FigurePlan, StatementPlan
from engine.plans.figures import ReportPlan as Plan
from engine.plans.rows import Row
from engine.report.data import OTHERS, Comparison, MemberTuple, ReportColumn
from engine.report.figure_table import Because, FigureTable, PlaceGroups, ReadCell

NO_SHARE = Note.of("no_share")
NO_RANK = Note.of("no_rank")
NO_DIVISOR = Note.of("no_divisor")
DIVISORS = (FigureKind.MONEY, FigureKind.NUMBER)  # kinds of figures that a share of a line divides by
ViewFigures = tuple[list[Figure], Mapping[int, Because]]  # by place, and why some are blank


class ReportViews(Struct, frozen=True, dict=True):
    """The views of a plan. What they may divide and add is judged before anything is read."""

    plan: FigurePlan
    bases: Mapping[str, int]  # the rows of the lines that shares divide by

    @classmethod
    def of(cls, plan: Plan) -> "ReportViews":
        """Return the views of a plan. Raises BadArguments, and UnknownName for a base that is no line."""
        keys = {row.key: at for at, row in enumerate(plan.figures.rows) if row.type is not None}
        rules = ViewRules(plan, keys)
        for shown in plan.figures.query.views:
            if shown.view:
                rules.refuse(shown.view)
        return cls(plan.figures, keys)

    def table(self, read: FigureTable) -> FigureTable:
        """Return the figures of the columns that are shown."""
        views, because, groups = self.plan.query.views, {}, PlaceGroups(read.places)
        numerators: list[int | None] = []
        denominators: list[int | None] = []
        for at, row in enumerate(read.rows(self.plan)):
            of_row = RowViews(self.plan, row, at, read, self.bases, groups)
            for column, shown in enumerate(views):
                figures, blanks = of_row.of(shown)
                numerators += map(numerator_of, watched(figures))
                denominators += map(denominator_of, watched(figures))
                because.update({ReadCell(at, column, place): why for place, why in watched(blanks.items())})
        cube = FigureCube(numerators, denominators, len(views), len(read.places))
        viewed = replace(read, by_row=cube, because=because)
        return viewed.without_passed() if viewed.passed else viewed

    def columns(self, read: Sequence[ReportColumn]) -> tuple[ReportColumn, ...]:
        """Return the columns that are shown, made of those that are read."""
        return tuple(
            replace(
                read[shown.read],
                heading=shown.heading,
                scenario=shown.view.key,
                comparison=comparison_of(shown.view, read[shown.read].comparison),
                has_rows=not isinstance(shown.view, Running),
            )
            if shown.view
            else replace(read[shown.read], heading=shown.heading)
            for shown in self.plan.query.views
        )


def comparison_of(view: View, of: Comparison) -> Comparison:
    """Return what a view shows, made of a column that shows something."""
    if isinstance(view, Rank):
        return Comparison.RANK
    if isinstance(view, ShareChange):
        return Comparison.SHARE if view.relative else Comparison.POINTS
    return Comparison.PART if isinstance(view, Share) or isinstance(view.of, Share) else of


# What a figure adds up over.


class AddedUp(Struct, frozen=True):
    """Over which dimensions of a breakdown the figures of a row add up to the figure above them."""

    plan: FigurePlan
    row: Row

    def over(self, dimensions: Sequence[str]) -> bool:
        """Tell whether the figures of the members of some dimensions add up."""
        expression, plan = self.row.expression, self.plan
        if expression is None or not expression.type.additive or not expression.adds_up:
            return False
        if set(plan.availability.missing_dimensions(expression)).intersection(dimensions):
            return False
        weighing = [axis for axis in plan.axes if axis.key in dimensions and plan.into_total(axis)]
        if any(len({is_weighed(base, axis, plan) for base in expression.bases}) > 1 for axis in weighing):
            return False  # a tree weighs a part of the figure alone
        if set(dimensions).intersection(axis.dimension.key for axis in plan.query.time):
            return all(base.over_time.is_flow for base in expression.bases)
        return True

    def weights(self) -> Mapping[str, Mapping[str, Exact]]:
        """Return what members count for in the figure above them, by dimension; 1 where none is named."""
        expression, plan = self.row.expression, self.plan
        bases = expression.bases if expression else ()
        return {
            axis.key: plan.into_total(axis) for axis in plan.axes if any(is_weighed(base, axis, plan) for base in bases)
        }


def share_of(view: View) -> Share | None:
    """Return the share that a view is, that it adds, or the first that it compares; None for any other."""
    if isinstance(view, ShareChange):
        return view.a
    if isinstance(view, Running):
        return view.of if isinstance(view.of, Share) else None
    return view if isinstance(view, Share) else None


def added_over(plan: FigurePlan, *, whole: bool) -> Sequence[tuple[str, ...]]:
    """Return the dimensions over which the figures of each depth of places add up to the total, or to what is above."""
    keys = tuple(dimension.key for dimension in plan.query.breakdown)
    depths = range(1, len(keys) + 1) if plan.query.nests else [len(keys)]
    return [keys[0 if whole else depth - 1 : depth] for depth in depths]


# What is refused.


class ViewRules(Struct, frozen=True):
    """What a view of a plan can divide and add."""

    report: Plan
    keys: Mapping[str, int]

    @property
    def plan(self) -> FigurePlan:
        """The plan of its figures."""
        return self.report.figures

    @property
    def breakdown(self) -> Sequence[str]:
        """The dimensions of the breakdown."""
        return [dimension.key for dimension in self.plan.query.breakdown]

    def refuse(self, view: View) -> None:
        """Raise BadArguments for a view that no line can show, UnknownName for a base that is no line."""
        share = share_of(view)
        if share and share.base not in (None, PARENT):
            self._refuse_base(view, share)
        if isinstance(view, Share | ShareChange) and share and share.base not in (None, PARENT):
            return
        if not self.breakdown:
            raise self._without_rows(view)
        if share and share.base == PARENT and len(self.breakdown) > 1 and not self.plan.query.nests:
            raise self._refusal(
                view,
                "divides by the sub-total above, and this call shows none. Ask for subtotals, or divide by the total",
                {"subtotals": True},
            )
        if not isinstance(view, Rank):
            self._refuse_what_does_not_add_up(view)

    def _refuse_base(self, view: View, share: Share) -> None:
        """Raise an error for a base that is no line of the report, has another unit, or stands in a running sum."""
        if not isinstance(self.report, StatementPlan):
            raise self._refusal(
                view, f"divides by '{share.base}', and only a statement has lines", self._with(share.of, None)
            )
        if share.base not in self.keys:
            lines = [row.key for row in self.plan.rows if row.kind not in ("node", "own", "memo") and row.type]
            hint = "A share divides by the total, by parent, or by a line of the statement."
            raise UnknownName.of("line", share.base or "", lines, field="scenarios", hint=hint)
        if isinstance(view, Running):
            raise self._refusal(view, "adds shares of a line, which do not add up", self._with(share.of, None))
        line = self.keys[share.base or ""]
        kind = self.plan.rows[line].type
        others = [row.type for at, row in enumerate(self.plan.rows) if at != line and row.type]
        if kind is None or kind.kind not in DIVISORS or not any(is_alike(known, kind) for known in others):
            lines = [row.key for row in self.plan.rows if row.type and row.type.kind is FigureKind.MONEY]
            example = self._with(share.of, lines[0]) if lines else None
            raise self._refusal(view, f"divides by {share.base}, whose unit the other lines do not have", example)

    def _without_rows(self, view: View) -> BadArguments:
        """Return the refusal of a view of members in a report without any."""
        if (share := share_of(view)) and not isinstance(view, Running) and isinstance(self.report, StatementPlan):
            lines = [row.key for row in self.plan.rows if row.type and row.type.additive]
            works = self._with(share.of, lines[0]) if lines else None
            return self._refusal(
                view, "divides by the total of a breakdown, and this call has none. Name the line to divide by", works
            )
        held = [key for key, known in self.plan.reader.dimensions.items() if not known.axis_only]
        return self._refusal(
            view, "is of the members of a breakdown. Name a dimension", {"dimensions": held[:1]} if held else None
        )

    def _refuse_what_does_not_add_up(self, view: View) -> None:
        """Raise BadArguments for a share or a running sum of what adds up in no line."""
        of = view.operand
        if isinstance(of, Variance) and of.relative:
            raise self._refusal(
                view, "is of relative variances, which do not add up", self._with(of, None, absolute=True)
            )
        is_by_time = {axis.dimension.key for axis in self.plan.query.time}.intersection(self.breakdown)
        if is_by_time and any(side.has_window for side in of.sides):
            plain = Side(of.sides[0].terms)
            raise self._refusal(
                view,
                "adds over time what a window shows, and the windows of periods overlap. Name the scenario without it",
                self._with(plain, None),
            )
        share = share_of(view)
        overs = added_over(self.plan, whole=share is not None and share.base is None)
        if not any(AddedUp(self.plan, row).over(over) for row in self.plan.rows for over in overs):
            dimensions = " and ".join(dict.fromkeys(key for over in overs for key in over))
            raise self._refusal(
                view, f"is of figures that do not add up over {dimensions}; rank( ) works for them", None
            )

    def _with(self, of: Reference, base: str | None, *, absolute: bool = False) -> dict[str, object]:
        """Return an example of scenarios with a share that works."""
        known = Variance(of.a, of.b, relative=False) if absolute and isinstance(of, Variance) else of
        return {"scenarios": [{"scenario": Share(known, base).key}]}

    def _refusal(self, view: View, words: str, example: dict[str, object] | None) -> BadArguments:
        return BadArguments(f"{quoted([view.key])} {words}.", field="scenarios", got=view.key, example=example)


def is_alike(known: FigureType, other: FigureType | None) -> bool:
    """Tell whether figures of two types have one unit."""
    return other is not None and known.kind is other.kind


# What they show.


class RowViews(Struct, frozen=True, dict=True):
    """The views of one row of a table."""

    plan: FigurePlan
    row: Row
    at: int
    read: FigureTable
    bases: Mapping[str, int]
    groups: PlaceGroups

    def of(self, shown: ShownColumn) -> ViewFigures:
        """Return the figures of a column that is shown, by place."""
        figures = self._figures(self.at, shown.read)
        if self.row.type is None or shown.view is None:
            return figures, {}
        match shown.view:
            case Share() as share:
                return self._shares(share, shown.read)
            case ShareChange() as change:
                return self._changes(change, shown.read, shown.beside or 0)
            case Running(of=Share() as share):
                return self._running(*self._shares(share, shown.read), weighs=False)
            case Running():
                return self._running(figures, {}, weighs=True)
        return self._ranks(figures, shown.read)

    @cached_method
    def _figures(self, row: int, read: int) -> list[Figure]:
        """Return the figures of a row in a column of the table that is read."""
        return list(self.read.by_row[row][read])

    @cached_method
    def _adds_up(self, over: tuple[str, ...]) -> bool:
        return AddedUp(self.plan, self.row).over(over)

    @cached_property
    def _weights(self) -> Mapping[str, Mapping[str, Exact]]:
        return AddedUp(self.plan, self.row).weights()

    def _weighed(self, figure: Exact, place: MemberTuple, *, whole: bool) -> Exact:
        """Return what a figure counts for in the total, or in the figure above its last member."""
        for member in place.members if whole else place.members[-1:]:
            weights = self._weights.get(member.dimension)
            if weights and member.id in weights:
                figure = figure * weights[member.id]
        return figure

    def _shares(self, share: Share, read: int) -> ViewFigures:
        """Return the shares of the figures of a column that is read."""
        figures, total = self._figures(self.at, read), len(self.read.places) - 1
        of_line = share.base not in (None, PARENT)
        line = self.bases[share.base or ""] if of_line else self.at
        base_type = self.plan.rows[line].type
        is_blank = of_line and not is_alike(self.row.type, base_type) if self.row.type else True
        bases = self._figures(line, read)
        found, because = list(figures), dict[int, Because]()
        for at, place in enumerate(watched(self.read.places, self.plan.stop)):
            figure = figures[at]
            if not isinstance(figure, Exact):
                continue
            above = at if of_line else self.groups.parents[at] if share.base == PARENT else total
            base = bases[above]
            if is_blank or not (of_line or self._is_part(place, whole=share.base is None)):
                found[at], because[at] = Nothing.MISSING, NO_SHARE
            elif not isinstance(base, Exact):
                found[at], because[at] = Nothing.MISSING, ReadCell(line, read, above)
            elif not base:
                found[at], because[at] = Nothing.MISSING, NO_DIVISOR
            else:
                weighed = figure if of_line else self._weighed(figure, place, whole=share.base is None)
                found[at] = weighed / base
        return found, because

    def _is_part(self, place: MemberTuple, *, whole: bool) -> bool:
        """Tell whether the figure of a place is a part of the total, or of the figure above; the total is one."""
        if place.is_total:
            return any(self._adds_up(over) for over in added_over(self.plan, whole=whole))
        over = tuple(member.dimension for member in place.members)
        return self._adds_up(over if whole else over[-1:])

    def _running(self, figures: Sequence[Figure], lacking: Mapping[int, Because], *, weighs: bool) -> ViewFigures:
        """Return the running sums of some figures, begun anew in each group; a blank figure stays blank and adds 0."""
        found, because = list(figures), dict(lacking)
        sums: dict[tuple[int, int], Exact] = {}
        passed: dict[tuple[int, int], Exact] = {}  # what the sums have of the others
        for at, place in enumerate(watched(self.read.places, self.plan.stop)):
            figure = figures[at]
            if not isinstance(figure, Exact) or place.is_total:
                continue
            if not self._adds_up((place.members[-1].dimension,)):
                found[at], because[at] = Nothing.MISSING, NO_SHARE
                continue
            group = len(place.members), self.groups.numbers[at]
            weighed = self._weighed(figure, place, whole=False) if weighs else figure
            if at in self.read.passed:
                passed[group] = passed.get(group, ZERO) + weighed
            elif place.members[-1].id == OTHERS:
                weighed = weighed - passed.get(group, ZERO)
            found[at] = sums[group] = sums[group] + weighed if group in sums else weighed
        return found, because

    def _changes(self, change: ShareChange, first: int, second: int) -> ViewFigures:
        """Return the changes of shares, blank where either share is: for the reason of the first that is."""
        (of_a, why_a), (of_b, why_b) = self._shares(change.a, first), self._shares(change.b, second)
        variance, because = replace(change.operand, relative=change.relative), {**why_b, **why_a}
        changes: list[Figure] = []
        for at, (a, b) in enumerate(zip(of_a, watched(of_b, self.plan.stop), strict=True)):
            if isinstance(a, Exact) and isinstance(b, Exact):
                changes.append(variance.of_exact(a, b))
                if not isinstance(changes[at], Exact):
                    because[at] = NO_DIVISOR
                continue
            lacking, read = (b, second) if isinstance(a, Exact) else (a, first)
            changes.append(lacking)
            because.setdefault(at, ReadCell(self.at, read, at))
        return changes, because

    def _ranks(self, figures: Sequence[Figure], read: int) -> ViewFigures:
        """Return the ranks of figures; others, sub-totals and the total have none."""
        column = len(self.plan.query.columns) + ranked_columns(self.plan.query.views).index(read)
        ranks, because = self._figures(self.at, column), dict[int, Because]()
        found: list[Figure] = []
        for at, path in enumerate(watched(self.groups.paths, self.plan.stop)):
            is_ranked = isinstance(ranks[at], Exact) and OTHERS not in path
            found.append(ranks[at] if is_ranked else Nothing.MISSING)
            if not is_ranked and isinstance(figures[at], Exact):
                because[at] = NO_RANK
            elif not is_ranked:
                found[at] = figures[at]
        return found, because
