"""Finance cases T20-T22 and T35: calendar tables, windows over them, and what a comparison of them must say.

Rules: Time, Comparing times.
"""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from engine.door import Door
from engine.model.errors import BadPeriod, GrainUnavailable
from engine.model.notes import messages
from engine.report.report import Report
from server.ingest.load import BindingFailed
from tests.spec.test_cases_time import PY, daily, of
from tests.support.books.calendars import four_four_five, table
from tests.support.books.inspected import ledger, rows_of
from tests.support.books.small import codes, figures, small_books

SUNDAY = date(2019, 12, 29)
RETAIL = {2020: four_four_five(52), 2021: four_four_five(53), 2022: four_four_five(52)}


def weekly(first: date, count: int, amount: int = 10) -> str:
    """Return rows of one amount a week, each on the third day of the week."""
    days = (first + timedelta(days=7 * week + 2) for week in range(count))
    return ",".join(f"{day} {amount}" for day in days)


def note(report: Report, code: str) -> str:
    """Return the only note of a kind."""
    (found,) = [note.message for note in report.notes if note.code == code]
    return found


@pytest.mark.parametrize("by_week", [False, True])
def test_t20_periods_of_a_4_4_5_calendar(tmp_path: Path, by_week: bool) -> None:
    books = daily(tmp_path, weekly(SUNDAY, 52), calendar=table(SUNDAY, RETAIL, by_week=by_week))
    report = books.metric("revenue", scenarios={"A": "actual"}, period=("2020-01", "2020-03"), dimensions=["period"])
    assert figures(report, "period") == {"2020-01": 40, "2020-02": 40, "2020-03": 50, None: 130}
    assert of(books, "2020-Q1") == 130
    assert of(books, "2020") == 520
    assert report.period.start.label == "FY2020 P01 (29 Dec 2019–25 Jan 2020)"
    assert books.metric("revenue", scenarios={"A": "actual"}, period="2020-Q2").period.label == (
        "FY2020 Q2 (29 Mar–27 Jun 2020)"
    )


def test_t20_weeks_of_a_table_make_up_its_periods(tmp_path: Path) -> None:
    rows = ",".join(f"2020-W{week:02} 10" for week in range(1, 53))
    books = daily(tmp_path, rows, grain="week", calendar=table(SUNDAY, RETAIL, by_week=True))
    assert (of(books, "2020-03"), of(books, "2020-Q1"), of(books, "2020")) == (50, 130, 520)
    report = books.metric("revenue", scenarios={"A": "actual"}, period="2020-01", dimensions=["week"])
    assert list(figures(report, "week")) == ["2020-W01", "2020-W02", "2020-W03", "2020-W04", None]
    assert of(books, "2020-W05", "actual@qtd") == of(books, "2020-W05", "actual@ytd") == 50
    with pytest.raises(GrainUnavailable):
        of(books, "2020-01-01")


def test_t21_a_year_of_53_weeks_against_one_of_52(tmp_path: Path) -> None:
    books = daily(tmp_path, weekly(SUNDAY, 105), calendar=table(SUNDAY, RETAIL, by_week=True))
    columns = {"A": "actual", "PY": "actual@py", "%": "var_pct(actual,actual@py)"}
    report = books.metric("revenue", scenarios=columns, period="2021")
    found = figures(report, "alias")
    assert (found["A"], found["PY"]) == (530, 520)
    assert round(found["%"] or 0, 4) == Decimal("0.0192")
    assert note(report, "scenario_partial") == "actual@py: 12 of 12 periods (52 weeks) of gl."
    comparable = books.metric("revenue", scenarios=columns, period=("2021-W01", "2021-W52"))
    assert figures(comparable, "alias") == {"A": 520, "PY": 520, "%": 0}
    assert "scenario_partial" not in codes(comparable)
    alone = books.metric("revenue", scenarios=columns, period="2021-W53")
    assert figures(alone, "alias") == {"A": 10, "PY": None, "%": None}
    assert "no_window" in codes(alone)


