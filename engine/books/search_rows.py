"""The rows of a search: every member and node of a dimension, made of the tables that loads bring.

A row holds what finds the id and what a hit shows of it. A node with children and a posting leaf has two rows: one
without the name and code of the leaf, for readers who do not see the leaf, and then one with them. The last row of each
dimension is `(unassigned)`.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

import polars as pl
from msgspec import Struct

from engine.model.members.member_sets import BUSINESS_CODE, NULL_CODE
from engine.model.members.trees import in_sibling_order
from engine.model.scope import OWN, UNASSIGNED
from engine.model.stopping import taken, watched

SCHEMA = {
    "id": pl.String,
    "code": pl.String,
    "label": pl.String,
    "posting": pl.UInt32,  # the code of the leaf whose postings the id has
    "lent": pl.Boolean,  # whether the row has the name and code that the leaf lends the id; null if it lends none
    "own": pl.Boolean,  # whether the id stands for the own postings of its parent
    "parent": pl.UInt32,  # the first row of the first parent
}
LAST_ROW = pl.DataFrame([{"id": UNASSIGNED, "label": UNASSIGNED, "own": False}], schema=SCHEMA)
ATTRIBUTE = "attribute "  # begins the column of an attribute
CODES = {
    "row": pl.UInt32,  # the row that stands for the code; null in trees
    "outside": pl.Boolean,  # whether the code belongs to `(unassigned)` alone
}
EDGES = {"parent": pl.UInt32, "child": pl.UInt32}  # the first rows of both


class DimensionRows(Struct, frozen=True):
    """The rows of one dimension, from 0, in display order, and what tells which of them a reader sees."""

    dimension: str
    leaf: str
    rows: pl.DataFrame  # columns: SCHEMA
    edges: pl.DataFrame  # columns: EDGES; empty but in trees
    codes: pl.DataFrame  # CODES of each leaf code
    is_tree: bool = False


def rows_of(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Return rows with all columns, and the row of `(unassigned)` below them."""
    frame = frame.lazy()
    columns = frame.collect_schema().names()
    absent = (pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in columns)
    rows = frame.with_columns(absent).with_columns(pl.col("own").fill_null(value=False))
    cast = rows.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    return pl.concat([cast.collect(engine="in-memory"), LAST_ROW])


def described(ids: pl.Series, table: pl.DataFrame | None, attributes: Collection[str] = ()) -> pl.DataFrame:
    """Return the members of a leaf dimension by code: posting, id, label, code, place, and an ATTRIBUTE each."""
    coded = pl.DataFrame({"id": ids}).with_row_index("posting")
    if table is None:
        table = pl.DataFrame(schema={"id": pl.String})
    texts = {"name": "name", BUSINESS_CODE: "code", **{key: ATTRIBUTE + key for key in attributes}}
    columns = [
        (pl.col(column) if column in table.columns else pl.lit(None, pl.String)).alias(name)
        for column, name in texts.items()
    ]
    brought = table.select("id", *columns).with_row_index("place")
    members = coded.join(brought, on="id", how="left", maintain_order="left")
    return members.with_columns(label=pl.col("name").fill_null(pl.col("id")))


def leaf_rows(dimension: str, members: pl.DataFrame) -> DimensionRows:
    """Return the rows of a leaf dimension."""
    listed = members.filter(pl.col("posting") != NULL_CODE).sort("place", "id", nulls_last=True)
    row_of = listed.select("posting").with_row_index("row")
    codes = members.select("posting").join(row_of, on="posting", how="left", maintain_order="left")
    codes = codes.select("row", outside=pl.col("posting") == NULL_CODE)
    return DimensionRows(dimension, dimension, rows_of(listed), pl.DataFrame(schema=EDGES), codes)


def derived_rows(dimension: str, leaf: str, members: pl.DataFrame, attribute: str) -> DimensionRows:
    """Return the rows of a derived dimension: the values of an attribute."""
    value = pl.col(ATTRIBUTE + attribute)
    value = pl.when(value != UNASSIGNED).then(value).alias("id")
    values = members.select(value)
    distinct = values.drop_nulls().unique().sort("id").with_columns(label="id")
    rows = distinct.select("id").with_row_index("row")
    codes = values.join(rows, on="id", how="left", maintain_order="left")
    codes = codes.select("row", outside=pl.col("row").is_null())
    return DimensionRows(dimension, leaf, rows_of(distinct), pl.DataFrame(schema=EDGES), codes)


