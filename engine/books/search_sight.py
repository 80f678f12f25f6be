"""Which rows of a search index a reader sees, told by the leaf codes that it sees: no list of members is opened."""

import polars as pl

from engine.books.books import MEMBER_BYTES
from engine.books.reader import Reader
from engine.books.search_index import Index, SeenRows
from engine.books.search_rows import DimensionRows
from engine.model.members.member_sets import NULL_CODE
from engine.model.scope import OWN, CodeSet
from engine.model.stopping import look

BITS = 8  # Booleans in a byte
NO_ROW = pl.Series([], dtype=pl.Boolean)


def seen_rows(index: Index, dimension: str | None, reader: Reader) -> SeenRows:
    """Return the rows that a reader sees, of the requested dimension if there is one."""

    def make() -> SeenRows:
        return index.seen(pl.concat([NO_ROW, *(visible_rows(key, dimension, index, reader) for key in index.spans)]))

    def size(seen: SeenRows) -> int:
        entries = 0 if seen.entries is None else int(seen.entries.estimated_size())
        return (entries + len(seen.rows) // BITS) // MEMBER_BYTES

    return reader.memo_as_seen(("search entries", dimension), make, size)


def visible_rows(key: str, dimension: str | None, index: Index, reader: Reader) -> pl.Series:
    """Return a Boolean per row of a dimension: visible as `Reader.visible` has it, and of the requested dimension."""
    look()
    span, of = index.spans[key], index.dimensions[key]
    if key not in reader.dimensions or dimension not in (None, key):
        return every(len(span), value=False)
    rows = index.rows[span.start : span.stop]
    codes, count = reader.visible_codes(of.leaf), of.codes.height
    seen, outside = seen_codes(codes, count), of.codes["outside"]
    described = seen & (pl.int_range(count, eager=True) != NULL_CODE)
    wide = codes if of.leaf == key else reader.granted_codes(of.leaf)
    if not (wide.complement and outside[pl.Series([*wide.codes], dtype=pl.UInt32)].all()):
        visible = held_rows(rows, of, described)
    elif codes.is_all:
        visible = every(len(rows), value=True)
    else:
        visible = ~rows["id"].str.ends_with(OWN) | rows_with(rows, of, seen)
    has_unassigned = (described & outside).any() or (outside[NULL_CODE] and reader.shows_unassigned(of.leaf))
    visible = visible.scatter(len(rows) - 1, has_unassigned)
    sees_lender = seen.gather(rows["posting"]) | (rows["posting"] == NULL_CODE)
    return visible & (rows["lent"].is_null() | (rows["lent"] == sees_lender).fill_null(value=False))


def every(count: int, *, value: bool) -> pl.Series:
    """Return the same Boolean so many times."""
    return pl.repeat(value, count, dtype=pl.Boolean, eager=True)


def seen_codes(codes: CodeSet, count: int) -> pl.Series:
    """Return a Boolean per leaf code: whether the set has it."""
    listed = pl.Series([code for code in codes.codes if code < count], dtype=pl.UInt32)
    return every(count, value=codes.complement).scatter(listed, values=not codes.complement)


def rows_with(rows: pl.DataFrame, of: DimensionRows, codes: pl.Series) -> pl.Series:
    """Return a Boolean per row: whether its own leaf, or one with its value, is among some codes, a Boolean each."""
    if of.is_tree:
        return codes.gather(rows["posting"]).fill_null(value=False)
    return every(len(rows), value=False).scatter(of.codes["row"].filter(codes).drop_nulls().unique(), values=True)


def held_rows(rows: pl.DataFrame, of: DimensionRows, codes: pl.Series) -> pl.Series:
    """Return a Boolean per row: whether one of some codes, a Boolean each, is its leaf or lies below it.

    Where nothing but its own postings is left of a node, they are the node.
    """
    own_leaf = rows_with(rows, of, codes)
    if not of.is_tree:
        return own_leaf
    parents, children = of.edges["parent"], of.edges["child"]
    visible = fresh = own_leaf & ~rows["own"]
    while fresh.any():
        look()
        above = every(len(rows), value=False).scatter(parents.filter(fresh.gather(children)).unique(), values=True)
        fresh = above & ~visible
        visible |= above
    above = every(len(rows), value=False).scatter(parents.filter(visible.gather(children)).unique(), values=True)
    own = own_leaf & rows["own"] & above.gather(rows["parent"]).fill_null(value=False)
    first = pl.when("lent").then(pl.lit(visible.shift(1, fill_value=False))).otherwise(pl.lit(visible))
    return rows.select(pl.when("own").then(pl.lit(own)).otherwise(first)).to_series()
