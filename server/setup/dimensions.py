"""Dimensions: the members and the tree of a column of facts, from tables of members or from the facts themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from engine.instance.reading.domains import TAKEN
from engine.model.calendar.periods import Grain
from engine.model.catalogue import CONTRIBUTION, FIGURE_COLUMNS, INSPECTION_KEYS, PERIOD
from server.files.notation import words_of
from server.setup.column_profiles import ColumnRole
from server.setup.facts import FactsTable
from server.setup.roles import TableProfile, name_columns
from server.setup.trees import (
    LEVEL_WORDS,
    MemberTable,
    TreeTable,
    attribute_columns,
    flat_tree,
    level_columns,
    level_tree,
    match_members,
    member_table,
    parent_tree,
    prefix_tree,
)
from server.setup.words import slug, title

RESERVED: Final = frozenset(  # names that a dimension of a proposal does not take
    [*FIGURE_COLUMNS, *INSPECTION_KEYS, CONTRIBUTION, PERIOD, "comparisons", *TAKEN, *(grain.value for grain in Grain)]
)


class Guess(Struct, frozen=True, kw_only=True):
    """One thing that was guessed of a table, and from what."""

    table: str
    what: str
    evidence: str


@dataclass(kw_only=True)
class DimensionProposal:
    """A leaf dimension: its members, and the tree above them."""

    key: str
    label: str
    members: MemberTable | None = None
    tree: TreeTable | None = None

    @property
    def tree_key(self) -> str:
        """The key of the tree's dimension."""
        return f"{self.key}_tree"


class ColumnUse(Struct, frozen=True):
    """A column of facts that fills a dimension."""

    table: FactsTable
    column: str


def dimension_key(column: str) -> str:
    """Return the key of a dimension; names that reports use themselves get an ending."""
    key = slug(title(column))
    return f"{key}_code" if key in RESERVED or key.endswith("_label") or key == "account" else key


def dimension_columns(found: TableProfile) -> list[str]:
    """Return the columns of dimensions of a table of facts, the account first, without names and levels of others."""
    account = found.first(ColumnRole.ACCOUNT)
    ids = [*found.having(ColumnRole.ACCOUNT), *found.having(ColumnRole.DIMENSION), *found.having(ColumnRole.CURRENCY)]
    names = set(dict(name_columns(found, ids)).values())
    levels = set(fact_levels(found, account)) if account else set()
    return [column for column in ids if column not in names | levels]


def fact_levels(found: TableProfile, account: str) -> list[str]:
    """Return the columns of a table of facts that are levels above its accounts."""
    frame = found.table.sample.frame
    columns = [
        column
        for column in found.having(ColumnRole.DIMENSION)
        if column not in dict(name_columns(found, [account])).values()
    ]
    named = [column for column in columns if LEVEL_WORDS.search(words_of(column))]
    return level_columns(frame, account, named)


def propose_dimension(
    key: str,
    uses: Sequence[ColumnUse],
    members: Sequence[TableProfile],
    used: set[str],
    guesses: list[Guess],
) -> DimensionProposal:
    """Return the dimension of some columns of facts, with its members and its tree.

    They come from a table of members, else from the facts. Adds that table to `used`, and what was guessed to
    `guesses`.
    """
    first = uses[0]
    proposal = DimensionProposal(key=key, label=title(first.column))
    values = dict.fromkeys(value for use in uses for value in use.table.found.columns[use.column].values)
    match = match_members(first.column, list(values), members)
    source = first.table.name
    if match is not None:
        proposal.members = member_table(key, match)
        proposal.tree = tree_of_members(proposal.members, match.key)
        used.add(match.found.name)
        what = f"{first.column}: members from {match.found.name}"
        guesses.append(Guess(table=source, what=what, evidence=match.evidence))
        source = match.found.name
        if proposal.tree is None and key == ColumnRole.ACCOUNT.value:
            proposal.tree = flat_tree(proposal.label, list(match.found.columns[match.key].values), {})
    else:
        from_facts(proposal, uses)
    if proposal.tree is not None:
        what = f"{proposal.tree_key}: a tree above {key}"
        guesses.append(Guess(table=source, what=what, evidence=proposal.tree.evidence))
    return proposal


def tree_of_members(members: MemberTable, key: str) -> TreeTable | None:
    """Return the tree above the members of a table: by parents, by levels, by prefixes of their codes."""
    found = members.found
    assert found is not None  # noqa: S101 - the caller matched it
    name = members.mapped.get("name")
    label = str(name) if name else None
    tree = parent_tree(found, key, label)
    if tree is not None:
        return tree
    groups = list(attribute_columns(found, [*members.mapped.values()]))
    frame = found.table.sample.frame
    if levels := level_columns(frame, key, groups):
        return level_tree(frame, key, label, levels)
    names = dict(zip(frame[key], frame[label], strict=True)) if label else {}
    return prefix_tree(found.columns[key].values, {one: text or "" for one, text in names.items()})


def from_facts(proposal: DimensionProposal, uses: Sequence[ColumnUse]) -> None:
    """Give a dimension the members and the tree that the columns of its facts show."""
    column, found = uses[0].column, uses[0].table.found
    name = dict(name_columns(found, [column])).get(column)
    is_account = column == found.first(ColumnRole.ACCOUNT)
    levels = fact_levels(found, column) if is_account else []
    if not name and not is_account:
        return
    rows = found.table.distinct([*levels, column, *([name] if name else [])])
    ids = sorted({*rows[column].drop_nulls(), *ids_of(uses[1:])})
    if name:
        pairs = {one: text or "" for one, text in rows.select(column, name).drop_nulls(column).iter_rows()}
        says = f"each {column} has one {name}"
        proposal.members = MemberTable(rows=[(one, pairs.get(one, "")) for one in ids], evidence=says)
    names = dict(proposal.members.rows) if proposal.members else {}
    if levels:
        proposal.tree = level_tree(rows, column, name, levels)
    elif is_account:
        proposal.tree = prefix_tree(ids, names) or flat_tree(proposal.label, ids, names)


def ids_of(uses: Sequence[ColumnUse]) -> list[str]:
    """Return the ids in some columns of facts, in every row of them."""
    found: set[str] = set()
    for use in uses:
        found.update(use.table.found.table.distinct([use.column])[use.column].drop_nulls())
    return sorted(found)
