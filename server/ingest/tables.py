"""Tables as a load sees them: those that it brings itself, over those that are published."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from engine.store.layout import Manifest, pin_current
from engine.store.writer import ids_of


class Tables:
    """The tables of members, nodes and rates that facts are held against."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self._root = root
        self._manifest = manifest
        self._brought: dict[str, pl.DataFrame] = {}

    def bring(self, name: str, rows: pl.DataFrame) -> None:
        """Let a table of this load stand in place of the published one."""
        self._brought[name] = rows

    def rows(self, name: str) -> pl.DataFrame | None:
        """Return a table, None where there is no such table."""
        if name in self._brought:
            return self._brought[name]
        stored = self._manifest.tables.get(name)
        return None if stored is None else pl.read_ipc(self._root / stored.file)

    def known(self, name: str, column: str) -> pl.Series | None:
        """Return a column of a table, None where there is no such table."""
        rows = self.rows(name)
        return None if rows is None else rows[column]

    def ids(self, dimension: str, members: str | None) -> pl.Series:
        """Return the ids of a leaf dimension, the null member first, with those of its table of members."""
        coded = ids_of(self._root, self._manifest.codes.get(dimension))
        known = self.known(members, "id") if members else None
        return coded if known is None else pl.concat([coded, known.rename("id")]).unique(maintain_order=True)


@contextmanager
def tables_of(root: Path) -> Iterator[Tables]:
    """Hold the published tables open."""
    pin = pin_current(root)
    try:
        yield Tables(root, pin.manifest)
    finally:
        pin.drop()
