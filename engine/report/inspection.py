"""Inspections: the rows behind figures, as values that stand without the books."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_

import polars as pl
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.calendar.periods import PeriodRange, Span
from engine.model.catalogue import CONTRIBUTION, Domain
from engine.model.exact import Exact, decimal_places
from engine.model.fact_store import DATE
from engine.model.formulas import Figure, FigureKind, Nothing
from engine.model.members.member_sets import LeafMembers
from engine.model.notes import Note
from engine.model.requests import Selection
from engine.model.scope import NOTHING
from engine.model.stopping import Stop, never, watched
from engine.notes.currency_notes import MIXED, currency_of
from engine.notes.days import find_unmet
from engine.notes.sum_notes import headers
from engine.plans.contributions import cause_of_blank, contributions, total_of
from engine.plans.day_causes import NO_ROWS
from engine.plans.freshness import Freshness, freshness_of
from engine.plans.row_plan import RowPlan, plan_rows
from engine.plans.term_reads import sums_read
from engine.plans.windows import split_intervals
from engine.queries.rows import RowQuery
from engine.report.permission import Permission, permission_of

RowValue = Exact | str | None
MOST_PLACES = 6  # most decimals of a contribution


class RowColumn(Struct, frozen=True):
    """One column of an inspection: its name and kind; for amounts, also its unit and decimal places."""

    name: str
    label: str
    kind: str  # date, member, amount or text
    unit: str | None = None
    places: int | None = None


class Inspection(Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """Rows of one scenario of a source, up to a limit.

    `read` holds the days whose rows count. If the query names a figure, `contribution` is the last column. All rows,
    shown or not, add up to `contribution_total`. Divided by `divisor`, it is the figure.
    """

    source: str
    source_label: str
    scenario: str
    period: PeriodRange | None
    filters: Mapping[str, Selection]  # as requested
    read: tuple[Span, ...]
    columns: tuple[RowColumn, ...]
    rows: Sequence[Sequence[RowValue]]
    labels: Mapping[str, Mapping[str, str]]  # of the members shown, if a label differs from the id
    truncated: bool
    figure: str | None
    figure_label: str | None
    contribution_total: Figure
    divisor: Exact
    quotient: bool  # whether the figure is a quotient, which carries 15 significant digits
    notes: tuple[Note, ...]
    catalogue_version: str
    data_version: str
    permission: Permission
    freshness: Mapping[str, Mapping[str, Freshness]] = {}  # of its scenario, by domain

    @property
    def label(self) -> str:
        """The name of its files."""
        return self.source

    @property
    def figure_amount(self) -> Figure:
        """The figure: the total contribution over the divisor; Nothing if no row contributes."""
        total = self.contribution_total
        return total / self.divisor if isinstance(total, Exact) else total

    @cached_property
    def table(self) -> pa.Table:
        """The rows in order, one column each: amounts and contributions as float64, all others as text."""
        columns = zip(*self.rows, strict=True) if self.rows else [[] for _ in self.columns]
        return pa.table(
            {
                column.name: pa.array(map(amount_number, watched(values)), pa.float64())
                if column.kind == "amount"
                else pa.array(values, pa.large_string())
                for column, values in zip(self.columns, columns, strict=True)
            }
        )

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table as a frame."""
        return pl.DataFrame(self.table)


def amount_number(value: RowValue) -> float | None:
    """Return an amount as the nearest double, None if the row has none."""
    return float(value.as_json()) if isinstance(value, Exact) else None


