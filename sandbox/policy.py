"""The script language: Python without classes, generators and names that start with an underscore.

RestrictedPython turns attribute access, item access and calls with gathered arguments into calls to sandbox.guards.
This is the dialect and the first barrier; sandbox.jail is the security boundary.
"""

import ast
from collections.abc import Mapping
from types import CodeType

from RestrictedPython.compile import compile_restricted_exec
from RestrictedPython.transformer import IOPERATOR_TO_STR, RestrictingNodeTransformer, copy_locations

from sandbox.guards import UnsupportedFeature

MOST_NODES = 6_000
FILE = "<transform>"
WITHOUT: Mapping[type[ast.AST], str] = {
    ast.ClassDef: "there are no classes: use functions, dicts and tuples",
    ast.With: "there is no with: a script opens nothing",
    ast.Yield: "there are no generators by yield: build a list",
    ast.YieldFrom: "there are no generators by yield: build a list",
    ast.Global: "there is no global: return the value, or keep it in a dict",
    ast.Nonlocal: "there is no nonlocal: return the value, or keep it in a dict",
    ast.Match: "there is no match: use if and elif",
    ast.TryStar: "there is no except*: use except",
    ast.AsyncFunctionDef: "there is no async: a script waits for nothing",
}


class Dialect(RestrictingNodeTransformer):
    """RestrictedPython's rules, with common script features added and unneeded ones removed."""

    def error(self, node: ast.AST, info: str) -> None:
        """Record an error with its line."""
        self.errors.append(f"line {getattr(node, 'lineno', 1)}: {info}")

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse a statement, and say what to use instead."""
        self.error(node, WITHOUT.get(type(node), f"{type(node).__name__} is not part of the script language"))

    visit_ClassDef = not_allowed  # noqa: N815 - the names that the visitor looks for
    visit_With = not_allowed  # noqa: N815 - as above
    visit_Yield = not_allowed  # noqa: N815 - as above
    visit_YieldFrom = not_allowed  # noqa: N815 - as above
    visit_Global = not_allowed  # noqa: N815 - as above
    visit_TemplateStr = not_allowed  # noqa: N815 - as above
    visit_Interpolation = not_allowed  # noqa: N815 - as above

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802 - as above
        """Drop annotations, and refuse decorators."""
        if node.decorator_list:
            self.error(node, "there are no decorators: call the function where its value is needed")
        node.returns = None
        return super().visit_FunctionDef(node)  # type: ignore[return-value]  # it returns the node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Drop the annotation."""
        node.annotation = None
        return super().visit_arg(node)  # type: ignore[return-value]  # it returns the node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Refuse private parameters of libraries."""
        if node.arg is not None and (node.arg.startswith("_") or node.arg == "post_opt_callback"):
            self.error(node, f"{node.arg} cannot be passed as a keyword")
        return super().visit_keyword(node)  # type: ignore[return-value]  # it returns the node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802 - as above
        """Refuse to set attributes."""
        if not isinstance(node.ctx, ast.Load):
            self.error(node, f"the attribute {node.attr} cannot be set: make a new frame, or keep values in a dict")
        return super().visit_Attribute(node)  # type: ignore[return-value]  # it returns a node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.AST]:  # noqa: N802 - as above
        """Compile `x: int = 1` as `x = 1`, and `x: int` as nothing."""
        plain = ast.Pass() if node.value is None else ast.Assign(targets=[node.target], value=node.value)
        copy_locations(plain, node)
        return self.visit(plain)  # type: ignore[no-any-return]  # a visitor returns anything

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:  # noqa: N802 - as above
        """Drop compiler directives."""
        return None if node.module == "__future__" else super().visit_ImportFrom(node)  # type: ignore[return-value]  # one node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:  # noqa: N802 - as above
        """Compile `d[k] += v` as get, add and set, with `d` and `k` evaluated once."""
        target = node.target
        if not isinstance(target, ast.Subscript):
            return super().visit_AugAssign(node)  # type: ignore[return-value]  # it returns a node
        if any(isinstance(part, ast.Slice) for part in ast.walk(target.slice)):
            self.error(node, "a slice cannot be changed in place: assign a new list")
            return node
        thing, key = self.gen_tmp_name(), self.gen_tmp_name()
        current = ast.Call(ast.Name("_getitem_", ast.Load()), [load_name(thing), load_name(key)], [])
        sign = ast.Constant(IOPERATOR_TO_STR[type(node.op)])
        value = ast.Call(ast.Name("_inplacevar_", ast.Load()), [sign, current, self.visit(node.value)], [])
        place = ast.Subscript(
            ast.Call(ast.Name("_write_", ast.Load()), [load_name(thing)], []), load_name(key), ast.Store()
        )
        steps: list[ast.stmt] = [
            ast.Assign([ast.Name(thing, ast.Store())], self.visit(target.value)),
            ast.Assign([ast.Name(key, ast.Store())], self.visit(target.slice)),
            ast.Assign([place], value),
        ]
        for step in steps:
            copy_locations(step, node)
        return steps


def load_name(name: str) -> ast.Name:
    """Return the node that reads a name."""
    return ast.Name(name, ast.Load())


def compile_script(code: str) -> CodeType:
    """Compile a script. Raises UnsupportedFeature, which names each line that the language does not allow."""
    try:
        tree = ast.parse(code, FILE)
    except SyntaxError as fault:
        raise UnsupportedFeature(f"line {fault.lineno or 1}: {fault.msg}: {(fault.text or '').strip()[:80]}") from fault
    except (ValueError, RecursionError, MemoryError) as fault:  # Python 3.11 raises a MemoryError without words
        cause = f" ({fault})" if str(fault) else ""
        raise UnsupportedFeature(f"the script cannot be parsed{cause}: write it in shorter expressions") from fault
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise UnsupportedFeature(
            f"the script has more than {MOST_NODES} parts: use loops and expressions instead of long literals"
        )
    try:
        result = compile_restricted_exec(tree, FILE, policy=Dialect)
    except (RecursionError, SyntaxError) as fault:
        raise UnsupportedFeature(f"the script cannot be compiled ({fault}): write it in shorter expressions") from fault
    if result.errors or result.code is None:
        raise UnsupportedFeature("; ".join(result.errors))
    return result.code
