"""How the extract of a feed is written: CSV dialect, heading, numbers, dates, rows to skip, columns that become rows.

A field that is None was left out of integrations.yaml; a load then takes the plain form. What names nothing outside its
own block is the class of the file: DateFormat, RowSkip.
"""

from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal

from msgspec import Struct, field
from pydantic import Field, model_validator

from engine.instance.schema.common import Flag, Id, Ids, Key, SchemaPart

SERIAL_1900, SERIAL_1904 = "serial", "serial-1904"  # date formats: days since 1899-12-30 and since 1904-01-01
DIRECTIVES: Mapping[str, str] = {  # of other date formats, with the pattern of the texts that each reads
    "Y": r"[0-9]{4}", "y": r"[0-9]{2}", "m": r"[0-9]{1,2}", "d": r"[0-9]{1,2}", "e": r"[0-9]{1,2}", "j": r"[0-9]{1,3}",
    **dict.fromkeys("aAbB", r"\p{L}+"), "F": r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "H": r"[0-9]{1,2}", "M": r"[0-9]{2}",
    "S": r"[0-9]{2}", ".f": r"\.[0-9]{1,9}", **dict.fromkeys("pIfzZT", ".+"),
}  # fmt: skip
OF_DAYS = "dejF"  # directives that name a day, not only its month


class TableLayout(Struct, frozen=True, kw_only=True):
    """Where a table lies in its file or sheet. Rows are numbered as a spreadsheet numbers them, from 1."""

    header_rows: tuple[int, ...] | None = None  # rows with the column names; () if there are none
    skip_rows: int | None = None  # rows above the table
    skip_footer: int | None = None  # rows below it


class CsvFormat(Struct, frozen=True, kw_only=True):
    """The dialect of a CSV file."""

    separator: str | None = None
    quote: str | None = None  # empty if nothing is quoted
    encoding: str | None = None
    layout: TableLayout = field(default_factory=TableLayout)


class NegativeStyle(Enum):
    """How a negative number is written; a leading minus is read in every style."""

    MINUS = "minus"  # -1,234
    PARENTHESES = "parentheses"  # (1,234)
    TRAILING = "trailing"  # 1,234-


class BlankRule(Enum):
    """What an empty amount means."""

    NONE = "none"  # no figure: counted, and not rejected
    ZERO = "zero"
    REJECT = "reject"


class NumberFormat(Struct, frozen=True, kw_only=True):
    """How the amounts of an extract are written."""

    decimal: str | None = None
    thousands: str | None = None  # empty if there are no separators
    negative: NegativeStyle | None = None
    factor: Decimal | None = None  # every amount is multiplied by it
    blank: BlankRule | None = None
    none: tuple[str, ...] = ()  # texts that mean no figure


class DateFormat(SchemaPart):
    """How days are written."""

    format: str | None = None
    """Format such as %d.%m.%Y, %d/%m/%y, %Y%m or %b-%y; serial: the number that a spreadsheet stores for a day."""
    months: Annotated[list[Id], Field(min_length=12, max_length=12)] | None = None
    """Names of the twelve months that %b and %B read; left out, the English ones."""
    year: str | None = None
    """Column with the year, where the parts of a day stand in columns of their own."""
    month: str | None = None
    """Column with the month."""
    day: str | None = None
    """Column with the day of the month; left out, the month as a whole."""

    @model_validator(mode="after")
    def says_one_way(self) -> "DateFormat":
        """Hold it to a format or to columns."""
        if (self.year is None) != (self.month is None) or (self.day is not None and self.year is None):
            raise ValueError("says year and month, and perhaps day, together")
        if self.year is not None and self.format is not None:
            raise ValueError("says format or the columns year and month, one of both")
        return self


class RowSkip(SchemaPart):
    """Rows of the extract that are left out and counted, such as totals."""

    blank: Ids = Field(default_factory=list)
    """Columns of the extract; a row where one is empty is left out."""
    equals: dict[str, Ids] = Field(default_factory=dict)
    """Column of the extract to the texts whose rows are left out."""


