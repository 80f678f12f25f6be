"""Keys that say how an extract is written: what they mean, and each mistake with its line and a way out."""

from decimal import Decimal
from pathlib import Path

import pytest

from server.feeds.extract_formats import (
    BlankRule,
    ColumnChoice,
    CreditSign,
    CsvFormat,
    DateFormat,
    DebitCredit,
    DebitCreditSide,
    ExtractFormat,
    NegativeStyle,
    NumberFormat,
    RowSkip,
    TableLayout,
    Unpivot,
)
from server.feeds.instance import read_instance
from tests.unit.engine.instance.test_instance_faults import FILES, faults, instance, said
from tests.unit.server.feeds.test_feed_faults import ACCOUNT, FILE, QUERY, feeds, read

GL = FILE + "file: gl.csv\n"  # two keys of a feed stand after it: its line is the ninth
BOOK = FILE + "file: gl.xlsx\n"


def test_a_feed_says_how_its_file_is_written(tmp_path: Path) -> None:
    keys = """
csv: {separator: ";", quote: "'", encoding: windows-1252, header_row: 4, skip_footer: 1}
numbers: {decimal: ",", thousands: ".", negative: trailing, factor: 1000, blank: none, none: ["-", n/a]}
dates: {format: "%d.%m.%Y"}
skip: {blank: Konto, equals: {Text: [Summe, Total]}}
from_name: {pattern: "{company}_{year}"}
"""
    assert read(tmp_path, GL + keys).format == ExtractFormat(
        csv=CsvFormat(
            separator=";", quote="'", encoding="windows-1252", layout=TableLayout(header_rows=(4,), skip_footer=1)
        ),
        numbers=NumberFormat(
            decimal=",",
            thousands=".",
            negative=NegativeStyle.TRAILING,
            factor=Decimal(1000),
            blank=BlankRule.NONE,
            none=("-", "n/a"),
        ),
        dates=DateFormat(format="%d.%m.%Y"),
        skip=RowSkip(blank=["Konto"], equals={"Text": ["Summe", "Total"]}),
        from_name="{company}_{year}",
    )


def test_a_feed_that_says_none_of_it_leaves_all_of_it_open(tmp_path: Path) -> None:
    assert read(tmp_path, GL).format == ExtractFormat()


def test_the_keys_of_a_source_hold_for_its_feeds_and_those_of_a_feed_go_first(tmp_path: Path) -> None:
    written = feeds(GL + 'csv: {separator: tab, header_row: none}\nnumbers: {thousands: "none"}\n').replace(
        "path: data}",
        'path: data, csv: {separator: ";", encoding: utf-16}, numbers: {decimal: ",", thousands: " "}, '
        "dates: {year: Jahr, month: Monat, day: Tag}}",
    )
    found = read_instance(instance(tmp_path, integrations_yaml=written)).bindings["gl"].format
    assert found.csv == CsvFormat(separator="\t", encoding="utf-16", layout=TableLayout(header_rows=()))
    assert found.numbers == NumberFormat(decimal=",", thousands="")
    assert found.dates == DateFormat(year="Jahr", month="Monat", day="Tag")


def test_keys_of_a_feed_that_clash_with_those_of_its_source(tmp_path: Path) -> None:
    written = feeds(GL + "numbers: {decimal: '.'}\n").replace("path: data}", "path: data, numbers: {thousands: '.'}}")
    (fault,) = faults(tmp_path, integrations_yaml=written)
    assert fault.line == 9
    assert "numbers, with what the source says, '.' is the mark of decimal and of thousands" in str(fault)


@pytest.mark.parametrize(
    ("said_columns", "choice"),
    [
        ("Jan..Dec", ColumnChoice(first="Jan", last="Dec")),
        ("[Jan, Feb]", ColumnChoice(names=("Jan", "Feb"))),
        ("'2026-*'", ColumnChoice(pattern="2026-*")),
        ("Jan", ColumnChoice(names=("Jan",))),
    ],
)
def test_the_columns_of_an_unpivot(tmp_path: Path, said_columns: str, choice: ColumnChoice) -> None:
    found = read(tmp_path, GL + f"unpivot: {{columns: {said_columns}, into: month, value: amount, year: 2026}}\n")
    assert found.format.unpivot == Unpivot(columns=choice, into="month", value="amount", year="2026")


