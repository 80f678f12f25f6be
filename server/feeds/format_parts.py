"""The shape of the keys of integrations.yaml that say how an extract is written."""

import codecs
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from engine.instance.schema.common import QUOTE, Id, Ids, Key, OneOf, SchemaPart
from server.feeds.extract_formats import (
    BlankRule,
    ControlTotals,
    CreditSign,
    DateFormat,
    FillDown,
    NegativeStyle,
    RowSkip,
)

# CSV and where the table lies.


SEPARATORS = {",": ",", ";": ";", "|": "|", "tab": "\t"}
PLAIN_ENCODINGS = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "utf-16": "utf-16", "cp1252": "windows-1252"}  # by codec
NO_ROW, NO_MARK = "none", "none"


def name_tab(value: object) -> object:
    """Return the word for a tab."""
    return "tab" if value == "\t" else value


def known_encoding(value: str) -> str:
    """Return an encoding by the name that is used of it. Raises ValueError if Python has none so called for text."""
    try:
        codec = codecs.lookup(value)
        "".encode(value)
    except (LookupError, ValueError):  # of `undefined`, and of a name with a character that no name has
        says = "is no encoding that Python knows, such as utf-8, utf-16, windows-1252, cp1250 or shift_jis"
        raise ValueError(says) from None
    return PLAIN_ENCODINGS.get(codec.name, codec.name)


def as_rows(value: object) -> object:
    """Return the numbers of the rows with the column names: one number stands for a list, `none` for an empty one."""
    return [] if value == NO_ROW else value if isinstance(value, list) else [value]


HeaderRow = Annotated[
    list[Annotated[int, Field(ge=1)]],
    BeforeValidator(as_rows),
    WithJsonSchema(
        {"anyOf": [{"enum": [NO_ROW]}, {"type": "integer", "minimum": 1}, {"type": "array", "items": {"minimum": 1}}]}
    ),
]
RowCount = Annotated[int, Field(ge=0)]


class CsvPart(SchemaPart):
    """The dialect of CSV files."""

    separator: Annotated[str, OneOf(tuple(SEPARATORS)), BeforeValidator(name_tab)] | None = None
    """Mark between two columns: , ; | or tab."""
    quote: Annotated[str, Field(pattern=QUOTE)] | None = None
    """Mark around a value that holds the separator, or none; left out, a quotation mark."""
    encoding: Annotated[str, AfterValidator(known_encoding)] | None = None
    """Encoding of the text: utf-8, utf-16, windows-1252, or another that Python knows, such as cp1250."""
    header_row: HeaderRow | None = None
    """Row with the column names, as a spreadsheet numbers it; several are joined; none: the columns are A, B, C."""
    skip_rows: RowCount | None = None
    """Rows above the column names that are not read."""
    skip_footer: RowCount | None = None
    """Rows at the end that are not read."""

    @model_validator(mode="after")
    def says_where_once(self) -> "CsvPart":
        """Refuse rows to skip above a row of names that is numbered already."""
        if self.header_row and self.skip_rows:
            raise ValueError("says header_row, which skips the rows above it, and skip_rows: leave skip_rows out")
        return self


# Numbers, days and amounts.


class NumbersPart(SchemaPart):
    """How amounts are written."""

    decimal: Annotated[str, OneOf((".", ","))] | None = None
    """Mark before the decimal places."""
    thousands: Annotated[str, OneOf((",", ".", " ", "'", "none"))] | None = None
    """Mark between groups of three digits, or none; a space is any space."""
    negative: Annotated[str, OneOf(tuple(style.value for style in NegativeStyle))] | None = None
    """Negative amounts: minus -5, parentheses (5), trailing 5-; a leading minus is always read."""
    factor: Id | None = None
    """Decimal number that every amount is multiplied by, such as 1000000 for amounts in millions."""
    blank: Annotated[str, OneOf(tuple(rule.value for rule in BlankRule))] | None = None
    """An empty amount: none, no figure, which is counted; zero; reject; left out, reject."""
    none: Ids = Field(default_factory=list)
    """Texts that mean no figure, such as - or n/a."""

    @model_validator(mode="after")
    def tells_marks_apart(self) -> "NumbersPart":
        """Refuse one mark for decimal places and thousands."""
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(f"'{self.decimal}' is the mark of decimal and of thousands: give them two marks")
        return self


