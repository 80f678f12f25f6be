"""Currencies: whether the amounts that a figure adds up are in several, or in another than that of the books."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.catalogue import Base
from engine.cuts import UNASSIGNED
from engine.members.memberset import NULL_CODE
from engine.notes import Note
from engine.plans.figures import FigurePlan, Reading
from engine.plans.measure import Batch
from engine.plans.weights import BaseWeights
from engine.queries.filters import NAMED_IN_NOTE
from engine.reader import Reader
from engine.scope import Allowed, Cell, CodeSet


@dataclass(frozen=True, slots=True)
class Held:
    """The currencies of the amounts behind a base, and whether some figure adds up several."""

    dimension: str
    codes: frozenset[int]
    mixed: bool


def currency_notes(plan: FigurePlan, reading: Reading) -> Iterator[Note]:
    """Yield which lines of a reading hold amounts in several currencies, or in one that is not that of the books.

    Only measures that name the dimension of their currency are looked at; the others cost nothing.
    """
    found: dict[Base, Held] = {}
    for batch in plan.batches:
        if batch.view == reading.view(batch.view.domain):
            found |= held_by_base(plan, batch, reading)
    lines: dict[Held, dict[str, None]] = defaultdict(dict)
    for row in plan.rows if found else ():
        for base in row.expression.bases if row.expression else ():
            if base in found:
                lines[found[base]][row.key] = None
    for held, keys in lines.items():
        about = {
            "lines": together(list(keys)),
            "scenario": reading.side.key,
            "currencies": together(named(held, plan.reader)),
        }
        if held.mixed:
            yield Note.of("mixed_currency", **about, dimension=held.dimension)
        elif not is_own(held, plan.reader):
            yield Note.of("foreign_currency", **about)


def held_by_base(plan: FigurePlan, batch: Batch, reading: Reading) -> dict[Base, Held]:
    """Return the currencies that each base of a batch reads in a reading: of a window with several, else of all."""
    found = {}
    for base, weights in zip(batch.bases, batch.shares[0].weighing.weights, strict=True):
        dimension = base.measure.currency
        if dimension is None:
            continue
        presence = plan.presences.of(batch.view, counted(weights))
        by_window = [
            frozenset[int]().union(*(presence.codes(dimension, span) for span in window.spans))
            for window in plan.read(base, reading)
        ]
        several = next((codes for codes in reversed(by_window) if len(codes) > 1), None)
        codes = several or frozenset[int]().union(*by_window)
        if codes:
            found[base] = Held(dimension, codes, mixed=several is not None)
    return found


def counted(weights: BaseWeights) -> Cell:
    """Return the leaves that count in a base, filters included."""
    codes = {leaf: CodeSet(frozenset(code for code in of if of[code])) for leaf, of in weights.by_leaf.items()}
    return Cell.of([Allowed.of(codes)])


def named(held: Held, reader: Reader) -> list[str]:
    """Return the ids of currencies, the unassigned last."""
    ids = list(reader.members(held.dimension).among(held.codes - {NULL_CODE}))
    return [*ids, UNASSIGNED] if NULL_CODE in held.codes else ids


def together(names: Sequence[str]) -> str:
    """Return the first few names and how many more there are."""
    more = len(names) - NAMED_IN_NOTE
    return ", ".join(names[:NAMED_IN_NOTE]) + (f" and {more} more" if more > 0 else "")


def is_own(held: Held, reader: Reader) -> bool:
    """Tell whether every currency is that of the books, by its id or by the code it is known by."""
    members, own = reader.members(held.dimension), reader.catalogue.currency
    return all(own in (member, members.code(member)) for member in named(held, reader) if member != UNASSIGNED)