def test_debits_and_credits_stand_in_two_columns_or_have_a_side(tmp_path: Path) -> None:
    two = read(tmp_path, GL + "amount: {debit: Soll, credit: Haben}\n")
    assert two.format.amount == DebitCredit(column="amount", debit="Soll", credit="Haben")
    side = read(tmp_path, GL + "amount: {column: Betrag, side: S/H, debit: S}\n")
    assert side.format.amount == DebitCreditSide(column="amount", amount="Betrag", side="S/H", debit=("S",), credit=())
    signed = read(tmp_path, GL + "amount: {debit: Soll, credit: Haben, credits: negative}\n")
    assert isinstance(signed.format.amount, DebitCredit)
    assert signed.format.amount.credits is CreditSign.NEGATIVE


def test_a_constant_fills_a_column_and_may_be_the_scenario(tmp_path: Path) -> None:
    found = read(tmp_path, GL + "constant: {scenario: budget, account: 0010}\n")
    assert found.scenario == "budget"
    assert {column: filling.constant for column, filling in found.fillings.items()} == {"account": "0010"}


def test_several_rows_of_a_sheet_may_make_its_column_names(tmp_path: Path) -> None:
    assert read(tmp_path, BOOK + "header_row: [3, 4]\n").format.sheet == TableLayout(header_rows=(3, 4))


