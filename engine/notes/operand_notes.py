"""Notes on operands of formulas that are there in part: open ones without a row, and those with fewer periods."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date

from engine.model.calendar.periods import Grain, Period
from engine.model.catalogue import Base
from engine.model.errors import quoted
from engine.model.evaluation import FigureColumn, is_whole
from engine.model.exact import Exact
from engine.model.formulas import Figure, Operand, UndefinedFigure, formulas_used
from engine.model.notes import NAMED, Note
from engine.model.stopping import watched
from engine.plans.expressions import Expression, FormulaExpression
from engine.plans.figures import FigurePlan, Figures
from engine.plans.plan_reads import formula_read
from engine.plans.windows import ColumnRead, DomainRead


def column_reads(plan: FigurePlan) -> Sequence[ColumnRead]:
    """Return the column reads of the columns of a plan, each once, without those of operands alone."""
    return list(dict.fromkeys(read for column in plan.columns for read in column))


def open_operand_notes(figures: Figures) -> Iterator[Note]:
    """Yield the notes on operands that count as 0 in a period because it is open and they have no row."""
    for column_read in column_reads(figures.plan) if figures.plan.reads.formulas else ():
        yield from open_operands(figures, column_read)


def open_operands(figures: Figures, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the notes of `open_operand_notes` in one column read."""
    plan = figures.plan
    latest = max((window.spans[-1].last for window in watched(column_read.windows) if window.spans), default=date.min)
    for alike in plan.reads.operands:
        base, domain_read = alike[0].base, column_read.domain_read(alike[0].base.domain)
        if not may_be_open(domain_read, latest):
            continue
        gappy = [operand for operand in alike if not is_whole(figures.of(operand, column_read))]
        if not gappy:
            continue
        lines: dict[str, None] = {}
        names: dict[str, None] = {}
        for places in watched(places_by_time(figures)):
            days = plan.window_resolver.rule_days(base, column_read.windows[figures.places[places[0]].time])
            if not days.spans or not plan.presences.open_span(domain_read, days):
                continue
            missing = {operand.base for operand in gappy if not is_there(figures.of(operand, column_read), places)}
            for row, expression in plan.reads.formulas.items() if missing else ():
                lacking = [
                    operand.name
                    for operand in expression.column_operands
                    if operand.base in missing and is_used(figures, expression, operand.base, column_read, places)
                ]
                if lacking:
                    lines[row.key] = None
                    names.update(dict.fromkeys(lacking))
        if lines:
            yield Note.of(
                "open_period",
                lines=tuple(lines),
                scenarios=(column_read.side.key,),
                scenario=column_read.side.key,
                domain=base.domain,
                operands=tuple(names),
            )


def may_be_open(domain_read: DomainRead, last: date) -> bool:
    """Tell whether days up to one may be open; some of them are read from a scenario that is not closed so far."""
    each = (term_span.term.scenario.open_after(domain_read.domain) for term_span in domain_read.term_spans)
    return any(closed is not None and closed < last for closed in each)


def places_by_time(figures: Figures) -> Sequence[Sequence[int]]:
    """Return the positions of the places of each column of time that has any."""
    by_time: dict[int, list[int]] = defaultdict(list)
    for at, place in enumerate(watched(figures.places)):
        by_time[place.time].append(at)
    return [by_time[time] for time in watched(sorted(by_time))]


def is_there(column: Sequence[Figure], places: Sequence[int]) -> bool:
    """Tell whether any of some places has a figure."""
    if isinstance(column, FigureColumn):
        return any(column.numerators[at] is not None for at in watched(places))
    return any(isinstance(column[at], Exact) for at in watched(places))


def is_used(
    figures: Figures, expression: Expression, base: Base, column_read: ColumnRead, places: Sequence[int]
) -> bool:
    """Tell whether an expression has a figure at any of some places that is made of a base: of a choice, one branch."""
    column = figures.of(expression, column_read)
    if not expression.applies_function:
        return is_there(column, places)
    there = [at for at in watched(places) if isinstance(column[at], Exact)]
    return any(base in bases_used(figures, expression, column_read, at) for at in watched(there))


