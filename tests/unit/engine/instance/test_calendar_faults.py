"""Every fault of a calendar table at once, with its line, in words that say what to do."""

from datetime import date
from pathlib import Path

import pytest

from engine.instance.documents import InstanceFaults
from engine.model.calendar.periods import Grain
from server.feeds.instance import read_instance
from tests.support.books.calendars import four_four_five, table
from tests.unit.engine.instance.test_instance_faults import instance

NAMED = "name: Test\ncurrency: EUR\ncalendar: calendar.csv\n"
PERIODS = table(date(2012, 1, 1), {2012: (4,) * 13}, quarters=True)
WEEKS = table(date(2012, 1, 1), {2012: four_four_five()}, by_week=True)


def said(folder: Path, text: str | bytes, named: str = NAMED, **changed: str) -> list[str]:
    """Return the faults of an instance with a calendar table, as they are printed."""
    instance(folder, instance_yaml=named, **changed)
    (folder / "calendar.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InstanceFaults) as found:
        read_instance(folder)
    return [str(fault) for fault in found.value.faults]


def changed(text: str, *pairs: tuple[str, str]) -> str:
    """Return a table with some of its text changed."""
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize(
    "text", [PERIODS, WEEKS, PERIODS.replace(",", ";"), "\ufeff" + PERIODS.replace("\n", ",,\n") + ",,,,\n\n"]
)
def test_a_table_as_spreadsheets_write_it_has_no_fault(tmp_path: Path, text: str) -> None:
    instance(tmp_path, instance_yaml=NAMED)
    (tmp_path / "calendar.csv").write_text(text, encoding="utf-8")
    calendar = read_instance(tmp_path).catalogue.calendar
    assert calendar.parse("2012-03").first == date(2012, 2, 26)
    assert calendar.weeks_nest == ("week" in text)


def test_the_table_is_part_of_the_version_of_the_catalogue(tmp_path: Path) -> None:
    instance(tmp_path, instance_yaml=NAMED)
    versions = set()
    for text in (PERIODS, WEEKS):
        (tmp_path / "calendar.csv").write_text(text)
        versions.add(read_instance(tmp_path).catalogue.version)
    assert len(versions) == 2


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            [("2012,3,1,2012-02-26", "2012,3,1,2012-02-27")],
            (
                "calendar.csv:4: first_day is 2012-02-27, and line 3 ends on 2012-02-25: no row has 2012-02-26 — "
                "first_day 2012-02-26, or a row between"
            ),
        ),
        (
            [("2012,3,1,2012-02-26", "2012,3,1,2012-02-20")],
            (
                "calendar.csv:4: first_day is 2012-02-20, and line 3 lasts until 2012-02-25 — first_day 2012-02-26: "
                "rows stand in the order of their days and share none"
            ),
        ),
        (
            [("2012,3,1,2012-02-26,2012-03-24", "2012,3,1,2012-03-24,2012-02-26")],
            "calendar.csv:4: first_day 2012-03-24 comes after last_day 2012-02-26 — exchange them",
        ),
        (
            [("2012-02-25", "2012-02-30")],
            "calendar.csv:3: last_day '2012-02-30' is no day that exists — YYYY-MM-DD",
        ),
        ([("2012-02-25", "25.02.2012")], "calendar.csv:3: last_day '25.02.2012' is no day — YYYY-MM-DD"),
        ([("2012-02-25", "")], "calendar.csv:3: last_day is missing — YYYY-MM-DD"),
        (
            [("2012-12-29", "2912-12-29")],
            "calendar.csv:14: 2012-12-02 to 2912-12-29 are 328746 days — a row has 366 at most",
        ),
        ([("2012,3,", "2012,P3,")], "calendar.csv:4: period 'P3' is no whole number from 1 to 99"),
        ([("2012,3,", "212,3,")], "calendar.csv:4: year '212' is no whole number from 1900 to 2199"),
        ([("2012,3,1", "2012,3,5")], "calendar.csv:4: quarter '5' is no whole number from 1 to 4"),
        (
            [("2012,3,", "2012,2,")],
            (
                "calendar.csv:4: period 2 of 2012 stands on line 3 already — one row for each, or a column week where "
                "rows are weeks"
            ),
        ),
        ([("2012,3,", "2012,4,")], "calendar.csv:4: period 4 follows period 2 of line 3 — period 3"),
        ([("2012,3,", "2013,3,")], "calendar.csv:4: 2013 begins with period 3 — period 1 is its first"),
        ([("2012,3,", "2014,3,")], "calendar.csv:4: year 2014 follows year 2012 of line 3 — years go on one by one"),
        (
            [("2012,5,2", "2012,5,1")],
            "calendar.csv:6: quarter 1 follows quarter 2 of line 5 — quarter 2 or 3; the rows of one stand together",
        ),
        (
            [("2012,5,2", "2012,5,")],
            "calendar.csv:6: quarter is missing, and line 2 has one — fill quarter in every row or in none",
        ),
        (
            [("first_day", "start")],
            (
                "calendar.csv:1: has the unknown column 'start' — its columns are year, period, first_day, last_day "
                "and, where there are any, quarter and week"
            ),
        ),
        (
            [("first_day", "start")],
            (
                "calendar.csv:1: has no column 'first_day' — its columns are year, period, first_day, last_day and, "
                "where there are any, quarter and week"
            ),
        ),
        ([("quarter", "period")], "calendar.csv:1: has the column 'period' twice"),
        ([("2012-02-25", "2012-02-25,x")], "calendar.csv:3: has 6 cells, and line 1 names 5 columns"),
    ],
)
def test_a_fault_of_a_table_by_period(tmp_path: Path, change: list[tuple[str, str]], fault: str) -> None:
    assert fault in said(tmp_path, changed(PERIODS, *change))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            [("2012,1,1,3", "2012,1,2,3")],
            (
                "calendar.csv:4: period 1 of 2012 lies in quarter 2, and on line 3 in quarter 1 — a period lies in one "
                "quarter"
            ),
        ),
        (
            [("2012,2,1,6", "2012,1,1,6")],
            "calendar.csv:7: period 1 follows period 2 of line 6 — period 2 or 3; the rows of one stand together",
        ),
        (
            [("2012,1,1,3", "2012,1,1,2")],
            "calendar.csv:4: week 2 of 2012 stands on line 3 already — one row for each",
        ),
        ([("2012,1,1,3", "2012,1,1,4")], "calendar.csv:4: week 4 follows week 2 of line 3 — week 3"),
        (
            [("2012,1,1,3", "2012,1,1,")],
            "calendar.csv:4: week is missing, and line 2 has one — fill week in every row or in none",
        ),
    ],
)
def test_a_fault_of_a_table_by_week(tmp_path: Path, change: list[tuple[str, str]], fault: str) -> None:
    assert fault in said(tmp_path, changed(WEEKS, *change))


