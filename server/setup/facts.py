"""Facts: how the rows of one file become facts - its format, its time, its amounts and its scenarios."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.instance.reading.domains import TAKEN
from engine.model.calendar.periods import Grain
from server.files.amounts import read_amounts
from server.files.columns import without_residue
from server.files.files import letter
from server.files.findings import Ambiguity, Finding, Findings, Reading, located
from server.files.notation import (
    FORMULA_FAULT,
    Notation,
    NumberColumn,
    detect_factor,
    detect_numbers,
    is_none_word,
    number_column,
    sign_of,
)
from server.setup.answers import ZERO, Answers, FileAnswers
from server.setup.column_profiles import ColumnRole
from server.setup.controls import balance_findings
from server.setup.figures import number_format
from server.setup.periods import PERIOD, FactsTime, time_findings, time_of, two_times, unread_time
from server.setup.roles import PLACES_WORDS, TableProfile, profile_table
from server.setup.totals import without_totals
from server.setup.trees import match_members, member_table
from server.setup.words import named_currency, scenario_kinds, slug, title

FEWEST_PLACES, MOST_PLACES = 2, 12  # that a measure is proposed with
RESIDUES: Final = 0.5  # share of the amounts up to which residues of computations do not count
OTHER_DIGIT: Final = re.compile(r"(?![0-9])\d")  # of another script, whatever marks stand beside it
CURRENCY_IN: Final = re.compile(r"€|\$|£|EUR|USD|GBP|CHF|JPY")  # beside the unit in a heading of amounts
HOW_AMOUNTS: Final = (
    "write amounts in the file as 1234.50 or -1234.50, with a hyphen in front as the minus and without a currency, and "
    "the marks of debits and credits in a column of their own"
)
DEBITS: Final = ("s", "d", "dr", "debit", "soll", "db")
GRAIN_COLUMNS: Final = {Grain.DATE: "date", Grain.MONTH: "month", Grain.QUARTER: "quarter", Grain.YEAR: "year"}


class MeasureColumn(Struct, frozen=True, kw_only=True):
    """A measure and the column that fills it; None if debits and credits do."""

    key: str
    column: str | None
    is_money: bool
    places: int
    currency: str | None = None  # in its name; a column of currencies does not speak of it


class FactsTable(Struct, frozen=True, kw_only=True):
    """How a table of a source becomes facts."""

    found: TableProfile
    findings: Findings  # every key of its format, decided
    grain: Grain
    first: date
    last: date
    time_column: str | None  # of the extract; None if keys fill the time
    constants: Mapping[str, str]
    period: Finding | None  # what said the constants
    measures: Sequence[MeasureColumn]
    scenario: str | None  # of every row; None if a column says it
    scenarios: Mapping[str, str] = {}  # text of the column to scenario id
    aliases: Mapping[str, str] = {}  # scenario id to its name
    undated: int = 0  # rows of the sample without a time

    @property
    def name(self) -> str:
        """The name of the file or sheet."""
        return self.found.name


def facts_table(found: TableProfile, answers: Answers, members: Sequence[TableProfile]) -> FactsTable:
    """Return how a table becomes facts. What stays open is noted in the answers."""
    said = answers.of(found.name)
    table = found.table
    amounts = amount_columns(found)
    numbers = detect_numbers(amounts)
    heads = {one.name: table.header_row for one in amounts if one.name not in found.having(ColumnRole.ACROSS)}
    factor = asked_factor(detect_factor(table.titles, heads), heads)
    times = time_findings(found, answers.fiscal_start)
    findings = table.findings.and_(numbers, factor, times, amount_findings(found), found.totals)
    known = len(answers.open)
    settled = answers.settled(found.name, findings)
    findings = Findings(tuple(one for one in settled.decided if one.key != PERIOD))
    findings = findings.and_(balance_findings(found, findings, amounts))
    time = time_of(found, settled)
    if time is None:
        answers.open += [lack_of_time(found)] if len(answers.open) == known else []
        time = FactsTime(Grain.DATE, date.min, date.min, {})
    answers.open += [*two_times(found, findings), *unproven_sums(found)]
    answers.open += period_beside(found, settled, said)
    answers.questions += [*several_scenarios(found, said), *found.doubts, *zero_formulas(found, amounts, said)]
    answers.open += [*unread_amounts(found, amounts, findings), *lost_figures(found, amounts)]
    scenario, scenarios, aliases = scenarios_of(found, said, members)
    year = found.first(ColumnRole.YEAR) if time.grain is Grain.YEAR and not time.constants else None
    column = found.first(ColumnRole.TIME) or year
    return FactsTable(
        found=found,
        findings=findings,
        grain=time.grain,
        first=time.first,
        last=time.last,
        time_column=column,
        constants=time.constants,
        period=next((one for one in settled.decided if one.key == PERIOD), None) if time.constants else None,
        measures=list(measures_of(found, findings)),
        scenario=scenario,
        scenarios=scenarios,
        aliases=aliases,
        undated=len(found.table.sample.blanks(column)) if column else 0,
    )


def asked_factor(findings: Findings, heads: Mapping[str, int]) -> Findings:
    """Return the factor of amounts as a question, unless the heading of amounts says it with their currency."""
    for factor in findings.decided:
        if any(f"'{name}'" in factor.evidence and CURRENCY_IN.search(name) for name in heads):
            continue
        ways = (
            Reading({factor.key: "1"}, "amounts as they stand"),
            Reading({factor.key: factor.value}, f"amounts times {int(factor.value):,}"),
        )
        return Findings(ambiguities=(Ambiguity(factor.key, factor.evidence, ways),))
    return findings


def several_scenarios(found: TableProfile, said: FileAnswers) -> Iterator[str]:
    """Yield the question about a table whose names speak of several scenarios, and of none alone."""
    if said.scenario or found.first(ColumnRole.SCENARIO) or len(kinds := named_kinds(found)) < 2:
        return
    choices = " or ".join(f"{{{found.name}: {{scenario: {kind}}}}}" for kind in kinds)
    yield f"{found.name}: its name speaks of {' and '.join(kinds)}; with --answers FILE, say files: {choices}"


def zero_formulas(found: TableProfile, amounts: Sequence[NumberColumn], said: FileAnswers) -> Iterator[str]:
    """Yield the question about a sheet whose formulas all read 0, if some are amounts."""
    formulas, columns = found.table.formulas, found.table.columns
    held = [one.name for one in amounts if letter(columns.index(one.name)) in formulas.zeros]
    if held and said.formulas is None:
        yield (
            f"{found.name}: {formulas}, and {', '.join(held)} would hold 0 there. Open the workbook in a spreadsheet "
            f"and save it; or, if they are 0, say files: {{{found.name}: {{formulas: {ZERO}}}}} with --answers FILE"
        )


def period_beside(found: TableProfile, settled: Findings, said: FileAnswers) -> Iterator[str]:
    """Yield the question about periods that are not read, in a table whose name or titles say the time."""
    period = settled.value(PERIOD) or settled.value("unpivot.year")
    if PERIOD in said.keys or period is None or (unread := unread_time(found)) is None:
        return
    column = unread.partition(",")[0]
    yield (
        f"{found.name}: {unread}; or, if all its rows are of {period}, say files: {{{found.name}: {{columns: "
        f"{{{column}: text}}}}}} with --answers FILE"
    )


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


def unread_amounts(found: TableProfile, columns: Sequence[NumberColumn], findings: Findings) -> Iterator[str]:
    """Yield the questions about amounts: there is no column of them, or a load does not read a text of one."""
    if not any(column.numbers for column in columns):
        yield f"{found.name} has no column of amounts: {HOW_AMOUNTS}"
    for column in columns:
        is_said = column.name in found.overrides
        unread = [pair for pair in column.others if not is_none_word(pair[0])]
        strange = [pair for pair in unread if is_said or OTHER_DIGIT.search(pair[0])]
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


def unproven_sums(found: TableProfile) -> Iterator[str]:
    """Yield the question about each column of amounts beside months across that is no sum of them."""
    for column, sum_of in found.sums.items():
        if sum_of is None and found.roles[column][0] is ColumnRole.UNUSED:
            months = found.across.names if found.across else ()
            yield (
                f"{found.name}: {column} stands beside the months {months[0]} to {months[-1]} and is no sum of them; "
                f"say files: {{{found.name}: {{columns: {{{column}: unused}}}}}} with --answers FILE if it is none of "
                "the amounts, or bring it in a file of its own"
            )


def amount_findings(found: TableProfile) -> Findings:
    """Return the keys that make one amount of debits and credits."""
    debit, credit, side = (found.first(role) for role in (ColumnRole.DEBIT, ColumnRole.CREDIT, ColumnRole.SIDE))
    if debit and credit:
        blank = Finding("numbers.blank", "none", "a row has a debit or a credit")
        return Findings((Finding("amount", {"debit": debit, "credit": credit}, found.roles[debit][1]), blank))
    amount = found.first(ColumnRole.AMOUNT)
    if side and amount:
        texts = found.columns[side].values
        debits = next(text for text in texts if text.lower() in DEBITS)
        credits_ = [text for text in texts if text != debits]
        keys = {"column": amount, "side": side, "debit": debits, "credit": credits_[0]}
        return Findings((Finding("amount", keys, found.roles[side][1]),))
    return Findings()


def measures_of(found: TableProfile, findings: Findings) -> Iterator[MeasureColumn]:
    """Yield the measures of a table: of debits and credits or months across, else of each column of amounts."""
    notation = Notation(findings.value("numbers.decimal") or ".", findings.value("numbers.thousands") or "none")
    factor = Decimal(str(findings.value("numbers.factor") or 1))
    columns = amount_columns(found)
    if findings.value("amount") or found.across is not None:
        filled = None if findings.value("amount") else "amount"
        yield MeasureColumn(key="amount", column=filled, is_money=True, places=places_of(columns, notation, factor))
        return
    for column in columns:
        is_money = not PLACES_WORDS.search(column.name)
        places = places_of([column], notation, factor)
        key = "amount" if len(columns) == 1 else slug(column.name)
        key = f"{key}_amount" if key in TAKEN else key
        yield MeasureColumn(
            key=key,
            column=column.name,
            is_money=is_money,
            places=max(2, places) if is_money else places,
            currency=named_currency(column.name),
        )


def places_of(columns: Sequence[NumberColumn], notation: Notation, factor: Decimal) -> int:
    """Return how many decimal places the amounts of some columns have in the sample.

    What computations left on a few of them does not count: a load reads 1.16E-10 beside cents as 0.
    """
    texts = [sign_of(text).digits for column in columns for text, _ in column.numbers]
    values = [(notation.value(digits) * factor).normalize() for digits in texts if notation.pattern.match(digits)]
    fine = [value for value in values if -int(value.as_tuple().exponent) > FEWEST_PLACES]
    kept = [value for value in fine if without_residue(value, FEWEST_PLACES) is None]
    if len(fine) - len(kept) <= RESIDUES * len(values):
        fine = kept
    most = max((-int(value.as_tuple().exponent) for value in fine), default=FEWEST_PLACES)
    return min(most, MOST_PLACES)


def scenarios_of(
    found: TableProfile, said: FileAnswers, members: Sequence[TableProfile]
) -> tuple[str | None, Mapping[str, str], Mapping[str, str]]:
    """Return the scenario of every row, or the scenarios that the texts of a column mean, and their names."""
    if said.scenario:
        return said.scenario, {}, {said.scenario: title(said.scenario)}
    column = found.first(ColumnRole.SCENARIO)
    if column is not None:
        texts = [text for text in found.table.distinct([column])[column].drop_nulls().str.strip_chars() if text]
        names = scenario_names(column, texts, members)
        ids = {text: slug(names.get(text, text)) for text in dict.fromkeys(texts)}
        return None, ids, {scenario: title(names.get(text, text)) for text, scenario in ids.items()}
    kind = next(iter(named_kinds(found)), "actual")
    return kind, {}, {kind: title(kind)}


def named_kinds(found: TableProfile) -> list[str]:
    """Return the kinds of scenarios that say what all rows are: the one of the first text that names exactly one.

    Those of the first text that names several, if none names one. The sheet goes before its file.
    """
    file, _, sheet = found.name.partition(" [")
    across = found.across.names[:1] if found.across else ()
    texts = [*across, sheet, file, *(text for _, text in found.table.titles)]
    kinds = [named for text in texts if (named := scenario_kinds(text))]
    return next((named for named in kinds if len(named) == 1), kinds[0] if kinds else [])


def scenario_names(column: str, ids: Sequence[str], members: Sequence[TableProfile]) -> Mapping[str, str]:
    """Return the names of scenarios by their ids, if a table of members has them."""
    match = match_members(column, ids, members) if ids else None
    name = member_table("scenario", match).mapped.get("name") if match else None
    if match is None or name is None:
        return {}
    frame = match.found.table.sample.frame
    return dict(zip(frame[match.key], frame[str(name)], strict=True))


def profile_facts(found: TableProfile, said: str | None = None) -> TableProfile:
    """Return what the columns of a table of facts are, without its rows of totals; `said` is what to do with others."""
    account, time = found.first(ColumnRole.ACCOUNT), found.first(ColumnRole.TIME)
    left = without_totals(found.table, account, amount_columns(found), time, said)
    return replace(profile_table(left.table, found.overrides), totals=left.findings, doubts=left.doubts)
