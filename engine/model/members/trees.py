"""The trees of ragged dimensions, with a weight on every edge, and members read from the tables that loads bring."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from engine.model.exact import ONE, Exact
from engine.model.members.member_sets import LeafMembers, Leaves, Visible
from engine.model.scope import ALL, OWN, UNASSIGNED


class HierarchyFault(ValueError):
    """An invalid hierarchy: a cycle, or a leaf with two weights. The loader reports it."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a hierarchy: its ordered children with weights, and its posting leaf, if any."""

    node: str
    name: str | None  # None: the name of its posting leaf
    children: tuple[tuple[str, Exact], ...]
    posting_leaf: int | None


@dataclass(frozen=True)
class RaggedNodes:
    """The nodes of one or several trees above a leaf dimension."""

    dimension: str
    of: LeafMembers
    nodes: Mapping[str, Node]
    roots: tuple[tuple[str, Exact], ...]
    adds_paths: bool = False

    @property
    def leaf(self) -> str:
        """The leaf dimension below the tree."""
        return self.of.dimension

    @cached_property
    def _weights(self) -> dict[str, Leaves]:
        return {}

    @cached_property
    def is_simple(self) -> bool:
        """Whether every node has one parent and every leaf one node."""
        reached = [*self.roots, *(edge for node in self.nodes.values() for edge in node.children)]
        owns = [node.posting_leaf for node in self.nodes.values() if node.posting_leaf is not None]
        return len({node for node, _ in reached}) == len(reached) and len(set(owns)) == len(owns)

    def ids(self) -> Iterator[str]:
        """Yield the nodes from the top down. If a node has children, its own postings follow it."""
        return iter(self._ids)

    @cached_property
    def _ids(self) -> Sequence[str]:
        ids = []
        for key in self._downward(node for node, _ in self.roots):
            ids.append(key)
            if self.nodes[key].children and self.nodes[key].posting_leaf is not None:
                ids.append(key + OWN)
        return ids

    def has(self, member: str) -> bool:
        """Tell whether a node has this id; `NODE/(own)` exists if the node has a posting leaf."""
        node = self.nodes.get(member.removesuffix(OWN))
        return member in (UNASSIGNED, ALL) or (
            node is not None and (not member.endswith(OWN) or node.posting_leaf is not None)
        )

    def label(self, member: str) -> str:
        """Return the node's name."""
        if member in (UNASSIGNED, ALL):
            return member
        node = self.nodes[member.removesuffix(OWN)]
        name = node.name or (node.node if node.posting_leaf is None else self.of.names[node.posting_leaf])
        return f"{name} (own)" if member.endswith(OWN) else name

    def bare_label(self, member: str) -> str:
        """Return a node's name of its own, else its id."""
        return self.nodes[member].name or member

    def posting_leaf(self, member: str) -> str | None:
        """Return the posting leaf of a node with children; it can be hidden although the node is visible."""
        node = self.nodes.get(member)
        return (
            None
            if node is None or node.posting_leaf is None or not node.children
            else self.of.member_ids[node.posting_leaf]
        )

    def code(self, member: str) -> str | None:
        """Return the code of the posting leaf of a node."""
        node = self.nodes.get(member.removesuffix(OWN))
        known = self.of.business_codes
        return known[node.posting_leaf] if known and node is not None and node.posting_leaf is not None else None

    def leaves(self, member: str) -> Leaves:
        """Return the leaves below a node and its posting leaf, each with the product of the weights on its path."""
        if member == UNASSIGNED:
            return self.unplaced
        if member == ALL:
            return self.top()
        if member.endswith(OWN):
            return self._own_postings(member.removesuffix(OWN))
        if member not in self._weights and self.is_simple:
            self._weights[member] = self._multiplied(member)
        for node in self._upward([member]) if member not in self._weights else ():
            if node not in self._weights:
                below = ((self._weights[child], edge) for child, edge in self.nodes[node].children)
                self._weights[node] = self._joined([(self._own_postings(node), ONE), *below], node)
        return self._weights[member]

    def _own_postings(self, key: str) -> Leaves:
        leaf = self.nodes[key].posting_leaf
        return {} if leaf is None else {leaf: ONE}

    def _multiplied(self, top: str) -> Leaves:
        """Return the leaves below a node of a simple tree, multiplying weights on the way down."""
        weights: dict[int, Exact] = {}
        ahead = [(top, ONE)]
        while ahead:
            key, weight = ahead.pop()
            node = self.nodes[key]
            if node.posting_leaf is not None:
                weights[node.posting_leaf] = weight
            ahead.extend(
                (child, weight if edge == ONE else weight * edge) for child, edge in node.children[::-1] if edge
            )
        return weights

    def below(self, member: str) -> frozenset[int]:
        """Return every leaf below a node, those of weight 0 included."""
        return frozenset(self.each_below(member))

    def each_below(self, member: str) -> Iterator[int]:
        """Yield every leaf below a node, those of weight 0 included."""
        if member in (UNASSIGNED, ALL) or member.endswith(OWN):
            yield from self.leaves(member)
        else:
            owns = (self.nodes[key].posting_leaf for key in self._downward([member]))
            yield from (own for own in owns if own is not None)

    def among(self, codes: AbstractSet[int]) -> Iterator[str]:
        """Yield the ids that have some of these leaves below them, in display order.

        Where nothing but its own postings is left of a node, they are the node.
        """
        held: set[str] = set()
        for key in self._upward(node for node, _ in self.roots):
            node = self.nodes[key]
            if node.posting_leaf in codes or any(child in held for child, _ in node.children):
                held.add(key)
        for member in self.ids():
            node = self.nodes[member.removesuffix(OWN)]
            if (
                node.posting_leaf in codes and any(child in held for child, _ in node.children)
                if member.endswith(OWN)
                else member in held
            ):
                yield member

    def _downward(self, tops: Iterable[str]) -> Iterator[str]:
        """Yield some nodes and all below them, each once, from the top down."""
        seen: set[str] = set()
        ahead = list(tops)[::-1]
        while ahead:
            key = ahead.pop()
            if key not in seen:
                seen.add(key)
                yield key
                ahead.extend(child for child, _ in self.nodes[key].children[::-1])

    def _upward(self, tops: Iterable[str]) -> Iterator[str]:
        """Yield some nodes and all below them, each once, children before parents; HierarchyFault for a cycle."""
        done: set[str] = set()
        path: dict[str, Iterator[str]] = {"": iter(tops)}
        while path:
            last = next(reversed(path))
            key = next(path[last], None)
            if key is None:
                del path[last]
                if path:
                    done.add(last)
                    yield last
            elif key in path:
                above = list(path)
                circle = " → ".join((*above[above.index(key) :], key))
                raise HierarchyFault(f"the nodes of {self.dimension} go round in a circle: {circle}")
            elif key not in done:
                path[key] = iter([child for child, _ in self.nodes[key].children])

    def unassigned(self) -> frozenset[int]:
        """Return the leaves without a node."""
        return frozenset(self.leaves(UNASSIGNED))

    def shown(self, under: Sequence[str], visible: Visible) -> list[str]:
        """Return the level below a single filtered node or single root; else the filtered nodes or the roots."""
        filtered = [member for member in dict.fromkeys(under) if member != ALL]
        if len(filtered) == 1:
            return self.children(filtered[0], visible) or filtered
        if filtered:
            return filtered
        roots = [node for node, _ in self.roots if visible(node)]
        return [*((self.children(roots[0], visible) or roots) if len(roots) == 1 else roots), UNASSIGNED]

    def children(self, member: str, visible: Visible) -> list[str]:
        """Return the visible children of a node, its own postings first."""
        node = self.nodes.get(member)
        below = [child for child, _ in node.children if visible(child)] if node else []
        return [own, *below] if below and visible(own := member + OWN) else below

    def top(self) -> Leaves:
        """Return the weight of each leaf in the total, weights of the roots included; unassigned leaves weigh 1."""
        return self._top

    @cached_property
    def _top(self) -> Leaves:
        trees = self._joined([(self.leaves(root), weight) for root, weight in self.roots], "the top")
        return {**trees, **self.unplaced}

    def path(self, member: str) -> tuple[str, ...]:
        """Return the ancestors of a node from the top, by the first parent of each."""
        above = member.removesuffix(OWN) if member.endswith(OWN) else self.parents.get(member)
        nodes = []
        while above is not None:
            nodes.append(above)
            above = self.parents.get(above)
        return tuple(reversed(nodes))

    @cached_property
    def parents(self) -> Mapping[str, str]:
        """The first parent of each node that has one."""
        parents: dict[str, str] = {}
        for node in self.nodes.values():
            for child, _ in node.children:
                parents.setdefault(child, node.node)
        return parents

    @cached_property
    def placed(self) -> frozenset[int]:
        """The leaves that have a node, whatever their weight."""
        return frozenset(node.posting_leaf for node in self.nodes.values() if node.posting_leaf is not None)

    @cached_property
    def unplaced(self) -> Leaves:
        """The leaves without a node, each with weight 1."""
        return {code: ONE for code in range(len(self.of.member_ids)) if code not in self.placed}

    def check(self) -> None:
        """Raise HierarchyFault for a cycle, or if a leaf reaches a node by two paths with different weights."""
        for _ in self._upward(self.nodes):
            pass
        if not self.is_simple:
            self.top()

    def _joined(self, parts: Sequence[tuple[Leaves, Exact]], at: str) -> Leaves:
        joined: dict[int, Exact] = {}
        for leaves, edge in parts:
            if not edge:
                continue
            for code, weight in leaves.items():
                weighed = weight * edge if edge != ONE else weight
                known = joined.get(code)
                if known is None:
                    joined[code] = weighed
                elif self.adds_paths:
                    joined[code] = known + weighed
                elif known != weighed:
                    raise HierarchyFault(
                        f"in {self.dimension}, '{self.of.member_ids[code]}' reaches {at} by two paths with weights "
                        f"{known.digits()} and {weighed.digits()}; say paths: add if it counts by both"
                    )
        return joined


