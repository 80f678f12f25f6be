"""Finance cases T78 and T79: two dimensions of time in one breakdown, of two calendars and of one.

Rules: Two dimensions of time.
"""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments, DimensionUnavailable
from engine.model.requests import ChartSpec
from engine.present.charts.results import drawn_as_it_is
from engine.report.report import Report
from tests.laws.oracle.asking import behind
from tests.spec.test_cases_calendars import posted, total
from tests.spec.test_cases_trading import WEEKS
from tests.support.answers.drills import figure_behind
from tests.support.books.inspected import rows_of
from tests.support.books.small import figures, small_books

A = {"A": "actual"}
LEDGER = """
time: {column: date}
inspect_enabled: true
dimensions: {}
measures: {amount: {places: 2}}
metrics:
  revenue: {measure: amount}
  count: {over_members: count}
  balance: {measure: amount, over_time: closing}
"""
DIMENSIONS = """
year: {kind: leaf, grain: year}
quarter: {kind: leaf, grain: quarter}
date: {kind: leaf, grain: date}
week: {kind: leaf, grain: week}
month_of_year: {kind: leaf, grain: month, of_year: true}
period_of_year: {kind: leaf, grain: trading_period, of_year: true}
"""
TWO_YEARS = ("2025-02", "2027-01")


