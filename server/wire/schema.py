"""The schemas of requests as tools advertise them, in the plainest form that clients read."""

import ast
import inspect
from dataclasses import dataclass
from itertools import pairwise
from textwrap import dedent
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from engine.requests import Request

Json = dict[str, Any]


Asked = TypeVar("Asked", bound=Request)


@dataclass(frozen=True, slots=True)
class Shape(Generic[Asked]):
    """One kind of request as JSON: what reads it and what describes it, made once for each tool."""

    reads: TypeAdapter[Asked]
    schema: Json

    @classmethod
    def of(cls, request: type[Asked]) -> "Shape[Asked]":
        """Return the shape of a kind of request: references resolved, described from its fields."""
        reads = TypeAdapter(request)
        schema = reads.json_schema()
        return cls(reads, inlined(schema, schema.get("$defs", {}), request))


def inlined(part: Json, definitions: Json, request: type[Request] | None = None) -> Json:
    """Return a schema in the plainest form: no references, titles, nulls or null defaults."""
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[-1]
        named = {known.__name__: known for known in Request.__subclasses__()}
        return inlined(definitions[name], definitions, named.get(name))
    plain = {
        key: value for key, value in part.items() if key not in {"$defs", "title", "anyOf", "default", "description"}
    }
    for key in ("items", "additionalProperties"):
        if isinstance(plain.get(key), dict):
            plain[key] = inlined(plain[key], definitions)
    choices = [choice for choice in part.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) == 1:
        plain |= inlined(choices[0], definitions)
    elif choices:
        plain["anyOf"] = [inlined(choice, definitions) for choice in choices]
    if part.get("default") not in (None, [], {}):
        plain["default"] = part["default"]
    if "properties" in plain:
        words = field_docs(request) if request else {}
        plain["properties"] = {
            name: inlined(known, definitions) | ({"description": words[name]} if name in words else {})
            for name, known in plain["properties"].items()
        }
    return plain


def field_docs(request: type[Request]) -> dict[str, str]:
    """Return the docstring under each field of a request, those it inherits included."""
    docs: dict[str, str] = {}
    for kind in reversed(request.__mro__):
        if not issubclass(kind, Request):
            continue
        body = ast.parse(dedent(inspect.getsource(kind))).body[0]
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, doc in pairwise(statements):
            match field, doc:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    docs[name] = " ".join(text.split())
    return docs