@pytest.mark.parametrize(
    ("feed", "says"),
    [
        (GL + "control_totals: {per: journal}", "says per, which belongs to balanced: true"),
        (GL + "control_totals: {within: account}", "says opening or within, which belong to closing"),
        (GL + "control_totals: {closing: a, opening: b, within: c}", "with opening, no balance runs on"),
        (GL + "control_totals: {closing: [a, b, c]}", "more columns of a balance than a debit and a credit"),
        (GL + "control_totals: {totals: true}", "skip leaves out, and it leaves out none"),
        (GL + "control_totals: {balanced: true, measure: x}", "gl has no measure 'x' that a feed fills"),
        (
            GL + "control_totals: {closing: a}\nunpivot: {columns: [x], into: date, value: amount}",
            "columns become rows, so no balance is that behind a row",
        ),
        (ACCOUNT + "file: a.csv\ncontrol_totals: {balanced: true}", "live.account holds no facts, so control_totals"),
        (GL + "csv: {separator: ':'}", "csv.separator is none of ',', ';', '|' or 'tab' (found ':')"),
        (GL + "csv: {encoding: latn}", "is no encoding that Python knows, such as utf-8"),
        (GL + "csv: {quote: ab}", "one character that is no letter, digit or space, or none"),
        (GL + "csv: {header_row: 0}", "csv.header_row.0 is below 1 (found '0')"),
        (GL + "csv: {header_row: 3, skip_rows: 2}", "says header_row, which skips the rows above it, and skip_rows"),
        (GL + "csv: {seperator: ;}", "unknown key 'bindings.gl.csv.seperator' — did you mean 'separator'?"),
        (GL + "header_row: 3", "gl.csv is no workbook — csv: {header_row: …} is that of CSV files"),
        (BOOK + "csv: {header_row: 3}", "gl.xlsx is no CSV file, so csv says nothing — header_row stands beside"),
        (FILE + "file: gl.parquet\ncsv: {separator: ;}", "gl.parquet is no CSV file, so csv says nothing"),
        (FILE + "file: gl.arrow\nheader_row: 2", "gl.arrow is no workbook — leave header_row out"),
        (QUERY + "extract: select 1\nfrom_name: {pattern: '{a}'}", "a database has no files, so from_name says"),
        (QUERY + "extract: select 1\ncsv: {separator: ;}", "a database has no files, so csv says nothing"),
        (GL + "numbers: {decimal: ',', thousands: ','}", "',' is the mark of decimal and of thousands"),
        (GL + "numbers: {factor: 1e6}", "'1e6' is no factor — a decimal number above zero, such as 1000000 or 0.01"),
        (GL + "numbers: {factor: 0}", "'0' is no factor"),
        (GL + "numbers: {factor: -1}", "'-1' is no factor"),
        (GL + "numbers: {blank: 0}", "numbers.blank is none of 'none', 'zero' or 'reject' (found '0')"),
        (GL + "dates: {format: dd.mm.yyyy}", "'dd.mm.yyyy' is no format of days: did you mean '%d.%m.%Y'?"),
        (GL + "dates: {format: '%d.%m'}", "'%d.%m' is no format of days: it has no year (%Y, or %y for two digits)"),
        (GL + "dates: {format: '%Y'}", "it has no month (%m, or %b for its name)"),
        (GL + "dates: {format: '%d/%q/%Y'}", "there is no %q"),
        (GL + "dates: {format: day}", "'day' is no format of days: it has no %Y — such as '%d.%m.%Y', '%d/%m/%y'"),
        (GL + "dates: {format: '%b-%y'}", "these dates have no day, and the time of gl has grain: day — say grain: "),
        (GL + "dates: {year: Jahr, month: Monat}", "these dates have no day, and the time of gl has grain: day"),
        (GL + "dates: {year: Jahr}", "says year and month, and perhaps day, together"),
        (GL + "dates: {year: J, month: M, format: '%Y'}", "says format or the columns year and month, one of both"),
        (GL + "dates: {months: [Jan, Feb]}", "dates.months is too short: it takes 12 at least"),
        (GL + "amount: {debit: Soll}", "says one column of debit and one of credit, or column and side"),
        (GL + "amount: {column: Betrag, debit: S}", "says column and side together, or debit and credit alone"),
        (GL + "amount: {debit: S, credit: H, credits: minus}", "minus"),
        (GL + "amount: {debit: S, credit: H, measure: heads}", "gl has no measure 'heads' that a feed fills — known:"),
        (GL + "amount: {column: B, side: S/H, debit: S, credit: [H, S]}", "'S' marks a debit and a credit"),
        (GL + "amount: {debit: S, credit: H}\nmap: {amount: B}", "'amount' is filled by amount and by map"),
        (ACCOUNT + "amount: {debit: S, credit: H}", "live.account holds no facts, so amount says nothing"),
        (GL + "unpivot: {columns: ..Dec, into: m, value: v}", "'..Dec' is no range of columns — name the first and"),
        (GL + "unpivot: {columns: Jan, into: m, value: m}", "'m' is the column of the names too"),
        (GL + "unpivot: {columns: Jan, into: m}", "bindings.gl.unpivot.value is missing"),
        (GL + "from_name: {pattern: budget}", "has no names in braces, such as {year}"),
        (GL + "from_name: {pattern: '{year}{month}'}", "has two names without a mark between them"),
        (GL + "from_name: {pattern: '{year}-{year}'}", "names a column twice"),
        (GL + "constant: {acount: 1}", "live.gl has no 'acount' — did you mean 'account' or 'amount'?"),
        (GL + "constant: {scenario: actuals}", "there is no scenario 'actuals' — did you mean 'actual'?"),
        (GL + "scenario: actual\nconstant: {scenario: actual}", "the scenario is said by scenario and by constant"),
        (GL + "map: {account: Konto}\nconstant: {account: 1}", "'account' is filled by constant and by map"),
    ],
)
def test_a_format_that_cannot_hold(tmp_path: Path, feed: str, says: str) -> None:
    found = faults(tmp_path, integrations_yaml=feeds(feed + "\n"))
    assert any(fault.file == "integrations.yaml" and fault.line >= 9 and says in str(fault) for fault in found), said(
        found
    )


def test_months_are_dates_enough_where_the_time_is_kept_by_month(tmp_path: Path) -> None:
    by_month = FILES["domains/gl.yaml"].replace("{column: date}", "{column: date, grain: month}")
    written = feeds(
        GL + "dates: {format: '%b-%y', months: [Jan, Feb, Mrz, Apr, Mai, Jun, Jul, Aug, Sep, Okt, Nov, Dez]}\n"
    )
    found = read_instance(instance(tmp_path, domains_gl_yaml=by_month, integrations_yaml=written))
    months = found.bindings["gl"].format.dates.months
    assert months is not None
    assert months[2] == "Mrz"
