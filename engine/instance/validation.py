"""Validates documents against the models of their files and turns errors into faults that a person can repair."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from itertools import zip_longest
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from engine.instance.documents import Document, Location, Tree
from engine.instance.schema.books import CALENDAR, CURRENCY, DURATION, DURATION_OR_NONE
from engine.instance.schema.common import KEY, LIVE_TABLE, PARAMETER, QUOTE
from engine.instance.schema.registry import SCENARIO
from engine.model.errors import closest, quoted

Model = TypeVar("Model", bound=BaseModel)
Schema = Mapping[str, Any]

EXPECTED = {
    "missing": "is missing",
    "dict_type": "is no mapping",
    "model_type": "is no mapping",
    "model_attributes_type": "is no mapping",
    "list_type": "is no list",
    "string_type": "is no text",
    "int_parsing": "is no whole number",
    "int_type": "is no whole number",
    "int_from_float": "is no whole number",
    "int_parsing_size": "is too large",
    "decimal_parsing": "is no number",
    "decimal_type": "is no number",
    "finite_number": "is no number",
    "greater_than_equal": "is below {ge}",
    "less_than_equal": "is above {le}",
    "literal_error": "is none of {expected}",
    "too_short": "is too short: it takes {min_length} at least",
    "too_long": "is too long: it takes {max_length} at most",
    "string_too_short": "has too few characters: it takes {min_length} at least",
    "bool_type": "is neither true nor false",
    "bool_parsing": "is neither true nor false",
    "invalid_key": "is a key that is no text",
    "line_kind": "is no line: it has none of the keys that make one",
    "string_pattern_mismatch": "has a shape that is not allowed",
}
SHAPES = {
    KEY: "lower-case letters, digits and _, a letter first",
    LIVE_TABLE: "live. and lower-case letters, digits and _, as live.gl",
    CURRENCY: "three capital letters, as EUR",
    DURATION: "a number of seconds or minutes, as 20s or 2m",
    DURATION_OR_NONE: "a number of seconds or minutes, as 15m, or 0s",
    CALENDAR: "the name of a CSV file beside instance.yaml, as calendar.csv",
    SCENARIO: "letters, digits, _, . and -, a letter or digit first",
    QUOTE: "one character that is no letter, digit or space, or none",
    PARAMETER: "letters, digits and _, a letter first",
}


def fit(document: Document, model: type[Model]) -> Model | None:
    """Return a document as its model. If it does not fit, record the faults and return None."""
    if document.tree is None and document.faults:
        return None
    try:
        return model.model_validate(document.tree)
    except ValidationError as misfit:
        for error in misfit.errors():
            document.fault(error["loc"], *described(error, model))
        return None


def fit_in_part(document: Document, model: type[Model]) -> Model | None:
    """Return the parts of a document that fit its model, and record the faults of the others; None if nothing is left.

    The parts serve to find the faults of other files: the caller refuses a document with a fault in the end.
    """
    fitted, tree = fit(document, model), document.tree
    misfits = [fault.at for fault in document.faults]
    while fitted is None:
        smaller = without(tree, misfits)
        if smaller == tree:
            return None
        tree = smaller
        try:
            fitted = model.model_validate(tree)
        except ValidationError as misfit:
            misfits = [error["loc"] for error in misfit.errors()]
    return fitted


def without(tree: Tree, locations: Iterable[Location]) -> Tree:
    """Return a tree without the parts at some locations.

    A part that is missing takes what it is missing in, and a part of a list takes the whole list.
    """
    smaller = deepcopy(tree)
    for location in locations:
        part = smaller
        for step, below in zip_longest(location, location[1:]):
            if not isinstance(part, dict) or step not in part:
                break
            inner = part[step]
            if not (isinstance(inner, dict) and below in inner):
                del part[step]
                break
            part = inner
    return smaller


def described(error: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    """Return two phrases: what was found and what would be valid."""
    location = error["loc"]
    where = ".".join(str(part) for part in location if not str(part).endswith((" line", "[key]"))) or "the file"
    kind = error["type"]
    if kind == "extra_forbidden":
        known = sorted(keys_at(schema_of(model), location[:-1]))
        close = closest(str(location[-1]), known)
        guess = f"did you mean {quoted(close)}? " if close else ""
        return f"unknown key '{where}'", f"{guess}known keys: {', '.join(known)}"
    got = error["input"]
    said = error["msg"].removeprefix("Value error, ")
    context = error.get("ctx", {})
    found = f"{where} {EXPECTED[kind].format(**context)}" if kind in EXPECTED else f"{where}: {said}"
    if kind != "missing" and isinstance(got, str | int | float | bool):
        found += f" (found '{got}')"
    if kind == "line_kind":
        return found, "header, metric, rollup, formula or include"
    pattern = str(context.get("pattern", ""))
    return found, SHAPES.get(pattern, pattern)


@cache
def schema_of(model: type[BaseModel]) -> Schema:
    """Return the JSON Schema of a file's model."""
    return model.model_json_schema(by_alias=True)


def keys_at(schema: Schema, location: Location) -> set[str]:
    """Return the keys that a part of a file may have."""
    found = list(parts_at(schema, schema, location))
    return {key for part in found for key in part.get("properties", {})}


def parts_at(root: Schema, part: Schema, location: Location) -> Iterator[Schema]:
    """Yield the schemas that apply at a location. Follows references and alternatives."""
    if "$ref" in part:
        part = root["$defs"][part["$ref"].rsplit("/", 1)[-1]]
    for alternative in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        yield from parts_at(root, alternative, location)
    if not location:
        yield part
        return
    step, rest = location[0], location[1:]
    if str(step).endswith(" line"):  # the tag of a line's kind, not a key of the file
        yield from parts_at(root, line_schema(root, str(step)), rest)
    elif isinstance(step, int) and "items" in part:
        yield from parts_at(root, part["items"], rest)
    elif step in part.get("properties", {}):
        yield from parts_at(root, part["properties"][step], rest)
    else:
        for free in (part.get("additionalProperties"), *part.get("patternProperties", {}).values()):
            if isinstance(free, Mapping):
                yield from parts_at(root, free, rest)


def line_schema(root: Schema, tag: str) -> Schema:
    """Return the schema of one kind of statement line."""
    kind = tag.removesuffix(" line")
    return next(part for part in root["$defs"].values() if kind in part.get("required", ()))
