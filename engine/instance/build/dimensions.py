"""Dimensions from dimensions.yaml."""

from collections.abc import Mapping

from engine.calendar.calendar import Calendar
from engine.calendar.periods import Grain
from engine.catalogue import FIGURE_COLUMNS, INSPECTION_KEYS, LABEL, Dimension, DimensionKind
from engine.instance.build.names import known, words
from engine.instance.documents import Document, Location
from engine.instance.files.books import DimensionPart, DimensionsFile

PERIOD = Dimension(key="period", label="Period", kind=DimensionKind.LEAF, leaf="period", grain=Grain.MONTH)
NEEDS = {"leaf": (), "derived": ("from_", "attribute"), "ragged": ("leaf_dimension", "nodes")}
GOES_WITH = {
    "members": "leaf",
    "grain": "leaf",
    "from_": "derived",
    "attribute": "derived",
    "leaf_dimension": "ragged",
    "nodes": "ragged",
}


def build_dimensions(document: Document, file: DimensionsFile, calendar: Calendar) -> dict[str, Dimension]:
    """Return the dimensions of a file; `period` is always one of them."""
    parts: Mapping[str, DimensionPart] = file.model_extra or {}
    built: dict[str, Dimension] = {PERIOD.key: PERIOD}
    for key, part in parts.items():
        check_parts(document, key, part)
        if part.grain:
            check_grain(document, [key, "grain"], Grain(part.grain), calendar)
        leaf = leaf_of(document, parts, key, part)
        built[key] = Dimension(
            key=key,
            label=part.label or words(key),
            kind=DimensionKind(part.kind),
            leaf=leaf,
            members=part.members,
            attribute=part.attribute,
            nodes=part.nodes,
            adds_paths=part.paths == "add",
            grain=Grain(part.grain) if part.grain else None,
            location=document.place([key]),
        )
    return built


def check_grain(document: Document, location: Location, grain: Grain, calendar: Calendar) -> None:
    """Note a grain that the calendar does not have."""
    if grain not in calendar.grains:
        found = f"the calendar has no {grain.value}s"
        document.fault(
            location, found, f"number them in the column {grain.value} of its table, or choose another grain"
        )


def check_name(document: Document, location: Location, key: str) -> None:
    """Note a key that is a column of the frames that reports become."""
    reserved = dict.fromkeys((*FIGURE_COLUMNS, *INSPECTION_KEYS))
    if key in reserved or key.endswith(LABEL):
        taken = ", ".join(reserved)
        document.fault(location, f"'{key}' is taken: reports have a column of that name", f"none of {taken}, *{LABEL}")


def check_parts(document: Document, key: str, part: DimensionPart) -> None:
    """Note keys that a dimension of this kind lacks, and keys that say nothing on one."""
    check_name(document, [key], key)
    for name in NEEDS[part.kind]:
        if getattr(part, name) is None:
            document.fault([key], f"{key} is {part.kind} and has no {name.rstrip('_')}")
    for name, kind in GOES_WITH.items():
        if kind != part.kind and getattr(part, name) is not None:
            document.fault([key, name.rstrip("_")], f"{key} is {part.kind}; {name.rstrip('_')} is for {kind} ones")
    if part.grain and part.members:
        document.fault([key, "members"], f"{key} is a time dimension; its members are the periods")


def leaf_of(document: Document, parts: Mapping[str, DimensionPart], key: str, part: DimensionPart) -> str:
    """Return the leaf dimension that a dimension stands on."""
    leaf = part.from_ or part.leaf_dimension
    if leaf is None:
        return key
    leaves = [name for name, other in parts.items() if other.kind == "leaf" and not other.grain]
    if leaf not in leaves:
        where = "from" if part.from_ else "leaf_dimension"
        document.fault([key, where], f"{key}.{where}: there is no leaf dimension '{leaf}'", known(leaf, leaves))
    return leaf