def test_one_slip_is_one_fault(tmp_path: Path) -> None:
    assert len(said(tmp_path / "days", changed(PERIODS, ("2012,3,1,2012-02-26", "2012,3,1,2012-02-27")))) == 1
    assert len(said(tmp_path / "day", changed(PERIODS, ("2012-02-25", "2012-02-30")))) == 1


def test_every_fault_of_a_table_comes_at_once(tmp_path: Path) -> None:
    found = said(tmp_path, changed(PERIODS, ("2012-02-25", "x"), ("2012,8,", "2012,9,"), ("2012-12-29", "2012-12-01")))
    assert [fault.split(": ")[0] for fault in found] == [
        "calendar.csv:3",
        "calendar.csv:9",
        "calendar.csv:10",
        "calendar.csv:14",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "calendar.csv:1: has no rows"),
        ("year,period,first_day,last_day\n", "calendar.csv:1: has no rows"),
        ("year,period\n2012,\xe9\n".encode("latin-1"), "calendar.csv:1: is no UTF-8 text at byte 17"),
    ],
)
def test_a_file_that_is_no_table(tmp_path: Path, text: str | bytes, fault: str) -> None:
    assert any(found.startswith(fault) for found in said(tmp_path, text))


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    found = said(tmp_path, PERIODS, NAMED.replace("calendar.csv", "periods.csv"))
    assert found == ["periods.csv:1: the file is missing — instance.yaml names it as its calendar"]
    outside = said(tmp_path / "outside", PERIODS, NAMED.replace("calendar.csv", "../calendar.csv"))
    assert outside[0].startswith("instance.yaml:3: calendar has a shape that is not allowed (found '../calendar.csv')")