# Members and nodes from the tables that loads bring.
#
# A member table has `id` and may have `code`, `name` and attributes, all text. A node table has `node` and may have
# `parent`, `name`, `sort` (number), `weight` (decimal text, 1 where null) and `leaf`: the member whose postings sit on
# the node, the member of the same id where null.


def leaf_members(dimension: str, ids: pl.Series, table: pl.DataFrame | None) -> LeafMembers:
    """Return the members of a leaf dimension: ids in code order, described by their table where there is one.

    Ids that the facts brought and the table lacks are named by their id and come last.
    """
    coded = pl.DataFrame({"id": ids}).with_row_index("leaf_code")
    if table is None:
        table = pl.DataFrame(schema={"id": pl.String})
    described = coded.join(table.with_row_index("place"), on="id", how="left", maintain_order="left")
    name = pl.col("name").fill_null(pl.col("id")) if "name" in table.columns else pl.col("id")
    members = described.filter(pl.col("leaf_code") > 0)
    return LeafMembers(
        dimension=dimension,
        member_ids=described["id"].to_list(),
        names=described.select(name)["name" if "name" in table.columns else "id"].to_list(),
        attributes={column: described[column].to_list() for column in table.columns if column not in {"id", "name"}},
        order=members.sort("place", "id", nulls_last=True)["leaf_code"].to_list(),
        undescribed=frozenset(described.filter(pl.col("place").is_null())["leaf_code"]),
    )


