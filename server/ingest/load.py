"""Loads: extract, validate, stage, and publish at once; any failure publishes nothing."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

import polars as pl

from engine.catalogue import Catalogue, Dimension, Domain
from engine.feeds import Binding
from engine.members.tables import leaf_members, ragged_nodes
from engine.members.tree import HierarchyFault
from engine.store.layout import Load
from engine.store.writer import BooksLocked, Stage, stage
from server.ingest.extract import extract
from server.ingest.rates import shape_rates
from server.ingest.rejects import VALIDATE, LoadFailed, Rejects
from server.ingest.shape import shape_facts, shape_members, shape_nodes
from server.ingest.shaping import Shaping

__all__ = ["BindingFailed", "BooksLocked", "Loaded", "load"]

STAGE, PUBLISH = "stage", "publish"
Progress = Callable[[str, str, int], None]  # binding, what is being done, rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What one binding brought."""

    binding: str
    load: str
    rows_read: int
    rows_landed: int
    rejects: pl.DataFrame


class BindingFailed(Exception):
    """The binding that made a load fail, with the rows it rejected."""

    def __init__(self, binding: str, failure: LoadFailed, rejects: pl.DataFrame) -> None:
        super().__init__(f"{binding}: {failure}")
        self.binding = binding
        self.stage = failure.stage
        self.rejects = rejects


def load(
    bindings: Sequence[Binding], catalogue: Catalogue, root: Path, folder: Path, progress: Progress
) -> list[Loaded]:
    """Load some bindings as one version of the books: members and rates first, then trees, then facts.

    `root` is the fact store, `folder` the instance that relative paths start from. BindingFailed, and nothing is
    published, where any of them fails.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    with stage(root) as staged:
        done = [
            Loading(binding, catalogue, staged, folder, progress, now).run()
            for binding in sorted(bindings, key=lambda binding: rank(binding, catalogue))
        ]
        for loaded in done:
            progress(loaded.binding, PUBLISH, loaded.rows_landed)
        staged.publish()
    return done


def rank(binding: Binding, catalogue: Catalogue) -> int:
    """Return when a binding's turn comes: facts need members, trees and rates, and trees need members."""
    if binding.fills_rates:
        return 0
    target = target_of(binding, catalogue)
    if isinstance(target, Domain):
        return 2
    return 0 if target.members == binding.target else 1


def target_of(binding: Binding, catalogue: Catalogue) -> Domain | Dimension:
    """Return the domain or dimension whose table a binding fills."""
    for domain in catalogue.domains.values():
        if domain.table == binding.target:
            return domain
    return next(dim for dim in catalogue.dimensions.values() if binding.target in (dim.members, dim.nodes))


def whole(frames: Iterable[pl.DataFrame], binding: Binding) -> pl.DataFrame:
    """Return the rows of all files of a binding: members and nodes are judged together."""
    try:
        return pl.concat(frames, how="vertical_relaxed")
    except (pl.exceptions.SchemaError, pl.exceptions.ShapeError) as fault:
        raise LoadFailed("extract", f"the files of {binding.extract} do not have the same columns") from fault


@dataclass(frozen=True, slots=True)
class Loading:
    """One binding on its way into a stage."""

    binding: Binding
    catalogue: Catalogue
    staged: Stage
    folder: Path
    progress: Progress
    now: datetime

    def run(self) -> Loaded:
        """Extract, validate and stage, file by file where they are facts; BindingFailed where one of them fails."""
        key = self.binding.key
        load = Load(id=f"{self.now:%Y%m%dT%H%M%SZ}-{key}-{token_hex(2)}", binding=key, loaded_at=self.now)
        target = None if self.binding.fills_rates else target_of(self.binding, self.catalogue)
        rejects = Rejects()
        landed = 0
        try:
            self.progress(key, "extract", 0)
            frames = extract(self.binding, self.folder)
            for frame in frames if isinstance(target, Domain) else [whole(frames, self.binding)]:
                rejects.begin(frame)
                self.progress(key, "validate", rejects.read)
                landed += self.staging(target, Shaping(self.binding, frame, rejects), load)
            rejects.hold(self.binding.rejects_allowed)
            self.hold_nothing(landed)
        except LoadFailed as failure:
            raise BindingFailed(key, failure, rejects.report) from failure
        return Loaded(binding=key, load=load.id, rows_read=rejects.read, rows_landed=landed, rejects=rejects.report)

    def hold_nothing(self, landed: int) -> None:
        """Raise LoadFailed where not one row came back and the binding does not take that at its word."""
        if landed == 0 and not self.binding.allows_empty:
            says = "not one row came back, and what was loaded before would go; allow_empty: true takes it so"
            raise LoadFailed(VALIDATE, says)

    def staging(self, target: Domain | Dimension | None, shaping: Shaping, load: Load) -> int:
        """Stage the rows of an extract and return how many there are."""
        if isinstance(target, Domain):
            facts = shape_facts(shaping, target, self.catalogue, self.staged)
            self.progress(self.binding.key, STAGE, facts.height)
            self.staged.facts(target, facts, load)
            return facts.height
        if target is None:
            rates = shape_rates(shaping, self.catalogue)
            self.staged.table(self.binding.target, rates, load)
            return rates.height
        if target.members == self.binding.target:
            members = shape_members(shaping, target, self.catalogue)
            self.staged.codes(target.key, members["id"])
            self.staged.table(self.binding.target, members, load)
            return members.height
        leaf = self.catalogue.dimensions[target.leaf]
        known = self.staged.known(leaf.members, "id") if leaf.members else None
        nodes = shape_nodes(shaping, known)
        self.check_tree(target, nodes)
        self.staged.table(self.binding.target, nodes, load)
        return nodes.height

    def check_tree(self, dimension: Dimension, nodes: pl.DataFrame) -> None:
        """Refuse nodes that make no tree."""
        ids = self.staged.ids(dimension.leaf)
        try:
            ragged_nodes(dimension.key, leaf_members(dimension.leaf, ids, None), nodes, adds_paths=dimension.adds_paths)
        except HierarchyFault as fault:
            raise LoadFailed(VALIDATE, str(fault)) from fault