@pytest.fixture(scope="module", name="retail")
def february_year_beside_weeks(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A fiscal year of months from February beside one of weeks: 4-4-5, of which 2025 has 53."""
    rows = "\n".join(f"{day} actual {amount}" for day, amount in posted())
    return small_books(
        tmp_path_factory.mktemp("retail"),
        facts={"gl": f"date scenario amount\n{rows}"},
        domains={"gl": LEDGER},
        dimensions=DIMENSIONS,
        fiscal_year="{starts: 2, named_by: start}",
        trading=WEEKS,
    )


def by(books: Door, *dimensions: str, period: str | tuple[str, str], **asked: Any) -> dict[Any, Decimal | None]:
    """Return the revenue of a range by dimensions of time, its total under None."""
    report = books.metric("revenue", **{"scenarios": A, **asked}, period=period, dimensions=dimensions)
    found = figures(report, *dimensions)
    return {None if key == (None,) * len(dimensions) else key: value for key, value in found.items()}


def added(found: Mapping[Any, Decimal | None], place: int) -> dict[str, Decimal]:
    """Return the sums of figures over the other dimension."""
    sums: dict[str, Decimal] = {}
    for key, value in found.items():
        if key is not None:
            sums[key[place]] = sums.get(key[place], Decimal(0)) + (value or 0)
    return sums


def test_t78_trading_periods_by_month_have_each_day_once(retail: Door) -> None:
    found = by(retail, "trading_period", "month", period="TY2026-Q1")
    assert found == {
        ("TY2026-P01", "2026-02"): total("2026-02-01", "2026-02-28"),
        ("TY2026-P02", "2026-03"): total("2026-03-01", "2026-03-28"),
        ("TY2026-P03", "2026-03"): None,  # 29 to 31 March have no posting
        ("TY2026-P03", "2026-04"): total("2026-04-01", "2026-04-30"),
        ("TY2026-P03", "2026-05"): total("2026-05-01", "2026-05-02"),
        None: total("2026-02-01", "2026-05-02"),
    }
    periods = figures(
        retail.metric("revenue", scenarios=A, period="TY2026-Q1", dimensions=["trading_period"]), "trading_period"
    )
    assert added(found, 0) == {code: value for code, value in periods.items() if code}
    months = {"2026-02": ("02-01", "02-28"), "2026-03": ("03-01", "03-31"), "2026-04": ("04-01", "04-30")}
    assert added(found, 1) == {
        **{code: total(f"2026-{first}", f"2026-{last}") for code, (first, last) in months.items()},
        "2026-05": total("2026-05-01", "2026-05-02"),
    }


def test_t78_months_by_trading_week_cut_the_weeks(retail: Door) -> None:
    found = by(retail, "month", "trading_week", period=("2026-03", "2026-04"))
    assert found["2026-04", "TY2026-W09"] == total("2026-04-01", "2026-04-04")
    assert found["2026-03", "TY2026-W09"] is None  # 29 to 31 March have no posting
    months = retail.metric("revenue", scenarios=A, period=("2026-03", "2026-04"), dimensions=["month"])
    assert added(found, 0) == {code: value for code, value in figures(months, "month").items() if code}
    assert sum(added(found, 1).values()) == found[None] == total("2026-03-01", "2026-04-30")


def test_t78_a_balance_and_a_count_of_the_days_that_two_calendars_share(retail: Door) -> None:
    asked: dict[str, Any] = {"scenarios": A, "period": "TY2026-P03", "dimensions": ["trading_period", "month"]}
    april = ("TY2026-P03", "2026-04")
    days = [amount for day, amount in posted() if date(2026, 4, 1) <= day <= date(2026, 4, 30)]
    assert figures(retail.metric("count", **asked), *asked["dimensions"])[april] == len(days)
    balance = figures(retail.metric("balance", **asked), *asked["dimensions"])
    assert (balance[april], balance[None, None]) == (sum(days), total("2026-05-01", "2026-05-02"))


def test_t78_what_is_held_by_month_has_whole_months_alone_and_says_so(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "gl": "date scenario amount\n2026-03-27 actual 1\n2026-04-10 actual 4",
            "costs": "date scenario amount\n2026-03 actual 62\n2026-04 actual 8",
        },
        domains={
            "gl": LEDGER,
            "costs": "time: {column: date, grain: month}\ndimensions: {}\nmeasures: {amount: {places: 2}}\n"
            "metrics:\n  opex: {measure: amount}\n",
        },
        statements={"pnl": "- {metric: revenue}\n- {metric: opex}\n"},
        fiscal_year="{starts: 2, named_by: start}",
        trading=WEEKS,
    )
    for dimensions in (["month", "trading_period"], ["trading_period", "month"]):
        report = books.statement("pnl", scenarios=A, period=("2026-03", "2026-04"), dimensions=dimensions)
        found = figures(report, "line", "month", "trading_period")
        assert found["revenue", "2026-03", "TY2026-P02"] == 1
        assert found["opex", "2026-03", "TY2026-P02"] is None
        assert found["opex", "2026-04", "TY2026-P03"] == 8  # all of April lies in the period
        assert found["opex", None, None] == 70
        (unavailable,) = [note.message for note in report.notes if note.code == "unavailable"]
        assert "'opex'" in unavailable
        assert "costs is held by month, not by trading_period" in unavailable


@pytest.mark.parametrize(
    ("dimensions", "period", "scenario"),
    [
        (["trading_period", "month"], "TY2026-Q1", "actual"),
        (["month", "trading_quarter"], ("2025-11", "2026-03"), "actual"),
        (["year", "month_of_year"], TWO_YEARS, "actual@py"),
        (["month_of_year", "year"], TWO_YEARS, "actual@ytd"),
        (["trading_year", "period_of_year"], ("TY2025", "TY2026"), "actual@py"),
    ],
)
def test_t78_t79_the_rows_behind_each_cell_make_it(
    retail: Door, dimensions: list[str], period: str | tuple[str, str], scenario: str
) -> None:
    asked: dict[str, Any] = {"scenarios": {"X": scenario}, "period": period, "dimensions": dimensions}
    report = retail.metric("revenue", **asked, subtotals=True)
    assert len(report.places) > 4
    cells = list(behind(report))
    assert len(cells) == len(report.places)
    for cell in cells:
        ((_, _, call),) = cell.calls
        rows = figure_behind(call, lambda call: rows_of(retail, **call))
        shown = figures_at(report)[cell.where[2]]
        assert rows == shown, (cell, rows)


def test_t78_books_by_month_tell_the_rows_behind_a_cut_quarter_in_months(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario amount\n2026-05 actual 1\n2026-06 actual 2\n2026-07 actual 4\n2026-08 actual 8"},
        domains={"gl": LEDGER.replace("{column: date}", "{column: date, grain: month}")},
        dimensions="quarter: {kind: leaf, grain: quarter}",
        fiscal_year="{starts: 2, named_by: start}",
    )
    asked: dict[str, Any] = {"scenarios": A, "period": ("CY2026-H1", "CY2026-H2"), "dimensions": ["quarter", "period"]}
    found = {}
    for cell in behind(books.metric("revenue", **asked)):
        ((_, _, call),) = cell.calls
        found[call["period_start"], call["period_end"]] = figure_behind(call, lambda call: rows_of(books, **call))
    assert found["2026-05", "2026-06"] == 3
    assert found["2026-07", "2026-07"] == 4


def figures_at(report: Report) -> dict[Any, Decimal | None]:
    """Return the figures of a report of one figure a place, by its members as `behind` names them."""
    found = figures(report, *report.breakdown)
    return {
        tuple(sorted((axis, member) for axis, member in zip(report.breakdown, key, strict=True) if member))
        or None: value
        for key, value in found.items()
    }


def test_t78_what_a_cell_of_two_calendars_cannot_show(retail: Door) -> None:
    crossed: dict[str, Any] = {"dimensions": ["trading_period", "month"]}
    with pytest.raises(BadArguments, match=r"cut each other's periods.*and actual@py moves periods") as shifted:
        retail.metric("revenue", scenarios={"V": "var(actual,actual@py)"}, period="TY2026-Q1", **crossed)
    assert shifted.value.example == {"dimensions": ["trading_period"]}
    with pytest.raises(DimensionUnavailable, match=r"The trading periods do not fit into .*2024-01-28 to 2027-01-30"):
        retail.metric("revenue", scenarios=A, period=("2023-12", "2024-03"), **crossed)
    with pytest.raises(DimensionUnavailable, match="do not fit into 5 Mar"):
        retail.metric("revenue", scenarios=A, period=("2026-03-05", "2026-04-07"), **crossed)


@pytest.mark.parametrize(
    ("dimensions", "words", "example"),
    [
        (["year", "quarter", "month"], "year, quarter and month. Break down by two", ["year", "quarter"]),
        (["month", "period"], "the same periods. Name one of them", ["month"]),
        (["month_of_year"], "Break down by the years as well", ["year", "month_of_year"]),
        (["period_of_year", "year"], "Break down by the years as well", ["trading_year", "period_of_year"]),
    ],
)
def test_t79_dimensions_of_time_that_do_not_go_together(
    retail: Door, dimensions: list[str], words: str, example: list[str]
) -> None:
    with pytest.raises(BadArguments, match=words) as refused:
        retail.metric("revenue", scenarios=A, period=TWO_YEARS, dimensions=dimensions)
    assert refused.value.example == {"dimensions": example}


def test_t79_sub_totals_are_those_over_either_dimension(retail: Door) -> None:
    years = by(retail, "year", "month_of_year", period=TWO_YEARS, subtotals=True)
    assert list(years)[:3] == [("2025", None), ("2025", "02"), ("2025", "03")]
    assert years["2025", None] == total("2025-02-01", "2026-01-31")
    assert years["2026", None] == total("2026-02-01", "2027-01-31")
    assert len(years) == 2 * 13 + 1
    months = by(retail, "month_of_year", "year", period=TWO_YEARS, subtotals=True)
    assert list(months)[:4] == [("02", None), ("02", "2025"), ("02", "2026"), ("03", None)]
    assert months["02", None] == total("2025-02-01", "2025-02-28") + total("2026-02-01", "2026-02-28")
    assert sum(value or 0 for key, value in months.items() if key and key[1] is None) == months[None] == years[None]


def test_t79_a_sub_total_of_a_cut_year_shifts_as_its_months_and_is_a_balance_at_its_close(retail: Door) -> None:
    period = ("2025-12", "2026-03")  # the fiscal year 2025 ends with January 2026
    asked: dict[str, Any] = {"period": period, "dimensions": ["year", "month_of_year"], "subtotals": True}
    before = figures(retail.metric("revenue", scenarios={"PY": "actual@py"}, **asked), *asked["dimensions"])
    assert before["2025", None] == total("2024-12-01", "2025-01-31")
    closing = figures(retail.metric("balance", scenarios=A, **asked), *asked["dimensions"])
    assert closing["2025", None] == closing["2025", "01"] != closing["2025", "12"]


def test_t78_sub_totals_of_two_calendars_are_whole_periods(retail: Door) -> None:
    found = by(retail, "trading_period", "month", period="TY2026-Q1", subtotals=True)
    assert found["TY2026-P03", None] == total("2026-03-29", "2026-05-02")
    assert found["TY2026-P03", "2026-04"] == total("2026-04-01", "2026-04-30")


def test_t79_years_by_month_of_year(retail: Door) -> None:
    found = by(retail, "year", "month_of_year", period=TWO_YEARS)
    assert [key for key in found if key][:3] == [("2025", "02"), ("2025", "03"), ("2025", "04")]
    assert found["2025", "02"] == total("2025-02-01", "2025-02-28")
    assert found["2025", "01"] == total("2026-01-01", "2026-01-31")  # of the fiscal year from February 2025
    assert found["2026", "03"] == total("2026-03-01", "2026-03-31")
    years = retail.metric("revenue", scenarios=A, period=TWO_YEARS, dimensions=["year"])
    assert added(found, 0) == {code: value for code, value in figures(years, "year").items() if code}
    assert added(found, 1)["03"] == total("2025-03-01", "2025-03-31") + total("2026-03-01", "2026-03-31")
    assert found[None] == total("2025-02-01", "2027-01-31")
    turned = by(retail, "month_of_year", "year", period=TWO_YEARS)
    assert list(turned)[:3] == [("02", "2025"), ("02", "2026"), ("03", "2025")]
    assert all(turned[month, year] == found[year, month] for year, month in filter(None, found))


def test_t79_calendar_years_by_month_of_year(retail: Door) -> None:
    found = by(retail, "calendar_year", "month_of_year", period=("CY2025", "CY2026"))
    assert [key for key in found if key][:2] == [("CY2025", "01"), ("CY2025", "02")]
    assert found["CY2026", "01"] == total("2026-01-01", "2026-01-31")


def test_t79_each_cell_of_one_calendar_shifts_as_its_own_period(retail: Door) -> None:
    columns = {"PY": "actual@py", "YTD": "actual@ytd", "PP": "actual@pp"}
    report = retail.metric("revenue", scenarios=columns, period="2026", dimensions=["year", "month_of_year"])
    found = figures(report, "alias", "year", "month_of_year")
    assert found["PY", "2026", "03"] == total("2025-03-01", "2025-03-31")
    assert found["YTD", "2026", "03"] == total("2026-02-01", "2026-03-31")
    assert found["PP", "2026", "03"] == total("2026-02-01", "2026-02-28")
    assert found["YTD", None, None] == total("2026-02-01", "2027-01-31")
    assert found["PY", None, None] == total("2025-02-01", "2026-01-31")


def test_t79_the_53rd_week_makes_the_last_period_longer(retail: Door) -> None:
    found = by(retail, "trading_year", "period_of_year", period=("TY2025", "TY2026"))
    assert found["TY2025", "P12"] == total("2025-12-21", "2026-01-31")
    assert found["TY2026", "P11"] == total("2026-11-29", "2026-12-26")
    report = retail.metric("revenue", scenarios=A, period="TY2025", dimensions=["trading_year", "period_of_year"])
    assert [member.label for member in report.places[0].members] == ["TY2025 (26 Jan 2025–31 Jan 2026)", "P01"]


def test_t79_a_line_for_each_year_stands_over_the_months(retail: Door) -> None:
    for years, months, x in (("year", "month_of_year", "month_of_year_label"), ("year", "month", "month")):
        report = retail.metric("revenue", scenarios=A, period=TWO_YEARS, dimensions=[years, months])
        drawn = drawn_as_it_is(ChartSpec(chart_type="line", title="Revenue"), report)
        assert (drawn.spec.x, drawn.spec.series, drawn.spec.y, drawn.frame.height) == (x, years, "value", 24)


def test_t79_names_of_months(retail: Door) -> None:
    report = retail.metric("revenue", scenarios=A, period="2026", dimensions=["year", "month_of_year"])
    assert [place.members[1].label for place in report.places[:3]] == ["Feb", "Mar", "Apr"]
    assert report.time == ("year", "month_of_year")


def test_t79_numbers_of_periods_are_not_filtered(retail: Door) -> None:
    with pytest.raises(DimensionUnavailable, match="month_of_year can only be broken down by"):
        retail.metric("revenue", scenarios=A, period="2026", filters={"month_of_year": "03"})


def test_t78_a_sub_total_of_a_period_that_the_range_cuts_has_the_days_of_its_cells(retail: Door) -> None:
    found = by(retail, "trading_period", "month", period=("2026-03", "2026-04"), subtotals=True)
    assert found["TY2026-P03", None] == total("2026-03-29", "2026-04-30") != total("2026-03-29", "2026-05-02")
    months = by(retail, "month", "trading_period", period="TY2026-P03", subtotals=True)
    assert months["2026-05", None] == total("2026-05-01", "2026-05-02") != total("2026-05-01", "2026-05-31")


def test_t79_the_total_of_a_window_is_that_of_the_last_period_of_a_cut_year(retail: Door) -> None:
    found = by(retail, "year", "month_of_year", period=("2025-12", "2026-03"), scenarios={"Y": "actual@ytd"})
    assert found[None] == found["2026", "03"] == total("2026-02-01", "2026-03-31")
