"""Absences: the notes on a range without rows of what a report asks for, with the loaded periods that have some.

A presence is asked only for what is blank in the whole range, inside the scope: of members that nobody loaded and of
hidden ones nothing is asked.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import reduce
from itertools import chain, islice
from operator import and_, or_

from engine.model.calendar.periods import Grain, Period, Span
from engine.model.catalogue import Base
from engine.model.errors import first_of, more_than, quoted
from engine.model.fact_store import Presence
from engine.model.formulas import Nothing
from engine.model.notes import NAMED, Note
from engine.model.requests import Exclusion
from engine.model.scope import EVERYTHING, Cell, CodeSet, Cut
from engine.model.stopping import watched
from engine.plans.figures import FigurePlan, Figures
from engine.plans.measure import held_members
from engine.plans.places import named_members
from engine.plans.windows import ColumnRead, DateWindow, DomainRead
from engine.queries.values import Filter

MAX_ASKED = 5  # presences of a note


def absence_notes(figures: Figures) -> Iterator[Note]:
    """Yield the notes on what has no rows in a range: what is asked of a domain, and members of a breakdown."""
    plan = figures.plan
    reads = [read for read in plan.distinct_reads if is_told(read)]
    groups = (
        (column_read, domain, group)
        for column_read in reads
        for domain in plan.domains
        for group in groups_without_rows(figures, column_read, domain)
    )
    for column_read, domain, group in islice(groups, MAX_ASKED):
        yield from rows_elsewhere(plan, column_read, domain, group)
    for column_read in reads[:1]:
        yield from members_without_rows(figures, column_read)


def is_told(column_read: ColumnRead) -> bool:
    """Tell whether a column read is of the days of a range, not of those before it nor of rows without a date."""
    window = column_read.windows[-1]
    return bool(window.spans) and not window.is_undated and not column_read.side.opens


def groups_without_rows(figures: Figures, column_read: ColumnRead, domain: str) -> Iterator[Sequence[Base]]:
    """Yield the bases of a domain that are missing in the total, together if all are, else each if they are few.

    A range outside the books has a note of its own.
    """
    rows = (row.expression for row in watched(figures.plan.rows) if row.expression)
    operands = {operand.base: operand for expression in rows for operand in expression.column_operands}
    own = [operand for base, operand in operands.items() if base.domain == domain and not base.own]
    if not own or not lies_in_books(figures, own[0].base, column_read):
        return
    lacking = [each.base for each in own if figures.of(each, column_read)[-1] is Nothing.MISSING]
    if len(lacking) == len(own):
        yield lacking
    elif len(own) <= MAX_ASKED:
        yield from ([base] for base in lacking)


def lies_in_books(figures: Figures, base: Base, column_read: ColumnRead) -> bool:
    """Tell whether some day of the range of a column read lies in the loaded periods."""
    days, window = figures.day_causes, column_read.windows[-1]
    return not (days.not_loaded(base, column_read, window) or days.outside(base, column_read, window))


def rows_elsewhere(plan: FigurePlan, column_read: ColumnRead, domain: str, bases: Sequence[Base]) -> Iterator[Note]:
    """Yield the note on bases of a domain without rows in the range, unless its days have some."""
    domain_read, window = column_read.domain_read(domain), column_read.windows[-1]
    if not all(names_seen(known) for known in filters_of(plan, domain)):
        return
    cell = filtered(plan, domain) & reduce(or_, (plan.reader.cut_cell(base.where) for base in bases))
    days = days_with_rows(plan, domain_read, cell)
    if any(days.holds(span) for span in window.spans):
        return
    yield Note.of(
        "rows_elsewhere",
        scenario=column_read.side.key,
        domain=domain,
        what=" of ".join(filter(None, (lines_words(plan, bases), filters_words(plan, domain)))),
        range=codes_of(plan, domain, window),
        loaded=loaded_words(plan, domain_read, window),
        periods=f"It has {periods_words(plan, domain, days)}.",
    )


def members_without_rows(figures: Figures, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the note on members without rows that the filter of a breakdown names, if others have some."""
    plan = figures.plan
    ids = {member for (member,) in watched(named_members(plan.query, plan.axes))}
    named = next((known for known in plan.query.filters if plan.axes and known.dimension.key == plan.axes[0].key), None)
    if not ids or named is None or not plan.shows_named:
        return
    with_rows = {members[0] for members in watched(held_members(chain.from_iterable(figures.amounts.values())))}
    without = ids - with_rows
    lacking = [member for member in watched(named.members) if member in without]
    domain = plan.query.domains[0].key
    base = next((base for base in plan.bases if base.domain == domain), None)
    if not lacking or not with_rows or base is None or not lies_in_books(figures, base, column_read):
        return
    domain_read, window = column_read.domain_read(domain), column_read.windows[-1]
    words = []
    for member in lacking[:NAMED]:
        codes = plan.reader.cut_codes(Cut(named.dimension.key, (member,)))
        cell = filtered(plan, domain) & seen_cell(plan, named.dimension.leaf, codes)
        days = days_with_rows(plan, domain_read, cell)
        words.append(f"'{member}' ({periods_words(plan, domain, days)})")
    yield Note.of(
        "members_without_rows",
        scenario=column_read.side.key,
        dimension=named.dimension.key,
        range=codes_of(plan, domain, window),
        loaded=loaded_words(plan, domain_read, window),
        periods=more_than(words, len(lacking) - NAMED),
    )


