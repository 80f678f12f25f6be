"""Sources: reads the requested periods from files and databases in batches; SOURCE_READERS has one reader a kind."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import PeriodRange
from server.feeds.feeds import Binding, SourceKind
from server.feeds.query_parameters import PERIOD_PLACE
from server.files.archives import ArchiveFault, files_matching
from server.files.columns import CONNECT, EXTRACT, ExtractRequest, FormatDetector, RowSource
from server.files.databases import DRIVERS, read_database
from server.files.files import WrittenFormat, file_rows
from server.files.limits import FileTooLarge
from server.files.rejects import LoadFailed
from server.files.statements import query_files


def read_folder(asked: ExtractRequest) -> Iterator[RowSource]:
    """Yield the files of a folder source, in the order of their names, or the one result of a statement over them."""
    binding = asked.binding
    folder = Path(asked.secret) if asked.secret else asked.folder / (binding.source.path or "")
    if not folder.is_dir():
        raise LoadFailed(CONNECT, f"source {binding.source.key}: there is no such folder")
    with TemporaryDirectory() as packed:
        into = Path(packed)
        if binding.format.sql is None:
            for path in matching_files(asked, folder, binding.extract, into):
                yield RowSource(path.name, file_rows(path, asked.formats, binding.sheet))
            return
        query = binding.format.sql
        files = {table: list(matching_files(asked, folder, pattern, into)) for table, pattern in query.tables.items()}
        yield RowSource("sql", query_files(query, files, asked.formats, binding.sheet, "sql"))


def matching_files(asked: ExtractRequest, folder: Path, pattern: str, into: Path) -> Iterator[Path]:
    """Yield every file that matches a pattern, for each period asked for; those of archives are written to `into`.

    Raises LoadFailed if there is none, or an archive cannot be unpacked.
    """
    for each in patterns_of(pattern, asked.calendar, asked.periods):
        found = False
        try:
            for path in files_matching(folder, each, into):
                found = True
                yield path
        except (ArchiveFault, FileTooLarge) as fault:
            raise LoadFailed(EXTRACT, str(fault)) from fault
        if not found:
            raise LoadFailed(EXTRACT, f"no file of source {asked.binding.source.key} matches {each}")


# Extracts: the rows of a source for the requested periods, each with its file or query and row number.


SOURCE_READERS: Final[Mapping[SourceKind, Callable[[ExtractRequest], Iterator[RowSource]]]] = {
    SourceKind.FOLDER: read_folder,
    **dict.fromkeys((*DRIVERS, SourceKind.SQLITE), read_database),
}


def extract(
    binding: Binding,
    folder: Path,
    calendar: Calendar,
    periods: PeriodRange | None,
    environment: Mapping[str, str] = os.environ,
    formats: FormatDetector | None = None,
) -> Generator[RowSource]:
    """Yield what a binding's source holds now, a part for each file or query; LoadFailed where it cannot be read.

    Files are read in the format of the binding, or in that which `formats` finds.
    """
    source = binding.source
    secret = environment.get(source.environment) if source.environment else None
    if source.environment and not secret:
        raise LoadFailed(CONNECT, f"source {source.key} needs the environment variable {source.environment}")
    asked = ExtractRequest(
        binding=binding,
        folder=folder,
        secret=secret,
        calendar=calendar,
        periods=periods,
        formats=formats or WrittenFormat(binding.format),
    )
    yield from SOURCE_READERS[source.kind](asked)


def patterns_of(pattern: str, calendar: Calendar, periods: PeriodRange | None) -> Iterator[str]:
    """Yield the file patterns of the periods asked for, one for each where the pattern names the period."""
    if periods is None or PERIOD_PLACE not in pattern:
        yield pattern
    else:
        yield from (pattern.replace(PERIOD_PLACE, period.code) for period in calendar.periods(periods))
