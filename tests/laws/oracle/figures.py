"""The figure of one line in one column and place, as an exact fraction, row by row.

Readings decided here: a hierarchy weighs a leaf once, by a rollup's node, else the metric's `where`, else the place,
else the filter; the total of a breakdown by the hierarchy of a `where` has no other top; a distinct count, an extreme
or a mean is unavailable throughout where a filter or a breakdown weighs.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from fractions import Fraction
from operator import ge, gt, le, lt

from tests.laws.oracle.books import GL, LEAF_OF, LEAVES, TREES, Cuts, OracleBase, OracleBooks, OracleFormula
from tests.laws.oracle.calendar import DATE, FINE, MEANS, OPENING, period_of
from tests.laws.oracle.expressions import (
    DAYS_HELD,
    LENGTHS,
    Expression,
    Name,
    divides,
    evaluate,
    is_additive,
    metrics,
    names,
    names_shown,
    parts_of,
    with_parts,
)
from tests.laws.oracle.members import TOP, Weights, joined, placed, top_weights, weights, weights_without
from tests.laws.oracle.reading import DatedRow, Scope, is_known, is_unknown, read, selects
from tests.laws.oracle.references import OracleCell, OracleSide, OracleVariance, Reference, window_of


class BlankReason(Enum):
    """Why there is no figure."""

    MISSING = "missing"
    UNAVAILABLE = "unavailable"


Figure = Fraction | BlankReason
MISSING, UNAVAILABLE = BlankReason.MISSING, BlankReason.UNAVAILABLE
Cut = tuple[str, Weights, bool]  # leaf dimension, what its leaves count for, whether that weighs


@dataclass(frozen=True, slots=True)
class OracleLine:
    """A metric or a formula, or a base seen through a node of a rollup."""

    metric: OracleBase | OracleFormula
    node: tuple[str, str] | None = None  # dimension and node
    negated: bool = False


def metric_of(books: OracleBooks, key: str) -> OracleBase | OracleFormula:
    """Return the metric of a key."""
    return books.bases.get(key) or books.formulas[key]


def figure(books: OracleBooks, line: OracleLine, reference: Reference, cell: OracleCell) -> Figure:
    """Return the figure of a line in a column and place."""
    if isinstance(reference, OracleSide):
        return plain(books, line, reference, cell, frozenset())
    return variance(books, line, reference, cell)


def variance(books: OracleBooks, line: OracleLine, asked: OracleVariance, cell: OracleCell) -> Figure:
    """Return a - b, or that as a share of b; each side inside what may be seen of both."""
    minuend, subtrahend = compared(books, line, asked, cell)
    if isinstance(minuend, BlankReason) or isinstance(subtrahend, BlankReason):
        return minuend
    if not asked.relative:
        return minuend - subtrahend
    return (minuend - subtrahend) / abs(subtrahend) if subtrahend else MISSING


def compared(books: OracleBooks, line: OracleLine, asked: OracleVariance, cell: OracleCell) -> tuple[Figure, Figure]:
    """Return both sides as a variance compares them: one that is missing is 0 where it is known, or both are blank."""
    a, b = (plain(books, line, side, cell, scope) for side, scope in asked.sides)
    if UNAVAILABLE in (a, b):
        return UNAVAILABLE, UNAVAILABLE
    if a is b is MISSING:
        return MISSING, MISSING
    minuend, subtrahend = (
        Fraction(0) if found is MISSING and counts_as_zero(books, line.metric, side, cell, scope) else found
        for found, (side, scope) in zip((a, b), asked.sides, strict=True)
    )
    if isinstance(minuend, BlankReason) or isinstance(subtrahend, BlankReason):
        return MISSING, MISSING
    return minuend, subtrahend


def line_is_additive(books: OracleBooks, metric: OracleBase | OracleFormula) -> bool:
    """Tell whether the parts of a figure add up to the whole."""
    if isinstance(metric, OracleBase):
        return metric.is_additive
    return is_additive(metric.expression, lambda key: operand_is_additive(books, key))


def operand_is_additive(books: OracleBooks, key: str) -> bool:
    """Tell whether an operand of a formula adds up; a length of the period does not."""
    return key not in LENGTHS and line_is_additive(books, metric_of(books, key))


def divided(books: OracleBooks, metric: OracleBase | OracleFormula) -> bool:
    """Tell whether a figure is made by dividing."""
    if isinstance(metric, OracleBase):
        return metric.over_members == "average" or metric.over_time.rule == "average"
    shown = names_shown(metric.expression)
    return divides(metric.expression) or any(divided(books, metric_of(books, key)) for key in shown)


def bases_of(books: OracleBooks, metric: OracleBase | OracleFormula) -> Iterator[OracleBase]:
    """Yield the base metrics that a figure is made of."""
    if isinstance(metric, OracleBase):
        yield metric
        return
    for key in metrics(metric.expression):
        yield from bases_of(books, metric_of(books, key))


def counts_as_zero(
    books: OracleBooks, metric: OracleBase | OracleFormula, side: OracleSide, cell: OracleCell, scope: Scope
) -> bool:
    """Tell whether a missing side of an additive figure is known to be nothing."""
    window = window_of(books, side, cell)
    return (
        window is not None
        and line_is_additive(books, metric)
        and all(is_known(books, base, side, window, cell.asked.grain, scope) for base in bases_of(books, metric))
    )


def plain(books: OracleBooks, line: OracleLine, side: OracleSide, cell: OracleCell, scope: Scope) -> Figure:
    """Return a figure of one side."""
    operands = list(bases_of(books, line.metric))
    if any(not can_answer(base, cell) or is_weighed(books, base, cell) for base in operands):
        return UNAVAILABLE
    bound = [base for base in operands if not base.repeats] or operands
    if len({lacks(base.domain, cell) for base in bound}) > 1:
        return UNAVAILABLE
    if not all(takes(base, side.step) for base in operands):
        return UNAVAILABLE
    if isinstance(line.metric, OracleBase):
        found = counted(books, line, line.metric, side, cell, scope)
    else:
        found = computed(books, line.metric, side, cell, scope)
    if found is None:
        return MISSING
    return -found if line.negated else found


def takes(base: OracleBase, step: str) -> bool:
    """Tell whether a metric has an opening, or a mean of periods; each has all other steps."""
    if step == OPENING:
        return base.over_time.rule in ("closing", "last_known", "to_date") and not base.over_time.opening
    adds_up = base.over_members in ("sum", "count") and not base.over_time.opening
    return step not in MEANS or (adds_up and base.over_time.rule in ("sum", "closing", "average"))


def can_answer(base: OracleBase, cell: OracleCell) -> bool:
    """Tell whether the domain of a metric has what is filtered, or repeats, and the grain that is asked for."""
    domain = base.domain
    has = base.repeats or all(LEAF_OF[key] in LEAVES[domain] for key in (*cell.filters, *cell.excluded))
    grains: tuple[str, ...] = ()  # none: the total of all periods can be told
    if cell.column is not None:  # days that periods cut are told if each of these is
        grains = cell.grains if cell.column.grain == DATE else (cell.column.grain,)
    return has and (domain == GL or not {*FINE} & {cell.asked.grain, *grains})


def is_weighed(books: OracleBooks, base: OracleBase, cell: OracleCell) -> bool:
    """Tell whether a hierarchy would weigh what cannot be weighed."""
    if base.weighs:
        return False
    filters = [joined_without(books, key, cell) for key in cell.filters if key not in base.where]
    filters += [
        weights_without(books, key, ids)
        for key, ids in cell.excluded.items()
        if key not in base.where and key not in cell.filters
    ]
    trees = [key for key in cell.breakdown if key in TREES and key not in base.where]
    nodes = (weights(books, key, node) for key in trees for node in (TOP, *placed(books.trees[key])))
    return any(weight not in (0, 1) for found in (*filters, *nodes) for weight in found.values())


def lacks(domain: str, cell: OracleCell) -> tuple[str, ...]:
    """Return the dimensions of a place over which a domain repeats its aggregate."""
    return tuple(key for key in cell.place or () if LEAF_OF[key] not in LEAVES[domain])


def computed(
    books: OracleBooks, metric: OracleFormula, side: OracleSide, cell: OracleCell, scope: Scope
) -> Fraction | None:
    """Return the value of a formula; those that it uses by name count as written out."""

    def operand(key: str) -> Fraction | None:
        if key in LENGTHS:
            return length(books, side, cell, key)
        found = plain(books, OracleLine(metric_of(books, key)), side, cell, scope)
        return None if isinstance(found, BlankReason) else found

    window = window_of(books, side, cell)
    if window and any(is_unknown(books, base, side, window, scope) for base in bases_of(books, metric)):
        return None
    return evaluate(written_out(books, metric.expression), operand, lambda key: operand_is_additive(books, key))


def length(books: OracleBooks, side: OracleSide, cell: OracleCell, key: str) -> Fraction | None:
    """Return how many days a side reads, or how many periods of the grain that is asked for; of a mean their mean."""
    window, grain = window_of(books, side, cell), cell.asked.grain
    if window is None or side.step == OPENING:
        return None
    if key == DAYS_HELD:
        return Fraction((window.days.last - window.days.first).days + 1, side.mean or 1)
    count, period = 1, period_of(window.days.first, grain, books.fiscal)
    while period.days.last < window.days.last:
        count, period = count + 1, period_of(period.days.last + timedelta(1), grain, books.fiscal)
    return Fraction(count, side.mean or 1)


def uses_length(books: OracleBooks, metric: OracleBase | OracleFormula, lengths: Collection[str] = LENGTHS) -> bool:
    """Tell whether a figure depends on some lengths of the period."""
    if isinstance(metric, OracleBase):
        return False
    if not {*names(metric.expression)}.isdisjoint(lengths):
        return True
    return any(uses_length(books, metric_of(books, key), lengths) for key in metrics(metric.expression))


def written_out(books: OracleBooks, expression: Expression) -> Expression:
    """Return a formula with the formulas that it names in place of their names."""
    if isinstance(expression, Name):
        if expression.key in LENGTHS:
            return expression
        metric = metric_of(books, expression.key)
        return expression if isinstance(metric, OracleBase) else written_out(books, metric.expression)
    return with_parts(expression, [written_out(books, part) for part in parts_of(expression)])


def counted(
    books: OracleBooks, line: OracleLine, base: OracleBase, side: OracleSide, cell: OracleCell, scope: Scope
) -> Fraction | None:
    """Return what a metric makes of the rows in a place, None where no row was seen."""
    window = window_of(books, side, cell)
    if window is None:
        return None
    cuts = list(restrictions(books, line, base, cell))
    known = read(books, base.key, side, window, scope)
    closes = known.closes or (known.rows,)
    counting = [
        [(weight, row) for row in rows if meets(base, row) and (weight := weight_in(cuts, row)) is not None]
        for rows in closes
    ]
    figures = [made(books, base, found, known.divisor) for found in counting if found]
    return (max if base.over_time.rule == "highest" else min)(figures) if figures else None


def meets(base: OracleBase, known: DatedRow) -> bool:
    """Tell whether the amount of a row meets the condition of a base."""
    if base.condition is None:
        return True
    measure, comparison, limit = base.condition
    return bool({"<": lt, "<=": le, ">": gt, ">=": ge}[comparison](known.row.amounts[measure], limit))


def weight_in(cuts: list[Cut], known: DatedRow) -> Fraction | None:
    """Return what a row counts for in a place, None where it lies outside."""
    product = Fraction(1)
    for leaf, counts, weighs in cuts:
        weight = counts.get(known.row.members[leaf])
        if weight is None:
            return None
        product *= weight if weighs else 1
    return product


def made(books: OracleBooks, base: OracleBase, found: list[tuple[Fraction, DatedRow]], divisor: int) -> Fraction:
    """Return what is made of rows over members."""
    if base.over_members == "count_distinct":
        return Fraction(len({known.row.members[base.distinct] for _, known in found} - {""}))
    if base.over_members == "count":
        return Fraction(sum(weight != 0 for weight, _ in found), divisor)
    sign = -1 if base.negated else 1
    amounts = [sign * weight * known.row.amounts[base.measure] * factor(books, base, known) for weight, known in found]
    match base.over_members:
        case "min":
            return min(amounts)
        case "max":
            return max(amounts)
        case "average":
            return sum(amounts, Fraction(0)) / len(amounts)
        case "median" | "percentile":
            return percentile(amounts, Fraction(base.percent, 100))
    return sum(amounts, Fraction(0)) / divisor


def percentile(amounts: list[Fraction], share: Fraction) -> Fraction:
    """Return the PERCENTILE.INC of amounts."""
    ordered, rank = sorted(amounts), share * (len(amounts) - 1)
    below = int(rank)
    above = min(below + 1, len(amounts) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def restrictions(books: OracleBooks, line: OracleLine, base: OracleBase, cell: OracleCell) -> Iterator[Cut]:
    """Yield what restricts a figure, first what weighs."""
    weighed: set[str] = set()
    yield from own_restrictions(books, line, base, weighed)
    for key in cell.breakdown:
        if LEAF_OF[key] not in LEAVES[base.domain]:
            continue
        counts = weights(books, key, cell.place[key]) if cell.place and key in cell.place else None
        if counts is None and key not in cell.filters and key not in weighed:
            counts = top_weights(books, key)
        if counts is not None:
            yield LEAF_OF[key], counts, key not in weighed
            weighed.add(key)
    for key, ids in within(base.domain, cell.filters).items():
        yield LEAF_OF[key], joined(books, key, ids), key not in weighed
        weighed.add(key)
    for key, ids in within(base.domain, cell.excluded).items():
        kept = weights_without(books, key, ids)
        weighs = key not in weighed
        yield LEAF_OF[key], {leaf: weight for leaf, weight in kept.items() if weight or not weighs}, weighs


def within(domain: str, cuts: Cuts) -> Cuts:
    """Return the cuts of dimensions that a domain has."""
    return {key: ids for key, ids in cuts.items() if LEAF_OF[key] in LEAVES[domain]}


def own_restrictions(books: OracleBooks, line: OracleLine, base: OracleBase, weighed: set[str]) -> Iterator[Cut]:
    """Yield what restricts a metric by itself, and add the dimensions that weigh it to `weighed`."""
    if line.node:
        dimension, node = line.node
        yield LEAF_OF[dimension], weights(books, dimension, node), True
        weighed.add(dimension)
    for key, ids in base.where.items():
        yield LEAF_OF[key], joined(books, key, ids), key not in weighed
        weighed.add(key)
    for key, ids in base.without.items():
        yield LEAF_OF[key], weights_without(books, key, ids), False


def joined_without(books: OracleBooks, key: str, cell: OracleCell) -> Weights:
    """Return what the leaves of a filter count for, without those that it leaves out."""
    found = joined(books, key, cell.filters[key])
    if key not in cell.excluded:
        return found
    kept = weights_without(books, key, cell.excluded[key])
    return {leaf: weight for leaf, weight in found.items() if leaf in kept}


def factor(books: OracleBooks, base: OracleBase, known: DatedRow) -> Fraction:
    """Return what a variant multiplies a row by: each adjustment once, several multiplied."""
    found = Fraction(1)
    for adjust in books.scenarios[known.part.scenario].downside if known.part.downside else ():
        fits = all(LEAF_OF[key] in LEAVES[base.domain] for key in adjust.where)
        if fits and base.measure in adjust.measures and selects(books, adjust.where, {}, known.row):
            found *= Fraction(adjust.factor)
    return found
