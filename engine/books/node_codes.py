"""The leaf codes that a cut by nodes of a large tree selects, told by the table of the nodes: no tree is opened."""

from typing import NamedTuple

import polars as pl

from engine.books.loaded_members import MemberTables
from engine.books.search_rows import TreeNodes, described
from engine.model.scope import ALL, OWN, UNASSIGNED, CodeSet, Cut
from engine.model.stopping import look

MAX_OPENED = 20_000  # leaves below a tree that is opened instead
MAX_LEVELS = 100  # of a tree that is walked level by level


class CodesBelow(NamedTuple):
    """The leaf codes at or below the nodes of a cut, those below no node, and how many of its ids are nodes."""

    below: frozenset[int]
    unassigned: frozenset[int]
    nodes: int

    def selected(self, cut: Cut) -> CodeSet | None:
        """Return the codes that the cut selects, None if it denies an id that is no node."""
        if not cut.deny:
            return CodeSet(self.below)
        return CodeSet(self.below | self.unassigned, complement=True) if self.nodes == len(cut.ids) else None


def codes_below(cut: Cut, tables: MemberTables) -> CodesBelow | None:
    """Return the leaf codes below the nodes of a cut.

    None where the tree must be opened: it has several paths to a node or very many levels, or the cut names own
    postings, `(unassigned)` or `(all)`.
    """
    others = any(member in (ALL, UNASSIGNED) or member.endswith(OWN) for member in cut.ids)
    if tables.nodes is None or others:
        return None
    tree = TreeNodes.of(described(tables.ids, None), tables.nodes)
    if not tree.is_simple:
        return None
    named = tree.nodes["node"].is_in(pl.Series(cut.ids, dtype=pl.String).implode())
    reached = reached_from(named, tree)
    if reached is None:
        return None
    postings = tree.nodes["posting"]
    outside = frozenset(range(len(tables.ids))).difference(postings.drop_nulls())
    nodes = frozenset(tree.nodes["node"].filter(named))
    below = frozenset(postings.filter(reached).drop_nulls())
    return CodesBelow(below, outside, sum(member in nodes for member in cut.ids))


def reached_from(named: pl.Series, tree: TreeNodes) -> pl.Series | None:
    """Return a Boolean per node: whether it is named or lies below one that is; None beyond so many levels."""
    parents, children = tree.edges["parent"], tree.edges["child"]
    reached = fresh = named
    for _ in range(MAX_LEVELS):
        look()
        below = children.filter(fresh.gather(parents))
        if below.is_empty():
            return reached
        fresh = pl.repeat(value=False, n=len(named), dtype=pl.Boolean, eager=True).scatter(below, values=True)
        reached |= fresh
    return None
