"""Execution of a report plan: collects its frames and builds the report."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from engine.model.calendar.periods import Grain, Period, PeriodRange
from engine.model.catalogue import Base
from engine.model.evaluation import FigureCube
from engine.model.notes import Note
from engine.model.scenarios import Side
from engine.model.scope import Cuts
from engine.model.stopping import watched
from engine.notes.currency_notes import MIXED
from engine.notes.days import switch_days
from engine.notes.outside_notes import outside_reads
from engine.notes.report_reads import ReportFigures, collected, report_reads
from engine.notes.table import report_notes
from engine.plans.expressions import MeasureExpression
from engine.plans.figures import FigurePlan, MetricPlan, ReportPlan, StatementPlan
from engine.plans.freshness import Freshness, freshness
from engine.plans.plan_reads import CARRIED
from engine.plans.report_size import MOST_GROUPS, ReportSize, report_size
from engine.plans.rows import Row
from engine.plans.windows import ColumnRead
from engine.queries.values import ScenarioColumn
from engine.report.blanks import blank_notes
from engine.report.currencies import shown_currencies
from engine.report.data import (
    Comparison,
    LinesLeftOut,
    MemberTuple,
    ReportColumn,
    ReportLine,
    ShownMateriality,
    period_key,
    style_of,
)
from engine.report.drill import column_drill, drill_rule, line_drill
from engine.report.figure_table import FigureTable, MemberRow
from engine.report.line_members import member_rows
from engine.report.permission import Permission, permission_of, size_of
from engine.report.ranking import order_plan, report_table, stays_in_frames
from engine.report.report import Report
from engine.report.shown_lines import MaterialLines, asked_lines
from engine.report.views import ReportViews

NODES = ("node", "own", "memo")  # kinds of row


def run(
    plan: ReportPlan, most_groups: int = MOST_GROUPS, admit: Callable[[ReportSize], None] = lambda _: None
) -> Report:
    """Collect the frames of a plan and return the report.

    `admit` is called with the size of the report before any amount is read. Raises BadArguments if the report is too
    large, and what `admit` raises.
    """
    ranking = plan.ranking if isinstance(plan, MetricPlan) else None
    views = ReportViews.of(plan) if plan.figures.query.views else None
    is_asked = asked_lines(plan)
    if ranking is None:
        plan = replace(plan, figures=replace(plan.figures, shows_named=True))
    if ranking and stays_in_frames(plan.figures, ranking):
        plan = replace(plan, figures=replace(plan.figures, framed=True))
    planned = plan.figures
    admit(report_size(planned, ranking, most_groups, admit))
    covers = planned.reader.statements[plan.key].covers if isinstance(plan, StatementPlan) else ()
    order, outside = order_plan(planned, ranking), tuple(outside_reads(planned, covers))
    (found,) = collected([report_reads(planned, order, outside, ranking if planned.framed else None)])
    read = report_table(planned, found, ranking)
    table = views.table(read) if views else read
    is_seen: Sequence[bool] = [
        is_line and (row.kind != "own" or table.by_row.holds(at))
        for at, (row, is_line) in enumerate(zip(planned.rows, is_asked, strict=True))
    ]
    lines = (
        MaterialLines(found.figures, read, plan.materiality, is_seen)
        if isinstance(plan, StatementPlan) and plan.materiality
        else None
    )
    of_members: Sequence[Note] = ()
    if lines:
        members, of_members = member_rows(lines, most_groups, admit)
        is_seen, table = lines.is_shown, read.with_members(members)
        table = views.table(table) if views else table
    shown = [at for at, seen in enumerate(is_seen) if seen]
    said = (
        *planned.query.notes,
        *blank_notes(planned, table, [*is_seen, *(True for _ in table.members)]),
        *report_notes(found),
        *of_members,
    )
    rows = [planned.rows[at] for at in shown]
    figures, notes_said = table.by_row.only(shown), tuple(dict.fromkeys(said))
    made = made_of(plan, rows, figures, table.places, notes_said, freshness(planned), found.currency)
    made = replace(made, columns=with_windows(made.columns, planned))
    made = with_currencies(made, found) if made.currency == MIXED else made
    made = replace(made, columns=views.columns(made.columns)) if views else made
    return with_materiality(with_members(made, table, shown), lines, plan) if lines else made


def with_members(made: Report, table: FigureTable, shown: Sequence[int]) -> Report:
    """Return the report of a statement with rows of members below its lines, which are some rows of the table."""
    if not table.members:
        return made
    first, below = len(table.by_row) - len(table.members), defaultdict[int, list[int]](list)
    for at, member in enumerate(table.members, first):
        below[member.line].append(at)
    own = dict(zip(shown, made.lines, strict=True))
    order = [at for line in shown for at in (line, *below[line])]
    lines = [own[at] if at in own else line_of_members(own, table.members[at - first]) for at in order]
    currencies = {
        each.row.key: made.line_currencies[own[each.line].key]
        for each in table.members
        if own[each.line].key in made.line_currencies
    }
    return replace(
        made,
        lines=tuple(lines),
        figures=table.by_row.in_order(order),
        line_currencies={**made.line_currencies, **currencies},
    )


def line_of_members(lines: Mapping[int, ReportLine], member: MemberRow) -> ReportLine:
    """Return the report line of a member or the others; `lines` are those of the rows of the plan."""
    row = member.row
    return replace(
        lines[member.line],
        key=row.key,
        label=row.label,
        level=row.level,
        kind=row.kind,
        style=row.style,
        favourable=row.favourable,
        into_parent=row.into_parent,
        drill=member.drill,
        holds=member.holds,
    )


def with_materiality(made: Report, lines: MaterialLines, plan: ReportPlan) -> Report:
    """Return the report of a statement with what its lines had to reach, and what it leaves out.

    Its permission is that of all lines that the request asks for, since what is left out names some.
    """
    each, test = lines_of(plan, lines.rows), lines.test
    comparison = made.columns[test.column].comparison
    left_out = tuple(
        LinesLeftOut(
            lines=len(group.rows),
            largest=each[group.first],
            figure=group.figure,
            below=None if group.below is None else each[group.below].key,
            total=group.total,
        )
        for group in lines.left_out([made.unit(line, comparison) for line in each])
    )
    asked_rows = tuple(row for row, is_line in zip(lines.rows, lines.is_asked, strict=True) if is_line)
    return replace(
        made,
        materiality=ShownMateriality(
            column=test.column,
            amount=test.amount,
            percent=test.percent,
            needs_both=test.needs_both,
            left_out=left_out,
        ),
        permission=permission_of_rows(asked_rows, plan.figures),
    )


def with_currencies(made: Report, found: ReportFigures) -> Report:
    """Return a report of several currencies with those of its lines, columns and places."""
    shown = shown_currencies(found)
    return replace(
        made, line_currencies=shown.lines, columns=shown.columns(made.columns), places=shown.places(made.places)
    )


def outline(plan: ReportPlan) -> Report:
    """Return the least of a report, without reading: its total, every figure 0, no notes, no freshness, no periods."""
    planned = plan.figures
    rows = [row for row in planned.rows if row.kind != "own"]
    views = ReportViews.of(plan) if planned.query.views else None
    columns = len(planned.query.views or planned.query.columns)
    zeros = FigureCube([0] * (len(rows) * columns), [1] * (len(rows) * columns), columns, places=1)
    made = made_of(plan, rows, zeros, (MemberTuple((), is_total=True),), (), {}, planned.reader.catalogue.currency)
    return replace(made, columns=views.columns(made.columns)) if views else made


def made_of(
    plan: ReportPlan,
    rows: Sequence[Row],
    figures: FigureCube,
    places: tuple[MemberTuple, ...],
    said: tuple[Note, ...],
    loaded: Mapping[str, Mapping[str, Freshness]],
    currency: str,
) -> Report:
    """Return the report of a plan: some of its rows with their figures, its notes, freshness and currency."""
    planned, query, catalogue = plan.figures, plan.figures.query, plan.figures.reader.catalogue
    ranking = plan.ranking if isinstance(plan, MetricPlan) else None
    return Report(
        statement=plan.key if isinstance(plan, StatementPlan) else None,
        label=plan.label,
        period=query.asked,
        filters={known.dimension.key: known.asked for known in query.filters} | dict(query.by_time),
        currency=currency,
        scale=query.scale,
        decimals=query.decimals,
        breakdown=tuple(dimension.key for dimension in query.breakdown),
        lines=lines_of(plan, rows),
        columns=tuple(
            column_of(column, readings, planned)
            for column, readings in zip(query.columns, planned.columns, strict=True)
        ),
        places=places,
        drill=drill_rule(planned, cuts=bool(ranking and (ranking.top is not None or ranking.conditions))),
        ranked=ranking is not None and ranking.is_ordered,
        time=tuple(axis.dimension.key for axis in query.time),
        subtotals=query.nests,
        figures=figures,
        notes=said,
        freshness=loaded,
        catalogue_version=catalogue.version,
        data_version=planned.reader.data_version,
        permission=permission_of_rows(tuple(rows), planned),
    )


def permission_of_rows(rows: tuple[Row, ...], plan: FigurePlan) -> Permission:
    """Return the permission of a report of some rows of a plan, memoised by the books."""
    reader = plan.reader
    domains = (*(domain.key for domain in plan.query.domains), *plan.domains)

    def make() -> Permission:
        return permission_of(domains, scenarios_of(plan), nodes_of(rows), reader)

    return reader.memo_as_seen(
        ("permission of rows", rows, domains, plan.references, plan.reads.operand_sides), make, size_of
    )


def scenarios_of(plan: FigurePlan) -> Iterator[str]:
    """Yield the scenarios that a plan's columns and operands read."""
    for reading in plan.distinct_reads:
        yield from (term.scenario.id for term in reading.side.terms)


