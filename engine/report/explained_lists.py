"""The lists of an explanation: rows of members, operands or drivers, those that are not shown folded into others."""

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.catalogue import Base, Format, Metric
from engine.model.exact import ONE, ZERO, Exact, sort_keys
from engine.model.formulas import MONEY_KINDS, Figure
from engine.model.stopping import watched
from engine.notes.shared_rows import members_sharing
from engine.plans.expressions import Expression, FormulaExpression
from engine.plans.figure_forms import FigureForm, RatioForm, terms_of_sum
from engine.plans.figures import FigurePlan, Figures
from engine.plans.framed_figures import MemberRank
from engine.plans.places import Coordinates
from engine.plans.rows import Row, metric_row, statement_rows
from engine.plans.variances import Variances
from engine.queries.explanations import ExplainQuery
from engine.report.currencies import ShownCurrencies
from engine.report.data import OTHERS, OTHERS_LABEL, Comparison, filter_json, unit_of
from engine.report.drill import drill_rule, line_drill
from engine.report.effects import (
    MemberEffect,
    Pair,
    added,
    difference,
    driver_effects,
    effect_of,
    part_effects,
    ratio_effects,
)
from engine.report.explanation import (
    DENOMINATOR,
    NUMERATOR,
    SHARED,
    VOLUME,
    WITHOUT_VOLUME,
    ExplainedList,
    ExplainedRow,
    ExplainedTotals,
)
from engine.report.figure_table import LabelledMembers, place_of
from engine.report.ranking import exclusion_of

RATE, PRICE = "rate", "price"
Known = tuple[Exact | None, Exact | None]  # both sides, None without a figure
MakeRow = Callable[[int], ExplainedRow]  # the row of a position, without what it contributes
Fold = Callable[[Sequence[int]], Known]  # positions to the figures of both sides


class ExplainedFigure(Struct, frozen=True, kw_only=True):
    """The figure to explain: its row, its form, and the row of its volume where drivers explain it."""

    row: Row
    form: FigureForm
    volume: Row | None
    asked: ExplainQuery

    @property
    def expression(self) -> Expression:
        """The expression of its row."""
        if self.row.expression is None:
            raise ValueError(f"{self.row.key} is a header")
        return self.row.expression


class SidePairs(Struct, frozen=True, eq=False, dict=True):
    """Both sides of the variance that a plan reads, by expression and place; the total is the last place."""

    figures: Figures

    @property
    def plan(self) -> FigurePlan:
        """The plan of the figures."""
        return self.figures.plan

    @cached_property
    def places(self) -> Sequence[Coordinates]:
        """The places of members."""
        return self.figures.places[:-1]

    def totals(self, expression: Expression) -> tuple[Figure, Figure]:
        """Return both sides of the total, a missing one replaced by 0 where it counts as 0 in a variance."""
        (reads,) = self.plan.columns
        first, second = (self.figures.of(expression, read)[-1] for read in reads)
        return Variances(self.figures).sides(expression, reads, (first, second), self.figures.places[-1].time)

    def own(self, expression: Expression) -> list[tuple[Figure, Figure]]:
        """Return both sides of each member."""
        first, second = (self.figures.of(expression, read)[:-1] for read in self.plan.columns[0])
        return list(zip(first, second, strict=True))

    def weighed(self, expression: Expression) -> list[Pair]:
        """Return what each member of a sum counts for in the total, on both sides; 0 without rows.

        A formula is added up from its operands where they weigh differently, and in periods, for the total counts an
        operand that has a figure for a part of them.
        """
        each = {self._weights(base) for base in expression.bases}
        if isinstance(expression, FormulaExpression) and (self.plan.query.time or len(each) > 1):
            parts = {name: self.weighed(part) for name, part in expression.parts.items()}
            return [
                (self._value(expression, parts, at, 0), self._value(expression, parts, at, 1))
                for at in watched(range(len(self.places)))
            ]
        pairs = [counted(pair) for pair in watched(self.own(expression))]
        weights = self._weights(expression.bases[0])
        if weights is None:
            return pairs
        return [(a * weight, b * weight) for (a, b), weight in zip(pairs, weights, strict=True)]

    @cached_property
    def ids(self) -> Sequence[str]:
        """The id of the member of each place."""
        if self.plan.axes:
            return [str(place.members[0]) for place in watched(self.places)]
        return [self.plan.times[place.time].periods[0].code for place in watched(self.places)]

    def row_maker(self, own: Sequence[Known]) -> MakeRow:
        """Return the function that makes the row of a member with its own figures and the part of its drill."""
        labelled, rule = LabelledMembers(self.plan), drill_rule(self.plan)

        def row(at: int) -> ExplainedRow:
            place, (a, b) = place_of(self.places[at], self.plan, labelled), own[at]
            (member,) = place.members
            weight, drill = place.into_parent, rule.at(place.members)
            return ExplainedRow(
                key=member.id, label=member.label, a=a, b=b, contribution=ZERO, into_parent=weight, drill=drill
            )

        return row

    @staticmethod
    def _value(of: FormulaExpression, parts: dict[str, list[Pair]], at: int, side: int) -> Exact:
        return of.formula.value(lambda name: parts[name][at][side]) or ZERO

    def _weights(self, base: Base) -> tuple[Exact, ...] | None:
        """Return what the figures of a base count for in the total at each place, None for 1 throughout."""
        plan = self.plan
        axis = next(
            (axis for axis in plan.axes if plan.into_total(axis) and plan.availability.is_topped(base, axis)), None
        )
        if axis is None:
            return None
        weights = [plan.into_total(axis).get(str(place.members[axis.place]), ONE) for place in watched(self.places)]
        return tuple((ONE if weight else ZERO) if base.over_members.counts else weight for weight in weights)


