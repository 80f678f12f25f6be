"""Arguments: the schemas that tools advertise, and the reading of arguments into requests."""

import ast
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any, Generic, TypeGuard, TypeVar

from msgspec import Struct
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_json

from engine.model.errors import MOST_CHARACTERS, BadArguments, closest, echo, guess, quoted
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
        fields = field_docs(request) if request else {}
        words = {name.rstrip("_"): text for name, text in fields.items()}  # a keyword of Python has a line behind it
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
        if base in kind.__mro__:
            docs |= own_docs(kind)
    return docs


@cache
def own_docs(fields: type) -> Mapping[str, str]:
    """Return the docstring under each field that a class itself declares."""
    body = ast.parse(dedent(inspect.getsource(fields))).body[0]
    statements = body.body if isinstance(body, ast.ClassDef) else []
    docs: dict[str, str] = {}
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
Examples = Mapping[str, object]  # values of arguments that these books and their caller have
JSON_TYPES = {"string": str, "array": list, "object": dict, "integer": int, "number": float, "boolean": bool}
LIST_MARK = re.compile(r",\s*(?![^(]*\))")  # between names, but not inside var(a,b)
LEAVES_OUT = re.compile(r"(is_?)?not|n(e|eq|in)$|ex|without", re.IGNORECASE)  # begins operators of other services
OF_EXCLUSION = ("exclude", "include")
UNKNOWN = "unexpected_keyword_argument"
MISSING = ("missing", "missing_argument")
JSON_KINDS: list[tuple[type | tuple[type, ...], str]] = [
    (bool, "true or false"),
    (str, "text"),
    ((int, float), "a number"),
    (list, "a list"),
    (dict, "an object"),
]


def no_examples() -> Sequence[Examples]:
    """Return no examples."""
    return ()


def read_request(
    shape: Shape[Asked],
    arguments: Mapping[str, Any],
    examples: Callable[[], Sequence[Examples]] = no_examples,
) -> Asked:
    """Return arguments as a request; raises BadArguments for the first that does not fit.

    `examples` returns values that a refusal can offer by argument, the best first; only a refusal asks for them. What
    was sent is offered in another form before them.
    """
    sent = meant_fields(arguments, shape.schema)
    try:
        return validated(shape, sent)
    except ValidationError as misfit:
        raise refusal(misfit.errors(), shape, sent, examples()) from misfit


def validated(shape: Shape[Asked], sent: Json) -> Asked:
    """Return arguments as a request; raises ValidationError for all that do not fit."""
    read: Asked = shape.reads.validate_json(to_json(sent, inf_nan_mode="strings"))
    return read


def meant_fields(sent: Mapping[str, Any], schema: Json) -> Json:
    """Return the fields of an object without nulls for optional ones."""
    known, required = schema["properties"], schema.get("required", ())
    optional = known.keys() - set(required)
    return {
        name: meant(part, known.get(name, {}))
        for name, part in sent.items()
        if part is not None or name not in optional
    }


def meant(sent: object, schema: Json) -> object:
    """Return a value without nulls for optional fields, with 3.0 as 3 where an integer is expected, and read from JSON.

    Some hosts send lists and objects as texts of JSON. Where a text may be meant too, it stays a text.
    """
    sent = read_text(sent, schema) if isinstance(sent, str) else sent
    if isinstance(sent, dict) and "properties" in schema:
        return meant_fields(sent, schema)
    if isinstance(sent, list) and "items" in schema:
        return [meant(item, schema["items"]) for item in sent]
    if schema.get("type") == "integer" and isinstance(sent, float) and sent.is_integer():
        return int(sent)
    return sent


def read_text(sent: str, schema: Json) -> object:
    """Return the list or object that a text of JSON holds where a schema takes nothing else; else the text."""
    kind = JSON_TYPES[schema["type"]] if schema.get("type") in ("array", "object") else None
    if kind is None or sent.strip()[:1] not in ("[", "{"):
        return sent
    with suppress(ValueError, RecursionError):
        value = json.loads(sent)
        return value if isinstance(value, kind) else sent
    return sent


