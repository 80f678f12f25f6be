"""Ranges of a request: its bounds as people write them, and what `last_closed` refers to."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import UNDATED_CODE, UNDATED_RANGE, Grain, Period, PeriodRange, Span
from engine.model.catalogue import Domain, ReportDefault
from engine.model.errors import BadPeriod, GrainUnavailable, quoted
from engine.model.requests import ReportRequest, RowsRequest
from engine.model.scenarios import Scenario, live
from engine.model.scope import EVERYTHING
from engine.model.stopping import watched

LAST_CLOSED = re.compile(r"last[_ ]closed(?: ?- ?(\d{1,3}))?", re.ASCII | re.IGNORECASE)
NEARLY_CLOSED = re.compile(r"last|latest|recent|current|previous|closed", re.IGNORECASE)  # words that may mean it


class LastClosed(Struct, frozen=True):
    """What `last_closed` refers to: scenarios, the domains of the request, and the keys of those that it reads."""

    reader: Reader
    domains: Sequence[Domain]
    read: Collection[str]
    scenarios: Collection[Scenario]

    @property
    def calendar(self) -> Calendar:
        """The calendar of the books."""
        return self.reader.catalogue.calendar

    def day(self) -> date | None:
        """Return the earliest last closed day among the domains read, of the first scenario that has one."""
        for scenario in self.scenarios:
            days = [day for domain in self.read if (day := scenario.open_after(domain))]
            if days:
                return min(days)
        return None

    def grain(self) -> Grain:
        """Return the month, or the next longer grain that some domain carries."""
        grains = (Grain.MONTH, Grain.QUARTER, Grain.YEAR)
        return next((grain for grain in grains if any(domain.carries(grain) for domain in self.domains)), Grain.MONTH)

    def days(self) -> Sequence[date]:
        """Return the days with rows that the caller sees, of the scenarios of the call if it names any."""
        scenarios = self.scenarios or live(self.reader.scenarios).values()
        read = [self.reader.presence(domain, each.id, EVERYTHING) for domain in self.read for each in scenarios]
        return sorted({day for presence in read for day in watched(presence.dates)})

    def instead(self, text: str = "", *, grain: Grain | None = None, within: Span | None = None) -> Period | None:
        """Return a period with rows to show instead of a text: the nearest to its code, else to the last closed one.

        It has a grain, by default that of the code, and days of a span, as far as these have rows.
        """
        near = self.calendar.nearest(text)
        is_held = near is not None and any(domain.carries(near.grain) for domain in self.domains)
        grain = grain or (near.grain if near and is_held else self.grain())
        aim = near or self.closed(grain)
        known = self.days()
        days = [day for day in watched(known) if within is None or within.first <= day <= within.last] or known
        if not days:
            return aim
        return self.calendar.at(min(days, key=lambda day: days_apart(day, aim.span)) if aim else days[-1], grain)

    def example(self, field: str = "period_start", text: str = "", other: str = "") -> dict[str, str]:
        """Return arguments to send instead of a text: a period with rows, in a range to the other bound if it can."""
        period = self.instead(text)
        if field not in self.calendar.example or period is None:
            return {field: period.code} if period else dict(self.calendar.example)
        beside = self.calendar.reading(other)
        runs = [PeriodRange(period, period), *([beside] if beside and beside.grain is period.grain else [])]
        first, last = min(run.start.ordinal for run in runs), max(run.end.ordinal for run in runs)
        bounds = (self.calendar.period(period.grain, ordinal).code for ordinal in (first, last))
        return dict(zip(self.calendar.example, bounds, strict=True))

    def code(self, text: str, grain: Grain, field: str) -> str:
        """Return the code of a period as people write it; a last closed one has the grain given. Raises BadPeriod."""
        if is_undated(text):
            raise BadPeriod(
                f"{field} keeps periods, and rows without a date lie in none. Ask for them by period_start.",
                field=field,
                got=text,
                example={"period_start": UNDATED_CODE},
            )
        return self.one(text, grain, field).code

    def one(self, text: str, grain: Grain, field: str) -> Period:
        """Return a period as people write it; a last closed one has the grain given. Raises BadPeriod."""
        relative = LAST_CLOSED.fullmatch(text.strip())
        return self.period(text, int(relative[1] or 0), grain, field) if relative else self.period_of(text, field)

    def period_of(self, text: str, field: str, asked: Mapping[str, str] | None = None) -> Period:
        """Return the period of a text other than a last closed one; BadPeriod names that where it can be asked for."""
        try:
            return self.calendar.read(text, field, asked)
        except BadPeriod as refused:
            if self.calendar.reading(text):
                raise
            other = next((bound for at, bound in (asked or {}).items() if at != field), "")
            example = self.example(field, text, other)
            if self.calendar.nearest(text):
                raise BadPeriod(refused.error, field=field, got=text, example=example) from None
            is_known = self.day() is not None
            closed = " last_closed is the last closed period, last_closed-1 the one before." if is_known else ""
            raise BadPeriod(
                refused.error + closed,
                field=field,
                got=text,
                valid=[*self.codes(), *(["last_closed"] if is_known else [])],
                example={field: "last_closed"} if is_known and NEARLY_CLOSED.search(text) else example,
            ) from None

    def codes(self) -> Sequence[str]:
        """Return a code of each grain, of periods with rows."""
        shown = self.instead()
        found = [shown and self.calendar.at(shown.last, grain) for grain in self.calendar.grains]
        return [period.code for period in found if period]

    def period(self, text: str, back: int, grain: Grain, field: str) -> Period:
        """Return the last period of a grain that is wholly closed, or one `back` periods earlier; else BadPeriod."""
        day = self.day()
        latest = None if day is None else self.calendar.at(day, grain)
        if day is None or latest is None:
            unknown = "no scenario of this call has a last closed period"
            found = f"no {self.calendar.grains[grain].noun} has {day}, the last closed day" if day else unknown
            raise BadPeriod(
                f"{field} {quoted([text])}: {found}. Give a period code.",
                field=field,
                got=text,
                example=self.example(field),
            )
        period = self.closed(grain, back)
        if period is None:
            raise BadPeriod(
                f"{field} {quoted([text])} lies before the calendar begins.",
                field=field,
                got=text,
                valid=["last_closed"],
                example=self.example(field),
            )
        return period

    def closed(self, grain: Grain, back: int = 0) -> Period | None:
        """Return the last period of a grain that is wholly closed, or one `back` periods earlier; None without any."""
        day = self.day()
        latest = None if day is None else self.calendar.at(day, grain)
        if day is None or latest is None:
            return None
        ordinal = latest.ordinal - (latest.last > day) - back
        return self.calendar.period(grain, ordinal) if ordinal in self.calendar.ordinals[grain] else None


def days_apart(day: date, span: Span) -> int:
    """Return how many days lie between a day and a span, 0 for one of its days."""
    return max((span.first - day).days, (day - span.last).days, 0)


def resolve_range(asked: ReportRequest | RowsRequest, default: ReportDefault, last_closed: LastClosed) -> PeriodRange:
    """Return the requested range; one bound alone means that one period, no bound the default of the instance.

    Raises BadPeriod if there is no default or no last closed period, GrainUnavailable if no domain can answer at the
    grain.
    """
    start, end = asked.period_start, asked.period_end
    start, end = end if start is None else start, start if end is None else end
    if start is None or end is None:
        start, end = default.period_start, default.period_end
    if start is None or end is None:
        raise BadPeriod(
            "Give period_start and period_end; these books have no default period.",
            field="period_start",
            example=last_closed.example(),
        )
    if is_undated(start) or is_undated(end):
        return undated_range(start, end, last_closed)
    resolved = read_range(start, end, last_closed)
    domains, grains = last_closed.domains, last_closed.calendar.grains
    if not any(domain.carries(resolved.grain) for domain in domains):
        carried = [grain for grain in grains if any(domain.carries(grain) for domain in domains)]
        raise GrainUnavailable(
            f"These figures are not held by {resolved.grain.value}. Ask by "
            f"{' or '.join(grain.value for grain in Grain if grain in carried)}.",
            field="period_start",
            got=start,
            valid=[known.code for grain in carried for known in whole(resolved, grain, last_closed.calendar)],
        )
    return resolved


def whole(asked: PeriodRange, grain: Grain, calendar: Calendar) -> Sequence[Period]:
    """Return the period of a grain that has the first day of a range, if the calendar has one."""
    found = calendar.at(asked.span.first, grain)
    return (found,) if found else ()


def is_undated(text: str) -> bool:
    """Tell whether a bound of a range asks for the rows without a date."""
    return text.strip().strip("()").casefold() == UNDATED_CODE.strip("()")


def undated_range(start: str, end: str, last_closed: LastClosed) -> PeriodRange:
    """Return the range of the rows without a date; BadPeriod beside a period, or if no domain keeps such rows."""
    if not any(domain.keeps_undated for domain in last_closed.domains):
        raise BadPeriod(
            f"{' and '.join(each.key for each in last_closed.domains)} keeps no rows without a date. Ask for periods.",
            field="period_start",
            got=start,
            example=last_closed.example(),
        )
    if not (is_undated(start) and is_undated(end)):
        field, got = ("period_end", end) if is_undated(end) else ("period_start", start)
        raise BadPeriod(
            f"{field} {quoted([got])}: rows without a date lie in no range of periods. Ask for them alone, and for the "
            "periods in a call of its own.",
            field=field,
            got=got,
            example={"period_start": UNDATED_CODE, "period_end": UNDATED_CODE},
        )
    return UNDATED_RANGE


def read_range(start: str, end: str, last_closed: LastClosed) -> PeriodRange:
    """Return the range between two bounds; a last closed period takes the grain of the other bound."""
    asked = {"period_start": start, "period_end": end}
    relative = {field: match for field, text in asked.items() if (match := LAST_CLOSED.fullmatch(text.strip()))}
    absolute = {field: text for field, text in asked.items() if field not in relative}
    read = {field: last_closed.period_of(text, field, absolute) for field, text in absolute.items()}
    grain = next((period.grain for period in read.values()), None) or last_closed.grain()
    for field, match in relative.items():
        read[field] = last_closed.period(asked[field], int(match[1] or 0), grain, field)
    return last_closed.calendar.between(read["period_start"], read["period_end"])
