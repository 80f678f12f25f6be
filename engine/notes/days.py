"""Notes on the rows, days and sides of a plan, whatever its figures are."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.aggregation import TimeRule
from engine.model.calendar.steps import COUNTED, periods_back
from engine.model.catalogue import Base
from engine.model.errors import first_of, quoted
from engine.model.notes import NAMED, Note
from engine.model.scenarios import Side, Variance
from engine.model.stopping import watched
from engine.plans.expressions import Expression, MeasureExpression
from engine.plans.figures import FigurePlan
from engine.plans.plan_reads import formula_read, leaf_reads
from engine.plans.presence import Anchor
from engine.plans.windows import ColumnRead, DateWindow, DomainRead, periods_in_books


def unmet_notes(plan: FigurePlan) -> Sequence[Note]:
    """Return the note on metrics whose condition no visible member meets, with the lines that use them; or none."""
    key = ("unmet conditions", plan.rows)
    rows = ((row.key, row.expression) for row in plan.rows if row.expression)
    return plan.reader.memo_as_seen(key, lambda: find_unmet(rows, plan.reader), len)


def find_unmet(figures: Iterable[tuple[str, Expression]], reader: Reader) -> Sequence[Note]:
    """Return the notes of `unmet_notes`."""
    lines: dict[str, None] = {}
    metrics: dict[str, None] = {}
    for line, expression in figures:
        unmet = [operand.name for operand in expression.operands if is_unmet(operand, reader)]
        lines.update({line: None} if unmet else {})
        metrics.update(dict.fromkeys(unmet))
    return [Note.of("condition_unmet", lines=tuple(lines), metrics=tuple(metrics))] if lines else []


def is_unmet(operand: MeasureExpression, reader: Reader) -> bool:
    """Tell whether no visible member meets a condition of a metric."""
    cuts = (cut for cut in operand.base.where if not cut.deny and cut.dimension in reader.dimensions)
    return any(not any(reader.sees(cut.dimension, member) for member in watched(cut.ids)) for cut in cuts)


def repeat_notes(plan: FigurePlan) -> Sequence[Note]:
    """Return the notes on rows that repeat their aggregate."""
    key = ("repeat notes", plan.rows, plan.availability)
    return plan.reader.memo_as_seen(key, lambda: list(find_repeats(plan)), len)


def whole_notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on formulas and filtered lines that use the whole figure of a metric that repeats."""
    availability = plan.availability
    for row in plan.rows if availability.dimensions or availability.filters else ():
        if row.expression is None or availability.why_not(row.expression):
            continue
        alone = isinstance(row.expression, MeasureExpression)
        for operand in row.expression.operands:
            across = () if alone else availability.missing_dimensions(operand)
            lacking = dict.fromkeys((*across, *availability.missing_filters(operand.base)))
            if operand.base.repeats and lacking:
                keys = " and no ".join(lacking)
                yield Note.of(
                    "whole", domain=operand.base.domain, dimensions=keys, operands=(operand.name,), lines=(row.key,)
                )