@dataclass(frozen=True, slots=True)
class Edge:
    """One row of a node table."""

    node: str
    parent: str | None
    name: str | None
    sort: float
    weight: Exact
    leaf: str


def edges(table: pl.DataFrame) -> Iterator[Edge]:
    """Yield the rows of a node table, siblings in their order."""
    for place, row in enumerate(table.iter_rows(named=True)):
        yield Edge(
            node=row["node"],
            parent=row.get("parent"),
            name=row.get("name"),
            sort=float(row["sort"]) if row.get("sort") is not None else float(place),
            weight=Exact.of(row["weight"]) if row.get("weight") is not None else ONE,
            leaf=row.get("leaf") or row["node"],
        )


def ragged_nodes(dimension: str, of: LeafMembers, table: pl.DataFrame, *, adds_paths: bool) -> RaggedNodes:
    """Return the hierarchy of a node table; HierarchyFault if it is invalid."""
    rows = sorted(edges(table), key=lambda edge: edge.sort)
    described = {edge.node: edge for edge in rows}
    children: dict[str, dict[str, Exact]] = defaultdict(dict)
    roots: dict[str, Exact] = {}
    for edge in rows:
        if edge.parent is None:
            roots[edge.node] = edge.weight
        elif edge.parent not in described:
            raise HierarchyFault(f"in {dimension}, the parent '{edge.parent}' of '{edge.node}' is no node")
        elif edge.node in children[edge.parent]:
            raise HierarchyFault(f"in {dimension}, '{edge.node}' stands twice under '{edge.parent}'")
        else:
            children[edge.parent][edge.node] = edge.weight
    tree = RaggedNodes(
        dimension=dimension,
        of=of,
        nodes={
            key: Node(
                node=key,
                name=edge.name,
                children=tuple(children[key].items()) if key in children else (),
                posting_leaf=of.codes.get(edge.leaf),
            )
            for key, edge in described.items()
        },
        roots=tuple(roots.items()),
        adds_paths=adds_paths,
    )
    tree.check()
    return tree
