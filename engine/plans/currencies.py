"""Currencies: whether the amounts that a figure adds up are in several, or in another than that of the books.

Only measures that name the dimension of their currency are looked at; the others cost nothing.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from engine.catalogue import Base
from engine.cuts import UNASSIGNED
from engine.members.memberset import NULL_CODE
from engine.notes import NAMED, Note
from engine.plans.figures import FigurePlan, Reading
from engine.plans.measure import Batch, own_sums
from engine.plans.pieces import Pieces, atoms
from engine.plans.weights import BaseWeights
from engine.quoting import first_of
from engine.reader import Reader
from engine.slices import SPAN

Codes = frozenset[int]


@dataclass(frozen=True, eq=False)
class CurrencyRead:
    """Which currencies the rows of a batch have, by piece and by the codes that tell its bases apart."""

    batch: Batch
    readings: tuple[Reading, ...]
    pieces: Pieces
    frames: tuple[pl.LazyFrame, ...]  # one for each portion of the view


@dataclass(frozen=True, slots=True)
class Held:
    """The currencies behind a base in one reading, and whether some figure of it adds up several."""

    scenario: str
    dimension: str
    codes: Codes
    mixed: bool


def currency_reads(plan: FigurePlan) -> tuple[CurrencyRead, ...]:
    """Return what must be read of the batches whose measures may be in several currencies."""
    return tuple(
        currency_read(plan, batch) for batch in plan.batches if any(base.measure.currency for base in batch.bases)
    )


def currency_read(plan: FigurePlan, batch: Batch) -> CurrencyRead:
    """Return what must be read of one batch."""
    view, weighing = batch.view, batch.shares[0].weighing
    every = dict.fromkeys(reading for column in plan.columns for reading in column)
    readings = tuple(reading for reading in every if reading.view(view.domain) == view)
    bases = [base for base in batch.bases if base.measure.currency]
    windows = dict.fromkeys(window for reading in readings for base in bases for window in plan.read(base, reading))
    pieces = Pieces(atoms(windows, [portion.days.first for portion in view.portions[1:]]))
    keys = tuple(dict.fromkeys((*(str(base.measure.currency) for base in bases), *weighing.keys)))
    frames = (
        own_sums(view, portion, pieces.spans, keys, (), share.weighing.cut, plan.reader).select(SPAN, *keys).unique()
        for portion, share in zip(view.portions, batch.shares, strict=True)
    )
    return CurrencyRead(batch, readings, pieces, tuple(frames))


def currency_notes(
    plan: FigurePlan, reads: Sequence[CurrencyRead], collected: Sequence[Sequence[pl.DataFrame]]
) -> Iterator[Note]:
    """Yield which lines add up amounts in several currencies, or hold them in one that is not that of the books."""
    found: dict[Base, list[Held]] = defaultdict(list)
    for read, frames in zip(reads, collected, strict=True):
        for base, held in held_by_base(plan, read, pl.concat(frames)):
            found[base].append(held)
    lines: dict[Held, dict[str, None]] = defaultdict(dict)
    for row in plan.rows if found else ():
        for held in (held for base in row.expression.bases for held in found[base]) if row.expression else ():
            lines[held][row.key] = None
    for held, keys in lines.items():
        currencies = named(held, plan.reader)
        about = {
            "lines": first_of(list(keys), NAMED),
            "scenario": held.scenario,
            "currencies": first_of(currencies, NAMED),
        }
        if held.mixed:
            yield Note.of("mixed_currency", **about, dimension=held.dimension)
        elif not all(is_own(held, member, plan.reader) for member in currencies):
            yield Note.of("foreign_currency", **about)


def held_by_base(plan: FigurePlan, read: CurrencyRead, rows: pl.DataFrame) -> Iterator[tuple[Base, Held]]:
    """Yield the currencies of each base and reading: of the last window that has several, else of all."""
    weighing = read.batch.shares[0].weighing
    for base, weights in zip(read.batch.bases, weighing.weights, strict=True):
        dimension = base.measure.currency
        if dimension is None:
            continue
        by_piece: dict[int, set[int]] = defaultdict(set)
        for piece, code in counted(rows, weights).select(SPAN, dimension).unique().iter_rows():
            by_piece[piece].add(code)
        for reading in read.readings:
            by_window = [
                Codes().union(*(by_piece.get(piece, ()) for piece in read.pieces.of(window)))
                for window in plan.read(base, reading)
            ]
            several = next((codes for codes in reversed(by_window) if len(codes) > 1), None)
            if codes := several or Codes().union(*by_window):
                yield base, Held(reading.side.key, dimension, codes, mixed=several is not None)


def counted(rows: pl.DataFrame, weights: BaseWeights) -> pl.DataFrame:
    """Return the rows that count in a base; leaves that are no column count alike in every base, or nowhere."""
    inside = [
        pl.col(leaf).is_in(
            pl.Series([code for code in codes if codes[code]], dtype=rows.schema[leaf], strict=False).implode()
        )
        for leaf, codes in weights.by_leaf.items()
        if leaf in rows.columns
    ]
    return rows.filter(inside) if inside else rows


def named(held: Held, reader: Reader) -> list[str]:
    """Return the ids of currencies, the unassigned last."""
    ids = list(reader.members(held.dimension).among(held.codes - {NULL_CODE}))
    return [*ids, UNASSIGNED] if NULL_CODE in held.codes else ids


def is_own(held: Held, member: str, reader: Reader) -> bool:
    """Tell whether a currency is that of the books, by its id or by the code it is known by; or none at all."""
    code = None if member == UNASSIGNED else reader.members(held.dimension).code(member)
    return member == UNASSIGNED or reader.catalogue.currency in (member, code)
