"""Feeds seen: the feeds whose tables a reader may read, each with as much of it as is theirs."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from engine.books.reader import Reader
from engine.model.catalogue import Catalogue, Domain
from engine.model.feeds import Binding, LoadAttempt
from engine.model.scope import EVERYTHING


class Extent(Enum):
    """How much of what a feed brings may be read."""

    NOTHING = "nothing"
    PART = "part"
    WHOLE = "whole"

    @classmethod
    def of(cls, *, some: bool, every: bool) -> "Extent":
        """Return the extent of what may be read in some part, and of what in every part."""
        if not some:
            return cls.NOTHING
        return cls.WHOLE if every else cls.PART


@dataclass(frozen=True, slots=True)
class FeedSeen:
    """A feed whose table may be read; where that is cut, without what tells of the rest."""

    binding: Binding
    whole: bool

    def attempt(self, attempt: LoadAttempt) -> LoadAttempt:
        """Return an attempt to load it; where its table is cut, without counts, messages, and days nobody asked for."""
        if self.whole:
            return attempt
        return replace(
            attempt,
            span=None if attempt.periods is None else attempt.span,
            rows_read=None,
            rows_landed=None,
            rows_rejected=None,
            message=None,
            rejects_file=None,
        )


def feeds_seen(bindings: Mapping[str, Binding], reader: Reader, *, operates: bool) -> Mapping[str, FeedSeen]:
    """Return the feeds whose tables a reader may read, whole where all of a table is theirs or they operate feeds."""
    extents = {key: extent_of(binding, bindings.values(), reader) for key, binding in bindings.items()}
    return {
        key: FeedSeen(bindings[key], whole=True)
        if operates or extent is Extent.WHOLE
        else FeedSeen(cut_down(bindings[key]), whole=False)
        for key, extent in extents.items()
        if extent is not Extent.NOTHING
    }


def extent_of(binding: Binding, bindings: Iterable[Binding], reader: Reader) -> Extent:
    """Return how much of what a feed brings may be read.

    Facts are read in the scenarios that it may bring, members and nodes through the dimensions that have them, rates
    through the facts that are converted at them. Feeds of which nothing may be read decide nothing.
    """
    if binding.fills_rates:
        converted = [known for known in bindings if known.conversion and known.conversion.rates == binding.target]
        extents = {extent_of(known, (), reader) for known in converted} - {Extent.NOTHING}
        return Extent.of(some=bool(extents), every=extents == {Extent.WHOLE})
    domain = domain_of(binding.target, reader.catalogue)
    if domain is None:
        dimensions = [key for key, known in reader.dimensions.items() if binding.target in (known.members, known.nodes)]
        return Extent.of(some=bool(dimensions), every=any(map(reader.sees_all, dimensions)))
    cells = [reader.cell(scenario, domain.key) for scenario in brought_by(binding, domain, reader.catalogue)]
    some = not all(cell.is_nothing for cell in cells)
    return Extent.of(some=some, every=all(cell.is_everything for cell in cells))


def domain_of(table: str, catalogue: Catalogue) -> Domain | None:
    """Return the domain whose facts a live table holds."""
    return next((domain for domain in catalogue.domains.values() if domain.table == table), None)


def brought_by(binding: Binding, domain: Domain, catalogue: Catalogue) -> Collection[str]:
    """Return the scenarios that a feed of facts may bring rows of."""
    filling = binding.fillings.get(domain.scenario_column)
    if binding.scenario is not None:
        return (binding.scenario,)
    if filling is not None and filling.constant is not None:
        return (filling.constant,)
    return tuple(filling.values.values()) if filling is not None and filling.values else tuple(catalogue.scenarios)


def cut_down(binding: Binding) -> Binding:
    """Return a feed without what may tell of rows: where and what it reads, constants, and what values mean."""
    return replace(
        binding,
        source=replace(binding.source, path=None, environment=None),
        extract="",
        sheet=None,
        parameters={},
        fillings={column: replace(filling, constant=None, values=None) for column, filling in binding.fillings.items()},
    )


def is_served(attempt: LoadAttempt, reader: Reader) -> bool:
    """Tell whether rows that a load brought are among those that a reader is served now."""
    domain = domain_of(attempt.target, reader.catalogue)
    if domain is None:
        return reader.load_of(attempt.target) == attempt.load_id
    brought = [
        scenario
        for scenario in reader.scenarios
        if any(load.load == attempt.load_id for load in reader.loads(domain.key, scenario))
    ]
    return any(reader.presence(domain.key, key, EVERYTHING).brought_by(attempt.load_id) for key in brought)
