"""Notes on leaves of the tree that a statement covers, with rows in the range, that none of its lines reaches."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_

import polars as pl
from msgspec import Struct

from engine.books.reader import FactRead, Reader
from engine.model.aggregation import MemberAggregation
from engine.model.catalogue import Base
from engine.model.fact_store import Aggregate
from engine.model.notes import Note
from engine.model.scope import Cell, CodeSet, Cut
from engine.model.stopping import watched
from engine.plans.figures import FigurePlan
from engine.plans.term_reads import sums_read
from engine.plans.windows import ColumnRead, split_intervals

LARGEST = 10


class LeafRead(Struct, frozen=True, eq=False):
    """The reads of the leaves that a statement covers and no line reaches, in one column read."""

    cut: Cut
    base: Base
    column_read: ColumnRead
    reads: Sequence[FactRead]


def outside_reads(plan: FigurePlan, covers: Sequence[Cut]) -> Iterator[LeafRead]:
    """Yield the reads of the leaves that a statement covers and no line reaches, one for each side."""
    outside = unreached(plan, tuple(covers)) if covers else ()
    column_reads = {
        column_read.side.key: column_read for column in plan.columns for column_read in column[::-1] if outside
    }  # a side by itself shows what a variance may restrict
    for cut, leaf, summed, codes in outside:
        for column_read in column_reads.values():
            if reads := leaf_reads(plan, summed, column_read, leaf, codes):
                yield LeafRead(cut, summed, column_read, reads)


Unreached = tuple[Cut, str, Base, frozenset[int]]


def unreached(plan: FigurePlan, covers: tuple[Cut, ...]) -> Sequence[Unreached]:
    """Return the leaves that a statement covers and no line reaches: cut, dimension and a base of each domain.

    The books memoise them.
    """

    def find() -> Iterator[Unreached]:
        for cut in covers:
            leaf = plan.reader.catalogue.dimensions[cut.dimension].leaf
            bases = [base for base in plan.bases if leaf in plan.reader.catalogue.domains[base.domain].dimensions]
            for domain in dict.fromkeys(base.domain for base in bases):
                own = [base for base in bases if base.domain == domain]
                summed = next((base for base in own if base.over_members is MemberAggregation.SUM), None)
                codes = find_unreached(cut, leaf, own, plan.reader) if summed else frozenset()
                if summed and codes:
                    yield cut, leaf, summed, codes

    key = ("unreached", covers, plan.bases)
    return plan.reader.memo_as_seen(key, lambda: list(find()), lambda found: sum(len(codes) for *_, codes in found))


def find_unreached(cut: Cut, leaf: str, bases: Sequence[Base], reader: Reader) -> frozenset[int]:
    """Return the leaves with a weight below a node that no base selects; none if the caller does not see the node."""
    if not all(reader.sees(cut.dimension, node) for node in watched(cut.ids)):
        return frozenset()
    inside = {code for code, weight in reader.cut_leaves(cut).items() if weight}
    for base in bases:
        own = [known for known in base.where if reader.catalogue.dimensions[known.dimension].leaf == leaf]
        reached = [set(reader.cut_leaves(known)) for known in own]
        inside -= reduce(and_, reached) if reached else inside
    return frozenset(inside)


def outside_notes(
    reads: Sequence[LeafRead], collected: Sequence[Sequence[pl.DataFrame]], reader: Reader
) -> Iterator[Note]:
    """Yield the notes on leaves that a statement covers and no line reaches, from the collected frames of each read."""
    for read, frames in zip(reads, collected, strict=True):
        yield from outside_note(read, frames, reader)


def outside_note(read: LeafRead, frames: Sequence[pl.DataFrame], reader: Reader) -> Iterator[Note]:
    """Yield the note on the leaves of a read that have amounts: the largest, their number, their sum."""
    leaf, base = reader.catalogue.dimensions[read.cut.dimension].leaf, read.base
    amounts: dict[int, int] = defaultdict(int)
    for frame in frames:
        for code, amount in watched(frame.select(leaf, base.measure.key).iter_rows()):
            amounts[code] += amount
    if not amounts:
        return
    members = {code: next(iter(reader.members(leaf).among({code})), str(code)) for code in watched(amounts)}
    ordered = sorted(amounts, key=lambda code: (-abs(amounts[code]), members[code]))
    shown = [f"{members[code]} {base.measure.amount(amounts[code]).digits()}" for code in ordered[:LARGEST]]
    yield Note.of(
        "outside_tree",
        scenario=read.column_read.side.key,
        node=read.cut.ids[0],
        dimension=read.cut.dimension,
        members=", ".join(shown),
        count=str(len(amounts)),
        total=base.measure.amount(sum(amounts.values())).digits(),
    )


def leaf_reads(
    plan: FigurePlan, base: Base, column_read: ColumnRead, leaf: str, codes: frozenset[int]
) -> list[FactRead]:
    """Return the reads of some leaves under the filters of a query, on the days of a base in the total."""
    domain_read, window = column_read.domain_read(base.domain), plan.base_windows(base, column_read)[-1]
    if not window.spans or plan.availability.why_not_base(base):
        return []
    leaves = plan.reader.catalogue.domains[base.domain].dimensions
    filters = (known for known in plan.query.filters if known.dimension.leaf in leaves)
    cells = (Cell.where(known.dimension.leaf, CodeSet(frozenset(known.leaves))) for known in filters)
    cell = reduce(and_, cells, Cell.where(leaf, CodeSet(codes)))
    splits = split_intervals([window], domain_read.boundaries)
    aggregates = (Aggregate(base.measure.key),)
    return [
        sums_read(domain_read, term_span, splits, (leaf,), aggregates, cell) for term_span in domain_read.term_spans
    ]
