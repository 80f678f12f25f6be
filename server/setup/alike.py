"""Files alike: tables of the same columns, told apart by the part of their names that differs, such as a company."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl
from msgspec.structs import replace

from server.files.period_names import codes_in, is_period_part
from server.files.sampling import SourceTable
from server.setup.words import scenario_kinds

FILE: Final = "file"  # the column of the parts
ENDING: Final = re.compile(r"\.\w+$|\.\w+(?= \[)")
BORDER: Final = re.compile(r"[\W_]")


def with_parts(tables: Sequence[SourceTable]) -> list[SourceTable]:
    """Return tables with a column of the part of their names, where others have the same columns."""
    parts = {table.name: part for group in alike(tables) for table, part in named_parts(group)}
    return [with_part(table, parts[table.name]) if table.name in parts else table for table in tables]


def alike(tables: Sequence[SourceTable]) -> Iterator[list[SourceTable]]:
    """Yield the tables that have the same columns, two or more."""
    groups: dict[frozenset[str], list[SourceTable]] = {}
    for table in tables:
        if table.database is None and FILE not in table.columns:
            groups.setdefault(frozenset(table.columns), []).append(table)
    yield from (group for group in groups.values() if len(group) > 1)


def named_parts(group: Sequence[SourceTable]) -> list[tuple[SourceTable, str]]:
    """Return the part of each name that differs; nothing if it says a period or a scenario, which rows have by it."""
    stems = [ENDING.sub("", table.name) for table in group]
    first = cut(common_start(stems), at_end=True)
    last = cut(common_start([stem[len(first) :][::-1] for stem in stems])[::-1], at_end=False)
    parts = [stem[len(first) : len(stem) - len(last)].strip(" _-.[]") for stem in stems]
    if not all(parts) or len(set(parts)) < len(parts):
        parts = stems
    codes = {frozenset(codes_in(stem)) for stem in stems}
    says_time = all(map(is_period_part, parts)) and len(codes) == len(stems) and all(codes)
    if says_time or all(scenario_kinds(part) for part in parts) or len(set(parts)) < len(parts):
        return []
    return list(zip(group, parts, strict=True))


def common_start(texts: Sequence[str]) -> str:
    """Return what texts begin with."""
    first, last = min(texts), max(texts)
    at = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:at]


def cut(common: str, *, at_end: bool) -> str:
    """Return what names have in common up to a whole word."""
    places = [found.start() for found in BORDER.finditer(common)]
    if not places:
        return ""
    return common[: places[-1] + 1] if at_end else common[places[0] :]


def with_part(table: SourceTable, part: str) -> SourceTable:
    """Return a table with the part of its name in a column."""
    sample = replace(table.sample, frame=table.sample.frame.with_columns(pl.lit(part, pl.String).alias(FILE)))
    return replace(table, sample=sample, constants={FILE: part})
