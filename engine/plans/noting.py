"""Noting: what should be said beside the figures of a plan."""

from collections import defaultdict
from collections.abc import Iterator

from engine.calendar.periods import PeriodRange
from engine.catalogue import Base
from engine.formulas.figures import Nothing
from engine.notes import NAMED, Note
from engine.plans.expressions import Computed
from engine.plans.figures import FigurePlan, Figures, Reading
from engine.plans.presences import Anchor
from engine.plans.rows import Row
from engine.plans.weights import Members
from engine.quoting import quoted
from engine.scenarios import Side, Variance


def notes(plan: FigurePlan, figures: Figures) -> Iterator[Note]:
    """Yield what should be said beside the figures of a plan."""
    yield from row_notes(plan)
    for column, readings in zip(plan.query.columns, plan.columns, strict=True):
        for reading in readings:
            yield from side_notes(plan, reading)
            yield from variant_notes(plan, reading.side)
            yield from anchor_notes(plan, reading)
            yield from close_notes(plan, figures, reading)
        if isinstance(column.reference, Variance):
            yield from comparison_notes(plan, column.reference, *readings)
        else:
            yield from empty_notes(plan, readings[0])


def row_notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield which rows cannot be asked or computed, and which repeat their aggregate."""
    availability = plan.availability
    reasons: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    repeats: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in plan.rows:
        if row.expression is None:
            continue
        why = availability.why_not(row.expression) or availability.why_not_by_time(row.expression)
        by_member = availability.why_not_by_member(row.expression)
        if isinstance(row.expression, Computed) and (why or by_member):
            reasons["not_computable", why or by_member or "", availability.operand(row.expression)].append(row.key)
        elif why:
            reasons["unavailable", why, ""].append(row.key)
        elif lacking := availability.missing_dimensions(row.expression):
            domain = row.expression.bases[0].domain
            repeats[domain, " and no ".join(lacking)].append(row.key)
    for (code, reason, operand), lines in reasons.items():
        about = {"operand": operand} if operand else {}
        yield Note.of(code, lines=quoted(lines, NAMED), reason=reason, **about)
    for (domain, dimensions), lines in repeats.items():
        yield Note.of("aggregate", domain=domain, dimensions=dimensions, lines=quoted(lines, NAMED))


def side_notes(plan: FigurePlan, reading: Reading) -> Iterator[Note]:
    """Yield what a shifted view does to the range, and what cannot be asked in its window."""
    side, asked, calendar = reading.side, plan.query.asked, plan.reader.catalogue.calendar
    window = side.window(calendar, asked)
    if side.shifts and window is None:
        yield Note.of("no_window", scenario=side.key, period=asked.label)
    if side.has_window and asked.count > 1 and window is not None:
        yield Note.of("window_replaces_range", scenario=side.key, window=window.label)
    runs = [asked, *(PeriodRange(period, period) for period in plan.times)]
    lost = {period.code: None for run in runs for period in side.without_counterpart(calendar, run)}
    if lost:
        yield Note.of("leap_period", scenario=side.key, periods=quoted(lost, NAMED))
    for domain in plan.query.domains:
        grains = {asked.grain, *(period.grain for period in plan.times[:1])}
        if all(map(domain.carries, grains)) and not plan.availability.carries(domain.key, reading.windows[-1]):
            lines = [row.key for row in plan.rows if domain.key in domains_of(row)]
            reason = f"{domain.key} is held by {domain.grain.value}, and {side.key} is {reading.windows[-1].label}"
            yield Note.of("unavailable", lines=quoted(lines, NAMED), reason=reason)


def domains_of(row: Row) -> set[str]:
    """Return the domains that a row reads."""
    return {base.domain for base in row.expression.bases} if row.expression else set()


def variant_notes(plan: FigurePlan, side: Side) -> Iterator[Note]:
    """Yield the domains that an adjustment of a variant cannot touch."""
    dimensions = plan.reader.dimensions
    for adjustment in (known for part in side.parts if part.variant for known in part.variant.adjustments):
        if not all(cut.dimension in dimensions for cut in adjustment.where):
            continue  # it touches nothing that may be seen
        for domain in plan.query.domains:
            lacking = [
                cut.dimension for cut in adjustment.where if dimensions[cut.dimension].leaf not in domain.dimensions
            ]
            if lacking:
                yield Note.of(
                    "variant_untouched", scenario=side.key, dimensions=" and ".join(lacking), domain=domain.key
                )


def balances(plan: FigurePlan) -> list[Base]:
    """Return one balance of each stock group and kind, closing or opening, that a plan reads."""
    closing = {(base.domain, base.stock_group, base.over_time): base for base in plan.bases if base.over_time.closes}
    return list(closing.values())


def anchors(plan: FigurePlan, reading: Reading) -> list[tuple[Base, Anchor]]:
    """Return where each stock group closes, for the total column of a reading."""
    found = []
    for base in balances(plan):
        anchor = plan.reads.anchor(reading.view(base.domain), base, reading.windows[-1])
        if anchor is not None:
            found.append((base, anchor))
    return found


def anchor_notes(plan: FigurePlan, reading: Reading) -> Iterator[Note]:
    """Yield at which date the balances of a reading stand, and whether they stand at several."""
    found = anchors(plan, reading)
    for base, anchor in found:
        yield Note.of(
            "anchor",
            domain=base.domain,
            group=anchor.group.key,
            scenario=reading.side.key,
            anchor=anchor.period.code,
        )
    closing = [(base, anchor) for base, anchor in found if not base.over_time.opening]
    if len({anchor.window.last for _, anchor in closing}) > 1:
        yield Note.of(
            "anchors_differ",
            anchors=", ".join(f"{base.domain} at {anchor.period.code}" for base, anchor in closing),
        )


def close_notes(plan: FigurePlan, figures: Figures, reading: Reading) -> Iterator[Note]:
    """Yield the members that have rows in the range and none at the close, of any balance that closes there."""
    closing = [(base, anchor) for base, anchor in anchors(plan, reading) if plan.axes and not base.over_time.opening]
    for known, anchor in closing:
        across = plan.availability.across[known.domain]
        late: set[Members] = set()
        for base in plan.bases:
            if (base.domain, base.over_time, base.stock_group) == (known.domain, known.over_time, known.stock_group):
                late |= late_members(figures, base, reading, anchor)
        masked = (plan.availability.masked(known.domain, members) for members in figures.members)
        names = [
            "/".join(str(member) for member in members if member is not None)
            for members in dict.fromkeys(masked)
            if members in late and any(members)
        ]
        if names:
            dimensions = " and ".join(axis.key for axis in plan.axes if across[axis.place])
            yield Note.of(
                "incomplete_close", members=quoted(names, NAMED), dimension=dimensions, anchor=anchor.period.code
            )


def late_members(figures: Figures, base: Base, reading: Reading, anchor: Anchor) -> set[Members]:
    """Return the members, as a domain knows them, of which a balance has rows in the range and none at its close."""
    held = figures.amounts[reading.view(base.domain), base]
    members = list(held.members)
    found = held.figures((reading.windows[-1], anchor.window), [(known, at) for at in (0, 1) for known in members])
    by_member = zip(members, found[: len(members)], found[len(members) :], strict=True)
    return {known for known, ever, at_close in by_member if at_close is Nothing.MISSING and ever is not Nothing.MISSING}


def comparison_notes(plan: FigurePlan, variance: Variance, a: Reading, b: Reading) -> Iterator[Note]:
    """Yield whether two sides cover and show the same."""
    grain = plan.query.asked.grain
    sides = f"{variance.a.key} and {variance.b.key}"
    if a.shared or b.shared:
        yield Note.of("scope_differs", sides=sides)
    for domain in dict.fromkeys(base.domain for base in plan.bases):
        covered = [plan.presences.coverage(reading.view(domain), reading.windows[-1], grain) for reading in (a, b)]
        if covered[0] != covered[1] and all(coverage.held for coverage in covered):
            first, second = covered
            yield Note.of(
                "coverage_differs",
                sides=sides,
                domain=domain,
                a=str(first),
                b=str(second),
                periods=f"{first.noun}s",
            )
    behind = [
        {
            (base.domain, anchor.group.key): periods_behind(plan, reading, anchor)
            for base, anchor in anchors(plan, reading)
            if not base.over_time.opening
        }
        for reading in (a, b)
    ]
    for group, periods in behind[0].items():
        if behind[1].get(group, periods) != periods:
            yield Note.of("anchors_differ", anchors=f"{group[0]} ({group[1]}) of {sides}")


def periods_behind(plan: FigurePlan, reading: Reading, anchor: Anchor) -> int:
    """Return how many periods before the end of its window an anchor lies."""
    last = plan.reader.catalogue.calendar.at(reading.windows[-1].last or anchor.period.last, anchor.group.grain)
    return last.ordinal - anchor.period.ordinal if last else 0


def empty_notes(plan: FigurePlan, reading: Reading) -> Iterator[Note]:
    """Yield the domains that a scenario holds no rows of at all."""
    ids = [part.scenario.id for part in reading.side.parts]
    for domain in plan.query.domains:
        if plan.presences.of(reading.view(domain.key)).through() is None:
            yield Note.of("no_rows", scenario="+".join(ids), domain=domain.key)