def filtered(plan: FigurePlan, domain: str) -> Cell:
    """Return the cell of the filters of a plan by dimensions of a domain."""
    cells = (seen_cell(plan, known.dimension.leaf, known.leaves) for known in filters_of(plan, domain))
    return reduce(and_, cells, EVERYTHING)


def filters_of(plan: FigurePlan, domain: str) -> Sequence[Filter]:
    """Return the filters of a plan by dimensions of a domain."""
    leaves = plan.reader.catalogue.domains[domain].dimensions
    return [known for known in plan.query.filters if known.dimension.leaf in leaves]


def filters_words(plan: FigurePlan, domain: str) -> str:
    """Return the filters of a plan by dimensions of a domain in words."""
    return " and ".join(map(words_of, filters_of(plan, domain)))


def lines_words(plan: FigurePlan, bases: Sequence[Base]) -> str:
    """Return the rows of a plan that read some bases, and no others, by their keys."""
    read = {row.key: {each.base for each in row.expression.column_operands} for row in plan.rows if row.expression}
    return first_of([key for key, own in read.items() if own and own <= set(bases)], NAMED)


def seen_cell(plan: FigurePlan, leaf: str, codes: Iterable[int]) -> Cell:
    """Return the cell of those leaves that the caller sees: a leaf of hidden rows alone is one that nobody loaded."""
    return Cell.where(leaf, CodeSet(frozenset(codes)) & plan.reader.visible_codes(leaf))


def names_seen(known: Filter) -> bool:
    """Tell whether a filter names a member that the caller sees."""
    return isinstance(known.asked, Exclusion) or bool(known.members)


def words_of(known: Filter) -> str:
    """Return a filter in words: the visible members that it names."""
    key = known.dimension.key
    if isinstance(known.asked, Exclusion):
        return f"{key} without {quoted(known.excluded or (), NAMED)}" if known.excluded else key
    return f"{key} {quoted(known.members, NAMED)}"


def days_with_rows(plan: FigurePlan, domain_read: DomainRead, cell: Cell) -> Presence:
    """Return the days on which a domain read has rows of a cell inside the scope."""
    dates: set[date] = set()
    for term_span in () if cell.is_nothing else domain_read.term_spans:
        presence = plan.reader.presence(domain_read.domain, term_span.term.scenario.id, cell, domain_read.shared)
        dates.update(presence.days(term_span.days))
    return Presence(tuple(sorted(dates)), 0)


def grain_of(plan: FigurePlan, domain: str) -> Grain:
    """Return the grain in which periods are told: months, or that of a coarser domain."""
    month = plan.reader.catalogue.calendar.at_most_month(Grain.YEAR)
    return max(plan.reader.catalogue.domains[domain].grain, month, key=lambda grain: grain.fineness)


def codes_of(plan: FigurePlan, domain: str, window: DateWindow) -> str:
    """Return the periods from the first to the last day of a window."""
    calendar, grain = plan.reader.catalogue.calendar, grain_of(plan, domain)
    grain = min(grain, plan.grain, key=lambda known: known.fineness)
    return ends_of([calendar.code_at(day, grain) for day in (window.spans[0].first, window.spans[-1].last)])


def ends_of(codes: Sequence[str]) -> str:
    """Return the first and the last of some codes."""
    return codes[0] if codes[0] == codes[-1] else f"{codes[0]} to {codes[-1]}"


def loaded_words(plan: FigurePlan, domain_read: DomainRead, window: DateWindow) -> str:
    """Return to where a domain read is loaded, if the window goes on after it."""
    loaded, last, calendar = (
        plan.presences.loaded_to(domain_read),
        window.spans[-1].last,
        plan.reader.catalogue.calendar,
    )
    if loaded is None or loaded >= last:
        return ""
    codes = [calendar.code_at(day, grain_of(plan, domain_read.domain)) for day in (loaded, last)]
    return f" (loaded to {codes[0]})" if codes[0] != codes[1] else ""


def periods_words(plan: FigurePlan, domain: str, days: Presence) -> str:
    """Return the periods that have rows in words."""
    if not days.dates:
        return "none in any loaded period"
    calendar, grain = plan.reader.catalogue.calendar, grain_of(plan, domain)
    periods: Sequence[Period] = days.periods(Span(days.dates[0], days.dates[-1]), calendar, grain)
    if not periods:
        return f"rows from {days.dates[0].isoformat()} to {days.dates[-1].isoformat()}"
    codes = ends_of([period.code for period in (periods[0], periods[-1])])
    if len(periods) < periods[-1].ordinal - periods[0].ordinal + 1:
        return f"rows in {len(periods)} {calendar.grains[grain].noun}s of {codes}"
    return f"rows in {codes}"