def counted(pair: tuple[Figure, Figure]) -> Pair:
    """Return both sides, 0 for a missing one."""
    a, b = (figure if isinstance(figure, Exact) else ZERO for figure in pair)
    return a, b


def present(figure: Figure) -> Exact | None:
    """Return a figure, None if it is missing."""
    return figure if isinstance(figure, Exact) else None


class Candidates(Struct, frozen=True):
    """What may become rows of a list: ids, what each contributes, and how rows and others are made of them."""

    ids: Sequence[str]
    effects: Sequence[MemberEffect]
    row: MakeRow
    fold: Fold
    rank: MemberRank | None = None  # the members of the dimension, where these are those that contribute most

    def rows(self, asked: ExplainQuery, larger: Exact) -> list[ExplainedRow]:
        """Return the rows to show by absolute contribution, then id, and one for the others."""
        threshold, sizes = asked.threshold, [abs(effect.contribution) for effect in watched(self.effects)]
        least = ZERO if threshold is None else threshold.amount * larger if threshold.is_share else threshold.amount
        by_id = sorted(watched(range(len(sizes))), key=self.ids.__getitem__)
        order = sorted(by_id, key=sort_keys(sizes).__getitem__, reverse=True)  # which keeps equal ones by id
        shown = [at for at in order[: asked.top] if not sizes[at] < least]
        others = order[len(shown) :]
        rows = [with_effect(self.row(at), self.effects[at]) for at in watched(shown)]
        if self.rank and self.rank.sides and self.rank.count > len(shown):
            whole, own = self.rank.sides, self.fold(shown)
            rest = (whole[0] - (own[0] or ZERO), whole[1] - (own[1] or ZERO))
            rows.append(others_row(rest, self.rank.count - len(shown), MemberEffect(difference(rest))))
        elif others:
            effect = effect_of([self.effects[at] for at in watched(others)])
            rows.append(others_row(self.fold(others), len(others), effect))
        return rows


def others_row(sides: Known, holds: int, effect: MemberEffect) -> ExplainedRow:
    """Return the row of the others."""
    a, b = sides
    row = ExplainedRow(key=OTHERS, label=OTHERS_LABEL, a=a, b=b, contribution=ZERO, holds=holds)
    return with_effect(row, effect)


def with_effect(row: ExplainedRow, effect: MemberEffect) -> ExplainedRow:
    """Return a row that says what it contributes."""
    return replace(row, contribution=effect.contribution, mix=effect.mix)


def list_made(by: str, rest: str | None, sides: Known, rows: Sequence[ExplainedRow]) -> ExplainedList:
    """Return a list of rows."""
    return ExplainedList(by=by, rest=rest, a=sides[0], b=sides[1], rows=tuple(rows))


# By the members of a dimension.


def by_members(by: str, figure: ExplainedFigure, currencies: ShownCurrencies, rank: MemberRank | None) -> ExplainedList:
    """Return the list of the members of a dimension, without rows if a side of their total is blank.

    `rank` are those that contribute most, where the figures are those of these alone.
    """
    made = members_list(by, figure, currencies.figures, rank)
    shown = [(row.key,) for row in watched(made.rows)]

    def unit(row: ExplainedRow) -> str | None:
        if row.key == VOLUME and figure.volume is not None:
            return currencies.unit_of_row(figure.volume)
        known = figure.row
        currency = None if known.key in currencies.lines else currencies.of_place((row.key,), shown)
        return currency and unit_of(known.type, known.format, Comparison.FIGURE, currency, currency)

    return replace(made, rows=tuple(replace(row, unit=unit(row)) for row in watched(made.rows)))


