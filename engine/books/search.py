"""Search over what a reader may see: members by name or code or a whole dimension, metrics and statements.

Search ignores case, accents and width. It ranks exact codes and names first, then prefixes, prefixes of words, and
other substrings. It tries close spellings only if nothing else matches. It applies scope before the limit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass

import polars as pl
from msgspec import Struct

from engine.books.reader import Reader, code_of, label_of, path_of, sees_lender
from engine.books.search_index import SPELLED, Best, Index, fold
from engine.model.calendar.periods import GRAINS
from engine.model.catalogue import PERIOD, Dimension, DimensionKind, Metric, Statement
from engine.model.errors import BadArguments, DimensionUnavailable, Unavailable, UnknownName
from engine.model.members.member_sets import FlatMembers, Leaves, MemberSet
from engine.model.notes import Note
from engine.model.requests import SearchRequest
from engine.model.scope import UNASSIGNED

MOST_LISTED = (200, 100)  # records and nodes of a call without a query
MOST_FOUND = (50, 20)
MOST = 10_000
LONGEST_QUERY = 200
MOST_CLOSE = 3  # suggestions for an unknown member
MOST_HITS = 2**31  # more than any index has
CLOSE_SPELLING = "close spelling"
WHY = ("listed", "exact", "beginning", "beginning of a word", "part", CLOSE_SPELLING)  # by rank
NOTHING_FOUND = Best((), ())
Rows = Sequence[tuple[int, int]]  # rank and row
FLAGS_HELD = 50  # flags of words that take as much memory as one member


class Hit(Struct, frozen=True, kw_only=True):
    """A matching member or node, with the filter entry that selects it."""

    dimension: str
    id: str
    name: str
    code: str | None
    path: tuple[str, ...]
    why: str


class SearchResult(Struct, frozen=True, kw_only=True):
    """The result of a search."""

    records: tuple[Hit, ...]
    hierarchy_nodes: tuple[Hit, ...]
    metrics: tuple[Metric, ...]
    statements: tuple[Statement, ...]
    more: frozenset[str]  # the names of the sections above that have more
    offset: int
    notes: tuple[Note, ...]

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
        shown = []
        for name, found, most in zip(names, (best.records, best.nodes), (self.records, self.nodes), strict=True):
            shown.append(found[self.offset : self.offset + most])
            if len(found) > self.offset + most:
                more.add(name)
        return shown[0], shown[1]


def search(asked: SearchRequest, reader: Reader) -> SearchResult:
    """Return the matching members and nodes, and metrics and statements of a query without dimension, in pages."""
    dimensions = searched(asked.dimension, reader)
    query = folded(asked.query, reader)
    limits = limits_of(asked.limit, offset_of(asked.offset), listing=not query)
    members, reports = findable_members(asked.dimension, reader), findable_reports(reader)
    searches = (members, reports) if query and asked.dimension is None else (members,)
    found = [each.as_written(query, limits) for each in searches]
    if query and not any(best.records or best.nodes for best in found):
        found = [each.spelled(query, limits) for each in searches]
    of_members, of_reports = found if len(found) > 1 else (*found, NOTHING_FOUND)
    more: set[str] = set()
    records, nodes = limits.page(of_members, ("records", "hierarchy_nodes"), more)
    metrics, statements = limits.page(of_reports, ("metrics", "statements"), more)
    return SearchResult(
        records=tuple(hit(row, rank, members.index, reader) for rank, row in records),
        hierarchy_nodes=tuple(hit(row, rank, members.index, reader) for rank, row in nodes),
        metrics=tuple(reader.metrics[reports.index.ids[row]] for _, row in metrics),
        statements=tuple(reader.statements[reports.index.ids[row]] for _, row in statements),
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


def folded(query: str | None, reader: Reader) -> str:
    """Return the folded query. Refuses one that cannot be a name or code."""
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
    size = 2 * sum(reader.leaf_count(dimension.leaf) for dimension in findable)
    keys = [dimension.key for dimension in findable]
    return reader.memo("search index", lambda: make_index(findable, reader), size, of=keys)


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


class Findable(Struct, frozen=True):
    """An index and the entries that a call may find, up to the page's end and one row beyond if there are more."""

    index: Index
    entries: pl.DataFrame
    words: Callable[[], pl.Series]  # of the lexicon, those of the entries

    def as_written(self, query: str, limits: Limits) -> Best:
        """Return the best rows that have the words of a query, all if it has none."""
        found = self.index.matches(query, self.entries) if query else self.index.listing(self.entries)
        return Best.of(found, self.index.first_node, *limits.ends)

    def spelled(self, query: str, limits: Limits) -> Best:
        """Return the best rows with words spelled like those of a query."""
        found = self.index.spellings(query, self.entries, self.words())
        return NOTHING_FOUND if found is None else Best.of(found, self.index.first_node, *limits.ends)

    def best(self, query: str, limits: Limits) -> Best:
        """Return the best rows as written, else as spelled; none if there is no query."""
        found = self.as_written(query, limits) if query else NOTHING_FOUND
        return found if found.records or found.nodes or not query else self.spelled(query, limits)