def refusal(
    errors: Sequence[ErrorDetails], shape: Shape[Any], sent: Json, examples: Sequence[Examples]
) -> BadArguments:
    """Return the error for the first argument that does not fit; an unknown one goes before one that is missing."""
    first = path_of(errors[0])
    level = [(other["type"], path) for other in errors if (path := path_of(other))[:-1] == first[:-1]]
    missing = [path for kind, path in level if kind in MISSING]
    if first in missing:
        first = next((path for kind, path in level if kind == UNKNOWN), first)
    error = max((other for other in errors if path_of(other)[: len(first)] == first), key=lambda at: len(path_of(at)))
    path = path_of(error)
    if "Exclusion" in error["loc"] and error["type"] in (*MISSING, UNKNOWN):
        return wrong_selection(str(error["loc"][1]), shape, sent)
    if error["type"] == UNKNOWN:
        return unknown_argument(path, missing, shape, sent, examples)
    field = ".".join(str(part) for part in path) or "arguments"
    if error["type"] in MISSING:
        valid = schema_at(shape.schema, path).get("enum", ())
        example = examples_of(missing or [path], shape, sent, examples)
        return BadArguments(lacking(missing or [path]), field=field, valid=valid, example=example)
    if error["type"] == "literal_error":
        choices = schema_at(shape.schema, path).get("enum", ())
        close = closest(str(error["input"]), choices)
        return BadArguments(
            f"The argument {quoted([field])} takes {quoted(choices)}.{guess(close)}",
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
        example=examples_of([path], shape, sent, examples),
    )


def unknown_argument(
    path: Sequence[Any],
    missing: Sequence[Sequence[Any]],
    shape: Shape[Any],
    sent: Json,
    examples: Sequence[Examples],
) -> BadArguments:
    """Return the error for an unknown argument and what is missing beside it, which may be what was meant."""
    name, known = str(path[-1]), list(schema_at(shape.schema, path[:-1]).get("properties", {}))
    close = closest(name, known)
    meant_for = next((key for key in close if [*path[:-1], key] in missing), None)
    others = [other for other in missing if other[-1] != meant_for]
    if len(path) == 1 and (meant := meant_for or next((key for key in close[:1] if key not in sent), None)):
        sent = {**sent, meant: sent[name]}
        missing = missing if meant_for else [*missing, [meant]]
    field = ".".join(map(str, path)) or "arguments"
    return BadArguments(
        f"There is no argument {quoted([field])}.{guess(close)} {lacking(others)}".rstrip(),
        field=field,
        got=name,
        valid=known,
        did_you_mean=close,
        example=examples_of(missing, shape, sent, examples),
    )


def lacking(missing: Sequence[Sequence[Any]]) -> str:
    """Return a sentence that names missing arguments, nothing if there are none."""
    names = [quoted([".".join(map(str, path))]) for path in missing]
    if len(names) < 2:
        return "".join(f"The argument {name} is missing." for name in names)
    return f"The arguments {', '.join(names[:-1])} and {names[-1]} are missing."


def wrong_selection(key: str, shape: Shape[Any], sent: Json) -> BadArguments:
    """Return the error for a filter that is an object of other keys than an exclusion.

    The example means the same in the form that filters take, with the other filters of the call.
    """
    field, asked = f"filters.{key}", sent["filters"][key]
    unknown = [name for name in asked if name not in OF_EXCLUSION]
    mended = dict.fromkeys([key], selection(*next(iter(asked.items())))) if len(asked) == 1 else {}
    said = f"takes no {quoted(unknown)}" if unknown else "has no 'exclude'"
    if key in OF_EXCLUSION:
        said = "is no dimension; the dimension goes first"
        mended = {dimension: selection(key, ids) for dimension, ids in asked.items()}
    others = {other: ids for other, ids in sent["filters"].items() if other != key}
    example = {"filters": {**others, **mended}}
    return BadArguments(
        f'{echo(field)} {said}. A plain list of members keeps them; {{"exclude": [members]}} leaves them out.',
        field=field,
        got=asked,
        example=example if mended and mends(example, shape, sent) else None,
    )


