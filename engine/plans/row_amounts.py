"""Row amounts: what rows add up to as exact integers in lazy frames, which rows a query keeps, and what orders them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from math import lcm, prod
from operator import add, and_, or_

import polars as pl
from msgspec import Struct

from engine.books.folding import fold_each
from engine.books.reader import FactRead, Reader
from engine.model.calendar.periods import WITHOUT_DATE
from engine.model.catalogue import CONTRIBUTION
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.model.fact_store import DATE, ROWS, Aggregate, Slice, in_range
from engine.model.members.member_sets import NULL_CODE, Leaves
from engine.model.scenarios import ALL_DAYS
from engine.model.scope import LEAST_AMOUNT, MOST_AMOUNT, AmountRange, Cell, Conjunction
from engine.model.stopping import watched
from engine.plans.contributions import DECIDERS
from engine.plans.row_plan import RowPart, RowPlan, WeightedTerm
from engine.plans.weights import Factor, common_denominator
from engine.queries.row_choices import RowChoices, kind_of

MAX_AMOUNT, MAX_SUM = 2**63, 2**126  # of rows, and of what 128 bits hold
SIGNS = ((1, MOST_AMOUNT), (LEAST_AMOUNT, -1))
WIDE = pl.Int128
SUM = "= sum"  # column of frames alone
POSITIVES = pl.col(SUM).filter(pl.col(SUM) > 0).sum().alias("positive")
NEGATIVES = pl.col(SUM).filter(pl.col(SUM) < 0).sum().alias("negative")
NOTHING_ADDED = pl.lit(0, dtype=WIDE)


class LeafWeights(Struct, frozen=True, eq=False):
    """The weights of one leaf dimension by code, as integers over one denominator; 0 for what does not count."""

    leaf: str
    numerators: pl.Series
    denominator: int
    largest: int

    @classmethod
    def of(cls, leaf: str, leaves: Leaves, reader: Reader) -> "LeafWeights":
        """Return the weights of the leaves that a reader sees; no others have rows."""
        sees = reader.sees_leaf(leaf)
        weights = {code: weight for code, weight in watched(leaves.items()) if sees(code)}
        common = common_denominator([weights])
        numerators = [0] * reader.leaf_count(leaf)
        for code, weight in watched(weights.items()):
            numerators[code] = weight.numerator * (common // weight.denominator)
        largest = max(map(abs, watched(numerators)), default=0)
        return cls(leaf, pl.Series(numerators, dtype=WIDE), common, largest)

    @property
    def of_row(self) -> pl.Expr:
        """The weight of a row."""
        return pl.lit(self.numerators).gather(pl.col(self.leaf))


class TermAmount(Struct, frozen=True, eq=False, kw_only=True):
    """What the rows of one term add to a figure."""

    term: WeightedTerm
    weights: tuple[LeafWeights, ...]

    @classmethod
    def of(cls, term: WeightedTerm, reader: Reader) -> "TermAmount":
        """Return the amount of a term."""
        weights = [LeafWeights.of(leaf, leaves, reader) for leaf, leaves in term.weights.by_leaf.items()]
        return cls(term=term, weights=tuple(weights))

    @property
    def leaves(self) -> Iterator[str]:
        """The leaf dimensions that weigh a row."""
        yield from (weights.leaf for weights in self.weights)
        yield from (leaf for factor in self.term.weights.factors for leaf in factor.leaves)

    @property
    def unit(self) -> Exact:
        """What the integer of a row is multiplied by."""
        base, coefficient = self.term.base, self.term.term.coefficient
        if base.over_members.counts:
            return coefficient
        factors = prod(factor.factor.denominator for factor in self.term.weights.factors)
        whole = prod(weights.denominator for weights in self.weights) * factors * 10**base.measure.places
        return (-coefficient if base.negated else coefficient) / Exact(whole)

    @property
    def largest(self) -> Exact:
        """The largest that a row with an amount of 1 can add."""
        if self.term.base.over_members.counts:
            return abs(self.unit)
        factors = (max(abs(factor.factor.numerator), factor.factor.denominator) for factor in self.term.weights.factors)
        return abs(self.unit) * Exact(prod(weights.largest for weights in self.weights) * prod(factors))

    def of_row(self, denominator: int) -> pl.Expr:
        """Return what a row adds, as an integer over a denominator."""
        inside = reduce(and_, map(in_range, self.term.ranges), pl.lit(value=True))
        amount = self._added(denominator, pl.lit(1, dtype=WIDE))
        return pl.when(inside).then(amount).otherwise(NOTHING_ADDED).fill_null(0)

    def of_group(self, denominator: int) -> pl.Expr:
        """Return what rows of equal codes add that the term counts, from their number and the sum of their amounts."""
        return self._added(denominator, pl.col(ROWS).cast(WIDE)).fill_null(0)

    def _added(self, denominator: int, rows: pl.Expr) -> pl.Expr:
        base, scale = self.term.base, self.unit * Exact(denominator)
        whole = pl.lit(scale.numerator // scale.denominator, dtype=WIDE)
        weight = reduce(pl.Expr.mul, [weights.of_row for weights in self.weights], pl.lit(1, dtype=WIDE))
        weight = reduce(pl.Expr.mul, map(factor_of_row, self.term.weights.factors), weight)
        if base.over_members.counts:  # weights never scale a count
            return pl.when(weight != 0).then(whole * rows).otherwise(NOTHING_ADDED)
        return weight * whole * pl.col(base.measure.key).cast(WIDE)


def factor_of_row(factor: Factor) -> pl.Expr:
    """Return the factor of an adjustment that a row takes, over the denominator of the factor."""
    fraction = factor.factor
    codes_by_leaf = {
        leaf: pl.Series([sorted(codes)], dtype=pl.List(pl.UInt32)) for leaf, codes in factor.leaves.items()
    }
    applies = reduce(and_, (pl.col(leaf).cast(pl.UInt32).is_in(codes) for leaf, codes in codes_by_leaf.items()))
    return (
        pl.when(applies)
        .then(pl.lit(fraction.numerator, dtype=WIDE))
        .otherwise(pl.lit(fraction.denominator, dtype=WIDE))
    )


class RowAmounts(Struct, frozen=True, eq=False, dict=True):
    """The amounts of the rows of a plan, which are contributions to its figure or measures, and the rows it keeps."""

    plan: RowPlan

    @property
    def choices(self) -> RowChoices:
        """The choices of the query."""
        return self.plan.query.choices

    @property
    def decides(self) -> bool:
        """Whether single rows decide the figure: then no row contributes by itself."""
        return decides(self.plan)

    @cached_property
    def _terms(self) -> Mapping[int, TermAmount]:
        return {id(term): TermAmount.of(term, self.plan.reader) for term in self.plan.weighted_terms}

    @cached_property
    def denominators(self) -> Mapping[str, int]:
        """The denominator of each column that is summed; of a figure that single rows decide there is none."""
        if self.decides:
            return {}
        if self.plan.expression is None:
            measures = self.plan.query.domain.measures
            return {name: 10 ** measures[name].places for name in self.choices.summed}
        units = [amount.unit.reduced()[1] for amount in self._terms.values()]
        return {CONTRIBUTION: lcm(*units)}

    def holds(self, rows: int) -> bool:
        """Tell whether 128 bits hold the sums of so many rows; of measures they do."""
        if self.plan.expression is None or self.decides:
            return True
        largest = [amount.largest * Exact(self.denominators[CONTRIBUTION]) for amount in self._terms.values()]
        return reduce(add, largest, Exact(0)) * Exact(MAX_AMOUNT * max(1, rows)) < Exact(MAX_SUM)

    @property
    def filters_frames(self) -> bool:
        """Whether rows are left out that the store answers with."""
        return bool(self.choices.words or self.choices.bounds)

    def adds_groups(self, parts: Sequence[RowPart]) -> bool:
        """Tell whether sums of groups of rows tell the signs: each row counts in one term, and none is left out."""
        return not self.filters_frames and all(len(part.counted) <= 1 and part.leaves is None for part in parts)

    def sums(self, name: str, part: RowPart) -> Iterator[FactRead]:
        """Yield the reads of a column that is summed: of each the sum of what is positive, and of what is negative."""
        measure: str | None = name
        keys, amount = frozenset[str](), pl.col(name).cast(WIDE).fill_null(0)
        if self.plan.expression is not None:
            terms = [self._terms[id(term)] for term in part.counted]
            keys = frozenset(leaf for term in terms for leaf in term.leaves)
            bases = [term.term.base for term in terms]
            measure = next((base.measure.key for base in bases if not base.over_members.counts), None)
            amount = reduce(add, [term.of_group(self.denominators[name]) for term in terms], NOTHING_ADDED)
        for sign in [None] if measure is None else [AmountRange(measure, *bounds) for bounds in SIGNS]:
            read = self._sums(part, sorted(keys), measure, sign)
            yield read.pipe(lambda groups: groups.select(amount.alias(SUM)).select(POSITIVES, NEGATIVES))

    def count(self, part: RowPart) -> FactRead:
        """Return the read of the number of rows of a part without `leaves`."""
        return self._sums(part, (), None, None).pipe(lambda groups: groups.select(pl.col(ROWS).sum()))

    def _sums(self, part: RowPart, keys: Sequence[str], measure: str | None, sign: AmountRange | None) -> FactRead:
        question = Slice(
            domain=self.plan.query.domain.key,
            scenario=self.plan.term_span.term.scenario.id,
            spans=(ALL_DAYS, WITHOUT_DATE) if part.span is None else (part.span,),
            keys=tuple(keys),
            aggregates=() if measure is None else (Aggregate(measure),),
        )
        within = part.cell if sign is None else part.cell & Cell.of([Conjunction.of({}, [sign])])
        return FactRead(question, within, self.plan.query.compared)

    def of_rows(self, part: RowPart) -> Mapping[str, pl.Expr]:
        """Return the columns that are summed, as integers over their denominators."""
        if self.plan.expression is None:
            return {name: pl.col(name).cast(WIDE) for name in self.choices.summed}
        if self.decides:
            return {}
        common = self.denominators[CONTRIBUTION]
        amounts = [self._terms[id(term)].of_row(common) for term in part.counted]
        return {CONTRIBUTION: reduce(add, amounts, NOTHING_ADDED)}

    def kept(self, part: RowPart) -> pl.Expr:
        """Return the filter for the rows of a part that the query keeps."""
        tests = [pl.lit(value=True)]
        if self.choices.words:
            words = partial(holds_words, words=self.choices.words)
            columns = [pl.col(name).map_batches(words, pl.Boolean) for name in self.choices.texts]
            tests.append(reduce(or_, columns))
        if (bounds := self.choices.bounds) is not None:
            amount, common = self.of_rows(part)[CONTRIBUTION], Exact(self.denominators[CONTRIBUTION])
            if bounds.least is not None:
                least = bounds.least * common
                tests.append(amount >= clamped(-(-least.numerator // least.denominator)))
            if bounds.most is not None:
                most = bounds.most * common
                tests.append(amount <= clamped(most.numerator // most.denominator))
        return reduce(and_, tests)

    def key(self, column: str, part: RowPart) -> pl.Expr:
        """Return what rows are ordered by: an amount, or the rank of another column."""
        return self.of_rows(part)[column] if column in self.denominators else self.rank(column)

    def rank(self, column: str) -> pl.Expr:
        """Return what a column is ordered by: a day, an amount, a text, or the rank of the id of a member."""
        name = column_in_frame(column, self.plan)
        if kind_of(column, self.plan.query.domain) != "member":
            return pl.col(name)
        ranks = self.plan.ranks
        rank = pl.lit(ranks[name]).gather(pl.col(name)) if name in ranks else pl.col(name)
        return pl.when(pl.col(name) != NULL_CODE).then(rank)


def column_in_frame(column: str, plan: RowPlan) -> str:
    """Return the name of a column in the frames of a plan."""
    return DATE if kind_of(column, plan.query.domain) == "date" else column


def columns_read(expressions: Collection[pl.Expr]) -> frozenset[str]:
    """Return the columns that expressions read."""
    return frozenset(name for expression in expressions for name in expression.meta.root_names())


def clamped(bound: int) -> pl.Expr:
    """Return a bound as a literal of 128 bits, the farthest one if it is longer: no amount is."""
    return pl.lit(max(-(2**126), min(bound, 2**126)), dtype=WIDE)


def holds_words(texts: pl.Series, words: Sequence[str]) -> pl.Series:
    """Tell of each text whether its folded form holds all words."""
    letters = fold_each(texts)
    return reduce(and_, (letters.str.contains(word, literal=True) for word in words)).fill_null(value=False)


def decides(plan: RowPlan) -> bool:
    """Tell whether single rows decide the figure of a plan, as they do its minimum."""
    return plan.expression is not None and plan.weighted_terms[0].base.over_members in DECIDERS


def refuse_deciders(plan: RowPlan) -> None:
    """Raise BadArguments for choices among the rows of a figure that single rows decide."""
    choices = plan.query.choices
    by_field = {
        "order_by": choices.order,
        "amount": choices.bounds,
        "text": choices.words,
        "count_by": choices.count_by,
    }
    field = next((name for name, choice in by_field.items() if choice), None)
    if field and decides(plan):
        raise BadArguments(
            f"Single rows decide {plan.query.written}, so no row contributes by itself. Leave {field} or "
            "filters.metric out.",
            field=field,
            got=plan.query.written,
        )
