"""Terms: words of an instance's own for metrics, statements and members, as far as a reader sees what they name.

What a reader does not see has no term: its term is a word that nothing has. Which terms there are is worked out for all
of them at once, so that no search for one of them does more than another.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from engine.books.folding import fold_whole
from engine.books.reader import Reader
from engine.books.search import findable_members, is_findable, metrics_named
from engine.model.errors import BadArguments, quoted
from engine.model.metric_names import metrics_named as metrics_called
from engine.model.stopping import watched
from engine.model.vocabulary import SeenReading, TermReading

Terms = Mapping[str, Sequence[SeenReading]]  # by the folded term without spaces
NO_TERMS: Terms = {}


def report_terms(reader: Reader) -> Terms:
    """Return the terms of the visible metrics and statements."""
    if not reader.catalogue.vocabulary.terms:
        return NO_TERMS
    return reader.memo_as_seen("terms of reports", lambda: terms_of(reports_read, reader), len)


def member_terms(dimension: str, reader: Reader) -> Terms:
    """Return the terms of the visible members of a dimension."""
    if not reader.catalogue.vocabulary.terms:
        return NO_TERMS
    key = ("terms of members", dimension)
    return reader.memo_as_seen(key, lambda: terms_of(members_read(dimension, reader), reader), len)


def terms_of(read: Callable[[str, TermReading, Reader], SeenReading | None], reader: Reader) -> Terms:
    """Return the terms of which a reader sees what one reading names at least."""
    terms: dict[str, list[SeenReading]] = defaultdict(list)
    for term, readings in watched(reader.catalogue.vocabulary.terms.items()):
        seen = (read(term, reading, reader) for reading in readings)
        terms[fold_whole(term)] += [reading for reading in seen if reading]
    return {term: tuple(readings) for term, readings in terms.items() if readings}


def reports_read(term: str, reading: TermReading, reader: Reader) -> SeenReading | None:
    """Return the reading of a visible metric or statement."""
    if reading.statement in reader.statements:
        return SeenReading(term=term, kind="statement", key=str(reading.statement), means=reading.means)
    named = metrics_called(reading.metric, reader.metrics) if reading.metric else []
    return SeenReading(term=term, kind="metric", key=named[0].key, means=reading.means) if len(named) == 1 else None


def members_read(dimension: str, reader: Reader) -> Callable[[str, TermReading, Reader], SeenReading | None]:
    """Return what reads a visible member of a dimension, all of which are looked up at once."""
    readings = (each for readings in reader.catalogue.vocabulary.terms.values() for each in readings)
    ids = {str(each.member) for each in watched(readings) if each.dimension == dimension}
    findable = findable_members(dimension, reader)
    rows = findable.index.named({fold_whole(member) for member in watched(ids)}, findable.seen)
    visible = {findable.index.rows["id"][row] for each in rows.values() for row in watched(each)} & ids

    def read(term: str, reading: TermReading, _: Reader) -> SeenReading | None:
        if reading.dimension != dimension or reading.member not in visible:
            return None
        return SeenReading(term=term, kind="member", key=str(reading.member), dimension=dimension, means=reading.means)

    return read


def readings_of(name: str, dimension: str | None, reader: Reader) -> Iterator[SeenReading]:
    """Yield what a name means as a term: in a dimension, or as a metric, a statement and in all dimensions."""
    term, terms = fold_whole(name), reader.catalogue.vocabulary.terms
    if dimension is None:
        yield from report_terms(reader).get(term, ())
    named = {reading.dimension for readings in watched(terms.values()) for reading in readings}
    for key, known in reader.dimensions.items():
        if key in named and dimension in (None, key) and is_findable(known):
            yield from member_terms(key, reader).get(term, ())


def meant(name: str, kind: str, field: str, reader: Reader) -> str | None:
    """Return the key of the metric or statement that a term means, None if it is none. Refuses several readings."""
    readings = [reading for reading in report_terms(reader).get(fold_whole(name), ()) if reading.kind == kind]
    keys = list(dict.fromkeys(reading.key for reading in readings))
    if len(keys) > 1:
        raise BadArguments(
            f"{quoted([name])} has several readings: {', '.join(reading.words for reading in readings)}. "
            f"Give the key of the {kind} that is meant.",
            field=field,
            got=name,
            valid=keys,
        )
    return keys[0] if keys else None


def metrics_found(query: str, reader: Reader) -> Sequence[str]:
    """Return the keys of the metrics that a text means as a term, then of those that a search for it finds."""
    keys = metrics_named(query, reader)
    readings = report_terms(reader).get(fold_whole(query), ())
    return list(dict.fromkeys([*(reading.key for reading in readings if reading.kind == "metric"), *keys]))
