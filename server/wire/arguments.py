"""Arguments: the schemas that tools advertise, and the reading of arguments into requests."""

import ast
import inspect
from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Any, Generic, TypeVar

from msgspec import Struct
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_json

from engine.model.errors import BadArguments, closest, quoted
from engine.model.requests import Request

# Schemas of requests, in the plainest form of JSON Schema, which every client reads.


Json = dict[str, Any]


Asked = TypeVar("Asked", bound=Request)


class Shape(Struct, Generic[Asked], frozen=True):
    """The reader and the JSON Schema of one kind of request; made once for each tool."""

    reads: TypeAdapter[Asked]
    schema: Json

    @classmethod
    def of(cls, request: type[Asked]) -> "Shape[Asked]":
        """Return the shape of a request type; its schema has no references and takes descriptions from the fields."""
        reads = TypeAdapter(request)
        schema = reads.json_schema()
        return cls(reads, inlined(schema, schema.get("$defs", {}), request))


def inlined(part: Json, definitions: Json, request: type[Request] | None = None) -> Json:
    """Return a schema without references, titles, nulls, and defaults that say no more than nothing would."""
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[-1]
        return inlined(definitions[name], definitions, known_requests(Request).get(name))
    plain = {
        key: value for key, value in part.items() if key not in {"$defs", "title", "anyOf", "default", "description"}
    }
    for key in ("items", "additionalProperties"):
        if isinstance(plain.get(key), dict):
            plain[key] = inlined(plain[key], definitions)
    if plain.get("additionalProperties") is False:  # a refusal says so
        del plain["additionalProperties"]
    if part.get("default"):
        plain["default"] = part["default"]
    if "properties" in plain:
        words = field_docs(request) if request else {}
        plain["properties"] = {
            name: inlined(known, definitions) | ({"description": words[name]} if name in words else {})
            for name, known in plain["properties"].items()
        }
    choices = [choice for choice in part.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) == 1:
        plain |= inlined(choices[0], definitions)
    elif choices:
        plain["anyOf"] = [inlined(choice, definitions) for choice in choices]
    return plain


def known_requests(kind: type[Request]) -> dict[str, type[Request]]:
    """Return the request types below one by name."""
    below = kind.__subclasses__()
    return {known.__name__: known for known in below} | {
        name: known for inner in below for name, known in known_requests(inner).items()
    }


def field_docs(fields: type, base: type = Request) -> dict[str, str]:
    """Return the docstring under each field of a class, those of the classes between it and its base included."""
    docs: dict[str, str] = {}
    for kind in reversed(fields.__mro__):
        if not issubclass(kind, base):
            continue
        body = ast.parse(dedent(inspect.getsource(kind))).body[0]
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, doc in pairwise(statements):
            match field, doc:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    docs[name] = " ".join(text.split())
    return docs


# Reading of arguments. A wrong argument is an error, never ignored or coerced. The error for an unknown argument lists
# the known ones; the error for a wrong type says what the field takes. null means an optional argument is absent, and
# 3.0 is a whole number, as in JSON Schema.


TAKES = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "an object",
    "dataclass_type": "an object",
}
EXAMPLES: dict[str, object] = {
    "scenarios": [{"scenario": "actual", "alias": "Actuals"}],
    "dimensions": ["period"],
    "filters": {"organisation": ["EUROPE"]},
    "metrics": ["revenue"],
    "scale": 3,
    "decimals": 1,
    "period_start": "2026-01",
    "period_end": "2026-12",
    "data_refs": ["ds_\N{HORIZONTAL ELLIPSIS}"],
    "chart_spec": {"chart_type": "bar", "title": "Revenue by region"},
}
JSON_KINDS: list[tuple[type | tuple[type, ...], str]] = [
    (bool, "true or false"),
    (str, "text"),
    ((int, float), "a number"),
    (list, "a list"),
    (dict, "an object"),
]


def read_request(shape: Shape[Asked], arguments: Mapping[str, Any]) -> Asked:
    """Return arguments as a request; raises BadArguments for the first that does not fit."""
    try:
        read: Asked = shape.reads.validate_json(to_json(meant(dict(arguments), shape.schema), inf_nan_mode="strings"))
    except ValidationError as misfit:
        raise refusal(misfit.errors(), shape.schema) from misfit
    return read


def meant(sent: object, schema: Json) -> object:
    """Return arguments without nulls for optional fields, and with 3.0 as 3 where an integer is expected."""
    if isinstance(sent, dict) and "properties" in schema:
        known, required = schema["properties"], schema.get("required", ())
        optional = known.keys() - set(required)
        return {
            name: meant(part, known.get(name, {}))
            for name, part in sent.items()
            if part is not None or name not in optional
        }
    if isinstance(sent, list) and "items" in schema:
        return [meant(item, schema["items"]) for item in sent]
    if schema.get("type") == "integer" and isinstance(sent, float) and sent.is_integer():
        return int(sent)
    return sent


def refusal(errors: Sequence[ErrorDetails], schema: Json) -> BadArguments:
    """Return the error for the first argument that does not fit."""
    first = path_of(errors[0])
    error = max((other for other in errors if path_of(other)[: len(first)] == first), key=lambda at: len(path_of(at)))
    path = path_of(error)
    field = ".".join(str(part) for part in path) or "arguments"
    known = known_fields(schema, path)
    if error["type"] == "unexpected_keyword_argument":
        name = str(path[-1])
        close = closest(name, known)
        guess = f" Did you mean {quoted(close)}?" if close else ""
        return BadArguments(
            f"There is no argument {quoted([field])}.{guess}", field=field, got=name, valid=known, did_you_mean=close
        )
    top = str(path[0]) if path else ""
    example = {top: EXAMPLES[top]} if top in EXAMPLES and top in schema["properties"] else None
    if error["type"] in {"missing", "missing_argument"}:
        return BadArguments(f"The argument {quoted([field])} is missing.", field=field, example=example)
    if error["type"] == "literal_error":
        choices = choices_at(schema, path)
        close = closest(str(error["input"]), choices)
        guess = f" Did you mean {quoted(close)}?" if close else ""
        return BadArguments(
            f"The argument {quoted([field])} takes {quoted(choices)}.{guess}",
            field=field,
            got=error["input"],
            valid=choices,
            did_you_mean=close,
        )
    alike = [other for other in errors if path_of(other) == path]
    takes = " or ".join(dict.fromkeys(TAKES.get(other["type"], other["msg"]) for other in alike))
    return BadArguments(
        f"The argument {quoted([field])} takes {takes}, not {type_words(error['input'])}.",
        field=field,
        got=error["input"],
        example=example,
    )


def path_of(error: ErrorDetails) -> list[Any]:
    """Return the path to a wrong argument, without the steps that name alternative types."""
    return [part for part in error["loc"] if part not in {"str", "tuple[str, ...]", "Exclusion"}]


def known_fields(schema: Json, path: Sequence[Any]) -> list[str]:
    """Return the known arguments at the place of an unknown one."""
    for step in path[:-1]:
        schema = schema.get("items", schema) if isinstance(step, int) else schema.get("properties", {}).get(step, {})
    return list(schema.get("properties", {}))


def choices_at(schema: Json, path: Sequence[Any]) -> list[str]:
    """Return the allowed values of an argument."""
    for step in path:
        inner = schema.get("items" if isinstance(step, int) else "additionalProperties", schema)
        schema = schema.get("properties", {}).get(step, inner)
    return list(schema.get("enum", ()))


def type_words(value: object) -> str:
    """Return the kind of a JSON value in words."""
    return next((words for kind, words in JSON_KINDS if isinstance(value, kind)), "null")
