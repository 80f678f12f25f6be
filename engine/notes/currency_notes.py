"""Notes on currencies and units: which lines add up several. Only measures that name their dimensions are read."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import polars as pl
from msgspec import Struct

from engine.books.reader import FactRead, Reader
from engine.model.aggregation import MemberAggregation
from engine.model.catalogue import Base
from engine.model.errors import first_of
from engine.model.fact_store import SPAN
from engine.model.formulas import FigureKind
from engine.model.members.member_sets import NULL_CODE
from engine.model.notes import NAMED, Note
from engine.model.scope import UNASSIGNED
from engine.model.stopping import watched
from engine.plans.figures import FigurePlan
from engine.plans.measure import Batch
from engine.plans.term_reads import sums_read
from engine.plans.weights import BaseWeights
from engine.plans.windows import ColumnRead, IntervalSplits, split_intervals

Codes = frozenset[int]
MIXED = "mixed"  # the unit of amounts in several currencies


class CurrencyRead(Struct, frozen=True, eq=False):
    """The currencies and units of the rows of a batch, by interval and by the keys of its base group."""

    batch: Batch
    column_reads: tuple[ColumnRead, ...]
    splits: IntervalSplits
    reads: tuple[FactRead, ...]  # one for each term span


class CurrencyUse(Struct, frozen=True):
    """The currencies behind a base in one column read, and whether a figure of it adds up several."""

    scenario: str
    dimension: str
    codes: Codes
    mixed: bool


class UnitUse(Struct, frozen=True):
    """The units that a base adds up in one column read."""

    scenario: str
    dimension: str
    units: tuple[str, ...]


def currency_reads(plan: FigurePlan) -> tuple[CurrencyRead, ...]:
    """Return the currency reads of the batches whose measures name a dimension of currencies or units."""
    reads, reader = plan.reads, plan.reader

    def find_named() -> frozenset[Base]:
        return frozenset(base for base in reads.bases if base.measure.currency or unit_leaf(base, reader))

    named = reader.memo_as_seen(("names currencies", reads), find_named, len)
    if not named:
        return ()
    return tuple(currency_read(plan, batch) for batch in plan.batches if not named.isdisjoint(batch.bases))


def unit_leaf(base: Base, reader: Reader) -> str | None:
    """Return the leaf dimension whose members tell the unit of a sum, None without a unit that the caller sees."""
    unit = base.measure.unit_from
    if unit is None or unit not in reader.dimensions or base.over_members is not MemberAggregation.SUM:
        return None
    return reader.dimensions[unit].leaf


def currency_read(plan: FigurePlan, batch: Batch) -> CurrencyRead:
    """Return the currency read of one batch; its reads give SPAN, the codes of currencies and units, and the keys."""
    domain_read, group = batch.domain_read, batch.group
    column_reads = tuple(
        column_read for column_read in plan.distinct_reads if column_read.domain_read(domain_read.domain) == domain_read
    )
    named = {base: (base.measure.currency, unit_leaf(base, plan.reader)) for base in batch.bases}
    bases = [base for base, leaves in named.items() if any(leaves)]
    windows = dict.fromkeys(
        window for column_read in column_reads for base in bases for window in plan.base_windows(base, column_read)
    )
    splits = IntervalSplits(split_intervals(windows, domain_read.boundaries))
    keys = tuple(dict.fromkeys((*(leaf for base in bases for leaf in named[base] if leaf), *group.keys)))
    reads = (
        sums_read(domain_read, term_span, splits.spans, keys, (), group.cut)
        .within(batch.shape.within)
        .pipe(lambda sums: sums.select(SPAN, *keys).unique())
        for term_span, group in batch.terms
    )
    return CurrencyRead(batch, column_reads, splits, tuple(reads))


def currency_uses(
    plan: FigurePlan, reads: Sequence[CurrencyRead], frames: Sequence[pl.DataFrame]
) -> Mapping[Base, Sequence[CurrencyUse]]:
    """Return the currencies of each base, from the frame of each read."""
    found: dict[Base, list[CurrencyUse]] = defaultdict(list)
    for read, rows in zip(reads, frames, strict=True):
        for base, use in currencies_by_base(plan, read, rows):
            found[base].append(use)
    return found


def unit_uses(
    plan: FigurePlan, reads: Sequence[CurrencyRead], frames: Sequence[pl.DataFrame]
) -> Mapping[Base, Sequence[UnitUse]]:
    """Return the units that each base adds up, from the frame of each read."""
    found: dict[Base, list[UnitUse]] = defaultdict(list)
    for read, rows in zip(reads, frames, strict=True):
        for base, use in units_by_base(plan, read, rows):
            found[base].append(use)
    return found


def mixed_notes(plan: FigurePlan, uses: Mapping[Base, Sequence[CurrencyUse]]) -> Iterator[Note]:
    """Yield the notes on lines in several currencies."""
    for use, keys in lines_by_use(plan, uses).items():
        if use.mixed:
            yield Note.of("mixed_currency", **about_use(use, keys, plan.reader), dimension=use.dimension)


def foreign_notes(plan: FigurePlan, uses: Mapping[Base, Sequence[CurrencyUse]]) -> Iterator[Note]:
    """Yield the notes on lines in a currency that is not that of the books."""
    for use, keys in lines_by_use(plan, uses).items():
        members = currency_ids(use.dimension, use.codes, plan.reader)
        if not use.mixed and not all(is_books_currency(use.dimension, member, plan.reader) for member in members):
            yield Note.of("foreign_currency", **about_use(use, keys, plan.reader))


def about_use(use: CurrencyUse, lines: Sequence[str], reader: Reader) -> Mapping[str, str]:
    """Return the names of a note on currencies."""
    currencies = first_of(currency_ids(use.dimension, use.codes, reader), NAMED)
    return {"lines": first_of(lines, NAMED), "scenario": use.scenario, "currencies": currencies}


def unit_notes(plan: FigurePlan, uses: Mapping[Base, Sequence[UnitUse]]) -> Iterator[Note]:
    """Yield the notes on lines in several units."""
    for use, keys in lines_by_use(plan, uses).items():
        named = {"lines": first_of(keys, NAMED), "units": first_of(use.units, NAMED)}
        yield Note.of("mixed_units", **named, scenario=use.scenario, dimension=use.dimension)


def currency_shown(plan: FigurePlan, uses: Mapping[Base, Sequence[CurrencyUse]]) -> str:
    """Return the currency of the amounts of a plan: that of their rows, MIXED for several, else that of the books."""
    reader = plan.reader
    shown = {currency_of(use.dimension, use.codes, reader) for found in uses.values() for use in found}
    if shown and any(not base.measure.currency and base.measure.kind is FigureKind.MONEY for base in plan.bases):
        shown.add(reader.catalogue.currency)
    return next(iter(shown), reader.catalogue.currency) if len(shown) < 2 else MIXED


def currency_of(dimension: str, codes: Codes, reader: Reader) -> str:
    """Return the currency that codes of a dimension name: MIXED for several, that of the books where none is named."""
    books = reader.catalogue.currency
    ids = currency_ids(dimension, codes, reader)
    named = {books if is_books_currency(dimension, member, reader) else member for member in watched(ids)}
    return next(iter(named), books) if len(named) < 2 else MIXED


Use = TypeVar("Use")


def lines_by_use(plan: FigurePlan, found: Mapping[Base, Sequence[Use]]) -> dict[Use, list[str]]:
    """Return the keys of the lines that each use of the bases concerns."""
    lines: dict[Use, dict[str, None]] = defaultdict(dict)
    for row in plan.rows if found else ():
        for use in (use for base in row.expression.bases for use in found.get(base, ())) if row.expression else ():
            lines[use][row.key] = None
    return {use: list(keys) for use, keys in lines.items()}


def weights_by_base(read: CurrencyRead) -> Iterator[tuple[Base, BaseWeights]]:
    """Return the bases of a read with their weights."""
    return zip(read.batch.bases, read.batch.group.weights, strict=True)


def currencies_by_base(plan: FigurePlan, read: CurrencyRead, rows: pl.DataFrame) -> Iterator[tuple[Base, CurrencyUse]]:
    """Yield the currencies of each base and column read: those of the last window with several, else of all."""
    for base, weights in weights_by_base(read):
        dimension = base.measure.currency
        for column_read, by_window in codes_by_window(plan, read, base, weights, rows, dimension):
            several = next((codes for codes in reversed(by_window) if len(codes) > 1), None)
            if dimension and (codes := several or Codes().union(*by_window)):
                yield base, CurrencyUse(column_read.side.key, dimension, codes, mixed=several is not None)


def units_by_base(plan: FigurePlan, read: CurrencyRead, rows: pl.DataFrame) -> Iterator[tuple[Base, UnitUse]]:
    """Yield the visible units of each base and column read: those of the last window that adds up several."""
    for base, weights in weights_by_base(read):
        leaf, unit = unit_leaf(base, plan.reader), str(base.measure.unit_from)
        for column_read, by_window in codes_by_window(plan, read, base, weights, rows, leaf):
            visible = plan.reader.visible(unit)
            known = (plan.reader.members(unit).among(codes) for codes in reversed(by_window))
            named = (tuple(member for member in members if member in visible) for members in known)
            several = next((units for units in named if len(units) > 1), None)
            if several:
                yield base, UnitUse(column_read.side.key, unit, several)


def codes_by_window(
    plan: FigurePlan,
    read: CurrencyRead,
    base: Base,
    weights: BaseWeights,
    rows: pl.DataFrame,
    dimension: str | None,
) -> Iterator[tuple[ColumnRead, list[Codes]]]:
    """Yield the codes of a dimension behind a base, for each column read and each of its windows."""
    if dimension is None:
        return
    by_interval: dict[int, set[int]] = defaultdict(set)
    for interval, code in watched(rows_of_base(rows, weights).select(SPAN, dimension).unique().iter_rows()):
        by_interval[interval].add(code)
    for column_read in read.column_reads:
        yield (
            column_read,
            [
                Codes().union(*(by_interval.get(interval, ()) for interval in read.splits.of(window)))
                for window in plan.base_windows(base, column_read)
            ],
        )


def rows_of_base(rows: pl.DataFrame, weights: BaseWeights) -> pl.DataFrame:
    """Return the rows that count in a base. Leaf dimensions without a column count alike in every base."""
    inside = [
        pl.col(leaf).is_in(
            pl.Series([code for code in watched(codes) if codes[code]], dtype=rows.schema[leaf], strict=False).implode()
        )
        for leaf, codes in weights.by_leaf.items()
        if leaf in rows.columns
    ]
    return rows.filter(inside) if inside else rows


def currency_ids(dimension: str, codes: Codes, reader: Reader) -> list[str]:
    """Return the ids of currencies; (unassigned) comes last."""
    ids = list(reader.members(dimension).among(codes - {NULL_CODE}))
    return [*ids, UNASSIGNED] if NULL_CODE in codes else ids


def is_books_currency(dimension: str, member: str, reader: Reader) -> bool:
    """Tell whether a currency is unassigned, or is that of the books by its id or code."""
    code = None if member == UNASSIGNED else reader.members(dimension).code(member)
    return member == UNASSIGNED or reader.catalogue.currency in (member, code)