def find_repeats(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes of `repeat_notes`."""
    availability = plan.availability
    repeats: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in plan.rows:
        if row.expression is None or availability.why_not(row.expression):
            continue
        unavailable = availability.why_not_by_time(row.expression) or availability.why_not_by_member(row.expression)
        if not unavailable and (lacking := availability.missing_dimensions(row.expression)):
            domain = row.expression.bases[0].domain
            repeats[domain, " and no ".join(lacking)].append(row.key)
    for (domain, dimensions), lines in repeats.items():
        yield Note.of("aggregate", domain=domain, dimensions=dimensions, lines=quoted(lines, NAMED))


def window_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the note that each period of a breakdown has a window of its own in a shifted view."""
    if has_own_windows(plan, column_read.side):
        yield Note.of("own_windows", scenario=column_read.side.key, window=column_read.windows[-1].label)


def range_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the note that the window of a shifted view replaces the range."""
    side, asked = column_read.side, plan.query.asked
    if side.has_window and not side.opens and asked.count > 1 and not has_own_windows(plan, side):
        window = side.window(plan.reader.catalogue.calendar, asked)
        if window is not None:
            yield Note.of("window_replaces_range", scenario=side.key, window=window.label)


def short_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the note on windows of a number of periods that begin before the books."""
    side = column_read.side
    summed = (base.domain for base in plan.bases if base.over_time.is_flow or base.over_time.rule is TimeRule.AVERAGE)
    for domain in dict.fromkeys(summed if side.counts_periods else ()):
        windows = plan.carried(domain, column_read)
        each = list(zip(windows, plan.times, strict=False)) if plan.times else [(windows[-1], None)]
        parts = [
            f"{part} in {column.periods[-1].code}" if column else part
            for window, column in watched(each)
            if (part := part_in_books(plan, column_read.domain_read(domain), window))
        ]
        if parts:
            yield Note.of("short_window", scenario=side.key, domain=domain, parts=first_of(parts, NAMED))


def part_in_books(plan: FigurePlan, domain_read: DomainRead, window: DateWindow) -> str | None:
    """Return how many periods of a window do not lie before the books, as "1 of 3 months"; None if all or none do."""
    calendar, grain = plan.reader.catalogue.calendar, next(iter(window.grains), plan.grain)
    held = periods_in_books(window, grain, plan.presences.loaded(domain_read), calendar)
    return f"{held[0]} of {held[1]} {calendar.grains[grain].noun}s" if held else None


def overlap_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the note on an earlier range that shares days with the range: its step is shorter than the range."""
    side, asked, calendar = column_read.side, plan.query.asked, plan.reader.catalogue.calendar
    if asked.count == 1 or side.has_window or not side.moves_by_period:
        return
    window = side.window(calendar, asked)
    if window is not None and window.span.overlap(asked.span):
        instead = ""
        if len(side.shifts) == 1 and asked.count in COUNTED["pp"].counts:
            view = replace(side, shifts=(periods_back(asked.count),))
            instead = f" {view.key} is the {asked.count} {calendar.grains[asked.grain].noun}s before it."
        yield Note.of("range_overlaps", scenario=side.key, window=window.label, period=asked.label, instead=instead)


def has_own_windows(plan: FigurePlan, side: Side) -> bool:
    """Tell whether a shifted view has a window for each period of a breakdown, which do not make up its total."""
    if len(plan.times) < 2 or not (side.has_window or side.moves_by_period):
        return False
    asked = plan.query.asked
    other_grain = any(axis.grain is not asked.grain for axis in plan.query.time)
    return (side.has_window or other_grain) and side.window(plan.reader.catalogue.calendar, asked) is not None


def variant_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the notes on domains that an adjustment of a variant cannot change."""
    dimensions, side = plan.reader.dimensions, column_read.side
    for adjustment in (known for term in side.terms if term.variant for known in term.variant.adjustments):
        if not all(cut.dimension in dimensions for cut in adjustment.where):
            continue  # it changes nothing that is visible
        for domain in plan.query.domains:
            lacking = [
                cut.dimension for cut in adjustment.where if dimensions[cut.dimension].leaf not in domain.dimensions
            ]
            if lacking:
                yield Note.of(
                    "variant_untouched", scenario=side.key, dimensions=" and ".join(lacking), domain=domain.key
                )


def blend_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the note on the day after which a blend reads its second scenario, where that lies inside the days read."""
    side = column_read.side
    for domain, last in switch_days(plan, column_read).items():
        first, second = (term.key for term in side.terms)
        yield Note.of(
            "blend_switches", domain=domain, scenario=side.key, first=first, second=second, last=last.isoformat()
        )


def switch_days(plan: FigurePlan, column_read: ColumnRead) -> dict[str, date]:
    """Return the last day of a blend's first scenario by domain, where it lies inside the days read."""
    window = column_read.windows[-1]
    if not window.spans or window.last is None:
        return {}
    boundaries = {domain: column_read.side.boundary(domain) for domain in plan.domains}
    return {domain: day for domain, day in boundaries.items() if day and window.spans[0].first <= day < window.last}


def open_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the note on the open periods of the days read that hold rows. Those of freezes do not change."""
    if all(term.scenario.base for term in column_read.side.terms):
        return
    grain = plan.reader.catalogue.calendar.at_most_month(plan.grain)
    for domain in plan.domains:
        opened = plan.presences.open_codes(column_read.domain_read(domain), column_read.windows[-1:], grain)
        if opened:
            yield Note.of("open_in_range", domain=domain, scenario=column_read.side.key, open=opened)


def anchors(plan: FigurePlan, column_read: ColumnRead) -> list[tuple[Base, Anchor]]:
    """Return the anchor of each stock group for the total of a column read."""
    found = []
    for base in plan.reads.balances:
        anchor = plan.window_resolver.anchor(column_read.domain_read(base.domain), base, column_read.windows[-1])
        if anchor is not None:
            found.append((base, anchor))
    return found


def anchor_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the notes on the anchors of balances."""
    for base, anchor in anchors(plan, column_read):
        yield Note.of(
            "anchor",
            domain=base.domain,
            group=anchor.group.key,
            scenario=column_read.side.key,
            anchor=anchor.period.code,
        )


def closings(plan: FigurePlan, column_read: ColumnRead) -> list[tuple[Base, Anchor]]:
    """Return the anchor of each closing balance for the total of a column read."""
    return [(base, anchor) for base, anchor in anchors(plan, column_read) if not base.over_time.opening]


def anchors_apart(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on closing balances that stand at different dates, in a column or between two sides."""
    if not plan.reads.balances:
        return
    for column_read in plan.distinct_reads:
        closing = closings(plan, column_read)
        if len({anchor.window.last for _, anchor in closing}) > 1:
            yield Note.of(
                "anchors_differ",
                anchors=", ".join(f"{base.domain} at {anchor.period.code}" for base, anchor in closing),
            )
    for variance, pair in compared(plan):
        behind = [
            {
                (base.domain, anchor.group.key): periods_behind(plan, column_read, anchor)
                for base, anchor in closings(plan, column_read)
            }
            for column_read in pair
        ]
        for group, periods in behind[0].items():
            if behind[1].get(group, periods) != periods:
                yield Note.of("anchors_differ", anchors=f"{group[0]} ({group[1]}) of {sides_of(variance)}")


def scopes_apart(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on variances whose sides are cut to what the caller sees in both, and on formulas alike."""
    for variance, pair in compared(plan):
        if any(column_read.shared for column_read in pair):
            yield Note.of("scope_differs", sides=sides_of(variance))
    for row, formula in plan.reads.formulas.items():
        each = (formula_read(formula, read, plan.column_read) for column in plan.columns for read in column)
        for within in each if formula.has_own else ():
            sides = leaf_reads(formula, within)
            if any(shared for _, shared in sides):
                named = " and ".join(dict.fromkeys(side.key for side, _ in sides))
                yield Note.of("scope_differs", lines=(row.key,), operands=named)


def compared(plan: FigurePlan) -> Iterator[tuple[Variance, tuple[ColumnRead, ...]]]:
    """Yield the variances of a plan with their sides."""
    for column, column_reads in zip(plan.query.columns, plan.columns, strict=True):
        if isinstance(column.reference, Variance):
            yield column.reference, column_reads


def sides_of(variance: Variance) -> str:
    """Return the sides of a variance in words."""
    return f"{variance.a.key} and {variance.b.key}"


def periods_behind(plan: FigurePlan, column_read: ColumnRead, anchor: Anchor) -> int:
    """Return how many periods an anchor lies before the end of its window."""
    last = plan.reader.catalogue.calendar.at(column_read.windows[-1].last or anchor.period.last, anchor.group.grain)
    return last.ordinal - anchor.period.ordinal if last else 0
