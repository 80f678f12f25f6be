"""Deliveries: what one binding brings, from its extract to a stage.

Receiving reads the source and judges each row, and holds nobody up; staging is short and holds the publishing lock.
"""

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from engine.calendar.periods import PeriodRange, Span
from engine.catalogue import Catalogue, Dimension, Domain
from engine.feeds import Binding, LoadMode
from engine.members.tables import leaf_members, ragged_nodes
from engine.members.tree import HierarchyFault
from engine.slices import DATE
from engine.store.landing import Landing
from engine.store.layout import Load
from engine.store.writer import Stage
from server.ingest.extract import extract
from server.ingest.place import Place
from server.ingest.rates import shape_rates
from server.ingest.rejects import EXTRACT, VALIDATE, LoadFailed, Part, Rejects
from server.ingest.shape import shape_facts, shape_members, shape_nodes
from server.ingest.shaping import Shaping
from server.ingest.tables import Tables

Progress = Callable[[str, str, int], None]  # binding, what is being done, rows


def target_of(binding: Binding, catalogue: Catalogue) -> Domain | Dimension | None:
    """Return the domain or dimension whose table a binding fills, None where it is one of rates."""
    if binding.fills_rates:
        return None
    for domain in catalogue.domains.values():
        if domain.table == binding.target:
            return domain
    return next(dim for dim in catalogue.dimensions.values() if binding.target in (dim.members, dim.nodes))


def rank(binding: Binding, catalogue: Catalogue) -> int:
    """Return when a binding's turn comes: facts need members, trees and rates, and trees need members."""
    target = target_of(binding, catalogue)
    if isinstance(target, Domain):
        return 2
    return 0 if target is None or target.members == binding.target else 1


@dataclass(slots=True)
class Delivery:
    """What one binding brings."""

    binding: Binding
    place: Place
    load_id: str
    periods: PeriodRange | None  # that are asked for, None where all
    progress: Progress
    rejects: Rejects = field(default_factory=Rejects)
    landings: list[Landing] = field(default_factory=list)  # of facts: one for each part that is appended, else one
    table: pl.DataFrame | None = None  # of members, nodes or rates
    span: Span | None = None  # days asked for, else of the rows that came

    @property
    def spool(self) -> Path:
        """The folder of its rows."""
        return self.place.spool / self.binding.target / self.binding.key

    def receive(self, tables: Tables) -> None:
        """Read and judge every row; LoadFailed where they cannot be loaded."""
        self.span = self.periods.span if self.periods else None
        target = target_of(self.binding, self.place.catalogue)
        self.progress(self.binding.key, "extract", 0)
        parts = extract(self.binding, self.place.folder, self.place.catalogue.calendar, self.periods)
        if isinstance(target, Domain):
            self._receive_facts(target, parts, tables)
        else:
            self._receive_table(target, parts, tables)
        if not self._rows and not self.binding.allows_empty:
            says = "not one row came back, and what was loaded before would go; allow_empty: true takes it so"
            raise LoadFailed(VALIDATE, says)

    @property
    def _rows(self) -> int:
        return sum(landing.rows for landing in self.landings) if self.table is None else self.table.height

    def _receive_facts(self, domain: Domain, parts: Iterable[Part], tables: Tables) -> None:
        for number, part in enumerate(parts):
            if not self.landings or self.binding.mode is LoadMode.APPEND:
                self.landings.append(Landing(self.spool / f"{number:04}", domain))
            with closing(part.pieces) as pieces:
                for piece in pieces:
                    self._land(domain, piece, tables)

    def _land(self, domain: Domain, piece: pl.DataFrame, tables: Tables) -> None:
        self.rejects.begin(piece)
        shaping = Shaping(self.binding, piece, self.rejects, self.periods)
        facts = shape_facts(shaping, domain, self.place.catalogue, tables)
        self.landings[-1].add(facts)
        if self.periods is None:
            self.span = widened(self.span, facts)
        self.progress(self.binding.key, "validate", self.rejects.read)

    def _receive_table(self, dimension: Dimension | None, parts: Iterable[Part], tables: Tables) -> None:
        rows = whole([piece for part in parts for piece in part.pieces], self.binding)
        self.rejects.begin(rows)
        self.progress(self.binding.key, "validate", rows.height)
        shaping, catalogue = Shaping(self.binding, rows, self.rejects), self.place.catalogue
        if dimension is None:
            self.table = shape_rates(shaping, catalogue)
        elif dimension.members == self.binding.target:
            self.table = shape_members(shaping, dimension, catalogue)
        else:
            leaf = catalogue.dimensions[dimension.leaf]
            self.table = shape_nodes(shaping, tables.known(leaf.members, "id") if leaf.members else None)
            check_tree(dimension, self.table, tables.ids(leaf.key, leaf.members))
        tables.bring(self.binding.target, self.table)

    def stage(self, staged: Stage, load: Load) -> int:
        """Stage what was received and return how many rows landed."""
        self.progress(self.binding.key, "stage", self._rows)
        target = target_of(self.binding, self.place.catalogue)
        if isinstance(target, Domain):
            return sum(staged.facts(target, landing, load, self.binding.mode, self.span) for landing in self.landings)
        assert self.table is not None  # noqa: S101 - received before it is staged
        if target is not None and target.members == self.binding.target:
            staged.codes(target.key, self.table["id"])
        staged.table(self.binding.target, self.table, load)
        return self.table.height


def widened(span: Span | None, facts: pl.DataFrame) -> Span | None:
    """Return the days of some facts and of those before them."""
    first, last = facts[DATE].min(), facts[DATE].max()
    if first is None or last is None:
        return span
    found = Span(first, last)  # type: ignore[arg-type]  # the least and the greatest of a column of days are days
    return found if span is None else Span(min(span.first, found.first), max(span.last, found.last))


def whole(pieces: list[pl.DataFrame], binding: Binding) -> pl.DataFrame:
    """Return the rows of all files of a binding: members and nodes are judged together."""
    try:
        return pl.concat(pieces, how="vertical_relaxed")
    except (pl.exceptions.SchemaError, pl.exceptions.ShapeError) as fault:
        raise LoadFailed(EXTRACT, f"the files of {binding.extract} do not have the same columns") from fault


def check_tree(dimension: Dimension, nodes: pl.DataFrame, ids: pl.Series) -> None:
    """Refuse nodes that make no tree."""
    try:
        ragged_nodes(dimension.key, leaf_members(dimension.leaf, ids, None), nodes, adds_paths=dimension.adds_paths)
    except HierarchyFault as fault:
        raise LoadFailed(VALIDATE, str(fault)) from fault
