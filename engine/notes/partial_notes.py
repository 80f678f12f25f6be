"""Notes on scenarios that hold fewer periods of the range, or lack lines, beside another."""

from collections.abc import Collection, Iterator, Sequence
from itertools import permutations, product

from msgspec import Struct

from engine.model.calendar.periods import Grain
from engine.model.errors import quoted
from engine.model.exact import Exact
from engine.model.formulas import Nothing
from engine.model.notes import NAMED, Note
from engine.model.scenarios import Side, Variance
from engine.notes.operand_notes import column_reads
from engine.plans.expressions import MeasureExpression
from engine.plans.figures import FigurePlan, Figures
from engine.plans.plan_reads import formula_read, leaf_reads
from engine.plans.presence import Coverage
from engine.plans.windows import ColumnRead


def partial_notes(figures: Figures) -> Iterator[Note]:
    """Yield the notes on what a scenario lacks, by itself or beside another."""
    plan = figures.plan
    for column_read in plan.distinct_reads:
        yield from counterpart_notes(plan, column_read)
    for beside in operands_beside(plan):
        for domain in plan.domains:
            yield from coverage_notes(plan, beside, domain)
    beside_each: dict[tuple[ColumnRead, frozenset[ColumnRead]], None] = {}
    for beside in comparisons(plan):
        for domain in plan.domains:
            yield from coverage_notes(plan, beside, domain)
        for column_read in beside.column_reads:
            beside_each[column_read, frozenset(beside.others(column_read))] = None
    for column_read, others in beside_each:
        yield from line_notes(figures, column_read, others)


class ComparedColumns(Struct, frozen=True):
    """Column reads that stand beside each other: the sides of a variance, or every column of one side."""

    column_reads: Sequence[ColumnRead]
    is_variance: bool

    def others(self, column_read: ColumnRead) -> list[ColumnRead]:
        """Return the other column reads."""
        return [other for other in self.column_reads if other is not column_read]


def comparisons(plan: FigurePlan) -> Iterator[ComparedColumns]:
    """Yield the column reads that stand beside each other."""
    columns = list(zip((column.reference for column in plan.query.columns), plan.columns, strict=True))
    alone = dict.fromkeys(column_reads[0] for reference, column_reads in columns if isinstance(reference, Side))
    yield ComparedColumns(list(alone), is_variance=False)
    pairs = dict.fromkeys(column_reads for reference, column_reads in columns if isinstance(reference, Variance))
    yield from (ComparedColumns(pair, is_variance=True) for pair in pairs)


def operands_beside(plan: FigurePlan) -> Iterator[ComparedColumns]:
    """Yield the column reads that the operands of a formula with sides of their own set beside each other."""
    formulas = (formula for formula in plan.reads.formulas.values() if formula.has_own)
    for formula, column_read in product(formulas, column_reads(plan)):
        within = formula_read(formula, column_read, plan.column_read)
        reads = dict.fromkeys(plan.column_read(*read, None) for read in leaf_reads(formula, within))
        if len(reads) > 1:
            yield ComparedColumns(list(reads), is_variance=True)


def counterpart_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the note on bounds of the range that have no counterpart, such as week 53 or a 31st."""
    side, asked, calendar = column_read.side, plan.query.asked, plan.reader.catalogue.calendar
    if side.window(calendar, asked) is not None:
        lost = dict.fromkeys(period.code for period in side.without_counterpart(calendar, asked))
        if lost:
            yield Note.of("scenario_partial", scenario=side.key, says=f"no counterpart of {quoted(lost, NAMED)}")


def coverage_notes(plan: FigurePlan, beside: ComparedColumns, domain: str) -> Iterator[Note]:
    """Yield the notes on column reads with fewer periods of a domain than another; without any they are blank."""
    ranges = (column_read for column_read in beside.column_reads if not column_read.side.opens)
    covered = {column_read: coverage_of(plan, column_read, domain) for column_read in ranges}
    in_weeks = plan.query.asked.grain is Grain.DATE  # equally many days touch more or fewer weeks
    partial = (
        column_read
        for column_read, other in permutations(covered, 2)
        if covered[column_read].held
        and is_partial(
            covered[column_read],
            covered[other],
            alike=not in_weeks and (beside.is_variance or alike(column_read, other)),
        )
    )
    for column_read in dict.fromkeys(partial):
        found = covered[column_read]
        weeks = "" if found.weeks is None else f" ({found.weeks} weeks)"
        says = f"{found.held} of {found.periods} {found.noun}s{weeks} of {domain}"
        yield Note.of("scenario_partial", scenario=column_read.side.key, says=says)


def coverage_of(plan: FigurePlan, column_read: ColumnRead, domain: str) -> Coverage:
    """Return how many periods of its whole window a column read holds."""
    domain_read = column_read.domain_read(domain)
    return plan.presences.coverage(domain_read, column_read.windows[-1], plan.query.asked.grain)


def alike(column_read: ColumnRead, other: ColumnRead) -> bool:
    """Tell whether two column reads mean windows of one length: neither has a window of its own."""
    return not (column_read.side.has_window or other.side.has_window)


def is_partial(found: Coverage, other: Coverage, *, alike: bool) -> bool:
    """Tell whether a coverage is a smaller part of its window, or one of a shorter window where they are alike."""
    if found.held * (other.periods + other.cut) < other.held * found.periods:
        return True
    return alike and found.held <= other.held and (found.periods, found.weeks or 0) < (other.periods, other.weeks or 0)


def line_notes(figures: Figures, column_read: ColumnRead, others: Collection[ColumnRead]) -> Iterator[Note]:
    """Yield the note on lines that a scenario has no rows for, though it has rows of their domain, and another has."""
    plan, found = figures.plan, figures.by_row(column_read)
    lacking = []
    for row in plan.rows:
        numerators, expression = found.numerators.get(row), row.expression
        if (numerators and numerators[-1] is not None) or not isinstance(expression, MeasureExpression):
            continue
        if figures.of(expression, column_read)[-1] is Nothing.MISSING:
            is_there = any(isinstance(figures.of(expression, other)[-1], Exact) for other in others)
            if is_there and coverage_of(plan, column_read, expression.base.domain).held:
                lacking.append(row.key)
    if lacking:
        says = f"no rows for {quoted(lacking, NAMED)}"
        yield Note.of("scenario_partial", scenario=column_read.side.key, says=says)
