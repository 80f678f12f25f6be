"""Trees: what their nodes stand for, however deep, wide or entwined they are."""

import gc
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import count

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.exact import ONE
from engine.model.members.member_sets import Leaves, MemberSet
from engine.model.members.paths import nodes_below
from engine.model.members.trees import HierarchyFault, RaggedNodes, leaf_members, ragged_nodes
from engine.model.stopping import STRIDE, stopped_by

Edge = tuple[str, str, str]  # node, parent, weight
LEAVES = ("a", "b", "c", "d")
NODES = ("P", "Q", "R", "S")


def tree_of(edges: list[tuple[str, str | None, str]], *, adds_paths: bool = False) -> RaggedNodes:
    """Return a tree over four leaves of edges from a node to its parent with a weight."""
    known = pl.DataFrame({"id": LEAVES, "code": [f"{leaf}-1" for leaf in LEAVES], "name": [*"AB", None, "D"]})
    of = leaf_members("leaf", pl.Series(["(unassigned)", *LEAVES]), known)
    table = pl.DataFrame(edges, schema=["node", "parent", "weight"], orient="row")
    return ragged_nodes("tree", of, table, adds_paths=adds_paths)


# Every edge points from a node or leaf to an earlier node, so there is no circle.
edges = st.lists(
    st.tuples(st.integers(1, 7), st.integers(0, 3), st.sampled_from(("1", "-1", "0.5", "0"))),
    max_size=14,
    unique_by=lambda edge: edge[:2],
).map(lambda drawn: [((NODES + LEAVES)[node], NODES[above], weight) for node, above, weight in drawn if above < node])


def paths(edges: list[Edge], top: str, leaf: str) -> list[Fraction]:
    """Return the weights of every path from a node down to a leaf, those of weight 0 left out."""
    if top == leaf:
        return [Fraction(1)]
    return [
        Fraction(weight) * below
        for node, parent, weight in edges
        if parent == top and Fraction(weight)
        for below in paths(edges, node, leaf)
    ]


@given(drawn=edges, adds=st.booleans())
def test_a_leaf_weighs_the_product_of_its_edges_by_every_path(drawn: list[Edge], *, adds: bool) -> None:
    placed = {node for node, _, _ in drawn}
    roots = [(node, None, "1") for node in NODES if node not in placed]
    found = {(top, leaf): paths(drawn, top, leaf) for top in (*NODES, *placed) for leaf in LEAVES}
    from_top = {leaf: [weight for root, _, _ in roots for weight in found[root, leaf]] for leaf in placed & {*LEAVES}}
    if not adds and any(len(set(weights)) > 1 for weights in (*found.values(), *from_top.values())):
        with pytest.raises(HierarchyFault, match="by two paths"):
            tree_of([*roots, *drawn])
        return
    tree = tree_of([*roots, *drawn], adds_paths=adds)
    for (top, leaf), weights in found.items():
        assert weighed(tree.leaves(top), leaf) == (weights and (sum(weights) if adds else weights[0]))
    for leaf, weights in from_top.items():
        assert weighed(tree.top(), leaf) == (weights and (sum(weights) if adds else weights[0]))


@given(drawn=edges)
def test_what_lies_below_a_node_does_not_depend_on_weights(drawn: list[Edge]) -> None:
    placed = {node for node, _, _ in drawn}
    tree = tree_of([*((node, None, "1") for node in NODES if node not in placed), *drawn], adds_paths=True)
    held = {member: {leaf for leaf in LEAVES if reaches(drawn, member, leaf)} for member in (*NODES, *placed)}
    assert set(tree.ids()) == set(held)
    for member, leaves in held.items():
        assert tree.below(member) == set(tree.each_below(member)) == {code(leaf) for leaf in leaves}
    for leaf in LEAVES:
        assert list(tree.among({code(leaf)})) == [member for member in tree.ids() if leaf in held[member]]


def code(leaf: str) -> int:
    """Return the code of a leaf."""
    return 1 + LEAVES.index(leaf)


def weighed(leaves: Leaves, leaf: str) -> Fraction | list[Fraction]:
    """Return what a leaf weighs; no path where it is not there."""
    weight = leaves.get(code(leaf))
    return [] if weight is None else Fraction(*weight.reduced())


