"""The Arrow backend of the books: one pinned version of facts, members and loads."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property, partial
from hashlib import sha256
from operator import attrgetter
from pathlib import Path

import polars as pl

from engine.facts.arrow import ArrowFacts
from engine.facts.derived import derived_tables
from engine.facts.files import MappedFiles, mapped
from engine.facts.frozen import DamagedFreeze, FrozenRows, fitted, read_frozen, with_parts
from engine.facts.manifest import Manifest, Partition, Pin, current_stamp, current_version, pin_current
from engine.facts.routes import LostFacts, RoutedFacts
from engine.model.caching import LazyTable
from engine.model.catalogue import Domain
from engine.model.derived_tables import DerivedTables, Tables
from engine.model.fact_store import FactLoad, FactStore
from engine.model.freezes import Freeze
from engine.model.stopping import watched

SEQUENCE = attrgetter("sequence", "id")  # the order in which loads were published
FactsOf = Callable[[MappedFiles, Manifest, Mapping[str, Domain]], FactStore]


class ArrowVersions:
    """The versions of the books in a folder. Implements Versions."""

    def __init__(self, root: Path, facts: FactsOf = ArrowFacts) -> None:
        """`facts` answers from the files of a version, or from wherever its manifest says that the rows are."""
        self._root = root
        self._facts = facts
        self._files = MappedFiles(root)
        self._frozen: LazyTable[str, FrozenRows] = LazyTable()  # by file

    def current(self) -> int:
        """Return the number of the current version, 0 before the first is published."""
        return current_version(self._root)

    def stamp(self) -> Hashable:
        """Return the current version and what the file system says of its manifest. Raises DamagedBooks."""
        return current_stamp(self._root)

    def open(self, domains: Mapping[str, Domain]) -> "ArrowBackend":
        """Open the current version. Raises what `pin_current` raises."""
        pin = pin_current(self._root)
        frozen, damaged = self._read_freezes(pin.manifest)
        served = fitted(with_parts(pin.manifest, frozen), domains)
        self._files.keep(frozenset(served.files()))
        facts = self._facts(self._files, served, domains)
        lost = {(key, scenario): LostFacts(why) for scenario, why in damaged.items() for key in domains}
        return ArrowBackend(self._root, pin, served, RoutedFacts(facts, lost) if lost else facts)

    def _read_freezes(self, manifest: Manifest) -> tuple[Mapping[str, FrozenRows], Mapping[str, str]]:
        """Return what the freezes of a version hold, and why the others cannot be read."""
        frozen: dict[str, FrozenRows] = {}
        damaged: dict[str, str] = {}
        for scenario, freeze in manifest.frozen.items():
            try:
                frozen[scenario] = self._frozen.get(freeze.file, partial(read_frozen, self._root, freeze))
            except DamagedFreeze as fault:
                damaged[scenario] = str(fault)
        self._frozen.keep(frozenset(freeze.file for freeze in manifest.frozen.values()))
        return frozen, damaged


class ArrowBackend:
    """One version of the books in a folder, held open. Implements Backend."""

    def __init__(self, root: Path, pin: Pin, served: Manifest, facts: FactStore) -> None:
        """`served` has the parts of the freezes of the version beside its own."""
        self._root = root
        self._pin = pin
        self._manifest = pin.manifest
        self._served = served
        self.version: int = pin.manifest.version
        self.freezes: Sequence[Freeze] = tuple(pin.manifest.frozen.values())
        self.facts: FactStore = facts

    @property
    def files(self) -> Sequence[Path]:
        """The files that this version reads when it is asked; those of freezes were read when it was opened."""
        read = {freeze.file for freeze in self.freezes}
        return [self._root / file for file in self._served.files() if file not in read]

    @property
    def published_at(self) -> datetime | None:
        """The time of the latest load of this version, None if there is none."""
        loads = self._manifest.loads.values()
        return max(loads, key=lambda load: load.sequence).loaded_at if loads else None

    def leaf_count(self, dimension: str) -> int:
        """Return the number of codes of a leaf dimension, including the null member's."""
        codes = self._manifest.codes.get(dimension)
        return codes.count if codes else 1

    def leaf_ids(self, dimension: str) -> pl.Series | None:
        """Return the ids of a leaf dimension in code order, the null member first. None if none was loaded."""
        codes = self._manifest.codes.get(dimension)
        return mapped(self._root / codes.file)["id"] if codes else None

    def table(self, name: str) -> pl.DataFrame | None:
        """Return a table of members, nodes or rates, None if it was never loaded."""
        stored = self._manifest.tables.get(name)
        return mapped(self._root / stored.file) if stored else None

    def member_identities(self, leaf: str, tables: Collection[str]) -> frozenset[str]:
        """Return the identities of the codes of a leaf dimension and of the given tables: files that never change."""
        known = self._manifest.codes.get(leaf), *(self._manifest.tables.get(name) for name in tables)
        return frozenset(stored.file for stored in known if stored is not None)

    def derived(self, name: str, make: Callable[[], Tables]) -> DerivedTables:
        """Return tables of a name that tells what they are made of. The store makes them once and keeps them."""
        return derived_tables(self._root, name, make)

    def load_of(self, table: str) -> str | None:
        """Return the id of the load of a table of members, nodes or rates."""
        stored = self._manifest.tables.get(table)
        return stored.load if stored else None

    def loads(self, domain: str, scenario: str) -> Sequence[FactLoad]:
        """Return the loads of a scenario of a domain in publishing order."""
        days: dict[str, list[frozenset[date]]] = {}
        for part in self._partitions(domain, scenario):
            dates: dict[tuple[int, ...], frozenset[date]] = {}  # many loads of a month have the same days
            for loaded in watched(part.loaded):
                own = dates.get(loaded.days)
                if own is None:
                    own = dates[loaded.days] = part.dates_of(loaded)
                days.setdefault(loaded.load, []).append(own)
        loads = sorted((self._served.loads[load] for load in days), key=SEQUENCE)
        return [FactLoad(load=load.id, at=load.loaded_at, days=union(days[load.id])) for load in loads]

    def feeds(self, domain: str) -> set[str]:
        """Return the feeds that loaded the facts of a domain."""
        return {self._manifest.binding(part) for part in self._partitions(domain)}

    def places(self, domain: str) -> Mapping[str, set[int]]:
        """Return the decimal places at which the amounts of each measure of a domain are stored."""
        found: dict[str, set[int]] = {}
        for part in self._partitions(domain):
            for key, places in part.places.items():
                found.setdefault(key, set()).add(places)
        return found

    def blanks(self, domain: str) -> frozenset[str]:
        """Return the measures of a domain that some row has no amount of."""
        return frozenset(key for part in self._served.facts.get(domain, ()) for key in part.blanks)

    def columns(self, domain: str) -> Mapping[str, set[str]]:
        """Return the columns of each load of a domain. For release 0.3.0, reads them from its files."""
        firsts = {loaded.load: part for part in reversed(self._partitions(domain)) for loaded in part.loaded}
        return {load: set(part.columns or mapped(self._root / part.file).columns) for load, part in firsts.items()}

    def identities(self, domain: str, scenario: str, tables: Collection[str]) -> list[str]:
        """Return the identities of the facts of a scenario of a domain and of the given tables, unordered."""
        stored = [table.file for name, table in self._manifest.tables.items() if name in tables]
        return [loaded.id for part in self._partitions(domain, scenario) for loaded in part.loaded] + stored

    def row_identities(self) -> Mapping[tuple[str, str], str]:
        """Return the identity of the files of each scenario of a domain. Rows that are elsewhere have none."""
        return {
            place: identity for place, parts in self._by_scenario.items() if (identity := identity_of(place, parts))
        }

    @cached_property
    def _by_scenario(self) -> Mapping[tuple[str, str], Sequence[Partition]]:
        partitions_by_scenario: dict[tuple[str, str], list[Partition]] = {}
        for domain, partitions in self._served.facts.items():
            for part in partitions:
                partitions_by_scenario.setdefault((domain, part.scenario), []).append(part)
        return partitions_by_scenario

    def _partitions(self, domain: str, scenario: str | None = None) -> Sequence[Partition]:
        if scenario is None:
            return self._manifest.facts.get(domain, ())
        return self._by_scenario.get((domain, scenario), ())


def union(sets: Sequence[frozenset[date]]) -> frozenset[date]:
    """Return the days of some sets of days, the set itself if there is only one."""
    return sets[0] if len(sets) == 1 else frozenset[date]().union(*sets)


def identity_of(place: tuple[str, str], parts: Sequence[Partition]) -> str:
    """Return the digest of the files that hold some rows, an empty text if any of these are elsewhere or may change."""
    files = sorted(part.file for part in parts if part.token is None)
    return sha256("\n".join((*place, *files)).encode()).hexdigest() if len(files) == len(parts) and all(files) else ""
