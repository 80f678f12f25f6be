"""Spellings: ids of a table that differ in outer spaces, in case or in how accents are encoded alone."""

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.files.findings import Finding, Findings
from server.files.sampling import SourceTable
from server.setup.column_profiles import ColumnRole
from server.setup.journals import quoted
from server.setup.questions import Choice, OpenQuestion
from server.setup.roles import TableProfile

MAX_SPELLINGS: Final = 100  # that one statement makes one
MERGE: Final = "merge"


class SpeltTable(Struct, frozen=True):
    """A table whose ids are spelt in one way each, and the questions about those that may be one or two."""

    table: SourceTable
    doubts: tuple[OpenQuestion, ...] = ()


def with_one_spelling(found: TableProfile, said: str | None) -> SpeltTable:
    """Return a table with each id in its most frequent spelling; spaces and case are asked about, unless it is said.

    Accents that are one letter or two are always one.
    """
    table = found.table
    columns = [*found.having(ColumnRole.ACCOUNT), *found.having(ColumnRole.DIMENSION)]
    can_merge = table.path is not None and not table.is_joined and table.heading is None
    made: dict[str, dict[str, str]] = {}
    asked: dict[str, dict[str, str]] = {}
    for column in columns if can_merge else ():
        usual = dict(other_spellings(table, column))
        same = {one: other for one, other in usual.items() if plain(one) == plain(other)}
        rest = {one: other for one, other in usual.items() if one not in same}
        made[column] = usual if said == MERGE else same
        asked |= {column: rest} if rest and said is None else {}
    made = {column: texts for column, texts in made.items() if texts}
    doubts = tuple(question(table, column, texts) for column, texts in asked.items())
    if not made or sum(map(len, made.values())) > MAX_SPELLINGS:
        return SpeltTable(table, doubts)
    return SpeltTable(merged(table, made), doubts)


def plain(text: str) -> str:
    """Return a text with each accent in its letter."""
    return unicodedata.normalize("NFC", text)


def other_spellings(table: SourceTable, column: str) -> Iterator[tuple[str, str]]:
    """Yield each text of a column that is spelt otherwise more often, with that spelling."""
    counted = table.sample.frame[column].drop_nulls().value_counts().sort("count", column, descending=[True, False])
    groups: dict[str, list[str]] = {}
    for text in counted[column]:
        groups.setdefault(plain(text).strip().casefold(), []).append(text)
    for first, *others in (group for group in groups.values() if len(group) > 1):
        usual = first.strip() or first
        yield from ((text, usual) for text in (first, *others) if text != usual)


def question(table: SourceTable, column: str, texts: Mapping[str, str]) -> OpenQuestion:
    """Return what to ask about ids that may be one."""
    one, other = next(iter(texts.items()))
    rows = int(table.sample.frame[column].is_in(list(texts)).sum())
    says = f"{column} has '{one}' and '{other}', which differ in spaces or case alone: are they one?"
    count = f"{rows:,} row{'s' if rows > 1 else ''}"
    choices = (
        Choice({"ids": MERGE}, f"one: {count} of {len(texts)} spellings count as the usual one"),
        Choice({"ids": "keep"}, "each is of its own"),
    )
    return OpenQuestion(table.name, says, choices)


def merged(table: SourceTable, made: Mapping[str, Mapping[str, str]]) -> SourceTable:
    """Return a table whose texts are replaced, with the statement that does it in a load."""
    columns = ", ".join(in_sql(column, made.get(column, {})) for column in table.columns)
    before = table.findings.value("sql")
    source = f"({before}) as spelt" if before else "file"
    pairs = [(column, *pair) for column, texts in made.items() for pair in texts.items()]
    shown = "; ".join(f"{column}: '{one}' is '{other}'" for column, one, other in pairs)
    sql = Finding("sql", f"select {columns} from {source}", shown)  # noqa: S608 - columns and texts of this file, quoted
    frame = table.sample.frame.with_columns(pl.col(column).replace(dict(texts)) for column, texts in made.items())
    rest = tuple(one for one in table.findings.decided if one.key != "sql")
    findings = Findings((*rest, sql), table.findings.ambiguities)
    return replace(table, sample=replace(table.sample, frame=frame), findings=findings)


def in_sql(column: str, texts: Mapping[str, str]) -> str:
    """Return a column of the file in the statement."""
    name = quoted(column)
    cases = " ".join(f"when {name} = {literal(one)} then {literal(other)}" for one, other in texts.items())
    return f"case {cases} else {name} end as {name}" if texts else name


def literal(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