def reaches(edges: list[Edge], top: str, leaf: str) -> bool:
    """Tell whether a node holds a leaf, whatever the weight."""
    return top == leaf or any(parent == top and reaches(edges, node, leaf) for node, parent, _ in edges)


@given(drawn=edges)
def test_texts_are_those_of_each_id(drawn: list[Edge]) -> None:
    placed = {node for node, _, _ in drawn}
    tree = tree_of([*((node, None, "1") for node in NODES if node not in placed), *drawn], adds_paths=True)
    members: MemberSet
    for members in (tree, tree.of):
        told = {member: (code, label, bare) for member, code, label, bare in members.texts()}
        assert list(told) == list(members.ids())
        for member, (business_code, label, bare) in told.items():
            assert (business_code, label) == (members.code(member), members.label(member))
            assert bare == (None if members.posting_leaf(member) is None else members.bare_label(member))


def test_a_circle_is_named() -> None:
    with pytest.raises(HierarchyFault, match="in a circle: P → Q → R → P"):
        tree_of([("P", "R", "1"), ("Q", "P", "1"), ("R", "Q", "1")])


def test_a_circle_beside_a_root_is_named() -> None:
    with pytest.raises(HierarchyFault, match="in a circle: P → Q → P"):
        tree_of([("S", None, "1"), ("a", "S", "1"), ("P", "Q", "1"), ("Q", "P", "1")])


def test_the_last_row_of_a_node_describes_it_and_siblings_stand_by_sort() -> None:
    of = leaf_members("leaf", pl.Series(["(unassigned)", *LEAVES]), None)
    rows = [("P", None, None, "Top", None), ("Q", "P", 2, "Q", "a"), ("R", "P", 1, "R", ""), ("Q", "R", 3, None, "x")]
    table = pl.DataFrame(rows, schema=["node", "parent", "sort", "name", "leaf"], orient="row")
    tree = ragged_nodes("tree", of, table, adds_paths=True)
    assert tree.edges == {"P": (("R", ONE), ("Q", ONE)), "R": (("Q", ONE),)}
    assert (tree.names, tree.postings) == ({"P": "Top", "R": "R", "Q": None}, {})


def test_a_node_stands_once_under_a_parent() -> None:
    with pytest.raises(HierarchyFault, match="'a' stands twice under 'P'"):
        tree_of([("P", None, "1"), ("a", "P", "1"), ("a", "P", "1")])


@pytest.mark.parametrize("members", [100, 10_000])
def test_collections_pass_over_what_trees_hold_however_many_members(members: int) -> None:
    ids = [f"m{at}" for at in range(members)]
    of = leaf_members("leaf", pl.Series(["(unassigned)", *ids]), pl.DataFrame({"id": ids, "name": ids}))
    gc.collect()
    before = len(gc.get_objects())
    weights = ["0.5" if at % 2 else None for at in range(members)]
    table = pl.DataFrame({"node": ["top", *ids], "parent": [None, *["top"] * members], "weight": [None, *weights]})
    tree = ragged_nodes("tree", of, table, adds_paths=False)
    assert len(tree.top()) == len(tree.leaves("top")) + 1 == members + 1
    gc.collect()  # passes over tuples and dictionaries from now on that hold nothing to collect
    assert len(gc.get_objects()) - before < 100


def test_a_walk_through_a_large_tree_is_looked_at() -> None:
    """One look a thousand nodes, whether leaves, all members below or the nodes of a path are read."""
    leaves = [f"L{at}" for at in range(20_000)]
    of = leaf_members("leaf", pl.Series(["(unassigned)", *leaves]), None)
    edges = [("P", None), *((leaf, "P") for leaf in leaves)]
    tree = ragged_nodes("tree", of, pl.DataFrame(edges, schema=["node", "parent"], orient="row"), adds_paths=False)
    walks: list[Callable[[], object]] = [
        lambda: tree.leaves("P"),
        lambda: tree.below("P"),
        lambda: nodes_below(tree, "P"),
    ]
    for walk in walks:
        looks = count()
        with stopped_by(partial(next, looks)):
            walk()
        assert next(looks) >= len(leaves) // STRIDE