class TreeNodes(Struct, frozen=True, dict=True):
    """The nodes of a tree in the order of their first rows, and its edges by position in that order."""

    height: int  # rows of the table
    nodes: pl.DataFrame  # node, name, posting
    roots: Sequence[int]
    edges: pl.DataFrame  # parent, child: in the order of siblings

    @classmethod
    def of(cls, members: pl.DataFrame, table: pl.DataFrame) -> "TreeNodes":
        """Read a table of nodes. A node may stand in several rows, below a parent in each; the last one names it."""
        rows = in_sibling_order(table)
        codes = members.select(pl.col("id").alias("leaf"), "posting")
        last = rows.group_by("node", maintain_order=True).agg(pl.col("name").last(), pl.col("leaf").last())
        nodes = last.join(codes, on="leaf", how="left", maintain_order="left").select("node", "name", "posting")
        places = nodes.select("node").with_row_index("place")
        edges = (
            rows.select("node", "parent")
            .join(places.rename({"place": "child"}), on="node", how="left", maintain_order="left")
            .join(places.select(parent="node", above="place"), on="parent", how="left", maintain_order="left")
        )
        roots = edges.filter(pl.col("parent").is_null())["child"].unique(maintain_order=True).to_list()
        below = edges.filter(pl.col("above").is_not_null()).select(parent="above", child="child")
        return cls(rows.height, nodes, roots, below)

    @property
    def is_simple(self) -> bool:
        """Whether every node has one row, every leaf one node, and all nodes lie below the roots."""
        postings = self.nodes["posting"].drop_nulls()
        return self.height == self.nodes.height == len(self.order) and postings.n_unique() == len(postings)

    @cached_property
    def order(self) -> Sequence[int]:
        """The nodes below the roots from the top down, each once."""
        children = self.edges.group_by("parent").agg(pl.col("child").reverse())
        below = dict(zip(children["parent"].to_list(), children["child"].to_list(), strict=True))
        visited = bytearray(self.nodes.height)
        order: list[int] = []
        ahead = list(self.roots[::-1])
        for node in watched(taken(ahead)):
            if not visited[node]:
                visited[node] = True
                order.append(node)
                ahead.extend(below.get(node, ()))
        return order


def tree_rows(dimension: str, leaf: str, members: pl.DataFrame, tree: TreeNodes) -> DimensionRows:
    """Return the rows of a tree."""
    parents = tree.edges.group_by("child").agg(pl.col("parent").min())
    inner = tree.edges.select(place="parent", inner=True).unique()
    leaves = members.select("posting", leaf_name="label", leaf_code="code")
    own_name = pl.when(pl.col("name") != "").then("name")
    name = pl.coalesce(own_name, "leaf_name", "node")
    lends = pl.col("inner").fill_null(value=False) & pl.col("posting").is_not_null()
    nodes = (
        tree.nodes.with_row_index("place")[tree.order]
        .with_row_index("at")
        .lazy()
        .join(inner.lazy(), on="place", how="left")
        .join(leaves.lazy(), on="posting", how="left")
        .join(parents.lazy().rename({"child": "place", "parent": "above"}), on="place", how="left")
        .select("at", "place", "above", "node", "posting", "leaf_code", lends=lends, name=name, bare=own_name)
        .sort("at")
        .with_columns(
            row=pl.int_range(pl.len(), dtype=pl.UInt32) + 2 * pl.col("lends").cum_sum().shift(1, fill_value=0)
        )
        .collect(engine="in-memory")
    )
    row_of = nodes.select("place", pl.col("row").cast(pl.UInt32))
    placed = nodes.join(row_of.rename({"place": "above", "row": "parent"}), on="above", how="left").lazy()
    bare = pl.col("bare").fill_null(pl.col("node"))
    lenders = placed.filter("lends")
    each = [
        placed.filter(~pl.col("lends")).select("row", "posting", "parent", id="node", code="leaf_code", label="name"),
        lenders.select("row", "posting", "parent", id="node", label=bare, lent=False),
        lenders.select(pl.col("row") + 1, "posting", "parent", id="node", code="leaf_code", label="name", lent=True),
        lenders.select(
            pl.col("row") + 2,
            "posting",
            parent="row",
            id=pl.col("node") + OWN,
            code="leaf_code",
            label=pl.format("{} (own)", "name"),
            own=True,
        ),
    ]
    rows = rows_of(pl.concat(each, how="diagonal_relaxed").sort("row"))
    edges = tree.edges.join(row_of.rename({"place": "parent", "row": "above"}), on="parent")
    edges = edges.join(row_of.rename({"place": "child", "row": "below"}), on="child")
    placed_codes = tree.nodes["posting"].drop_nulls().unique()
    outside = pl.repeat(value=True, n=members.height, eager=True).scatter(placed_codes, values=False)
    codes = pl.DataFrame({"row": None, "outside": outside}, schema=CODES)
    edges = edges.select(
        pl.col("above").cast(pl.UInt32).alias("parent"), pl.col("below").cast(pl.UInt32).alias("child")
    )
    return DimensionRows(dimension, leaf, rows, edges, codes, is_tree=True)


def named_rows(dimension: str, texts: Iterable[tuple[str, str]], *, is_tree: bool) -> DimensionRows:
    """Return the rows of a few ids with their labels, which no table brings."""
    rows = pl.DataFrame(list(watched(texts)), schema={"id": pl.String, "label": pl.String}, orient="row")
    edges, codes = pl.DataFrame(schema=EDGES), pl.DataFrame(schema=CODES)
    return DimensionRows(dimension, dimension, rows_of(rows), edges, codes, is_tree)
