"""Inspections: the rows behind figures, as values that stand without the books."""

from collections import Counter
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
from engine.model.exact import ZERO, Exact, decimal_places
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
from engine.plans.contributions import RowTotal, at_chosen_close, cause_of_blank, contributions, total_of
from engine.plans.day_causes import NO_ROWS
from engine.plans.freshness import Freshness, freshness_of
from engine.plans.row_amounts import decides, refuse_deciders
from engine.plans.row_plan import RowPlan, plan_rows
from engine.plans.term_reads import sums_read
from engine.plans.windows import split_intervals
from engine.queries.row_choices import count_column, kind_of
from engine.queries.rows import RowQuery, shown_columns
from engine.report.permission import Permission, permission_of
from engine.report.row_reads import MAX_ROWS, ColumnSums, RowsFound, RowTotals, find_rows

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
    """Rows of one scenario of a source, or groups of them with their rows and sums, up to a limit.

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
    totals: RowTotals | None = None  # of all rows, shown or not; None where they are too many
    groups: int | None = None  # of rows counted by columns: how many there are, shown or not
    chosen: Mapping[str, str] = {}  # the order, amounts, text and columns to count by that were asked for, in words
    searched: tuple[str, ...] = ()  # the columns in which a text was looked for
    makes_figure: bool = True  # False where an amount or a text leaves rows out

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
    if plan is not None:
        refuse_deciders(plan)
        plan = at_chosen_close(plan, stop)
    rows = RowsFound(pl.DataFrame()) if plan is None else find_rows(plan, stop)
    total = total_made(plan, rows, stop)
    columns, values = told_rows(query, plan, rows, total, stop, reader)
    own = [(query.side.terms[query.term_index].scenario.id, query.compared)] if query.side else []
    return Inspection(
        source=query.domain.key,
        source_label=query.domain.label,
        scenario=query.side.terms[query.term_index].key if query.side else query.scenario,
        period=query.period,
        filters=query.asked,
        read=() if plan is None else read_by(plan),
        columns=columns,
        rows=list(zip(*values, strict=True)),
        labels=labels_of(columns, values, reader),
        truncated=rows.is_truncated,
        figure=query.written,
        figure_label=plan.named.label if plan and plan.named else None,
        contribution_total=total.total,
        divisor=total.divisor,
        quotient=plan is not None and plan.expression is not None and plan.expression.type.quotient,
        notes=(
            *query.notes,
            *notes_of_rows(query, plan, total, rows, stop),
            *headers(query.filters, [query.domain], own, reader),
        ),
        catalogue_version=reader.catalogue.version,
        data_version=reader.data_version,
        permission=permission_of([query.domain.key], scenarios_of(query), (), reader),
        freshness={} if plan is None else freshness_of_rows(plan),
        totals=totals_of(plan, rows, values[-1] if values else ()),
        groups=rows.groups,
        chosen=query.choices.told,
        searched=query.choices.texts,
        makes_figure=not query.choices.is_narrowed,
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


ToldRows = tuple[tuple[RowColumn, ...], list[Sequence[RowValue]]]  # columns, and the values of each


def told_rows(
    query: RowQuery, plan: RowPlan | None, rows: RowsFound, total: RowTotal, stop: Stop, reader: Reader
) -> ToldRows:
    """Return the columns of rows with their values; the contribution to a figure is the last."""
    units = {} if plan is None else units_of_rows(plan, rows, stop)
    columns = tuple(replace(column, unit=units.get(column.name, column.unit)) for column in columns_of(query, reader))
    values: list[Sequence[RowValue]] = [values_of(column, query.domain, rows.frame, reader) for column in columns]
    if plan is not None and query.choices.count_by:
        count = count_column(shown_columns(query.domain))
        columns = (*columns, RowColumn(count, worded(count), "amount", "number", 0))
        values.append([Exact(number) for number in rows.frame[count].to_list()])
        for name, unit in rows.denominators.items():
            sums = [Exact(number, unit) for number in watched(rows.frame[name].to_list())]
            own = column_of(name, query.domain, reader) if plan.expression is None else None
            summed_column = (
                replace(own, unit=units.get(name, own.unit)) if own else contribution_column(plan, sums, units)
            )
            columns, values = (*columns, summed_column), [*values, sums]
    elif plan is not None and plan.expression is not None:
        row_contributions = contributions(plan, rows.frame, total.decisive)
        columns, values = (*columns, contribution_column(plan, row_contributions, units)), [*values, row_contributions]
    return columns, values


def totals_of(plan: RowPlan | None, rows: RowsFound, row_contributions: Sequence[RowValue]) -> RowTotals | None:
    """Return the totals of all rows, which are those shown unless they were read apart; None if they are too many."""
    if plan is None:
        return RowTotals(0, {})
    if rows.totals is not None or rows.is_truncated:
        return rows.totals
    measures = plan.query.domain.measures
    amounts: dict[str, list[Exact]] = {}
    for name in () if decides(plan) else plan.query.choices.summed:
        each = row_contributions if name == CONTRIBUTION else units_as_amounts(rows.frame[name], measures[name].places)
        amounts[name] = [amount for amount in watched(each) if isinstance(amount, Exact)]
    return RowTotals(rows.frame.height, {name: sums_of(each) for name, each in watched(amounts.items())})


def sums_of(amounts: Sequence[Exact]) -> ColumnSums:
    """Return the sums of some amounts."""
    return ColumnSums(
        sum=added_up(amounts),
        positive=added_up([amount for amount in watched(amounts) if amount.numerator > 0]),
        negative=added_up([amount for amount in watched(amounts) if amount.numerator < 0]),
    )


def added_up(amounts: Sequence[Exact]) -> Exact:
    """Return the sum of some amounts, of those over one denominator first."""
    numerators: Counter[int] = Counter()
    for amount in watched(amounts):
        numerators[amount.denominator] += amount.numerator
    return reduce(Exact.__add__, (Exact(number, unit) for unit, number in watched(numerators.items())), ZERO)


def total_made(plan: RowPlan | None, rows: RowsFound, stop: Stop) -> RowTotal:
    """Return the total contribution: of the figure, or of the rows that are kept if some are left out."""
    if plan is None or plan.expression is None:
        return RowTotal(Nothing.MISSING)
    if plan.query.choices.is_narrowed and rows.totals is not None:
        sums = rows.totals.sums[CONTRIBUTION]
        return RowTotal(sums.sum if rows.totals.rows else Nothing.MISSING)
    return figure_of(plan, stop)


def notes_of_rows(
    query: RowQuery, plan: RowPlan | None, total: RowTotal, rows: RowsFound, stop: Stop
) -> Iterator[Note]:
    """Yield the notes on a figure that has blanks, and on rows that are too many to add up."""
    if plan is None:
        return
    if plan.named and query.written:
        yield from find_unmet([(query.written, plan.named.expression)], plan.reader)
    if not isinstance(total.total, Exact) and not query.choices.is_narrowed:
        yield from blank_notes(plan, stop)
    if rows.is_truncated and rows.totals is None:
        yield Note.of("rows_not_summed", maximum=f"{MAX_ROWS:,}")


def figure_of(plan: RowPlan, stop: Stop) -> RowTotal:
    """Return the total contribution of all rows to the figure named."""
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
    kind = kind_of(name, domain)
    if kind == "amount":
        measure = domain.measures[name]
        return RowColumn(name, label, kind, unit_of(measure.kind, reader), measure.places)
    return RowColumn(name, label, kind)


def units_of_rows(plan: RowPlan, rows: RowsFound, stop: Stop) -> dict[str, str]:
    """Return the currency of each measure whose rows name it, MIXED for several: of all rows, shown or not."""
    units: dict[str, str] = {}
    for name, measure in plan.query.domain.measures.items():
        if measure.currency is not None and measure.currency in plan.columns:
            is_whole = rows.groups is None and not rows.is_truncated
            frame = rows.frame if is_whole else currencies_read(plan, measure.currency, stop)
            codes = frozenset(frame[measure.currency].unique().to_list())
            units |= {name: currency_of(measure.currency, codes, plan.reader)} if codes else {}
    return units


def currencies_read(plan: RowPlan, currency: str, stop: Stop) -> pl.DataFrame:
    """Return the codes of the currencies of all rows of a plan."""
    spans = split_intervals([term.window for term in plan.weighted_terms], plan.domain_read.boundaries)
    cell = reduce(or_, (term.cell for term in plan.weighted_terms), NOTHING)
    read = sums_read(plan.domain_read, plan.term_span, spans, (currency,), (), cell)
    (currencies,) = plan.reader.collect([read.pipe(lambda sums: sums.select(currency).unique())], stop)
    return currencies


def contribution_column(plan: RowPlan, amounts: Sequence[Exact], units: Mapping[str, str]) -> RowColumn:
    """Return the contribution column, in the currency of what it adds up.

    It has the decimal places of the amounts, or more if weights need them.
    """
    assert plan.expression is not None  # noqa: S101 - asked only where a figure is named
    least = max(0 if term.base.over_members.counts else term.base.measure.places for term in plan.weighted_terms)
    digits = (decimal_places(amount.reduced()[1]) or 0 for amount in watched(amounts))
    places = min(max(least, *digits, 0), MOST_PLACES)
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
            return units_as_amounts(rows[name], domain.measures[name].places)
    return values


def units_as_amounts(units: pl.Series, places: int) -> list[RowValue]:
    """Return amounts that facts hold as integers of their last decimal place."""
    unit = 10**places
    return [None if number is None else Exact(number, unit) for number in watched(units.to_list())]


def labels_of(
    columns: Sequence[RowColumn], values_by_column: Sequence[Sequence[RowValue]], reader: Reader
) -> dict[str, dict[str, str]]:
    """Return the labels of the members shown, by dimension and id."""
    labels = {}
    for column, values in zip(columns, values_by_column, strict=True):
        if column.kind == "member":
            members = reader.members(column.name)
            names = {
                member: members.label(member) for member in watched(dict.fromkeys(values)) if isinstance(member, str)
            }
            labels[column.name] = {member: label for member, label in watched(names.items()) if label != member}
    return {name: names for name, names in labels.items() if names}