def selection(name: str, ids: object) -> object:
    """Return what the operator of another service means as a filter takes it: a list to keep, or an exclusion."""
    members = [ids] if isinstance(ids, str) else ids
    return {"exclude": members} if LEAVES_OUT.match(name) else members


# Examples in errors: each mends its argument in the call that was refused.


def examples_of(
    paths: Sequence[Sequence[Any]], shape: Shape[Any], sent: Json, examples: Sequence[Examples]
) -> Json | None:
    """Return arguments that mend those of some paths, None if there are none to give; a whole call for one of none."""
    if not sent and examples and examples[0]:
        return dict(examples[0])
    found: Json = {}
    for name in dict.fromkeys(str(path[0]) for path in paths if path):
        schema = shape.schema["properties"].get(name, {})
        is_own = all(sent.get(key) == value for key, value in examples[0].items() if key != name) if examples else True
        ordered = examples if is_own or name not in sent else reversed(examples)  # beside others, the plainest fits
        known = [values[name] for values in ordered if name in values]
        given = [completed(fitted(sent[name], schema), known)] if name in sent else []
        fits = next((value for value in (*given, *known) if mends({name: value}, shape, sent)), None)
        found |= {} if fits is None else {name: fits}
    return found or None


def is_texts(value: object) -> TypeGuard[list[str]]:
    """Tell whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def completed(value: object, known: Sequence[object]) -> object:
    """Return a list of texts as long as the one that a tool shows, with names of that one; other values as they are."""
    shown = next(filter(is_texts, known), [])
    if not is_texts(value):
        return value
    more = [name for name in shown if name not in value]
    return [*value, *more[: max(0, len(shown) - len(value))]]


def mends(example: Json, shape: Shape[Any], sent: Json) -> bool:
    """Tell whether the arguments of an example fit, put into a call."""
    try:
        validated(shape, {**sent, **example})
    except ValidationError as misfit:
        return not any(path_of(error)[:1] == [name] for error in misfit.errors() for name in example)
    return True


def fitted(value: object, schema: Json) -> object:
    """Return a value as a schema takes it, where only brackets or quotes are wrong; else as it is."""
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        return value
    if "anyOf" in schema:
        choices = [choice for choice in schema["anyOf"] if isinstance(value, JSON_TYPES[choice["type"]])]
        schema = (choices or schema["anyOf"])[0]
    kind = schema.get("type")
    if isinstance(value, str) and kind not in (None, "string"):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if kind == "array":
        items = LIST_MARK.split(value) if isinstance(value, str) else value
        return [fitted(item, schema["items"]) for item in (items if isinstance(items, list) else [items])]
    if kind == "object" and isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        return {name: fitted(part, known.get(name, others)) for name, part in value.items()}
    if kind == "object" and isinstance(value, str) and len(schema.get("required", ())) == 1:
        return {schema["required"][0]: value}
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return text_of(value) if kind == "string" else value


def text_of(value: object) -> object:
    """Return the text that a list of one, a column or a number stands for; other values as they are."""
    if isinstance(value, list) and len(value) == 1:
        return text_of(value[0])
    if isinstance(value, dict):
        return value.get("scenario", value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def path_of(error: ErrorDetails) -> list[Any]:
    """Return the path to a wrong argument, without the steps that name alternative types."""
    return [part for part in error["loc"] if part not in {"str", "tuple[str, ...]", "Exclusion"}]


def schema_at(schema: Json, path: Sequence[Any]) -> Json:
    """Return the schema of an argument."""
    for step in path:
        inner = schema.get("items" if isinstance(step, int) else "additionalProperties", schema)
        schema = schema.get("properties", {}).get(step, inner)
    return schema


def type_words(value: object) -> str:
    """Return the kind of a JSON value in words."""
    return next((words for kind, words in JSON_KINDS if isinstance(value, kind)), "null")