def inspect(query: RowQuery, reader: Reader, stop: Stop = never) -> Inspection:
    """Return the rows of a query, and their contribution to its figure."""
    plan = plan_rows(query, reader)
    rows, truncated = (pl.DataFrame(), False) if plan is None else collected(plan, query.limit, stop)
    columns, units = columns_of(query, reader), dict[str, str]()
    if plan is not None:
        units = units_of_rows(plan, rows, stop if truncated else None)
        columns = tuple([replace(column, unit=units.get(column.name, column.unit)) for column in columns])
    total, divisor = figure_of(plan, stop) if plan else (Nothing.MISSING, Exact(1))
    found: list[Sequence[RowValue]] = [values_of(column, query.domain, rows, reader) for column in columns]
    if plan is not None and plan.expression is not None:
        contributed = contributions(plan, rows, total / divisor if isinstance(total, Exact) else total)
        columns = (*columns, contribution_column(plan, contributed, units))
        found.append(contributed)
    own = [(query.side.terms[query.term_index].scenario.id, query.compared)] if query.side else []
    return Inspection(
        source=query.domain.key,
        source_label=query.domain.label,
        scenario=query.side.terms[query.term_index].key if query.side else query.scenario,
        period=query.period,
        filters=query.asked,
        read=() if plan is None else read_by(plan),
        columns=columns,
        rows=list(zip(*found, strict=True)),
        labels=labels_of(columns, found, reader),
        truncated=truncated,
        figure=query.written,
        figure_label=plan.named.label if plan and plan.named else None,
        contribution_total=total,
        divisor=divisor,
        quotient=plan is not None and plan.expression is not None and plan.expression.type.quotient,
        notes=(
            *query.notes,
            *(
                find_unmet([(query.written, plan.named.expression)], reader)
                if plan and plan.named and query.written
                else ()
            ),
            *([] if plan is None or isinstance(total, Exact) else blank_notes(plan, stop)),
            *headers(query.filters, [query.domain], own, reader),
        ),
        catalogue_version=reader.catalogue.version,
        data_version=reader.data_version,
        permission=permission_of([query.domain.key], scenarios_of(query), (), reader),
        freshness={} if plan is None else freshness_of_rows(plan),
    )


def freshness_of_rows(plan: RowPlan) -> dict[str, dict[str, Freshness]]:
    """Return the freshness of the inspected scenario, by domain."""
    domain, scenario = plan.query.domain, plan.term_span.term.scenario.id
    return {domain.key: {scenario: freshness_of(plan, domain, scenario)}}


def scenarios_of(query: RowQuery) -> Iterator[str]:
    """Yield the scenarios that the query reads, and those that restrict its scope."""
    if query.side:
        yield from (term.scenario.id for term in query.side.terms)
        yield from sorted(query.compared)


def collected(plan: RowPlan, limit: int, stop: Stop) -> tuple[pl.DataFrame, bool]:
    """Return the first rows of a plan, and whether there are more."""
    frames: list[pl.DataFrame] = []
    held = 0
    last = plan.last_leaves(plan.reader.collect(plan.last_reads, stop))
    for read in plan.reads(limit + 1, last):
        frames += plan.reader.collect([read], stop)  # one by one: the first often holds enough
        held += frames[-1].height
        if held > limit:
            break
    (rows,) = [pl.concat(frames)] if frames else plan.reader.collect([plan.read(None, (), 0)], stop)
    return rows.head(limit), held > limit


def figure_of(plan: RowPlan, stop: Stop) -> tuple[Figure, Exact]:
    """Return the total contribution of all rows to the figure named, and its divisor."""
    if plan.expression is None:
        return Nothing.MISSING, Exact(1)
    return total_of(plan, plan.reader.collect_each([batch.reads for batch in plan.batches], stop))


def blank_notes(plan: RowPlan, stop: Stop) -> Iterator[Note]:
    """Yield the note that says why no row contributes to the figure named, if one is."""
    if plan.expression is not None:
        cause = cause_of_blank(plan, plan.expression, stop)
        yield cause if cause == NO_ROWS else Note(cause.code, (("scenarios", (plan.side.key,)), *cause.about))


def read_by(plan: RowPlan) -> tuple[Span, ...]:
    """Return the days whose rows count."""
    spans = dict.fromkeys(span for term in plan.weighted_terms for span in term.window.spans)
    inside = (span.overlap(plan.term_span.days) for span in sorted(spans, key=lambda span: span.first))
    return tuple(span for span in inside if span)


def columns_of(query: RowQuery, reader: Reader) -> tuple[RowColumn, ...]:
    """Return the columns of a query, in order."""
    return tuple(column_of(name, query.domain, reader) for name in query.columns)


