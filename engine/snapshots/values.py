"""Values as JSON and back, by the fields that tell them apart."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

Json = Any
Decode = Callable[[Json], Any]
Kind = Any  # what a field is annotated with


def as_json(value: object) -> Json:
    """Return a value as JSON: dataclasses as objects, tuples as lists, enums by value, days as ISO text."""
    match value:
        case None | str() | int():
            return value
        case dict():
            return {key: as_json(part) for key, part in value.items()}
        case tuple() | list():
            return [as_json(part) for part in value]
        case Enum():
            return value.value
        case date():
            return value.isoformat()
    parts = fields(value)  # type: ignore[arg-type]  # a value
    return {part.name: as_json(getattr(value, part.name)) for part in parts if part.compare}


def decoders(kind: type) -> Mapping[str, Decode]:
    """Return how to read each field of a dataclass."""
    hints = get_type_hints(kind)
    return {part.name: decoder(hints[part.name]) for part in fields(kind) if part.compare}


def decoder(kind: Kind) -> Decode:
    """Return how to read a type of field; KeyError, TypeError or ValueError say that the JSON is none of it."""
    shape = SHAPES.get(get_origin(kind))
    if shape is not None:
        return shape(*get_args(kind))
    if kind is date:
        return date.fromisoformat
    if isinstance(kind, type) and is_dataclass(kind):
        known = decoders(kind)
        return lambda found: kind(**{name: decode(found[name]) for name, decode in known.items()})
    return kind if isinstance(kind, type) and issubclass(kind, Enum) else lambda found: found


def either(*kinds: Kind) -> Decode:
    """Return how to read one of several types, told apart by whether they are objects in JSON."""
    by_shape = {is_object(kind): decoder(kind) for kind in kinds if kind is not type(None)}
    return lambda found: None if found is None else by_shape[isinstance(found, dict)](found)


def is_object(kind: Kind) -> bool:
    """Tell whether a type is an object in JSON."""
    return is_dataclass(kind) or SHAPES.get(get_origin(kind)) is by_key


def sequence(*kinds: Kind) -> Decode:
    """Return how to read a tuple, of any length or of one."""
    if kinds[-1] is Ellipsis:
        each = decoder(kinds[0])
        return lambda found: tuple(map(each, found))
    parts = tuple(map(decoder, kinds))
    return lambda found: tuple(part(one) for part, one in zip(parts, found, strict=True))


def by_key(_key: Kind, value: Kind) -> Decode:
    """Return how to read a mapping."""
    each = decoder(value)
    return lambda found: {key: each(one) for key, one in found.items()}


SHAPES: Mapping[object, Callable[..., Decode]] = {UnionType: either, tuple: sequence, Mapping: by_key}
