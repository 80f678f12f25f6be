"""Notes: the remarks on the figures of a plan, and on their currencies."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from engine.books.reader import FactRead, Reader
from engine.model.catalogue import Base
from engine.model.errors import first_of, quoted
from engine.model.fact_store import SPAN
from engine.model.members.member_sets import NULL_CODE
from engine.model.notes import NAMED, Note
from engine.model.scenarios import Side, Variance
from engine.model.scope import UNASSIGNED
from engine.plans.figures import ColumnRead, FigurePlan
from engine.plans.measure import Batch, sums_read
from engine.plans.presence import Anchor
from engine.plans.weights import BaseWeights
from engine.plans.windows import IntervalSplits, split_intervals


def notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on the figures of a plan, except those on blanks, sums and currencies."""
    yield from repeat_notes(plan)
    for column, column_reads in zip(plan.query.columns, plan.columns, strict=True):
        for column_read in column_reads:
            yield from window_notes(plan, column_read)
            yield from variant_notes(plan, column_read.side)
            yield from anchor_notes(plan, column_read)
        if isinstance(column.reference, Variance):
            yield from comparison_notes(plan, column.reference, *column_reads)


def repeat_notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on rows that repeat their aggregate."""
    availability = plan.availability
    repeats: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in plan.rows:
        if row.expression is None or availability.why_not(row.expression):
            continue
        unavailable = availability.why_not_by_time(row.expression) or availability.why_not_by_member(row.expression)
        if not unavailable and (lacking := availability.missing_dimensions(row.expression)):
            domain = row.expression.bases[0].domain
            repeats[domain, " and no ".join(lacking)].append(row.key)
    for (domain, dimensions), lines in repeats.items():
        yield Note.of("aggregate", domain=domain, dimensions=dimensions, lines=quoted(lines, NAMED))


def window_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the notes on what a shifted view does to the range."""
    side, asked, calendar = column_read.side, plan.query.asked, plan.reader.catalogue.calendar
    window = side.window(calendar, asked)
    if side.has_window and asked.count > 1 and window is not None:
        yield Note.of("window_replaces_range", scenario=side.key, window=window.label)


def variant_notes(plan: FigurePlan, side: Side) -> Iterator[Note]:
    """Yield the notes on domains that an adjustment of a variant cannot change."""
    dimensions = plan.reader.dimensions
    for adjustment in (known for term in side.terms if term.variant for known in term.variant.adjustments):
        if not all(cut.dimension in dimensions for cut in adjustment.where):
            continue  # it changes nothing that is visible
        for domain in plan.query.domains:
            lacking = [
                cut.dimension for cut in adjustment.where if dimensions[cut.dimension].leaf not in domain.dimensions
            ]
            if lacking:
                yield Note.of(
                    "variant_untouched", scenario=side.key, dimensions=" and ".join(lacking), domain=domain.key
                )


def balances(plan: FigurePlan) -> list[Base]:
    """Return one closing and one opening balance of each stock group that a plan reads."""
    closing = {(base.domain, base.stock_group, base.over_time): base for base in plan.bases if base.over_time.closes}
    return list(closing.values())


def anchors(plan: FigurePlan, column_read: ColumnRead) -> list[tuple[Base, Anchor]]:
    """Return the anchor of each stock group for the total of a column read."""
    found = []
    for base in balances(plan):
        anchor = plan.window_resolver.anchor(column_read.domain_read(base.domain), base, column_read.windows[-1])
        if anchor is not None:
            found.append((base, anchor))
    return found


