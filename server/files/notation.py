"""Notations: how the amounts of a file are written, found from their texts; two ways that both fit are told apart."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from msgspec import Struct

from server.files.findings import Ambiguity, Finding, Findings, Reading, SampleTable, at_row, located

NONE_WORDS: Final = frozenset(
    [
        "-",
        "–",
        "—",
        "--",
        "---",
        ".",
        "n/a",
        "n.a.",
        "na",
        "n/v",
        "k.a.",
        "nil",
        "none",
        "null",
        "nan",
        "#missing",
        "#mi",
        "missing",
    ]
)
FORMULA_FAULT = r"^#([A-Z/0-9]+[!?]|N/A|NV)$"  # of a formula that failed, in English or German
SPACES = " \u00a0\u202f"
MARKS: Final = {",": ",", ".": ".", " ": SPACES, "'": "'’", "none": ""}
MOST_NUMBERS = 0.6  # share of the texts of a column of amounts that are numbers at least
ID_WORDS = re.compile(
    r"(^|[\s_-])(account|konto|kontonummer|acct|id|ids|code|nr|no|num|number|key|nummer|numéro|compte|centre|center|"
    r"kst|kostenstelle|zip|plz|phone|iban|beleg|document|doc|journal|invoice|voucher|po|period|periode|year|jahr|"
    r"month|monat|line|row|zeile|ref|reference|cuenta|conto|rekening|kreditor|debitor|vendor|supplier|customer|"
    r"conta|código|codigo|documento|número|numero|numer|konta|rok|ano|año|anno|année|exercice|exercício|ejercicio)"
    r"($|[\s_.-])",
    re.IGNORECASE,
)
PERIOD_WORDS: Final = re.compile(
    r"(^|[\s_-])(period|periode|year|jahr|month|monat|ano|año|anno|année|exercice|exercício|ejercicio)($|[\s_.-])",
    re.IGNORECASE,
)
AMOUNT_WORDS = re.compile(
    r"amount|betrag|value|wert|montant|importe|importo|bedrag|balance|saldo|total|sum|summe|debit|credit|soll|haben|"
    r"débit|crédit|debe|haber|dare|avere|net|gross|netto|brutto|cost(?![\s_-]*cent)|price|revenue|sales|umsatz|"
    r"quantity|qty|menge|units|hours|heads|headcount|fte|eur|usd|gbp|chf|budget|actual",
    re.IGNORECASE,
)
LAKHS: Final = r"\d{1,2}(?:,\d{2})+,\d{3}"  # 12,34,567: groups of two digits above the thousands, as in India
FACTORS: Final = (  # what a title or a name of a column says of the size of amounts
    (
        re.compile(r"\b(in\s+|en\s+)?(\w{3}\s+)?(billions?|mrd\.?|milliarden|milliards?)\b", re.IGNORECASE),
        1_000_000_000,
    ),
    (
        re.compile(
            r"\b(millions?|mio\.?|mln\.?|millionen)\b|[€$£]\s?m\b|(?-i:\b[A-Z]{3}\s?[mM]\b)|\bm\s?(EUR|USD|GBP|CHF|€)",
            re.IGNORECASE,
        ),
        1_000_000,
    ),
    (
        re.compile(
            r"\b(thousands?|tsd\.?|tausend|milliers?)\b|\bT(EUR|USD|CHF|€)|[€$£]\s?k\b|\bk\s?(EUR|USD|GBP|€)|[€$£]\s?['’]?000s?\b|['’]000\b",
            re.IGNORECASE,
        ),
        1_000,
    ),
)


class Notation(Struct, frozen=True):
    """A mark of the decimal places and one of the thousands."""

    decimal: str
    thousands: str  # none if there is none

    @property
    def pattern(self) -> re.Pattern[str]:
        """The numbers without a sign that are written so."""
        point, marks = re.escape(self.decimal), MARKS[self.thousands]
        plain = rf"\d+({point}\d*)?|{point}\d+"
        scientific = rf"\d+({point}\d+)?[eE][+-]?\d+"
        grouped = rf"|\d{{1,3}}([{re.escape(marks)}]\d{{3}})+({point}\d*)?([eE][+-]?\d+)?" if marks else ""
        lakhs = rf"|{LAKHS}({point}\d*)?" if self.thousands == "," else ""
        return re.compile(rf"^({plain}|{scientific}{grouped}{lakhs})$")

    def value(self, digits: str) -> Decimal:
        """Return a number without a sign that is written so."""
        for mark in MARKS[self.thousands]:
            digits = digits.replace(mark, "")
        return Decimal(digits.replace(self.decimal, "."))

    @property
    def keys(self) -> dict[str, str]:
        """The keys that say so, without those that say what is usual."""
        keys = {} if self.decimal == "." else {"numbers.decimal": self.decimal}
        return keys if self.thousands == "none" else keys | {"numbers.thousands": self.thousands}


NOTATIONS: Final = tuple(
    Notation(decimal, thousands) for thousands in MARKS for decimal in (".", ",") if decimal != thousands
)
PLAIN_FIRST: Final = tuple(sorted(NOTATIONS, key=lambda one: (one.thousands != "none", one.decimal != ".")))
PATTERNS: Final = {notation: notation.pattern for notation in PLAIN_FIRST}


class SignedText(Struct, frozen=True):
    """A text that may be a number: its digits, and how it says that it is negative."""

    digits: str
    negative: str | None  # minus, parentheses or trailing; None if it is not


def sign_of(text: str) -> SignedText:
    """Return the digits of a text and its sign."""
    text = text.strip(SPACES)
    if text.startswith("(") and text.endswith(")"):
        return SignedText(text[1:-1].strip(SPACES), "parentheses")
    if text.endswith(("-", "−")):
        return SignedText(text[:-1].strip(SPACES), "trailing")
    if text.startswith(("-", "−")):
        return SignedText(text[1:].strip(SPACES), "minus")
    return SignedText(text.removeprefix("+"), None)


def notations_of(text: str) -> frozenset[Notation]:
    """Return the notations in which a text is a number."""
    digits = sign_of(text).digits
    return frozenset(notation for notation, pattern in PATTERNS.items() if pattern.match(digits))


def is_none_word(text: str) -> bool:
    """Tell whether a text stands for no figure."""
    return text.strip().casefold() in NONE_WORDS


class NumberColumn(Struct, frozen=True):
    """A column of amounts: its distinct numbers and the other texts, each with its first row."""

    name: str
    numbers: tuple[tuple[str, int | None], ...]
    others: tuple[tuple[str, int | None], ...]
    blank: int | None  # first row in which it is empty; None if it is nowhere
    has_blank: bool


def amounts_in(sample: SampleTable, column: str) -> NumberColumn:
    """Return a column as one of amounts, whatever its name is and however few of its texts are numbers."""
    pairs = list(sample.texts(column).select("text", "row").iter_rows())
    numbers = tuple(pair for pair in pairs if notations_of(pair[0]))
    others = tuple(pair for pair in pairs if not notations_of(pair[0]))
    blanks = sample.blanks(column)
    return NumberColumn(column, numbers, others, None if blanks.is_empty() else blanks[0], not blanks.is_empty())


def number_column(sample: SampleTable, column: str) -> NumberColumn | None:
    """Return a column as one of numbers; None if most of its texts are none, or it holds ids."""
    found, times = amounts_in(sample, column), dict(sample.texts(column).select("text", "times").iter_rows())
    hits = sum(times[text] for text, _ in found.numbers)
    rest = sum(times[text] for text, _ in found.others if not is_none_word(text))
    is_number = hits and hits >= MOST_NUMBERS * (hits + rest)
    return found if is_number and not holds_ids(column, [text for text, _ in found.numbers]) else None


def holds_ids(column: str, numbers: Sequence[str]) -> bool:
    """Tell whether numbers are ids: padded with zeros, or named so."""
    whole = all(re.fullmatch(r"\d+([.,]0+)?", text) for text in numbers)
    padded = any(re.fullmatch(r"0\d+", text) for text in numbers)
    if AMOUNT_WORDS.search(column):
        return False
    words = words_of(column)
    if not whole and PERIOD_WORDS.search(words):
        return False  # a year or a month with decimal places is the heading of amounts
    return (whole and padded) or bool(ID_WORDS.search(words))


def words_of(name: str) -> str:
    """Return a column name with its words set apart, so that AccountKey reads Account Key."""
    return re.sub(r"(?<=[a-zäöüéè])(?=[A-ZÄÖÜ])", " ", name)


def detect_numbers(columns: Sequence[NumberColumn], notations: Sequence[Notation] = PLAIN_FIRST) -> Findings:
    """Return the keys of `numbers` by which every number of some columns is read, in one of some notations.

    An ambiguity if a text means two numbers in two notations that both fit all of them, or if no notation fits all.
    """
    texts = [(column.name, text, row) for column in columns for text, row in column.numbers]
    left = [notation for notation in notations if all(PATTERNS[notation].match(sign_of(t).digits) for _, t, _ in texts)]
    if texts and not left:
        return Findings(ambiguities=(conflict(texts),)).and_(*sign_and_blank_findings(columns))
    if not left:
        return Findings()
    first = left[0]
    other = next(((one, where) for one in left[1:] if (where := first_difference(first, one, texts))), None)
    if other is not None:
        ambiguity = between(other[1], (first, other[0]))
        return Findings(ambiguities=(ambiguity,)).and_(*sign_and_blank_findings(columns))
    decided = tuple(Finding(key, value, deciding(key, first, texts)) for key, value in first.keys.items())
    return Findings(decided).and_(*sign_and_blank_findings(columns))


def point_findings(columns: Sequence[NumberColumn]) -> Findings:
    """Return that a point is the mark of decimal places, where a number says so: others of its files may not."""
    for column in columns:
        for text, row in column.numbers:
            if {notation.decimal for notation in notations_of(text)} == {"."}:
                return Findings((Finding("numbers.decimal", ".", located(column.name, [(text, row)])),))
    return Findings()


Place = tuple[str, str, int | None]  # column, text, row


def first_difference(one: Notation, other: Notation, texts: Iterable[Place]) -> Place | None:
    """Return the first text that means another number in another notation."""
    for place in texts:
        digits = sign_of(place[1]).digits
        if one.value(digits) != other.value(digits):
            return place
    return None


def between(place: Place, notations: Iterable[Notation]) -> Ambiguity:
    """Return the ambiguity of a text between two notations."""
    column, text, row = place
    signed = sign_of(text)
    readings = []
    for notation in notations:
        value = -notation.value(signed.digits) if signed.negative else notation.value(signed.digits)
        keys = {"numbers.decimal": notation.decimal, "numbers.thousands": notation.thousands}
        readings.append(Reading(keys, f"{value:f}"))
    return Ambiguity("numbers.decimal", located(column, [(text, row)]), tuple(readings))


def conflict(texts: Sequence[Place]) -> Ambiguity:
    """Return the ambiguity of texts that no one notation reads: the first two that contradict each other."""
    first = texts[0]
    fitting = notations_of(first[1])
    for place in texts:
        shared = fitting & notations_of(place[1])
        if not shared:
            mark = min(fitting, key=PLAIN_FIRST.index)
            other = min(notations_of(place[1]), key=PLAIN_FIRST.index)
            both = f"{located(first[0], [first[1:]])} and {located(place[0], [place[1:]])}"
            readings = (
                Reading(
                    {"numbers.decimal": mark.decimal},
                    f"only the first is a number, {mark.value(sign_of(first[1]).digits):f},",
                ),
                Reading(
                    {"numbers.decimal": other.decimal},
                    f"only the second is a number, {other.value(sign_of(place[1]).digits):f},",
                ),
            )
            return Ambiguity("numbers.decimal", both, readings)
        if shared != fitting:
            first, fitting = place, shared
    return between(first, (PLAIN_FIRST[0], PLAIN_FIRST[1]))


def deciding(key: str, notation: Notation, texts: Iterable[Place]) -> str:
    """Return the first text that is no number without what a key says of its notation."""
    without = Notation(notation.decimal, "none") if key == "numbers.thousands" else PLAIN_FIRST[0]
    plain = PATTERNS[without]
    first = next((place for place in texts if not plain.match(sign_of(place[1]).digits)), None)
    return located(first[0], [first[1:]]) if first else f"written with {notation.decimal}"


def sign_and_blank_findings(columns: Iterable[NumberColumn]) -> Iterator[Findings]:
    """Yield how negative numbers and empty amounts are written, if not as usual."""
    for column in columns:
        for text, row in column.numbers:
            style = sign_of(text).negative
            if style in {"parentheses", "trailing"}:
                yield Findings((Finding("numbers.negative", style, located(column.name, [(text, row)])),))
                break
    words = [(column.name, text, row) for column in columns for text, row in column.others if is_none_word(text)]
    if words:
        shown = located(words[0][0], [words[0][1:]])
        yield Findings((Finding("numbers.none", list(dict.fromkeys(text for _, text, _ in words)), shown),))
    blank = next((column for column in columns if column.has_blank), None)
    if blank is not None:
        where = f"{blank.name} is empty in {at_row(blank.blank)}"
        yield Findings((Finding("numbers.blank", "none", where),))
    elif words:
        yield Findings((Finding("numbers.blank", "none", "as the texts that mean no figure"),))


def detect_factor(titles: Iterable[tuple[int, str]], columns: Mapping[str, int]) -> Findings:
    """Return the factor that a title, or a column of amounts, says; `columns` have the row of their names."""
    places = [*titles, *((row, name) for name, row in columns.items())]
    for row, text in places:
        for pattern, factor in FACTORS:
            if pattern.search(text):
                return Findings((Finding("numbers.factor", str(factor), f"row {row}: '{text}'"),))
    return Findings()