def members_list(by: str, figure: ExplainedFigure, figures: Figures, rank: MemberRank | None) -> ExplainedList:
    """Return the list of the members of a dimension; none of its rows says its unit."""
    pairs = SidePairs(figures)
    a, b = map(present, pairs.totals(figure.expression))
    if a is None or b is None:
        return list_made(by, None, (a, b), ())
    larger = max(abs(a), abs(b))
    if figure.volume is not None:
        return by_drivers(by, figure, figure.volume, pairs, (a, b))
    if isinstance(figure.form, RatioForm):
        ratios = ratio_candidates(figure, figure.form, pairs)
        rows, whole = ratios.rows(figure.asked, larger), effect_of(ratios.effects)
        of_members = list_made(by, RATE, (a, b), with_drill_of_others(rows, pairs, (a, b)))
        return replace(of_members, totals=ExplainedTotals.of(whole) if rows else None)
    weighed = pairs.weighed(figure.expression)
    own = weighed if pairs.plan.query.time else list(map(counted, watched(pairs.own(figure.expression))))
    members = Candidates(
        pairs.ids,
        [MemberEffect(difference(pair)) for pair in watched(weighed)],
        pairs.row_maker(own),
        lambda others: added([weighed[at] for at in watched(others)]),
        rank,
    )
    both = rank.sides if rank and rank.sides else added(weighed)
    twice = (a - both[0], b - both[1])
    shared = ExplainedRow(key=SHARED, label="Shared", a=twice[0], b=twice[1], contribution=difference(twice))
    rows = with_drill_of_others(members.rows(figure.asked, larger), pairs, (a, b))
    return list_made(by, None, (a, b), [*rows, *([shared] if any(twice) else [])])


def ratio_candidates(figure: ExplainedFigure, form: RatioForm, pairs: SidePairs) -> Candidates:
    """Return the members of a ratio, each with its own ratio."""
    n, d = counted(pairs.totals(form.over)), counted(pairs.totals(form.under))
    numerators, denominators = pairs.weighed(form.over), pairs.weighed(form.under)

    def ratio(others: Sequence[int]) -> Known:
        over, under = (added([these[at] for at in watched(others)]) for these in (numerators, denominators))
        a, b = (one / other if other else None for one, other in zip(over, under, strict=True))
        return a, b

    own = [(present(a), present(b)) for a, b in watched(pairs.own(figure.expression))]
    effects = ratio_effects(numerators, denominators, n, d)
    return Candidates(pairs.ids, effects, pairs.row_maker(own), ratio)


def with_drill_of_others(rows: Sequence[ExplainedRow], pairs: SidePairs, sides: Known) -> list[ExplainedRow]:
    """Return rows, those of others with the part of their drill if rows stand behind them alone.

    Others that make up the total lead to its rows. Others of a dimension whose members share no leaves lead to all
    members but those shown.
    """
    if not rows or rows[-1].key != OTHERS:
        return list(rows)
    plan, (*shown, others) = pairs.plan, rows
    if not shown:
        whole = drill_rule(plan).at(())
        return [replace(others, drill=whole) if (others.a, others.b) == sides else others]
    if not plan.axes or members_sharing(plan.axes[0], plan.reader):
        return list(rows)
    left = exclusion_of(plan, [row.key for row in shown])
    return [*shown, replace(others, drill={"filters": {plan.axes[0].key: filter_json(left)}})]


