"""Facts: how the rows of one file become facts - its format, its time, its amounts and its scenarios."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from engine.instance.reading.domains import TAKEN
from engine.model.calendar.periods import Grain
from server.files.columns import without_residue
from server.files.findings import Ambiguity, Finding, Findings, Reading
from server.files.notation import (
    Notation,
    NumberColumn,
    detect_factor,
    detect_numbers,
    point_findings,
    sign_of,
)
from server.setup.answers import CLOSING, Answers, FileAnswers
from server.setup.balances import is_stock, over_time
from server.setup.column_profiles import ColumnRole
from server.setup.controls import balance_findings
from server.setup.debits import amount_findings, credit_signs
from server.setup.doubtful_files import cut_end, day_ties, hidden_sheet, repeated_names
from server.setup.figures import exact_figures, largest, volume
from server.setup.open_facts import (
    MOST_PLACES,
    amount_columns,
    grouped_rows,
    lack_of_time,
    lost_figures,
    mixed_forms,
    named_kinds,
    period_beside,
    several_scenarios,
    two_times,
    unproven_sums,
    unread_amounts,
    zero_formulas,
)
from server.setup.periods import PERIOD, FactsTime, half_years, time_findings, time_of
from server.setup.questions import Choice, OpenQuestion
from server.setup.roles import PLACES_WORDS, TableProfile, profile_table
from server.setup.totals import without_totals
from server.setup.trees import match_members, member_table
from server.setup.words import named_currency, slug, title, without_scenario

FEWEST_PLACES: Final = 2  # that a measure is proposed with
RESIDUES: Final = 0.5  # share of the amounts up to which residues of computations do not count
CURRENCY_IN: Final = re.compile(r"€|\$|£|EUR|USD|GBP|CHF|JPY")  # beside the unit in a heading of amounts
GRAIN_COLUMNS: Final = {Grain.DATE: "date", Grain.MONTH: "month", Grain.QUARTER: "quarter", Grain.YEAR: "year"}


class MeasureColumn(Struct, frozen=True, kw_only=True):
    """A measure and the column that fills it; None if debits and credits do."""

    key: str
    column: str | None
    is_money: bool
    places: int
    currency: str | None = None  # in its name; a column of currencies does not speak of it
    is_closing: bool = False  # whether it holds closing balances, which do not add up over time


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


def facts_table(
    found: TableProfile, answers: Answers, members: Sequence[TableProfile], *, is_only: bool = True
) -> FactsTable:
    """Return how a table becomes facts. What stays open is noted in the answers; another may be left out."""
    said = answers.of(found.name)
    table = found.table
    amounts = amount_columns(found)
    numbers = detect_numbers(amounts)
    if table.is_text and not numbers.ambiguities:
        numbers = numbers.and_(point_findings(amounts))
    heads = {one.name: table.header_row for one in amounts if one.name not in found.having(ColumnRole.ACROSS)}
    factor = asked_factor(detect_factor(table.titles, heads), heads, largest_of(found, amounts))
    times = time_findings(found, answers.fiscal_start)
    findings = table.findings.and_(numbers, factor, times, amount_findings(found, amounts, said), found.totals)
    known = len(answers.open) + len(answers.questions)
    settled = answers.settled(found.name, findings)
    findings = Findings(tuple(one for one in settled.decided if one.key != PERIOD))
    findings = findings.and_(balance_findings(found, findings, amounts))
    time = time_of(found, settled)
    if time is None:
        is_asked = len(answers.open) + len(answers.questions) > known
        if is_only and not is_asked:
            answers.open.append(lack_of_time(found))
        elif not is_asked:
            held = exact_figures(table.sample.frame, amounts)
            effect = f"nothing is read of it: {', '.join(volume(held[name]) for name in held.columns)}"
            choice = Choice({"is": "unused"}, effect)
            answers.questions.append(
                OpenQuestion(found.name, lack_of_time(found), (choice,), largest_of(found, amounts))
            )
        time = FactsTime(Grain.DATE, date.min, date.min, {})
    answers.questions += [*two_times(found, findings), *unproven_sums(found), *period_beside(found, settled, said)]
    answers.questions += [*several_scenarios(found, said), *found.doubts, *zero_formulas(found, amounts, said)]
    answers.questions += [*credit_signs(found, findings, amounts, said), *cut_end(found, findings, amounts, said)]
    answers.questions += [
        *half_years(found, said),
        *day_ties(found),
        *repeated_names(found, amounts),
        *hidden_sheet(found, amounts, said),
    ]
    nominated = () if found.across else found.nomination.questions
    answers.questions += nominated or over_time(found, settled, amounts, said)
    answers.open += [
        *mixed_forms(found),
        *grouped_rows(found),
        *unread_amounts(found, amounts, findings),
        *lost_figures(found, amounts),
    ]
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
        measures=list(measures_of(found, findings, said)),
        scenario=scenario,
        scenarios=scenarios,
        aliases=aliases,
        undated=len(found.table.sample.blanks(column)) if column else 0,
    )


def largest_of(found: TableProfile, amounts: Sequence[NumberColumn]) -> Decimal:
    """Return the largest amount of a table as it stands there."""
    held = exact_figures(found.table.sample.frame, amounts)
    return max(map(largest, held), default=Decimal(0))


def asked_factor(findings: Findings, heads: Mapping[str, int], most: Decimal) -> Findings:
    """Return the factor of amounts as a question, unless the heading of amounts says it with their currency."""
    for factor in findings.decided:
        if any(f"'{name}'" in factor.evidence and CURRENCY_IN.search(name) for name in heads):
            continue
        ways = (
            Reading({factor.key: "1"}, f"amounts as they stand: the largest is {most:,f}"),
            Reading(
                {factor.key: factor.value},
                f"amounts times {int(factor.value):,}: the largest is {most * int(factor.value):,f}",
            ),
        )
        return Findings(ambiguities=(Ambiguity(factor.key, factor.evidence, ways),))
    return findings


def measures_of(found: TableProfile, findings: Findings, said: FileAnswers) -> Iterator[MeasureColumn]:
    """Yield the measures of a table: of debits and credits or months across, else of each column of amounts."""
    notation = Notation(findings.value("numbers.decimal") or ".", findings.value("numbers.thousands") or "none")
    factor = Decimal(str(findings.value("numbers.factor") or 1))
    columns = amount_columns(found)
    if findings.value("amount") or found.across is not None:
        filled = None if findings.value("amount") else "amount"
        closing = said.over_time == CLOSING
        places = places_of(columns, notation, factor)
        yield MeasureColumn(key="amount", column=filled, is_money=True, places=places, is_closing=closing)
        return
    stocks = {one.name for one in columns if is_stock(found, one.name)} or {one.name for one in columns}
    for column in columns:
        is_money = not PLACES_WORDS.search(column.name)
        places = places_of([column], notation, factor)
        own = without_scenario(column.name)[1] if found.table.scenario else column.name
        key = "amount" if len(columns) == 1 else slug(own or column.name)
        key = f"{key}_amount" if key in TAKEN else key
        yield MeasureColumn(
            key=key,
            column=column.name,
            is_money=is_money,
            places=max(2, places) if is_money else places,
            currency=named_currency(column.name),
            is_closing=said.over_time == CLOSING and column.name in stocks,
        )


def places_of(columns: Sequence[NumberColumn], notation: Notation, factor: Decimal) -> int:
    """Return how many decimal places the amounts of some columns have in the sample.

    What computations left behind their digits does not count, nor, on a few of them, what they left beside cents: a
    load reads 924.0894000000001 as 924.0894, and 1.16E-10 as 0.
    """
    texts = [sign_of(text).digits for column in columns for text, _ in column.numbers]
    values = [(notation.value(digits) * factor).normalize() for digits in texts if notation.pattern.match(digits)]
    rounded = [value if (plain := without_residue(value, MOST_PLACES)) is None else plain for value in values]
    values = [plain.normalize() or value for plain, value in zip(rounded, values, strict=True)]
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
    profiled = found if left.table is found.table else profile_table(left.table, found.overrides)
    return replace(profiled, totals=left.findings, doubts=left.doubts)