def column_of(name: str, domain: Domain, reader: Reader) -> RowColumn:
    """Return one column of a domain."""
    label = reader.dimensions[name].label if name in reader.dimensions else worded(name)
    if name in (DATE, domain.time_column):
        return RowColumn(name, label, "date")
    if name in domain.dimensions:
        return RowColumn(name, label, "member")
    if name in domain.measures:
        measure = domain.measures[name]
        return RowColumn(name, label, "amount", unit_of(measure.kind, reader), measure.places)
    return RowColumn(name, label, "text")


def units_of_rows(plan: RowPlan, rows: pl.DataFrame, stop: Stop | None) -> dict[str, str]:
    """Return the currency of each measure whose rows name it, MIXED for several; with `stop` of all rows."""
    units: dict[str, str] = {}
    for name, measure in plan.query.domain.measures.items():
        if measure.currency is not None and measure.currency in rows.columns:
            found = rows if stop is None else currencies_read(plan, measure.currency, stop)
            codes = frozenset(found[measure.currency].unique().to_list())
            units |= {name: currency_of(measure.currency, codes, plan.reader)} if codes else {}
    return units


def currencies_read(plan: RowPlan, currency: str, stop: Stop) -> pl.DataFrame:
    """Return the codes of the currencies of all rows of a plan."""
    spans = split_intervals([term.window for term in plan.weighted_terms], plan.domain_read.boundaries)
    cell = reduce(or_, (term.cell for term in plan.weighted_terms), NOTHING)
    read = sums_read(plan.domain_read, plan.term_span, spans, (currency,), (), cell)
    (found,) = plan.reader.collect([read.pipe(lambda sums: sums.select(currency).unique())], stop)
    return found


def contribution_column(plan: RowPlan, contributed: Sequence[Exact], units: Mapping[str, str]) -> RowColumn:
    """Return the contribution column, in the currency of what it adds up.

    It has the decimal places of the amounts, or more if weights need them.
    """
    assert plan.expression is not None  # noqa: S101 - asked only where a figure is named
    least = max(0 if term.base.over_members.counts else term.base.measure.places for term in plan.weighted_terms)
    needed = (decimal_places(amount.reduced()[1]) or 0 for amount in watched(contributed))
    places = min(max(least, *needed, 0), MOST_PLACES)
    unit = unit_of(plan.expression.type.kind, plan.reader)
    if plan.expression.type.kind is FigureKind.MONEY:
        each = {units.get(term.base.measure.key, unit) for term in plan.weighted_terms}
        unit = next(iter(each)) if len(each) == 1 else MIXED
    return RowColumn(CONTRIBUTION, worded(CONTRIBUTION), "amount", unit, places)


def unit_of(kind: FigureKind, reader: Reader) -> str:
    """Return the unit of amounts of a figure kind."""
    return reader.catalogue.currency if kind is FigureKind.MONEY else "number"


def worded(name: str) -> str:
    """Return the humanised name of a column without a label."""
    return name.replace("_", " ").capitalize()


def values_of(column: RowColumn, domain: Domain, rows: pl.DataFrame, reader: Reader) -> list[RowValue]:
    """Return the values of a column: period codes, ids, exact amounts or text."""
    name = DATE if column.kind == "date" else column.name
    if name not in rows.columns:
        return [None] * rows.height
    values = rows[name].to_list()
    match column.kind:
        case "date":
            calendar = reader.catalogue.calendar
            return [None if day is None else calendar.code_at(day, domain.grain) for day in watched(values)]
        case "member":
            members = reader.members(name)
            ids = members.member_ids if isinstance(members, LeafMembers) else ()
            return [ids[code] if code else None for code in watched(values)]
        case "amount":
            unit = 10 ** domain.measures[name].places
            return [None if units is None else Exact(units, unit) for units in watched(values)]
    return values


def labels_of(
    columns: Sequence[RowColumn], found: Sequence[Sequence[RowValue]], reader: Reader
) -> dict[str, dict[str, str]]:
    """Return the labels of the members shown, by dimension and id."""
    labels = {}
    for column, values in zip(columns, found, strict=True):
        if column.kind == "member":
            members = reader.members(column.name)
            known = {
                member: members.label(member) for member in watched(dict.fromkeys(values)) if isinstance(member, str)
            }
            labels[column.name] = {member: label for member, label in watched(known.items()) if label != member}
    return {name: known for name, known in labels.items() if known}
