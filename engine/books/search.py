"""Search over what a reader may see: members by name or code or a whole dimension, metrics and statements.

Search ignores case, accents and width. It ranks exact codes and names first, then prefixes, prefixes of words, and
other substrings. It tries close spellings only if nothing else matches. It applies scope before the limit.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from unicodedata import unidata_version

import polars as pl
from msgspec import Struct

from engine.books.books import MEMBER_BYTES, Books
from engine.books.folding import fold
from engine.books.reader import Reader
from engine.books.search_index import ROW, SPELLED, Best, Index, SeenRows, read_index, tables_of
from engine.books.search_rows import DimensionRows, TreeNodes, derived_rows, described, leaf_rows, named_rows, tree_rows
from engine.books.search_sight import BITS, seen_rows
from engine.books.word_search import best_of_words, best_spelled, suits
from engine.model.calendar.periods import GRAINS
from engine.model.catalogue import PERIOD, Dimension, DimensionKind, Metric, Statement
from engine.model.errors import BadArguments, DimensionUnavailable, Unavailable, UnknownName
from engine.model.members.member_sets import NULL_CODE
from engine.model.members.trees import HierarchyFault
from engine.model.notes import Note
from engine.model.requests import SearchRequest
from engine.model.scope import UNASSIGNED
from engine.model.stopping import look, watched
from engine.model.vocabulary import SeenReading

MOST_LISTED = (200, 100)  # records and nodes of a call without a query
MOST_FOUND = (50, 20)
MOST = 10_000
LONGEST_QUERY = 200
MOST_CLOSE = 3  # suggestions for an unknown member
MOST_HITS = 2**31  # more than any index has
CLOSE_SPELLING = "close spelling"
WHY = ("listed", "exact", "beginning", "beginning of a word", "part", CLOSE_SPELLING)  # by rank
NOTHING_FOUND = Best((), ())
MADE_BY = f"search index 3, Polars {pl.__version__}, Unicode {unidata_version}"  # of folding and words
Rows = Sequence[tuple[int, int]]  # rank and row


class Hit(Struct, frozen=True, kw_only=True):
    """A matching member or node, with the filter entry that selects it."""

    dimension: str
    id: str
    name: str
    code: str | None
    path: tuple[str, ...]
    why: str
    parent: str | None = None  # the id of the node that ends the path


class SearchResult(Struct, frozen=True, kw_only=True):
    """The result of a search."""

    records: tuple[Hit, ...]
    hierarchy_nodes: tuple[Hit, ...]
    metrics: tuple[Metric, ...]
    statements: tuple[Statement, ...]
    more: frozenset[str]  # the names of the sections above that have more
    offset: int
    notes: tuple[Note, ...]
    query: str | None = None  # the name that it is of, where a call has several
    readings: tuple[SeenReading, ...] = ()  # of a query that is a term

    @property
    def is_empty(self) -> bool:
        """Whether nothing matches."""
        return not (self.records or self.hierarchy_nodes or self.metrics or self.statements or self.readings)

    @property
    def more_records(self) -> bool:
        """Whether there are more records."""
        return "records" in self.more

    @property
    def more_nodes(self) -> bool:
        """Whether there are more nodes."""
        return "hierarchy_nodes" in self.more


class Limits(Struct, frozen=True):
    """The page of each section: its first hit, the maximum numbers of records and nodes, and notes about them."""

    records: int
    nodes: int
    notes: tuple[Note, ...] = ()
    offset: int = 0

    @property
    def ends(self) -> tuple[int, int]:
        """The numbers of records and nodes up to the page's end, and one more of each."""
        return self.offset + self.records + 1, self.offset + self.nodes + 1

    def page(self, best: Best, names: tuple[str, str], more: set[str]) -> tuple[Rows, Rows]:
        """Return the hits of the page, both kinds; adds the names of those with further hits to `more`."""
        pages = []
        for name, rows, most in zip(names, (best.records, best.nodes), (self.records, self.nodes), strict=True):
            pages.append(rows[self.offset : self.offset + most])
            if len(rows) > self.offset + most:
                more.add(name)
        return pages[0], pages[1]


