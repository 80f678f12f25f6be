"""Freezing: the freezes that a stage adds, keeps and gives up."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path

from msgspec.structs import replace

from engine.facts.frozen import DamagedFreeze, FrozenRows, read_frozen, write_frozen
from engine.facts.manifest import UNDATED, Manifest, Partition
from engine.model.calendar.periods import Span
from engine.model.errors import Unavailable
from engine.model.freezes import Freeze

DAY = timedelta(days=1)
Outside = Callable[[str, Partition, Span], Iterator[Partition]]  # the rows of a part of a domain outside a span


class StagedFreezes:
    """The freezes that a stage will publish."""

    def __init__(self, root: Path, base: Mapping[str, Freeze]) -> None:
        self._root = root
        self.by_id = dict(base)
        self._new: dict[str, FrozenRows] = {}

    def add(self, freeze: Freeze, version: Manifest, outside: Outside) -> Freeze:
        """Add a freeze of a version, and return it with what it holds. Raises Unavailable if it cannot be frozen."""
        rows = rows_of(freeze, version, outside)
        parts = [part for parts in rows.facts.values() for part in parts]
        if not parts:
            through = f" through {freeze.through}" if freeze.through else ""
            raise Unavailable(f"{freeze.base} has no rows{through}, so there is nothing to freeze; load it first")
        self._new[freeze.id] = rows
        self.by_id[freeze.id] = replace(freeze, version=version.version, rows=sum(part.rows for part in parts))
        return self.by_id[freeze.id]

    def drop(self, scenario: str) -> None:
        """Give a freeze up."""
        del self.by_id[scenario]
        self._new.pop(scenario, None)

    def rows(self, *, every: bool) -> dict[str, FrozenRows]:
        """Return what `every` freeze holds, or each new one; those whose file is damaged are left out."""
        rows = dict(self._new)
        for scenario, freeze in self.by_id.items() if every else ():
            if scenario not in rows:
                try:
                    rows[scenario] = read_frozen(self._root, freeze)
                except DamagedFreeze:
                    continue
        return rows

    def written(self, before: Mapping[str, FrozenRows], after: Mapping[str, FrozenRows]) -> dict[str, Freeze]:
        """Return the freezes, after writing the files of new ones and of those whose parts have moved."""
        files = {
            scenario: write_frozen(self._root, scenario, rows)
            for scenario, rows in after.items()
            if scenario in self._new or rows != before[scenario]
        }
        return {
            scenario: replace(freeze, file=files.get(scenario, freeze.file)) for scenario, freeze in self.by_id.items()
        }


def rows_of(freeze: Freeze, version: Manifest, outside: Outside) -> FrozenRows:
    """Return what a freeze of a version holds. Raises Unavailable if some of it lies in an attached table."""
    facts: dict[str, tuple[Partition, ...]] = {}
    for domain, parts in version.facts.items():
        own = [part for part in parts if part.scenario == freeze.base]
        if any(part.token is not None for part in own):
            raise Unavailable(
                f"{freeze.base} of {domain} lies in a table that {version.binding(own[0])} attaches, whose rows may "
                "change, so it cannot be frozen; load it with a feed that extracts the rows"
            )
        if freeze.through is not None:
            own = [each for part in own for each in part_through(domain, part, freeze.through, outside)]
        if own:
            facts[domain] = tuple(own)
    loads = {loaded.load for parts in facts.values() for part in parts for loaded in part.loaded}
    return FrozenRows(
        facts=facts,
        tables=version.tables,
        codes=version.codes,
        loads={key: load for key, load in version.loads.items() if key in loads},
    )


def part_through(domain: str, part: Partition, last: date, outside: Outside) -> Iterator[Partition]:
    """Yield the rows of a part through a day, those without a date left out: the part itself if it ends before."""
    if part.bucket != UNDATED and part.dates[0] <= last:
        yield from outside(domain, part, Span(last + DAY, date.max))
