"""A search for several names, and for words that no name has together but several names have: each by itself."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from engine.books.absence import SearchNote, absence_note, not_held_notes
from engine.books.folding import fold
from engine.books.reader import Reader
from engine.books.search import WHY, Findable, Hit, Limits, SearchResult, findable_members, findable_reports, search
from engine.books.search_index import CONTAINS, EXACT, MOST_WORDS, SPELLED
from engine.books.terms import readings_of
from engine.model.errors import BadArguments
from engine.model.requests import SearchRequest
from engine.model.stopping import look, watched

MAX_NAMES = 20
MAX_HITS = 5  # of each kind, of a name among several
ONE = Limits(1, 1)


def search_names(asked: SearchRequest, reader: Reader) -> tuple[SearchResult, ...]:
    """Return the result of each name of a search, of words of several names that of each. Refuses too many names."""
    names = asked.query if isinstance(asked.query, tuple) else (asked.query or "",)
    names = tuple(dict.fromkeys(name for name in names if len(names) == 1 or fold(name))) or ("",)
    refuse_several(names, asked.offset)
    results = [result for name in watched(names) for result in results_of(name, len(names) > 1, asked, reader)]
    return tuple(results) if len(results) > 1 else tuple(replace(result, query=None) for result in results)


def refuse_several(names: Sequence[str], offset: int) -> None:
    """Refuse more names than a search takes, and several with an offset."""
    if len(names) > MAX_NAMES:
        raise BadArguments(
            f"query has {len(names)} names; a search takes {MAX_NAMES} at most. Ask for the others in another call.",
            field="query",
            got=names,
            example={"query": names[:MAX_NAMES]},
        )
    if len(names) > 1 and offset:
        raise BadArguments(
            "offset reads on in a search for one name. Leave it out, or search for each name by itself.",
            field="offset",
            got=offset,
            example={"offset": 0},
        )


def results_of(name: str, is_one_of_several: bool, asked: SearchRequest, reader: Reader) -> list[SearchResult]:
    """Return the result of a search for a name; if it finds nothing, those of the names that its words are."""
    limit = MAX_HITS if is_one_of_several and asked.limit is None else asked.limit
    result = search(SearchRequest(query=name, dimension=asked.dimension, limit=limit, offset=asked.offset), reader)
    readings = () if asked.offset else tuple(readings_of(name, asked.dimension, reader))
    lacking = not_held_notes(name, reader)
    result = replace(result, query=name, readings=readings, notes=(*result.notes, *lacking))
    if not result.is_empty or not fold(name) or asked.offset:
        return [result]
    names = split(name, asked.dimension, reader)
    if not names:
        absent = () if lacking else (absence_note(name, asked.dimension, reader),)
        return [replace(result, notes=(*result.notes, *absent))]
    read = SearchNote.of("several_names", query=name, names=tuple(names))
    few = MAX_HITS if asked.limit is None else asked.limit
    requests = (SearchRequest(query=each, dimension=asked.dimension, limit=few) for each in names)
    results = [exact_only(result_of_one(request, reader)) for request in requests]
    return [replace(each, notes=(read, *each.notes)) for each in results]


def result_of_one(request: SearchRequest, reader: Reader) -> SearchResult:
    """Return the result of a search for one name as it is written, with what it means as a term."""
    name = str(request.query)
    readings = tuple(readings_of(name, request.dimension, reader))
    return replace(search(request, reader), query=name, readings=readings, notes=not_held_notes(name, reader))


def exact_only(result: SearchResult) -> SearchResult:
    """Return only the exact hits of the search for a name, all if there are none."""
    name = fold(result.query or "")
    exact = replace(
        result,
        records=tuple(filter(is_exact, result.records)),
        hierarchy_nodes=tuple(filter(is_exact, result.hierarchy_nodes)),
        metrics=tuple(metric for metric in result.metrics if name in (fold(metric.key), fold(metric.label))),
        statements=tuple(known for known in result.statements if name in (fold(known.key), fold(known.label))),
    )
    more = frozenset(section for section in result.more if getattr(exact, section) == getattr(result, section))
    return result if exact.is_empty else replace(exact, more=more)


def is_exact(hit: Hit) -> bool:
    """Tell whether the id, code or name of a hit is what was searched for."""
    return hit.why == WHY[EXACT]


class NameSplit(Struct, frozen=True, order=True):
    """Names that some words are, one after the other: the best one compares as less than all others."""

    spelled: int = 0  # how many are close spellings
    count: int = 0
    ranks: int = 0  # the sum of the ranks of what they find
    names: tuple[str, ...] = ()

    def after(self, name: str, rank: int) -> "NameSplit":
        """Return the partition that begins with one more name, which finds something of a rank."""
        spelled = self.spelled + (rank >= SPELLED)
        return NameSplit(spelled, self.count + 1, self.ranks + rank, (name, *self.names))


def split(query: str, dimension: str | None, reader: Reader) -> Sequence[str]:
    """Return the fewest names that the words of a query are, none if one of them is part of no visible name.

    Names as written come before close spellings. Each begins a name, a code or a word of them.
    """
    words, ranks = query.split(), Ranks(dimension, reader)
    if not 1 < len(words) <= MOST_WORDS or any(ranks.of(word, CONTAINS) is None for word in watched(words)):
        return ()
    best: dict[int, NameSplit] = {len(words): NameSplit()}  # of the words from a position
    for begin in watched(range(len(words))[::-1]):
        partitions = []
        for end in watched(range(begin + 1, len(words) + 1)):
            name = " ".join(words[begin:end])
            rank = ranks.of(name) if end in best and end - begin < len(words) else None
            if rank is not None:
                partitions.append(best[end].after(name, rank))
        if partitions:
            best[begin] = min(partitions)
    return best[0].names if 0 in best else ()


class Ranks:
    """The rank of what the search for a name finds first, among what a reader sees."""

    def __init__(self, dimension: str | None, reader: Reader) -> None:
        members = findable_members(dimension, reader)
        self._dimension, self._reader = dimension, reader
        self._sources: Sequence[Findable] = (members,) if dimension else (members, findable_reports(reader))
        self._ranks: dict[tuple[str, int], int | None] = {}

    def of(self, name: str, last: int = CONTAINS - 1) -> int | None:
        """Return the rank of the best hit, as written up to a `last` rank, else as spelled; None if there is none."""
        if (name, last) not in self._ranks:
            is_term = any(readings_of(name, self._dimension, self._reader))
            self._ranks[name, last] = EXACT if is_term else self._find(fold(name), last)
        return self._ranks[name, last]

    def _find(self, query: str, last: int) -> int | None:
        look()
        for find in (Findable.as_written, Findable.spelled):
            bests = [find(source, query, ONE) for source in self._sources if query]
            ranks = [rank for best in bests for rank, _ in (*best.records, *best.nodes)]
            if ranks:
                return None if last < min(ranks) < SPELLED else min(ranks)
        return None