def by_drivers(
    by: str, figure: ExplainedFigure, volume: Row, pairs: SidePairs, sides: tuple[Exact, Exact]
) -> ExplainedList:
    """Return the list of a dimension by volume, mix and price, without rows if side b has no volume.

    A member's row has what has volume, on each side. Rows stand behind it only if that is all of the member.
    """
    if volume.expression is None:
        raise ValueError(f"{volume.key} is a header")
    volumes, amounts = pairs.weighed(volume.expression), pairs.weighed(figure.expression)
    effects = driver_effects(volumes, amounts)
    if effects is None:
        return list_made(by, None, sides, ())
    moving = [at for at, pair in enumerate(volumes) if any(pair)]
    own = map(counted, watched(pairs.own(figure.expression)))
    with_volume = [(a if u_a else ZERO, b if u_b else ZERO) for (a, b), (u_a, u_b) in zip(own, volumes, strict=True)]
    make = pairs.row_maker(with_volume)
    is_complete = [effects.moved[at] == pair for at, pair in watched(enumerate(amounts))]
    members = Candidates(
        [pairs.ids[at] for at in watched(moving)],
        [effects.members[at] for at in watched(moving)],
        lambda at: make(moving[at]) if is_complete[moving[at]] else replace(make(moving[at]), drill=None),
        lambda others: added([effects.moved[moving[at]] for at in watched(others)]),
    )
    rows = members.rows(figure.asked, max(abs(sides[0]), abs(sides[1])))
    if all(is_complete):
        rows = with_drill_of_others(rows, pairs, sides)
    first = ExplainedRow(
        key=VOLUME,
        label=volume.label,
        a=effects.volumes[0],
        b=effects.volumes[1],
        contribution=effects.volume,
    )
    a, b = effects.without
    without = ExplainedRow(
        key=WITHOUT_VOLUME, label=f"Without {volume.label}", a=a, b=b, contribution=effects.without_volume
    )
    parts = replace(
        ExplainedTotals.of(effect_of(effects.members)),
        volume=effects.volume,
        without_volume=effects.without_volume if a or b else None,
    )
    return replace(list_made(by, PRICE, sides, [first, *rows, *([without] if a or b else [])]), totals=parts)


# By lines.


def by_lines(by: str, figure: ExplainedFigure, currencies: ShownCurrencies) -> ExplainedList:
    """Return the list of the operands of a formula, without rows if a side is blank."""
    pairs = SidePairs(currencies.figures)
    a, b = map(present, pairs.totals(figure.expression))
    if a is None or b is None:
        return list_made(by, None, (a, b), ())
    rows, effects = line_rows(figure, pairs, currencies)
    lines = Candidates([row.key for row in rows], effects, rows.__getitem__, lambda _: (None, None))
    return list_made(by, None, (a, b), lines.rows(figure.asked, max(abs(a), abs(b))))


def line_rows(
    figure: ExplainedFigure, pairs: SidePairs, currencies: ShownCurrencies
) -> tuple[list[ExplainedRow], list[MemberEffect]]:
    """Return the operands of a sum, or the two parts of a ratio, and what each contributes."""
    form, reader = figure.form, pairs.plan.reader
    if isinstance(form, RatioForm):
        n, d = counted(pairs.totals(form.over)), counted(pairs.totals(form.under))
        parts = [
            (row_of(form.over, figure.asked, reader, NUMERATOR), n),
            (row_of(form.under, figure.asked, reader, DENOMINATOR), d),
        ]
        effects = [MemberEffect(part) for part in part_effects(n, d)]
    else:
        terms = terms_of_sum(figure.expression, figure.asked.depth)
        sides = [counted(pairs.totals(term.expression)) for term in terms]
        parts = [
            (row_of(term.expression, figure.asked, reader, term.name), pair)
            for term, pair in zip(terms, sides, strict=True)
        ]
        effects = [MemberEffect(term.factor * difference(pair)) for term, pair in zip(terms, sides, strict=True)]
    return [line_row(row, pair, currencies) for row, pair in parts], effects


def row_of(expression: Expression, asked: ExplainQuery, reader: Reader, key: str) -> Row:
    """Return the row of an operand: that of its line in the same statement, of its metric, or one of its own."""
    rows = () if isinstance(asked.figure, Metric) else statement_rows(asked.figure.statement, reader)
    for row in rows:
        if row.expression is not None and expression.reference and row.expression.reference == expression.reference:
            return replace(row, expression=expression)
    metric = reader.catalogue.metrics.get(expression.reference)
    if metric is not None:
        return metric_row(metric, reader, key=metric.key, label=metric.label)
    is_money = expression.type.kind in MONEY_KINDS
    format_ = Format.CURRENCY if is_money else Format.NUMBER
    return Row(key=key, label=key.capitalize(), kind="formula", format=format_, expression=expression)


def line_row(row: Row, pair: Pair, currencies: ShownCurrencies) -> ExplainedRow:
    """Return an operand as a row with its own figures and the part of its drill."""
    return ExplainedRow(
        key=row.key,
        label=row.label,
        a=pair[0],
        b=pair[1],
        contribution=ZERO,
        unit=currencies.unit_of_row(row),
        drill=line_drill(row, currencies.plan),
    )
