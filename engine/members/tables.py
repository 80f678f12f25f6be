"""Members and nodes from the tables that loads bring.

A member table has `id` and may have `code`, `name` and attributes, all text. A node table has `node` and may have
`parent`, `name`, `sort` (number), `weight` (decimal text, 1 where null) and `leaf`: the member whose postings sit on
the node, the member of the same id where null.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from engine.exact import ONE, Exact
from engine.members.memberset import LeafMembers
from engine.members.tree import HierarchyFault, Node, RaggedNodes


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
    """Return the tree of a node table; HierarchyFault where it cannot hold."""
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
                own=of.codes.get(edge.leaf),
            )
            for key, edge in described.items()
        },
        roots=tuple(roots.items()),
        adds_paths=adds_paths,
    )
    tree.check()
    return tree
