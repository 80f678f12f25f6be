"""The vocabulary of an instance: words of its own for metrics, statements and members, and what it does not hold."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from engine.model.scope import Cut


class TermReading(Struct, frozen=True, kw_only=True):
    """One thing that a term can mean: a metric, a statement, or a member of a dimension."""

    metric: str | None = None
    statement: str | None = None
    dimension: str | None = None
    member: str | None = None
    means: str | None = None  # in words, to tell it from other readings
    location: str = ""  # in the files of an instance


class InstanceTerms(Struct, frozen=True, kw_only=True):
    """The terms of an instance as its file writes them, and the words for what its books do not hold."""

    terms: Mapping[str, tuple[TermReading, ...]] = {}
    not_held: tuple[str, ...] = ()

    @property
    def cuts(self) -> Iterator[tuple[str, Cut]]:
        """The members that terms name, each with its term in words."""
        for term, readings in self.terms.items():
            for each in readings:
                if each.dimension is not None and each.member is not None:
                    yield f"term '{term}'", Cut(each.dimension, (each.member,), location=each.location)


class SeenReading(Struct, frozen=True, kw_only=True):
    """One thing that a term means to a reader, who sees it."""

    term: str
    kind: str  # metric, statement or member
    key: str
    dimension: str | None = None  # of a member
    means: str | None = None

    @property
    def words(self) -> str:
        """Its key, and what it means where the instance says so."""
        return f"{self.key} ({self.means})" if self.means else self.key
