"""Scenario references: base scenarios, variants, blends, shifted views and variances.

Grammar: `actual`, `budget/downside` (a what-if variant), `actual+forecast` (a blend), `actual@py`, `actual@ytd@py`
(shifts apply left to right, after the blend), `var(a,b)` and `var_pct(a,b)` of any two of these. A caller sees a
reference only if they see every scenario in it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial

from msgspec import Struct

from engine.model.calendar.calendar import (
    Calendar,
    last_twelve_months,
    periods_earlier,
    quarter_to_date,
    whole_year,
    without_counterpart,
    year_to_date,
    years_earlier,
)
from engine.model.calendar.families import CALENDAR, TRADING
from engine.model.calendar.periods import Grain, Period, PeriodBounds, PeriodRange, Span
from engine.model.exact import Exact
from engine.model.formulas import Figure, Nothing
from engine.model.scope import Cuts

DAY = timedelta(days=1)
ALL_DAYS = Span(date.min, date.max)
GRAMMAR = """\
A scenario reference is a scenario id or scenario/variant, or a blend of two (actual+forecast: the first through its
last closed period, the second after), optionally shifted: @py prior year, @pyN N years back, @pp prior period, @ppN N
periods back; windows that end with the last period: @ytd year to date, @qtd quarter to date, @ltm last twelve months,
@fy whole fiscal year; @cytd, @cqtd, @cy the same of the calendar year{trading}. Shifts chain left to right
(actual@ytd@py).
var(a,b) is a - b and var_pct(a,b) is (a - b) / |b| of any two of them: var(actual,budget), var_pct(actual,actual@py).
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
    """A base scenario, such as the actual ledger or a budget."""

    id: str
    alias: str
    name: str
    kind: str
    status: str
    closed_through: Mapping[str, date] = {}  # as written, by domain; "" is the default
    cut_at: Mapping[str, date] = {}  # the last closed day of the domains of which that day cuts a period
    variants: tuple[Variant, ...] = ()

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


@dataclass(frozen=True, slots=True)
class Shift:
    """One step of a shifted view: moves a range, or replaces it by a window that ends with its last period."""

    key: str
    heading: str = field(compare=False)
    move: Callable[[Calendar, PeriodBounds, Grain], PeriodBounds | None] = field(
        compare=False
    )  # Grain: that of the request
    is_window: bool = field(default=False, compare=False)
    years: int = field(default=0, compare=False)  # years that it goes back


def years_back(count: int) -> Shift:
    """Return the shift that moves a range back by `count` years."""
    return Shift(
        key=f"py{count}" if count > 1 else "py",
        heading="Prior Year" if count == 1 else f"{count} Years Before",
        move=lambda calendar, bounds, _: years_earlier(calendar, bounds, count),
        years=count,
    )


def periods_back(count: int) -> Shift:
    """Return the shift that moves a range back by `count` periods of the requested grain."""
    return Shift(
        key=f"pp{count}" if count > 1 else "pp",
        heading="Prior Period" if count == 1 else f"{count} Periods Before",
        move=lambda calendar, bounds, requested: periods_earlier(calendar, bounds, count, requested),
    )


def window(key: str, heading: str, days: Callable[[Calendar, PeriodBounds], PeriodBounds | None]) -> Shift:
    """Return the shift that replaces a range by a window."""
    return Shift(key=key, heading=heading, move=lambda calendar, bounds, _: days(calendar, bounds), is_window=True)


SHIFTS: list[tuple[re.Pattern[str], Callable[[int], Shift]]] = [
    (re.compile(r"py(\d{0,2})"), years_back),
    (re.compile(r"pp(\d{0,3})"), periods_back),
]
WINDOWS = {
    shift.key: shift
    for shift in (
        window("ytd", "Year to Date", year_to_date),
        window("qtd", "Quarter to Date", quarter_to_date),
        window("ltm", "Last Twelve Months", last_twelve_months),
        window("fy", "Full Year", whole_year),
        window("cytd", "Calendar Year to Date", partial(year_to_date, family=CALENDAR)),
        window("cqtd", "Calendar Quarter to Date", partial(quarter_to_date, family=CALENDAR)),
        window("cy", "Full Calendar Year", partial(whole_year, family=CALENDAR)),
        window("tytd", "Trading Year to Date", partial(year_to_date, family=TRADING)),
        window("tqtd", "Trading Quarter to Date", partial(quarter_to_date, family=TRADING)),
        window("ty", "Full Trading Year", partial(whole_year, family=TRADING)),
    )
}


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
        return any(not shift.is_window and not shift.years for shift in self.shifts)

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
        """Yield the bounds that have no counterpart some years earlier, such as 29 February."""
        bounds: PeriodBounds | None = PeriodBounds(asked.start, asked.end)
        for shift in self.shifts:
            if bounds and shift.years:
                yield from without_counterpart(calendar, bounds, shift.years)
            bounds = bounds and shift.move(calendar, bounds, asked.grain)


class Variance(Struct, frozen=True):
    """The difference of two sides, absolute or relative to the second."""

    a: Side
    b: Side
    relative: bool

    @property
    def key(self) -> str:
        """The reference as text."""
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
        """Return the variance of two present figures; a relative variance of 0 is missing."""
        if not self.relative:
            return a - b
        return (a - b) / abs(b) if b else Nothing.MISSING


Reference = Side | Variance

TERM = r"[^\s@(),+/]+(?:/[^\s@(),+/]+)?"
SIDE = rf"{TERM}(?:\+{TERM})?(?:@[a-z]+\d*)*"
WELL_FORMED_SIDE = re.compile(SIDE)
VARIANCE = re.compile(rf"(var|var_pct)\(\s*({SIDE})\s*,\s*({SIDE})\s*\)")


def shifts_of(*, trading: bool) -> list[str]:
    """Return the names of the shifts, those of N years or periods aside, with or without those of a trading year."""
    return ["py", "pp", *(key for key in WINDOWS if trading or not key.startswith("t"))]


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


def resolve_term(text: str, scenarios: Mapping[str, Scenario]) -> ScenarioTerm | None:
    """Return the scenario or variant of a name, or None if it is unknown."""
    name, slash, wanted = text.partition("/")
    scenario = scenarios.get(name)
    if scenario is None:
        return None
    variant = next((variant for variant in scenario.variants if variant.key == wanted), None)
    return None if slash and variant is None else ScenarioTerm(scenario, variant)


def shift_of(step: str) -> Shift | None:
    """Return the shift that a step of a reference names, or None if it names none."""
    if step in WINDOWS:
        return WINDOWS[step]
    for shape, make in SHIFTS:
        if match := shape.fullmatch(step):
            count = int(match[1] or 1)
            return make(count) if count else None
    return None
