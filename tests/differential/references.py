"""References as the oracle reads them, and what the body of a metric declares."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Scope = frozenset[str]  # scenarios whose limits hold


@dataclass(frozen=True, slots=True)
class WrittenTerm:
    """A scenario, perhaps with a variant."""

    scenario: str
    variant: str = ""


@dataclass(frozen=True, slots=True)
class WrittenSide:
    """A term or a blend of two, with shifts from left to right."""

    terms: tuple[WrittenTerm, ...]
    shifts: tuple[str, ...]

    @property
    def scenarios(self) -> Scope:
        """The scenarios that it names."""
        return frozenset(term.scenario for term in self.terms)


@dataclass(frozen=True, slots=True)
class Reference:
    """A side, or the variance of two."""

    sides: tuple[WrittenSide, ...]
    relative: bool = False

    @classmethod
    def of(cls, text: str) -> "Reference":
        """Return what a text says."""
        if found := re.fullmatch(r"(var|var_pct)\((.*),(.*)\)", text):
            return cls((side_of(found[2]), side_of(found[3])), relative=found[1] == "var_pct")
        return cls((side_of(text),))


def side_of(text: str) -> WrittenSide:
    """Return the side that a text says."""
    blend, *shifts = text.split("@")
    terms = (term.partition("/") for term in blend.split("+"))
    return WrittenSide(tuple(WrittenTerm(scenario, variant) for scenario, _, variant in terms), tuple(shifts))


def how(body: Mapping[str, Any]) -> str:
    """Return how a metric adds up over members."""
    over = body.get("over_members", "sum")
    return next(iter(over)) if isinstance(over, Mapping) else str(over)


def over_time(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the rule of a metric over time, and since when or of which periods; an opening has that of its close."""
    rule = body.get("over_time", "sum")
    if rule == "opening":
        return "closing", ""
    if isinstance(rule, Mapping):
        ((name, more),) = rule.items()
        if name == "opening":
            return over_time({"over_time": more})
        return str(name), {"day": "date"}.get(more["of"], more["of"]) if name == "average" else str(more)
    return str(rule), ""


def is_opening(body: Mapping[str, Any]) -> bool:
    """Tell whether a metric is what was there before a range."""
    rule = body.get("over_time", "sum")
    return rule == "opening" or (isinstance(rule, Mapping) and "opening" in rule)


def conditions(body: Mapping[str, Any], measures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conditions on amounts of a metric."""
    return {key: wanted for key, wanted in body.get("where", {}).items() if key in measures}
