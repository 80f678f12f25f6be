"""Months across and months in a column: what names one month is loaded, and nothing else is taken for one."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from server.files.dates import month_number
from tests.unit.server.files.test_formats import MONTHS, instance_of, loaded, refused

QUARTERS = ("account", "Jan", "Feb", "Mar", "Q1", "Apr", "May", "Jun", "H1")
AMOUNTS = ("4000", 1, 2, 3, 6, 4, 5, 6, 21)


NO_MONTHS = (
    "Q1", "Q 1", "H1", "1H", "KW 12", "W12", "Wk 1", "FY25", "Jan-Mar", "Jan..Mar", "Mar YTD", "March YTD", "YTD Mar",
    "Jan_2", "Jan 25", "Jan Budget", "Marketing", "Junk", "Decrease", "Total", "Quarter", "Quartal 1", "ytd", "Ja",
    "Plan 1", "day 3", "v2", "1-3", "001", "JQ1", "",
)  # fmt: skip
MONTH_NAMES = {
    "Jan": "01", "JAN.": "01", "Sept": "09", "Febr.": "02", "december": "12", "P01": "01", "P 1": "01",
    "Period 1": "01", "Per. 1": "01", "Monat 1": "01", "Monat_11": "11", "01": "01", "7": "07", "P13": "13", "M2": "02",
}  # fmt: skip


@pytest.mark.parametrize("name", NO_MONTHS)
def test_a_name_of_anything_but_one_month_is_no_month(name: str) -> None:
    assert month_number(name) is None
    assert month_number(name, MONTHS) is None


@pytest.mark.parametrize(("name", "month"), MONTH_NAMES.items())
def test_a_name_or_a_number_of_a_month_is_one(name: str, month: str) -> None:
    assert month_number(name) == month


def instance_across(folder: Path, names: tuple[str, ...], amounts: tuple[Any, ...], file: str, **feed: Any) -> Path:
    """Write an instance of one file with months across."""
    unpivot = {"columns": f"{names[1]}..{names[-1]}", "into": "date", "value": "amount", "year": "2025"}
    text = "\n".join(",".join(map(str, row)) for row in (names, amounts)) + "\n"
    made = instance_of(folder, text, "month", file, **{"unpivot": unpivot, **feed})
    if file.endswith(".xlsx"):
        with xlsxwriter.Workbook(made / "data" / file) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, names)
            sheet.write_row(1, 0, amounts)
    return made


@pytest.mark.parametrize("file", ["gl.csv", "gl.xlsx"])
def test_quarters_between_months_are_refused_with_the_columns_to_write(tmp_path: Path, file: str) -> None:
    (said,) = refused(instance_across(tmp_path, QUARTERS, AMOUNTS, file))
    assert said == (
        f"columns 'Q1', 'H1' of {file} name no month, and unpivot gives its names a year; leave them out with "
        "unpivot: {columns: [Jan, Feb, Mar, Apr, May, Jun]}, or set dates: {months: […]} if its months are not English"
    )
    months = {"columns": [name for name in QUARTERS[1:] if name not in ("Q1", "H1")]}
    unpivot = {**months, "into": "date", "value": "amount", "year": "2025"}
    instance = instance_across(tmp_path / "mended", QUARTERS, AMOUNTS, file, unpivot=unpivot)
    assert loaded(instance, "2025") == {"4000": 1 + 2 + 3 + 4 + 5 + 6}
    assert loaded(instance, "2025-01") == {"4000": 1}


HEADINGS = [
    ("2025-01-31", "2025-02-28", None), ("2025-01-01", "2025-02-01", None), ("2025-01", "2025-02", None),
    ("31.01.2025", "28.02.2025", "%d.%m.%Y"), ("01/2025", "02/2025", "%m/%Y"), ("Jan 2025", "Feb 2025", "%b %Y"),
]  # fmt: skip


@pytest.mark.parametrize(("january", "february", "written"), HEADINGS)
def test_names_with_a_year_are_months_without_the_key_of_a_year(
    tmp_path: Path, january: str, february: str, written: str | None
) -> None:
    names, unpivot = ("account", january, february), {"into": "date", "value": "amount"}
    columns, keys = {"columns": f"{january}..{february}"}, {"dates": {"format": written}} if written else {}
    instance = instance_across(tmp_path, names, ("4000", 1, 2), "gl.csv", unpivot={**unpivot, **columns}, **keys)
    assert loaded(instance, "2025-01") == {"4000": 1}
    assert loaded(instance, "2025-02") == {"4000": 2}
    (said,) = refused(instance_across(tmp_path / "year", names, ("4000", 1, 2), "gl.csv"))
    assert said.endswith(
        "leave them out with unpivot: {columns: …}, or leave year out of unpivot if its names have one"
    )


@pytest.mark.parametrize("columns", ["2025-01-01..2025-02-01", ["2025-01-01", "2025-02-01"]])
def test_days_above_the_columns_of_a_workbook_are_months(tmp_path: Path, columns: Any) -> None:
    unpivot = {"columns": columns, "into": "date", "value": "amount"}
    instance = instance_of(tmp_path, "", "month", "gl.xlsx", unpivot=unpivot, header_row=2)
    with xlsxwriter.Workbook(instance / "data" / "gl.xlsx") as book:
        sheet, written = book.add_worksheet(), book.add_format({"num_format": "mmm yy"})
        sheet.write_row(0, 0, ("Budget", "of", "Corvane"))
        sheet.write(1, 0, "account")
        for month in (1, 2):
            sheet.write_datetime(1, month, date(2025, month, 1), written)
        sheet.write_row(2, 0, ("4000", 1, 2))
    assert loaded(instance, "2025-01") == {"4000": 1}
    assert loaded(instance, "2025-02") == {"4000": 2}


def test_a_quarter_between_german_months_is_refused(tmp_path: Path) -> None:
    names = ("account", "Jan", "Feb", "Mrz", "Q1")
    (said,) = refused(instance_across(tmp_path, names, ("1", 1, 2, 3, 6), "gl.csv", dates={"months": MONTHS}))
    assert said.startswith("column 'Q1' of gl.csv names no month")


def test_a_month_that_two_columns_name_is_refused(tmp_path: Path) -> None:
    (said,) = refused(instance_across(tmp_path, ("account", "Jan", "P01"), ("1", 1, 2), "gl.csv"))
    assert said == (
        "columns 'Jan', 'P01' of gl.csv name the same month; leave all but 'Jan' out of unpivot: {columns: …}"
    )


@pytest.mark.parametrize("period", ["Q1", "KW 12", "H2", "Jan-Mar", "YTD"])
def test_a_column_of_months_takes_nothing_else(tmp_path: Path, period: str) -> None:
    text = f"account,Year,Period,amount\n1,2025,P01,5\n1,2025,{period},7\n"
    instance = instance_of(tmp_path, text, "month", dates={"year": "Year", "month": "Period"})
    (said,) = refused(instance)
    assert said.startswith(f"gl.csv row 3, date: '2025-{period}' is no day (YYYY-MM-DD) and no month of the calendar")
