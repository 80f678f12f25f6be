"""Roles: what each column of a table is in the books - time, amount, account, scenario, a dimension, a name, a text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from engine.model.calendar.periods import Grain
from server.files.days import (
    DATE_WORDS,
    MONTH_WORDS,
    YEAR,
    YEAR_WORDS,
    MonthColumns,
)
from server.files.findings import Findings
from server.files.notation import amounts_in, words_of
from server.files.number_looks import CALENDAR_PART
from server.files.period_names import is_month_number
from server.files.sampling import SourceTable
from server.setup.codes import code_columns
from server.setup.column_profiles import AMOUNTS, FEW, ColumnProfile, ColumnRole, profile
from server.setup.figures import are_amounts
from server.setup.months import month_columns, sums_beside
from server.setup.nominations import Nomination, nominate
from server.setup.questions import OpenQuestion
from server.setup.words import CREDIT_WORDS, DEBIT_WORDS, named, scenario_kind, stem

CURRENCIES = re.compile(r"^[A-Z]{3}$")
BESIDE: Final = "a number beside months across"


WORDS: Final[Mapping[ColumnRole, re.Pattern[str]]] = {
    ColumnRole.SCENARIO: named("scenario|szenario|version|scénario|escenario|versie|ledger type|plan version|datenart"),
    ColumnRole.ACCOUNT: named(
        "account|accounts|konto|kontonr|kontonummer|sachkonto|gl|acct|compte|cuenta|conto|rekening|nominal|hauptbuchkonto|"
        "account code|line item|position|conta|konta|racct|hkont|saknr|comptenum|compte num|numéro de compte|kontonr"
    ),
    ColumnRole.CURRENCY: named("currency|curr|währung|waehrung|whg|devise|moneda|valuta|ccy"),
}
NAME_WORDS = re.compile(
    r"name|nome|nombre|nazwa|nimi|navn|namn|adı|text|bezeichnung|description|label|title|libell|intitul|descri|"
    r"denominaz|omschrijving|naam|beschriftung|(?<![^\W\d_])lib(?![^\W\d_])",
    re.IGNORECASE,
)
TEXT_WORDS = named(
    "text|memo|comment|comments|note|notes|remark|description|details|narrative|buchungstext|bemerkung|verwendungszweck|"
    "libellé|concept|reference|referenz|ref|document|doc|beleg|belegnr|belegnummer|voucher|invoice|journal|"
    "transaction|trans|entry|line|row|zeile|pos|uuid|guid"
)
OTHER_TIMES = named(
    "due|original|entry|entered|created|changed|modified|fällig|valuta|erfasst|document|beleg|text|value|bldat|cpudt"
)
OWN_TIMES = named("posting|posted|booking|buchung|buchungsdatum|accounting|gl|effective|period|paid|transaction|budat")
PLACES_WORDS = named(
    "number|units|unit|quantity|qty|menge|anzahl|hours|stunden|heads|headcount|fte|stück|pieces|count|volume"
)
RATE_WORDS = re.compile(
    r"(?<![a-z])(rate|kurs|price|preis|percent|prozent|share|anteil|ratio|weight|gewicht)s?(?![a-z])|%|percentage",
    re.IGNORECASE,
)
CALENDAR_WORDS = named("calendar|fiscal|quarter|semester|week|day|month|year|quartal|woche|tag|monat|jahr|halbjahr")
SIDES: Final = ({"s", "h"}, {"d", "c"}, {"dr", "cr"}, {"debit", "credit"}, {"soll", "haben"}, {"db", "cr"}, {"d", "k"})


class TableProfile(Struct, frozen=True, dict=True):
    """The columns of a table, what each is, and from what that was guessed."""

    table: SourceTable
    columns: Mapping[str, ColumnProfile]
    across: MonthColumns | None
    overrides: Mapping[str, ColumnRole] = {}  # roles that were answered
    codes: Mapping[str, str] = {}  # columns of numbers that are no amounts, each with what tells it
    totals: Findings = field(default_factory=Findings)  # the key that leaves out rows of totals; they are not profiled
    doubts: tuple[OpenQuestion, ...] = ()  # questions about rows that words alone call totals

    @property
    def name(self) -> str:
        """The name of the file or sheet."""
        return self.table.name

    @cached_property
    def roles(self) -> Mapping[str, tuple[ColumnRole, str]]:
        """The role of each column, and from what it was guessed."""
        answered = {column: (role, "answered") for column, role in self.overrides.items()}
        guessed = dict(guess_roles(self))
        if (line := line_column(self, guessed)) is not None:
            guessed[line] = (ColumnRole.ACCOUNT, f"a line of the table in each row; '{self.columns[line].values[0]}'")
        dimensions = {ColumnRole.ACCOUNT, ColumnRole.DIMENSION}
        ids = [name for name, (role, _) in guessed.items() if role in dimensions and not NAME_WORDS.search(name)]
        names = {name: (ColumnRole.NAME, f"each {key} has one") for key, name in name_columns(self, ids)}
        return guessed | names | answered

    def having(self, role: ColumnRole) -> list[str]:
        """Return the columns with a role."""
        return [column for column, (found, _) in self.roles.items() if found is role]

    def first(self, role: ColumnRole) -> str | None:
        """Return the first column with a role; None if there is none."""
        return next(iter(self.having(role)), None)

    @cached_property
    def sums(self) -> Mapping[str, str | None]:
        """The columns of amounts beside months across: of which months each is the sum; None if of none."""
        if self.across is None:
            return {}
        across = [number for name in self.across.names if (number := self.columns[name].number)]
        known = {*self.across.names, *self.overrides}
        rest = (one for name, one in self.columns.items() if name not in known)
        beside = [one.number for one in rest if one.number is not None and other_role(one)[0] is ColumnRole.AMOUNT]
        return dict(sums_beside(self.table.sample.frame, across, beside))

    @cached_property
    def nomination(self) -> Nomination:
        """Which columns of numbers are the amounts, as far as nobody answered it."""
        numbers = {
            name: one.number or amounts_in(self.table.sample, name)
            for name, one in self.columns.items()
            if name not in self.overrides and (is_side(one) or other_role(one)[0] is ColumnRole.AMOUNT)
        }
        is_answered = not AMOUNTS.isdisjoint(self.overrides.values())
        frame, within = self.table.sample.frame, self.table.heading
        return nominate(self.name, frame, numbers, frame[within] if within else None, is_answered=is_answered)

    @property
    def has_time(self) -> bool:
        """Whether its rows have a day, month or year."""
        return bool(self.first(ColumnRole.TIME) or self.first(ColumnRole.YEAR)) or self.across is not None

    @property
    def has_amounts(self) -> bool:
        """Whether its rows have amounts."""
        return bool(self.having(ColumnRole.AMOUNT) or self.first(ColumnRole.DEBIT)) or self.across is not None

    @property
    def keys(self) -> list[str]:
        """The columns in which each row has a text of its own."""
        return [column for column, found in self.columns.items() if found.is_key and found.day is None]


def profile_table(table: SourceTable, overrides: Mapping[str, ColumnRole] | None = None) -> TableProfile:
    """Return what the columns of a table are."""
    said = overrides or {}
    columns = {column: profile(table.sample, column, said.get(column)) for column in table.columns}
    codes = codes_among(table, columns, said)
    columns |= {name: replace(columns[name], number=None) for name in codes}
    across = month_columns(table.columns)
    amounts = {name: amounts_in(table.sample, name) for name in across.names} if across else {}
    if not any(map(are_amounts, amounts.values())):
        return TableProfile(table, columns, None, said, codes)
    columns |= {name: replace(columns[name], number=number) for name, number in amounts.items()}
    return TableProfile(table, columns, across, said, codes)


def codes_among(
    table: SourceTable, columns: Mapping[str, ColumnProfile], said: Mapping[str, ColumnRole]
) -> Mapping[str, str]:
    """Return the columns of numbers that are codes, each with what tells it; one that is answered is none."""
    numbers = {name: one.number for name, one in columns.items() if one.number and one.day is None and name not in said}
    wordy = [name for name, one in columns.items() if one.is_wordy]
    return dict(code_columns(table.sample.frame, numbers, wordy))


Guess = tuple[str, tuple[ColumnRole, str]]


def guess_roles(found: TableProfile) -> Iterator[Guess]:
    """Yield the role of each column of a table, and from what it was guessed."""
    columns = found.columns
    taken: dict[str, tuple[ColumnRole, str]] = {}
    if found.across:
        across = found.across.names
        taken |= dict.fromkeys(across, (ColumnRole.ACROSS, f"columns {across[0]} to {across[-1]} are months"))
    free = {name: one for name, one in columns.items() if name not in taken and name not in found.overrides}
    answered = {ColumnRole.TIME, ColumnRole.YEAR} & set(found.overrides.values())
    taken |= dict(time_roles(free, has_time=bool(found.across or answered), has_year=ColumnRole.YEAR in answered))
    if found.across is None:
        roles = (ColumnRole.DEBIT, ColumnRole.CREDIT)
        taken |= {name: (role, found.nomination.why) for name, role in zip(found.nomination.pair, roles, strict=False)}
    if (heading := found.table.heading) is not None:
        taken[heading] = (ColumnRole.ACCOUNT, f"it stands once above its rows; '{columns[heading].values[0]}'")
    named_ = named_roles({name: one for name, one in columns.items() if name not in taken})
    taken |= {name: role for name, role in named_ if heading is None or role[0] is not ColumnRole.ACCOUNT}
    for name, column in columns.items():
        role = taken.get(name) or other_role(column)
        if found.across is not None and role[0] in AMOUNTS:
            yield name, (ColumnRole.UNUSED, found.sums.get(name) or BESIDE)
        elif role[0] in AMOUNTS and (why := other_amount(name, role[0], taken, found)):
            yield name, (ColumnRole.UNUSED, f"not loaded: {why}; to load it, say columns: {{{name}: amount}}")
        elif name in found.codes and role[0] in {ColumnRole.DIMENSION, ColumnRole.TEXT}:
            yield name, (role[0], f"a code: {found.codes[name]}")
        else:
            yield name, role


def other_amount(
    name: str, role: ColumnRole, taken: Mapping[str, tuple[ColumnRole, str]], found: TableProfile
) -> str | None:
    """Return why a column of amounts is not loaded; None if it is."""
    said = {column: (one, "answered") for column, one in found.overrides.items()}
    sides = [column for column, (one, _) in {**taken, **said}.items() if one in {ColumnRole.DEBIT, ColumnRole.CREDIT}]
    if name in found.nomination.left:
        return found.nomination.left[name]
    answered = [column for column, one in found.overrides.items() if one is ColumnRole.AMOUNT]
    if sides and answered:
        return f"{', '.join(answered)} is answered as the amount"
    if role is ColumnRole.AMOUNT and sides:
        return f"the amount is {' less '.join(sides)}"
    if role is ColumnRole.AMOUNT and any(one is ColumnRole.SIDE for one, _ in taken.values()):
        amounts = (column for column, one in found.columns.items() if other_role(one)[0] is ColumnRole.AMOUNT)
        first = next(iter(answered), None) or next(amounts)
        return f"the side is that of {first}" if name != first else None
    return None


def time_roles(columns: Mapping[str, ColumnProfile], *, has_time: bool, has_year: bool) -> Iterator[Guess]:
    """Yield the column of the time, or those of year and month; other days are texts.

    Beside months across, or a time that is answered, there is a year at most.
    """
    days = [one for one in columns.values() if one.day is not None and one.day.grain is not Grain.YEAR]
    years, months = period_parts(columns)
    if has_time:
        yield from ((one.name, (ColumnRole.YEAR, f"its name and {one.values[0]}")) for one in years[: not has_year])
        yield from ((one.name, (ColumnRole.TEXT, "days beside the time")) for one in days)
        return
    if days:
        chosen = max([one for one in days if len(one.values) > 1] or days, key=time_score)
        shown = f"'{chosen.values[0]}' is a {chosen.day.grain.value if chosen.day else ''}"
        others = [one for one in days if one is not chosen]
        names = ", ".join(one.name for one in others)
        yield chosen.name, (ColumnRole.TIME, shown + (f"; not {names}" if others else ""))
        for one in others:
            same = f"every row has {one.values[0]}" if len(one.values) == 1 else f"days, and {chosen.name} is the time"
            yield one.name, (ColumnRole.TEXT, same)
    elif years:
        yield years[0].name, (ColumnRole.YEAR, f"its name and '{years[0].values[0]}'")
        if months:
            yield months[0].name, (ColumnRole.MONTH, f"its name and '{months[0].values[0]}'")


def period_parts(columns: Mapping[str, ColumnProfile]) -> tuple[list[ColumnProfile], list[ColumnProfile]]:
    """Return the columns of years and those of the numbers of months."""
    return [one for one in columns.values() if is_year(one)], [one for one in columns.values() if is_month(one)]


def time_score(column: ColumnProfile) -> tuple[int, int, int]:
    """Return how well a column of days fits as the time of the books: by its name, its fill, its grain."""
    words = words_of(column.name)
    by_name = 2 * bool(OWN_TIMES.search(words)) - 2 * bool(OTHER_TIMES.search(words)) + bool(DATE_WORDS.search(words))
    is_day = column.day is not None and column.day.grain is Grain.DATE
    return by_name, column.filled, int(is_day)


def is_year(column: ColumnProfile) -> bool:
    """Tell whether a column holds years and is named so."""
    years = bool(column.values) and all(map(YEAR.match, column.values))
    return years and bool(YEAR_WORDS.search(words_of(column.name)))


def is_month(column: ColumnProfile) -> bool:
    """Tell whether a column holds the numbers of months and is named so."""
    months = all(map(is_month_number, column.values))
    return bool(column.values) and months and bool(MONTH_WORDS.search(words_of(column.name)))


def named_roles(columns: Mapping[str, ColumnProfile]) -> Iterator[Guess]:
    """Yield the columns whose names say what they are: side, scenario, account, currency."""
    texts = {name: one for name, one in columns.items() if one.number is None and not one.is_empty}
    for name, one in texts.items():
        if len(one.values) == 2 and {value.lower() for value in one.values} in SIDES:
            yield name, (ColumnRole.SIDE, f"its texts are {one.values[0]} and {one.values[1]}")
            break
    for role in (ColumnRole.SCENARIO, ColumnRole.ACCOUNT, ColumnRole.CURRENCY):
        fits = [name for name in texts if WORDS[role].search(words_of(name))]
        if role is ColumnRole.CURRENCY:
            fits = [name for name in fits if all(map(CURRENCIES.match, columns[name].values))]
        if role is ColumnRole.ACCOUNT:
            fits.sort(key=lambda name: bool(NAME_WORDS.search(name)))
        if fits:
            yield fits[0], (role, f"its name; '{columns[fits[0]].values[0]}'")
    spoken = (name for name, one in texts.items() if len(one.values) <= FEW and all(map(scenario_kind, one.values)))
    if not any(WORDS[ColumnRole.SCENARIO].search(words_of(name)) for name in texts) and (found := next(spoken, None)):
        yield found, (ColumnRole.SCENARIO, f"its texts are {', '.join(texts[found].values[:3])}")


def other_role(column: ColumnProfile) -> tuple[ColumnRole, str]:
    """Return the role of a column that is nothing else: an amount, a dimension or a text."""
    if column.is_empty:
        return ColumnRole.UNUSED, "it is empty"
    words = words_of(column.name)
    if column.number is not None:
        if RATE_WORDS.search(words):
            return ColumnRole.UNUSED, "its name says that it is a rate, which does not add up"
        if CALENDAR_WORDS.search(words) and all(CALENDAR_PART.fullmatch(text) for text, _ in column.number.numbers):
            return ColumnRole.UNUSED, "its name says that it is a part of the calendar"
        return ColumnRole.AMOUNT, f"'{column.values[0]}' is a number"
    if column.is_key or not column.is_dimension or (TEXT_WORDS.search(words) and words.lower() != "name"):
        return ColumnRole.TEXT, f"{len(column.values)} different texts in {column.filled} rows"
    return ColumnRole.DIMENSION, f"{len(column.values)} different texts in {column.filled} rows"


def line_column(found: TableProfile, guessed: Mapping[str, tuple[ColumnRole, str]]) -> str | None:
    """Return the column that tells the rows of a report apart where nothing else does; None if something does.

    Its texts all differ, so that it looks like a remark: it is the first of codes with a name, else of words.
    """
    roles = {role for role, _ in guessed.values()}
    telling = [name for name, (role, _) in guessed.items() if role is ColumnRole.DIMENSION]
    timed = {ColumnRole.TIME, ColumnRole.YEAR, ColumnRole.ACCOUNT} & {*roles, *found.overrides.values()}
    if (
        timed
        or not (AMOUNTS | {ColumnRole.ACROSS}) & roles
        or any(len(found.columns[one].values) > 1 for one in telling)
    ):
        return None
    lines = [
        name
        for name, (role, _) in guessed.items()
        if role is ColumnRole.TEXT and 2 * len(found.columns[name].values) > found.columns[name].rows
    ]
    coded = [key for key, _ in name_columns(found, [name for name in lines if not found.columns[name].is_wordy])]
    return next(iter(coded or [name for name in lines if found.columns[name].is_wordy] or lines), None)


def is_side(column: ColumnProfile) -> bool:
    """Tell whether a column is one of debits or credits that no row has: its other side is filled."""
    words = words_of(column.name)
    return column.is_empty and bool(DEBIT_WORDS.search(words) or CREDIT_WORDS.search(words))


def is_name_of(column: str, key: str, columns: Sequence[str]) -> bool:
    """Tell whether a column may hold the names of an id, by its own name and its place."""
    beside = columns.index(column) == columns.index(key) + 1
    related = stem(key) in stem(column) or stem(column) in stem(key) or NAME_WORDS.fullmatch(column) or beside
    return bool(related and (NAME_WORDS.search(column) or stem(key) == stem(column)))


def name_columns(found: TableProfile, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield ids with the column of their names: one name for each id, and a name of the column that says so."""
    frame = found.table.sample.frame
    for key in ids:
        for column, one in found.columns.items():
            if column in ids or not one.is_wordy or not is_name_of(column, key, found.table.columns):
                continue
            pairs = frame.select(key, column).drop_nulls().unique()
            if (
                not pairs.is_empty()
                and pairs[key].n_unique() == pairs.height
                and pairs[column].n_unique() > pairs.height // 2
            ):
                yield key, column
                break
