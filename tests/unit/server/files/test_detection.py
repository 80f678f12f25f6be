"""What the texts of a file say of the keys that read it: dialect, amounts and days, and what stays open."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import polars as pl
import pytest

from server.files.days import detect_days, detect_month_columns
from server.files.dialect import detect_text_table
from server.files.encodings import decode, detect_encoding
from server.files.findings import Finding, Findings, SampleTable, flattened, nested
from server.files.notation import detect_factor, detect_numbers, number_column


def sample(**columns: Sequence[str | None]) -> SampleTable:
    """Return columns of texts whose first row is row 2 of a file."""
    frame = pl.DataFrame({name: pl.Series(texts, dtype=pl.String) for name, texts in columns.items()})
    return SampleTable(name="ledger.csv", frame=frame, rows=pl.Series(range(2, 2 + frame.height), dtype=pl.Int64))


def numbers(**columns: Sequence[str | None]) -> Findings:
    """Return what columns of amounts say of the way they are written."""
    table = sample(**columns)
    return detect_numbers([found for name in columns if (found := number_column(table, name))])


@pytest.mark.parametrize(
    ("texts", "keys"),
    [
        (["12", "-3.5"], {}),
        (["1.234,56", "7"], {"decimal": ",", "thousands": "."}),
        (["1,5", "22"], {"decimal": ","}),
        (["1,234.50"], {"thousands": ","}),
        (["1,234,567"], {"thousands": ","}),
        (["1 234,50"], {"decimal": ",", "thousands": " "}),
        (["1\u202f234,50"], {"decimal": ",", "thousands": " "}),
        (["1'234.50"], {"thousands": "'"}),
        (["(1,234.50)", "2"], {"thousands": ",", "negative": "parentheses"}),
        (["12.50-", "2"], {"negative": "trailing"}),
        (["12.50", "-", "n/a"], {"none": ["-", "n/a"], "blank": "none"}),
        (["12.50", None], {"blank": "none"}),
        (["0.500"], {}),
        (["1.5E+3", "2"], {}),
    ],
)
def test_the_notation_of_amounts_follows_from_their_texts(texts: list[str | None], keys: dict[str, Any]) -> None:
    assert numbers(amount=texts).keys == ({"numbers": keys} if keys else {})


def test_one_amount_decides_for_the_others_of_its_file() -> None:
    assert numbers(price=["1.234"], amount=["12,50"]).keys == {"numbers": {"decimal": ",", "thousands": "."}}


def test_each_key_names_the_text_that_decides_it() -> None:
    shown = [(finding.key, finding.evidence) for finding in numbers(amount=["12,50", "7", "1.234,5"]).decided]
    assert [key for key, _ in shown] == ["numbers.decimal", "numbers.thousands"]
    assert ["'12,50'" in shown[0][1], "'1.234,5'" in shown[1][1]] == [True, True], shown


def test_an_amount_that_is_two_numbers_stays_open_with_both() -> None:
    (ambiguity,) = numbers(amount=["7", "1.234"]).ambiguities
    assert str(ambiguity) == (
        "amount, row 3: '1.234' can be read in 2 ways: "
        '1.234 with numbers: {decimal: ".", thousands: "none"}, or 1234 with numbers: {decimal: ",", thousands: "."}'
    )


def test_amounts_that_contradict_each_other_stay_open() -> None:
    (ambiguity,) = numbers(amount=["1.234,50", "1,234.50"]).ambiguities
    assert "amount, row 2: '1.234,50' and amount, row 3: '1,234.50'" in str(ambiguity)


@pytest.mark.parametrize("column", ["Konto", "AccountKey", "cost_centre", "Document No", "Year"])
def test_ids_are_no_amounts(column: str) -> None:
    assert number_column(sample(**{column: ["4000", "4100"]}), column) is None
    assert number_column(sample(padded=["0010", "4100"]), "padded") is None


@pytest.mark.parametrize(
    ("title", "factor"),
    [
        ("EUR m", 1_000_000),
        ("Angaben in Mio. EUR", 1_000_000),
        ("in millions of dollars", 1_000_000),
        ("in TEUR", 1_000),
        ("$'000", 1_000),
        ("USD billion", 1_000_000_000),
        ("Ledger of March", None),
        ("Millicent Ltd", None),
    ],
)
def test_a_title_may_say_the_size_of_amounts(title: str, factor: int | None) -> None:
    found = detect_factor([(1, title)], {})
    assert found.value("numbers.factor") == (str(factor) if factor else None)
    assert not factor or found.decided[0].evidence == f"row 1: '{title}'"


@pytest.mark.parametrize(
    ("texts", "format_", "first"),
    [
        (["2024-02-01"], None, date(2024, 2, 1)),
        (["31/01/2024", "01/02/2024"], "%d/%m/%Y", date(2024, 1, 31)),
        (["01/31/2024", "01/02/2024"], "%m/%d/%Y", date(2024, 1, 2)),
        (["1.2.2024"], "%d.%m.%Y", date(2024, 2, 1)),
        (["31.12.24"], "%d.%m.%y", date(2024, 12, 31)),
        (["20240201"], "%Y%m%d", date(2024, 2, 1)),
        (["202402"], "%Y%m", date(2024, 2, 1)),
        (["Feb-24"], "%b-%y", date(2024, 2, 1)),
        (["1 February 2024"], "%d %B %Y", date(2024, 2, 1)),
        (["31/01/2024 13:05"], "%d/%m/%Y %H:%M", date(2024, 1, 31)),
        (["45323"], "serial", date(2024, 2, 1)),
        (["2024-Q2"], None, date(2024, 4, 1)),
    ],
)
def test_the_format_of_days_follows_from_their_texts(texts: list[str], format_: str | None, first: date) -> None:
    found = detect_days(sample(date=texts), "date")
    assert found is not None
    assert found.findings.value("dates.format") == format_
    assert not found.findings.ambiguities
    assert found.first == first


def test_months_of_other_languages_are_named() -> None:
    found = detect_days(sample(Monat=["Mrz 26", "Okt 26"]), "Monat")
    assert found is not None
    assert found.findings.value("dates.format") == "%b %y"
    assert found.findings.value("dates.months")[2:10:7] == ["Mrz", "Okt"]
    assert (found.first, found.last) == (date(2026, 3, 1), date(2026, 10, 1))


def test_a_day_that_is_two_days_stays_open_with_both() -> None:
    found = detect_days(sample(date=["03/03/2024", "01/02/2024"]), "date")
    assert found is not None
    (ambiguity,) = found.findings.ambiguities
    assert str(ambiguity) == (
        "date, row 3: '01/02/2024' can be read in 2 ways: "
        '1 February 2024 with dates: {format: "%d/%m/%Y"}, or 2 January 2024 with dates: {format: "%m/%d/%Y"}'
    )


@pytest.mark.parametrize("texts", [["4000", "202401"], ["abc"], ["12.5"], ["2024-13-01"]])
def test_other_texts_are_no_days(texts: list[str | None]) -> None:
    assert detect_days(sample(account=texts), "account") is None


def test_months_across_are_found_by_their_names() -> None:
    found = detect_month_columns(["Konto", "Jan", "Feb", "Mrz", "Summe"])
    assert found is not None
    assert (found.names, found.has_years) == (("Jan", "Feb", "Mrz"), False)
    dated = detect_month_columns(["account", "Jan-26", "Feb-26", "Mar-26"])
    assert dated is not None
    assert (dated.has_years, dated.findings.value("dates.format")) == (True, "%b-%y")
    assert detect_month_columns(["account", "date", "amount"]) is None


LEDGER = "Konto{0}Text{0}Betrag\n4000{0}Umsatz{0}{1}\n5000{0}Miete{0}{1}\n"


@pytest.mark.parametrize(("separator", "amount"), [(";", "1,5"), ("\t", "1,5"), ("|", "1,5"), (",", "1.5")])
def test_the_separator_makes_an_even_table(separator: str, amount: str) -> None:
    table = detect_text_table(LEDGER.format(separator, amount), "gl.csv", whole=True)
    assert table is not None
    assert table.findings.value("csv.separator") == separator
    assert (table.columns, table.header_row) == (["Konto", "Text", "Betrag"], 1)


def test_titles_above_and_remarks_below_a_table_are_found() -> None:
    text = f"Acme AG\nin Mio. EUR\n\n{LEDGER.format(';', '1,5')}\nErstellt am 1.2.2024\n"
    table = detect_text_table(text, "gl.csv", whole=True)
    assert table is not None
    assert table.findings.keys["csv"] == {"separator": ";", "header_row": 4, "skip_footer": 2}
    assert table.titles == [(1, "Acme AG"), (2, "in Mio. EUR")]


def test_a_text_without_a_heading_is_no_table() -> None:
    assert detect_text_table("4000;1,5\n5000;2,5\n", "gl.csv", whole=True) is None


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("utf-8", "utf-8"),
        ("utf-8", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("windows-1252", "cp1252"),
        ("utf-16", "utf-16-le"),
    ],
)
def test_the_encoding_follows_from_the_bytes(encoding: str, written: str) -> None:
    data = "Konto;Märkte €\n".encode(written)
    found = detect_encoding(data, whole=True)
    assert isinstance(found, Finding)
    assert found.value == encoding
    assert decode(data, encoding, whole=True) == "Konto;Märkte €\n"


def test_a_character_that_the_sample_cuts_is_no_other_encoding() -> None:
    data = "Konto;Märkte".encode()[:8]
    found = detect_encoding(data, whole=False)
    assert isinstance(found, Finding)
    assert found.value == "utf-8"
    assert decode(data, "utf-8", whole=False) == "Konto;M"


def test_keys_are_nested_as_in_a_file_and_an_answer_decides() -> None:
    keys = {"numbers.decimal": ",", "sheet": "Chart"}
    assert nested(keys) == {"numbers": {"decimal": ","}, "sheet": "Chart"}
    assert flattened(nested(keys)) == keys
    answered = numbers(amount=["1.234"]).answered({"numbers.decimal": ","})
    assert (answered.keys, answered.ambiguities) == ({"numbers": {"decimal": ","}}, ())
