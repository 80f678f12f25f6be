"""Scenario references: base scenarios, variants, blends, shifted views and variances.

Grammar: `actual`, `actual#sep` (a freeze), `budget/downside` (a what-if variant), `actual+forecast` (a blend),
`actual@py`, `actual@ytd@py` (shifts apply left to right, after the blend), `var(a,b)` and `var_pct(a,b)` of any two of
these. A caller sees a reference only if they see every scenario in it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta

from msgspec import Struct

from engine.model.aggregation import MemberAggregation, TimeAggregation
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.families import TRADING
from engine.model.calendar.periods import Grain, Period, PeriodBounds, PeriodRange, Span
from engine.model.calendar.shifts import without_counterpart, without_place
from engine.model.calendar.steps import Shift, shift_of
from engine.model.exact import Exact
from engine.model.formulas import Figure, Nothing
from engine.model.scope import Cuts

DAY = timedelta(days=1)
FROZEN = "#"  # stands between the id of a scenario and the name of a freeze of it
ALL_DAYS = Span(date.min, date.max)
GRAMMAR = """\
A scenario reference is a scenario id or scenario/variant, or a blend of two (actual+forecast: the first through its
last closed period, the second after), optionally shifted: @py prior year, @pyN N years back, @pp prior period, @ppN N
periods back, @pm, @pq, @pw same days of the month, quarter, week before; windows that end with the last period:
@mtd, @qtd, @ytd month, quarter, year to date, @ltm last twelve months, @lastN last N periods (2 to 120), @avgN their
mean, @fy whole fiscal year; @cytd, @cqtd, @cy the same of the calendar year{trading}; @opening a balance before the
range. Shifts chain left to right (actual@ytd@py). @ppN compares any two ranges of one length: over 2026-04 to 2026-06,
actual@pp5 is 2025-11 to 2026-01.
var(a,b) is a - b and var_pct(a,b) is (a - b) / |b| of any two of them: var(actual,budget), var_pct(actual,actual@py).
Columns computed of any of these: share(x) of the total, share(x,parent) of the sub-total above, share(x,line) of a line
of the statement; rank(x), 1 the largest; running(x), running(share(x)): the sum of the rows so far;
var(share(a),share(b)) in percentage points.
Formulas of metrics take numbers, + - * /, parentheses, min, max, abs, round, if(a > b, x, y), days(period) and
periods(period): receivables / revenue * days(period). A name may have a scenario of its own or more steps in brackets,
and members before them: abs(x[actual] - x[budget]), x / x[@fy], x{{region: EU}} / x{{region: "(all)"}}.
"""
TRADING_GRAMMAR = ", @tytd, @tqtd, @ty of the trading year"


def grammar(calendar: Calendar) -> str:
    """Return how references are written, with the windows of the trading year where the calendar has one."""
    return GRAMMAR.format(trading=TRADING_GRAMMAR if TRADING.year in calendar.grains else "")


class Adjustment(Struct, frozen=True, kw_only=True):
    """A factor on the rows that match a restriction. An empty `measures` means all measures."""

    where: Cuts
    factor: Exact
    measures: tuple[str, ...] = ()


class Variant(Struct, frozen=True, kw_only=True):
    """A what-if version of a scenario: each adjustment that matches a row multiplies it once."""

    key: str
    label: str
    adjustments: tuple[Adjustment, ...]


class Scenario(Struct, frozen=True, kw_only=True):
    """A base scenario, such as the actual ledger or a budget, or a freeze of one."""

    id: str
    alias: str
    name: str
    kind: str
    status: str
    closed_through: Mapping[str, date] = {}  # as written, by domain; "" is the default
    cut_at: Mapping[str, date] = {}  # the last closed day of the domains of which that day cuts a period
    variants: tuple[Variant, ...] = ()
    base: str = ""  # of a freeze: the scenario that was frozen
    since: datetime | None = None  # when it was frozen

    def __hash__(self) -> int:
        return hash(self.id)

    def open_after(self, domain: str) -> date | None:
        """Return the last closed day of a domain, or None if the scenario does not define one."""
        last = self.cut_at.get(domain)
        return self.closed_through.get(domain, self.closed_through.get("")) if last is None else last

    @property
    def last_closed(self) -> dict[str, date]:
        """The last closed days of whole periods by domain; "" is the default."""
        return {**self.closed_through, **self.cut_at}


def live(scenarios: Mapping[str, Scenario]) -> Mapping[str, Scenario]:
    """Return the scenarios that are no freezes."""
    return {key: scenario for key, scenario in scenarios.items() if not scenario.base}


class ScenarioTerm(Struct, frozen=True):
    """One scenario of a reference: a base scenario or a variant."""

    scenario: Scenario
    variant: Variant | None = None

    @property
    def key(self) -> str:
        """The reference as text."""
        return f"{self.scenario.id}/{self.variant.key}" if self.variant else self.scenario.id

    @property
    def heading(self) -> str:
        """A heading for the ready-made comparisons."""
        return self.variant.label if self.variant else self.scenario.alias


class TermSpan(Struct, frozen=True):
    """A scenario term and the days on which a side reads it."""

    term: ScenarioTerm
    days: Span = ALL_DAYS


class Side(Struct, frozen=True):
    """One scenario term or a blend of two, with optional shifts. A column without var( ) shows one side."""

    terms: tuple[ScenarioTerm, ...]
    shifts: tuple[Shift, ...] = ()

    @property
    def key(self) -> str:
        """The reference as text."""
        name = "+".join(term.key for term in self.terms)
        return "@".join((name, *(shift.key for shift in self.shifts)))

    @property
    def heading(self) -> str:
        """A heading for the ready-made comparisons."""
        name = " + ".join(term.heading for term in self.terms)
        return ", ".join(shift.heading for shift in self.shifts) or name

    def boundary(self, domain: str) -> date | None:
        """Return the last day that a blend reads from its first term; None if this is no blend or no day is closed."""
        return self.terms[0].scenario.open_after(domain) if len(self.terms) > 1 else None

    def term_spans(self, domain: str) -> tuple[TermSpan, ...]:
        """Return the days of each term: a blend reads the first through its last closed day, then the second."""
        closed = self.boundary(domain)
        if closed is None:
            return tuple(TermSpan(term) for term in self.terms[:1])
        first, second = self.terms
        return (TermSpan(first, Span(date.min, closed)), TermSpan(second, Span(closed + DAY, date.max)))

    @property
    def sides(self) -> tuple["Side", ...]:
        """Itself."""
        return (self,)

    @property
    def has_window(self) -> bool:
        """Tell whether a shift replaces the range by a window, which depends on the last period only."""
        return any(shift.is_window for shift in self.shifts)

    @property
    def moves_by_period(self) -> bool:
        """Tell whether a shift moves the range by periods of the requested grain."""
        return any(not (shift.is_window or shift.opens or shift.years) for shift in self.shifts)

    @property
    def window_step(self) -> Shift | None:
        """The step that its days come from: the last window, or what lies before a range; None if there is none."""
        return next((shift for shift in reversed(self.shifts) if shift.is_window or shift.opens), None)

    @property
    def step(self) -> Shift | None:
        """The step that makes its figures an opening, or a mean of some periods; None if none does."""
        last = self.window_step
        return last if last and (last.opens or last.is_mean) else None

    @property
    def counts_periods(self) -> bool:
        """Tell whether its window has a number of periods whose figures are added up, not their mean."""
        return self.window_step is not None and self.window_step.periods > 0 and not self.window_step.is_mean

    @property
    def opens(self) -> bool:
        """Tell whether it reads all that lies before a range."""
        return self.step is not None and self.step.opens

    def decisive(self, runs: Sequence[PeriodRange]) -> Sequence[PeriodRange]:
        """Return those of some ascending ranges on which its days depend: of a window the last, before it the first."""
        if self.has_window:
            return runs[-1:]
        return runs[:1] if self.opens else runs

    def window(self, calendar: Calendar, asked: PeriodRange) -> PeriodRange | None:
        """Return the range that this side reads for a requested range; None if no such range exists.

        The result has the requested grain if it fits, else the coarsest grain that fits. Rows without a date have no
        earlier periods and no window, and lie on no side of the last closed day of a blend.
        """
        if asked.is_undated:
            return None if self.shifts or len(self.terms) > 1 else asked
        bounds: PeriodBounds | None = PeriodBounds(asked.start, asked.end)
        for shift in self.shifts:
            bounds = bounds and shift.move(calendar, bounds, asked.grain)
        return calendar.fitted(bounds, asked.grain) if bounds else None

    def without_counterpart(self, calendar: Calendar, asked: PeriodRange) -> Iterator[Period]:
        """Yield the bounds without a counterpart, such as week 53 a year or a 31st a month before.

        The note on leap days tells of days without one some years before.
        """
        bounds: PeriodBounds | None = PeriodBounds(asked.start, asked.end)
        for shift in self.shifts:
            if bounds and shift.years and asked.grain is not Grain.DATE:
                yield from without_counterpart(calendar, bounds, shift.years)
            elif bounds and shift.unit and not shift.is_window:
                yield from without_place(calendar, bounds, shift.unit)
            bounds = bounds and shift.move(calendar, bounds, asked.grain)


class Variance(Struct, frozen=True):
    """The difference of two sides, absolute or relative to the second; or one side as it enters such a difference."""

    a: Side
    b: Side
    relative: bool
    only: int | None = None  # the side that is shown in place of the difference, within what may be seen of both

    @property
    def key(self) -> str:
        """The reference as text."""
        if self.only is not None:
            return self.sides[self.only].key
        return f"{'var_pct' if self.relative else 'var'}({self.a.key},{self.b.key})"

    @property
    def heading(self) -> str:
        """A heading for the ready-made comparisons."""
        return f"{'Var %' if self.relative else 'Variance'} {self.a.heading} vs {self.b.heading}"

    @property
    def sides(self) -> tuple[Side, ...]:
        """Both sides."""
        return (self.a, self.b)

    def of(self, a: Figure, b: Figure) -> Figure:
        """Return the variance of two figures, after the caller has replaced figures that count as 0."""
        if Nothing.UNAVAILABLE in (a, b):
            return Nothing.UNAVAILABLE
        return self.of_exact(a, b) if isinstance(a, Exact) and isinstance(b, Exact) else Nothing.MISSING

    def of_exact(self, a: Exact, b: Exact) -> Figure:
        """Return the variance of two present figures, or one of them; a relative variance of 0 is missing."""
        if self.only is not None:
            return (a, b)[self.only]
        if not self.relative:
            return a - b
        return (a - b) / abs(b) if b else Nothing.MISSING


Reference = Side | Variance


class OwnSide(Struct, frozen=True):
    """What an operand of a formula reads in place of the side of a column: a side of its own, or that with more steps.

    A column of a variance has two sides, and the formula is computed of each.
    """

    side: Side | None
    shifts: tuple[Shift, ...] = ()

    def under(self, side: Side) -> Side:
        """Return the side that the operand reads where the formula is computed of a side."""
        return self.side or Side(side.terms, (*side.shifts, *self.shifts))

    def then(self, inner: "OwnSide") -> "OwnSide":
        """Return what an operand with a side of its own reads within an operand with this one."""
        if inner.side or self.side is None:
            return OwnSide(inner.side, (*self.shifts, *inner.shifts))
        return OwnSide(inner.under(self.side))


def why_not_step(step: Shift | None, over_members: MemberAggregation, over_time: TimeAggregation) -> str | None:
    """Return why a figure of an aggregation has no opening or mean of periods, None if it has what a step asks for."""
    if step is None or (over_time.takes(step) and (step.opens or over_members.is_additive)):
        return None
    return "only a balance has an opening" if step.opens else "only sums, counts and closing balances have a mean"


TERM = r"[^\s@(),+/]+(?:/[^\s@(),+/]+)?"
SIDE = rf"{TERM}(?:\+{TERM})?(?:@[a-z]+\d*)*"
WELL_FORMED_SIDE = re.compile(SIDE)
VARIANCE = re.compile(rf"(var|var_pct)\(\s*({SIDE})\s*,\s*({SIDE})\s*\)")


def resolve(text: str, scenarios: Mapping[str, Scenario]) -> Reference | None:
    """Return the meaning of a reference among `scenarios`; None if any name in it is unknown.

    `scenarios` holds the visible ones, so that a hidden scenario is unknown too.
    """
    text = text.strip()
    if match := VARIANCE.fullmatch(text):
        a, b = resolve_side(match[2], scenarios), resolve_side(match[3], scenarios)
        return Variance(a, b, match[1] == "var_pct") if a and b else None
    return resolve_side(text, scenarios)


def resolve_side(text: str, scenarios: Mapping[str, Scenario]) -> Side | None:
    """Return the side that a reference without var( ) means, or None if a name in it is unknown."""
    name, *steps = text.split("@")
    terms = [resolve_term(part, scenarios) for part in name.split("+")]
    shifts = [shift_of(step) for step in steps]
    if len(terms) > 2 or None in terms or None in shifts:
        return None
    return Side(tuple(term for term in terms if term), tuple(shift for shift in shifts if shift))


def resolve_own_side(text: str, scenarios: Mapping[str, Scenario]) -> OwnSide | None:
    """Return what stands in the brackets of an operand: a side, or steps behind @; None if a name in it is unknown."""
    if not text.startswith("@"):
        side = resolve_side(text, scenarios)
        return OwnSide(side) if side else None
    shifts = [shift_of(step) for step in text[1:].split("@")]
    return None if None in shifts else OwnSide(None, tuple(shift for shift in shifts if shift))


def resolve_term(text: str, scenarios: Mapping[str, Scenario]) -> ScenarioTerm | None:
    """Return the scenario or variant of a name, or None if it is unknown."""
    name, slash, wanted = text.partition("/")
    scenario = scenarios.get(name)
    if scenario is None:
        return None
    variant = next((variant for variant in scenario.variants if variant.key == wanted), None)
    return None if slash and variant is None else ScenarioTerm(scenario, variant)
