"""Notes on sums and names that mislead."""

from calendar import isleap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import reduce
from itertools import compress
from operator import and_

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.calendar.periods import Grain, Span
from engine.model.catalogue import Base, DimensionKind, Domain, StockGroup
from engine.model.errors import quoted
from engine.model.fact_store import Presence
from engine.model.members.trees import RaggedNodes
from engine.model.notes import NAMED, Note
from engine.model.scenarios import ALL_DAYS
from engine.model.scope import UNASSIGNED, Cell, CodeSet
from engine.model.stopping import watched
from engine.notes.operand_notes import grain_of, periods_of
from engine.plans.figures import FigurePlan
from engine.plans.presence import group_cell
from engine.plans.windows import ColumnRead
from engine.queries.values import Filter

FINER = (Grain.DATE, Grain.WEEK)  # grains finer than a month


def sign_notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on lines that show a metric with the other sign."""
    lines: dict[str, list[str]] = defaultdict(list)
    for row in plan.rows:
        if row.reverses:
            lines[row.reverses].append(row.key)
    for metric, keys in lines.items():
        yield Note.of("sign_reversed", lines=quoted(keys, NAMED), metric=metric)


def function_notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield the note on formulas that apply functions where a figure is shown of several months or members."""
    lines = [row.key for row, expression in plan.reads.formulas.items() if expression.applies_function]
    if not lines or plan.is_undated:
        return
    of_months = any(len(periods_of(plan, column_read)) > 1 for column_read in plan.distinct_reads)
    noun = plan.reader.catalogue.calendar.grains[grain_of(plan)].noun
    whole = [*([f"{noun}s"] if of_months else ()), *(["members"] if plan.axes else ())]
    if whole:
        yield Note.of("not_summed", lines=quoted(lines, NAMED), parts=" or of its ".join(whole))


def posting_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the notes on weeks or days of data, or of balances, that are posted on one day of each month."""
    if plan.query.asked.is_undated:
        return
    grains = (plan.query.asked.grain, *(axis.grain for axis in plan.query.time))
    finest = min(grains, key=lambda grain: grain.fineness)
    for domain in plan.query.domains if finest in FINER else ():
        domain_read = column_read.domain_read(domain.key)
        groups = {base.stock_group for base in plan.reads.balances if base.domain == domain.key}
        posted = {domain.key: plan.presences.of(domain_read)} | {
            f"{domain.key} ({key})": plan.presences.of(domain_read, domain.stock_groups[key])
            for key in filter(None, groups)
        }
        coarser = [name for name, presence in posted.items() if is_posted_once_a_month(presence)]
        if domain.carries(finest) and coarser:
            yield Note.of(
                "coarser_postings",
                scenario="+".join(term.key for term in column_read.side.terms),
                domain=coarser[0],
                grain=plan.reader.catalogue.calendar.grains[finest].noun,
            )


def is_posted_once_a_month(presence: Presence) -> bool:
    """Tell whether rows lie on one day of each month, of several months."""
    months = Counter((day.year, day.month) for day in watched(presence.days(ALL_DAYS)))
    return len(months) > 1 and set(months.values()) == {1}


def leap_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the note on a range of days that a shift by years makes longer or shorter by 29 February."""
    side, asked, calendar = column_read.side, plan.query.asked, plan.reader.catalogue.calendar
    if asked.grain is not Grain.DATE or side.opens or not any(shift.years for shift in side.shifts):
        return
    unmoved = replace(side, shifts=tuple(shift for shift in side.shifts if not shift.years)).window(calendar, asked)
    window = side.window(calendar, asked)
    if unmoved is None or window is None or unmoved.span.first == unmoved.span.last:
        return
    more = leap_days(window.span) - leap_days(unmoved.span)
    if not more and ends_february(unmoved.span) and not ends_february(window.span):
        more = -1
    if more:
        yield Note.of(
            "leap_day",
            scenario=side.key,
            window=window.label,
            differs="gains" if more > 0 else "leaves out",
            period=unmoved.label,
        )


def leap_days(span: Span) -> int:
    """Return how many times 29 February lies in a span."""
    years = (year for year in range(span.first.year, span.last.year + 1) if isleap(year))
    return sum(span.holds(date(year, 2, 29)) for year in years)


def ends_february(span: Span) -> bool:
    """Tell whether a span ends with February."""
    return (span.last.month, span.last.day) == (2, 29 if isleap(span.last.year) else 28)


