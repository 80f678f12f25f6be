"""Marks: currencies and other dashes around amounts, which a statement of the feed takes away before they are read."""

from typing import Final

import polars as pl
from msgspec.structs import replace

from server.files.findings import Finding, Findings
from server.files.notation import notations_of
from server.files.number_looks import MARKED, SIDED
from server.files.sampling import SourceTable
from server.setup.journals import quoted

DASH: Final = "−"
SIDE, LENGTH = "side", 2  # behind the name of the column of marks, and of a mark


def without_marks(table: SourceTable) -> SourceTable:
    """Return a table whose amounts have no currency and no typographic minus, with the statement that takes them away.

    A column of several currencies stays as it is: they would add up.
    """
    if table.path is None or table.is_joined or table.sheet is not None:
        return table
    marks = {column: found for column in table.columns if (found := marks_of(table, column))}
    sided = [column for column in table.columns if column not in marks and (found := sides_of(table, column))]
    if len(sided) > 1:  # each would need a side of its own
        sided = []
    marks |= {column: sides_of(table, column) for column in sided}
    if not marks:
        return table
    changed = {column: stripped(pl.col(column), found) for column, found in marks.items()}
    made = {f"{column} {SIDE}": pl.col(column).str.strip_chars().str.tail(LENGTH) for column in sided}
    frame = table.sample.frame.with_columns(**{name: one.alias(name) for name, one in (changed | made).items()})
    columns = [in_sql(column, marks.get(column, [])) for column in table.columns]
    columns += [f"right(trim({quoted(column)}), {LENGTH}) as {quoted(f'{column} {SIDE}')}" for column in sided]
    shown = "; ".join(f"{column} is written with {', '.join(map(str.strip, found))}" for column, found in marks.items())
    sql = Finding("sql", f"select {', '.join(columns)} from file", shown)  # noqa: S608 - columns of this file, quoted
    findings = Findings((*table.findings.decided, sql), table.findings.ambiguities)
    return replace(table, sample=replace(table.sample, frame=frame), findings=findings)


def sides_of(table: SourceTable, column: str) -> list[str]:
    """Return the marks of debits and credits behind the amounts of a column; none if some have none."""
    texts = [text for text, _, _ in table.sample.texts(column).iter_rows()]
    found = [SIDED.fullmatch(text) for text in texts]
    marks = dict.fromkeys(match["side"] for match in found if match is not None)
    is_sided = len(marks) == 2 and all(match is not None and notations_of(match["amount"]) for match in found)
    return list(marks) if is_sided and len({mark.casefold() for mark in marks}) == 2 else []


def marks_of(table: SourceTable, column: str) -> list[str]:
    """Return the marks around the amounts of a column; none if some texts are no amounts, or several currencies are."""
    texts = [text for text, _, _ in table.sample.texts(column).iter_rows()]
    if all(notations_of(text) and DASH not in text for text in texts):
        return []
    found = [MARKED.fullmatch(text) for text in texts]
    matches = [match for match in found if match is not None]
    currencies = {mark for match in matches for mark in (match["before"], match["after"]) if mark}
    if len(matches) < len(texts) or len(currencies) > 1:
        return []
    marks = [*currencies, *([DASH] if any(DASH in text for text in texts) else [])]
    plain = [text.replace(DASH, "-") for text in texts]
    for mark in currencies:
        plain = [text.replace(mark, "").strip() for text in plain]
    return marks if all(map(notations_of, plain)) else []


def stripped(column: pl.Expr, marks: list[str]) -> pl.Expr:
    """Return texts without their marks, as the statement makes them."""
    for mark in marks:
        column = column.str.replace_all(mark, "-" if mark == DASH else "", literal=True)
    return column.str.strip_chars()


def in_sql(column: str, marks: list[str]) -> str:
    """Return a column of the file in the statement."""
    name = quoted(column)
    if not marks:
        return name
    made = name
    for mark in marks:
        made = f"replace({made}, '{mark}', '{'-' if mark == DASH else ''}')"
    return f"trim({made}) as {name}"
