"""Currencies of a report whose amounts have several: that of each line, else of each column, else of each place.

A line, column or place has a currency if all its amounts are in one. Columns are judged by the lines that have none,
places by those lines in the columns that have none.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.model.catalogue import Base
from engine.model.fact_store import SPAN
from engine.model.formulas import MONEY_KINDS, FigureKind
from engine.model.stopping import watched
from engine.notes.currency_notes import (
    MIXED,
    Codes,
    CurrencyRead,
    currencies_by_base,
    currency_ids,
    is_books_currency,
    rows_of_base,
    weights_by_base,
)
from engine.notes.report_reads import ReportFigures
from engine.plans.expressions import FormulaExpression
from engine.plans.figures import FigurePlan, Figures
from engine.plans.rows import Row
from engine.plans.weights import Axis, BaseWeights, Members, axis_total, memberships
from engine.plans.windows import ColumnRead
from engine.report.data import OTHERS, Comparison, MemberTuple, ReportColumn, unit_of
from engine.report.figure_table import LabelledMembers, members_of

Names = frozenset[str]
Ids = tuple[str, ...]  # of the members and periods of a place
NONE: Names = frozenset()


class ShownCurrencies(Struct, frozen=True, eq=False, dict=True):
    """The currencies of a collected plan whose amounts have several."""

    figures: Figures
    reads: Sequence[CurrencyRead]
    frames: Sequence[pl.DataFrame]  # of each read

    @property
    def plan(self) -> FigurePlan:
        """The plan of the figures."""
        return self.figures.plan

    @cached_property
    def lines(self) -> Mapping[str, str]:
        """The currencies of the lines that have one, by key."""
        found = {row.key: self._of_lines([row], self.plan.distinct_reads) for row in self._money}
        return {key: next(iter(names)) for key, names in found.items() if len(names) == 1}

    def columns(self, made: Sequence[ReportColumn]) -> tuple[ReportColumn, ...]:
        """Return columns with their currencies."""
        return tuple(
            replace(column, currency=one_of(self._of_lines(self._mixed, reads)))
            for column, reads in zip(made, self.plan.columns, strict=True)
        )

    def places(self, made: Sequence[MemberTuple]) -> tuple[MemberTuple, ...]:
        """Return places with their currencies. Others have those of the places that are not shown."""
        shown = [ids_of(place.members) for place in watched(made, self.plan.stop)]
        pairs = zip(made, shown, strict=True)
        return tuple(
            replace(place, currency=self.of_place(ids, shown)) for place, ids in watched(pairs, self.plan.stop)
        )

    def of_place(self, ids: Ids, shown: Sequence[Ids]) -> str | None:
        """Return the currency of a place beside those that are shown; None where it has several or none."""
        return one_of(self._of_others(ids, shown) if OTHERS in ids else self._by_ids.get(ids, NONE))

    def of_row(self, row: Row) -> str:
        """Return the currency of a row, which need not be one of the plan: MIXED for several, the plan's for none."""
        reads = self.plan.distinct_reads
        named = self._of_lines([row], reads) or self._of_lines(self.plan.rows, reads)
        return MIXED if len(named) > 1 else next(iter(named), self.plan.reader.catalogue.currency)

    def unit_of_row(self, row: Row) -> str | None:
        """Return the unit of a row's figures."""
        currency = self.of_row(row)
        return unit_of(row.type, row.format, Comparison.FIGURE, currency, currency)

    @cached_property
    def _money(self) -> list[Row]:
        """The rows whose figures are amounts."""
        return [row for row in self.plan.rows if row.type is not None and row.type.kind in MONEY_KINDS]

    @cached_property
    def _mixed(self) -> list[Row]:
        return [row for row in self._money if row.key not in self.lines]

    @cached_property
    def _uses(self) -> Mapping[tuple[Base, str], Names]:
        """The currencies of each base in the column reads of a side."""
        found: dict[tuple[Base, str], Names] = defaultdict(frozenset)
        for read, rows in zip(self.reads, self.frames, strict=True):
            for base, use in currencies_by_base(self.plan, read, rows):
                found[base, use.scenario] |= self._names(use.dimension, use.codes)
        return found

    def _of_lines(self, rows: Iterable[Row], reads: Sequence[ColumnRead]) -> Names:
        """Return the currencies of some rows in some column reads."""
        formulas = [row.expression for row in rows if isinstance(row.expression, FormulaExpression)]
        reads = self.plan.distinct_reads if any(formula.has_own for formula in formulas) else reads
        bases = {base for row in rows if row.expression for base in row.expression.bases}
        named = (self._uses.get((base, read.side.key), NONE) for base in bases for read in reads)
        return NONE.union(self._of_books(bases), *named)

    def _of_books(self, bases: Iterable[Base]) -> Names:
        """Return the currency of the books if any of some bases has amounts of no other."""
        plain = any(base.measure.currency is None and base.measure.kind is FigureKind.MONEY for base in bases)
        return frozenset([self.plan.reader.catalogue.currency]) if plain else NONE

    def _names(self, dimension: str, codes: Codes) -> Names:
        reader = self.plan.reader
        books = reader.catalogue.currency
        ids = currency_ids(dimension, codes, reader)
        return frozenset(books if is_books_currency(dimension, each, reader) else each for each in watched(ids))

    @cached_property
    def _by_ids(self) -> Mapping[Ids, Names]:
        """The currencies of the lines that have none of their own, by the ids of each place of the plan."""
        if not self._mixed:
            return {}
        plan, labelled = self.plan, LabelledMembers(self.plan)
        places = [(place, ids_of(members_of(place, plan, labelled))) for place in watched(self.figures.places)]
        bases = {base for row in self._mixed if row.expression for base in row.expression.bases}
        mixed = {read for reads in plan.columns for read in reads if len(self._of_lines(self._mixed, reads)) > 1}
        found: dict[Ids, Names] = {}
        for read, rows in zip(self.reads, self.frames, strict=True):
            for base, weights in weights_by_base(read):
                if base not in bases or base.measure.currency is None:
                    continue
                held = codes_by_members(read, weights, rows, base.measure.currency)
                for column_read in (each for each in read.column_reads if each in mixed):
                    windows = [read.splits.of(window) for window in watched(plan.base_windows(base, column_read))]
                    for place, ids in watched(places, plan.stop):
                        by_interval = held.get(plan.availability.masked(base, place.members), {})
                        codes = Codes().union(*(by_interval.get(each, ()) for each in watched(windows[place.time])))
                        found[ids] = found.get(ids, self._of_books(bases)) | self._names(base.measure.currency, codes)
        return found

    def _of_others(self, ids: Ids, shown: Sequence[Ids]) -> Names:
        """Return the currencies of the places that others stand for."""
        at = ids.index(OTHERS)
        named = {each[at] for each in watched(shown) if len(each) > at and each[:at] == ids[:at]}
        return NONE.union(
            *(
                names
                for each, names in watched(self._by_ids.items())
                if len(each) == len(ids)
                and each[:at] == ids[:at]
                and each[at] not in named
                and each[at + 1 :] == ids[at + 1 :]
            )
        )