def header_notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on filtered members that carry no rows but head a subtree."""
    column_reads = plan.distinct_reads
    compared = dict.fromkeys((term.scenario.id, known.shared) for known in column_reads for term in known.side.terms)
    yield from headers(plan.query.filters, plan.query.domains, list(compared), plan.reader)


def headers(
    filters: Iterable[Filter], domains: Sequence[Domain], compared: Sequence[tuple[str, frozenset[str]]], reader: Reader
) -> Iterator[Note]:
    """Yield the notes on filtered members that carry no rows but head a subtree.

    `compared` has each scenario with those whose scope narrows it.
    """
    for known in filters:
        leaf, dimensions = known.dimension.key, reader.dimensions
        trees = [key for key, other in dimensions.items() if other.leaf == leaf and other.kind is DimensionKind.RAGGED]
        if not trees or known.dimension.kind is not DimensionKind.LEAF:
            continue
        having = [domain.key for domain in domains if leaf in domain.dimensions]
        held = frozenset().union(
            *(
                reader.codes_with_rows(domain, scenario, leaf, sides)
                for domain in having
                for scenario, sides in compared
            )
        )
        codes = {member: code for member in watched(known.members) for code in reader.members(leaf).leaves(member)}
        empty = {code: member for member, code in watched(codes.items()) if code not in held and member != UNASSIGNED}
        for tree in trees if empty else ():
            heads = {empty[code]: node for code, node in heads_of(tree, reader) if code in empty}
            if heads:
                yield Note.of(
                    "header_member",
                    dimension=leaf,
                    members=quoted(heads, NAMED),
                    hierarchy=tree,
                    nodes=quoted(heads.values(), NAMED),
                )


def heads_of(tree: str, reader: Reader) -> Iterator[tuple[int, str]]:
    """Yield the posting leaf and the id of every visible node with visible nodes below it."""
    members, visible = reader.members(tree), reader.visible(tree)
    if isinstance(members, RaggedNodes):
        for key, leaf in members.postings.items():
            if key in visible and any(child in visible for child, _ in members.edges.get(key, ())):
                yield leaf, key


def balance_notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on metrics that add up balances of several periods."""
    balances = summed_balances(plan)
    for column_read in plan.distinct_reads if balances else ():
        summed: dict[tuple[str, str], set[Base]] = defaultdict(set)
        for balance in balances:
            if adds_up_balances(plan, column_read, balance):
                summed[balance.base.domain, balance.group.key].add(balance.base)
        for (domain, group), bases in summed.items():
            lines = [row.key for row in plan.rows if row.expression and not bases.isdisjoint(row.expression.bases)]
            yield Note.of(
                "balances_summed",
                lines=quoted(lines, NAMED),
                domain=domain,
                group=group,
                scenario=column_read.side.key,
            )


class SummedBalance(Struct, frozen=True):
    """A base that adds up the balances of a stock group over time, and the leaves that it adds up."""

    base: Base
    group: StockGroup
    cell: Cell


def summed_balances(plan: FigurePlan) -> Sequence[SummedBalance]:
    """Return what the bases of a plan add up of balances under its filters."""
    reader, filters = plan.reader, plan.query.filters
    key = ("summed balances", plan.bases, tuple(known.value for known in filters))
    size = len(plan.bases) + sum(len(known.leaves) for known in filters)
    return reader.memo_as_seen(key, lambda: list(summed_within(plan.bases, filters, reader)), size)


def summed_within(bases: tuple[Base, ...], filters: Sequence[Filter], reader: Reader) -> Iterator[SummedBalance]:
    """Yield what some bases add up of balances inside some filters."""
    leaves = [known.dimension.leaf for known in filters]
    cells = [Cell.where(known.dimension.leaf, CodeSet(frozenset(known.leaves))) for known in filters]
    key = ("summed balances", bases)
    for known in watched(reader.memo_as_seen(key, lambda: list(find_summed_balances(bases, reader)), len(bases))):
        has = map(reader.catalogue.domains[known.base.domain].dimensions.__contains__, leaves)
        within = reduce(and_, compress(cells, has), known.cell)
        if not within.is_nothing:
            yield replace(known, cell=within)


def find_summed_balances(bases: Sequence[Base], reader: Reader) -> Iterator[SummedBalance]:
    """Yield what some bases add up of balances."""
    for base in bases:
        for group in reader.catalogue.summed_balances(base):
            yield SummedBalance(base, group, reader.cut_cell(base.where) & group_cell(group, reader))


def adds_up_balances(plan: FigurePlan, column_read: ColumnRead, balance: SummedBalance) -> bool:
    """Tell whether the rows of a base in the total are balances of several periods."""
    reader, calendar = plan.reader, plan.reader.catalogue.calendar
    domain_read = column_read.domain_read(balance.base.domain)
    periods = {
        period.ordinal
        for term_span in domain_read.term_spans
        for span in column_read.windows[-1].spans
        if (inside := span.overlap(term_span.days))
        for period in reader.presence(
            balance.base.domain, term_span.term.scenario.id, balance.cell, domain_read.shared
        ).periods(inside, calendar, balance.group.grain)
    }
    return len(periods) > 1
