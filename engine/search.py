"""Search over the members that a reader may see: by name or code, or a whole dimension.

Case, accents and width do not matter. Best first: the exact code or name, then a beginning, then the beginning of a
word, then any part; close spelling only where nothing else matches. Scope is applied before the limit.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain, islice
from unicodedata import combining, normalize

from engine.catalogue import Dimension, DimensionKind
from engine.errors import BadArguments, DimensionUnavailable, UnknownName
from engine.members.memberset import BUSINESS_CODE, LeafMembers, MemberSet
from engine.notes import Note
from engine.reader import Reader
from engine.requests import SearchRequest

LISTED = (200, 100)  # records and nodes where no query is given
FOUND = (50, 20)
MOST = 10_000
CLOSE = 0.7
LONGEST_QUERY = 200
EXACT, BEGINS, WORD_BEGINS, CONTAINS, SPELLED = (
    "exact",
    "beginning",
    "beginning of a word",
    "part",
    "close spelling",
)  # why a member matched, best first
LISTED_BY_DIMENSION = "listed"


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
class Found:
    """What a search returns."""

    records: tuple[Hit, ...]
    hierarchy_nodes: tuple[Hit, ...]
    more_records: bool
    more_nodes: bool
    notes: tuple[Note, ...]


def fold(text: str) -> str:
    """Return a text without case, accents and width."""
    return "".join(char for char in normalize("NFKD", text) if not combining(char)).casefold()


@dataclass(frozen=True)
class Index:
    """The members of one dimension as one searchable text."""

    dimension: str
    ids: Sequence[str]
    names: Sequence[str]
    codes: Sequence[str | None]

    @classmethod
    def of(cls, members: MemberSet) -> "Index":
        """Index the members of a dimension in display order."""
        ids = list(members.ids())
        codes: Sequence[str | None] = [None] * len(ids)
        if isinstance(members, LeafMembers) and BUSINESS_CODE in members.attributes:
            codes = [members.attributes[BUSINESS_CODE][members.codes[member]] for member in ids]
        return cls(members.dimension, ids, [members.label(member) for member in ids], codes)

    @cached_property
    def parts(self) -> list[tuple[str, ...]]:
        """What each member can be found by, folded."""
        return [
            tuple(fold(part) for part in (member, code, name) if part)
            for member, code, name in zip(self.ids, self.codes, self.names, strict=True)
        ]

    @cached_property
    def text(self) -> str:
        """Everything that can be found, a line each."""
        return "\n".join("\t".join(parts) for parts in self.parts)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line starts."""
        starts, at = [], 0
        for parts in self.parts:
            starts.append(at)
            at += sum(map(len, parts)) + len(parts)
        return starts

    def holding(self, word: str) -> set[int]:
        """Return the places of the members that hold a word anywhere."""
        found, at = set(), self.text.find(word)
        while at >= 0:
            place = bisect_right(self.starts, at) - 1
            found.add(place)
            following = self.starts[place + 1] if place + 1 < len(self.starts) else len(self.text)
            at = self.text.find(word, following)
        return found

    def matches(self, query: str) -> Iterator[tuple[int, str, int]]:
        """Yield rank, why and place of every member that holds all words of a folded query."""
        words = query.split()
        for place in set.intersection(*map(self.holding, words)) if words else ():
            rank, why = ranked(query, words, self.parts[place])
            yield rank, why, place

    def spelled_like(self, query: str) -> Iterator[tuple[int, str, int]]:
        """Yield members whose name or code is spelled nearly like a folded query, nearest first."""
        shared = Counter(place for gram in grams(query) for place in self.grams.get(gram, ()))
        scored = [
            (max(SequenceMatcher(None, query, part).ratio() for part in self.words(place)), place)
            for place, _ in shared.most_common(200)
        ]
        near = sorted(((score, place) for score, place in scored if score >= CLOSE), key=lambda pair: -pair[0])
        yield from ((4, SPELLED, place) for _, place in near)

    def words(self, place: int) -> Iterable[str]:
        """Return the parts of a member and their words."""
        return chain(self.parts[place], *(part.split() for part in self.parts[place]))

    @cached_property
    def grams(self) -> dict[str, list[int]]:
        """The members that hold each run of three letters."""
        found: dict[str, list[int]] = defaultdict(list)
        for place, parts in enumerate(self.parts):
            for gram in set().union(*map(grams, parts)):
                found[gram].append(place)
        return found


