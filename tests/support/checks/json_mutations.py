"""Mutations of trees of JSON: values of every kind in every place, parts that are lost, doubled, renamed or moved."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

Path = tuple[str | int, ...]
CASES = 8  # of an example

ODD = (
    *("", " ", "0", "-", "~", "null", "*", "a.b", "(all)", "(others)", "(unassigned)", "x" * 5000, "\x00", "\u202e"),
    *("2021-13", "9999-12", "0000-01", "last_closed", "last_closed-999", "actual@py@py", "var(actual,actual)"),
)
TEXTS = st.text(max_size=8) | st.sampled_from(ODD)
NUMBERS = st.sampled_from((0, -1, 1, 201, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308, 5e-324)) | st.integers()
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=6,
)


def paths(tree: Any, above: Path = ()) -> Iterator[Path]:
    """Yield the path of each part of a tree, the whole first."""
    yield above
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in parts:
        yield from paths(part, (*above, key))


def part_at(tree: Any, path: Path) -> Any:
    """Return the part at a path."""
    for key in path:
        tree = tree[key]
    return tree


@st.composite
def mutated(draw: st.DrawFn, tree: Any) -> Any:
    """Draw a tree with one to three parts replaced, lost, doubled, renamed, moved or wrapped."""
    tree = deepcopy(tree)
    for _ in range(draw(st.integers(1, 3))):
        known = list(paths(tree))
        path = draw(st.sampled_from(known))
        if not path:
            continue
        parent, key = part_at(tree, path[:-1]), path[-1]
        match draw(st.sampled_from(("replace", "lose", "move", "wrap", "rename", "double"))):
            case "replace":
                parent[key] = draw(VALUES)
            case "lose":
                del parent[key]
            case "move":
                parent[key] = deepcopy(part_at(tree, draw(st.sampled_from(known))))
            case "wrap":
                parent[key] = draw(st.sampled_from(([parent[key]], {"a": parent[key]}, [[parent[key]] * 3])))
            case "rename" if isinstance(parent, dict):
                parent[draw(TEXTS)] = parent.pop(key)
            case _ if isinstance(parent, list):
                parent.append(deepcopy(parent[int(key)]))
            case _:
                parent[f"{key}_"] = deepcopy(parent[key])
    return tree


def arguments(schema: Mapping[str, Any], known: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Return a strategy of arguments for a schema: known values of the names, mutated, or values of every kind."""
    properties = schema.get("properties", {})
    required = set(schema.get("required", ()))
    meant = {name: st.sampled_from(known[name]) if name in known else VALUES for name in properties}
    right = st.fixed_dictionaries(
        {name: part for name, part in meant.items() if name in required},
        optional={name: part for name, part in meant.items() if name not in required},
    )
    return right.flatmap(mutated) | right | st.dictionaries(st.sampled_from(sorted(properties) or ["a"]), VALUES)
