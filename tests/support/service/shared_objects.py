"""Objects that threads share: those that memos reach, and what of their classes may change after they were made.

A class may fill its members through `engine.model.caching` alone. Whatever else can change is a fault: a structure or
dataclass that is not frozen, a member of a type that changes, a method that assigns to `self` or changes a member.
"""

import ast
import inspect
import types
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cached_property
from textwrap import dedent
from threading import Lock
from typing import Any

import polars as pl
from msgspec import Struct

from engine.model.caching import GrowingTable, LazyTable, cached_method

TABLES = (LazyTable, GrowingTable)
CHANGING = {"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict", "bytearray"}
CHANGES = {
    *(
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "move_to_end",
        "pop",
        "popitem",
        "popleft",
    ),
    *("remove", "reverse", "setdefault", "sort", "update", "__setitem__"),
}
MAKING = {"__init__", "__post_init__", "__new__", "__init_subclass__"}
WHOLE = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, type(Lock()))
CACHED = getattr(cached_method(lambda _: None), "__code__", None)  # of the function that each cached method is


def is_cached_method(value: object) -> bool:
    """Tell whether a member of a class is a cached method."""
    return getattr(value, "__code__", None) is CACHED


def reached(roots: object, beyond: tuple[type, ...] = ()) -> Iterator[object]:
    """Yield each object that some objects reach, themselves included: through members, contents and closures.

    What objects of the types `beyond` reach is passed over, and so are they.
    """
    found, left = set[int](), [roots]
    kept: list[object] = []  # so that no id is given twice
    while left:
        one = left.pop()
        if id(one) in found or isinstance(one, (*WHOLE, *beyond, pl.DataFrame, pl.LazyFrame, pl.Series, pl.Expr)):
            continue
        found.add(id(one))
        kept.append(one)
        yield one
        left += parts(one)


def parts(one: Any) -> Iterator[object]:
    """Yield what an object holds."""
    if isinstance(one, dict | types.MappingProxyType):
        yield from one.keys()
        yield from one.values()
    elif isinstance(one, list | tuple | set | frozenset):
        yield from one
    if isinstance(one, types.FunctionType):
        yield from (cell.cell_contents for cell in one.__closure__ or ())
    elif isinstance(one, types.MethodType):
        yield one.__self__
    if isinstance(one, Struct):
        yield from (getattr(one, name) for name in one.__struct_fields__)
    yield from getattr(one, "__dict__", {}).values()
    for cls in type(one).__mro__:
        slots = vars(cls).get("__slots__", ())
        yield from (
            getattr(one, name) for name in slots if name not in ("__dict__", "__weakref__") and hasattr(one, name)
        )


def shared_classes(*roots: object) -> list[type]:
    """Return the classes of the product whose objects some objects reach."""
    every = {cls for one in reached(roots) for cls in type(one).__mro__}
    own = (cls for cls in every if cls.__module__.split(".")[0] in ("engine", "server"))
    return sorted(own, key=lambda cls: (cls.__module__, cls.__qualname__))


def faults(cls: type) -> Iterator[str]:
    """Yield what of a class can change after an object of it was made and seen."""
    if cls in TABLES:
        return
    if issubclass(cls, Struct) and not cls.__struct_config__.frozen:
        yield "it is not frozen"
    if is_dataclass(cls) and not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]  # each dataclass has them
        yield "it is not frozen"
    yield from (f"it is a {base.__name__}" for base in cls.__mro__[1:] if base.__name__ in CHANGING)
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        if changes(annotation):
            yield f"{name} is a {annotation}"
    for name, member in vars(cls).items():
        function: Any = getattr(member, "func", member) if isinstance(member, cached_property) else member
        if isinstance(member, cached_property) or is_cached_method(member):
            returned = inspect.unwrap(function).__annotations__.get("return", "")
            if changes(returned):
                yield f"{name} returns a {returned}"
    yield from changed_in(cls)


def changes(annotation: object) -> bool:
    """Tell whether objects of an annotation can change."""
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return name.partition("[")[0].rpartition(".")[2] in CHANGING


def changed_in(cls: type) -> Iterator[str]:
    """Yield what the methods of a class change of an object, and what it is made with that can change."""
    (node,) = ast.parse(dedent(inspect.getsource(cls))).body
    assert isinstance(node, ast.ClassDef)
    for method in (part for part in node.body if isinstance(part, ast.FunctionDef)):
        for part in ast.walk(method):
            if method.name in MAKING:
                yield from (f"it is made with {what}" for what in changing_member(part))
            else:
                yield from (f"{method.name} changes {what}" for what in changed(part))


def changing_member(node: ast.AST) -> Iterator[str]:
    """Yield the member that a statement of a constructor makes, if it can change."""
    match node:
        case ast.AnnAssign(target=target, annotation=annotation) if is_own(target):
            if changes(ast.unparse(annotation)):
                yield ast.unparse(target)
        case ast.Assign(targets=targets, value=value) if changes(type_made(value)):
            yield from (ast.unparse(target) for target in targets if is_own(target))


def type_made(node: ast.AST) -> str:
    """Return the type that an expression makes, as far as it can be read from it."""
    match node:
        case ast.Call(func=function):
            return ast.unparse(function)
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Set() | ast.SetComp():
            return "set"
    return ""


def changed(node: ast.AST) -> Iterator[str]:
    """Yield the members that a statement of a method changes."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from (ast.unparse(target) for target in targets if is_own(target))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            if is_own(target):
                yield ast.unparse(target)
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in CHANGES:
            if is_own(value) and not isinstance(value, ast.Name):
                yield ast.unparse(value)
        case ast.Call(func=function, args=[ast.Name(id="self"), *_]):
            if ast.unparse(function).rpartition(".")[2] in ("__setattr__", "setattr", "force_setattr"):
                yield ast.unparse(node)


def is_own(node: ast.AST) -> bool:
    """Tell whether an expression is a member of `self`, or a part of one."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
        if isinstance(node, ast.Name):
            return node.id == "self"
    return isinstance(node, ast.Tuple | ast.List) and any(map(is_own, node.elts))
