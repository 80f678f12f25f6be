"""Operands of formulas in an instance: what stands in their brackets and in their braces.

Metrics and lines of statements read both alike, and neither builder knows the other.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from engine.instance.documents import known
from engine.model.catalogue import Base, Dimension, Domain, Metric
from engine.model.formulas import FormulaFault
from engine.model.functions import Members, metrics_of
from engine.model.scenarios import Scenario, resolve_own_side

Key = TypeVar("Key", bound=Hashable)


def bases_below(figure: Key, made_of: Callable[[Key], Base | Iterable[Key]]) -> Iterator[Base]:
    """Yield the measured figures below a figure, each figure once. `made_of` returns its base, else what it names."""
    pending, seen = [figure], {figure}
    while pending:
        part = made_of(pending.pop())
        if isinstance(part, Base):
            yield part
            continue
        others = [each for each in dict.fromkeys(part) if each not in seen]
        seen.update(others)
        pending += others


def made_of_metric(metric: Metric | None) -> Base | tuple[str, ...]:
    """Return the base of a metric, else the metrics that its formula names; nothing of one that is not known."""
    if metric is None:
        return ()
    return metric.body if isinstance(metric.body, Base) else metrics_of(metric.body)


def bases_of_metric(name: str, metric_of: Callable[[str], Metric]) -> Iterator[Base]:
    """Yield the measured figures that a metric is made of."""
    return bases_below(name, lambda key: made_of_metric(metric_of(key)))


def own_side_in(scenarios: Mapping[str, Scenario] | None) -> Callable[[str, int], str]:
    """Return what reads the brackets of an operand; it raises FormulaFault for what is no scenario and no steps.

    Where the scenarios are unknown it takes any text.
    """

    def read(text: str, position: int) -> str:
        if scenarios is not None and resolve_own_side(text, scenarios) is None:
            words = f"'[{text}]' is no scenario and no steps such as [@fy]; {known(text, scenarios)}"
            raise FormulaFault(words, position)
        own = resolve_own_side(text, scenarios or {})
        first, *others = own.side.terms if own and own.side else (None,)
        if first and others and not first.scenario.last_closed:
            raise FormulaFault(f"{text} never switches: {first.key} has no closed_through", position)
        return text

    return read


def own_cuts_in(
    dimensions: Mapping[str, Dimension], domains: Mapping[str, Domain], bases_of: Callable[[str], Iterable[Base]]
) -> Callable[[str, Members, int], Members]:
    """Return what reads the braces of an operand; it raises FormulaFault for a dimension that its figure lacks.

    `bases_of` yields what the figure of an operand is made of. Members are told by their ids; those that are not loaded
    are faults of a check against the data.
    """

    def read(name: str, cuts: Members, position: int) -> Members:
        bases = [base for base in bases_of(name) if base.domain in domains]
        bound = [base for base in bases if not base.repeats] or bases  # the others have no members
        leaves = [set(domains[base.domain].dimensions) for base in bound]
        usable = [
            key
            for key, dimension in dimensions.items()
            if not dimension.grain and not dimension.axis_only and all(dimension.leaf in held for held in leaves)
        ]
        first: dict[str, str] = {}
        for key, _ in cuts:
            if key not in usable:
                raise FormulaFault(f"{name} cannot be restricted by '{key}'; {known(key, usable)}", position)
            other = first.setdefault(dimensions[key].leaf, key)
            if other != key:
                words = f"{other} and {key} are of one dimension; name one of them in the braces"
                raise FormulaFault(words, position)
        return cuts

    return read