def search(asked: SearchRequest, reader: Reader) -> SearchResult:
    """Return the matching members and nodes, and metrics and statements of a query without dimension, in pages."""
    dimensions = searched(asked.dimension, reader)
    query = folded(asked.query, reader)
    limits = limits_of(asked.limit, offset_of(asked.offset), listing=not query)
    members, reports = findable_members(asked.dimension, reader), findable_reports(reader)
    searches = (members, reports) if query and asked.dimension is None else (members,)
    bests = [each.as_written(query, limits) for each in searches]
    if query and not any(best.records or best.nodes for best in bests):
        bests = [each.spelled(query, limits) for each in searches]
    of_members, of_reports = bests if len(bests) > 1 else (*bests, NOTHING_FOUND)
    more: set[str] = set()
    records, nodes = limits.page(of_members, ("records", "hierarchy_nodes"), more)
    metrics, statements = limits.page(of_reports, ("metrics", "statements"), more)
    return SearchResult(
        records=hits(records, members.index, reader),
        hierarchy_nodes=hits(nodes, members.index, reader),
        metrics=tuple(reader.metrics[reports.index.rows["id"][row]] for _, row in metrics),
        statements=tuple(reader.statements[reports.index.rows["id"][row]] for _, row in statements),
        more=frozenset(more),
        offset=limits.offset,
        notes=(*limits.notes, *not_loaded(dimensions, members.index, reader)),
    )


def searched(key: str | None, reader: Reader) -> list[str]:
    """Return the dimensions to search. Refuses an unknown dimension and one without members."""
    findable = [key for key, dimension in reader.dimensions.items() if is_findable(dimension)]
    if key is None or key in findable:
        return findable if key is None else [key]
    dimension = reader.dimensions.get(key)
    if dimension is None:
        raise UnknownName.of("dimension", key, findable, field="dimension", hint="list_dimensions lists them.")
    calendar = reader.catalogue.calendar
    grains = calendar.grains.items()
    own = [f"{rules.called} {GRAINS[grain].words}" for grain, rules in grains if grain is dimension.grain]
    why = (
        f"The members of {key} are period codes; write them: {calendar.codes if key == PERIOD else ', '.join(own)}."
        if dimension.grain
        else f"{key} can only be broken down by, not searched. A breakdown by {key}, or inspect_rows, shows its ids."
    )
    raise DimensionUnavailable(why, field="dimension", got=key, valid=findable)


def is_findable(dimension: Dimension) -> bool:
    """Tell whether a dimension has members."""
    return not dimension.grain and not dimension.axis_only


def folded(query: str | tuple[str, ...] | None, reader: Reader) -> str:
    """Return the folded query, of several names all of their words. Refuses one that cannot be a name or code."""
    query = " ".join(query) if isinstance(query, tuple) else query
    if query is not None and len(query) > LONGEST_QUERY:
        raise BadArguments(
            f"query has {len(query):,} characters; a name or a code has {LONGEST_QUERY} at most. Give one of them, or "
            "leave query out and name a dimension to list it.",
            field="query",
            got=query,
            example={"query": next(iter(reader.metrics))} if reader.metrics else None,
        )
    return fold(query or "")


def offset_of(offset: int) -> int:
    """Return the number of hits to pass over. Refuses a negative one."""
    if offset < 0:
        raise BadArguments(
            f"offset {offset} is below 0. Leave it out to begin with the first.", field="offset", got=offset
        )
    return min(offset, MOST_HITS)


def limits_of(limit: int | None, offset: int, *, listing: bool) -> Limits:
    """Return the page of each section."""
    if limit is None:
        return Limits(*(MOST_LISTED if listing else MOST_FOUND), offset=offset)
    if limit < 1:
        raise BadArguments(f"limit {limit} is below 1. Leave it out, or give 1 to {MOST}.", field="limit", got=limit)
    if limit > MOST:
        return Limits(MOST, MOST, (Note.of("limit_reduced", got=str(limit), maximum=str(MOST)),), offset)
    return Limits(limit, limit, offset=offset)


def index_of(reader: Reader) -> Index:
    """Return the index of all loaded members, made once for versions of the books with the same members."""
    findable = [dimension for dimension in reader.catalogue.dimensions.values() if is_findable(dimension)]
    keys = [dimension.key for dimension in findable]

    def read() -> Index:
        about = [MADE_BY, *(f"{each.key} {each.leaf} {each.attribute} {each.kind.value}" for each in findable)]
        tables = reader.loaded.derived(keys, "\n".join(about), lambda: tables_of(make_index(findable, reader)))
        return read_index(tables.tables, are_mapped=tables.are_mapped)

    return reader.memo("search index", read, Index.members_held, of=keys)


