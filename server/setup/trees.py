"""Trees: the hierarchy of a dimension, from parent columns, level columns or code prefixes, and its members."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import polars as pl
from msgspec import Struct

from server.files.notation import words_of
from server.files.number_looks import NUMBERED
from server.setup.column_profiles import ColumnRole
from server.setup.roles import TableProfile, name_columns
from server.setup.words import named, slug, stem, title

PARENT_WORDS = re.compile(
    r"parent|superior|vater|eltern|übergeordnet|uebergeordnet|oberkonto|rollup|padre|reports.?to", re.IGNORECASE
)
LEVEL_WORDS = named(
    "level|lvl|class|classification|category|type|group|heading|section|area|statement|kategorie|gruppe|klasse|ebene|"
    "bereich|typ|kontenklasse|kontengruppe|catégorie|classe|groupe|rubrique|niveau|nivel|clase|grupo|categoria|division|"
    "account class|account group|account type|fs line|caption"
)
WEIGHT_WORDS = re.compile(r"operator|weight|sign|vorzeichen|gewicht|factor", re.IGNORECASE)
WEIGHTS: Final[Mapping[str, str]] = {"+": "1", "-": "-1", "~": "0", "1": "1", "-1": "-1", "0": "0"}
FLAT_MEMBERS: Final = 200  # members up to which they are lines of a first statement one by one
MOST_ATTRIBUTES: Final = 4  # groupings of members that become dimensions


class TreeTable(Struct, frozen=True, kw_only=True):
    """The node table of a tree: columns of a file that fill it, or rows that are written for it."""

    mapped: Mapping[str, object] = {}  # column of the node table to that of the member file
    rows: Sequence[tuple[str, str, str]] = ()  # node, parent, name
    roots: Sequence[tuple[str, str]]  # node and name
    depth: int | None  # levels below a root that a first statement shows; None for all
    evidence: str


def parent_tree(found: TableProfile, key: str, name: str | None) -> TreeTable | None:
    """Return the tree of a member table whose rows name their parents; None if none of its columns does."""
    frame = found.table.sample.frame
    ids = set(frame[key].drop_nulls())
    for column, one in found.columns.items():
        fits = column != key and PARENT_WORDS.search(column) and one.values and ids.issuperset(one.values)
        if not fits or (stem(key) not in stem(column) and stem(column).replace("parent", "").strip()):
            continue
        top = frame.filter(pl.col(column).is_null() | (pl.col(column) == ""))
        mapped: dict[str, object] = {"node": key, "parent": column}
        if name:
            mapped["name"] = name
        weight = weight_column(found)
        if weight is not None:
            values = {text: WEIGHTS[text] for text in found.columns[weight].values}
            mapped["weight"] = {"column": weight, "values": values}
        labels = top[name].to_list() if name else top[key].to_list()
        roots = [(node, label or node) for node, label in zip(top[key], labels, strict=True)]
        says = f"every {column} is in {key}" + (f", weights from {weight}" if weight else "")
        return TreeTable(mapped=mapped, roots=roots, depth=2, evidence=says)
    return None


def weight_column(found: TableProfile) -> str | None:
    """Return the column of a member table that says how a row counts in its parent; None if it has none."""
    fits = (
        column
        for column, one in found.columns.items()
        if WEIGHT_WORDS.search(words_of(column)) and one.filled == one.rows and set(one.values) <= set(WEIGHTS)
    )
    return next(fits, None)


def level_columns(frame: pl.DataFrame, key: str, columns: Sequence[str]) -> list[str]:
    """Return the columns that are levels above an id, the highest first: each text is below one of the next."""
    counts = {column: frame[column].drop_nulls().n_unique() for column in columns}
    usable = [
        column for column in columns if 1 < counts[column] < frame[key].n_unique() and determines(frame, key, column)
    ]
    usable.sort(key=lambda column: (counts[column], columns.index(column)))
    best: list[str] = []
    for start in range(len(usable)):
        chain = [usable[start]]
        for column in usable[start + 1 :]:
            if counts[column] >= counts[chain[-1]] and determines(frame, column, chain[-1]) and column != chain[-1]:
                chain.append(column)
        if len(chain) > len(best):
            best = chain
    if len(best) > 1 or any(LEVEL_WORDS.search(words_of(column)) for column in best):
        return best
    hinted = [column for column in usable if LEVEL_WORDS.search(words_of(column))]
    return hinted[:1]


def determines(frame: pl.DataFrame, finer: str, coarser: str) -> bool:
    """Tell whether each text of a column goes with one text of another."""
    pairs = frame.select(finer, coarser).drop_nulls().unique()
    return pairs[finer].n_unique() == pairs.height


def level_tree(frame: pl.DataFrame, key: str, name: str | None, levels: Sequence[str]) -> TreeTable:
    """Return the tree of ids whose rows have a column for each level above them."""
    ids = set(frame[key].drop_nulls())
    nodes: dict[str, tuple[str, str, str]] = {}
    columns = [*levels, key, *([name] if name else [])]
    for row in frame.select(columns).unique(maintain_order=True).iter_rows(named=True):
        path: list[str] = []
        for level in levels:
            text = (row[level] or "").strip()
            if not text or (path and text == path[-1]):
                continue
            above, path = node_of(path, ids), [*path, text]
            nodes.setdefault(node_of(path, ids), (node_of(path, ids), above, text))
        if row[key]:
            nodes.setdefault(row[key], (row[key], node_of(path, ids), (row[name] if name else None) or ""))
    roots = [(node, label or node) for node, above, label in nodes.values() if not above]
    depth = None if len(nodes) <= FLAT_MEMBERS else len(levels) - 1 or 1
    says = f"each {key} has one {levels[-1]}" + "".join(f", each {low} one {high}" for high, low in pairwise(levels))
    return TreeTable(rows=tuple(nodes.values()), roots=roots, depth=depth, evidence=says)


def node_of(path: Sequence[str], ids: set[str]) -> str:
    """Return the id of a level's node: the texts of the levels down to it; unlike every id of a member."""
    node = "/".join(path)
    return f"{node}/" if node in ids else node


