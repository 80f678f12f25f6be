"""Open facts: what a table of facts leaves open - its time, its scenario, amounts that nobody reads or proves."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from server.files.amounts import read_amounts
from server.files.dates import in_format
from server.files.day_forms import mixed_days
from server.files.files import letter
from server.files.findings import Findings, at_row, located
from server.files.notation import FORMULA_FAULT, NumberColumn, is_none_word, number_column
from server.files.number_looks import has_other_digit
from server.setup.answers import ZERO, FileAnswers
from server.setup.column_profiles import ColumnRole
from server.setup.figures import exact_figures, largest, number_format, volume
from server.setup.periods import PERIOD, unread_time
from server.setup.questions import Choice, OpenQuestion
from server.setup.roles import TableProfile, period_parts, time_score
from server.setup.words import scenario_kinds

FEWEST_GROUPS: Final = 2  # headings that make a grouped report
MOST_PLACES: Final = 12  # that a measure is proposed with
HOW_AMOUNTS: Final = (
    "write amounts in the file as 1234.50 or -1234.50, with a hyphen in front as the minus and without a currency, and "
    "the marks of debits and credits in a column of their own"
)


def several_scenarios(found: TableProfile, said: FileAnswers) -> Iterator[OpenQuestion]:
    """Yield the question about a table whose names speak of several scenarios, and of none alone."""
    if said.scenario or found.first(ColumnRole.SCENARIO) or len(kinds := named_kinds(found)) < 2:
        return
    choices = tuple(Choice({"scenario": kind}, f"all rows are {kind}") for kind in kinds)
    yield OpenQuestion(found.name, f"its name speaks of {' and '.join(kinds)}: which scenario are its rows?", choices)


def named_kinds(found: TableProfile) -> list[str]:
    """Return the kinds of scenarios that say what all rows are: the one of the first text that names exactly one.

    Those of the first text that names several, if none names one. The sheet goes before its file.
    """
    file, _, sheet = found.name.partition(" [")
    across = found.across.names[:1] if found.across else ()
    texts = [*across, sheet, file, *(text for _, text in found.table.titles)]
    kinds = [named for text in texts if (named := scenario_kinds(text))]
    return next((named for named in kinds if len(named) == 1), kinds[0] if kinds else [])


def zero_formulas(found: TableProfile, amounts: Sequence[NumberColumn], said: FileAnswers) -> Iterator[OpenQuestion]:
    """Yield the question about a sheet whose formulas all read 0, if some are amounts."""
    formulas, columns = found.table.formulas, found.table.columns
    held = [one.name for one in amounts if letter(columns.index(one.name)) in formulas.zeros]
    if held and said.formulas is None:
        says = f"{formulas}, and {', '.join(held)} would hold 0 there. Open the workbook in a spreadsheet and save it"
        yield OpenQuestion(found.name, f"{says}; or, if they are 0:", (Choice({"formulas": ZERO}, "they are 0"),))


def two_times(found: TableProfile, findings: Findings) -> Iterator[OpenQuestion]:
    """Yield the question about a row whose day and whose columns of year and month name different months."""
    column = found.first(ColumnRole.TIME)
    day = found.columns[column].day if column else None
    years, months = period_parts({name: one for name, one in found.columns.items() if name not in found.overrides})
    if column is None or day is None or column in found.overrides or not years or not months:
        return
    year, month = years[0].name, months[0].name
    format_, names = findings.value("dates.format") or "%Y-%m-%d", tuple(findings.value("dates.months") or ())
    frame = found.table.sample.frame.select(column, year, month)
    texts = frame[column].drop_nulls().unique()
    codes = dict(zip(texts, in_format(texts, format_, names).str.head(len("2026-01")), strict=True))
    for at, (text, one, other) in enumerate(frame.iter_rows()):
        if text is None or one is None or other is None or codes[text] == f"{one}-{int(other):02}":
            continue
        place = at_row(found.table.sample.rows[at])
        says = (
            f"{place} is of {codes[text]} by {column} ('{text}') and of {one}-{int(other):02} by {year} and {month}: "
            "which is the time of the rows?"
        )
        choices = (
            Choice({"columns": {column: "time"}}, f"the day in {column}"),
            Choice({"columns": {column: "text"}}, f"{year} and {month}"),
        )
        yield OpenQuestion(found.name, says, choices)
        return


def mixed_forms(found: TableProfile) -> Iterator[str]:
    """Yield which columns of days mix forms that no one format reads, and may be the time by their names."""
    time = found.first(ColumnRole.TIME)
    least = time_score(found.columns[time])[0] if time else 0
    for column, one in found.columns.items():
        if column in found.overrides or one.number is not None or time_score(one)[0] < least:
            continue
        if mixed := mixed_days(found.table.sample, column, one.day):
            ways = f"files: {{{found.name}: {{columns: {{{column}: text}}}}}}"
            yield f"{found.name}: {mixed}. Have days written alike; or, if it is not the time, say {ways}"


def period_beside(found: TableProfile, settled: Findings, said: FileAnswers) -> Iterator[OpenQuestion]:
    """Yield the question about periods that are not read, in a table whose name or titles say the time."""
    period = settled.value(PERIOD) or settled.value("unpivot.year")
    if PERIOD in said.keys or period is None or (unread := unread_time(found)) is None:
        return
    column = unread.partition(",")[0]
    yield OpenQuestion(found.name, unread, (Choice({"columns": {column: "text"}}, f"all rows are of {period}"),))


def lack_of_time(found: TableProfile) -> str:
    """Return what a table without a time lacks, and how to say it."""
    column = found.first(ColumnRole.TIME)
    if column is not None:
        text = found.columns[column].values[0]
        says = f"{found.name}: {column} is no column of days, months or years: '{text}' is none"
        ways = f"{{{found.name}: {{dates: {{format: …}}, columns: {{{column}: time}}}}}}"
        return (
            f"{says}; say files: {ways} with --answers FILE, or write days as 2026-01-31, months as 2026-01 in the file"
        )
    if unread := unread_time(found):
        return f"{found.name}: {unread}"
    says = f"{found.name} has no column of days, months or years, and its name and titles have none"
    ways = f"{{{found.name}: {{columns: {{COLUMN: time}}}}}}, or {{{found.name}: {{period: 2026-01}}}} for all its rows"
    return f"{says}; with --answers FILE, say files: {ways}"


def amount_columns(found: TableProfile) -> list[NumberColumn]:
    """Return the columns of a table that hold amounts."""
    roles = (ColumnRole.AMOUNT, ColumnRole.DEBIT, ColumnRole.CREDIT, ColumnRole.ACROSS)
    chosen = [column for role in roles for column in found.having(role)]
    columns = (found.columns[column].number or number_column(found.table.sample, column) for column in chosen)
    return [column for column in columns if column is not None]


def grouped_rows(found: TableProfile) -> Iterator[str]:
    """Yield why a report is refused whose account stands once above its postings, in rows without a day."""
    time = found.first(ColumnRole.TIME)
    if time is None or found.first(ColumnRole.ACCOUNT) is not None:
        return
    frame = found.table.sample.frame
    dated = frame[time].is_not_null()
    for column in frame.columns:
        filled = frame[column].is_not_null()
        if column == time or filled.sum() < FEWEST_GROUPS or (filled & dated).any() or not dated.any():
            continue
        first = filled.arg_true()[0]
        if int(first) < int(dated.arg_true()[0]):
            place = located(column, [(frame[column][first], found.table.sample.rows[first])])
            yield (
                f"{found.name}: {place} stands above rows with a {time} and in none of them, as an account above its "
                "postings. Export a list in which every row has its account, or bring the file into DuckDB and carry "
                f"it down in sql: last_value({column} ignore nulls) over (order by rowid); docs/recipes/files.md"
            )
            return


def unread_amounts(found: TableProfile, columns: Sequence[NumberColumn], findings: Findings) -> Iterator[str]:
    """Yield the questions about amounts: there is no column of them, or a load does not read a text of one."""
    if not any(column.numbers for column in columns):
        yield f"{found.name} has no column of amounts: {HOW_AMOUNTS}"
    for column in columns:
        is_said = column.name in found.overrides
        unread = [pair for pair in column.others if not is_none_word(pair[0])]
        strange = [pair for pair in unread if is_said or has_other_digit(pair[0])]
        texts = pl.Series([text for text, _ in column.numbers], dtype=pl.String)
        reasons = read_amounts(texts, number_format(findings), MOST_PLACES).reasons
        strange += [pair for pair, why in zip(column.numbers, reasons, strict=True) if why and "is no number" in why]
        if strange:
            yield f"{found.name}: {located(column.name, strange[:1])} is no number that a load reads: {HOW_AMOUNTS}"


def lost_figures(found: TableProfile, columns: Sequence[NumberColumn]) -> Iterator[str]:
    """Yield the questions about amounts whose formulas failed: a lost figure is not an absent one."""
    for column in columns:
        lost = [f"row {row}: {text}" for text, row in column.others if re.match(FORMULA_FAULT, text)]
        if lost:
            says = f"{found.name}: {column.name} has a formula that failed ({lost[0]}), and its figure is lost"
            yield f"{says}; mend it in the file"


def unproven_sums(found: TableProfile) -> Iterator[OpenQuestion]:
    """Yield the question about each column of amounts beside months across that is no sum of them."""
    for column, sum_of in found.sums.items():
        number = found.columns[column].number
        if sum_of is None and number is not None and found.roles[column][0] is ColumnRole.UNUSED:
            months = found.across.names if found.across else ()
            held = exact_figures(found.table.sample.frame, [number])[column]
            says = f"{column} stands beside the months {months[0]} to {months[-1]} and is no sum of them"
            effect = f"it is none of the amounts: its {volume(held)} is not loaded; else bring it in a file of its own"
            yield OpenQuestion(found.name, says, (Choice({"columns": {column: "unused"}}, effect),), largest(held))
