"""Sources: reads the requested periods from files and databases in batches; SOURCE_READERS has one reader a kind."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import PeriodRange
from engine.model.feeds import PERIOD_PLACE, Binding, SourceKind
from server.ingest.columns import CONNECT, EXTRACT, ExtractRequest, RowSource
from server.ingest.databases import DRIVERS, read_database
from server.ingest.files import file_rows
from server.ingest.rejects import LoadFailed


def read_folder(asked: ExtractRequest) -> Iterator[RowSource]:
    """Yield the files of a folder source."""
    path = Path(asked.secret) if asked.secret else asked.folder / (asked.binding.source.path or "")
    yield from parts_of_folder(asked.binding, path, patterns_of(asked.binding.extract, asked.calendar, asked.periods))


def parts_of_folder(binding: Binding, folder: Path, patterns: Iterator[str]) -> Iterator[RowSource]:
    """Yield every file that matches a pattern, in the order of their names."""
    if not folder.is_dir():
        raise LoadFailed(CONNECT, f"source {binding.source.key}: there is no such folder")
    for pattern in patterns:
        files = sorted(path for path in folder.glob(pattern) if path.is_file())
        if not files:
            raise LoadFailed(EXTRACT, f"no file of source {binding.source.key} matches {pattern}")
        for path in files:
            yield RowSource(path.name, file_rows(path, binding.format, binding.sheet))


# Extracts: the rows of a source for the requested periods, each with its file or query and row number.


SOURCE_READERS: Final[Mapping[SourceKind, Callable[[ExtractRequest], Iterator[RowSource]]]] = {
    SourceKind.FOLDER: read_folder,
    **dict.fromkeys(DRIVERS, read_database),
}


def extract(
    binding: Binding,
    folder: Path,
    calendar: Calendar,
    periods: PeriodRange | None,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[RowSource]:
    """Yield what a binding's source holds now, a part for each file or query; LoadFailed where it cannot be read."""
    source = binding.source
    secret = environment.get(source.environment) if source.environment else None
    if source.environment and not secret:
        raise LoadFailed(CONNECT, f"source {source.key} needs the environment variable {source.environment}")
    asked = ExtractRequest(binding=binding, folder=folder, secret=secret, calendar=calendar, periods=periods)
    yield from SOURCE_READERS[source.kind](asked)


def patterns_of(pattern: str, calendar: Calendar, periods: PeriodRange | None) -> Iterator[str]:
    """Yield the file patterns of the periods asked for, one for each where the pattern names the period."""
    if periods is None or PERIOD_PLACE not in pattern:
        yield pattern
    else:
        yield from (pattern.replace(PERIOD_PLACE, period.code) for period in calendar.periods(periods))
