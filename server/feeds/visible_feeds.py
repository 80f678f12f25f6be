"""Feeds visible to a reader, redacted if only part of their table is visible."""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.catalogue import Catalogue, Domain
from engine.model.scenarios import live
from server.feeds.extract_formats import ExtractFormat
from server.feeds.feeds import Binding, LoadAttempt


class Extent(Enum):
    """How much of a feed's data a reader may see."""

    NOTHING = "nothing"
    PART = "part"
    WHOLE = "whole"

    @classmethod
    def of(cls, *, some: bool, every: bool) -> "Extent":
        """Return the extent, given whether some and whether every part is visible."""
        if not some:
            return cls.NOTHING
        return cls.WHOLE if every else cls.PART


class VisibleFeed(Struct, frozen=True):
    """A feed that a reader may see. Redacted if only part of its table is visible."""

    binding: Binding
    whole: bool

    def attempt(self, attempt: LoadAttempt) -> LoadAttempt:
        """Return a load attempt. A redacted feed omits counts, messages, and days that the load did not request."""
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
            rejected={},
        )


def feeds_seen(bindings: Mapping[str, Binding], reader: Reader, *, operates: bool) -> Mapping[str, VisibleFeed]:
    """Return the feeds visible to a reader. Redacts those with hidden data unless the reader operates feeds."""
    extents = {key: extent_of(binding, bindings.values(), reader) for key, binding in bindings.items()}
    return {
        key: VisibleFeed(bindings[key], whole=True)
        if operates or extent is Extent.WHOLE
        else VisibleFeed(cut_down(bindings[key]), whole=False)
        for key, extent in extents.items()
        if extent is not Extent.NOTHING
    }


def extent_of(binding: Binding, bindings: Iterable[Binding], reader: Reader) -> Extent:
    """Return how much of a feed's data a reader may see.

    Facts follow the scenarios that the feed may load, members and nodes follow the dimensions that use them, and rates
    follow the facts that they convert. Hidden feeds are ignored.
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
    """Return the domain whose facts a live table holds, None if there is none."""
    return next((domain for domain in catalogue.domains.values() if domain.table == table), None)


def brought_by(binding: Binding, domain: Domain, catalogue: Catalogue) -> Collection[str]:
    """Return the scenarios that a feed of facts may load."""
    filling = binding.fillings.get(domain.scenario_column)
    if binding.scenario is not None:
        return (binding.scenario,)
    if filling is not None and filling.constant is not None:
        return (filling.constant,)
    named = filling.values if filling is not None else None
    return tuple(named.values() if named else catalogue.live_scenarios)


def cut_down(binding: Binding) -> Binding:
    """Redact a feed: remove its source, extract, format, constants and value mappings, which can reveal rows."""
    return replace(
        binding,
        source=replace(binding.source, path=None, environment=None),
        extract="",
        attach=None,
        sheet=None,
        parameters={},
        format=ExtractFormat(),
        fillings={column: replace(filling, constant=None, values=None) for column, filling in binding.fillings.items()},
    )


def is_served(attempt: LoadAttempt, reader: Reader) -> bool:
    """Tell whether the reader's current data includes rows of a load."""
    domain = domain_of(attempt.target, reader.catalogue)
    if domain is None:
        return reader.load_of(attempt.target) == attempt.load_id
    served = (load for scenario in live(reader.scenarios) for load in reader.loads(domain.key, scenario))
    return any(load.load == attempt.load_id for load in served)
