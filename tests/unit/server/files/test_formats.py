"""Feeds of files as they are: what each key of a format reads, and what is said of a row that it does not read."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.door import open_books
from server.feeds.extract_formats import BlankRule, DebitCredit, DebitCreditSide, NegativeStyle, NumberFormat
from server.files.amounts import by_side, multiply, read_amounts, subtract
from server.files.dates import in_format, month_number
from server.files.rejects import format_rejects
from server.ingest.load import BindingFailed
from tests.support.books.loads import load_feeds
from tests.support.books.small import figures, write_instance

MONTHS = ["Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"]


def instance_of(
    folder: Path, text: str, grain: str = "day", file: str | dict[str, str] = "gl.csv", **feed: Any
) -> Path:
    """Write an instance of one ledger whose file has a text."""
    domain = f"""
        time: {{column: date, grain: {grain}}}
        dimensions: {{account: account}}
        measures: {{amount: {{places: 2}}}}
        inspect_columns: [text]
        metrics:
          revenue: {{measure: amount}}
    """
    feed = {"file": file, "scenario": "actual", "map": {"text": {"constant": "x"}}, **feed}
    made = write_instance(
        folder / "small",
        facts={"gl": "a"},
        domains={"gl": domain},
        dimensions="account: {kind: leaf}",
        bindings={"gl": feed},
    )
    (made / "data" / "gl.csv").unlink()
    if isinstance(file, str):
        (made / "data" / file.replace("*", "2026")).write_text(text)
    return made


def loaded(instance: Path, period: str = "2026", by: str = "account") -> dict[Any, Decimal | None]:
    """Load an instance and return its figures."""
    state = instance.parent / "state"
    load_feeds(instance, state)
    report = open_books(instance, state=state).metric(
        "revenue", scenarios={"A": "actual"}, period=period, dimensions=[by]
    )
    return {key: value for key, value in figures(report, by).items() if key is not None}


def refused(instance: Path) -> list[str]:
    """Return what is said of the rejected rows of an instance."""
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, instance.parent / "state")
    return list(format_rejects(failed.value.rejects)) or [str(failed.value).removeprefix("gl: ")]


def test_a_european_export_with_titles_and_totals(tmp_path: Path) -> None:
    text = (
        "Journal;;;\n;;;\nBuchung;Konto;Soll;Haben\n31.01.26;4000;;1.234,50\n01.02.26;5000;(7,25);\n"
        "01.02.26;5000;2;0,5\n;Summe;;9\n"
    )
    instance = instance_of(
        tmp_path,
        text,
        csv={"separator": ";", "header_row": 3},
        numbers={"decimal": ",", "thousands": ".", "negative": "parentheses"},
        dates={"format": "%d.%m.%y"},
        amount={"debit": "Soll", "credit": "Haben"},
        skip={"equals": {"Konto": "Summe"}},
        map={"date": "Buchung", "account": "Konto", "text": "Konto"},
    )
    assert loaded(instance) == {"4000": Decimal("-1234.5"), "5000": Decimal("-7.25") + 2 - Decimal("0.5")}
    (done,) = load_feeds(instance, instance.parent / "again")
    assert (done.rows_read, done.rows_landed, done.not_loaded) == (4, 3, "1 skipped")


def test_months_across_with_the_year_in_the_name_of_the_file(tmp_path: Path) -> None:
    text = "Konto,Text,Jan,Feb,Mrz,Total\n4000,a,1.5,2,,9\n5000,b,-,4,1,9\n,Summe,9,9,9,9\n"
    instance = instance_of(
        tmp_path,
        text,
        "month",
        "plan_*.csv",
        from_name={"pattern": "plan_{year}"},
        numbers={"blank": "none", "none": "-", "factor": "1000000"},
        skip={"blank": "Konto"},
        unpivot={"columns": "Jan..Mrz", "into": "date", "value": "amount", "year": "year"},
        dates={"months": MONTHS},
        map={"account": "Konto", "text": "Text"},
    )
    assert loaded(instance) == {"4000": 3500000, "5000": 5000000}
    assert loaded(instance, "2026-03") == {"5000": 1000000}
    (done,) = load_feeds(instance, instance.parent / "again")
    assert (done.rows_read, done.rows_landed, done.not_loaded) == (7, 4, "1 skipped, 2 without a figure")


def test_days_in_three_columns_and_a_constant(tmp_path: Path) -> None:
    text = "Jahr,Monat,Tag,amount\n2026,Jan,5,1\n2026,2,28,2\n"
    instance = instance_of(
        tmp_path,
        text,
        dates={"year": "Jahr", "month": "Monat", "day": "Tag"},
        constant={"account": "0010", "text": "x"},
        map={},
    )
    assert loaded(instance) == {"0010": 3}
    assert loaded(instance, "2026-02") == {"0010": 2}


@pytest.mark.parametrize(
    ("format_", "january", "february"),
    [("%Y%m", "202601", "202602"), ("%b-%y", "Jan-26", "feb-26"), ("%m/%Y", "1/2026", "02/2026")],
)
def test_months_in_a_format(tmp_path: Path, format_: str, january: str, february: str) -> None:
    text = f"date,account,amount\n{january},1,5\n{february},1,7\n"
    instance = instance_of(tmp_path, text, "month", dates={"format": format_})
    assert loaded(instance, "2026-01") == {"1": 5}
    assert loaded(instance) == {"1": 12}


@pytest.mark.parametrize(
    ("format_", "texts", "found"),
    [
        ("%d.%m.%Y", ["31.12.2025", "1.2.2024", "31.02.2025"], "2025-12-31 2024-02-01 ?"),
        ("%d.%m.%Y", ["05.06.2024 00:00:00"], "2024-06-05"),
        ("%d/%m/%Y", ["01/02/24", "2024-01-31 00:00:00"], "? 2024-01-31"),
        ("%d.%m.%y", ["31.12.25", "1.2.69", "1.2.70"], "2025-12-31 2069-02-01 1970-02-01"),
        ("%m/%d/%Y", ["2/1/2024", "13/1/2024"], "2024-02-01 ?"),
        ("serial", ["45322", "45322.75", "61", "soon"], "2024-01-31 2024-01-31 1900-03-01 ?"),
        ("serial-1904", ["43860"], "2024-01-31"),
        ("%Y%m", ["202601", "202613", "45322", "20251"], "2026-01 ? ? ?"),
        ("%Y%m%d", ["20251111", "2025111"], "2025-11-11 ?"),
        ("%d%m%Y", ["01122025", "1122025"], "2025-12-01 ?"),
        ("%d.%m.%Y %H:%M", ["31.12.2025 23:59"], "2025-12-31"),
    ],
)  # fmt: skip
def test_texts_in_a_format_are_days_or_marked(format_: str, texts: list[str], found: str) -> None:
    read = in_format(pl.Series(texts), format_)
    assert ["?" if text.startswith("?") else text for text in read] == found.split()


def test_names_of_months() -> None:
    names = ["Jan", "september", "1", "01", "P12", "Period 3", "Quarter", "13x"]
    assert [month_number(name) for name in names] == ["01", "09", "01", "01", "12", "03", None, None]
    assert month_number("Mrz", MONTHS) == "03"
    assert month_number("May", MONTHS) is None


def test_a_day_in_another_format_names_the_key(tmp_path: Path) -> None:
    text = "date,account,amount\n31/01/2026,1,5\n2026-02-01,1,5\n"
    assert refused(instance_of(tmp_path, text)) == [
        "gl.csv row 2, date: '31/01/2026' is no day (YYYY-MM-DD); set dates: {format: '%d/%m/%Y'}"
    ]
    other = instance_of(tmp_path / "other", text, dates={"format": "%d.%m.%Y"})
    assert refused(other) == ["gl.csv row 2, date: '31/01/2026' is no day (%d.%m.%Y)"]


STAMP = "%Y-%m-%dT%H:%M:%SZ"
MONTHLY = "set grain: month under time of the domain, or give the day"


@pytest.mark.parametrize(
    ("grain", "text", "key"),
    [
        ("day", "45322", "set dates: {format: serial}"),
        ("month", "45322", "set dates: {format: serial}"),
        ("day", "2026-01", MONTHLY),
        ("day", "202601", MONTHLY),
        ("day", "01/2026", MONTHLY),
        ("month", "202601", "set dates: {format: '%Y%m'}"),
        ("day", "2026-Q1", MONTHLY.replace("month", "quarter")),
        ("day", "2026", MONTHLY.replace("month", "year")),
        ("day", "2026-W03", MONTHLY.replace("month", "week")),
    ],
)
def test_a_day_that_is_refused_names_a_key_that_the_domain_takes(
    tmp_path: Path, grain: str, text: str, key: str
) -> None:
    (said, *_) = refused(instance_of(tmp_path, f"date,account,amount\n{text},1,5\nSumme,1,5\n", grain))
    assert said.startswith(f"gl.csv row 2, date: '{text}' is no day (YYYY-MM-DD)")
    assert said.endswith(f"; {key}")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("2026-01-31T23:30:00Z", "%Y-%m-%dT%H:%M:%SZ"),
        ("2026-01-31T00:00:00Z", "%Y-%m-%dT%H:%M:%SZ"),
        ("2026-01-31T00:30+02:00", "%Y-%m-%dT%H:%M%z"),
        ("2026-01-31 23:30:00.125", "%Y-%m-%d %H:%M:%S.%f"),
        ("31.01.2026 23:30", "%d.%m.%Y %H:%M"),
        ("1/31/2026 11:30:00 PM", "%m/%d/%Y %I:%M:%S %p"),
    ],
)
def test_a_day_with_a_time_is_refused_with_the_key_that_reads_it_as_written(
    tmp_path: Path, text: str, key: str
) -> None:
    rows = f"date,account,amount\n{text},1,5\n"
    instance = instance_of(tmp_path / "refused", rows)
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, instance.parent / "state")
    reason = f"is no day (YYYY-MM-DD), for it has a time; set dates: {{format: '{key}'}}"
    assert list(format_rejects(failed.value.rejects)) == [f"gl.csv row 2, date: '{text}' {reason}"]
    assert str(failed.value).startswith(f"gl: 1 of 1 rows rejected, 0 allowed: 1 date {reason}; rejects: ")
    assert loaded(instance_of(tmp_path / "read", rows, dates={"format": key}), "2026-01") == {"1": 5}


def test_the_message_of_a_load_names_the_key_that_reads_the_most_rows(tmp_path: Path) -> None:
    days = ["2026-02-30", "2026-01-31T23:30:00Z", "2026-01-30T23:30:00Z", "30/01/2026"]
    text = "date,account,amount\n2026-02-01,1,5\n" + "".join(f"{day},1,5\n" for day in days)
    instance = instance_of(tmp_path, text)
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, instance.parent / "state")
    said = (
        "4 of 5 rows rejected, 0 allowed: 4 date is no day of the calendar; set dates: {format: '%Y-%m-%dT%H:%M:%SZ'}"
    )
    assert str(failed.value).startswith(f"gl: {said}; ")


def test_days_as_serials_above_a_total_load_with_the_key_that_the_refusal_names(tmp_path: Path) -> None:
    text = "Belegdatum,account,amount\n46053,1,5\n46054,1,7\nSumme,1,12\n"
    feed: dict[str, Any] = {"map": {"date": "Belegdatum", "text": {"constant": "x"}}}
    assert refused(instance_of(tmp_path / "refused", text, **feed))[0].endswith("; set dates: {format: serial}")
    skip = {"equals": {"Belegdatum": "Summe"}}
    instance = instance_of(tmp_path, text, dates={"format": "serial"}, skip=skip, **feed)
    assert loaded(instance, "2026-01") == {"1": 5}, "46053 is 31 January 2026 in a spreadsheet"


def test_months_across_in_a_domain_by_day_are_refused_with_its_key(tmp_path: Path) -> None:
    unpivot = {"columns": "Jan..Feb", "into": "date", "value": "amount", "year": "2026"}
    assert refused(instance_of(tmp_path, "account,Jan,Feb\n1,5,7\n", unpivot=unpivot)) == [
        f"gl.csv row 2, date: '2026-{month}' is no day (YYYY-MM-DD); {MONTHLY}" for month in ("01", "02")
    ]


EUROPEAN = NumberFormat(decimal=",", thousands=".")
PARENTHESES = NumberFormat(negative=NegativeStyle.PARENTHESES)


@pytest.mark.parametrize(
    ("numbers", "texts", "units"),
    [
        (EUROPEAN, ["1.234,56", "1234,5", "-1.234", "12"], [123456, 123450, -123400, 1200]),
        (EUROPEAN, [",5", "5,", "1,2e3"], [50, 500, 120000]),
        (EUROPEAN, ["1.23,4", "1.2345", "1234.56", "1,234.56", "1..234"], [None] * 5),
        (NumberFormat(decimal=","), ["1234,56", "1.234,56"], [123456, None]),
        (NumberFormat(thousands=","), ["1,234,567.8", "1,23.4", "12,34", "1234"], [123456780, None, None, 123400]),
        (NumberFormat(thousands=" "), ["1 234.5", "1\u00a0234.5", "1\u202f234.5"], [123450] * 3),
        (NumberFormat(thousands="'"), ["1'234.50", "1\u2019234.50"], [123450] * 2),
        (PARENTHESES, ["(5)", "( 5.25 )", "-5", "5", "(-5)"], [-500, -525, -500, 500, None]),
        (NumberFormat(negative=NegativeStyle.TRAILING), ["5-", "5.25 -", "-5", "-5-"], [-500, -525, -500, None]),
        (NumberFormat(factor=Decimal(1000000)), ["1.2345678", "-0.5", "9e12"], [123456780, -50000000, None]),
        (NumberFormat(factor=Decimal("0.01")), ["150", "1", "1.5"], [150, 1, None]),
        (NumberFormat(factor=Decimal("2.5")), ["1.5", "0.001"], [375, None]),
        (NumberFormat(blank=BlankRule.ZERO), ["", " ", "1"], [0, 0, 100]),
        (NumberFormat(blank=BlankRule.NONE, none=("-", "n/a")), ["", "-", " n/a ", "1"], [None, None, None, 100]),
        (NumberFormat(), ["9" * 17, "92233720368547758.07", "92233720368547758.08"], [None, 2**63 - 1, None]),
    ],
)  # fmt: skip
def test_numbers_in_a_notation_are_exact_or_none(numbers: NumberFormat, texts: list[str], units: list[Any]) -> None:
    if numbers == NumberFormat():
        units[0] = (10**17 - 1) * 100 if (10**17 - 1) * 100 < 2**63 else None
    read = read_amounts(pl.Series(texts), numbers, 2)
    assert read.values.to_list() == units
    no_figure = numbers.blank is BlankRule.NONE
    assert [reason is not None for reason in read.reasons] == [unit is None and not no_figure for unit in units]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1.234,56", "; set numbers: {decimal: ',', thousands: '.'}"),
        ("1,234.5", "; set numbers: {thousands: ','}"),
        ("12,5", "; set numbers: {decimal: ','}"),
        ("(5)", "; set numbers: {negative: parentheses}"),
        ("5-", "; set numbers: {negative: trailing}"),
        ("1 234", "; set numbers: {thousands: ' '}"),
        ("100.00 CR", "; set sql: … to split it, and amount: {column: …, side: …, debit: …}"),
        ("#Missing", "; set numbers: {none: […]} if it means no figure"),
        ("five", ""),
    ],
)
def test_a_text_that_is_no_number_names_the_key(text: str, hint: str) -> None:
    assert read_amounts(pl.Series([text]), NumberFormat(), 2).reasons[0] == f"is no number{hint}"


def test_debits_and_credits() -> None:
    debit, credit = pl.Series(["5", "", "7", "x", ""]), pl.Series(["", "3", "2", "1", ""])
    rule = DebitCredit(column="amount", debit="d", credit="c")
    made = subtract(debit, credit, rule, NumberFormat(), 2).read
    assert made.values.to_list() == [500, -300, 500, None, None]
    assert [reason and reason.split(";")[0] for reason in made.reasons] == [None] * 3 + ["is no number", "is missing"]
    none = subtract(debit, credit, rule, NumberFormat(blank=BlankRule.NONE), 2).read
    assert none.values.to_list() == [500, -300, 500, None, None]
    assert none.reasons[4] is None


def test_amounts_with_a_side() -> None:
    amount, side = pl.Series(["5", "-5", "7", "1"]), pl.Series(["S", "H", "H", "X"])
    rule = DebitCreditSide(column="amount", amount="a", side="s", debit=("S",), credit=("H",))
    made = by_side(amount, side, rule, NumberFormat(), 2)
    assert made.read.values.to_list() == [500, 500, -700, None]
    assert (made.written[3], made.read.reasons[3]) == ("1 X", "is none of the sides S, H")
    any_other = DebitCreditSide(column="amount", amount="a", side="s", debit=("S",), credit=())
    assert by_side(amount, side, any_other, NumberFormat(), 2).read.values[3] == -100


IN_TWO = ("date,account,Soll,Haben", "2026-01-31,1,{},", "2026-01-31,2,,{}")
WITH_SIDE = ("date,account,Betrag,S/H", "2026-01-31,1,{},S", "2026-01-31,2,{},H")


@pytest.mark.parametrize(
    ("lines", "amount", "column"),
    [
        (IN_TWO, {"debit": "Soll", "credit": "Haben"}, "Haben"),
        (WITH_SIDE, {"column": "Betrag", "side": "S/H", "debit": "S"}, "Betrag"),
    ],
)
def test_credits_that_are_mostly_negative_are_refused_until_the_key_decides(
    tmp_path: Path, lines: tuple[str, str, str], amount: dict[str, str], column: str
) -> None:
    names, debit, credit = lines
    signed = "\n".join((names, debit.format(100), credit.format("-100"), credit.format("-7.5"), credit.format(2), ""))
    (said,) = refused(instance_of(tmp_path / "refused", signed, amount=amount))
    assert said == (
        f"gl.csv: {column}, row 3: '-100' can be read in 2 ways: a credit with amount: {{credits: \"negative\"}}, or a "
        'reversal of a credit with amount: {credits: "positive"}; write one of them under gl in integrations.yaml'
    )
    as_written = {"1": 100, "2": Decimal(-100) - Decimal("7.5") + 2}
    assert loaded(instance_of(tmp_path / "a", signed, amount={**amount, "credits": "negative"})) == as_written
    taken_back = {"1": 100, "2": 100 + Decimal("7.5") - 2}
    assert loaded(instance_of(tmp_path / "b", signed, amount={**amount, "credits": "positive"})) == taken_back
    reversal = "\n".join((names, debit.format(100), credit.format(100), credit.format("-7.5"), credit.format(0), ""))
    assert loaded(instance_of(tmp_path / "c", reversal, amount=amount)) == {"1": 100, "2": -100 + Decimal("7.5")}


def test_a_product_is_exact_or_refused() -> None:
    def product(*factors: str, places: int = 2) -> Any:
        made = multiply([pl.Series([factor]) for factor in factors], NumberFormat(), places).read
        return made.reasons[0] or made.values[0]

    assert product("1.10", "0.92", places=3) == 1012, "Polars' Decimal product would be 1.01"
    assert product("1.10", "0.92") == "has more than 2 decimal places"
    assert product("12", "3500.50") == 4200600
    assert product("2", "3", "0.5") == 300
    assert product("-9223372036", "1000000000") == "is too large"
    assert product("10000000000", "10000000000", "0.0000000001") == "is too large"


def test_a_product_fills_a_measure(tmp_path: Path) -> None:
    text = "date,account,heads,salary\n2026-01-05,1,3,1234.50\n2026-01-06,2,0.5,100\n"
    feed: dict[str, Any] = {"map": {"amount": {"product": ["heads", "salary"]}, "text": "account"}}
    assert loaded(instance_of(tmp_path, text, **feed)) == {"1": Decimal("3703.50"), "2": 50}


@pytest.mark.parametrize(
    ("feed", "says"),
    [
        ({"skip": {"blank": "Konto"}}, "gl.csv has no column 'Konto', which skip names; it has date, account, amount"),
        ({"unpivot": {"columns": "Jan..Dec", "into": "m", "value": "v"}}, "gl.csv has no column 'Jan', which unpivot"),
        ({"unpivot": {"columns": "20*", "into": "m", "value": "v"}}, "gl.csv has no column like '20*'"),
        (
            {"unpivot": {"columns": "amount..account", "into": "m", "value": "v"}},
            "'account' stands before 'amount' in gl.csv",
        ),
        (
            {"unpivot": {"columns": ["amount"], "into": "m", "value": "v", "year": "2026"}},
            "column 'amount' of gl.csv names no month, and unpivot gives its names a year; leave it out with unpivot",
        ),
        ({"from_name": {"pattern": "{year}-{month}"}}, "gl.csv does not have the name that from_name: {pattern: "),
        ({"csv": {"separator": ";"}}, ": set csv: {separator: ','}"),
    ],
)
def test_a_file_that_a_key_does_not_fit(tmp_path: Path, feed: dict[str, Any], says: str) -> None:
    (said,) = refused(instance_of(tmp_path, "date,account,amount\n2026-01-05,1,5\n", **feed))
    assert says in said