def bases_used(figures: Figures, expression: Expression, column_read: ColumnRead, at: int) -> frozenset[Base]:
    """Return the bases that the figure of an expression at a place is made of, in the scenario of the column."""
    if not isinstance(expression, FormulaExpression):
        return frozenset(operand.base for operand in expression.column_operands)
    column_read = formula_read(expression, column_read, figures.plan.column_read)
    each = {name: figures.of(part, column_read)[at] for name, part in expression.parts.items()}

    def operand(name: str) -> Exact | None:
        figure = each[name]
        if isinstance(figure, Exact):
            return figure
        if not expression.types[name].additive:
            raise UndefinedFigure
        return None

    used = {part.name for part in formulas_used(expression.formula, operand) if isinstance(part, Operand)}
    return frozenset[Base]().union(
        *(bases_used(figures, expression.parts[name], column_read, at) for name in watched(used))
    )


def part_notes(figures: Figures) -> Iterator[Note]:
    """Yield the notes on flows that are loaded for fewer periods of the total than others of the same formula."""
    each = (base for row in figures.plan.reads.formulas.values() for base in row.day_bases.values())
    domains = sorted({base.domain for base in each if base.over_time.is_flow})
    for column_read in column_reads(figures.plan) if len(domains) > 1 else ():
        yield from parts_of_flows(figures, domains, column_read)


def parts_of_flows(figures: Figures, domains: Sequence[str], column_read: ColumnRead) -> Iterator[Note]:
    """Yield the notes of `part_notes` in one column read."""
    plan = figures.plan
    lacking = {domain: lacked_periods(plan, column_read, domain) for domain in domains}
    for domain, lacks in lacking.items():
        lines: dict[str, None] = {}
        operands: dict[str, None] = {}
        for row, expression in plan.reads.formulas.items() if lacks else ():
            adding = [operand for operand in expression.column_operands if operand.base.over_time.is_flow]
            total = [len(figures.places) - 1]
            names = [
                operand.name
                for operand in adding
                if operand.base.domain == domain and is_used(figures, expression, operand.base, column_read, total)
            ]
            others = {operand.base.domain for operand in adding if operand.base.domain != domain}
            has_more = any(set(lacks) - set(lacking[other]) for other in others)
            if names and has_more:
                lines[row.key] = None
                operands.update(dict.fromkeys(names))
        if lines:
            yield part_note(plan, column_read, domain, lacks, tuple(lines), tuple(operands))


def part_note(
    plan: FigurePlan,
    column_read: ColumnRead,
    domain: str,
    lacks: Sequence[Period],
    lines: tuple[str, ...],
    operands: tuple[str, ...],
) -> Note:
    """Return the note on a domain that is loaded for a part of the periods of a total."""
    dates = plan.presences.of(column_read.domain_read(domain)).dates
    calendar, grain = plan.reader.catalogue.calendar, plan.reader.catalogue.domains[domain].grain
    count = len(periods_of(plan, column_read))
    return Note.of(
        "operand_partial",
        lines=lines,
        scenario=column_read.side.key,
        operands=operands,
        part=f"{count - len(lacks)} of {count} {calendar.grains[grain_of(plan)].noun}s",
        domain=domain,
        first=calendar.code_at(dates[0], grain),
        last=calendar.code_at(dates[-1], grain),
        lacks=quoted([period.code for period in lacks], NAMED),
    )


def lacked_periods(plan: FigurePlan, column_read: ColumnRead, domain: str) -> Sequence[Period]:
    """Return the periods of a total before the first and after the last loaded period of a domain; none if all are."""
    domain_read: DomainRead = column_read.domain_read(domain)
    books = plan.presences.loaded(domain_read)
    window = column_read.windows[-1]
    if books is None or not window.spans or window.is_undated:
        return ()
    if books.first <= window.spans[0].first and window.spans[-1].last <= books.last:
        return ()
    periods = periods_of(plan, column_read)
    lacks = [period for period in periods if period.span.overlap(books) is None]
    return lacks if len(lacks) < len(periods) else ()


def periods_of(plan: FigurePlan, column_read: ColumnRead) -> Sequence[Period]:
    """Return the periods that the total of a column reads, between a week and a month long."""
    calendar, grain = plan.reader.catalogue.calendar, grain_of(plan)
    runs = (calendar.touching(span, grain) for span in column_read.windows[-1].spans)
    return list(dict.fromkeys(period for run in runs if run for period in calendar.periods(run)))


def grain_of(plan: FigurePlan) -> Grain:
    """Return the grain in which the periods of a total are counted."""
    asked = plan.query.asked.grain
    return Grain.WEEK if asked is Grain.DATE else plan.reader.catalogue.calendar.at_most_month(asked)