def test_a_fiscal_year_beside_a_table_contradicts_it(tmp_path: Path) -> None:
    assert said(tmp_path, PERIODS, NAMED + "fiscal_year: {starts: 7}\n") == [
        "instance.yaml:4: fiscal_year stands beside calendar — leave it out: the calendar table says when years begin"
    ]


def test_a_grain_that_the_table_lacks(tmp_path: Path) -> None:
    text = table(date(2012, 1, 1), {2012: (4,) * 13}, quarters=False)
    found = said(tmp_path, text, dimensions_yaml="account: {kind: leaf}\nq: {kind: leaf, grain: quarter}\n")
    assert any(
        fault.startswith("dimensions.yaml:2: the calendar has no quarters — number them in the column quarter")
        for fault in found
    )


def test_periods_of_the_other_files_are_those_of_the_table(tmp_path: Path) -> None:
    instance(tmp_path, instance_yaml=NAMED + "default: {period_start: 2012-13}\n")
    (tmp_path / "calendar.csv").write_text(PERIODS)
    assert read_instance(tmp_path).catalogue.calendar.at(date(2012, 12, 29), Grain.MONTH)
    found = said(tmp_path / "bad", PERIODS, NAMED + "default: {period_start: 2012-14}\n")
    assert len(found) == 1
    assert "there is no such period from 2012-01 to 2012-13" in found[0]


TRADING = "name: Test\ncurrency: EUR\nfiscal_year: {starts: 2}\ntrading_calendar: trading.csv\n"
GL = """
    domain: gl
    table: live.gl
    time: {column: date}
    dimensions: {account: account}
    measures: {amount: {places: 2}}
    metrics:
      revenue: {measure: amount}
      costs: {measure: amount}
      profit: {formula: revenue - costs}
      cash: {measure: amount, over_time: {average: {of: trading_period}}}
"""


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"trading.csv": PERIODS.replace("2012,3,", "2012,4,")}, "trading.csv:4: period 4 follows period 2"),
        (
            {"trading.csv": PERIODS, "dimensions.yaml": "account: {kind: leaf}\nn: {kind: leaf, of_year: true}\n"},
            "dimensions.yaml:2: n has no grain whose periods years number — grain: month, for example",
        ),
        ({}, "trading.csv:1: the file is missing — instance.yaml names it as its calendar"),
        (
            {"instance.yaml": NAMED + "trading_calendar: calendar.csv\n", "calendar.csv": PERIODS},
            "instance.yaml:4: calendar.csv is the calendar already — a table of other periods, or leave it out",
        ),
        (
            {
                "instance.yaml": NAMED + "trading_calendar: trading.csv\n",
                "calendar.csv": PERIODS,
                "trading.csv": table(date(2014, 1, 5), {2014: (4,) * 13}),
            },
            "no day of trading.csv, 2014-01-05 to 2015-01-03, lies inside the calendar — rows from 2012-01-01 to",
        ),
        (
            {
                "trading.csv": PERIODS,
                "dimensions.yaml": "account: {kind: leaf}\nw: {kind: leaf, grain: trading_week}\n",
            },
            "dimensions.yaml:2: the calendar has no trading_weeks — number them in the column week of its table",
        ),
        (
            {
                "instance.yaml": "name: Test\ncurrency: EUR\n",
                "dimensions.yaml": "account: {kind: leaf}\nw: {kind: leaf, grain: trading_year}\n",
            },
            "dimensions.yaml:2: the calendar has no trading_years — instance.yaml names no trading_calendar",
        ),
        (
            {"trading.csv": PERIODS, "domains/gl.yaml": GL},
            "closings cannot be averaged by trading_period: days outside the trading calendar have none",
        ),
    ],
)
def test_what_a_trading_calendar_cannot_be(tmp_path: Path, files: dict[str, str], fault: str) -> None:
    instance(tmp_path, **{"instance.yaml": TRADING, **files})
    with pytest.raises(InstanceFaults) as found:
        read_instance(tmp_path)
    assert any(fault in str(each) for each in found.value.faults), found.value.faults