def nodes_of(rows: Iterable[Row]) -> Cuts:
    """Return the nodes that rows show: the last cut of each node row."""
    shown = (row.expression for row in rows if row.kind in NODES)
    return tuple(node.base.where[-1] for node in shown if isinstance(node, MeasureExpression))


def lines_of(plan: ReportPlan, rows: Sequence[Row]) -> tuple[ReportLine, ...]:
    """Return the report lines of some rows of a plan. The books memoise those of a statement."""
    planned = plan.figures
    if isinstance(plan, MetricPlan):
        return tuple(line_of(row, planned) for row in rows)
    key = ("lines", planned.rows, planned.availability)
    known = planned.reader.memo_as_seen(key, lambda: {row: line_of(row, planned) for row in planned.rows}, len)
    return tuple(known[row] for row in rows)


def line_of(row: Row, plan: FigurePlan) -> ReportLine:
    """Return the report line of a row."""
    return ReportLine(
        key=row.key,
        label=row.label,
        level=row.level,
        kind=row.kind,
        style=row.style,
        favourable=row.favourable,
        format=row.format,
        type=row.type,
        into_parent=row.into_parent,
        repeats_over=plan.availability.missing_dimensions(row.expression) if row.expression else (),
        drill=line_drill(row, plan),
    )


