"""Search over the members that a reader may see: by name or code, or a whole dimension.

Case, accents and width do not matter. Best first: the exact code or name, then a beginning, then the beginning of a
word, then any part; close spelling only where nothing else matches. Scope is applied before the limit.
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

MOST_LISTED = (200, 100)  # records and nodes where no query is given
MOST_FOUND = (50, 20)
MOST = 10_000
LONGEST_QUERY = 200
WHY = ("listed", "exact", "beginning", "beginning of a word", "part", "close spelling")  # by rank
ROWS_HELD = 50  # truth values of rows that weigh as much as one member


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A member or node found, with the filter entry that selects it."""

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
    """What a search returns."""

    records: tuple[Hit, ...]
    hierarchy_nodes: tuple[Hit, ...]
    more_records: bool
    more_nodes: bool
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many records and how many nodes are returned at most, and what is to be said about it."""

    records: int
    nodes: int
    notes: tuple[Note, ...] = ()


def search(asked: SearchRequest, reader: Reader) -> SearchResult:
    """Return the members and nodes that match, each kind up to its limit."""
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
    """Return the dimensions to search; refuse one that is not there or has no members to find."""
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
    """Tell whether a dimension has members to find."""
    return not dimension.grain and not dimension.axis_only


def folded(query: str | None) -> str:
    """Return a query as it is compared; refuse one that is no name and no code."""
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
    """Return how many records and nodes to return at most."""
    if limit is None:
        return Limits(*(MOST_LISTED if listing else MOST_FOUND))
    if limit < 1:
        raise BadArguments(f"limit {limit} is below 1. Leave it out, or give 1 to {MOST}.", field="limit", got=limit)
    if limit > MOST:
        return Limits(MOST, MOST, (Note.of("limit_reduced", got=str(limit), maximum=str(MOST)),))
    return Limits(limit, limit)


def index_of(reader: Reader) -> Index:
    """Return the index of everything loaded, made once for each version of the books."""
    findable = [dimension for dimension in reader.catalogue.dimensions.values() if is_findable(dimension)]
    size = 2 * sum(reader.leaf_count(dimension.leaf) for dimension in findable)
    return reader.worked_out("search index", lambda: make_index(findable, reader), size)


def make_index(dimensions: Sequence[Dimension], reader: Reader) -> Index:
    """Index what of some dimensions is loaded."""
    lists: list[MemberSet] = []
    trees: list[MemberSet] = []
    for dimension in dimensions:
        with suppress(Unavailable):
            (trees if dimension.kind is DimensionKind.RAGGED else lists).append(reader.members(dimension.key))
    return Index.of(lists, trees)


def not_loaded(dimensions: Sequence[str], index: Index, reader: Reader) -> Iterator[Note]:
    """Yield a note for each dimension whose members were never loaded; refuse where it alone was asked for."""
    for key in dimensions:
        if key not in index.dimensions:
            try:
                reader.members(key)
            except Unavailable as refusal:
                if len(dimensions) == 1:
                    raise
                yield Note.of("unavailable", lines=key, reason=refusal.error)


def matching(query: str, index: Index, limits: Limits, dimension: str | None, reader: Reader) -> Best:
    """Return the best that matches, else what is spelled nearly so, and one more where there are more."""
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


def visible_rows(index: Index, dimension: str | None, reader: Reader) -> pl.Series:
    """Tell of each row whether it may be seen, and lies in a dimension where one is asked for."""
    return reader.worked_out_as_seen(
        ("search rows", dimension), lambda: find_visible_rows(index, dimension, reader), len(index.ids) // ROWS_HELD
    )


def find_visible_rows(index: Index, dimension: str | None, reader: Reader) -> pl.Series:
    """Look at every member of every dimension."""
    visible: list[bool] = []
    for key, rows in index.dimensions.items():
        shown = reader.visible(key) if key in reader.dimensions and dimension in (None, key) else ()
        visible += [index.ids[row] in shown and called_so(row, key, index, reader) for row in rows]
    return pl.Series(visible, dtype=pl.Boolean)


def called_so(row: int, dimension: str, index: Index, reader: Reader) -> bool:
    """Tell whether the texts of a row are those that a reader may know its id by."""
    lent = index.lent.get(row)
    return lent is None or sees_lender(reader.members(dimension), index.ids[row], reader) is lent


def hit(row: int, rank: int, index: Index, reader: Reader) -> Hit:
    """Return a row as found."""
    dimension, member = index.dimension_of(row), index.ids[row]
    return Hit(
        dimension=dimension,
        id=member,
        name=label_of(dimension, member, reader),
        code=code_of(dimension, member, reader),
        path=path_of(dimension, member, reader),
        why=WHY[min(rank, SPELLED)],
    )
