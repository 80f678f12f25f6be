"""Paths: the leaves of several nodes of a tree, where one may lie below another and a leaf below several."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from engine.model.errors import AmbiguousWeight
from engine.model.exact import ONE, Exact
from engine.model.members.member_sets import Leaves
from engine.model.scope import ALL, OWN, UNASSIGNED
from engine.model.stopping import taken, watched


class Tree(Protocol):
    """What is asked of a tree."""

    @property
    def dimension(self) -> str:
        """The dimension's key."""

    @property
    def adds_paths(self) -> bool:
        """Whether a leaf counts by each of its paths."""

    @property
    def is_simple(self) -> bool:
        """Whether one path leads to each leaf."""

    @property
    def splits(self) -> AbstractSet[int]:
        """The leaves that reach a node by several paths whose equal weights are not 1."""

    def leaves(self, member: str) -> Leaves:
        """Return the leaves below a node, each with its weight."""

    def splits_below(self, member: str) -> Iterable[int]:
        """Return those of `splits` that reach a node, or one below it, so."""

    @property
    def roots(self) -> Sequence[tuple[str, Exact]]:
        """The nodes without a parent, with their weights."""

    @property
    def edges(self) -> Mapping[str, Sequence[tuple[str, Exact]]]:
        """The nodes below each node, with the weights of their edges."""


def joined_nodes(tree: Tree, ids: Iterable[str], counts: Callable[[int], bool]) -> Leaves:
    """Return the leaves of several nodes; AmbiguousWeight if a leaf that `counts` has no single weight in them.

    A leaf counts once, but in nodes that do not lie below each other by each path where the tree adds paths.
    """
    members = list(dict.fromkeys(ids))
    for member in members if not tree.is_simple else ():
        if any(map(counts, tree.splits_below(member))):
            raise AmbiguousWeight(
                f"In {tree.dimension}, a leaf reaches '{member}' by several paths whose weights are not 1, so that no "
                "one weight is right. The dimension says which with paths: add; until then ask for the nodes below "
                f"'{member}' in separate calls.",
                field=f"filters.{tree.dimension}",
                got=member,
            )
    if len(members) == 1:
        return tree.leaves(members[0])
    if tree.is_simple:
        return each_once(tree, members, counts)
    inner = [member for member in members if is_inside(tree, member, members)]
    outer = [member for member in members if member not in inner]
    joined = dict(by_each_path(tree, outer) if tree.adds_paths else each_once(tree, outer, counts))
    for member in inner:
        for code, weight in tree.leaves(member).items():
            if joined[code] != weight and counts(code):
                raise two_weights(tree, member, weight, joined[code])
    return joined


def by_each_path(tree: Tree, members: Iterable[str]) -> Leaves:
    """Return the leaves of some nodes with the sum of their weights."""
    joined: dict[int, Exact] = {}
    for member in members:
        for code, weight in tree.leaves(member).items():
            joined[code] = joined[code] + weight if code in joined else weight
    return joined


def each_once(tree: Tree, members: Iterable[str], counts: Callable[[int], bool]) -> Leaves:
    """Return the leaves of some nodes, each once; AmbiguousWeight for one with two weights or a part in each node."""
    joined: dict[int, Exact] = {}
    splits = frozenset[int]() if tree.is_simple else tree.splits
    for member in members:
        for code, weight in tree.leaves(member).items():
            if code not in joined:
                joined[code] = weight
            elif (joined[code] != weight or (weight != ONE and code in splits)) and counts(code):
                raise two_weights(tree, member, weight, joined[code])
    return joined


def is_inside(tree: Tree, member: str, members: Iterable[str]) -> bool:
    """Tell whether a node lies below another of some nodes; its own postings lie below it."""
    node = member.removesuffix(OWN)
    others = (other for other in members if other != member)
    return any(node in nodes_below(tree, other) or (other, node) == (ALL, UNASSIGNED) for other in others)


def nodes_below(tree: Tree, member: str) -> AbstractSet[str]:
    """Return a node and all nodes below it, of all members those below the roots; an edge of weight 0 is none."""
    below, ahead = set[str](), [member]
    if member == ALL:
        ahead = [root for root, weight in tree.roots if weight]
    for node in watched(taken(ahead)):
        if node not in below:
            below.add(node)
            ahead.extend(child for child, weight in tree.edges.get(node, ()) if weight)
    return below


def two_weights(tree: Tree, member: str, weight: Exact, other: Exact) -> AmbiguousWeight:
    """Return the error on a leaf that lies below two nodes of a filter with other weights, or with a part in each."""
    differs = f"with another weight ({weight.digits()} against {other.digits()})"
    each = differs if weight != other else f"with a part of it in each ({weight.digits()})"
    return AmbiguousWeight(
        f"In {tree.dimension}, a leaf below '{member}' also lies below another node of this filter {each}. Ask for the "
        "nodes in separate calls.",
        field=f"filters.{tree.dimension}",
        got=member,
    )


def leaves_met_again(parts: Iterable[tuple[Leaves, Exact]]) -> Iterator[int]:
    """Yield the leaves that several parts of a node hold, each with the weight of its edge, if they do not weigh 1."""
    seen = set[int]()
    for leaves, edge in parts:
        for code, weight in leaves.items() if edge else ():
            if code in seen and weight * edge != ONE:
                yield code
            seen.add(code)
