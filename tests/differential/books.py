"""The files of an instance as the oracle reads them: rows with their days, trees, scenarios, profiles, metrics."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from tests.differential.calendars import FileCalendar, FilePeriod

UNASSIGNED, OWN, TOP = "(unassigned)", "/(own)", ""
GRAINS = {"date": "date", "day": "date", "week": "week", "month": "month", "quarter": "quarter", "year": "year"}


class LeafOfTwoWeights(Exception):
    """One leaf has two weights in one filter."""


@dataclass(frozen=True, slots=True)
class PostedRow:
    """A row of facts: its scenario, its period by the grain of its domain, its members and its amounts."""

    scenario: str
    period: FilePeriod
    members: Mapping[str, str]
    amounts: Mapping[str, Fraction]


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds, an empty mapping if there is none."""
    return (yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None) or {}


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class FileBooks:
    """An instance, read from its folder."""

    def __init__(self, folder: Path, profile: str | None) -> None:
        instance = read_yaml(folder / "instance.yaml")
        self.calendar = FileCalendar(
            instance, read_csv(folder / instance["calendar"]) if "calendar" in instance else []
        )
        self.dimensions: dict[str, Any] = read_yaml(folder / "dimensions.yaml")
        self.scenarios: dict[str, Any] = read_yaml(folder / "scenarios.yaml")
        self.domains = {path.stem: read_yaml(path) for path in sorted((folder / "domains").glob("*.yaml"))}
        self.metrics = {
            key: (name, body) for name, domain in self.domains.items() for key, body in domain["metrics"].items()
        }
        self.statements = {path.stem: read_yaml(path) for path in sorted((folder / "statements").glob("*.yaml"))}
        self.tables = {path.stem: read_csv(path) for path in sorted((folder / "data").glob("*.csv"))}
        profiles = read_yaml(folder / "profiles.yaml")
        self.grants = FileGrants(self, profiles[profile]["scenarios"] if profile else None)
        self.rows = {name: self.rows_of(name) for name in self.domains}
        self.below, self.weights = cache(self._below), cache(self._weights)
        self.top = cache(self._top)

    def grain(self, domain: str) -> str:
        """Return the grain of the days of a domain."""
        return GRAINS[self.domains[domain]["time"].get("grain", "date")]

    def rows_of(self, domain: str) -> list[PostedRow]:
        """Return the rows of a domain."""
        described = self.domains[domain]
        column, measures = described["time"]["column"], described["measures"]
        return [
            PostedRow(
                row["scenario"],
                self.calendar.by_code[row[column]],
                {key: row[name] for key, name in described["dimensions"].items()},
                {key: Fraction(row[key]) for key in measures if row[key]},
            )
            for row in self.tables[described["table"].removeprefix("live.")]
            if any(row[key] for key in measures)
        ]

    def carries(self, domain: str, grain: str) -> bool:
        """Tell whether the periods of a grain are made up of those of a domain."""
        return (
            grain
            in {
                "date": ("date", "week", "month", "cmonth", "quarter", "cquarter", "year", "cyear"),
                "week": ("week",) if self.calendar.cut_weeks else ("week", "month", "quarter", "year"),
                "month": (
                    "month",
                    "quarter",
                    "year",
                    *(() if self.calendar.table else ("cmonth", "cquarter", "cyear")),
                ),
                "quarter": ("quarter", "year"),
                "year": ("year",),
            }[self.grain(domain)]
        )

    def leaf_of(self, dimension: str) -> str:
        """Return the leaf dimension that a dimension stands on."""
        described = self.dimensions[dimension]
        return str(described.get("leaf_dimension", dimension))

    def has(self, domain: str, dimension: str) -> bool:
        """Tell whether a domain has a dimension."""
        return self.leaf_of(dimension) in self.domains[domain]["dimensions"]

    def is_tree(self, dimension: str) -> bool:
        """Tell whether a dimension is a tree."""
        return bool(self.dimensions[dimension]["kind"] == "ragged")

    # Trees.

    def edges(self, dimension: str) -> list[tuple[str, str, Fraction]]:
        """Return the edges of a tree: node, parent, weight."""
        return self.trees[dimension]

    @cached_property
    def trees(self) -> dict[str, list[tuple[str, str, Fraction]]]:
        """The edges of each tree."""
        return {
            key: [
                (row["node"], row["parent"], Fraction(row["weight"] or 1))
                for row in self.tables[described["nodes"].removeprefix("live.")]
            ]
            for key, described in self.dimensions.items()
            if "nodes" in described
        }

    @cached_property
    def leaves(self) -> dict[str, set[str]]:
        """The members of each leaf dimension that rows have, or that tables of members name."""
        found: dict[str, set[str]] = {}
        for rows in self.rows.values():
            for row in rows:
                for key, member in row.members.items():
                    found.setdefault(key, set()).update({member} - {""})
        return found

    def _below(self, dimension: str, node: str) -> dict[str, Fraction]:
        """Return the leaves of a node with the products of the weights below it; TOP has the roots."""
        known = self.leaves.get(self.leaf_of(dimension), set())
        found = {node: Fraction(1)} if node in known else {}
        for child, parent, weight in self.edges(dimension):
            if parent == node and weight:
                for leaf, below in self.below(dimension, child).items():
                    if found.setdefault(leaf, below * weight) != below * weight:
                        raise LeafOfTwoWeights(leaf)
        return found

    def _weights(self, dimension: str, member: str) -> dict[str, Fraction]:
        """Return what each leaf counts for in a member or node; the leaf without a member is the empty id."""
        if not self.is_tree(dimension):
            return {"" if member == UNASSIGNED else member: Fraction(1)}
        if member == UNASSIGNED:
            nodes = {node for node, _, _ in self.edges(dimension)}
            outside = self.leaves.get(self.leaf_of(dimension), set()) - nodes
            return dict.fromkeys({*outside, ""}, Fraction(1))
        if member.endswith(OWN):
            return {member.removesuffix(OWN): Fraction(1)}
        return self.below(dimension, member)

    def together(self, dimension: str, members: Sequence[str]) -> dict[str, Fraction]:
        """Return the leaves of several members, each once."""
        found: dict[str, Fraction] = {}
        for member in members:
            for leaf, weight in self.weights(dimension, member).items():
                if found.setdefault(leaf, weight) != weight:
                    raise LeafOfTwoWeights(leaf)
        return found

    def _top(self, dimension: str) -> dict[str, Fraction] | None:
        """Return what each leaf counts for in the total of a breakdown; None: as it is."""
        if not self.is_tree(dimension):
            return None
        return {**self.below(dimension, TOP), **self.weights(dimension, UNASSIGNED)}

    def shown(self, dimension: str, filtered: Sequence[str]) -> list[str]:
        """Return the members that a breakdown may show."""
        if not self.is_tree(dimension):
            return [*sorted(self.leaves.get(dimension, set())), UNASSIGNED]
        if filtered:
            nodes = [node for node in dict.fromkeys(filtered) if self.grants.is_seen(dimension, node)]
            return self.one_below(dimension, nodes[0]) if len(nodes) == 1 else nodes
        roots = [
            node for node, parent, _ in self.edges(dimension) if parent == TOP and self.grants.is_seen(dimension, node)
        ]
        return [*(self.one_below(dimension, roots[0]) if len(roots) == 1 else roots), UNASSIGNED]

    def one_below(self, dimension: str, node: str) -> list[str]:
        """Return the children of a node and its own postings; a node without children is shown itself."""
        children = [child for child, parent, _ in self.edges(dimension) if parent == node]
        return [node + OWN, *children] if children else [node]

    def closed_through(self, scenario: str, domain: str) -> date | None:
        """Return the last closed day of a scenario in a domain."""
        closed = self.scenarios[scenario].get("closed_through")
        code = closed.get(domain, closed.get("*")) if isinstance(closed, Mapping) else closed
        return self.calendar.by_code[str(code)].last if code else None


