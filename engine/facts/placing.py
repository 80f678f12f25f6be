"""Placing: the rows of a stage and of its freezes, each put once where rows belong: in files, an engine, or both."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from engine.facts.freezing import StagedFreezes
from engine.facts.frozen import FrozenRows
from engine.facts.manifest import Partition
from engine.facts.partition_writer import PartitionWriter
from engine.facts.parts import Facts, Tell, put_parts
from engine.model.freezes import Freeze
from engine.model.warehouses import PartStore

PartKey = tuple[str, int]  # the id of a part, and how many with it stand before


class Placer:
    """Puts the rows of one stage where they belong."""

    def __init__(
        self, root: Path, writer: PartitionWriter, store: PartStore | None, base: Facts, *, keeps_files: bool
    ) -> None:
        """`base` holds the partitions of the version before; `store` is the engine, beside which files may be kept."""
        self._root = root
        self._writer = writer
        self._store = store
        self._base = base
        self._keeps_files = keeps_files

    def placed(self, facts: Facts, freezes: StagedFreezes, tell: Tell) -> tuple[Facts, Mapping[str, Freeze]]:
        """Return the partitions and the freezes of a stage after their rows were put.

        Attached rows stay where they are. Raises Unavailable if an engine does not take rows, or give them back.
        """
        own = {key: tuple(part for part in parts if part.token is None) for key, parts in facts.items()}
        before = freezes.rows(every=self._store is not None)
        apart = before if self._store is None else {key: self._apart(rows) for key, rows in before.items()}
        placed, after = placed_together(own, apart, partial(self._put, tell=tell), in_engine=self._store is not None)
        attached = {key: (part for part in parts if part.token is not None) for key, parts in facts.items()}
        return {key: (*parts, *attached[key]) for key, parts in placed.items()}, freezes.written(before, after)

    def _apart(self, rows: FrozenRows) -> FrozenRows:
        """Return what a freeze holds without merged parts: an engine knows the rows of a load by their part."""
        facts = {
            key: tuple(own for part in parts for own in self._writer.apart(key, part))
            for key, parts in rows.facts.items()
        }
        return replace(rows, facts=facts)

    def _put(self, facts: Facts, tell: Tell) -> Facts:
        if self._store is not None:
            facts = put_parts(self._root, self._store, facts, self._base, self._writer.rows, tell)
            if not self._keeps_files:
                return {key: tuple(replace(part, file="") for part in parts) for key, parts in facts.items()}
        placed = {key: tuple(self._writer.with_file(key, part) for part in parts) for key, parts in facts.items()}
        if self._store is not None:
            return placed
        return {key: tuple(replace(part, number=None) for part in parts) for key, parts in placed.items()}


def placed_together(
    facts: Facts, frozen: Mapping[str, FrozenRows], place: Callable[[Facts], Facts], *, in_engine: bool
) -> tuple[Facts, dict[str, FrozenRows]]:
    """Return the parts of a stage and of freezes after `place` has put the rows of each part once.

    Freezes name parts of the stage and of versions before it.
    """
    if not frozen:
        return place(facts), {}
    every: dict[str, dict[PartKey, Partition]] = {}
    for parts_by_domain in (facts, *(rows.facts for rows in frozen.values())):
        for domain, parts in parts_by_domain.items():
            own = every.setdefault(domain, {})
            for key, part in keyed(parts):
                first = own.get(key)
                if first is None or is_placed(part, in_engine=in_engine) > is_placed(first, in_engine=in_engine):
                    own[key] = part
    placed = place({domain: tuple(own.values()) for domain, own in every.items()})
    by_key = {domain: dict(zip(own, placed[domain], strict=True)) for domain, own in every.items()}

    def moved(of: Facts) -> Facts:
        return {domain: tuple(with_places(parts, by_key[domain])) for domain, parts in of.items()}

    return moved(facts), {scenario: replace(rows, facts=moved(rows.facts)) for scenario, rows in frozen.items()}


def is_placed(part: Partition, *, in_engine: bool) -> bool:
    """Tell whether the rows of a part are where those of the books belong."""
    return part.number is not None if in_engine else bool(part.file)


def keyed(parts: Iterable[Partition]) -> Iterator[tuple[PartKey, Partition]]:
    """Yield parts with keys: equal rows that two loads brought have one id."""
    seen = Counter[str]()
    for part in parts:
        yield (part.id, seen[part.id]), part
        seen[part.id] += 1


def with_places(parts: Sequence[Partition], placed: Mapping[PartKey, Partition]) -> Iterator[Partition]:
    """Yield parts with the places of their rows: a file, a number in the engine, or both."""
    for key, part in keyed(parts):
        at = placed[key]
        yield replace(part, file=at.file, number=at.number, columns=at.columns, unassigned=at.unassigned)