def prefix_tree(ids: Sequence[str], names: Mapping[str, str]) -> TreeTable | None:
    """Return the tree of ids that are longer, the deeper they are, or of the first digits of numbers of one length."""
    known = dict.fromkeys(ids)
    parents = {key: next((key[:end] for end in range(len(key) - 1, 0, -1) if key[:end] in known), "") for key in known}
    if sum(map(bool, parents.values())) > len(known) // 2:
        rows = [(key, parent, names.get(key, "")) for key, parent in parents.items()]
        roots = [(key, names.get(key) or key) for key, parent in parents.items() if not parent]
        nested = next(key for key, parent in parents.items() if parent)
        return TreeTable(rows=rows, roots=roots, depth=2, evidence=f"'{nested}' begins with '{parents[nested]}'")
    width = {len(key) for key in known}
    if len(width) != 1 or not all(NUMBERED.fullmatch(key) for key in known):
        return None
    return masked_tree(sorted(known), width.pop(), names)


def masked_tree(ids: Sequence[str], width: int, names: Mapping[str, str]) -> TreeTable | None:
    """Return the tree of numbers by their first digits, as few as make two groups; None if each is its own group."""
    for digits in range(1, width):
        groups = {key[:digits]: key[:digits] + "x" * (width - digits) for key in ids}
        if len(groups) < 2:
            continue
        if len(groups) > len(ids) // 2:
            return None
        roots = [(mask, f"Accounts {mask}") for mask in groups.values()]
        rows = [(mask, "", label) for mask, label in roots]
        rows += [(key, groups[key[:digits]], names.get(key, "")) for key in ids]
        says = f"{len(ids)} ids of {width} digits begin with {', '.join(groups)}"
        return TreeTable(rows=rows, roots=roots, depth=None if len(ids) <= FLAT_MEMBERS else 0, evidence=says)
    return None


