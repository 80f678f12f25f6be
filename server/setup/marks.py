"""Marks: currencies, units and other dashes around amounts, which a statement of the feed takes away or writes out."""

from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl
from msgspec.structs import replace

from server.files.findings import Finding, Findings, located
from server.files.notation import ID_WORDS, is_none_word, notations_of, words_of
from server.files.number_looks import MARKED, SIDED, UNITS, with_unit
from server.files.sampling import SourceTable
from server.setup.answers import FACTORS, FileAnswers
from server.setup.journals import quoted
from server.setup.questions import Choice, OpenQuestion

DASH: Final = "−"
SIDE, LENGTH = "side", 2  # behind the name of the column of marks, and of a mark
Replacements = Mapping[str, str]  # of marks around amounts, by what stands in their place


def without_marks(table: SourceTable) -> SourceTable:
    """Return a table whose amounts have no currency, unit or typographic minus, with the statement that makes it.

    A column of several currencies stays as it is: they would add up.
    """
    if table.path is None or table.is_joined or table.sheet is not None:
        return table
    marks = {name: found for name in table.columns if (found := marks_of(table, name) or units_of(table, name))}
    sided = {column: found for column in table.columns if column not in marks and (found := sides_of(table, column))}
    if len(sided) == 1:  # each of several would need a side of its own
        marks |= sided
    else:
        sided = {}
    if not marks:
        return table
    changed = {column: written(pl.col(column), found) for column, found in marks.items()}
    made = {f"{column} {SIDE}": pl.col(column).str.strip_chars().str.tail(LENGTH) for column in sided}
    frame = table.sample.frame.with_columns(**{name: one.alias(name) for name, one in (changed | made).items()})
    columns = [in_sql(column, marks.get(column, {})) for column in table.columns]
    columns += [f"right(trim({quoted(column)}), {LENGTH}) as {quoted(f'{column} {SIDE}')}" for column in sided]
    shown = "; ".join(f"{column} is written with {', '.join(map(str.strip, found))}" for column, found in marks.items())
    sql = Finding("sql", f"select {', '.join(columns)} from file", shown)  # noqa: S608 - columns of this file, quoted
    findings = Findings((*table.findings.decided, sql), table.findings.ambiguities)
    return replace(table, sample=replace(table.sample, frame=frame), findings=findings)


def unit_questions(table: SourceTable, said: FileAnswers) -> Iterator[OpenQuestion]:
    """Yield the question about units behind the amounts of a table as it stands in its file."""
    columns = {column: found for column in table.columns if (found := units_of(table, column))}
    if said.units is not None or not columns or table.sheet is not None:
        return
    units = dict.fromkeys(mark.strip() for found in columns.values() for mark in found)
    column = next(iter(columns))
    example = next(
        pair for pair in table.sample.texts(column).select("text", "row").iter_rows() if with_unit(pair[0]).unit
    )
    meaning = " and ".join(f"{unit} is {UNITS[unit.casefold()]:,}" for unit in units)
    says = f"{located(column, [example])} has a unit: is it a factor of the amount? Else have amounts written in full"
    yield OpenQuestion(table.name, says, (Choice({"units": FACTORS}, f"yes: {meaning}"),))


def units_of(table: SourceTable, column: str) -> Replacements:
    """Return the units behind the amounts of a column as exponents; none if some texts are no amounts."""
    if ID_WORDS.search(words_of(column)):
        return {}
    texts = [text for text, _, _ in table.sample.texts(column).iter_rows() if not is_none_word(text)]
    found = {text: with_unit(text) for text in texts}
    marks = {text[len(one.digits) :]: exponent(one.unit) for text, one in found.items() if one.unit}
    plain = [f"{one.digits}{exponent(one.unit)}" for one in found.values()]
    return (
        dict(sorted(marks.items(), key=lambda pair: -len(pair[0]))) if marks and all(map(notations_of, plain)) else {}
    )


def exponent(unit: str) -> str:
    """Return a unit as the exponent of a number; nothing if there is none."""
    return f"e{len(str(UNITS[unit.casefold()])) - 1}" if unit else ""


def sides_of(table: SourceTable, column: str) -> Replacements:
    """Return the marks of debits and credits behind the amounts of a column; none if some have none."""
    texts = [text for text, _, _ in table.sample.texts(column).iter_rows()]
    found = [SIDED.fullmatch(text) for text in texts]
    marks = dict.fromkeys(match["side"] for match in found if match is not None)
    is_sided = len(marks) == 2 and all(match is not None and notations_of(match["amount"]) for match in found)
    return dict.fromkeys(marks, "") if is_sided and len({mark.casefold() for mark in marks}) == 2 else {}


def marks_of(table: SourceTable, column: str) -> Replacements:
    """Return the marks around the amounts of a column; none if some texts are no amounts, or several currencies are."""
    texts = [text for text, _, _ in table.sample.texts(column).iter_rows()]
    if all(notations_of(text) and DASH not in text for text in texts):
        return {}
    found = [MARKED.fullmatch(text) for text in texts]
    matches = [match for match in found if match is not None]
    currencies = {mark for match in matches for mark in (match["before"], match["after"]) if mark}
    if len(matches) < len(texts) or len(currencies) > 1:
        return {}
    marks = dict.fromkeys(currencies, "") | ({DASH: "-"} if any(DASH in text for text in texts) else {})
    plain = texts
    for mark, other in marks.items():
        plain = [text.replace(mark, other).strip() for text in plain]
    return marks if all(map(notations_of, plain)) else {}


def written(column: pl.Expr, marks: Replacements) -> pl.Expr:
    """Return texts with their marks replaced, as the statement makes them."""
    for mark, other in marks.items():
        column = column.str.replace_all(mark, other, literal=True)
    return column.str.strip_chars()


def in_sql(column: str, marks: Replacements) -> str:
    """Return a column of the file in the statement."""
    name = quoted(column)
    expression = name
    for mark, other in marks.items():
        expression = f"replace({expression}, '{mark}', '{other}')"
    return f"trim({expression}) as {name}" if marks else name
