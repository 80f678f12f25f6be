"""Extracts: what a source holds of the periods asked for, as frames whose rows know where they came from."""

import os
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path

from engine.calendar.calendar import Calendar
from engine.calendar.periods import PeriodRange
from engine.feeds import Binding, SourceKind
from engine.parameters import PERIOD, PERIOD_PLACE, numbered
from server.ingest.database import part_of_database
from server.ingest.files import parts_of_folder
from server.ingest.rejects import CONNECT, LoadFailed, Part


def extract(
    binding: Binding,
    folder: Path,
    calendar: Calendar,
    periods: PeriodRange | None,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[Part]:
    """Yield what a binding's source holds now, a part for each file or query; LoadFailed where it cannot be read."""
    source = binding.source
    secret = environment.get(source.environment) if source.environment else None
    if source.environment and not secret:
        raise LoadFailed(CONNECT, f"source {source.key} needs the environment variable {source.environment}")
    if source.kind is SourceKind.POSTGRESQL:
        for asked in ranges(binding.extract, calendar, periods):
            yield part_of_database(binding, secret or "", {**binding.parameters, **bounds(asked)})
    else:
        patterns = patterns_of(binding.extract, calendar, periods)
        yield from parts_of_folder(binding, Path(secret) if secret else folder / (source.path or ""), patterns)


def ranges(query: str, calendar: Calendar, periods: PeriodRange | None) -> Iterator[PeriodRange | None]:
    """Yield what a query is run for: all periods asked for at once, each of them where it takes the period's code."""
    if periods is None or PERIOD not in numbered(query).names:
        yield periods
    else:
        yield from (PeriodRange(period, period) for period in calendar.periods(periods))


def bounds(periods: PeriodRange | None) -> Mapping[str, str | date]:
    """Return the parameters of a query that say which periods are asked for."""
    if periods is None:
        return {}
    first, last = periods.span.first, periods.span.last
    return {
        "period_start": first,
        "period_end": last,
        "period_end_exclusive": last + timedelta(days=1),
        PERIOD: periods.start.code,
    }


def patterns_of(pattern: str, calendar: Calendar, periods: PeriodRange | None) -> Iterator[str]:
    """Yield the file patterns of the periods asked for, one for each where the pattern names the period."""
    if periods is None or PERIOD_PLACE not in pattern:
        yield pattern
    else:
        yield from (pattern.replace(PERIOD_PLACE, period.code) for period in calendar.periods(periods))
