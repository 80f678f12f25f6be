"""What members and nodes weigh, and which of them a breakdown shows."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from tests.laws.oracle.books import LEAF_OF, OWN, TREES, UNASSIGNED, OracleBooks, OracleEdge

TOP = ""
Weights = Mapping[str, Fraction]


class TwoWeights(Exception):
    """A leaf that one node or filter would count with two different weights."""


def products(books: OracleBooks) -> set[str]:
    """Return every product there is, but the null one."""
    return {*books.bands, *(row.members["product"] for row in books.rows if row.members.get("product"))}


def node_weights(edges: tuple[OracleEdge, ...], node: str, known: set[str]) -> Weights:
    """Return the leaves below a node, each times the weights of the edges between them; TOP has the roots."""
    found = {node: Fraction(1)} if node in known else {}
    for edge in edges:
        if edge.parent == node and Fraction(edge.weight):
            for leaf, weight in node_weights(edges, edge.node, known).items():
                if found.setdefault(leaf, weight * Fraction(edge.weight)) != weight * Fraction(edge.weight):
                    raise TwoWeights(leaf)
    return found


def placed(edges: tuple[OracleEdge, ...]) -> set[str]:
    """Return the ids of all nodes."""
    return {edge.node for edge in edges}


@lru_cache(maxsize=1024)
def weights(books: OracleBooks, dimension: str, member: str) -> Weights:
    """Return what each leaf counts for in a member or node; the null leaf is the empty id."""
    if dimension not in TREES and dimension != "band":
        return {"" if member == UNASSIGNED else member: Fraction(1)}
    if dimension == "band":
        wanted = "" if member == UNASSIGNED else member
        found = [leaf for leaf in products(books) if books.bands.get(leaf, "") == wanted]
        return dict.fromkeys([*found, *([""] if member == UNASSIGNED else [])], Fraction(1))
    edges = books.trees[dimension]
    if member == UNASSIGNED:
        return dict.fromkeys({*products(books) - placed(edges), ""}, Fraction(1))
    if member.endswith(OWN):
        return {member.removesuffix(OWN): Fraction(1)}
    return node_weights(edges, member, products(books))


def joined(books: OracleBooks, dimension: str, members: tuple[str, ...]) -> Weights:
    """Return the leaves of several members, each once."""
    found: dict[str, Fraction] = {}
    for member in members:
        for leaf, weight in weights(books, dimension, member).items():
            if found.setdefault(leaf, weight) != weight:
                raise TwoWeights(leaf)
    return found


def weights_without(books: OracleBooks, dimension: str, members: tuple[str, ...]) -> Weights:
    """Return what each leaf outside of some members counts for in a total; 0: its hierarchy keeps it outside."""
    left_out = {leaf for member in members for leaf in weights(books, dimension, member)}
    leaf = LEAF_OF[dimension]
    known = products(books) if leaf == "product" else {row.members.get(leaf, "") for row in books.rows}
    whole = top_weights(books, dimension)
    found = {*known, ""} - left_out
    return {leaf: Fraction(1) if whole is None else whole.get(leaf, Fraction(0)) for leaf in found}


def top_weights(books: OracleBooks, dimension: str) -> Weights | None:
    """Return what each leaf counts for in the total of a breakdown; None: every leaf is simply itself."""
    if dimension not in TREES:
        return None
    edges = books.trees[dimension]
    return {**node_weights(edges, TOP, products(books)), **weights(books, dimension, UNASSIGNED)}


def shown(books: OracleBooks, dimension: str, filtered: tuple[str, ...]) -> list[str]:
    """Return the members that a breakdown may show: of a tree, one level below one filtered node or only root."""
    if dimension in TREES:
        edges = books.trees[dimension]
        nodes = tuple(dict.fromkeys(filtered))
        if nodes:
            return below(edges, nodes[0]) if len(nodes) == 1 else list(nodes)
        roots = [edge.node for edge in edges if edge.parent == TOP]
        return [*(below(edges, roots[0]) if len(roots) == 1 else roots), UNASSIGNED]
    if dimension == "band":
        return [*sorted(set(books.bands.values()) - {""}), UNASSIGNED]
    found = products(books) if dimension == "product" else {row.members.get(dimension, "") for row in books.rows}
    return [*sorted(found - {""}), UNASSIGNED]


def below(edges: tuple[OracleEdge, ...], node: str) -> list[str]:
    """Return the children of a node and its own postings; a node without children is shown itself."""
    children = [edge.node for edge in edges if edge.parent == node]
    return [node + OWN, *children] if children else [node]
