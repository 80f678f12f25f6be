"""tieout check: print every fault of an instance, or what a caller sees."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from engine.books.books import Books
from engine.books.checks import profile_faults
from engine.books.reader import Reader
from engine.instance.profiles import profiles_document, profiles_of, read_content
from engine.model.calendar.periods import DAY
from engine.model.catalogue import Catalogue
from engine.model.errors import first_of
from engine.model.profiles import Profiles
from engine.model.scope import Cell
from server.base.folders import restrict
from server.base.settings import Settings, variable_of
from server.daemon.backups import BackupRecord
from server.feeds.instance import ServedInstance, read_instance
from server.ingest.folder import BooksFolder
from server.ingest.load import manifest_of
from server.ingest.surveys import attached_faults
from server.run.commands.check_data import tell_files
from server.run.commands.console import DONE, FAULTY, INSTANCE, err, out
from server.run.commands.provision import tell_data_faults
from server.run.embedded.binaries import StartFailure, postgres_binaries, valkey_of_the_wheel
from server.run.embedded.platform import platform
from server.run.shelves import open_books
from server.stores.profiles import OPEN, OPENED, PostgresProfiles
from server.warehouses.lacks import ReaderMayWrite, engine_faults, trial_faults

MAX_NAMED = 3  # metrics without a description
Claims = Mapping[str, Sequence[str]]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("instance", type=Path, nargs="?", metavar="FOLDER", help=INSTANCE)
    parser.add_argument("--data", action="store_true", help="hold the files against what is loaded, too")
    parser.add_argument(
        "--write", action="store_true", help="with --data: write the keys that feeds lack into integrations.yaml"
    )
    parser.add_argument(
        "--engine", action="store_true", help="put rows into the engine of facts, read them back and delete them, too"
    )
    parser.add_argument("--subject", metavar="SUBJECT", help="print what this subject sees of what is loaded")
    parser.add_argument(
        "--claim", metavar="NAME=VALUE", type=claim, action="append", default=[], help="what its token says besides"
    )


def claim(text: str) -> tuple[str, str]:
    """Return a claim and its value."""
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"'{text}' is not a claim; it takes NAME=VALUE, such as groups=finance")
    return name, value


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Print every fault of an instance."""
    if asked.write and not asked.data:
        err.print("--write belongs to --data: tieout check --data --write FOLDER", markup=False)
        return FAULTY
    tell_open_folders(settings)
    tell_backups(settings)
    instance = read_instance(settings.instance)
    catalogue = instance.catalogue
    profiles = profiles_in_use(instance, settings)
    for fault in profiles.faults:
        err.print(fault, markup=False)
    lacks_engine = tell_engine_faults(instance, settings, tries=asked.engine)
    lacks_engine |= tell_attached_faults(instance, settings)
    if asked.subject is not None or asked.claim:
        claims: dict[str, list[str]] = {}
        for name, value in asked.claim:
            claims.setdefault(name, []).append(value)
        with open_books(instance, settings.instance, settings.store) as books:
            for line in describe_access(profiles, asked.subject or "", claims, books):
                out.print(line, markup=False)
        return FAULTY if profiles.faults else DONE
    if asked.data:
        place = BooksFolder(catalogue=catalogue, folder=settings.instance, state=settings.state_folder)
        undecided = tell_files(instance, place, settings, writes=asked.write)
        with open_books(instance, settings.instance, settings.store) as books:
            lacking = list(profile_faults(books, profiles.by_key.values()))
            for fault in lacking:
                err.print(fault, markup=False)
            if tell_data_faults(books, instance) or lacking or undecided:
                return FAULTY
    if profiles.faults or lacks_engine:
        return FAULTY
    tell_counts(instance, profiles, settings)
    return DONE


def missing_parts(settings: Settings) -> Iterator[str]:
    """Yield what this system lacks of the service, and what is different without it."""
    if sys.platform != "linux":
        yield "scripts are off, and eval_chart_transform with them: the jail that they run in is part of Linux"
    if settings.database_url is None:
        try:
            postgres_binaries(settings)
        except StartFailure as failure:
            yield f"no history of loads and no files: {failure}"
    if settings.cache_host is None and valkey_of_the_wheel() is None:
        yield (
            "there is no Valkey to embed: results are kept in the memory of the one worker, and end with it; set "
            f"{variable_of('cache_host')} to the address of one to keep them"
        )


def tell_counts(instance: ServedInstance, profiles: Profiles, settings: Settings) -> None:
    """Print how much a sound instance describes, and who sees it where profiles do not say."""
    catalogue = instance.catalogue
    counts = {
        "domains": catalogue.domains,
        "metrics": catalogue.metrics,
        "statements": catalogue.statements,
        "scenarios": catalogue.scenarios,
        "feeds": instance.bindings,
        "profiles": profiles.by_key,
    }
    out.print(f"{settings.instance}: no faults; {', '.join(f'{len(part)} {name}' for name, part in counts.items())}")
    for line in (*undescribed_metrics(catalogue), *cut_periods(catalogue), *missing_parts(settings)):
        out.print(line, markup=False)
    if not profiles.by_key:
        out.print("Nobody sees anything without a profile: write profiles.yaml and assign one.")
    elif profiles is not instance.profiles and settings.profiles == "file":
        out.print(OPENED, markup=False)