def flat_tree(label: str, ids: Sequence[str], names: Mapping[str, str]) -> TreeTable | None:
    """Return a tree with every member below one node; None if there are too many for a first statement."""
    if not 0 < len(ids) <= FLAT_MEMBERS:
        return None
    top = "ALL" if "ALL" not in ids else "ALL/"
    rows = [(top, "", f"{label} (all)"), *((key, top, names.get(key, "")) for key in ids)]
    return TreeTable(rows=rows, roots=[(top, f"{label} (all)")], depth=None, evidence=f"{len(ids)} members, no levels")


class MemberTable(Struct, frozen=True, kw_only=True):
    """The table of a dimension's members: the file and its columns, or rows that are written for it."""

    found: TableProfile | None = None
    mapped: Mapping[str, object] = {}  # id, code, name and attributes to columns
    rows: Sequence[tuple[str, str]] = ()  # id, name
    attributes: Mapping[str, str] = {}  # key to the column of the file
    evidence: str = ""


class MemberMatch(Struct, frozen=True):
    """A table whose key holds the ids of a column of facts."""

    found: TableProfile
    key: str
    evidence: str


def match_members(column: str, values: Sequence[str], tables: Sequence[TableProfile]) -> MemberMatch | None:
    """Return the table whose key holds the ids of a column of facts; None if there is none.

    The names must be about the same thing, or the ids must be so long that they cannot fit by chance.
    """
    best: tuple[float, MemberMatch] | None = None
    for found in tables:
        for key in found.keys:
            known = set(found.columns[key].values)
            share = sum(value in known for value in values) / len(values)
            same = related(column, key) or related(column, found.name)
            telling = max(map(len, values)) >= 3
            if share < 0.9 or not (same or (telling and share == 1)):
                continue
            score = share + bool(related(column, key)) + 0.5 * bool(related(column, found.name))
            if best is None or score > best[0]:
                says = f"{share:.0%} of the ids in {column} are in {key} of {found.name}"
                best = score, MemberMatch(found, key, says)
    return best[1] if best else None


def related(one: str, other: str) -> bool:
    """Tell whether two names are about the same thing."""
    first, second = set(stem(one).split()), set(stem(other).split())
    return bool(first) and (first <= second or second <= first)


def member_table(dimension: str, match: MemberMatch) -> MemberTable:
    """Return how a table fills the members of a dimension: their ids, names and attributes."""
    found, key = match.found, match.key
    name = dict(name_columns(found, [key])).get(key) or likely_name(found, key)
    mapped: dict[str, object] = {"id": key, "name": name} if name else {"id": key}
    groups = [column for column in attribute_columns(found, list(mapped.values())) if column != key]
    attributes = {
        f"{dimension}_{slug(words_of(column).removeprefix(title(key)))}": column for column in groups[:MOST_ATTRIBUTES]
    }
    return MemberTable(found=found, mapped=mapped, attributes=attributes, evidence=match.evidence)


def likely_name(found: TableProfile, key: str) -> str | None:
    """Return the first column of texts that is no key and no parent, and differs in most rows."""
    for column, one in found.columns.items():
        is_text = one.is_wordy and not PARENT_WORDS.search(column)
        if column != key and is_text and len(one.values) > 0.8 * one.rows:
            return column
    return None


def attribute_columns(found: TableProfile, used: Sequence[object]) -> Iterator[str]:
    """Yield the columns of a member table that group its members."""
    for column, one in found.columns.items():
        role = found.roles[column][0]
        groups = 1 < len(one.values) < one.rows and one.number is None and one.day is None
        if (
            column not in used
            and role in {ColumnRole.DIMENSION, ColumnRole.NAME, ColumnRole.CURRENCY, ColumnRole.ACCOUNT}
            and groups
            and not PARENT_WORDS.search(column)
        ):
            yield column
