"""The polars surface: for each of its exact types the names that a script may use, and why it may not use the others.

surface.json holds every public name of the installed polars, as reviewed; a test fails where polars has another.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from types import MappingProxyType
from typing import Any

POLARS = "polars"
SELECTORS = "polars.selectors"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The public names of one type or module, and what was decided."""

    allowed: frozenset[str]
    denied: Mapping[str, str]  # name -> kind

    @staticmethod
    def of(listed: Mapping[str, list[str]]) -> "Reviewed":
        """Read one entry of the file."""
        names = {kind: " ".join(lines).split() for kind, lines in listed.items()}
        allowed = frozenset(names.pop("allowed"))
        return Reviewed(allowed, MappingProxyType({name: kind for kind, some in names.items() for name in some}))


def found(place: str) -> Any:  # noqa: ANN401 - a module or a class
    """Return what an entry of the file is about: a module, or a class of one."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


SURFACE: Mapping[str, Reviewed] = {
    place: Reviewed.of(listed)
    for place, listed in json.loads(files("sandbox").joinpath("surface.json").read_text(encoding="utf-8")).items()
}
