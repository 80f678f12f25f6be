"""Where the keys of the published schemas stand in the files of an instance, and instances without one of them."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from msgspec import Struct

Json = dict[str, Any]
Place = tuple[str | int, ...]


class Standing(Struct, frozen=True):
    """A key of a schema where it stands in a file."""

    key: str  # PART.key, or FILE.key of the file itself
    place: Place


def keys_of(name: str, schema: Json) -> Iterator[str]:
    """Yield the keys of a schema."""
    for part, shape in {name: schema, **schema.get("$defs", {})}.items():
        for key in shape.get("properties", {}):
            if not key.startswith("$"):
                yield f"{part}.{key}"


def standing(name: str, schema: Json, tree: Any) -> Iterator[Standing]:
    """Yield each key that stands in a file."""
    yield from walk(schema, schema, tree, name, ())


def walk(root: Json, shape: Json, value: Any, part: str, place: Place) -> Iterator[Standing]:
    """Yield the keys that stand in a part of a file."""
    if "$ref" in shape:
        part = shape["$ref"].rpartition("/")[2]
        shape = root["$defs"][part]
    for choice in (*shape.get("anyOf", ()), *shape.get("oneOf", ())):
        if fits(root, choice, value):
            yield from walk(root, choice, value, part, place)
    if isinstance(value, dict):
        known, others = shape.get("properties", {}), values_of(shape)
        for key, below in value.items():
            if key in known:
                yield Standing(f"{part}.{key}", (*place, key))
            inner = known.get(key, others)
            if isinstance(inner, dict):
                yield from walk(root, inner, below, part, (*place, key))
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from walk(root, shape.get("items", {}), below, part, (*place, number))


def values_of(shape: Json) -> Json | None:
    """Return the shape of the values of a mapping whose keys are names."""
    for others in (*shape.get("patternProperties", {}).values(), shape.get("additionalProperties")):
        if isinstance(others, dict):
            return others
    return None


def fits(root: Json, shape: Json, value: Any) -> bool:
    """Tell whether a value is of one of several shapes."""
    shape = root["$defs"][shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape
    if isinstance(value, dict):
        known = shape.get("properties", {})
        is_open = values_of(shape) is not None
        return (is_open or (bool(known) and value.keys() <= known.keys())) and set(shape.get("required", ())) <= {
            *value
        }
    return isinstance(value, list) and "items" in shape


def without(tree: Any, place: Place) -> Any:
    """Return a file without what stands in a place, and without the mappings that are empty then."""
    tree = deepcopy(tree)
    above = [tree]
    for step in place[:-1]:
        above.append(above[-1][step])
    for part, step in zip(reversed(above), reversed(place), strict=True):
        del part[step]
        if part or isinstance(part, list):
            break
    return tree