class FillDown(SchemaPart):
    """Headings inside the extract, each above its rows, such as an account above its postings."""

    column: str
    """Column of the extract that the headings stand in."""
    into: str
    """Column that holds, in each row, the heading above it; it may be the column of the headings."""
    blank: Annotated[Ids, Field(min_length=1)]
    """Columns that are empty in rows of headings, which are left out and counted."""


class ControlTotals(SchemaPart):
    """Sums that a file holds of itself; a load tells how many agree, and where one does not."""

    measure: Key | None = None
    """Measure that balanced and closing are about; left out, the one that amount fills, else the only one."""
    balanced: Flag = False
    """Whether debits and credits of each file are equal."""
    per: str | None = None
    """Column, such as the number of a journal, for each of whose values they are equal, too."""
    closing: Ids = Field(default_factory=list)
    """Column of the balance behind each row, or those of its debit and credit."""
    opening: Ids = Field(default_factory=list)
    """Column of the balance before each row, or those of its debit and credit; left out, the closing one before it."""
    within: str | None = None
    """Column, such as the account, in whose rows closing runs on; left out, in all rows of the file."""
    totals: Flag = False
    """Whether rows that skip leaves out are sums of the rows that they close."""
    parents: str | None = None
    """Column of ids; a row that skip leaves out is the sum of those whose ids begin with its own."""
    on_fail: Literal["warn", "refuse"] = "warn"
    """What a control that fails does to a load."""

    @model_validator(mode="after")
    def says_what_of(self) -> "ControlTotals":
        """Hold keys to those that they belong to."""
        if self.per is not None and not self.balanced:
            raise ValueError("says per, which belongs to balanced: true")
        if not self.closing and (self.opening or self.within is not None):
            raise ValueError("says opening or within, which belong to closing")
        if self.opening and self.within is not None:
            raise ValueError("says opening and within: with opening, no balance runs on from row to row")
        if max(len(self.opening), len(self.closing)) > 2:
            raise ValueError("says more columns of a balance than a debit and a credit")
        return self


class ColumnChoice(Struct, frozen=True, kw_only=True):
    """Columns chosen by their names, as a range from one to another, or by a pattern with * and ?."""

    names: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None
    pattern: str | None = None


class Unpivot(Struct, frozen=True, kw_only=True):
    """Turns columns into rows: the name of each column goes into one column, its value into another."""

    columns: ColumnChoice
    into: str
    value: str
    year: str | None = None  # a column, or a year of four digits; `into` then holds codes such as 2026-01


class CreditSign(Enum):
    """How a credit is written where it is no reversal."""

    POSITIVE = "positive"  # a negative one is a reversal
    NEGATIVE = "negative"  # a positive one is a reversal


class DebitCredit(Struct, frozen=True, kw_only=True):
    """Fills a measure with debit minus credit, from two columns."""

    column: str  # of the live table
    debit: str
    credit: str
    credits: CreditSign | None = None  # positive, unless most are negative


class DebitCreditSide(Struct, frozen=True, kw_only=True):
    """Fills a measure from a column of amounts and a column that says which side each is on; credits are negative."""

    column: str  # of the live table
    amount: str
    side: str
    debit: tuple[str, ...]
    credit: tuple[str, ...]  # every other text if empty
    credits: CreditSign | None = None  # positive, unless most are negative


class SqlQuery(Struct, frozen=True, kw_only=True):
    """A statement over the files of a feed: each table has the files of one pattern."""

    text: str
    tables: Mapping[str, str]  # name to file pattern


class ExtractFormat(Struct, frozen=True, kw_only=True):
    """How the extract of a feed is written."""

    csv: CsvFormat = field(default_factory=CsvFormat)
    sheet: TableLayout = field(default_factory=TableLayout)  # of a workbook
    numbers: NumberFormat = field(default_factory=NumberFormat)
    dates: DateFormat = field(default_factory=DateFormat)
    amount: DebitCredit | DebitCreditSide | None = None
    skip: RowSkip = field(default_factory=RowSkip)
    controls: ControlTotals = field(default_factory=ControlTotals)
    fill_down: FillDown | None = None
    unpivot: Unpivot | None = None
    from_name: str | None = None  # pattern of the file name; each {placeholder} becomes a column
    sql: SqlQuery | None = None