def one_of(names: Names) -> str | None:
    """Return the only name, None of several or none."""
    return next(iter(names)) if len(names) == 1 else None


def ids_of(members: Iterable[object]) -> Ids:
    """Return the ids of members."""
    return tuple(str(getattr(member, "id", "")) for member in members)


def codes_by_members(
    read: CurrencyRead, weights: BaseWeights, rows: pl.DataFrame, dimension: str
) -> Mapping[Members, Mapping[int, set[int]]]:
    """Return the codes of a dimension behind a base, by combination of members and by interval; None stands for all."""
    axes = read.batch.group.axes
    known = [memberships(axis) for axis in axes]
    leaves = [axis.leaf for axis in axes]
    nowhere: Members = (None,) * read.batch.group.places
    found: dict[Members, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    kept = rows_of_base(rows, weights).select(
        pl.col(SPAN),
        pl.col(dimension).alias("code"),
        *(pl.col(leaf).alias(f"leaf {at}") for at, leaf in enumerate(leaves)),
    )
    for interval, code, *codes in watched(kept.unique().iter_rows()):
        chosen = [choices(axis, of, each) for axis, of, each in zip(axes, known, codes, strict=True)]
        for combination in product(*chosen):
            members = list(nowhere)
            for axis, member in zip(axes, combination, strict=True):
                members[axis.place] = member
            found[tuple(members)][interval].add(code)
    return found


def choices(axis: Axis, known: Mapping[int, Sequence[tuple[str, object]]], code: int) -> Iterator[str | None]:
    """Yield the members of an axis that a leaf counts in, and None if it counts in the total."""
    yield from (member for member, weight in known.get(code, ()) if weight)
    if axis_total(axis, code):
        yield None


def shown_currencies(found: ReportFigures) -> ShownCurrencies:
    """Return the currencies of the rows, columns and places of a report."""
    return ShownCurrencies(found.figures, found.reads.currencies, found.currency_rows)