def keep_index(books: Books) -> None:
    """Make the tables of the index unless the store keeps them, so that no caller waits for them.

    A tree that is faulty has none; the checks of the books tell its fault.
    """
    with suppress(HierarchyFault):
        index_of(Reader(books, ()))


def make_index(dimensions: Sequence[Dimension], reader: Reader) -> Index:
    """Index the loaded members of some dimensions."""
    lists: list[DimensionRows] = []
    trees: list[DimensionRows] = []
    attributes = {dimension.attribute for dimension in dimensions if dimension.attribute}
    members: dict[str, pl.DataFrame] = {}
    for dimension in dimensions:
        with suppress(Unavailable):
            tables = reader.loaded.tables(dimension.key)
            if dimension.leaf not in members:
                members[dimension.leaf] = described(tables.ids, tables.members, attributes)
            each = rows_of_dimension(dimension, members[dimension.leaf], tables.nodes, reader)
            (trees if each.is_tree else lists).append(each)
    return Index.of(lists, trees)


def rows_of_dimension(
    dimension: Dimension, members: pl.DataFrame, nodes: pl.DataFrame | None, reader: Reader
) -> DimensionRows:
    """Return the rows of a dimension. Opens a tree in which several paths lead to a node, which can be faulty."""
    look()
    if dimension.kind is DimensionKind.DERIVED:
        return derived_rows(dimension.key, dimension.leaf, members, dimension.attribute or "")
    if nodes is None:
        return leaf_rows(dimension.key, members)
    tree = TreeNodes.of(members, nodes)
    if not tree.is_simple:
        reader.members(dimension.key)  # raises HierarchyFault
    return tree_rows(dimension.key, dimension.leaf, members, tree)


def not_loaded(dimensions: Sequence[str], index: Index, reader: Reader) -> Iterator[Note]:
    """Yield a note for each dimension that was never loaded. Refuses if the call asks for such a dimension alone."""
    for key in dimensions:
        if key not in index.spans:
            try:
                reader.members(key)
            except Unavailable as refusal:
                if len(dimensions) == 1:
                    raise
                yield Note.of("unavailable", lines=key, reason=refusal.error)


class Findable(Struct, frozen=True):
    """An index and what a call may find of it, up to the page's end and one row beyond if there are more."""

    index: Index
    seen: SeenRows
    words: Callable[[], pl.Series]  # of the lexicon, those of the entries

    def as_written(self, query: str, limits: Limits) -> Best:
        """Return the best rows that have the words of a query, all if it has none."""
        if not query:
            rows = self.index.listing(self.seen, limits.ends)
        elif suits(self.index, self.seen):
            rows = best_of_words(query, self.index, self.seen, limits.ends)
        else:
            rows = self.index.matches(query, self.seen)
        return Best.of(rows, self.index.first_node, *limits.ends)

    def spelled(self, query: str, limits: Limits) -> Best:
        """Return the best rows with words spelled like those of a query."""
        if suits(self.index, self.seen):
            rows = best_spelled(query, self.index, self.seen, limits.ends)
        else:
            rows = self.index.spellings(query, self.seen, self.words())
        return NOTHING_FOUND if rows is None else Best.of(rows, self.index.first_node, *limits.ends)

    def best(self, query: str, limits: Limits) -> Best:
        """Return the best rows as written, else as spelled; none if there is no query."""
        written = self.as_written(query, limits) if query else NOTHING_FOUND
        return written if written.records or written.nodes or not query else self.spelled(query, limits)


def findable_members(dimension: str | None, reader: Reader) -> Findable:
    """Return the visible members and nodes of a dimension, of all if it is None."""
    index = index_of(reader)
    seen = seen_rows(index, dimension, reader)

    def words() -> pl.Series:
        size = index.lexicon.words.height // BITS // MEMBER_BYTES
        return reader.memo_as_seen(("search words", dimension), lambda: index.words_of(seen), size)

    return Findable(index, seen, words)


def report_index(reader: Reader) -> Index:
    """Return the index of the visible metrics, then statements."""
    size = len(reader.metrics) + len(reader.statements)
    return reader.memo_as_seen("report index", lambda: make_report_index(reader), size)