def column_of(column: ScenarioColumn, readings: tuple[ColumnRead, ...], plan: FigurePlan) -> ReportColumn:
    """Return the report column of a scenario."""
    reference = column.reference
    window: PeriodRange | None = None
    if isinstance(reference, Side):
        comparison = Comparison.FIGURE
        moved = reference.window(plan.reader.catalogue.calendar, plan.query.asked) if reference.shifts else None
        window = moved if moved != plan.query.asked and not reference.opens else None
    else:
        comparison = Comparison.SHARE if reference.relative else Comparison.VARIANCE
    return ReportColumn(
        heading=column.heading,
        scenario=reference.key,
        comparison=comparison,
        style=style_of(reference),
        window=window,
        drill=column_drill(reference, readings, plan),
        close=close_of(readings, plan) if plan.query.time else None,
        switches=switches_of(readings, plan),
    )


def switches_of(readings: Iterable[ColumnRead], plan: FigurePlan) -> dict[str, str]:
    """Return the last month of the first scenario of a blend by domain, the day itself where it ends no month."""
    calendar, codes = plan.reader.catalogue.calendar, dict[str, str]()
    for domain, day in (known for read in readings for known in switch_days(plan, read).items()):
        month = calendar.at(day, Grain.MONTH)
        codes[domain] = month.code if month and month.last == day else day.isoformat()
    return codes


def close_of(readings: Iterable[ColumnRead], plan: FigurePlan) -> str | None:
    """Return the label of the closes that the balances in the total of a column are; None if it has no balances."""
    closes = [period_closed(base, read, plan) for read in readings for base in plan.reads.closes]
    return " and ".join(dict.fromkeys(period.label for period in closes if period)) or None


def period_closed(base: Base, read: ColumnRead, plan: FigurePlan) -> Period | None:
    """Return the period at whose end a balance of the total of a column read stands; None if there is none."""
    calendar, window, domain_read = plan.reader.catalogue.calendar, read.windows[-1], read.domain_read(base.domain)
    if base.over_time.rule not in CARRIED:
        anchor = plan.window_resolver.anchor(domain_read, base, window)
        return anchor.period if anchor else None
    loaded = plan.presences.loaded_to(domain_read)
    return calendar.at(min(window.last, loaded), calendar.at_most_month(plan.grain)) if window.last and loaded else None


def with_windows(columns: Iterable[ReportColumn], plan: FigurePlan) -> tuple[ReportColumn, ...]:
    """Return the columns of a report with what the shifted ones show in the periods of its breakdown."""
    asked = (column.reference for column in plan.query.columns)
    return tuple(
        replace(column, windows=windows_of_periods(side, plan))
        if isinstance(side, Side) and side.shifts and not side.opens
        else column
        for column, side in zip(columns, asked, strict=True)
    )


def windows_of_periods(side: Side, plan: FigurePlan) -> dict[str, PeriodRange]:
    """Return the ranges that a shifted side shows in the periods of a breakdown, where they differ from these."""
    calendar, found = plan.reader.catalogue.calendar, {}
    for column in watched(plan.times):
        moved = [window for run in side.decisive(column.runs) if (window := side.window(calendar, run))]
        if moved and moved != list(column.runs):
            ids = (axis.member(period) for axis, period in zip(plan.query.time, column.periods, strict=False))
            found[period_key(ids)] = PeriodRange(moved[0].start, moved[-1].end)
    return found
