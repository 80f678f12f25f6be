"""Keys that a feed leaves out, through whole loads: the plain form, refused in doubt, held to the last load."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter
import yaml

from engine.facts.manifest import pin_current
from server.base.interfaces import LoadQuery
from server.feeds.extract_formats import NumberFormat
from server.feeds.feeds import LoadStatus
from server.feeds.instance import read_instance
from server.files.amounts import read_amounts
from server.ingest.folder import BooksFolder
from server.ingest.load import BindingFailed
from server.ingest.previews import describe_readings
from tests.support.books.guessed_loads import load_by_guess
from tests.support.books.loads import load_feeds
from tests.support.engines.memory import MemoryLoads
from tests.unit.server.files.test_formats import instance_of, loaded, refused

HEAD = "date,account,amount\n"


def remarks(instance: Path) -> list[str]:
    """Load an instance again and return what was found."""
    (done,) = load_feeds(instance, instance.parent / "again")
    return list(done.detected)


def proposed(instance: Path) -> list[str]:
    """Return the lines that a load which refuses a file says to write."""
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, instance.parent / "refused")
    return [line.strip() for line in str(failed.value).splitlines()[1:]]


def written(instance: Path, lines: list[str]) -> None:
    """Write lines under the feed of an instance."""
    path = instance / "integrations.yaml"
    known = yaml.safe_load(path.read_text())
    known["bindings"]["gl"] |= yaml.safe_load("\n".join(lines))
    path.write_text(yaml.safe_dump(known))


def rewrite(instance: Path, text: str, **keys: Any) -> None:
    """Replace the file of an instance, and add keys to its feed."""
    (instance / "data" / "gl.csv").write_text(text)
    path = instance / "integrations.yaml"
    known = yaml.safe_load(path.read_text())
    known["bindings"]["gl"] |= keys
    path.write_text(yaml.safe_dump(known))


def test_a_european_export_is_refused_with_the_lines_that_read_it(tmp_path: Path) -> None:
    text = (
        "Journal der Müller AG\n\ndate;account;amount;text\n31.01.2026;4000;1.234,50;a\n01.02.2026;4000;7,25-;b\n"
        "01.02.2026;5000;-2.000;c\n"
    )
    instance = instance_of(tmp_path, "", map={})
    (instance / "data" / "gl.csv").write_bytes(text.encode("windows-1252"))
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, tmp_path / "state")
    shown, *lines = str(failed.value).splitlines()
    assert shown == (
        "gl: gl.csv shows csv: {encoding: \"windows-1252\"} (row 1 has the byte 0xfc, which is no UTF-8 and is 'ü' in "
        'Windows-1252), csv: {separator: ";"} (row 3 has the columns of the feed), csv: {header_row: 3} (row 3 has the '
        'columns of the feed), numbers: {decimal: ","} (amount, row 4: \'1.234,50\'), numbers: {thousands: "."} '
        "(amount, row 4: '1.234,50'), numbers: {negative: \"trailing\"} (amount, row 5: '7,25-'), dates: {format: "
        "\"%d.%m.%Y\"} (date, row 4: '31.01.2026'), and a load guesses nothing: write under gl in integrations.yaml, "
        "or run tieout check --data --write:"
    )
    assert lines == [
        '    csv: {separator: ";", encoding: "windows-1252", header_row: 3}',
        '    numbers: {decimal: ",", thousands: ".", negative: "trailing"}',
        '    dates: {format: "%d.%m.%Y"}',
    ]
    assert failed.value.recorded == (
        'gl.csv shows csv: {separator: ";", encoding: "windows-1252", header_row: 3}, numbers: {decimal: ",", '
        'thousands: ".", negative: "trailing"}, dates: {format: "%d.%m.%Y"}, and a load guesses nothing: write '
        "that under gl in integrations.yaml"
    )
    assert not (tmp_path / "state" / "store" / "CURRENT").exists(), "what is proposed is not loaded"
    written(instance, lines)
    assert loaded(instance) == {"4000": Decimal("1227.25"), "5000": -2000}
    assert remarks(instance) == []


@pytest.mark.parametrize(
    ("text", "account"),
    [
        (f"{HEAD}2026-01-31,1,12.50\n2026-01-31,1,1234\n", Decimal("1246.5")),
        (f"{HEAD}2026-01-31,1,1.230\n2026-01-31,1,12.5\n", Decimal("13.73")),  # the second one decides
        (f"{HEAD}2026-01-31,1,1.23\n2026-01-31,1,1e3\n", Decimal("1001.23")),
        (f"{HEAD}2026-01-31,1,1234.500\n2026-01-31,1,1.500\n", 1236),
    ],
)
def test_plain_files_are_read_as_before_and_say_nothing(tmp_path: Path, text: str, account: Any) -> None:
    instance = instance_of(tmp_path, text)
    assert loaded(instance) == {"1": account}
    assert remarks(instance) == []


def test_three_places_of_a_measure_that_has_them_are_plain(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, f"{HEAD}2026-01-31,1,1.234\n")
    domain = instance / "domains" / "gl.yaml"
    domain.write_text(domain.read_text().replace("places: 2", "places: 3"))
    assert loaded(instance) == {"1": Decimal("1.234")}


@pytest.mark.parametrize(
    ("text", "keys", "says"),
    [
        (
            f"{HEAD}2026-01-31,1,12\n2026-01-31,1,1.230\n",
            {"numbers": {"decimal": ",", "thousands": "."}},
            (
                "gl.csv: amount, row 3: '1.230' can be read in 2 ways: 1.230 with numbers: {decimal: \".\", thousands: "
                '"none"}, or 1230 with numbers: {decimal: ",", thousands: "."}; write one of them under gl in '
                "integrations.yaml"
            ),
        ),
        (
            f'{HEAD}2026-01-31,1,"1,218"\n2026-01-31,1,12\n',
            {"numbers": {"thousands": ","}},
            (
                "gl.csv: amount, row 2: '1,218' can be read in 2 ways: 1.218 with numbers: {decimal: \",\", thousands: "
                '"none"}, or 1218 with numbers: {decimal: ".", thousands: ","}; write one of them under gl in '
                "integrations.yaml"
            ),
        ),
        (
            f"{HEAD}01/02/2026,1,1230\n",
            {"dates": {"format": "%m/%d/%Y"}},
            (
                "gl.csv: date, row 2: '01/02/2026' can be read in 2 ways: 1 February 2026 with dates: {format: "
                '"%d/%m/%Y"}, or 2 January 2026 with dates: {format: "%m/%d/%Y"}; write one of them under gl in '
                "integrations.yaml"
            ),
        ),
    ],
)
def test_two_readings_are_refused_until_a_key_decides(
    tmp_path: Path, text: str, keys: dict[str, Any], says: str
) -> None:
    instance, loads = instance_of(tmp_path, text), MemoryLoads()
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, tmp_path / "state", loads=loads)
    assert str(failed.value) == f"gl: {says}"
    (attempt,) = loads.find(LoadQuery(bindings={"gl"}))
    place, _, text_and_more = says.partition(": '")
    assert attempt.message is not None
    assert attempt.message.startswith(f"{place} can be read in 2 ways: with ")
    assert text_and_more.partition("'")[0] not in attempt.message, "the history holds no value of a row"
    rewrite(instance, text, **keys)
    assert list(loaded(instance, "2026-01").values()) in ([1242], [1230])


@pytest.mark.parametrize("written", ["2.000", " 2.000 ", "2.000-", "(2.000)"])
def test_a_large_file_is_searched_for_amounts_with_two_readings(tmp_path: Path, written: str) -> None:
    style = {"-": "5-", ")": "(5)", " ": " 5"}.get(written[-1], "5")
    rows = [f"2026-01-31,1,{style}\n" for _ in range(9_000)]
    rows[4_321] = f"2026-01-31,1,{written}\n"
    (said,) = refused(instance_of(tmp_path, HEAD + "".join(rows)))
    assert said.startswith(f"gl.csv: amount, row 4323: '{written.strip()}' can be read in 2 ways: ")


def test_a_written_mark_that_the_amounts_contradict_is_refused_by_name(tmp_path: Path) -> None:
    text = f"{HEAD}2026-01-31,1,1.5\n2026-01-31,1,5\n"
    (said,) = refused(instance_of(tmp_path, text, numbers={"decimal": ","}, rejects={"allow": 1}))
    assert said.startswith("gl.csv is written with numbers: {decimal: \".\"}: amount, row 2: '1.5'; integrations.yaml")


@pytest.mark.parametrize(
    ("first", "then", "says"),
    [
        ("31/01/2026,1,5\n", "01/31/2026,1,5\n", ('with dates: {format: "%m/%d/%Y"}: date, row 2: \'01/31/2026\'; the '
         'last load was with dates: {format: "%d/%m/%Y"}')),
        ("2026-01-31,1,5\n", "31/01/2026,1,5\n", 'the last load was with dates: {format: "%Y-%m-%d"}'),
        ("2026-01-31,1,1.5\n", '2026-01-31,1,"1,5"\n', (
            "with numbers: {decimal: \",\"}: amount, row 2: '1,5'; the last load was with "
            'numbers: {decimal: "."}')),
        ("2026-01-31,1,1\n", "date;account;amount\n2026-01-31;1;5\n", ('with csv: {separator: ";"}: row 1 has the '
         'columns of the feed; the last load was with csv: {separator: ","}')),
    ],
)  # fmt: skip
def test_a_file_whose_reading_has_changed_is_refused_and_changes_nothing(
    tmp_path: Path, first: str, then: str, says: str
) -> None:
    instance, state = instance_of(tmp_path, HEAD + first), tmp_path / "state"
    load_by_guess(instance, state)
    before = pin_current(state / "store").manifest
    rewrite(instance, then if then.startswith("date") else HEAD + then)
    loads = MemoryLoads()
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, state, loads=loads)
    (attempt,) = loads.find(LoadQuery(bindings={"gl"}))
    assert attempt.status is LoadStatus.FAILED_VALIDATE
    assert attempt.message is not None
    assert attempt.message.startswith("gl.csv is written with ")
    assert not re.search(r"'.*\d.*'", attempt.message), "the history holds no value of a row"
    assert failed.value.message.startswith("gl.csv is written with ")
    assert says in failed.value.message
    assert pin_current(state / "store").manifest == before


def test_a_feed_goes_on_by_what_its_last_load_recorded_and_is_told_the_way_over(tmp_path: Path) -> None:
    instance, state = instance_of(tmp_path, f'{HEAD}31/01/2026,1,"1.234,5"\n'), tmp_path / "state"
    load_by_guess(instance, state)
    rewrite(instance, f"{HEAD}03/02/2026,1,1.234\n")
    assert loaded(instance, "2026-02") == {"1": 1234}
    (done,) = load_feeds(instance, state)
    assert done.warnings == [
        (
            'gl is read as its last load was, with numbers: {decimal: ",", thousands: "."}, dates: {format: "%d/%m/%Y"'
            "}; the next release reads by written keys alone: tieout check --data --write writes them"
        )
    ]
    (load,) = [load for load in pin_current(state / "store").manifest.loads.values() if load.sequence == 3]
    assert load.reading == {
        "csv.separator": ",", "numbers.decimal": ",", "numbers.thousands": ".", "dates.format": "%d/%m/%Y"
    }  # fmt: skip
    read = read_instance(instance)
    place = BooksFolder(catalogue=read.catalogue, folder=instance, state=state)
    assert list(describe_readings(list(read.bindings.values()), place)) == [
        (
            'gl: the last load was read with numbers: {decimal: ",", thousands: "."}, dates: {format: "%d/%m/%Y"}, and '
            "no key says so"
        )
    ]
    rewrite(instance, f"{HEAD}03/02/2026,1,(1.234)\n")
    lines = r'\n    numbers: {decimal: ",", thousands: ".", negative: "parentheses"}\n    dates: {format: "%d/%m/%Y"}$'
    with pytest.raises(BindingFailed, match=lines):
        load_feeds(instance, state)  # by what the last load recorded, and by nothing else


def test_a_number_with_two_meanings_goes_on_by_the_point_of_the_last_load(tmp_path: Path) -> None:
    instance, state = instance_of(tmp_path, f"{HEAD}2026-01-31,1,12.5\n"), tmp_path / "state"
    load_feeds(instance, state)
    rewrite(instance, f"{HEAD}2026-01-31,1,1.230\n")
    (done,) = load_feeds(instance, state)
    assert done.warnings == [
        (
            'gl is read as its last load was, with numbers: {decimal: "."}; the next release reads by written keys '
            "alone: tieout check --data --write writes them"
        )
    ]
    assert loaded(instance, "2026-01") == {"1": Decimal("1.23")}
    rewrite(instance, f"{HEAD}2026-01-31,1,1.230\n", numbers={"decimal": "."})
    (done,) = load_feeds(instance, state)
    assert done.warnings == []


def test_a_written_key_is_contradicted_by_name(tmp_path: Path) -> None:
    text = f"{HEAD}01/31/2026,1,5\n01/02/2026,1,5\n"
    instance = instance_of(tmp_path, text)
    rewrite(instance, text, dates={"format": "%m/%d/%Y"})
    assert loaded(instance, "2026-01") == {"1": 10}
    rewrite(instance, text, dates={"format": "%d/%m/%Y"}, rejects={"allow": 1})
    (said,) = refused(instance)
    assert said.startswith('gl.csv is written with dates: {format: "%m/%d/%Y"}: date')
    assert 'integrations.yaml says it is with dates: {format: "%d/%m/%Y"}' in said


def test_a_point_that_marks_thousands_leaves_the_comma_to_the_places() -> None:
    texts = pl.Series(["1.234", "1,5", "1.5"])
    read = read_amounts(texts, NumberFormat(thousands="."), 2)
    assert read.values.to_list() == [123400, 150, None]
    assert read.reasons[2].startswith("is no number")


def test_the_files_of_one_load_are_read_alike(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, f"{HEAD}31/01/2026,1,5\n", file="gl_*.csv", dates={"format": "%d/%m/%Y"})
    (instance / "data" / "gl_2027.csv").write_text(f"{HEAD}01/02/2027,1,5\n")
    assert loaded(instance, "2027-02") == {"1": 5}
    (instance / "data" / "gl_2028.csv").write_text(f"{HEAD}01/31/2028,1,5\n")
    (said,) = refused(instance)
    assert said.startswith('gl_2028.csv is written with dates: {format: "%m/%d/%Y"}')


@pytest.mark.parametrize("keys", [{}, {"header_row": [3, 4], "map": {"amount": "2026 amount", "text": "date"}}])
def test_the_heading_of_a_workbook_is_proposed_or_read_as_it_is_merged(tmp_path: Path, keys: dict[str, Any]) -> None:
    instance = instance_of(tmp_path, "", file="gl.xlsx", **keys)
    book = xlsxwriter.Workbook(instance / "data" / "gl.xlsx")
    sheet = book.add_worksheet()
    sheet.write(0, 0, "Journal")
    if keys:
        sheet.merge_range(2, 2, 2, 3, "2026")
    sheet.write_row(3, 0, ("date", "account", "amount", "other"))
    sheet.write_row(4, 0, ("31.01.2026", "4000", "1.234,5", "x"))
    book.close()
    lines = proposed(instance)
    heading = [] if keys else ["header_row: 4"]
    assert lines == [*heading, 'numbers: {decimal: ",", thousands: "."}', 'dates: {format: "%d.%m.%Y"}']
    written(instance, lines)
    assert loaded(instance) == {"4000": Decimal("1234.5")}


def test_rows_that_a_statement_makes_are_refused_with_the_lines_and_its_files_too(tmp_path: Path) -> None:
    text = f'{HEAD}2026-01-31,1,"1,5"\n2026-01-31,1,"2,25"\n'
    instance = instance_of(tmp_path, text, sql="select date, account, amount from file")
    (said, line) = refused(instance)[0].splitlines()
    assert said.startswith("sql shows numbers: {decimal: \",\"} (amount, row 1: '1,5'), and a load guesses nothing: ")
    assert said.endswith("write under gl in integrations.yaml, or run tieout check --data --write:")
    written(instance, [line])
    assert loaded(instance) == {"1": Decimal("3.75")}
    rewrite(instance, text.replace(",", ";").replace('"1;5"', "1,5").replace('"2;25"', "2,25"))
    assert proposed(instance) == ['csv: {separator: ";"}']
