"""The chart of accounts: accounts, the sections that are planned and posted as one, and both trees."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PNL, BALANCE_SHEET = "pnl", "balance_sheet"
FILES = {PNL: ("pnl.toml", "overhead.toml"), BALANCE_SHEET: ("balance_sheet.toml",)}
INHERITED = ("class", "sign", "posts_on")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account: its id, name and class."""

    id: str
    name: str
    class_: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The accounts of one node, heaviest first; `sign` is how they are stored, 1 for debit."""

    node: str
    class_: str
    sign: int
    permille: float
    posts_on: str | None
    accounts: tuple[Account, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartNode:
    """One node of a tree above accounts, and how it counts into the one above it."""

    node: str
    under: str | None
    name: str
    weight: int
    section: Section | None


def read_chart() -> Mapping[str, tuple[ChartNode, ...]]:
    """Return the nodes of both trees, from the top down."""
    return {tree: tuple(read_nodes(files)) for tree, files in FILES.items()}


def read_nodes(files: Sequence[str]) -> Iterator[ChartNode]:
    """Yield the nodes that some files write."""
    full: dict[str, Mapping[str, Any]] = {}
    for file in files:
        for key, part in tomllib.loads((FOLDER / file).read_text(encoding="utf-8")).items():
            above = full.get(part.get("under"), {})
            full[key] = {**{name: above[name] for name in INHERITED if name in above}, **part}
            yield node_of(key, full[key])


def node_of(key: str, part: Mapping[str, Any]) -> ChartNode:
    """Return one node as a file writes it."""
    return ChartNode(
        node=key,
        under=part.get("under"),
        name=part["name"],
        weight=part.get("weight", 1),
        section=section_of(key, part) if "accounts" in part else None,
    )


def section_of(key: str, part: Mapping[str, Any]) -> Section:
    """Return the accounts of a node, numbered in tens."""
    return Section(
        node=key,
        class_=part["class"],
        sign=part.get("sign", 1),
        permille=part.get("permille", 0),
        posts_on=part.get("posts_on"),
        accounts=tuple(
            Account(id=f"{part['first'] + 10 * place:04}", name=name, class_=part["class"])
            for place, name in enumerate(part["accounts"])
        ),
    )


def sections(nodes: Sequence[ChartNode]) -> Iterator[Section]:
    """Yield the sections of a tree."""
    return (node.section for node in nodes if node.section)
