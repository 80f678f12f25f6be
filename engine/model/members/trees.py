"""The trees of ragged dimensions, with a weight on every edge, and members read from the tables that loads bring."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, partial

import polars as pl
from msgspec import Struct

from engine.model.caching import LazyTable, cached_method
from engine.model.exact import ONE, Exact
from engine.model.members.member_sets import LeafMembers, Leaves, Texts, Visible, every_leaf
from engine.model.members.paths import joined_nodes, leaves_met_again, nodes_below
from engine.model.scope import ALL, OWN, UNASSIGNED
from engine.model.stopping import taken, watched

Edges = Sequence[tuple[str, Exact]]  # nodes in their order, each with its weight


class HierarchyFault(ValueError):
    """An invalid hierarchy: a cycle, or a leaf with two weights. The loader reports it."""


def own_label(name: str) -> str:
    """Return the name of a node's own postings."""
    return f"{name} (own)"


class RaggedNodes(Struct, frozen=True, dict=True):
    """The nodes of one or several trees above a leaf dimension."""

    dimension: str
    of: LeafMembers
    names: Mapping[str, str | None]  # of every node; None: the name of its posting leaf
    edges: Mapping[str, Edges]  # the children of each node that has any
    postings: Mapping[str, int]  # the posting leaf of each node that has one
    roots: Edges
    adds_paths: bool = False

    @property
    def leaf(self) -> str:
        """The leaf dimension below the tree."""
        return self.of.dimension

    @cached_property
    def _weights(self) -> LazyTable[str, Leaves]:
        return LazyTable(2 * len(self.names) + 1)

    @cached_property
    def is_simple(self) -> bool:
        """Whether every node has one parent and every leaf one node."""
        reached = [node for edges in (self.roots, *self.edges.values()) for node, _ in edges]
        return len(set(reached)) == len(reached) and len(set(self.postings.values())) == len(self.postings)

    def ids(self) -> Iterator[str]:
        """Yield the nodes from the top down. If a node has children, its own postings follow it."""
        return iter(self._ids)

    @cached_property
    def _reached(self) -> Sequence[str]:
        """The nodes below the roots, from the top down."""
        return list(self._downward(node for node, _ in self.roots))

    @cached_property
    def _ids(self) -> Sequence[str]:
        ids = []
        for key in self._reached:
            ids.append(key)
            if key in self.edges and key in self.postings:
                ids.append(key + OWN)
        return ids

    def has(self, member: str) -> bool:
        """Tell whether a node has this id; `NODE/(own)` exists if the node has a posting leaf."""
        nodes = self.postings if member.endswith(OWN) else self.names
        return member in (UNASSIGNED, ALL) or member.removesuffix(OWN) in nodes

    def label(self, member: str) -> str:
        """Return the node's name."""
        if member in (UNASSIGNED, ALL):
            return member
        node = member.removesuffix(OWN)
        name = self._name(node, self.postings.get(node))
        return own_label(name) if member.endswith(OWN) else name

    def _name(self, node: str, leaf: int | None) -> str:
        return self.names[node] or (node if leaf is None else self.of.names[leaf])

    def bare_label(self, member: str) -> str:
        """Return a node's name of its own, else its id."""
        return self.names[member] or member

    def posting_leaf(self, member: str) -> str | None:
        """Return the posting leaf of a node with children; it can be hidden although the node is visible."""
        return self.of.member_ids[self.postings[member]] if member in self.edges and member in self.postings else None

    def code(self, member: str) -> str | None:
        """Return the code of the posting leaf of a node."""
        leaf, known = self.postings.get(member.removesuffix(OWN)), self.of.business_codes
        return known[leaf] if known and leaf is not None else None

    def texts(self) -> Iterator[Texts]:
        """Yield the texts of each id; a node with children and a posting leaf has a bare label."""
        codes = self.of.business_codes or (None,) * len(self.of.names)
        for node in self._reached:
            leaf = self.postings.get(node)
            code, name = None if leaf is None else codes[leaf], self._name(node, leaf)
            if leaf is None or node not in self.edges:
                yield node, code, name, None
            else:
                yield node, code, name, self.bare_label(node)
                yield node + OWN, code, own_label(name), None

    def leaves(self, member: str) -> Leaves:
        """Return the leaves below a node and its posting leaf, each with the product of the weights on its path."""
        if member == UNASSIGNED:
            return self.unplaced
        if member == ALL:
            return self.top()
        if member.endswith(OWN):
            return self._own_postings(member.removesuffix(OWN))
        if self.is_simple:
            return self._weights.get(member, lambda: self._multiplied(member))
        for node in self._upward([member]) if self._weights.at_hand(member) is None else ():
            self._weights.get(node, partial(self._joined_below, node))
        return self._weights.get(member, partial(self._joined_below, member))

    def _joined_below(self, node: str) -> Leaves:
        return self._joined(self._parts_of(node), node)

    def _parts_of(self, node: str) -> list[tuple[Leaves, Exact]]:
        below = ((self.leaves(child), edge) for child, edge in self.edges.get(node, ()))
        return [(self._own_postings(node), ONE), *below]

    @cached_method
    def _splits_of(self, node: str) -> frozenset[int]:
        """Return the leaves that reach a node, but none below it, by several paths whose equal weights are not 1."""
        return frozenset(() if self.adds_paths else leaves_met_again(self._parts_of(node)))

    def _own_postings(self, key: str) -> Leaves:
        return {self.postings[key]: ONE} if key in self.postings else {}

    def _multiplied(self, top: str) -> Leaves:
        """Return the leaves below a node of a simple tree, multiplying weights on the way down."""
        weights: dict[int, Exact] = {}
        ahead = [(top, ONE)]
        for key, weight in watched(taken(ahead)):
            if key in self.postings:
                weights[self.postings[key]] = weight
            below = self.edges.get(key, ())[::-1]
            ahead.extend((child, weight if edge == ONE else weight * edge) for child, edge in below if edge)
        return weights

    def below(self, member: str) -> frozenset[int]:
        """Return every leaf below a node, those of weight 0 included."""
        return frozenset(self.each_below(member))

    def each_below(self, member: str) -> Iterator[int]:
        """Yield every leaf below a node, those of weight 0 included."""
        if member in (UNASSIGNED, ALL) or member.endswith(OWN):
            yield from self.leaves(member)
        else:
            yield from (self.postings[key] for key in self._downward([member]) if key in self.postings)

    def among(self, codes: AbstractSet[int]) -> Iterator[str]:
        """Yield the ids that have some of these leaves below them, in display order.

        Where nothing but its own postings is left of a node, they are the node.
        """
        held: set[str] = set()
        tops = (node for node, _ in self.roots)
        for key in reversed(self._reached) if self.is_simple else self._upward(tops):
            if self.postings.get(key) in codes or (key in self.edges and self._keeps_child(key, held)):
                held.add(key)
        for member in self.ids():
            node = member.removesuffix(OWN)
            if (
                self.postings[node] in codes and self._keeps_child(node, held)
                if member.endswith(OWN)
                else member in held
            ):
                yield member

    def _keeps_child(self, node: str, held: AbstractSet[str]) -> bool:
        return any(child in held for child, _ in self.edges[node])

    def _downward(self, tops: Iterable[str]) -> Iterator[str]:
        """Yield some nodes and all below them, each once, from the top down."""
        seen: set[str] = set()
        ahead = list(tops)[::-1]
        for key in watched(taken(ahead)):
            if key not in seen:
                seen.add(key)
                yield key
                if key in self.edges:
                    ahead.extend([child for child, _ in self.edges[key][::-1]])

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
                path[key] = iter([child for child, _ in self.edges.get(key, ())])

    @cached_property
    def splits(self) -> frozenset[int]:
        """The leaves that reach a node by several paths whose equal weights are not 1."""
        return frozenset().union(*map(self._splits_of, self.edges))

    def splits_below(self, member: str) -> frozenset[int]:
        """Return the leaves that reach a node, or one below it, by several paths whose equal weights are not 1."""
        nodes = () if self.is_simple or member == ALL else nodes_below(self, member)
        return frozenset().union(*map(self._splits_of, nodes))

    def joined(self, ids: Iterable[str], counts: Callable[[int], bool] = every_leaf) -> Leaves:
        """Return the leaves of several nodes; AmbiguousWeight if a leaf that `counts` has no single weight in them."""
        return joined_nodes(self, ids, counts)

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
        below = [child for child, _ in self.edges.get(member, ()) if visible(child)]
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
        for node in self.names:
            for child, _ in self.edges.get(node, ()):
                parents.setdefault(child, node)
        return parents

    @cached_property
    def placed(self) -> frozenset[int]:
        """The leaves that have a node, whatever their weight."""
        return frozenset(self.postings.values())

    @cached_property
    def unplaced(self) -> Leaves:
        """The leaves without a node, each with weight 1."""
        return {code: ONE for code in range(len(self.of.member_ids)) if code not in self.placed}

    def check(self) -> None:
        """Raise HierarchyFault for a cycle, or if a leaf reaches a node by two paths with different weights."""
        if self.is_simple and len(self._reached) == len(self.names):
            return  # one path leads from the roots to each node
        for _ in self._upward(self.names):
            pass
        if not self.is_simple:
            self.top()

    def refuse_splits(self) -> None:
        """Raise HierarchyFault if a leaf reaches a node by several paths whose equal weights are not 1."""
        if not self.is_simple and (splits := self.splits):
            upward = self._upward(root for root, _ in self.roots)
            node = next(node for node in upward if not splits.isdisjoint(self._splits_of(node)))
            code = min(self._splits_of(node))
            raise HierarchyFault(
                f"in {self.dimension}, '{self.of.member_ids[code]}' reaches {node} by several paths with weights other "
                "than 1; say paths: add if it counts by each"
            )

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