def undescribed_metrics(catalogue: Catalogue) -> Iterator[str]:
    """Yield one sentence on the metrics without a description, from which a model learns what they count."""
    names = [key for key, metric in catalogue.metrics.items() if not metric.description.strip()]
    if names:
        few = first_of(names, MAX_NAMED)
        yield f"{len(names)} of {len(catalogue.metrics)} metrics have no `description`, which list_kpis shows: {few}"


def cut_periods(catalogue: Catalogue) -> Iterator[str]:
    """Yield a sentence for each period of a domain that `closed_through` cuts, which is not closed."""
    for scenario in catalogue.scenarios.values():
        for key, closed in scenario.cut_at.items():
            period = catalogue.calendar.at(closed + DAY, catalogue.domains[key].grain)
            if period is not None:
                yield (
                    f"closed_through of {scenario.id} ends within {period.code} of {key}: {period.code} is not closed, "
                    f"so {scenario.id} is closed through {closed} there"
                )


def tell_open_folders(settings: Settings) -> None:
    """Print which folders other users can read, if they cannot be closed to them."""
    for remark in filter(None, map(restrict, settings.private_folders)):
        err.print(remark, markup=False)


def tell_engine_faults(instance: ServedInstance, settings: Settings, *, tries: bool) -> bool:
    """Print what the engine of facts lacks, each in a line with the next step; tell whether it lacks anything."""
    placement = instance.placement
    if placement is None:
        return False
    place = BooksFolder(catalogue=instance.catalogue, folder=settings.instance, state=settings.state_folder)
    stored = manifest_of(place).facts
    columns = {
        domain: sorted({column for part in parts if part.number is not None for column in part.columns})
        for domain, parts in stored.items()
        if any(part.number is not None for part in parts)
    }
    faults = list(engine_faults(placement, columns))
    if tries and not faults:
        faults = list(trial_faults(placement))
    for fault in faults:
        err.print(f"facts: {fault}", markup=False)
    if not os.environ.get(placement.loader):
        out.print(f"facts: {placement.loader} is not set here, so no load can run here", markup=False)
    files = {domain: [part for part in parts if part.file] for domain, parts in stored.items()}
    if waiting := [domain for domain, parts in files.items() if any(part.number is None for part in parts)]:
        out.print(
            f"facts: the rows of {', '.join(waiting)} are still files on this machine; tieout provision moves them",
            markup=False,
        )
    return bool(faults)


def tell_attached_faults(instance: ServedInstance, settings: Settings) -> bool:
    """Print what attached tables lack, each in a line with the next step; tell whether any lacks something."""
    try:
        faults = list(attached_faults(instance.bindings, instance.catalogue, settings.instance))
    except ReaderMayWrite as writer:
        faults = [str(writer)]
    for fault in faults:
        err.print(fault, markup=False)
    return bool(faults)


def tell_backups(settings: Settings) -> None:
    """Print what became of the scheduled backups, if there are any."""
    if settings.backup_dir is None:
        return
    record = BackupRecord.read(settings.state_folder)
    latest = (
        "there is none yet"
        if record.succeeded_at is None
        else f"the latest is of {record.succeeded_at:%Y-%m-%d %H:%M} UTC"
    )
    if record.fault is not None:
        err.print(f"the latest scheduled backup failed: {record.fault}; of whole ones {latest}", markup=False)
    else:
        out.print(f"scheduled backups: {latest}", markup=False)


def profiles_in_use(instance: ServedInstance, settings: Settings) -> Profiles:
    """Return the profiles that a server with these settings uses."""
    if settings.profiles == "file":
        opens = not settings.many_users and read_content(settings.instance) is None
        return profiles_of(profiles_document(OPEN.encode()), instance.catalogue) if opens else instance.profiles
    with platform(settings) as opened:
        opened.wait()
        return profiles_of(PostgresProfiles(opened.database).read(), instance.catalogue)


def describe_access(profiles: Profiles, subject: str, claims: Claims, books: Books) -> Iterator[str]:
    """Yield the profiles of a caller, and what they show of each scenario and domain or why they show nothing."""
    assigned = profiles.assigned_to(subject, claims)
    yield f"profiles: {', '.join(assigned) or 'none is assigned to this subject with these claims'}"
    if profiles.shut:
        yield "sees nothing, and nor does anybody else: an assignment cannot be read until its faults are corrected"
        return
    if closed := [key for key in assigned if key not in profiles.by_key]:
        yield f"sees nothing until the faults of these profiles are corrected: {', '.join(closed)}"
        return
    granted = profiles.held_by(subject, claims)
    yield from profile_faults(books, granted)
    reader = Reader(books, granted)
    for scenario in books.catalogue.scenarios:
        seen = (f"{domain} {extent(reader.cell(scenario, domain))}" for domain in books.catalogue.domains)
        yield f"{scenario}: {', '.join(seen)}"


def extent(cell: Cell) -> str:
    """Return how much of a domain a cell shows, in words."""
    return "nothing" if cell.is_nothing else "whole" if cell.is_everything else "in part"