def make_report_index(reader: Reader) -> Index:
    """Index the visible metrics and statements."""
    metrics = ((key, metric.label) for key, metric in reader.metrics.items())
    statements = ((key, statement.label) for key, statement in reader.statements.items())
    return Index.of(
        [named_rows("metrics", metrics, is_tree=False)], [named_rows("statements", statements, is_tree=True)]
    )


def findable_reports(reader: Reader) -> Findable:
    """Return the visible metrics, as records, and statements, as nodes."""
    index = report_index(reader)
    seen = index.seen(index.rows["id"] != UNASSIGNED)

    def words() -> pl.Series:
        return reader.memo_as_seen("report words", lambda: index.words_of(seen))

    return Findable(index, seen, words)


def metrics_named(query: str, reader: Reader) -> Sequence[str]:
    """Return the keys of the metrics that a search for a text finds, best first."""
    reports = findable_reports(reader)
    return [
        reports.index.rows["id"][row]
        for _, row in reports.best(folded(query, reader), Limits(MOST_HITS, MOST_HITS)).records
    ]


def closest_members(name: str, dimension: str, reader: Reader) -> Sequence[str]:
    """Return the few members that a search of one dimension for a name finds first."""
    members = findable_members(dimension, reader)
    best = members.best(fold(name[:LONGEST_QUERY]), Limits(MOST_CLOSE, MOST_CLOSE))
    places = sorted((*best.records[:MOST_CLOSE], *best.nodes[:MOST_CLOSE]))
    return [members.index.rows["id"][row] for _, row in places[:MOST_CLOSE]]


def first_ids(dimension: str, count: int, reader: Reader) -> Iterator[str]:
    """Yield the first visible ids of a dimension in display order. Opens the members only of one without an index."""
    index = index_of(reader)
    if dimension in index.spans:
        rows = index.listing(seen_rows(index, dimension, reader), (count, count))[ROW]
        yield from index.rows["id"][rows]
    else:
        yield from islice(reader.visible_ids(dimension), count)


def hits(rows: Rows, index: Index, reader: Reader) -> tuple[Hit, ...]:
    """Return the Hits of some rows."""
    each = index.texts[pl.Series([row for _, row in rows], dtype=pl.UInt32)].iter_rows() if rows else ()
    paths, hits = Paths(index, reader), []
    for (rank, row), (member, name, code, parent, _, _) in zip(watched(rows), each, strict=True):
        dimension = index.dimension_of(row)
        path = () if parent is None else paths.below(dimension, parent)
        above = None if parent is None else paths.id_of(dimension, parent)
        why = WHY[min(rank, SPELLED)]
        hits.append(Hit(dimension=dimension, id=member, name=name, code=code, path=path, why=why, parent=above))
    return tuple(hits)


class Paths:
    """The names of nodes and their ancestors, as a reader may know them."""

    def __init__(self, index: Index, reader: Reader) -> None:
        self._index = index
        self._reader = reader
        self._paths: dict[tuple[str, int], tuple[str, ...]] = {}

    def below(self, dimension: str, row: int) -> tuple[str, ...]:
        """Return the names from the top of a dimension down to a node, named by its first row in the dimension."""
        nodes: list[tuple[int, str]] = []
        above: int | None = row
        while above is not None and (dimension, above) not in self._paths:
            name, parent = self._read(dimension, above)
            nodes.append((above, name))
            above = parent
        path = () if above is None else self._paths[dimension, above]
        for node, name in reversed(nodes):
            path = self._paths[dimension, node] = (*path, name)
        return path

    def id_of(self, dimension: str, row: int) -> str:
        """Return the id of a node, named by its first row in the dimension."""
        return str(self._index.rows["id"][self._index.spans[dimension].start + row])

    def _read(self, dimension: str, row: int) -> tuple[str, int | None]:
        """Return the name of a node, by its posting leaf only if the reader sees that, and its first parent."""
        at = self._index.spans[dimension].start + row
        _, name, _, parent, lent, posting = self._index.texts.row(at)
        if lent is not None:
            codes = self._reader.visible_codes(self._index.dimensions[dimension].leaf)
            if posting == NULL_CODE or posting in codes:
                name = self._index.texts.row(at + 1)[1]
        return name, parent
