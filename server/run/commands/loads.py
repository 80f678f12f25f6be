"""tieout loads: the history of loads."""

import argparse
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from server.base.interfaces import LoadQuery
from server.base.settings import Settings
from server.feeds.feeds import LoadAttempt, LoadStatus
from server.feeds.instance import read_instance
from server.ingest.folder import BooksFolder
from server.run.commands.console import DONE, FAULTY, err, out, takes_instance, whole_number
from server.run.embedded.platform import platform

FAILED = "failed"
LIMIT = 20
HEADINGS = ("started (UTC)", "feed", "status", "periods", "read", "landed", "rejected", "took", "for the slot of (UTC)")
NUMBERS = ("read", "landed", "rejected", "took")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    statuses = [FAILED, *(status.value for status in LoadStatus)]
    parser.add_argument("--binding", metavar="BINDING", help="of this feed alone")
    parser.add_argument("--status", choices=statuses, help=f"that stand so; {FAILED}: however they failed")
    parser.add_argument(
        "--limit", type=whole_number, default=LIMIT, metavar="N", help=f"at most so many (default: {LIMIT})"
    )
    takes_instance(parser)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Print the attempts to load, the latest first."""
    instance = read_instance(settings.instance)
    if asked.binding and asked.binding not in instance.bindings:
        err.print(f"There is no feed {asked.binding}; known: {', '.join(instance.bindings)}", markup=False)
        return FAULTY
    wanted = LoadQuery(
        bindings=[asked.binding] if asked.binding else list(instance.bindings),
        statuses=statuses_of(asked.status),
        limit=asked.limit,
    )
    with platform(settings) as opened:
        opened.wait()
        found = opened.loads.find(wanted)
    place = BooksFolder(catalogue=instance.catalogue, folder=settings.instance, state=settings.state_folder)
    for line in format_table(found, place.rejects) if found else ["No such load is on record."]:
        out.print(line, markup=False)
    return DONE


def statuses_of(asked: str | None) -> Sequence[LoadStatus]:
    """Return the statuses that a word means; all where there is none."""
    if asked == FAILED:
        return [status for status in LoadStatus if status.failed]
    return [status for status in LoadStatus if asked in (None, status.value)]


def format_table(found: Sequence[LoadAttempt], rejects: Path) -> Iterator[str]:
    """Yield the lines of a table of attempts; below an attempt stand its message and its report of rejected rows."""
    rows = [HEADINGS, *map(cells, found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    notes: list[Sequence[str]] = [(), *(notes_of(attempt, rejects) for attempt in found)]
    for row, below in zip(rows, notes, strict=True):
        placed = zip(HEADINGS, row, widths, strict=True)
        yield "  ".join(f"{cell:{'>' if name in NUMBERS else '<'}{width}}" for name, cell, width in placed).rstrip()
        yield from (f"    {note}" for note in below)


def cells(attempt: LoadAttempt) -> tuple[str, ...]:
    """Return an attempt as the cells of its row."""
    took = (attempt.finished_at - attempt.started_at).total_seconds() if attempt.finished_at else None
    return (
        instant(attempt.started_at),
        attempt.binding,
        attempt.status.value,
        attempt.periods or "",
        *(f"{count:,}" if count is not None else "" for count in (attempt.rows_read, attempt.rows_landed)),
        f"{attempt.rows_rejected:,}" if attempt.rows_rejected is not None else "",
        "" if took is None else f"{max(0, took):,.0f} s",
        instant(attempt.due_at) if attempt.due_at else "",
    )


def notes_of(attempt: LoadAttempt, rejects: Path) -> Sequence[str]:
    """Return what stands below an attempt."""
    report = f"rejected rows: {rejects / attempt.rejects_file}" if attempt.rejects_file else None
    reasons = "; ".join(f"{rows:,} {words}" for words, rows in attempt.rejected.items())
    known = attempt.message if attempt.message or not reasons else f"rejected: {reasons}"
    return [note for note in (known, report) if note]


def instant(when: datetime) -> str:
    """Return an instant to the second."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
