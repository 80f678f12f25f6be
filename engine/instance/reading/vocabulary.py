"""Builds the vocabulary of an instance: its terms, and the words for what its books do not hold."""

from collections.abc import Collection, Mapping

from engine.instance.documents import Document, known
from engine.instance.schema.books import InstanceFile, TermPart
from engine.model.catalogue import Dimension, Metric
from engine.model.metric_names import metrics_named
from engine.model.vocabulary import InstanceTerms, TermReading

ONE_OF = "name one of metric, statement, or dimension with member"


def build_vocabulary(
    document: Document,
    file: InstanceFile,
    dimensions: Mapping[str, Dimension],
    metrics: Mapping[str, Metric],
    statements: Collection[str],
) -> InstanceTerms:
    """Return the vocabulary. Records what a term names that is not there, and words that have another meaning."""
    names = Names(document, dimensions, metrics, statements)
    terms: dict[str, tuple[TermReading, ...]] = {}
    for term, part in file.terms.items():
        parts = part if isinstance(part, list) else [part]
        many = len(parts) > 1
        at: list[str | int] = ["terms", term]
        names.refuse_taken(term, {each.metric for each in parts} | {each.statement for each in parts})
        terms[term] = tuple(
            names.reading(each, [*at, place] if isinstance(part, list) else at, many=many)
            for place, each in enumerate(parts)
        )
    for place, word in enumerate(file.not_held):
        names.refuse_held(word, place)
    return InstanceTerms(terms=terms, not_held=tuple(file.not_held))


class Names:
    """What terms can name, and the document that faults are of."""

    def __init__(
        self,
        document: Document,
        dimensions: Mapping[str, Dimension],
        metrics: Mapping[str, Metric],
        statements: Collection[str],
    ) -> None:
        self._document = document
        self._dimensions = dimensions
        self._metrics = metrics
        self._statements = statements

    def reading(self, part: TermPart, at: list[str | int], *, many: bool) -> TermReading:
        """Return one reading. Records what it names that is not there; one of several needs `means`."""
        kinds = [part.metric is not None, part.statement is not None, part.dimension is not None]
        if sum(kinds) != 1 or (part.dimension is None) != (part.member is None):
            self._document.fault(at, "names nothing, or more than one thing", ONE_OF)
        elif part.metric is not None:
            self._check_metric(part.metric, [*at, "metric"])
        elif part.statement is not None and part.statement not in self._statements:
            valid = known(part.statement, self._statements)
            self._document.fault([*at, "statement"], f"there is no statement '{part.statement}'", valid)
        elif part.dimension is not None:
            self._check_dimension(part.dimension, [*at, "dimension"])
        if many and not part.means:
            self._document.fault(at, "is one of several readings and has no means", "say in words what it means")
        return TermReading(
            metric=part.metric,
            statement=part.statement,
            dimension=part.dimension,
            member=part.member,
            means=part.means,
            location=self._document.place(at),
        )

    def _check_metric(self, name: str, at: list[str | int]) -> None:
        keys = [metric.key for metric in metrics_named(name, self._metrics)]
        if len(keys) > 1:
            self._document.fault(at, f"'{name}' is a metric of several domains", f"write {' or '.join(keys)}")
        elif not keys:
            self._document.fault(at, f"there is no metric '{name}'", known(name, self._metrics))

    def _check_dimension(self, key: str, at: list[str | int]) -> None:
        usable = [name for name, one in self._dimensions.items() if not one.grain and not one.axis_only]
        if key not in usable:
            self._document.fault(at, f"there is no dimension '{key}' with members", known(key, usable))

    def refuse_taken(self, term: str, own: Collection[str | None]) -> None:
        """Record a term that is the key of a metric or statement that it does not name."""
        if term not in own and (term in self._metrics or term in self._statements):
            self._document.fault(["terms", term], "is the key of a metric or statement", "choose another word")

    def refuse_held(self, word: str, place: int) -> None:
        """Record a word for what is not held that the books hold."""
        labels = {metric.label.casefold() for metric in self._metrics.values()}
        labels |= {metric.bare for metric in self._metrics.values()} | {*self._dimensions, *self._statements}
        if word.casefold() in labels:
            self._document.fault(["not_held", place], f"'{word}' is held", "leave it out")
