"""The proposal: books made of some tables - domains, dimensions, members, trees and a first statement."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from engine.instance.reading.domains import TAKEN
from engine.model.calendar.periods import Grain
from engine.model.catalogue import CONTRIBUTION
from server.files.findings import Finding, written_keys
from server.files.number_looks import has_places, without_number
from server.files.sampling import SourceTable
from server.setup.alike import with_parts
from server.setup.answers import Answers
from server.setup.column_profiles import AMOUNTS, ColumnRole
from server.setup.dimensions import (
    ColumnUse,
    DimensionProposal,
    Guess,
    dimension_columns,
    dimension_key,
    ids_of,
    propose_dimension,
)
from server.setup.facts import GRAIN_COLUMNS, FactsTable, facts_table, profile_facts
from server.setup.grouped import without_groups
from server.setup.journals import find_journal
from server.setup.lacks import lack_of_facts, unloaded_amounts
from server.setup.marks import unit_questions, without_marks
from server.setup.periods import said_periods, unread_time
from server.setup.roles import TableProfile, profile_table
from server.setup.scenarios_across import split_by_scenario
from server.setup.spellings import with_one_spelling
from server.setup.trees import flat_tree
from server.setup.words import currencies_in, slug, title
from server.setup.written_periods import with_plain_periods

NO_CURRENCY: Final = "XXX"  # ISO 4217's code of no currency
MOST_TEXTS: Final = 4  # columns of texts that inspection shows
COARSE: Final = (Grain.DATE, Grain.MONTH, Grain.QUARTER, Grain.YEAR)


class NoBooks(ValueError):
    """Tables hold no facts; the message says what they lack."""


@dataclass(kw_only=True)
class DomainProposal:
    """A domain and the tables that are loaded into it."""

    key: str
    label: str
    grain: Grain
    tables: list[FactsTable]
    dimensions: dict[str, DimensionProposal] = field(default_factory=dict)
    columns: dict[str, dict[str, str]] = field(default_factory=dict)  # table to dimension key to column
    texts: dict[str, str] = field(default_factory=dict)  # key to column
    currency: str | None = None  # key of the dimension of currencies, if there are several

    @property
    def statement(self) -> str:
        """The key of its first statement, which is not that of the domain."""
        return f"{self.key}_statement"

    @property
    def time_column(self) -> str:
        """The column of the time in the live table."""
        return GRAIN_COLUMNS[self.grain]

    @property
    def main(self) -> DimensionProposal | None:
        """The dimension whose tree the first statement shows: that of the accounts, else the first with a tree."""
        trees = [one for one in self.dimensions.values() if one.tree is not None]
        return next((one for one in trees if one.key == "account"), trees[0] if trees else None)


@dataclass(kw_only=True)
class BooksProposal:
    """Everything that an instance is written from."""

    name: str
    currency: str
    fiscal_year: Mapping[str, Any] | None
    domains: list[DomainProposal]
    scenarios: dict[str, str]  # id to alias
    guesses: list[Guess]
    unused: list[str]  # tables that nothing is loaded from


def propose(tables: Sequence[SourceTable], answers: Answers, name: str) -> BooksProposal:
    """Return books made of some tables. What stays open is noted in the answers; NoBooks if no table holds facts."""
    answers.open, answers.questions = [], []
    answers.check_names({table.name: table.columns for table in tables})
    guesses: list[Guess] = []
    readable = with_parts(list(split_tables(readable_tables(tables, answers), answers, guesses)))
    profiles = with_journal([profile_of(table, answers) for table in readable], answers, guesses)
    kinds = {found.name: answers.of(found.name).kind for found in profiles}
    facts = [found for found in profiles if is_facts(found, kinds[found.name])]
    facts = facts or [found for found in profiles if kinds[found.name] is None and is_dated(found)]
    members = [found for found in profiles if found not in facts and kinds[found.name] in (None, "members")]
    if not facts:
        raise NoBooks(lack_of_facts(profiles))
    proposed = [facts_table(found, answers, members, is_only=len(facts) == 1) for found in facts]
    used: set[str] = set()
    domains = unlike([propose_domain(group, guesses) for group in grouped(proposed)])
    fill_dimensions(domains, members, used, guesses)
    for table in proposed:
        guesses += table_guesses(table)
    for found in (found for found in members if kinds[found.name] is None):
        answers.questions += unloaded_amounts(found, guesses, is_used=found.name in used)
    scenarios = scenario_aliases(proposed)
    return BooksProposal(
        name=answers.books.get("name") or name,
        currency=guess_currency(facts, answers, guesses),
        fiscal_year=answers.books.get("fiscal_year"),
        domains=domains,
        scenarios=scenarios,
        guesses=guesses,
        unused=[
            *(found.name for found in members if found.name not in used),
            *(table.name for table in tables if answers.of(table.name).kind == "unused"),
        ],
    )


def readable_tables(tables: Sequence[SourceTable], answers: Answers) -> Iterator[SourceTable]:
    """Yield the tables that are used. Raises NoBooks for one that cannot be read, and that nobody left out."""
    for table in tables:
        is_unused = answers.of(table.name).kind == "unused"
        if table.fault is not None and not is_unused:
            raise NoBooks(f"{table.fault}, or say files: {{'{table.name}': {{is: unused}}}} with --answers FILE")
        if not is_unused:
            answers.questions += unit_questions(table, answers.of(table.name))
            yield with_plain_periods(without_marks(table), has_months=answers.fiscal_start == 1)


def split_tables(tables: Iterable[SourceTable], answers: Answers, guesses: list[Guess]) -> Iterator[SourceTable]:
    """Yield tables, one for each scenario whose amounts stand across."""
    for table in tables:
        split = split_by_scenario(table, answers.of(table.name))
        guesses += split.guesses
        answers.questions += split.questions
        yield from split.tables


def profile_of(table: SourceTable, answers: Answers) -> TableProfile:
    """Return what the columns of a table are, without rows of totals if it holds facts."""
    said = answers.of(table.name)
    long = without_groups(table, said.totals)
    roles = {column: role for column, role in said.columns.items() if column in long.table.columns}
    found = profile_table(long.table, roles)
    if not found.has_amounts:
        return found
    spelt = with_one_spelling(found, said.ids)
    found = profile_facts(found if spelt.table is found.table else profile_table(spelt.table, roles), said.totals)
    doubts = (*long.doubts, *spelt.doubts, *found.doubts)
    return replace(found, doubts=doubts) if doubts != found.doubts else found


def with_journal(profiles: list[TableProfile], answers: Answers, guesses: list[Guess]) -> list[TableProfile]:
    """Return tables with the lines and the headers of a journal as one. Raises NoBooks if no feed can read both."""
    journal = find_journal(profiles)
    if journal is None:
        return profiles
    if fault := journal.fault:
        raise NoBooks(fault)
    evidence = f"{journal.header_key} is in both, and {journal.time} here alone"
    guesses.append(Guess(table=journal.headers.name, what=f"headers of {journal.lines.name}", evidence=evidence))
    rest = [found for found in profiles if found not in (journal.lines, journal.headers)]
    return [*rest, profile_of(journal.table(), answers)]


def is_facts(found: TableProfile, kind: str | None) -> bool:
    """Tell whether a table holds facts: it has amounts, and a time or no key of its own."""
    if kind is not None:
        return kind == "facts"
    return found.has_amounts and (found.has_time or not found.keys)


def is_dated(found: TableProfile) -> bool:
    """Tell whether a table has amounts, and its name and titles say one period: that of all its rows."""
    numbers = [one for role in AMOUNTS for name in found.having(role) if (one := found.columns[name].number)]
    is_placed = any(has_places(text) for one in numbers for text, _ in one.numbers)
    return is_placed and unread_time(found) is None and len(dict(said_periods(found))) == 1


def grouped(tables: Sequence[FactsTable]) -> list[list[FactsTable]]:
    """Return tables of facts in groups, each for one domain: those with the same measures and a common account."""
    groups: list[list[FactsTable]] = []
    for table in tables:
        for group in groups:
            if fits(group[0], table):
                group.append(table)
                break
        else:
            groups.append([table])
    return groups


def fits(one: FactsTable, other: FactsTable) -> bool:
    """Tell whether two tables hold facts of one domain."""
    same_measures = {m.key for m in one.measures} == {m.key for m in other.measures}
    if set(one.found.columns) == set(other.found.columns):
        return same_measures
    splits = [table.found.table.scenario is not None for table in (one, other)]
    if beside_amounts(one) == beside_amounts(other) and one.scenario != other.scenario:
        return same_measures and (all(splits) or len(one.measures) == 1)  # alike but for the names of amounts
    accounts = one.found.first(ColumnRole.ACCOUNT) and other.found.first(ColumnRole.ACCOUNT)
    return bool(accounts) and same_measures and one.scenario != other.scenario and not any(splits)


def beside_amounts(table: FactsTable) -> set[str]:
    """Return the columns of a table without those of its amounts."""
    across = table.found.across.names if table.found.across else ()
    return set(table.found.columns) - {measure.column for measure in table.measures} - set(across)


def propose_domain(tables: list[FactsTable], guesses: list[Guess]) -> DomainProposal:
    """Return the domain of some tables of facts, without the members and trees of its dimensions."""
    grain = max((table.grain for table in tables), key=COARSE.index)
    stems = [re.sub(r"\.\w+$|\.\w+(?= \[)|[\[\]]", "", table.name) for table in tables]
    label = title(stems[0] if len(stems) == 1 else common_start(stems))
    domain = DomainProposal(key=slug(label), label=label, grain=grain, tables=tables)
    for table in tables:
        columns = domain.columns[table.name] = {}
        for column in dimension_columns(table.found):
            role = table.found.roles[column][0]
            if role is ColumnRole.CURRENCY and len(table.found.columns[column].values) == 1:
                continue
            key = role.value if role in {ColumnRole.ACCOUNT, ColumnRole.CURRENCY} else dimension_key(column)
            domain.currency = key if role is ColumnRole.CURRENCY else domain.currency
            columns[key] = column
        for column in table.found.having(ColumnRole.TEXT):
            if len(domain.texts) < MOST_TEXTS and not table.found.columns[column].is_empty:
                domain.texts.setdefault(text_key(column, domain), column)
        if table.grain is not grain:
            what = f"time by {grain.value}, not by {table.grain.value}"
            guesses.append(
                Guess(table=table.name, what=what, evidence=f"{domain.label} also has tables by {grain.value}")
            )
    return domain


def fill_dimensions(
    domains: Sequence[DomainProposal], members: Sequence[TableProfile], used: set[str], guesses: list[Guess]
) -> None:
    """Give domains their dimensions, each made once of all columns that fill it."""
    uses: dict[str, list[ColumnUse]] = {}
    for domain in domains:
        for table in domain.tables:
            for key, column in domain.columns[table.name].items():
                uses.setdefault(key, []).append(ColumnUse(table, column))
    made = {key: propose_dimension(key, columns, members, used, guesses) for key, columns in uses.items()}
    for domain in domains:
        keys = dict.fromkeys(key for table in domain.tables for key in domain.columns[table.name])
        domain.dimensions = {key: made[key] for key in keys}
        if domain.main is not None:
            continue
        for dimension in domain.dimensions.values():
            names = dict(dimension.members.rows) if dimension.members else {}
            dimension.tree = flat_tree(dimension.label, ids_of(uses[dimension.key]), names)
            if dimension.tree is not None:
                break


def unlike(domains: list[DomainProposal]) -> list[DomainProposal]:
    """Return domains with keys that differ from each other."""
    for number, domain in enumerate(domains, 1):
        if any(domain.key == other.key for other in domains[: number - 1]):
            domain.key = f"{domain.key}_{number}"
    return domains


def common_start(stems: Sequence[str]) -> str:
    """Return what the names of files begin with, the first name if that is nothing."""
    first, last = min(stems), max(stems)
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return without_number(first[:same]) or stems[0]


def text_key(column: str, domain: DomainProposal) -> str:
    """Return the key of a text column, unlike those of dimensions, measures and what all facts have."""
    key = slug(column)
    taken = {
        *(*TAKEN, CONTRIBUTION),
        *(key for columns in domain.columns.values() for key in columns),
        domain.time_column,
        *(m.key for t in domain.tables for m in t.measures),
    }
    return f"{key}_text" if key in taken else key


# What all tables say together.


def scenario_aliases(tables: Sequence[FactsTable]) -> dict[str, str]:
    """Return the scenarios of all tables with their aliases, actuals first."""
    found: dict[str, str] = {}
    for table in tables:
        for scenario, alias in table.aliases.items():
            found.setdefault(scenario, alias)
    return dict(sorted(found.items(), key=lambda pair: not pair[0].startswith("actual")))


def guess_currency(facts: Sequence[TableProfile], answers: Answers, guesses: list[Guess]) -> str:
    """Return the currency of the books: answered, of the only currency in a column, named in a title or a heading."""
    if said := answers.books.get("currency"):
        return str(said)
    for found in facts:
        column = found.first(ColumnRole.CURRENCY)
        if column is not None and len(found.columns[column].values) == 1:
            code = found.columns[column].values[0]
            guesses.append(Guess(table=found.name, what=f"currency {code}", evidence=f"every {column}"))
            return code
    counted: Counter[str] = Counter()
    for found in facts:
        texts = [*(text for _, text in found.table.titles), *found.columns, found.name]
        for text in texts:
            counted.update(currencies_in(text))
    if len(counted) == 1:
        (code,) = counted
        guesses.append(Guess(table=facts[0].name, what=f"currency {code}", evidence="named in a title or a heading"))
        return code
    says = "no file names one; XXX means none: set currency in instance.yaml"
    guesses.append(Guess(table=facts[0].name, what=f"currency {NO_CURRENCY}", evidence=says))
    return NO_CURRENCY


def table_guesses(table: FactsTable) -> list[Guess]:
    """Return what was guessed of a table of facts: its keys, its columns, its scenario."""
    found = table.findings
    guesses = [Guess(table=table.name, what=written(finding), evidence=finding.evidence) for finding in found.decided]
    if table.period is not None:
        guesses.append(Guess(table=table.name, what=written(table.period), evidence=table.period.evidence))
    for column, (role, evidence) in table.found.roles.items():
        if role is not ColumnRole.ACROSS:
            guesses.append(Guess(table=table.name, what=f"{column}: {role.value}", evidence=evidence))
    if table.scenario:
        guesses.append(Guess(table=table.name, what=f"scenario {table.scenario}", evidence="of every row"))
    return guesses


def written(finding: Finding) -> str:
    """Return a key with its value."""
    return written_keys({finding.key: finding.value})