class FileGrants:
    """What a profile shows of the rows and members of an instance."""

    def __init__(self, books: FileBooks, grants: Mapping[str, Any] | None) -> None:
        self.books, self.grants, self.seen = books, grants, cache(self._seen)

    def is_seen(self, dimension: str, node: str) -> bool:
        """Tell whether the caller sees a node: a member below it, or every node because no member is hidden."""
        below = {node}
        for child, parent, _ in self.books.edges(dimension):  # parents stand before their children
            below |= {child} if parent in below else set()
        return self.sees_every(dimension) or bool(self.seen_leaves.get(self.books.leaf_of(dimension), set()) & below)

    def sees_every(self, dimension: str) -> bool:
        """Tell whether a grant shows members of a tree without rows, and no member of the tree is hidden by all."""
        if self.grants is None:
            return True
        leaf, nodes = self.books.leaf_of(dimension), {node for node, _, _ in self.books.edges(dimension)}
        known, shown, is_open = self.books.leaves.get(leaf, set()), {*self.seen_leaves.get(leaf, set())}, False
        for grant, domain in product(self.grants.values(), self.books.domains):
            cuts = {key: cut for key, cut in grant["dimensions"].items() if self.books.has(domain, key)}
            is_shown = len(cuts) == len(grant["dimensions"]) or domain in grant.get("open_domains", ())
            cut = cuts.pop(leaf, {})
            if is_shown and self.books.has(domain, leaf) and not cuts and self.knows(leaf, cut):
                is_open |= "allow" not in cut
                shown |= {member for member in known if member in cut.get("allow", [member])} - {*cut.get("deny", ())}
        return is_open and known & nodes <= shown

    def sees(self, domain: str, scenario: str, row: PostedRow) -> bool:
        """Tell whether a row lies within the grant of a scenario."""
        return self.seen(domain, scenario, tuple(row.members.items()))

    def _seen(self, domain: str, scenario: str, of_row: tuple[tuple[str, str], ...]) -> bool:
        """Tell whether members lie within the grant of a scenario."""
        members = dict(of_row)
        if self.grants is None:
            return True
        grant = self.grants.get(scenario, self.grants.get("*"))
        if grant is None:
            return False
        for key, cut in grant.get("dimensions", {}).items():
            if not self.books.has(domain, key):
                if domain not in grant.get("open_domains", ()):
                    return False
                continue
            if not self.knows(key, cut):
                return False
            leaf = members[self.books.leaf_of(key)]
            if "allow" in cut and leaf not in self.books.together(key, cut["allow"]):
                return False
            if "deny" in cut and leaf in self.books.together(key, cut["deny"]):
                return False
        return True

    def knows(self, key: str, cut: Mapping[str, Sequence[str]]) -> bool:
        """Tell whether the books have every member that a cut of a grant denies: if not, it hides all."""
        return self.books.leaves.get(key, set()).issuperset(cut.get("deny", ()))

    @cached_property
    def seen_leaves(self) -> dict[str, set[str]]:
        """The members of each leaf dimension that a row has which any scenario shows."""
        found: dict[str, set[str]] = {}
        for domain, rows in self.books.rows.items():
            for row in rows:
                if self.sees(domain, row.scenario, row):
                    for key, member in row.members.items():
                        found.setdefault(key, set()).update({member} - {""})
        return found
