"""Framed figures: a plan whose sums stay in frames until it is known which members a ranking shows.

A figure of every member is a column of integers over one denominator, or two where it is a quotient. Their order is
that of the exact figures: whole numbers are compared as they are, and quotients by fractions where doubles could err.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import lcm

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.model.aggregation import MemberAggregation
from engine.model.catalogue import Base
from engine.model.errors import BadArguments
from engine.model.exact import Exact, sort_keys
from engine.model.scenarios import Variance
from engine.model.stopping import watched
from engine.plans.class_members import MEMBER, NotInFrames, type_of
from engine.plans.expressions import Expression, FormulaExpression, MeasureExpression
from engine.plans.figures import FigurePlan, Figures
from engine.plans.frames import AMOUNT, FramedBatch, FramedSums
from engine.plans.variances import Variances
from engine.plans.windows import ColumnRead, DomainRead
from engine.queries.values import DIRECTIONS, MAX_MET, MISSING_STATE, FigureCondition, Ranking

UNDER, QUOTIENT, OF_B = "under", "quotient", " of b"
NEAR = 2.0**-48  # of a quotient in doubles: within it fractions decide


class MemberRank(Struct, frozen=True):
    """The members that a ranking shows, in its order, and how many there are."""

    members: Sequence[str]
    count: int
    sides: tuple[Exact, Exact] | None = None  # of a variance whose contributions are ranked: what all members add up to
    weighs: bool = False  # whether a member that holds rows does not count once in the total
    unmet: int | None = None  # how many do not meet the conditions; None without any


class MemberColumn(Struct, frozen=True):
    """A figure of each member that has one: MEMBER and AMOUNT, over one denominator, and UNDER where it is a quotient.

    `bound` is at least the sum of all absolute amounts.
    """

    rows: pl.LazyFrame
    denominator: int
    bound: int
    is_quotient: bool = False


class FramedFigures(Struct, frozen=True, eq=False, dict=True):
    """What a plan has read, in frames."""

    plan: FigurePlan
    sums: Mapping[DomainRead, Sequence[FramedSums]]

    @classmethod
    def of(cls, plan: FigurePlan, frames: Sequence[Sequence[pl.DataFrame]]) -> "FramedFigures":
        """Return the sums of a plan from the collected frames of its batches."""
        sums: dict[DomainRead, list[FramedSums]] = {}
        for batch, read in zip(plan.batches, frames, strict=True):
            if not isinstance(batch, FramedBatch):
                raise TypeError(f"a batch of {batch.domain_read.domain} is not in frames")
            sums.setdefault(batch.domain_read, []).append(batch.framed(read))
        return cls(plan, sums)

    def whole(self) -> Figures:
        """Return the figures of all members."""
        each = {read: [(sums.batch, sums.whole(self.plan.stop)) for sums in of] for read, of in self.sums.items()}
        return Figures(self.plan, each)

    def only(self, members: Sequence[str]) -> Figures:
        """Return the figures of some members of the first axis, and the total. Raises NotInFrames."""
        stop = self.plan.stop
        each = {read: [(sums.batch, sums.only(members, stop)) for sums in of] for read, of in self.sums.items()}
        return Figures(self.plan, each)

    @cached_property
    def holders(self) -> pl.Series:
        """The members that hold rows, by position on the first axis."""
        self.plan.stop()
        each = [rows for of in self.sums.values() for sums in of for rows in sums.holders()]
        return pl.concat(each).unique().collect(engine="in-memory")[MEMBER]

    @property
    def reads_one_window(self) -> bool:
        """Whether all that it reads are the sums of one base in one window: who holds rows has a figure."""
        plan = self.plan
        if len(plan.rows) > 1 or len(plan.query.columns) > 1 or len(plan.distinct_reads) > 1 or len(plan.bases) > 1:
            return False
        if not isinstance(plan.rows[0].expression, MeasureExpression):
            return False
        (base,), (read,) = plan.bases, plan.distinct_reads
        (sums,) = self.sums[read.domain_read(base.domain)]
        windows = plan.base_windows(base, read)
        return len(windows) == 1 and list(sums.batch.runs(base)) == list(sums.batch.splits.runs(windows[0]))

    def column(self, expression: Expression, read: ColumnRead) -> MemberColumn:
        """Return the figures of an expression in the total window of a column read. Raises NotInFrames."""
        self.plan.stop()
        if isinstance(expression, MeasureExpression):
            return self._measured(expression.base, read)
        if isinstance(expression, FormulaExpression):
            return self._computed(expression, read)
        raise NotInFrames

    def _measured(self, base: Base, read: ColumnRead) -> MemberColumn:
        plan = self.plan
        last = len(read.windows) - 1
        if base not in plan.bases or last in plan.availability.uncarried(base.domain, read.windows):
            raise NotInFrames
        if read.windows[-1].why_not(base):
            raise NotInFrames
        of_base = next(sums for sums in self.sums[read.domain_read(base.domain)] if base in sums.batch.bases)
        window = plan.base_windows(base, read)[-1]
        amounts = MemberColumn(*of_base.amounts(base, window))
        if base.over_members is not MemberAggregation.AVERAGE:
            return amounts
        return quotient(amounts, MemberColumn(*of_base.counts(base, window)))

    def _computed(self, expression: FormulaExpression, read: ColumnRead) -> MemberColumn:
        sums = expression.in_columns.sums
        if sums is None or self.plan.availability.why_not_by_member(expression) or self._is_unknown(expression, read):
            raise NotInFrames
        over, *under = (
            added([(minus, self.column(expression.inputs[name], read)) for minus, name in terms]) for terms in sums
        )
        return quotient(over, *under) if under else over

    def _is_unknown(self, expression: FormulaExpression, read: ColumnRead) -> bool:
        unknown = Figures(self.plan, {}).day_causes.unknown_times(expression.day_bases, read)
        return any(len(read.windows) - 1 in times for times in unknown.values())

    def shown(self, line: int, read: int) -> MemberColumn:
        """Return the figures of all members in a line and a column that is read. Raises NotInFrames."""
        row, column = self.plan.rows[line], self.plan.query.columns[read]
        reads = self.plan.columns[read]
        if row.expression is None:
            raise NotInFrames
        if isinstance(column.reference, Variance):
            return self.variance(column.reference, row.expression, *reads)
        return self.column(row.expression, reads[0])

    def variance(self, variance: Variance, expression: Expression, a: ColumnRead, b: ColumnRead) -> MemberColumn:
        """Return the variances of an expression between the total windows of two column reads. Raises NotInFrames."""
        first, second = self.column(expression, a), self.column(expression, b)
        if first.is_quotient and second.is_quotient and not expression.type.additive:
            return difference_of_quotients(first, second, relative=variance.relative)
        figures, time = Variances(Figures(self.plan, {})), len(a.windows) - 1
        fills = [expression.type.additive and figures.counts_as_zero(expression, read, time) for read in (a, b)]
        return difference(first, second, fills, relative=variance.relative)


def added(terms: Sequence[tuple[bool, MemberColumn]]) -> MemberColumn:
    """Return the sum of some columns, some subtracted; a missing figure counts as 0 beside one that is present."""
    if any(column.is_quotient for _, column in terms):
        raise NotInFrames
    unit = lcm(*(column.denominator for _, column in terms))
    bound = sum(column.bound * (unit // column.denominator) for _, column in terms)
    each = [over(column, unit, bound, minus=minus) for minus, column in terms]
    if len(each) == 1:
        return MemberColumn(each[0], unit, bound)
    return MemberColumn(pl.concat(each).group_by(MEMBER).agg(pl.col(AMOUNT).sum()), unit, bound)


def over(column: MemberColumn, unit: int, bound: int, *, minus: bool = False) -> pl.LazyFrame:
    """Return the amounts of a column over a multiple of its denominator, or their negatives."""
    kind, factor = type_of(bound), unit // column.denominator * (-1 if minus else 1)
    type_of(2**64 * abs(factor))
    return column.rows.select(MEMBER, pl.col(AMOUNT).cast(kind) * pl.lit(factor, pl.Int64).cast(kind))


def quotient(dividend: MemberColumn, divisor: MemberColumn) -> MemberColumn:
    """Return the quotients of two columns; one is missing where a side is, and where the divisor is 0."""
    above, below = divisor.denominator, dividend.denominator
    bounds = dividend.bound * above, divisor.bound * below
    left = over(replace(dividend, denominator=1), above, bounds[0])
    right = over(replace(divisor, denominator=1), below, bounds[1])
    joined = left.join(right.rename({AMOUNT: UNDER}), on=MEMBER).filter(pl.col(UNDER) != 0)
    return positive(joined, max(bounds))


def positive(rows: pl.LazyFrame, bound: int) -> MemberColumn:
    """Return quotients whose divisors are above 0."""
    sign = pl.when(pl.col(UNDER) < 0).then(-1).otherwise(1)
    return MemberColumn(rows.with_columns(pl.col(AMOUNT) * sign, pl.col(UNDER) * sign), 1, bound, is_quotient=True)


def difference(a: MemberColumn, b: MemberColumn, fills: Sequence[bool], *, relative: bool) -> MemberColumn:
    """Return the first column less the second, or that over the second's absolute amounts.

    `fills` tells of each side whether a missing figure counts as 0 beside one of the other; else none is there.
    """
    if a.is_quotient or b.is_quotient:
        raise NotInFrames
    unit = lcm(a.denominator, b.denominator)
    bound = a.bound * (unit // a.denominator) + b.bound * (unit // b.denominator)
    first, second = over(a, unit, bound), over(b, unit, bound).rename({AMOUNT: UNDER})
    joined = first.join(second, on=MEMBER, how="full", coalesce=True)
    filled = [
        pl.col(name).fill_null(0) if fill else pl.col(name) for name, fill in zip((AMOUNT, UNDER), fills, strict=True)
    ]
    both = joined.with_columns(filled).drop_nulls()
    less = (pl.col(AMOUNT) - pl.col(UNDER)).alias(AMOUNT)
    if not relative:
        return MemberColumn(both.select(MEMBER, less), unit, bound)
    return positive(both.filter(pl.col(UNDER) != 0).with_columns(less, pl.col(UNDER).abs()), bound)


def difference_of_quotients(a: MemberColumn, b: MemberColumn, *, relative: bool) -> MemberColumn:
    """Return the first quotients less the second, or that over the second's absolute ones; none where one is missing.

    Each is over the product of both divisors, or over that of a divisor and a dividend.
    """
    bound = 2 * max(a.bound, 1) * max(b.bound, 1)  # that of nothing but zeros is 0
    kind = type_of(bound)
    first, second = (side.rows.select(MEMBER, pl.col(AMOUNT, UNDER).cast(kind)) for side in (a, b))
    both = first.join(second, on=MEMBER, suffix=OF_B)
    less = (pl.col(AMOUNT) * pl.col(UNDER + OF_B) - pl.col(AMOUNT + OF_B) * pl.col(UNDER)).alias(AMOUNT)
    if relative:
        both = both.filter(pl.col(AMOUNT + OF_B) != 0)
    divisor = pl.col(UNDER) * (pl.col(AMOUNT + OF_B).abs() if relative else pl.col(UNDER + OF_B))
    return MemberColumn(both.select(MEMBER, less, divisor.alias(UNDER)), 1, bound, is_quotient=True)


# The order of members.


def ranked(figures: FramedFigures, order: FramedFigures | None, ranking: Ranking) -> MemberRank | None:
    """Return the members of the first axis that a ranking shows; None if frames do not order them.

    `order` are the figures that order them, of one line in one column, if the report does not show these.
    """
    ids, top = figures.plan.axes[0].ids, ranking.top or len(figures.plan.axes[0].ids)
    try:
        at = (0, 0) if order and not ranking.conditions else (ranking.line, ranking.column)
        column = (order or figures).shown(*at)
        if order is None and figures.reads_one_window and not ranking.conditions:
            rows = column.rows.collect(engine="in-memory")
            holders = chosen = rows[MEMBER]
        else:
            holders = chosen = figures.holders
            for condition in ranking.conditions:
                chosen = meeting(order or figures, condition, chosen)
            rows = column.rows.join(chosen.to_frame().lazy(), on=MEMBER, how="semi").collect(engine="in-memory")
    except NotInFrames:
        return None
    if ranking.top is None:
        refuse_too_many_met(figures.plan, chosen.len())
    if ranking.is_ordered:
        first = [ids[at] for at in foremost(rows, column, ids, top, asc=ranking.asc)]
        members = [*first, *blank_members(chosen, rows, ids, top - len(first))]
    else:
        members = [ids[at] for at in watched(chosen.sort().to_list())][:top]
    unmet = holders.len() - chosen.len() if ranking.conditions else None
    return MemberRank(members, holders.len(), weighs=weighs(figures.plan, holders), unmet=unmet)


def meeting(figures: FramedFigures, condition: FigureCondition, holders: pl.Series) -> pl.Series:
    """Return those of some members whose figures meet a condition. Raises NotInFrames."""
    column = figures.shown(condition.line, figures.plan.query.read_by(condition.column))
    kept = column.rows
    if condition.state == MISSING_STATE:
        present = kept.join(holders.to_frame().lazy(), on=MEMBER, how="semi").collect(engine="in-memory")[MEMBER]
        is_bounded = (condition.least, condition.most) != (None, None)
        return holders.clear() if is_bounded else holders.filter(~holders.is_in(present.implode()))
    direction = DIRECTIONS.get(figures.plan.rows[condition.line].favourable, 0)
    wanted = {"favourable": direction, "unfavourable": -direction}.get(condition.state or "")
    if wanted is not None:
        kept = kept.filter(pl.col(AMOUNT).sign() == wanted) if wanted else kept.filter(pl.lit(value=False))
    for limit, is_least in ((condition.least, True), (condition.most, False)):
        if limit is not None:
            kept = kept.filter(within_limit(column, limit, is_least=is_least))
    return kept.join(holders.to_frame().lazy(), on=MEMBER, how="semi").collect(engine="in-memory")[MEMBER]


def within_limit(column: MemberColumn, limit: Exact, *, is_least: bool) -> pl.Expr:
    """Return whether figures are at least, or at most, a limit: both are multiplied by both divisors."""
    under = pl.col(UNDER) if column.is_quotient else pl.lit(column.denominator, pl.Int64)
    bound = max(column.bound, column.denominator, 1) * max(abs(limit.numerator), limit.denominator)
    kind = type_of(bound)
    figure = pl.col(AMOUNT).cast(kind) * pl.lit(limit.denominator, pl.Int64).cast(kind)
    edge = under.cast(kind) * pl.lit(limit.numerator, pl.Int64).cast(kind)
    return figure >= edge if is_least else figure <= edge


def refuse_too_many_met(plan: FigurePlan, count: int) -> None:
    """Raise BadArguments if more members of many meet the conditions of a call than it shows."""
    if count > MAX_MET:
        raise BadArguments(
            f"{count:,} members of {plan.axes[0].key} meet the conditions, and a call shows {MAX_MET:,} of so many. "
            "Give top, or a narrower condition.",
            field="having",
            example={"top": 10},
        )


def weighs(plan: FigurePlan, holders: pl.Series) -> bool:
    """Tell whether one of some members of the first axis does not count once in the total."""
    axis = plan.axes[0]
    return holders.is_in([axis.order[member] for member in watched(plan.into_total(axis))]).any()


def contributing(figures: FramedFigures, top: int) -> MemberRank | None:
    """Return the members that contribute most to the variance of a sum, the only column; None if frames lack them.

    The sign of a contribution does not count, and a missing side counts as 0, both of them too.
    """
    plan, ids = figures.plan, figures.plan.axes[0].ids
    (row, *_), (reads,) = plan.rows, plan.columns
    if row.expression is None:
        return None
    try:
        sides = [figures.column(row.expression, read) for read in reads]
        less = difference(sides[0], sides[1], (True, True), relative=False)
        sizes = replace(less, rows=less.rows.with_columns(pl.col(AMOUNT).abs()))
        each = [sizes.rows, *(total_of(side) for side in sides)]
        rows, *totals = pl.collect_all([rows.lazy() for rows in each], engine="in-memory")
        holders = figures.holders
    except NotInFrames:
        return None
    whole = holders.to_frame().join(rows, on=MEMBER, how="left").with_columns(pl.col(AMOUNT).fill_null(0))
    members = [ids[at] for at in foremost(whole, sizes, ids, top, asc=False)]
    a, b = (Exact(total.item() or 0, side.denominator) for total, side in zip(totals, sides, strict=True))
    return MemberRank(members, holders.len(), (a, b))


def largest(figures: FramedFigures, line: int, read: int, top: int) -> MemberRank:
    """Return the members whose figures of a line in a column that is read are the largest, whatever their sign.

    The count is that of the members with any figure of the line. Raises NotInFrames.
    """
    plan, expression = figures.plan, figures.plan.rows[line].expression
    if expression is None:
        raise NotInFrames
    column = figures.shown(line, read)
    sizes = replace(column, rows=column.rows.with_columns(pl.col(AMOUNT).abs()))
    each = [figures.column(expression, column_read).rows.select(MEMBER) for column_read in plan.distinct_reads]
    rows, holders = pl.collect_all([sizes.rows, pl.concat(each).unique()], engine="in-memory")
    ids = plan.axes[0].ids
    return MemberRank([ids[at] for at in foremost(rows, sizes, ids, top, asc=False)], holders.height)


def total_of(column: MemberColumn) -> pl.LazyFrame:
    """Return the sum of the figures of all members."""
    if column.is_quotient:
        raise NotInFrames
    return column.rows.select(pl.col(AMOUNT).cast(type_of(column.bound)).sum())


def blank_members(holders: pl.Series, rows: pl.DataFrame, ids: Sequence[str], count: int) -> Sequence[str]:
    """Return the first members without a figure, by id."""
    if count <= 0 or holders.len() == rows.height:
        return ()
    blank = holders.filter(~holders.is_in(rows[MEMBER].implode())).to_list()
    return sorted(ids[at] for at in watched(blank))[:count]


def foremost(rows: pl.DataFrame, column: MemberColumn, ids: Sequence[str], top: int, *, asc: bool) -> list[int]:
    """Return the positions of the first members by their figures; equal figures stand in the order of the ids."""
    key = pl.col(AMOUNT)
    if column.is_quotient:
        key = key.cast(pl.Float64) / pl.col(UNDER).cast(pl.Float64)
    keyed = rows.with_columns(key.alias(QUOTIENT))
    edge = (keyed[QUOTIENT].bottom_k(top) if asc else keyed[QUOTIENT].top_k(top)).to_list()
    if not edge:
        return []
    last = max(edge) if asc else min(edge)
    margin = abs(last) * NEAR if column.is_quotient else 0
    inside = pl.col(QUOTIENT) <= last + margin if asc else pl.col(QUOTIENT) >= last - margin
    near = keyed.filter(inside)
    unders = near[UNDER].to_list() if column.is_quotient else [column.denominator] * near.height
    figures = [
        Exact(amount, under) for amount, under in watched(list(zip(near[AMOUNT].to_list(), unders, strict=True)))
    ]
    positions = near[MEMBER].to_list()
    by_id = sorted(watched(range(len(positions))), key=lambda at: ids[positions[at]])
    keys = sort_keys(figures)
    return [positions[at] for at in sorted(by_id, key=keys.__getitem__, reverse=not asc)[:top]]
