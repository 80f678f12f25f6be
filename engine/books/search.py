"""Search over the members that a reader may see: by name or code, or a whole dimension.

Search ignores case, accents and width. It ranks exact codes and names first, then prefixes, prefixes of words, and
other substrings. It tries close spellings only if nothing else matches. It applies scope before the limit.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import polars as pl

from engine.books.reader import Reader, code_of, label_of, path_of, sees_lender
from engine.books.search_index import SPELLED, Best, Index, fold
from engine.model.catalogue import PERIOD, Dimension, DimensionKind
from engine.model.errors import BadArguments, DimensionUnavailable, Unavailable, UnknownName
from engine.model.members.member_sets import MemberSet
from engine.model.notes import Note
from engine.model.requests import SearchRequest

MOST_LISTED = (200, 100)  # records and nodes of a call without a query
MOST_FOUND = (50, 20)
MOST = 10_000
LONGEST_QUERY = 200
MOST_CLOSE = 3  # suggestions for an unknown member
WHY = ("listed", "exact", "beginning", "beginning of a word", "part", "close spelling")  # by rank
ROWS_HELD = 50  # row flags that take as much memory as one member


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A matching member or node, with the filter entry that selects it."""

    dimension: str
    id: str
    name: str
    code: str | None
    path: tuple[str, ...]
    why: str

    @property
    def filters(self) -> dict[str, str]:
        """The entry to copy into `filters`."""
        return {self.dimension: self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of a search."""

    records: tuple[Hit, ...]
    hierarchy_nodes: tuple[Hit, ...]
    more_records: bool
    more_nodes: bool
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum numbers of records and nodes, and the notes about them."""

    records: int
    nodes: int
    notes: tuple[Note, ...] = ()


def search(asked: SearchRequest, reader: Reader) -> SearchResult:
    """Return the matching members and nodes, each kind up to its limit."""
    dimensions = searched(asked.dimension, reader)
    query = folded(asked.query)
    limits = limits_of(asked.limit, listing=not query)
    index = index_of(reader)
    best = matching(query, index, limits, asked.dimension, reader)
    return SearchResult(
        records=tuple(hit(row, rank, index, reader) for rank, row in best.records[: limits.records]),
        hierarchy_nodes=tuple(hit(row, rank, index, reader) for rank, row in best.nodes[: limits.nodes]),
        more_records=len(best.records) > limits.records,
        more_nodes=len(best.nodes) > limits.nodes,
        notes=(*limits.notes, *not_loaded(dimensions, index, reader)),
    )


def searched(key: str | None, reader: Reader) -> list[str]:
    """Return the dimensions to search. Refuses an unknown dimension and one without members."""
    findable = [key for key, dimension in reader.dimensions.items() if is_findable(dimension)]
    if key is None or key in findable:
        return findable if key is None else [key]
    dimension = reader.dimensions.get(key)
    if dimension is None:
        raise UnknownName.of("dimension", key, findable, field="dimension", hint="list_dimensions lists them.")
    grains = reader.catalogue.calendar.grains
    codes = [rules.example for grain, rules in grains.items() if key == PERIOD or grain is dimension.grain]
    why = (
        f"The members of {key} are period codes; write them: {', '.join(codes)}."
        if dimension.grain
        else f"{key} can only be broken down by; it has no members to filter."
    )
    raise DimensionUnavailable(why, field="dimension", got=key, valid=findable)


def is_findable(dimension: Dimension) -> bool:
    """Tell whether a dimension has members."""
    return not dimension.grain and not dimension.axis_only


def folded(query: str | None) -> str:
    """Return the folded query. Refuses one that cannot be a name or code."""
    if query is not None and len(query) > LONGEST_QUERY:
        raise BadArguments(
            f"query has {len(query):,} characters; a name or a code has {LONGEST_QUERY} at most. Give one of them, or "
            "leave query out and name a dimension to list it.",
            field="query",
            got=query,
            example="sales",
        )
    return fold(query or "")


def limits_of(limit: int | None, *, listing: bool) -> Limits:
    """Return the maximum numbers of records and nodes."""
    if limit is None:
        return Limits(*(MOST_LISTED if listing else MOST_FOUND))
    if limit < 1:
        raise BadArguments(f"limit {limit} is below 1. Leave it out, or give 1 to {MOST}.", field="limit", got=limit)
    if limit > MOST:
        return Limits(MOST, MOST, (Note.of("limit_reduced", got=str(limit), maximum=str(MOST)),))
    return Limits(limit, limit)


def index_of(reader: Reader) -> Index:
    """Return the index of all loaded members, made once per version of the books."""
    findable = [dimension for dimension in reader.catalogue.dimensions.values() if is_findable(dimension)]
    size = 2 * sum(reader.leaf_count(dimension.leaf) for dimension in findable)
    return reader.worked_out("search index", lambda: make_index(findable, reader), size)


def make_index(dimensions: Sequence[Dimension], reader: Reader) -> Index:
    """Index the loaded members of some dimensions."""
    lists: list[MemberSet] = []
    trees: list[MemberSet] = []
    for dimension in dimensions:
        with suppress(Unavailable):
            (trees if dimension.kind is DimensionKind.RAGGED else lists).append(reader.members(dimension.key))
    return Index.of(lists, trees)


def not_loaded(dimensions: Sequence[str], index: Index, reader: Reader) -> Iterator[Note]:
    """Yield a note for each dimension that was never loaded. Refuses if the call asks for such a dimension alone."""
    for key in dimensions:
        if key not in index.dimensions:
            try:
                reader.members(key)
            except Unavailable as refusal:
                if len(dimensions) == 1:
                    raise
                yield Note.of("unavailable", lines=key, reason=refusal.error)


def matching(query: str, index: Index, limits: Limits, dimension: str | None, reader: Reader) -> Best:
    """Return the best matches, else close spellings, and one row beyond each limit if there are more."""
    visible = visible_rows(index, dimension, reader)
    found = index.matches(query, visible) if query else index.listing(visible)
    best = Best.of(found, index.first_node, limits.records + 1, limits.nodes + 1)
    if not query or best.records or best.nodes:
        return best
    words = reader.worked_out_as_seen(
        ("search words", dimension), lambda: index.visible_words(visible), len(visible) // ROWS_HELD
    )
    spelled = index.spellings(query, visible, words)
    return Best.of(spelled, index.first_node, limits.records + 1, limits.nodes + 1)


def closest_members(name: str, dimension: str, reader: Reader) -> Sequence[str]:
    """Return the few members that a search of one dimension for a name finds first."""
    query = fold(name[:LONGEST_QUERY])
    index = index_of(reader)
    best = matching(query, index, Limits(MOST_CLOSE, MOST_CLOSE), dimension, reader) if query else Best((), ())
    places = sorted((*best.records[:MOST_CLOSE], *best.nodes[:MOST_CLOSE]))
    return [index.ids[row] for _, row in places[:MOST_CLOSE]]


def visible_rows(index: Index, dimension: str | None, reader: Reader) -> pl.Series:
    """Return a Boolean per row of the index: visible, and in the requested dimension if there is one."""
    return reader.worked_out_as_seen(
        ("search rows", dimension), lambda: find_visible_rows(index, dimension, reader), len(index.ids) // ROWS_HELD
    )


def find_visible_rows(index: Index, dimension: str | None, reader: Reader) -> pl.Series:
    """Return the same as `visible_rows`, computed anew from every member of every dimension."""
    visible: list[bool] = []
    for key, rows in index.dimensions.items():
        shown = reader.visible(key) if key in reader.dimensions and dimension in (None, key) else ()
        visible += [index.ids[row] in shown and called_so(row, key, index, reader) for row in rows]
    return pl.Series(visible, dtype=pl.Boolean)


def called_so(row: int, dimension: str, index: Index, reader: Reader) -> bool:
    """Tell whether the reader may know the texts of a row."""
    lent = index.lent.get(row)
    return lent is None or sees_lender(reader.members(dimension), index.ids[row], reader) is lent


def hit(row: int, rank: int, index: Index, reader: Reader) -> Hit:
    """Return the Hit of a row."""
    dimension, member = index.dimension_of(row), index.ids[row]
    return Hit(
        dimension=dimension,
        id=member,
        name=label_of(dimension, member, reader),
        code=code_of(dimension, member, reader),
        path=path_of(dimension, member, reader),
        why=WHY[min(rank, SPELLED)],
    )
