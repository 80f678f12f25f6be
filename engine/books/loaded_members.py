"""The members that loads brought, as tables: what lists and trees of members and the search are made of."""

from collections.abc import Callable, Collection, Mapping
from functools import reduce
from hashlib import sha256
from operator import or_
from typing import NamedTuple

import polars as pl

from engine.model.catalogue import Catalogue, Dimension, DimensionKind
from engine.model.derived_tables import DerivedTables, Tables
from engine.model.errors import Unavailable
from engine.model.fact_store import Backend
from engine.model.scope import UNASSIGNED


class MemberTables(NamedTuple):
    """What loads brought of a dimension: the ids of its leaves in code order, and tables of members and nodes."""

    ids: pl.Series
    members: pl.DataFrame | None
    nodes: pl.DataFrame | None

    @property
    def attributes(self) -> set[str]:
        """The attributes of the leaves."""
        return set() if self.members is None else set(self.members.columns) - {"id", "name"}

    @property
    def undescribed(self) -> frozenset[int]:
        """The codes whose ids the table of members lacks, without the null member."""
        coded = pl.DataFrame({"id": self.ids}).with_row_index("code")[1:]
        lacking = coded if self.members is None else coded.join(self.members.select("id"), on="id", how="anti")
        return frozenset(lacking["code"].to_list())


class LoadedMembers:
    """The tables of members of one version of the books, by dimension."""

    def __init__(self, catalogue: Catalogue, backend: Backend) -> None:
        self._catalogue = catalogue
        self._backend = backend
        self.count = backend.leaf_count  # of a leaf dimension: the number of codes, the null member's included
        self.identities: Mapping[str, frozenset[str]] = {
            key: self._identities_of(dimension) for key, dimension in catalogue.dimensions.items()
        }

    def _identities_of(self, dimension: Dimension) -> frozenset[str]:
        leaf = self._catalogue.dimensions.get(dimension.leaf)
        tables = (leaf.members if leaf else None, dimension.members, dimension.nodes)
        return self._backend.member_identities(dimension.leaf, [name for name in tables if name])

    def identities_of(self, keys: Collection[str]) -> frozenset[str]:
        """Return the identities of the codes and tables of some dimensions."""
        return reduce(or_, (self.identities[key] for key in keys), frozenset())

    def tables(self, key: str) -> MemberTables:
        """Return the tables of a dimension. Raises Unavailable if it was never loaded."""
        dimension = self._catalogue.dimensions[key]
        ids, leaf = self._backend.leaf_ids(dimension.leaf), self._catalogue.dimensions[dimension.leaf]
        members, nodes = (self._backend.table(name) if name else None for name in (leaf.members, dimension.nodes))
        tables = MemberTables(pl.Series([UNASSIGNED]) if ids is None else ids, members, nodes)
        if dimension.kind is DimensionKind.DERIVED and dimension.attribute not in tables.attributes:
            raise Unavailable(f"{dimension.label} is not loaded: {dimension.leaf} has no '{dimension.attribute}'.")
        if dimension.kind is DimensionKind.RAGGED and nodes is None:
            raise Unavailable(f"{dimension.label} is not loaded: there is no {dimension.nodes}.")
        return tables

    def derived(self, keys: Collection[str], about: str, make: Callable[[], Tables]) -> DerivedTables:
        """Return tables that are made of those of some dimensions, kept beside the store for all who read it.

        `about` tells what they are and how they are made.
        """
        identities = sorted(self.identities_of(keys))
        if not identities:
            return DerivedTables(make(), are_mapped=False)
        name = sha256("\n".join([about, *identities]).encode()).hexdigest()
        return self._backend.derived(name, make)
