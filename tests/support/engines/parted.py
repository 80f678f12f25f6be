"""Parts of an engine for tests: a store that ends its process before or after a step, and what an engine holds."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from engine.facts import parts as parts_module
from engine.facts import writer as writer_module
from engine.facts.files import write_durably
from engine.facts.manifest import Manifest, current_version, pin_current
from engine.facts.writer import Stage
from engine.model.warehouses import PartTotals
from server.warehouses.parts import WarehouseParts


class ProcessEnd(BaseException):
    """Stands for SIGKILL: nothing of the process runs afterwards."""


@dataclass
class FatalStep:
    """Counts the steps of a publish, and ends the process at one of them."""

    last: int
    names: list[str] = field(default_factory=list)

    def at(self, name: str) -> None:
        """Take a step."""
        if len(self.names) == self.last:
            raise ProcessEnd(name)
        self.names.append(name)


@dataclass
class MortalParts:
    """The parts of an engine as a process sees them that ends at a step. Implements PartStore."""

    store: WarehouseParts
    step: FatalStep

    def table(self, domain: str) -> str:
        """Return the name of a table."""
        return self.store.table(domain)

    def put(self, domain: str, number: int, rows: pl.DataFrame) -> None:
        """Put a part: the process may end before it, when the engine has it, or half of it."""
        self.step.at("before put")
        self.store.put(domain, number, rows.head(1))
        self.step.at("half put")
        self.store.put(domain, number, rows)
        self.step.at("put")

    def totals(self, domain: str, measures: Sequence[str], numbers: Collection[int]) -> Mapping[int, PartTotals]:
        """Return what parts hold."""
        self.step.at("before totals")
        return self.store.totals(domain, measures, numbers)

    def numbers(self, domain: str) -> frozenset[int]:
        """Return the numbers of all parts."""
        return self.store.numbers(domain)

    def rows(self, domain: str, number: int, columns: Sequence[str]) -> pl.DataFrame:
        """Return the rows of a part."""
        return self.store.rows(domain, number, columns)

    def drop(self, domain: str, numbers: Collection[int]) -> None:
        """Drop parts."""
        self.store.drop(domain, numbers)


@contextmanager
def ending_process(root: Path, store: WarehouseParts, last: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Stage onto the current version in a process that ends at a step, so that no `finally` of a stage runs."""
    step = FatalStep(last)

    def write(path: Path, content: bytes) -> None:
        step.at(f"before {path.suffix}")
        write_durably(path, content)
        step.at(f"after {path.suffix}")

    with monkeypatch.context() as patched:
        patched.setattr(parts_module, "write_durably", write)
        patched.setattr(writer_module, "write_durably", write)
        yield Stage(root, manifest_of_store(root), MortalParts(store, step), keeps_files=False)


def manifest_of_store(root: Path) -> Manifest:
    """Return the manifest of the current version."""
    pin = pin_current(root)
    pin.drop()
    assert pin.manifest.version == current_version(root)
    return pin.manifest