def anchor_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the notes on the anchors of balances, and on anchors that differ."""
    found = anchors(plan, column_read)
    for base, anchor in found:
        yield Note.of(
            "anchor",
            domain=base.domain,
            group=anchor.group.key,
            scenario=column_read.side.key,
            anchor=anchor.period.code,
        )
    closing = [(base, anchor) for base, anchor in found if not base.over_time.opening]
    if len({anchor.window.last for _, anchor in closing}) > 1:
        yield Note.of(
            "anchors_differ",
            anchors=", ".join(f"{base.domain} at {anchor.period.code}" for base, anchor in closing),
        )


def comparison_notes(plan: FigurePlan, variance: Variance, a: ColumnRead, b: ColumnRead) -> Iterator[Note]:
    """Yield the notes on sides that differ in scope or anchor."""
    sides = f"{variance.a.key} and {variance.b.key}"
    if a.shared or b.shared:
        yield Note.of("scope_differs", sides=sides)
    behind = [
        {
            (base.domain, anchor.group.key): periods_behind(plan, column_read, anchor)
            for base, anchor in anchors(plan, column_read)
            if not base.over_time.opening
        }
        for column_read in (a, b)
    ]
    for group, periods in behind[0].items():
        if behind[1].get(group, periods) != periods:
            yield Note.of("anchors_differ", anchors=f"{group[0]} ({group[1]}) of {sides}")


def periods_behind(plan: FigurePlan, column_read: ColumnRead, anchor: Anchor) -> int:
    """Return how many periods an anchor lies before the end of its window."""
    last = plan.reader.catalogue.calendar.at(column_read.windows[-1].last or anchor.period.last, anchor.group.grain)
    return last.ordinal - anchor.period.ordinal if last else 0


# Currencies: only measures that name the dimension of their currency are read.


Codes = frozenset[int]


@dataclass(frozen=True, eq=False)
class CurrencyRead:
    """The currencies of the rows of a batch, by interval and by the keys of its base group."""

    batch: Batch
    column_reads: tuple[ColumnRead, ...]
    splits: IntervalSplits
    reads: tuple[FactRead, ...]  # one for each term span


@dataclass(frozen=True, slots=True)
class CurrencyUse:
    """The currencies behind a base in one column read, and whether a figure of it adds up several."""

    scenario: str
    dimension: str
    codes: Codes
    mixed: bool


def currency_reads(plan: FigurePlan) -> tuple[CurrencyRead, ...]:
    """Return the currency reads of the batches whose measures name a currency dimension."""
    return tuple(
        currency_read(plan, batch) for batch in plan.batches if any(base.measure.currency for base in batch.bases)
    )


def currency_read(plan: FigurePlan, batch: Batch) -> CurrencyRead:
    """Return the currency read of one batch; its reads give SPAN, the currency codes and the keys, each once."""
    domain_read, group = batch.domain_read, batch.term_sums[0].group
    every = dict.fromkeys(column_read for column in plan.columns for column_read in column)
    column_reads = tuple(
        column_read for column_read in every if column_read.domain_read(domain_read.domain) == domain_read
    )
    bases = [base for base in batch.bases if base.measure.currency]
    windows = dict.fromkeys(
        window for column_read in column_reads for base in bases for window in plan.base_windows(base, column_read)
    )
    splits = IntervalSplits(split_intervals(windows, domain_read.boundaries))
    keys = tuple(dict.fromkeys((*(str(base.measure.currency) for base in bases), *group.keys)))
    reads = (
        sums_read(domain_read, term_span, splits.spans, keys, (), of_term.group.cut).pipe(
            lambda sums: sums.select(SPAN, *keys).unique()
        )
        for term_span, of_term in zip(domain_read.term_spans, batch.term_sums, strict=True)
    )
    return CurrencyRead(batch, column_reads, splits, tuple(reads))


def currency_notes(
    plan: FigurePlan, reads: Sequence[CurrencyRead], collected: Sequence[Sequence[pl.DataFrame]]
) -> Iterator[Note]:
    """Yield the notes on lines in several currencies, or in one that is not the currency of the books."""
    found: dict[Base, list[CurrencyUse]] = defaultdict(list)
    for read, frames in zip(reads, collected, strict=True):
        for base, held in currencies_by_base(plan, read, pl.concat(frames)):
            found[base].append(held)
    lines: dict[CurrencyUse, dict[str, None]] = defaultdict(dict)
    for row in plan.rows if found else ():
        for held in (held for base in row.expression.bases for held in found[base]) if row.expression else ():
            lines[held][row.key] = None
    for held, keys in lines.items():
        currencies = currency_ids(held, plan.reader)
        about = {
            "lines": first_of(list(keys), NAMED),
            "scenario": held.scenario,
            "currencies": first_of(currencies, NAMED),
        }
        if held.mixed:
            yield Note.of("mixed_currency", **about, dimension=held.dimension)
        elif not all(is_books_currency(held, member, plan.reader) for member in currencies):
            yield Note.of("foreign_currency", **about)


def currencies_by_base(plan: FigurePlan, read: CurrencyRead, rows: pl.DataFrame) -> Iterator[tuple[Base, CurrencyUse]]:
    """Yield the currencies of each base and column read: those of the last window with several, else of all."""
    group = read.batch.term_sums[0].group
    for base, weights in zip(read.batch.bases, group.weights, strict=True):
        dimension = base.measure.currency
        if dimension is None:
            continue
        by_interval: dict[int, set[int]] = defaultdict(set)
        for interval, code in rows_of_base(rows, weights).select(SPAN, dimension).unique().iter_rows():
            by_interval[interval].add(code)
        for column_read in read.column_reads:
            by_window = [
                Codes().union(*(by_interval.get(interval, ()) for interval in read.splits.of(window)))
                for window in plan.base_windows(base, column_read)
            ]
            several = next((codes for codes in reversed(by_window) if len(codes) > 1), None)
            if codes := several or Codes().union(*by_window):
                yield base, CurrencyUse(column_read.side.key, dimension, codes, mixed=several is not None)


def rows_of_base(rows: pl.DataFrame, weights: BaseWeights) -> pl.DataFrame:
    """Return the rows that count in a base. Leaf dimensions without a column count alike in every base."""
    inside = [
        pl.col(leaf).is_in(
            pl.Series([code for code in codes if codes[code]], dtype=rows.schema[leaf], strict=False).implode()
        )
        for leaf, codes in weights.by_leaf.items()
        if leaf in rows.columns
    ]
    return rows.filter(inside) if inside else rows


def currency_ids(held: CurrencyUse, reader: Reader) -> list[str]:
    """Return the ids of currencies; (unassigned) comes last."""
    ids = list(reader.members(held.dimension).among(held.codes - {NULL_CODE}))
    return [*ids, UNASSIGNED] if NULL_CODE in held.codes else ids


def is_books_currency(held: CurrencyUse, member: str, reader: Reader) -> bool:
    """Tell whether a currency is unassigned, or is that of the books by its id or code."""
    code = None if member == UNASSIGNED else reader.members(held.dimension).code(member)
    return member == UNASSIGNED or reader.catalogue.currency in (member, code)
