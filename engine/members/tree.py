"""The trees of ragged dimensions: nodes above leaves, with a weight on every edge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.cuts import ALL, OWN, UNASSIGNED
from engine.exact import ONE, Exact
from engine.members.memberset import LeafMembers, Leaves, Visible


class HierarchyFault(ValueError):
    """A tree that cannot hold, found when it is loaded: a cycle, or a leaf of two weights."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a tree: its children in order with their weights, and the leaf that posts on it, if any."""

    node: str
    name: str
    children: tuple[tuple[str, Exact], ...]
    own: int | None


@dataclass(frozen=True)
class RaggedNodes:
    """The nodes of a tree (or of several trees sharing leaves) above a leaf dimension."""

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
    def weighs(self) -> bool:
        """Tell whether some edge weighs; one of weight 0 is none."""
        edges = [*self.roots, *(edge for node in self.nodes.values() for edge in node.children)]
        return any(weight and weight != ONE for _, weight in edges)

    def ids(self) -> Iterator[str]:
        """Yield the nodes from the top down."""
        seen: dict[str, None] = {}
        ahead = [node for node, _ in reversed(self.roots)]
        while ahead:
            node = ahead.pop()
            if node not in seen:
                seen[node] = None
                ahead.extend(child for child, _ in reversed(self.nodes[node].children))
        return iter(seen)

    def has(self, member: str) -> bool:
        """Tell whether a node has this id; `NODE/(own)` is one where the node has postings of its own."""
        node = self.nodes.get(member.removesuffix(OWN))
        return member in (UNASSIGNED, ALL) or (node is not None and (not member.endswith(OWN) or node.own is not None))

    def label(self, member: str) -> str:
        """Return the node's name."""
        if member in (UNASSIGNED, ALL):
            return member
        name = self.nodes[member.removesuffix(OWN)].name
        return f"{name} (own)" if member.endswith(OWN) else name

    def leaves(self, member: str) -> Leaves:
        """Return the leaves below a node and its own, with the product of the edges below the node."""
        if member == UNASSIGNED:
            return {code: ONE for code in range(len(self.of.member_ids)) if code not in self.placed}
        if member == ALL:
            return self.top()
        node = self.nodes[member.removesuffix(OWN)]
        own: Leaves = {} if node.own is None else {node.own: ONE}
        if member.endswith(OWN):
            return own
        if member not in self._weights:
            self._weights[member] = self._joined([(own, ONE), *((self.leaves(c), w) for c, w in node.children)], member)
        return self._weights[member]

    def below(self, member: str) -> frozenset[int]:
        """Return every leaf below a node, those of weight 0 included."""
        if member in (UNASSIGNED, ALL) or member.endswith(OWN):
            return frozenset(self.leaves(member))
        node = self.nodes[member]
        own = frozenset() if node.own is None else frozenset({node.own})
        return own.union(*(self.below(child) for child, _ in node.children))

    def loose(self) -> frozenset[int]:
        """Return the leaves that no node holds."""
        return frozenset(self.leaves(UNASSIGNED))

    def shown(self, under: Sequence[str], visible: Visible) -> list[str]:
        """Return one level below a single filtered node or a single root; else the filtered nodes or the roots."""
        filtered = [member for member in dict.fromkeys(under) if member != ALL]
        if len(filtered) == 1:
            return self.children(filtered[0]) or filtered
        if filtered:
            return filtered
        roots = [node for node, _ in self.roots if visible(node)]
        return [*((self.children(roots[0]) or roots) if len(roots) == 1 else roots), UNASSIGNED]

    def children(self, member: str) -> list[str]:
        """Return the children of a node, its own postings first; none where nothing lies below."""
        node = self.nodes.get(member)
        if node is None or not node.children:
            return []
        own = [] if node.own is None else [member + OWN]
        return own + [child for child, _ in node.children]

    def top(self) -> Leaves:
        """Return each leaf's weight up to the top, the edges of the roots included; unplaced leaves count once."""
        trees = self._joined([(self.leaves(root), weight) for root, weight in self.roots], "the top")
        return {**trees, **self.leaves(UNASSIGNED)}

    def path(self, member: str) -> tuple[str, ...]:
        """Return the labels of the nodes above, by the first parent of each."""
        above = self.parents.get(member.removesuffix(OWN)) if not member.endswith(OWN) else member.removesuffix(OWN)
        return () if above is None else (*self.path(above), self.nodes[above].name)

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
        """The leaves that some node holds, whatever their weight."""
        return frozenset(node.own for node in self.nodes.values() if node.own is not None)

    def check(self) -> None:
        """Raise HierarchyFault where nodes go round in a circle or a leaf reaches a node with two weights."""
        done: set[str] = set()

        def visit(node: str, above: tuple[str, ...]) -> None:
            if node in above:
                circle = " → ".join((*above[above.index(node) :], node))
                raise HierarchyFault(f"the nodes of {self.dimension} go round in a circle: {circle}")
            if node not in done:
                for child, _ in self.nodes[node].children:
                    visit(child, (*above, node))
                done.add(node)

        for node in self.nodes:
            visit(node, ())
        self.top()

    def _joined(self, parts: Sequence[tuple[Leaves, Exact]], at: str) -> Leaves:
        joined: dict[int, Exact] = {}
        for leaves, edge in parts:
            if not edge:
                continue
            for code, weight in leaves.items():
                weighed = weight * edge if edge != ONE else weight
                known = joined.setdefault(code, weighed)
                if known is weighed:
                    continue
                if self.adds_paths:
                    joined[code] = known + weighed
                elif known != weighed:
                    raise HierarchyFault(
                        f"in {self.dimension}, '{self.of.member_ids[code]}' reaches {at} by two paths with weights "
                        f"{known.digits()} and {weighed.digits()}; say paths: add if it counts by both"
                    )
        return joined