def ragged_nodes(dimension: str, of: LeafMembers, table: pl.DataFrame, *, adds_paths: bool) -> RaggedNodes:
    """Return the hierarchy of a node table; HierarchyFault if it is invalid."""
    rows = in_sibling_order(table)
    nodes = rows["node"].to_list()
    names = dict(zip(nodes, rows["name"], strict=True))
    leaves = dict(zip(nodes, map(of.codes.get, rows["leaf"]), strict=True))
    weights = {text: ONE if text is None else Exact.of(text) for text in rows["weight"].unique()}
    children: dict[str, dict[str, Exact]] = defaultdict(dict)
    roots: dict[str, Exact] = {}
    for node, parent, weight in zip(nodes, rows["parent"], map(weights.__getitem__, rows["weight"]), strict=True):
        if parent is None:
            roots[node] = weight
        elif parent not in names:
            raise HierarchyFault(f"in {dimension}, the parent '{parent}' of '{node}' is no node")
        elif node in children[parent]:
            raise HierarchyFault(f"in {dimension}, '{node}' stands twice under '{parent}'")
        else:
            children[parent][node] = weight
    tree = RaggedNodes(
        dimension=dimension,
        of=of,
        names=names,
        edges={parent: tuple(below.items()) for parent, below in children.items()},
        postings={node: leaf for node, leaf in leaves.items() if leaf is not None},
        roots=tuple(roots.items()),
        adds_paths=adds_paths,
    )
    tree.check()
    return tree


def in_sibling_order(table: pl.DataFrame) -> pl.DataFrame:
    """Return node, parent, name, weight and leaf of each row of a node table, siblings in their order."""
    absent = [column for column in ("parent", "name", "sort", "weight", "leaf") if column not in table.columns]
    place = pl.int_range(pl.len()).cast(pl.Float64)
    rows = table.with_columns(pl.lit(None, pl.String).alias(column) for column in absent)
    leaf = pl.when(pl.col("leaf") != "").then("leaf").otherwise("node").alias("leaf")
    in_order = rows.sort(pl.col("sort").cast(pl.Float64).fill_null(place), maintain_order=True)
    return in_order.select("node", "parent", "name", "weight", leaf)