class AmountPart(SchemaPart):
    """A measure filled from debits and credits."""

    measure: Key | None = None
    """Measure that is filled; left out, the only one."""
    debit: Ids
    """Column of debits; with side, the texts that mark a debit."""
    credit: Ids = Field(default_factory=list)
    """Column of credits; with side, the texts that mark a credit, left out, every other text."""
    column: str | None = None
    """Column of amounts, where another says the side."""
    side: str | None = None
    """Column that says on which side the amount is."""
    credits: Annotated[str, OneOf(tuple(sign.value for sign in CreditSign))] | None = None
    """How credits are written; left out, positive, and a file whose credits are mostly negative is refused."""

    @model_validator(mode="after")
    def says_one_way(self) -> "AmountPart":
        """Hold it to two columns of amounts, or to one and a side."""
        if (self.column is None) != (self.side is None):
            raise ValueError("says column and side together, or debit and credit alone")
        if self.side is None and (len(self.debit) != 1 or len(self.credit) != 1):
            raise ValueError("says one column of debit and one of credit, or column and side")
        return self


# Rows and columns.


class UnpivotPart(SchemaPart):
    """Columns that become rows, such as months across."""

    columns: Ids
    """Columns: a list, a range such as Jan..Dec, or a pattern such as 2026-*."""
    into: str
    """Column that their names go into."""
    value: str
    """Column that their values go into."""
    year: Id | None = None
    """Year of columns that name months alone: a column of the extract or of from_name, or a year such as 2026."""


NAME_PART = re.compile(r"{([^{}]*)}")


class FromNamePart(SchemaPart):
    """Columns filled from the name of the file."""

    pattern: str
    """File name, with or without its ending, where {name} is a text that becomes a column; * is any text."""

    @model_validator(mode="after")
    def names_columns(self) -> "FromNamePart":
        """Hold the pattern to names that can be told apart."""
        names = NAME_PART.findall(self.pattern)
        if not names or any(not re.fullmatch(r"[a-z_][a-z0-9_]*", name) for name in names):
            raise ValueError("has no names in braces, such as {year}: lower-case letters, digits and _")
        if len(set(names)) < len(names):
            raise ValueError("names a column twice")
        if re.search(r"[}*][{*]", self.pattern):
            raise ValueError("has two names without a mark between them, so nobody can say where the first ends")
        return self


class FormatPart(SchemaPart):
    """Keys that a source gives as defaults of its feeds, and a feed for itself."""

    csv: CsvPart | None = None
    """Dialect of CSV files."""
    numbers: NumbersPart | None = None
    """How amounts are written."""
    dates: DateFormat | None = None
    """How days are written."""


class ExtractPart(FormatPart):
    """Keys of a feed that say how its extract is written."""

    header_row: HeaderRow | None = None
    """folder: row of a workbook's sheet with the column names, as the spreadsheet numbers it; several are joined."""
    amount: AmountPart | None = None
    """Measure filled from debits and credits."""
    skip: RowSkip | None = None
    """Rows that are left out and counted."""
    fill_down: FillDown | None = None
    """Headings inside the extract that hold for the rows below, such as an account above its postings."""
    control_totals: ControlTotals | None = None
    """Sums that a file holds of itself, to which a load holds it."""
    unpivot: UnpivotPart | None = None
    """Columns that become rows."""
    from_name: FromNamePart | None = None
    """folder: columns filled from the name of the file."""
    sql: str | None = None
    """folder: one SELECT over the tables that file names, whose rows are the extract; amounts stay text."""
    constant: dict[str, Id] = Field(default_factory=dict)
    """Column of the live table to the text that fills it in every row."""