def findable_members(dimension: str | None, reader: Reader) -> Findable:
    """Return the visible members and nodes of a dimension, of all if it is None."""
    index = index_of(reader)
    entries = visible_entries(index, dimension, reader)

    def words() -> pl.Series:
        return reader.memo_as_seen(
            ("search words", dimension), lambda: index.words_of(entries), len(index.ids) // FLAGS_HELD
        )

    return Findable(index, entries, words)


@dataclass(frozen=True)
class NamedReports(FlatMembers):
    """The metrics or statements of a reader as a list of names: key and label."""

    dimension: str
    labels: Mapping[str, str]

    @property
    def leaf(self) -> str:
        """None of the dimensions."""
        return self.dimension

    def ids(self) -> Iterator[str]:
        """Yield the keys in display order."""
        return iter(self.labels)

    def has(self, member: str) -> bool:
        """Tell whether there is such a key."""
        return member in self.labels

    def label(self, member: str) -> str:
        """Return the label of a key."""
        return self.labels.get(member, member)

    def leaves(self, member: str) -> Leaves:  # noqa: ARG002 - a name has no facts
        """No leaf."""
        return {}

    def among(self, codes: AbstractSet[int]) -> Iterator[str]:  # noqa: ARG002 - a name has no facts
        """No id."""
        return iter(())


def report_index(reader: Reader) -> Index:
    """Return the index of the visible metrics, then statements."""
    size = len(reader.metrics) + len(reader.statements)
    return reader.memo_as_seen("report index", lambda: make_report_index(reader), size)


def make_report_index(reader: Reader) -> Index:
    """Index the visible metrics and statements."""
    metrics = NamedReports("metrics", {key: metric.label for key, metric in reader.metrics.items()})
    statements = NamedReports("statements", {key: known.label for key, known in reader.statements.items()})
    return Index.of([metrics], [statements])


def findable_reports(reader: Reader) -> Findable:
    """Return the visible metrics, as records, and statements, as nodes."""
    index = report_index(reader)
    entries = index.of_rows(pl.Series([member != UNASSIGNED for member in index.ids], dtype=pl.Boolean))

    def words() -> pl.Series:
        return reader.memo_as_seen("report words", lambda: index.words_of(entries))

    return Findable(index, entries, words)


def metrics_named(query: str, reader: Reader) -> Sequence[str]:
    """Return the keys of the metrics that a search for a text finds, best first."""
    reports = findable_reports(reader)
    return [
        reports.index.ids[row] for _, row in reports.best(folded(query, reader), Limits(MOST_HITS, MOST_HITS)).records
    ]


def closest_members(name: str, dimension: str, reader: Reader) -> Sequence[str]:
    """Return the few members that a search of one dimension for a name finds first."""
    members = findable_members(dimension, reader)
    best = members.best(fold(name[:LONGEST_QUERY]), Limits(MOST_CLOSE, MOST_CLOSE))
    places = sorted((*best.records[:MOST_CLOSE], *best.nodes[:MOST_CLOSE]))
    return [members.index.ids[row] for _, row in places[:MOST_CLOSE]]


def visible_entries(index: Index, dimension: str | None, reader: Reader) -> pl.DataFrame:
    """Return the entries of the rows that are visible, and in the requested dimension if there is one."""

    def make() -> pl.DataFrame:
        return index.of_rows(visible_rows(index, dimension, reader))

    return reader.memo_as_seen(("search entries", dimension), make, len)


def visible_rows(index: Index, dimension: str | None, reader: Reader) -> pl.Series:
    """Return a Boolean per row of the index: visible, and in the requested dimension if there is one."""
    visible: list[bool] = []
    for key, rows in index.dimensions.items():
        shown = reader.visible(key) if key in reader.dimensions and dimension in (None, key) else ()
        visible += [member in shown for member in index.ids[rows.start : rows.stop]]
    for row, named_by_leaf in index.lent.items():
        members = reader.members(index.dimension_of(row)) if visible[row] else None
        visible[row] = members is not None and sees_lender(members, index.ids[row], reader) is named_by_leaf
    return pl.Series(visible, dtype=pl.Boolean)


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