def test_t21_weeks_of_iso_years_of_different_length(tmp_path: Path) -> None:
    books = daily(tmp_path, weekly(date(2018, 12, 31), 105))
    report = books.metric("revenue", scenarios={"V": "var(actual,actual@py)"}, period=("2020-W01", "2020-W53"))
    assert figures(report, "alias") == {"V": 10}
    assert "actual@py: no counterpart of '2020-W53' and 52 of 52 weeks of gl." in messages(report.notes)
    assert of(books, "2020-W53", "actual@ytd@py") == of(books, "2020-W53", "actual@py@ytd") == 520
    assert of(books, "2020-W53", "actual@ltm") == 530


def thirteen(folder: Path, without: int = 0) -> Door:
    """Thirteen periods a year, no quarters, ten a period; one of them may be missing."""
    first = date(2012, 1, 1)
    days = ((number, first + timedelta(days=28 * number - 20)) for number in range(1, 10))
    rows = ",".join(f"{day} 10" for number, day in days if number != without)
    years = {2012: (4,) * 13, 2013: (4,) * 13}
    return daily_without_quarters(folder, rows, table(first, years, quarters=False))


def daily_without_quarters(folder: Path, rows: str, calendar: str) -> Door:
    """One amount, dated, in a calendar that has no quarters."""
    dated = "\n".join(f"{day} actual {amount}" for day, amount in (row.split() for row in rows.split(",")))
    return small_books(
        folder,
        facts={"gl": f"date scenario amount\n{dated}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
              stock: {measure: amount, over_time: closing}
              opened: {measure: amount, over_time: opening}
              moved: {measure: amount, over_time: {to_date: fiscal_year}}
              mean: {measure: amount, over_time: {average: {of: month}}}
            """
        },
        calendar=calendar,
    )


def test_t22_thirteen_periods_and_one_that_is_missing(tmp_path: Path) -> None:
    books = thirteen(tmp_path, without=8)
    report = books.metric(
        "revenue",
        scenarios={"A": "actual", "YTD": "actual@ytd"},
        period=("2012-07", "2012-09"),
        dimensions=["period"],
    )
    assert figures(report, "alias", "period") == {
        ("A", "2012-07"): 10,
        ("A", "2012-08"): None,
        ("A", "2012-09"): 10,
        ("A", None): 20,
        ("YTD", "2012-07"): 70,
        ("YTD", "2012-08"): 70,
        ("YTD", "2012-09"): 80,
        ("YTD", None): 80,
    }
    assert books.metric("revenue", scenarios=PY, period="2012-08").period.label == "FY2012 P08 (15 Jul–11 Aug 2012)"


def test_t22_balances_close_at_a_period_of_the_table(tmp_path: Path) -> None:
    report = thirteen(tmp_path).metric("stock", scenarios={"A": "actual"}, period="2012")
    assert figures(report, "alias") == {"A": 10}
    assert "at the close of 2012-09" in note(report, "anchor")


def test_t22_balances_look_back_over_the_years_and_periods_of_the_table(tmp_path: Path) -> None:
    books = thirteen(tmp_path, without=8)
    balances = ["opened", "moved", "mean"]
    for period, expected in {"2012-01": (None, 10, 10), "2012-09": (10, 80, 10), "2013-02": (10, None, None)}.items():
        report = books.metric(*balances, scenarios={"A": "actual"}, period=period)
        assert figures(report, "metric") == dict(zip(balances, expected, strict=True))
    edge = books.metric(*balances, scenarios={"A": "actual"}, period="2011-W52")
    assert set(figures(edge, "metric").values()) == {None}


def test_t22_codes_are_those_of_the_table(tmp_path: Path) -> None:
    books = thirteen(tmp_path)
    assert of(books, "2012-13") is None
    with pytest.raises(BadPeriod, match="there is no such period from 2012-01 to 2013-13"):
        of(books, "2012-14")
    with pytest.raises(BadPeriod, match="no such date from 2012-01-01 to 2013-12-28"):
        of(books, "2014-01-01")
    with pytest.raises(
        BadPeriod, match="a day YYYY-MM-DD, an ISO week YYYY-Wnn, a fiscal period YYYY-MM, a calendar month CYyyyy-MM"
    ):
        of(books, "2012-Q1")


def test_t22_a_calendar_without_quarters_has_no_quarter_to_date(tmp_path: Path) -> None:
    report = thirteen(tmp_path).metric("revenue", scenarios={"Q": "actual@qtd"}, period="2012-05")
    assert figures(report, "alias") == {"Q": None}
    assert "no_window" in codes(report)


def test_a_shift_out_of_the_table_is_blank(tmp_path: Path) -> None:
    books = thirteen(tmp_path)
    report = books.metric("revenue", scenarios={"V": "var(actual,actual@py)"} | PY, period=("2012-01", "2012-09"))
    assert figures(report, "alias") == {"V": None, "PY": None}
    assert "no_window" in codes(report)
    assert of(books, "2012-01", "actual@pp") is None
    assert of(books, ("2012-01", "2012-02"), "actual@pp") == 10
    assert of(books, "2012-09", "actual@ltm") == 90


def test_rows_outside_the_table_are_rejected(tmp_path: Path) -> None:
    calendar = table(SUNDAY, {2020: four_four_five()})
    with pytest.raises(BindingFailed) as failed:
        daily(tmp_path, "2020-01-05 1,2019-12-28 2,2020-12-27 3", calendar=calendar)
    reasons = failed.value.rejects["reason"].to_list()
    assert reasons == ["is outside the calendar, which runs from 2019-12-29 to 2020-12-26"] * 2


def test_rows_by_period_are_codes_of_the_table(tmp_path: Path) -> None:
    calendar = table(date(2012, 1, 1), {2012: (4,) * 13}, quarters=False)
    dimensions = "time: {column: date, grain: month}\ndimensions: {}\nmeasures: {amount: {}}\nmetrics:\n"
    rows = "date scenario amount\n2012-01 actual 1\n2012-13 actual 2"
    metrics = "  revenue: {measure: amount}\n"
    books = small_books(tmp_path, facts={"gl": rows}, domains={"gl": dimensions + metrics}, calendar=calendar)
    assert (of(books, "2012-13"), of(books, "2012")) == (2, 3)
    with pytest.raises(BindingFailed) as failed:
        small_books(
            tmp_path / "bad",
            facts={"gl": f"{rows}\n2012-14 actual 3\n2012 actual 4"},
            domains={"gl": dimensions + metrics},
            calendar=calendar,
        )
    assert failed.value.rejects["found"].to_list() == ["2012-14", "2012"]
    assert failed.value.rejects["reason"][0] == "is no day (YYYY-MM-DD) and no period of the calendar (YYYY-MM)"


MONTHS = [f"{year}-{month:02}" for year in (2010, 2011, 2012) for month in range(1, 13)]


def monthly(folder: Path, without: str = "", fiscal_year: str = "{starts: 7}") -> Door:
    """Ten a month for three calendar years, in the middle of each; one of them may be missing."""
    return daily(folder, ",".join(f"{month}-15 10" for month in MONTHS if month != without), fiscal_year)


def test_t35_last_twelve_months_across_a_fiscal_boundary_with_a_gap(tmp_path: Path) -> None:
    books = monthly(tmp_path, without="2012-02")
    report = books.metric("revenue", scenarios={"LTM": "actual@ltm"}, period="2012-07")
    assert figures(report, "alias") == {"LTM": 110}
    window = report.columns[0].window
    assert window is not None
    assert (window.start.code, window.end.code, window.count) == ("2011-08", "2012-07", 12)


@pytest.mark.parametrize(
    ("period", "view", "first", "last"),
    [
        ("2012-02", "@qtd", "2012-01", "2012-02"),
        (("2011-07", "2012-02"), "@qtd", "2012-01", "2012-02"),
        ("2012", "@qtd", "2012-Q4", "2012-Q4"),
        ("2012-Q1", "@qtd", "2012-Q1", "2012-Q1"),
        ("2012-02-29", "@qtd", "2012-01-01", "2012-02-29"),
        ("2012-02", "@fy", "2011-07", "2012-06"),
        ("2012-Q3", "@fy", "2012-Q1", "2012-Q4"),
        ("2012", "@fy", "2012", "2012"),
        ("2012-W08", "@fy", "2012", "2012"),
        ("2012-W08", "@qtd", "2012-01-01", "2012-02-26"),
        ("2012-W13", "@qtd", "2012-04-01", "2012-04-01"),
        ("2012-W08", "@ytd", "2012-W01", "2012-W08"),
        ("2012-Q2", "@ltm", "2011-Q3", "2012-Q2"),
        ("2012", "@ltm", "2012", "2012"),
        ("2012-02-29", "@ltm", "2011-03-01", "2012-02-29"),
        ("2011-02-28", "@ltm", "2010-03-01", "2011-02-28"),
        ("2013-02-28", "@ltm", "2012-02-29", "2013-02-28"),
        ("2010-W01", "@ltm", "2009-W02", "2010-W01"),
        ("2009-W53", "@ltm", "2009-W01", "2009-W53"),
        ("2012-02", "@qtd@py", "2011-01", "2011-02"),
        ("2012-02", "@fy@py", "2010-07", "2011-06"),
        ("2012-W08", "@fy@py", "2011", "2011"),
        ("2012-W08", "@qtd@py", "2011-01-01", "2011-02-27"),
        ("2025-W52", "@qtd@py", "2024-10-01", "2024-12-29"),
        ("2025-W52", "@cytd@py", "2024-W01", "2024-W52"),
        ("2025-W52", "@cqtd@py", "2024-10-01", "2024-12-29"),
        ("2025-W52", "@cqtd@py2", "2024-Q2", "2024-Q2"),
        ("2017-W52", "@cytd@py", "2016-01-01", "2017-01-01"),
        ("2012-02-29", "@py@ytd", "2010-07-01", "2011-02-28"),
        ("2012-02-29", "@ytd@py", "2010-07-01", "2011-02-28"),
        ("2012-02", "@ytd@pp", "2011-06", "2012-01"),
        ("2012-02", "@pp@ytd", "2011-07", "2012-01"),
        ("2012", "@qtd@pp", "2011-Q4", "2011-Q4"),
        ("2012-W08", "@qtd@pp", "2011-12-25", "2012-02-19"),
        ("2026-W22", "@qtd@pp", "2026-03-25", "2026-05-24"),  # which ends on 31 May
        ("2026-W22", "@mtd@pp2", "2026-04-17", "2026-05-17"),
        ("2012-W39", "@qtd@pp", "2012-06-24", "2012-09-23"),  # which ends a quarter
        ("2012-02", "@fy@qtd", "2012-04", "2012-06"),
    ],
)
def test_windows_in_a_fiscal_year_from_july(
    tmp_path: Path, period: str | tuple[str, str], view: str, first: str, last: str
) -> None:
    books = daily(tmp_path, "2012-01-15 10", "{starts: 7}")
    report = books.metric("revenue", scenarios={"X": f"actual{view}"}, period=period)
    window = report.columns[0].window or report.period
    assert (window.start.code, window.end.code) == (first, last)
    assert ("window_replaces_range" in codes(report)) == isinstance(period, tuple)


@pytest.mark.parametrize("period", ["2025-W52", "2024-W08", "2020-W53", "2016-W40"])
def test_a_window_of_a_week_a_year_before_ends_with_that_week(tmp_path: Path, period: str) -> None:
    ends = {"2025-W52": "2024-12-29", "2024-W08": "2023-02-26", "2020-W53": "2019-12-29", "2016-W40": "2015-10-04"}
    books = daily(tmp_path, "2012-01-15 10", "{starts: 2}")
    views = {view: f"actual{view}" for view in ("@ytd@py", "@py@ytd", "@qtd@py", "@cytd@py", "@cqtd@py")}
    report = books.metric("revenue", scenarios=views, period=period)
    last = {column.heading: column.window and column.window.span.last.isoformat() for column in report.columns}
    beyond = {"@cytd@py": None, "@cqtd@py": None} if period == "2020-W53" else {}  # it ends in January 2021
    assert last == {**dict.fromkeys(views, ends[period]), **beyond}


def test_a_year_that_begins_on_another_day_has_no_window_before_it_begins(tmp_path: Path) -> None:
    years = dict.fromkeys((2024, 2025, 2026), four_four_five())  # from 28 January 2024, 26 and 25 January
    calendar = table(date(2024, 1, 28), years, by_week=True)
    books = daily(tmp_path, "2024-06-01 100,2025-01-26 10,2026-01-25 5", calendar=calendar)
    columns = {view: f"actual{view}" for view in ("@ytd", "@ytd@py", "@qtd@py")}
    columns |= {"V": "var(actual@ytd,actual@ytd@py)"}
    first = books.metric("revenue", scenarios=columns, period="2026-01-25")
    assert figures(first, "alias") == {"@ytd": 5, "@ytd@py": None, "@qtd@py": None, "V": None}
    assert "no_window" in codes(first)
    second = books.metric("revenue", scenarios=columns, period="2026-01-26")
    assert figures(second, "alias") == {"@ytd": 5, "@ytd@py": 10, "@qtd@py": 10, "V": -5}


def test_windows_in_a_breakdown_are_those_of_each_column(tmp_path: Path) -> None:
    books = monthly(tmp_path)
    report = books.metric(
        "revenue",
        scenarios={"Q": "actual@qtd", "L": "actual@ltm", "F": "actual@fy"},
        period=("2011-08", "2011-10"),
        dimensions=["period"],
    )
    found = figures(report, "alias", "period")
    assert [found["Q", period] for period in ("2011-08", "2011-09", "2011-10", None)] == [20, 30, 10, 10]
    assert [found["L", period] for period in ("2011-08", "2011-10", None)] == [120, 120, 120]
    assert [found["F", period] for period in ("2011-08", None)] == [120, 120]


def test_a_window_finer_than_the_data_is_unavailable(tmp_path: Path) -> None:
    books = daily(tmp_path, "2011 10,2012 20", grain="year")
    report = books.metric("revenue", scenarios={"Q": "actual@qtd", "Y": "actual@ytd"}, period="2012")
    assert figures(report, "alias") == {"Q": None, "Y": 20}
    assert note(report, "unavailable") == (
        "'actual@qtd' cannot be asked this way: gl is held by year, and 2012 Q4 (Oct–Dec 2012) begins or ends inside a "
        "fiscal year."
    )
    variance = books.metric("revenue", scenarios={"V": "var(actual@ytd,actual@qtd)"}, period="2012")
    assert figures(variance, "alias") == {"V": None}


def test_rows_of_a_window_are_those_behind_its_cell(tmp_path: Path) -> None:
    monthly = ledger(tmp_path / "months", "2021-01-05 actual Sales E1 J 1 t\n2021-05-05 actual Sales E1 J 2 t")
    asked = {"period_start": "2021-01", "period_end": "2021-06"}
    filters = {"metric": "net_sales", "scenario": "actual@qtd", "period": ("2021-01", "2021-06")}
    assert rows_of(monthly, **asked, filters=filters)["contribution_total"] == 2
    yearly = "time: {column: date, grain: year}\ndimensions: {}\nmeasures: {amount: {}}\ninspect_enabled: true\n"
    books = small_books(
        tmp_path / "years",
        facts={"gl": "date scenario amount\n2012 actual 20"},
        domains={"gl": f"{yearly}metrics:\n  revenue: {{measure: amount}}\n"},
    )
    with pytest.raises(
        GrainUnavailable, match=r"actual@qtd .* gl is held by year, and 2012 Q4 .* begins or ends inside"
    ):
        rows_of(books, period_start="2012", filters={"metric": "revenue", "scenario": "actual@qtd"})


def test_prior_periods_of_4_4_5_months_differ_in_length(tmp_path: Path) -> None:
    books = daily(tmp_path, weekly(SUNDAY, 52), calendar=table(SUNDAY, RETAIL))
    report = books.metric("revenue", scenarios={"V": "var(actual,actual@pp)"}, period="2020-03")
    assert figures(report, "alias") == {"V": 10}
    assert note(report, "scenario_partial") == "actual@pp: 1 of 1 periods (4 weeks) of gl."
    even = books.metric("revenue", scenarios={"V": "var(actual,actual@pp)"}, period="2020-02")
    assert "scenario_partial" not in codes(even)
