"""Written periods: texts such as Q1 2026 in a column, which a statement of the feed writes as a load reads them."""

from collections.abc import Mapping
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.files.findings import Finding, Findings
from server.files.period_names import PeriodKind, period_code
from server.files.sampling import SourceTable
from server.files.written_days import is_unread
from server.setup.journals import quoted
from server.setup.spellings import literal

PARTS: Final[Mapping[PeriodKind, tuple[str, tuple[str, ...]]]] = {  # what stands before the number of a part
    PeriodKind.MONTH: ("-", tuple(f"{number:02}" for number in range(1, 13))),
    PeriodKind.QUARTER: ("-Q", tuple(map(str, range(1, 5)))),
}


class PeriodLayout(Struct, frozen=True):
    """Where the year and the number of the month or quarter stand in each text of a column, counted from 0."""

    kind: PeriodKind
    year: int
    part: int
    pieces: tuple[str, str, str]  # what stands before, between and behind them


def with_plain_periods(table: SourceTable, *, has_months: bool) -> SourceTable:
    """Return a table whose quarters and months are written as 2026-Q1 and 2026-01, with the statement that does it.

    Only texts that are all laid out alike are: the next file has other periods. `has_months` says that the number of a
    month is that of the calendar.
    """
    if table.path is None or table.is_joined or table.sheet is not None or table.findings.value("sql"):
        return table
    layouts = {name: layout for name in table.columns if (layout := layout_of(table, name)) is not None}
    if not has_months:
        layouts = {name: layout for name, layout in layouts.items() if layout.kind is not PeriodKind.MONTH}
    if not layouts:
        return table
    columns = [in_sql(name, layouts[name]) if name in layouts else quoted(name) for name in table.columns]
    evidence = "; ".join(f"{name} is written as '{table.sample.frame[name].drop_nulls()[0]}'" for name in layouts)
    sql = Finding("sql", f"select {', '.join(columns)} from file", evidence)  # noqa: S608 - columns of this file, quoted
    frame = table.sample.frame.with_columns(plain(name, layout) for name, layout in layouts.items())
    findings = Findings((*table.findings.decided, sql), table.findings.ambiguities)
    return replace(table, sample=replace(table.sample, frame=frame), findings=findings)


def layout_of(table: SourceTable, column: str) -> PeriodLayout | None:
    """Return how the periods of a column are laid out; None if some texts are none, or laid out otherwise."""
    texts = table.sample.frame[column].drop_nulls().unique()
    if texts.is_empty() or not all(map(is_unread, texts)):
        return None
    first, *others = [possible_layouts(text) for text in texts]
    common = first.intersection(*others)
    return next(iter(common)) if len(common) == 1 else None


def possible_layouts(text: str) -> set[PeriodLayout]:
    """Return the layouts that give the period of a text."""
    kind, code = next(period_code(text), (PeriodKind.YEAR, ""))
    if kind not in PARTS:
        return set()
    mark, numbers = PARTS[kind]
    year, _, part = code.partition(mark)
    starts = [at for at in range(len(text)) if text.startswith(year, at)]
    ends = [at for at in range(len(text)) if text.startswith(part, at) and part in numbers]
    apart = [(one, other) for one in starts for other in ends if not one - len(part) < other < one + len(year)]
    return {PeriodLayout(kind, *places, pieces_of(text, *places, len(year), len(part))) for places in apart}


def pieces_of(text: str, year: int, part: int, *lengths: int) -> tuple[str, str, str]:
    """Return what stands before, between and behind the year and the part of a text."""
    (first, length), (second, other) = sorted(zip((year, part), lengths, strict=True))
    return text[:first], text[first + length : second], text[second + other :]


def plain(column: str, layout: PeriodLayout) -> pl.Expr:
    """Return the texts of a column as a load reads them."""
    mark, numbers = PARTS[layout.kind]
    text = pl.col(column)
    year, part = text.str.slice(layout.year, len("2026")), text.str.slice(layout.part, len(numbers[0]))
    return (year + mark + part).alias(column)


def in_sql(column: str, layout: PeriodLayout) -> str:
    """Return a column of the file in the statement; a text that is laid out otherwise stays, and a load rejects it."""
    mark, numbers = PARTS[layout.kind]
    name = quoted(column)
    year = f"substr({name}, {layout.year + 1}, {len('2026')})"
    part = f"substr({name}, {layout.part + 1}, {len(numbers[0])})"
    digits = (year, part) if layout.year < layout.part else (part, year)
    before, between, behind = (literal(piece) for piece in layout.pieces)
    laid_out = " || ".join(one for one in (before, digits[0], between, digits[1], behind) if one != literal(""))
    return f"case when {laid_out} = {name} then {year} || '{mark}' || {part} else {name} end as {name}"
