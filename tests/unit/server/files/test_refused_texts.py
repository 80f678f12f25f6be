"""Texts that no load reads: stray quotation marks, digits of other scripts, files that are not what their name says."""

import os
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from server.feeds.extract_formats import CsvFormat, ExtractFormat
from server.files.files import WrittenFormat, file_rows
from server.files.findings import SampleFault
from server.files.rejects import LoadFailed
from server.files.sampling import sample_file
from tests.unit.server.files.test_formats import instance_of, loaded, refused

HEAD = "date,account,amount,text\n"
LOOSE = "a value without quotation marks around it has one inside; set csv: {quote: none}"
ENDLESS = 'a value begins with ", and that " has no end: write a quotation mark inside a value twice'


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (['5" pipe', "b"], f"gl.csv row 2: {LOOSE}"),
        (["b", 'rod 7"', 'tube 8"'], f"gl.csv row 3: {LOOSE}"),
        (['"two\nlines"', '"5"" pipe"', '5" pipe'], f"gl.csv row 4: {LOOSE}"),
        (["b", '"big" pipe'], f"gl.csv row 3: {ENDLESS}"),
        (["b", '"pipe', "c"], f"gl.csv row 3: {ENDLESS}"),
    ],
)
def test_a_quotation_mark_without_another_is_refused_by_its_row(tmp_path: Path, values: list[str], says: str) -> None:
    text = HEAD + "".join(f"2026-01-31,1,2.50,{value}\n" for value in values)
    (refusal,) = refused(instance_of(tmp_path, text, map={}))
    assert refusal.startswith(says)


def test_a_file_without_quotes_has_marks_inside_its_values(tmp_path: Path) -> None:
    text = f'{HEAD}2026-01-31,5" pipe,2.50,a\n2026-01-31,6" pipe,1,b\n2026-01-31,6" pipe,1.05,"\n'
    instance = instance_of(tmp_path, text, csv={"quote": "none"}, map={})
    assert loaded(instance) == {'5" pipe': Decimal("2.5"), '6" pipe': Decimal("2.05")}


def test_init_takes_quotation_marks_as_letters_where_they_enclose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "gl.csv"
    path.write_text(f'{HEAD}2026-01-31,1,2.50,5" pipe\n2026-01-31,1,2.50,b\n')
    (table,) = sample_file(path)
    assert table.findings.value("csv.quote") == "none"
    assert table.sample.frame["text"].to_list() == ['5" pipe', "b"]
    path.write_text(f'{HEAD}2026-01-31,1,2.50,5" x 6" pipe\n2026-01-31,1,2.50,"b, c"\n')
    (table,) = sample_file(path)
    assert table.findings.value("csv.quote") is None


@pytest.mark.parametrize(
    ("values", "says"),
    [(['"b, c"', '5" pipe'], f"gl.csv row 3: {LOOSE}"), (['"big" pipe', "b"], f"gl.csv row 2: {ENDLESS}")],
)
def test_init_refuses_marks_that_enclose_some_values_and_stand_in_others(
    tmp_path: Path, values: list[str], says: str
) -> None:
    path = tmp_path / "gl.csv"
    path.write_text(HEAD + "".join(f"2026-01-31,1,2.50,{value}\n" for value in values))
    with pytest.raises(SampleFault) as fault:
        list(sample_file(path))
    assert str(fault.value).startswith(says)


@pytest.mark.parametrize("amount", ["٣٤٥", "١٢.٥٠", "1٢.5", "１２", "१२e3"])
def test_digits_of_other_scripts_are_no_number_and_say_how_to_write_them(tmp_path: Path, amount: str) -> None:
    (refusal,) = refused(instance_of(tmp_path, f"{HEAD}2026-01-31,1,12.50,a\n2026-01-31,1,{amount},a\n"))
    assert refusal == f"gl.csv row 3, amount: '{amount}' is no number; write its digits as 0 to 9"


@pytest.mark.parametrize("day", ["٢٠٢٦-٠١-٣١", "2026-٠١-31"])
def test_days_in_digits_of_other_scripts_are_no_days(tmp_path: Path, day: str) -> None:
    (refusal,) = refused(instance_of(tmp_path, f"{HEAD}{day},1,12.50,a\n2026-01-31,1,1,a\n"))
    assert refusal == f"gl.csv row 2, date: '{day}' is no day (YYYY-MM-DD)"


@pytest.mark.parametrize("name", ["gl.xlsx", "gl.parquet", "gl.arrow"])
@pytest.mark.parametrize("content", [b"", b"no such thing", b"PAR1aaaaPAR1", b"ARROW1\0\0xxARROW1", b"PK\x05\x06\0\0"])
def test_a_file_that_is_not_what_its_name_says_is_refused_in_our_words(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    os.utime(path, (1, 1))  # nobody writes it any more
    with pytest.raises(LoadFailed) as load:
        list(file_rows(path, WrittenFormat(ExtractFormat()), None))
    with pytest.raises(SampleFault) as init:
        list(sample_file(path))
    assert str(load.value) == str(init.value)
    assert str(load.value).startswith(f"{name} cannot be read: it is no ")


def test_bytes_that_are_no_utf_8_are_told_with_the_key_that_names_an_encoding(tmp_path: Path) -> None:
    path = tmp_path / "gl.csv"
    path.write_bytes(b"a,b\n1,\xff\n")
    with pytest.raises(LoadFailed, match=r"^gl\.csv cannot be read: text files are UTF-8 unless csv: "):
        pl.concat(file_rows(path, WrittenFormat(ExtractFormat(csv=CsvFormat())), None))
