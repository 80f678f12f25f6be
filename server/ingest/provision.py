"""Provision: builds derived files, removes leftovers of loads, and checks every file against its digest.

Codes, members, trees, the days that hold rows, how large sums can get, and the rollups of what it brings are made when
a load publishes; provision builds the rollups that were declared later.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from engine.facts.files import DIGITS
from engine.facts.manifest import UNDATED, Manifest, Partition, pin_current
from engine.model.catalogue import Catalogue, Domain
from server.base.interfaces import LoadHistory
from server.ingest.folder import BooksFolder, TargetBusy, lock_targets
from server.ingest.load import settle_attempts, staging


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSummary:
    """The size of a domain in the books."""

    domain: str
    rows: int
    months: Sequence[str]  # that hold rows, in order
    loads: int
    members: int  # of all its dimensions together
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionResult:
    """The repairs that were made, the damage that remains, and the contents of the books."""

    forgotten: int  # rows of the feed that was to be forgotten
    built: int  # rollups
    settled: int  # loads
    swept: int  # files
    damaged: Sequence[str]
    held: Sequence[DomainSummary]


def provision(place: BooksFolder, loads: LoadHistory, *, forget: str | None = None) -> ProvisionResult:
    """Put the books in order, without what one feed brought; StoreDown where the history of loads is out of reach."""
    before = {attempt.load_id for attempt in loads.running()}
    settle_attempts(place, loads)
    settled = before - {attempt.load_id for attempt in loads.running()}
    known = files_in(place)
    sweep_spool(place)
    with staging(place.store) as staged:  # sweeps as it ends
        forgotten = staged.forget(forget) if forget else 0
        built = staged.derive(place.catalogue.domains)
        staged.publish()
    swept = known - files_in(place)
    pin = pin_current(place.store)
    held = [summarize_domain(domain, place, pin.manifest) for domain in place.catalogue.domains.values()]
    damaged = list(find_damaged_files(place.store, pin.manifest))
    pin.drop()
    return ProvisionResult(
        forgotten=forgotten, built=built, settled=len(settled), swept=len(swept), damaged=damaged, held=held
    )


def files_in(place: BooksFolder) -> set[Path]:
    """Return the files of the store, and those on their way into it."""
    return {path for folder in (place.store, place.spool) for path in folder.rglob("*.arrow*")}


def sweep_spool(place: BooksFolder) -> None:
    """Delete the rows that loads left on their way, but not those of loads under way."""
    for folder in place.spool.glob("*"):
        try:
            with lock_targets(place.state, [folder.name]):
                shutil.rmtree(folder)
        except TargetBusy:
            continue


def find_damaged_files(root: Path, manifest: Manifest) -> Iterator[str]:
    """Yield every file that is not there or is not what was written, with the feed that brings it again."""
    parts = [(file, part.load) for parts in manifest.facts.values() for part in parts for file in files_of(part)]
    tables = [(table.file, table.load) for table in manifest.tables.values()]
    for file, load in (*parts, *tables, *((codes.file, None) for codes in manifest.codes.values())):
        again = f"load {manifest.loads[load].binding} again" if load else "restore it from a backup, or load everything"
        if not (root / file).is_file():
            yield f"{file} is missing; {again}"
        elif not is_whole(root / file):
            yield f"{file} is not what was written; {again}"


def files_of(part: Partition) -> list[str]:
    """Return the files of a partition: its rows and its rollups."""
    return [part.file, *(rollup.file for rollup in part.rollups)]


def is_whole(path: Path) -> bool:
    """Tell whether a file is what its name says that it holds."""
    with path.open("rb") as file:
        return path.stem.endswith(f"-{file_digest(file, 'sha256').hexdigest()[:DIGITS]}")


def summarize_domain(domain: Domain, place: BooksFolder, manifest: Manifest) -> DomainSummary:
    """Return what the books hold of a domain."""
    parts = manifest.facts.get(domain.key, ())
    codes = [manifest.codes[key] for key in domain.dimensions if key in manifest.codes]
    tables = [manifest.tables[name] for name in tables_of(domain, place.catalogue) if name in manifest.tables]
    files = {
        *(file for part in parts for file in files_of(part)),
        *(code.file for code in codes),
        *(table.file for table in tables),
    }
    return DomainSummary(
        domain=domain.key,
        rows=sum(part.rows for part in parts),
        months=sorted({part.bucket for part in parts} - {UNDATED}),
        loads=len({part.load for part in parts}),
        members=sum(code.count - 1 for code in codes),  # one of them stands for no member
        bytes=sum((place.store / file).stat().st_size for file in files if (place.store / file).exists()),
    )


def tables_of(domain: Domain, catalogue: Catalogue) -> set[str]:
    """Return the live tables of members and nodes behind the dimensions of a domain."""
    dimensions = [dim for dim in catalogue.dimensions.values() if dim.leaf in domain.dimensions]
    return {name for dim in dimensions for name in (dim.members, dim.nodes) if name}