def grams(text: str) -> set[str]:
    """Return the runs of three letters of a text, its ends marked."""
    padded = f" {text} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def ranked(query: str, words: Sequence[str], parts: Sequence[str]) -> tuple[int, str]:
    """Return how well a member matches: the rank of the best of its parts, and why in words."""
    if query in parts:
        return 0, EXACT
    if any(part.startswith(query) for part in parts):
        return 1, BEGINS
    starts = {word for part in parts for word in part.replace("-", " ").split()}
    if all(any(start.startswith(word) for start in starts) for word in words):
        return 2, WORD_BEGINS
    return 3, CONTAINS


def search(asked: SearchRequest, reader: Reader) -> Found:
    """Return the members and nodes that match, each kind up to its limit."""
    dimensions = searched(asked.dimension, reader)
    query = fold(asked.query or "").strip()
    if len(query) > LONGEST_QUERY:
        raise BadArguments(f"query is longer than {LONGEST_QUERY} characters.", field="query", got=asked.query)
    (most_records, most_nodes), notes = limits(asked, listing=not query)
    records = [dimension for dimension in dimensions if dimension.kind is not DimensionKind.RAGGED]
    nodes = [dimension for dimension in dimensions if dimension.kind is DimensionKind.RAGGED]
    found_records = list(islice(hits(query, records, reader), most_records + 1))
    found_nodes = list(islice(hits(query, nodes, reader), most_nodes + 1))
    return Found(
        records=tuple(found_records[:most_records]),
        hierarchy_nodes=tuple(found_nodes[:most_nodes]),
        more_records=len(found_records) > most_records,
        more_nodes=len(found_nodes) > most_nodes,
        notes=notes,
    )


def searched(key: str | None, reader: Reader) -> list[Dimension]:
    """Return the dimensions to search; refuse one that is not there or has no members to find."""
    findable = {key: dim for key, dim in reader.dimensions.items() if not dim.grain and not dim.axis_only}
    if key is None:
        return list(findable.values())
    dimension = reader.dimensions.get(key)
    if dimension is None:
        raise UnknownName.of("dimension", key, findable, field="dimension", hint="list_dimensions lists them.")
    if dimension.grain:
        raise DimensionUnavailable(
            f"The members of {key} are period codes; write them: 2025-03, 2025-Q1, 2025.",
            field="dimension",
            got=key,
            valid=findable,
        )
    if key not in findable:
        raise DimensionUnavailable(
            f"{key} can only be broken down by; it has no members to filter.",
            field="dimension",
            got=key,
            valid=findable,
        )
    return [dimension]


def limits(asked: SearchRequest, *, listing: bool) -> tuple[tuple[int, int], tuple[Note, ...]]:
    """Return how many records and nodes to return at most."""
    if asked.limit is None:
        return (LISTED if listing else FOUND), ()
    if asked.limit < 1:
        raise BadArguments(f"limit {asked.limit} is below 1.", field="limit", got=asked.limit)
    if asked.limit > MOST:
        return (MOST, MOST), (Note.of("limit_reduced", got=str(asked.limit), maximum=str(MOST)),)
    return (asked.limit, asked.limit), ()


def hits(query: str, dimensions: Sequence[Dimension], reader: Reader) -> Iterator[Hit]:
    """Yield what a reader sees of the matches, best first."""
    indexes = {dimension.key: index_of(dimension.key, reader) for dimension in dimensions}
    if not query:
        for index in indexes.values():
            yield from (
                hit(index, place, LISTED_BY_DIMENSION, reader) for place in seen(index, range(len(index.ids)), reader)
            )
        return
    matched = [(rank, why, key, place) for key, index in indexes.items() for rank, why, place in index.matches(query)]
    order = {key: at for at, key in enumerate(indexes)}
    matched.sort(key=lambda match: (match[0], order[match[2]], match[3]))
    visible = [match for match in matched if reader.sees(match[2], indexes[match[2]].ids[match[3]])]
    if not visible:
        visible = [
            (rank, why, key, place)
            for key, index in indexes.items()
            for rank, why, place in index.spelled_like(query)
            if reader.sees(key, index.ids[place])
        ]
    yield from (hit(indexes[key], place, why, reader) for _, why, key, place in visible)


def seen(index: Index, places: Iterable[int], reader: Reader) -> Iterator[int]:
    """Yield the places of members that a reader sees."""
    return (place for place in places if reader.sees(index.dimension, index.ids[place]))


def index_of(key: str, reader: Reader) -> Index:
    """Return the index of a dimension, made once for each version of the books."""
    size = 10 * reader.leaf_count(reader.dimensions[key].leaf)
    return reader.worked_out(("index", key), lambda: Index.of(reader.members(key)), size)


def hit(index: Index, place: int, why: str, reader: Reader) -> Hit:
    """Return a member as found."""
    member = index.ids[place]
    return Hit(
        dimension=index.dimension,
        id=member,
        name=index.names[place],
        code=index.codes[place],
        path=reader.members(index.dimension).path(member),
        why=why,
    )
