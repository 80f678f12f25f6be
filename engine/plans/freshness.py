"""Freshness: the loads behind the figures of a plan, restricted to the scope of the caller."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial

from msgspec import Struct

from engine.books.reader import FactRead, Reader
from engine.model.calendar.periods import WITHOUT_DATE, Span
from engine.model.catalogue import Domain
from engine.model.exact import Exact
from engine.model.fact_store import Aggregate, FactLoad, Slice
from engine.model.scenarios import ScenarioTerm, TermSpan, live
from engine.model.scope import EVERYTHING
from engine.model.stopping import never, watched
from engine.plans.day_causes import DayPlan
from engine.plans.figures import FigurePlan
from engine.plans.windows import ColumnRead, DomainRead


class Freshness(Struct, frozen=True, kw_only=True):
    """How far a scenario of a domain is loaded, restricted to the scope of the caller."""

    through: str | None  # last period with rows, at the domain's grain
    loaded_at: str | None  # of the latest load that brought a day that the plan reads
    load_id: str | None
    earliest_loaded_at: str | None  # of the first of these loads, if there are several
    open: str | None  # the open periods of the range that are loaded, as a code or START..END
    undated: int | None  # rows without a date, if the domain keeps them
    undated_amount: Exact | None = None  # of the first measure of money in them, if there are any


def freshness(plan: FigurePlan) -> dict[str, dict[str, Freshness]]:
    """Return the freshness of every domain and base scenario that a plan reads, the domains of the query first."""
    domains = dict.fromkeys((*(domain.key for domain in plan.query.domains), *plan.domains))
    known = plan.reader.catalogue.domains
    scenarios = dict.fromkeys(
        term.scenario.id for column_read in plan.distinct_reads for term in column_read.side.terms
    )
    return {
        domain: {scenario: freshness_of(plan, known[domain], scenario) for scenario in scenarios} for domain in domains
    }


def loaded_through(reader: Reader, domain: Domain) -> dict[str, str]:
    """Return the last period with rows for each scenario of a domain, at the domain's grain."""
    codes = {}
    for scenario in live(reader.scenarios).values():
        through = reader.presence(domain.key, scenario.id, EVERYTHING).through
        if through is not None:
            codes[scenario.id] = reader.catalogue.calendar.code_at(through, domain.grain)
    return codes


def freshness_of(plan: DayPlan, domain: Domain, scenario: str) -> Freshness:
    """Return the freshness of one scenario of a domain in the windows that a plan reads."""
    calendar = plan.reader.catalogue.calendar
    domain_read = DomainRead(domain.key, (TermSpan(ScenarioTerm(plan.reader.catalogue.scenarios[scenario])),))
    presence = plan.presences.of(domain_read)
    through, loads = presence.through, loads_read(plan, domain.key, scenario)
    windows = [
        column_read.windows[-1]
        for column_read in plan.distinct_reads
        for term in column_read.side.terms
        if term.scenario.id == scenario
    ]
    return Freshness(
        through=None if through is None else calendar.code_at(through, domain.grain),
        loaded_at=loads[-1].at.isoformat(timespec="seconds") if loads else None,
        load_id=loads[-1].load if loads else None,
        earliest_loaded_at=loads[0].at.isoformat(timespec="seconds") if len(loads) > 1 else None,
        open=plan.presences.open_codes(domain_read, windows, plan.grain),
        undated=presence.undated if domain.keeps_undated else None,
        undated_amount=undated_amount(plan.reader, domain, scenario) if presence.undated else None,
    )


def undated_amount(reader: Reader, domain: Domain, scenario: str) -> Exact | None:
    """Return the sum of the visible rows without a date of a scenario, None if none of them has an amount."""

    def read() -> Exact | None:
        aggregates = (Aggregate(domain.first_amount.key),)
        asked = Slice(domain=domain.key, scenario=scenario, spans=(WITHOUT_DATE,), keys=(), aggregates=aggregates)
        (sums,) = reader.collect([FactRead(asked, EVERYTHING)], never)
        units = sums[domain.first_amount.key].sum()
        return domain.first_amount.amount(int(units))

    return reader.memo_as_seen(("undated amount", domain.key, scenario), read)


def loads_read(plan: DayPlan, domain: str, scenario: str) -> Sequence[FactLoad]:
    """Return the first and last of the loads that brought visible rows of the days that a plan reads, once if alike.

    If no visible row lies on these days, return the latest load of visible rows.
    """
    loads = plan.reader.loads(domain, scenario)
    if len(loads) <= 1:
        return loads
    by_day = plan.reader.memo_as_seen(("loads by day", domain, scenario), partial(loads_by_day, loads), len)
    days = {day for column_read in plan.distinct_reads for day in days_read(plan, column_read, domain, scenario)}
    numbers = [by_day[day] for day in watched(days) if day in by_day]
    if not numbers:
        return loads[-1:]
    first, last = min(number for number, _ in watched(numbers)), max(number for _, number in watched(numbers))
    return [loads[number] for number in sorted({first, last})]


def loads_by_day(loads: Sequence[FactLoad]) -> Mapping[date, tuple[int, int]]:
    """Return the positions of the first and the last load that brought rows of each day."""
    found: dict[date, tuple[int, int]] = {}
    for number, load in enumerate(watched(loads)):
        for day in watched(load.days):
            found[day] = found.get(day, (number, 0))[0], number
    return found


def days_read(plan: DayPlan, column_read: ColumnRead, domain: str, scenario: str) -> Iterator[date]:
    """Yield the days with visible rows that the figures of a column read are made of."""
    read = {plan.base_windows(base, column_read) for base in plan.bases if base.domain == domain}
    spans = merge_spans(span for windows in read for window in watched(windows) for span in window.spans)
    for term_span in column_read.side.term_spans(domain):
        if term_span.term.scenario.id == scenario:
            presence = plan.presences.of(DomainRead(domain, (term_span,), column_read.shared))
            for inside in filter(None, (span.overlap(term_span.days) for span in spans)):
                yield from presence.days(inside)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merge overlapping spans; return them ascending."""
    found: list[Span] = []
    for span in sorted(set(spans), key=lambda span: span.first):
        if found and span.first <= found[-1].last:
            found[-1] = Span(found[-1].first, max(found[-1].last, span.last))
        else:
            found.append(span)
    return found
