"""Contributions: what each row adds to a figure, all rows together, and why none does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.model.aggregation import MemberAggregation
from engine.model.catalogue import Base
from engine.model.exact import ONE, ZERO, Exact
from engine.model.fact_store import DATE
from engine.model.formulas import Figure, Nothing
from engine.model.members.member_sets import NULL_CODE
from engine.model.notes import Note
from engine.model.stopping import Stop, watched
from engine.plans.accumulators import Amounts, figure_cells
from engine.plans.day_causes import NO_ROWS, DayCauses
from engine.plans.expressions import Expression
from engine.plans.ranked_amounts import RankedMembers
from engine.plans.row_plan import RowPlan, WeightedTerm
from engine.plans.windows import DateWindow, IntervalSplits, Run

Decisive = Mapping[Exact, Exact]  # the amounts that are a figure, each with its part in it
Row = Mapping[str, Any]  # by column: the date, codes and amounts of one row; null amounts and dates are None


def contributions(plan: RowPlan, rows: pl.DataFrame, decisive: Decisive) -> list[Exact]:
    """Return what each row contributes to a figure, before the division of a mean.

    For MIN, MAX and percentiles only the rows that decide the figure contribute; for COUNT_DISTINCT the first row of
    each member.
    """
    found, terms = [ZERO] * rows.height, plan.weighted_terms
    columns = dict.fromkeys(column for term in terms for column in columns_of(term))
    records = rows.select_seq(*columns).to_dicts()
    for term in watched(terms):
        for at, row in enumerate(watched(records)):
            if counts(term, row):
                found[at] = found[at] + amount_of(term, row)
    decide = DECIDERS.get(terms[0].base.over_members)
    return decide(terms[0], rows, found, decisive) if decide else found


def counts(weighted_term: WeightedTerm, row: Row) -> bool:
    """Tell whether a term counts a row."""
    base, day, window = weighted_term.base, row[DATE], weighted_term.window
    return (
        (window.is_undated if day is None else any(span.holds(day) for span in window.spans))
        and all(row[leaf] in codes for leaf, codes in weighted_term.weights.by_leaf.items())
        and all(known.holds(row[known.measure]) for known in weighted_term.ranges)
        and (base.over_members.counts or row[base.measure.key] is not None)
    )


def columns_of(weighted_term: WeightedTerm) -> Iterator[str]:
    """Yield the columns that decide on what a row adds to a term."""
    yield DATE
    yield from (known.measure for known in weighted_term.ranges)
    yield from weighted_term.weights.by_leaf
    yield from (leaf for factor in weighted_term.weights.factors for leaf in factor.leaves)
    if not weighted_term.base.over_members.counts:
        yield weighted_term.base.measure.key


def amount_of(weighted_term: WeightedTerm, row: Row) -> Exact:
    """Return the amount of a row times its weights, factors, coefficient and sign."""
    base, weights = weighted_term.base, weighted_term.weights
    amount = weighted_term.term.coefficient
    for leaf, codes in weights.by_leaf.items():
        amount *= codes[row[leaf]]
    for factor in weights.factors:
        if all(row[leaf] in codes for leaf, codes in factor.leaves.items()):
            amount *= factor.factor
    if base.over_members.counts:  # weights never scale a count
        return weighted_term.term.coefficient if amount else ZERO
    amount *= base.measure.amount(row[base.measure.key])
    return -amount if base.negated else amount


def deciding(_counting: WeightedTerm, _rows: pl.DataFrame, found: Sequence[Exact], decisive: Decisive) -> list[Exact]:
    """Return the contributions of decisive amounts: of each, its part of the figure from the first row that has it."""
    firsts: dict[Exact, int] = {}
    for at, amount in enumerate(watched(found)):
        if amount in decisive:
            firsts.setdefault(amount, at)
    each = [ZERO] * len(found)
    for amount, at in firsts.items():
        each[at] = amount * decisive[amount]
    return each


def first_of_each(
    weighted_term: WeightedTerm, rows: pl.DataFrame, _found: Sequence[Exact], _decisive: Decisive
) -> list[Exact]:
    """Return the contributions of COUNT_DISTINCT: 1 from the first row of each member."""
    codes = rows[str(weighted_term.base.counted)]
    firsts = zip(codes, codes.is_first_distinct(), strict=True)
    return [ONE if is_first and code != NULL_CODE else ZERO for code, is_first in watched(firsts)]


Decide = Callable[[WeightedTerm, pl.DataFrame, Sequence[Exact], Decisive], list[Exact]]
DECIDERS: Mapping[MemberAggregation, Decide] = {
    MemberAggregation.MIN: deciding,
    MemberAggregation.MAX: deciding,
    MemberAggregation.MEDIAN: deciding,
    MemberAggregation.PERCENTILE: deciding,
    MemberAggregation.COUNT_DISTINCT: first_of_each,
}


def at_chosen_close(plan: RowPlan, stop: Stop) -> RowPlan:
    """Return a plan that reads the first close alone that is the figure of a balance of which one is chosen."""
    term = next((term for term in plan.weighted_terms if term.base.over_time.choose), None)
    if term is None or plan.expression is None:
        return plan
    window, (batch,) = term.window, plan.batches
    each = [
        DateWindow(window.spans[first:after], window.label, closes=(after - first,))
        for first, after in watched(list(pairwise((0, *window.closes))))
    ]
    amounts = batch.amounts(plan.reader.collect(batch.reads, stop), stop).by_base[term.base]
    cells = figure_cells([*each, window], batch.splits, [([()], tuple(range(len(each) + 1)))])
    *figures, chosen = amounts.figures(cells, stop)
    return replace(plan, days=each[figures.index(chosen)]) if isinstance(chosen, Exact) else plan


class RowTotal(Struct, frozen=True):
    """The total of all contributions, the divisor that turns it into the figure, and the amounts that decide on it."""

    total: Figure
    divisor: Exact = ONE
    decisive: Decisive = {}


def total_of(plan: RowPlan, sums: Sequence[Sequence[pl.DataFrame]]) -> RowTotal:
    """Return the total of all contributions."""
    total: Figure = Nothing.MISSING
    divisor = ONE
    parts = list(parts_of_total(plan, sums))
    for weighted_term, figure, divisor, _ in parts:
        part = figure * divisor * weighted_term.term.coefficient
        total = total + part if isinstance(total, Exact) else part
    return RowTotal(total, divisor, parts[-1][-1]) if parts else RowTotal(total)


def parts_of_total(
    plan: RowPlan, sums: Sequence[Sequence[pl.DataFrame]]
) -> Iterator[tuple[WeightedTerm, Exact, Exact, Decisive]]:
    """Yield the terms that rows contribute to, with their figure, its divisor and the amounts that decide on it."""
    found: dict[Base, tuple[Amounts, IntervalSplits]] = {}
    for batch, frames in zip(plan.batches, sums, strict=True):
        found |= {base: (amounts, batch.splits) for base, amounts in batch.amounts(frames).by_base.items()}
    for weighted_term in plan.weighted_terms:
        amounts, splits = found[weighted_term.base]
        (figure,) = amounts.figures(figure_cells([weighted_term.window], splits, [([()], (0,))]))
        if isinstance(figure, Exact):
            divisor = Exact(amounts.divisor(weighted_term.window, splits))
            yield weighted_term, figure, divisor, decisive_amounts(amounts, figure, splits.runs(weighted_term.window))


def decisive_amounts(amounts: Amounts, figure: Exact, runs: Sequence[Run]) -> Decisive:
    """Return the amounts that make a figure of MIN, MAX or a percentile, each with its part in it."""
    rank = amounts.counted.rank(runs) if isinstance(amounts.counted, RankedMembers) else None
    if rank is None or rank.low == rank.high:
        return {figure: ONE}
    beside = ((rank.low, rank.whole - rank.part), (rank.high, rank.part))
    return {Exact(amount * rank.whole, amounts.denominator): Exact(part, rank.whole) for amount, part in beside}


def cause_of_blank(plan: RowPlan, expression: Expression, stop: Stop) -> Note:
    """Return why no row contributes to a figure, as the report of the figure says it."""
    (column_read,) = plan.distinct_reads
    if cause := DayCauses(plan).of(expression, column_read, 0):
        return cause
    closing = [base for base in plan.bases if base.over_time.closes and not base.over_time.opening]
    if closing and not plan.side.opens:
        whole = replace(plan, days=plan.window)
        sums = whole.reader.collect_each([batch.reads for batch in whole.batches], stop)
        late = [term.base for term, *_ in parts_of_total(whole, sums) if term.base in closing]
        anchors = (plan.window_resolver.anchor(plan.domain_read, base, plan.window) for base in late)
        if anchor := next(filter(None, anchors), None):
            return Note.of("incomplete_close", anchor=anchor.period.code)
    return NO_ROWS
