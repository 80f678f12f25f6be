"""Provision: builds derived files, removes leftovers of loads, and checks every file against its digest.

Where the instance names an engine, provision moves the rows of facts there and compares its counts and sums. A load
derives codes, members, trees, days with rows, the size of sums and rollups when it publishes. Provision builds
the rollups that were declared after the load, and chooses anew those of domains that declare none.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path

from msgspec import Struct

from engine.facts.files import DIGITS
from engine.facts.frozen import DamagedFreeze, read_frozen
from engine.facts.manifest import UNDATED, Manifest, Partition, pin_current
from engine.facts.parts import Tell, differences, unnamed_parts, untold
from engine.model.catalogue import Catalogue, Domain
from engine.model.warehouses import PartStore
from server.base.interfaces import LoadHistory
from server.ingest.folder import BooksFolder, TargetBusy, lock_targets
from server.ingest.load import settle_attempts
from server.ingest.staging import open_parts, staging


class DomainSummary(Struct, frozen=True, kw_only=True):
    """The size of a domain in the books."""

    domain: str
    rows: int
    months: Sequence[str]  # that hold rows, in order
    loads: int
    members: int  # of all its dimensions together
    bytes: int
    rollups: Mapping[tuple[str, ...], tuple[int, int]]  # dimensions -> rows of the sums, and of the facts behind them


class ProvisionResult(Struct, frozen=True, kw_only=True):
    """The repairs that were made, the damage that remains, and the contents of the books."""

    forgotten: int  # rows removed with a feed
    built: int  # rollups
    settled: int  # loads
    swept: int  # files
    damaged: Sequence[str]
    domains: Sequence[DomainSummary]


def provision(
    place: BooksFolder, loads: LoadHistory, *, forget: str | None = None, tell: Tell = untold
) -> ProvisionResult:
    """Repair and check the books, and remove the rows of the feed `forget`.

    Moves the rows of facts into the engine that the instance names, or back into files where it keeps them here, and
    `tell`s how many are there. One that is ended at any moment published nothing; the next takes over the parts that it
    put. Raises StoreDown, and Unavailable if the engine fails or holds other rows than the books.
    """
    with open_parts(place, reached=True) as parts:
        return provision_with(place, loads, parts, forget, tell)


def provision_with(
    place: BooksFolder, loads: LoadHistory, parts: PartStore | None, forget: str | None, tell: Tell
) -> ProvisionResult:
    """Do what `provision` does, with the engine open."""
    before = {attempt.load_id for attempt in loads.running()}
    settle_attempts(place, loads)
    settled = before - {attempt.load_id for attempt in loads.running()}
    known = files_in(place)
    sweep_spool(place)
    with staging(place, parts) as staged:  # removes unnamed files at its end
        forgotten = staged.forget(forget) if forget else 0
        built = staged.derive(place.catalogue.domains)
        staged.publish(tell)
    swept = known - files_in(place)
    pin = pin_current(place.store)
    domains = [summarize_domain(domain, place, pin.manifest) for domain in place.catalogue.domains.values()]
    damaged = list(find_damaged_files(place.store, pin.manifest))
    if parts is not None:
        damaged += (
            f"{difference}; run tieout provision again" for difference in differences(parts, pin.manifest.facts)
        )
        damaged += find_changed_parts(place.store, pin.manifest, parts)
    pin.drop()
    return ProvisionResult(
        forgotten=forgotten, built=built, settled=len(settled), swept=len(swept), damaged=damaged, domains=domains
    )


def strays(place: BooksFolder, *, drop: bool = False) -> Mapping[str, frozenset[int]]:
    """Return the parts in the engine, by domain, that nothing in the state folder names, and `drop` them.

    Waits for loads that publish. Raises Unavailable if the engine fails.
    """
    with open_parts(place, reached=True) as parts:
        if parts is None:
            return {}
        with staging(place, parts):  # nobody puts parts meanwhile
            found = unnamed_parts(place.store, parts, place.catalogue.domains)
            if drop:
                for domain, numbers in found.items():
                    parts.drop(domain, numbers)
        return found


def files_in(place: BooksFolder) -> set[Path]:
    """Return the files of the store and of the spool."""
    return {path for folder in (place.store, place.spool) for path in folder.rglob("*.arrow*")}


def sweep_spool(place: BooksFolder) -> None:
    """Delete the spooled rows of ended loads, not those of running ones."""
    for folder in place.spool.glob("*"):
        try:
            with lock_targets(place.state, [folder.name]):
                shutil.rmtree(folder)
        except TargetBusy:
            continue


def find_damaged_files(root: Path, manifest: Manifest) -> Iterator[str]:
    """Yield every missing or changed file, with the feed to load again."""
    parts = [
        (file, part.loaded[0].load) for parts in manifest.facts.values() for part in parts for file in files_of(part)
    ]
    tables = [(table.file, table.load) for table in manifest.tables.values()]
    for file, load in (*parts, *tables, *((codes.file, None) for codes in manifest.codes.values())):
        again = f"load {manifest.loads[load].binding} again" if load else "restore it from a backup, or load everything"
        if not (root / file).is_file():
            yield f"{file} is missing; {again}"
        elif not is_whole(root / file):
            yield f"{file} is damaged; {again}"

    named = {*manifest.files()}
    for freeze in manifest.frozen.values():
        try:
            rows = read_frozen(root, freeze)
        except DamagedFreeze as fault:
            yield str(fault)
            continue
        for file in sorted({*rows.files()} - named):
            if not (root / file).is_file() or not is_whole(root / file):
                yield (
                    f"{file} of the freeze {freeze.id} is missing or damaged; restore it from a backup, or give the "
                    f"freeze up: tieout freeze --drop {freeze.id}"
                )


def find_changed_parts(root: Path, manifest: Manifest, parts: PartStore) -> Iterator[str]:
    """Yield every difference between the engine and what freezes name there."""
    for scenario, freeze in manifest.frozen.items():
        with suppress(DamagedFreeze):  # which find_damaged_files names
            for _, says in differences(parts, read_frozen(root, freeze).facts):
                yield f"{says}, which the freeze {scenario} names; restore the table, or give the freeze up"


def files_of(part: Partition) -> list[str]:
    """Return the files of a partition: of its rows, unless only an engine has them, and of its rollups."""
    return [*filter(None, [part.file]), *(rollup.file for rollup in part.rollups)]


def is_whole(path: Path) -> bool:
    """Tell whether a file has the digest in its name."""
    with path.open("rb") as file:
        return path.stem.endswith(f"-{file_digest(file, 'sha256').hexdigest()[:DIGITS]}")


def summarize_domain(domain: Domain, place: BooksFolder, manifest: Manifest) -> DomainSummary:
    """Return the size of a domain."""
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
        loads=len({loaded.load for part in parts for loaded in part.loaded}),
        members=sum(code.count - 1 for code in codes),  # one code stands for no member
        bytes=sum((place.store / file).stat().st_size for file in files if (place.store / file).exists()),
        rollups=rows_of_rollups(parts),
    )


def rows_of_rollups(parts: Sequence[Partition]) -> Mapping[tuple[str, ...], tuple[int, int]]:
    """Return, for the dimensions of each rollup, the rows of its sums and of the facts that they sum."""
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for part in parts:
        for rollup in part.rollups:
            sums, facts = found.get(rollup.dimensions, (0, 0))
            found[rollup.dimensions] = (sums + rollup.rows, facts + part.rows)
    return found


def tables_of(domain: Domain, catalogue: Catalogue) -> set[str]:
    """Return the live tables of members and nodes behind the dimensions of a domain."""
    dimensions = [dim for dim in catalogue.dimensions.values() if dim.leaf in domain.dimensions]
    return {name for dim in dimensions for name in (dim.members, dim.nodes) if name}
