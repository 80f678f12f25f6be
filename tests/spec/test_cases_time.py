"""Finance cases T12-T23 and T34-T38: leap days, weeks, fiscal years, windows and codes that mean nothing.

Rules: Time, Comparing times.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from engine.door import Door
from engine.model.errors import BadPeriod, DimensionUnavailable, GrainUnavailable, MixedGrains, Refusal
from engine.model.exact import Exact
from tests.support.books.small import codes, figure, figures, small_books

A = {"A": "actual"}
PY = {"PY": "actual@py"}


def daily(
    folder: Path,
    rows: str,
    fiscal_year: str = "{starts: 1}",
    grain: str = "day",
    calendar: str = "",
    trading: str = "",
) -> Door:
    """One amount, dated."""
    dated = "\n".join(f"{date} actual {amount}" for date, amount in (row.split() for row in rows.split(",")))
    return small_books(
        folder,
        facts={"gl": f"date scenario amount\n{dated}"},
        domains={
            "gl": f"""
            time: {{column: date, grain: {grain}}}
            dimensions: {{}}
            measures: {{amount: {{places: 2}}}}
            metrics:
              revenue: {{measure: amount}}
            """
        },
        dimensions="""
            date: {kind: leaf, grain: date}
            week: {kind: leaf, grain: week}
            quarter: {kind: leaf, grain: quarter}
            year: {kind: leaf, grain: year}
        """,
        fiscal_year=fiscal_year,
        calendar=calendar,
        trading=trading,
    )


def of(books: Door, period: str | tuple[str, str], scenario: str = "actual") -> Decimal | None:
    """Return the revenue of a period."""
    return figure(books.metric("revenue", scenarios={"X": scenario}, period=period))


def test_t12_leap_day_under_a_shift_of_one_year(tmp_path: Path) -> None:
    books = daily(tmp_path, "2020-02-28 10,2020-02-29 7,2021-02-28 20")
    assert of(books, "2021-02-28", "actual@py") == 10
    assert of(books, "2021-02", "actual@py") == 17
    by_day = books.metric("revenue", scenarios=PY, period=("2021-02-01", "2021-02-28"), dimensions=["date"])
    assert sum(value for day, value in figures(by_day, "date").items() if day and value) == 10


def test_t13_prior_year_of_29_february_is_blank(tmp_path: Path) -> None:
    books = daily(tmp_path, "2019-02-28 4,2020-02-28 5,2020-02-29 6")
    report = books.metric("revenue", scenarios=PY, period=("2020-02-28", "2020-02-29"), dimensions=["date"])
    assert figures(report, "date") == {"2020-02-28": 4, "2020-02-29": None, None: 4}
    assert {"no_window", "leap_day"} <= codes(report)


def test_t14_month_end_facts_shift_by_month(tmp_path: Path) -> None:
    books = daily(tmp_path, "2020-02-29 100,2021-02-28 110")
    assert of(books, "2021-02", "actual@py") == 100
    assert of(books, "2021-02", "var_pct(actual,actual@py)") == Decimal("0.1")


def test_t15_iso_week_at_the_year_boundary(tmp_path: Path) -> None:
    books = daily(tmp_path, "2020-12-31 36.00,2021-01-01 0.31,2021-01-03 51.55,2021-01-04 246.56")
    assert of(books, "2020-W53") == Decimal("87.86")
    assert of(books, "2021-W01") == Decimal("246.56")
    assert of(books, "2020-12") == 36
    assert of(books, "2021-01") == Decimal("298.42")
    by_week = books.metric("revenue", scenarios=A, period=("2020-W53", "2021-W01"), dimensions=["week"])
    assert figures(by_week, "week") == {
        "2020-W53": Decimal("87.86"),
        "2021-W01": Decimal("246.56"),
        None: Decimal("334.42"),
    }


def test_t16_prior_year_of_week_53_and_weeks_that_do_not_exist(tmp_path: Path) -> None:
    books = daily(tmp_path, "2019-12-26 44,2020-12-31 50")
    report = books.metric("revenue", scenarios=PY, period="2020-W53")
    assert figure(report) is None
    assert "no_window" in codes(report)
    assert of(books, "2026-W53") is None
    with pytest.raises(BadPeriod, match="there is no such week"):
        of(books, "2021-W53")


def test_t17_iso_weeks_of_a_year_are_not_the_calendar_year(tmp_path: Path) -> None:
    books = daily(tmp_path, "2019-12-30 5,2020-06-01 100,2021-01-02 4")
    assert of(books, ("2020-W01", "2020-W53")) == 109
    assert of(books, ("2020-01", "2020-12")) == 100
    assert of(books, "2020") == 100


JULY = "2011-06-15 10,2011-07-15 20,2012-06-15 30,2012-07-15 40"


def test_t18_fiscal_year_starting_in_july(tmp_path: Path) -> None:
    books = daily(tmp_path, JULY, "{starts: 07, named_by: end}")
    assert of(books, "2012") == 50
    assert of(books, "2011") == 10
    assert of(books, "2012-Q1") == 20
    report = books.metric("revenue", scenarios=A, period="2012-Q1")
    assert report.period.label == "FY2012 Q1 (Jul\N{EN DASH}Sep 2011)"


def test_t18_fiscal_year_named_by_its_start(tmp_path: Path) -> None:
    books = daily(tmp_path, JULY, "{starts: 7, named_by: start}")
    assert of(books, "2011") == 50
    assert of(books, "2011-Q1") == 20


def test_t19_fiscal_year_ending_on_the_last_day_of_february(tmp_path: Path) -> None:
    books = daily(tmp_path, "2020-02-29 28.18,2020-03-01 1950.26,2021-02-28 232.06,2021-03-01 -32.60", "{starts: 3}")
    assert of(books, "2020") == Decimal("28.18")
    assert of(books, "2021") == Decimal("2182.32")
    assert of(books, "2022") == Decimal("-32.6")


def test_t23_a_missing_month_and_a_doubled_one(tmp_path: Path) -> None:
    books = daily(tmp_path, "2021-01-31 100,2021-03-01 50,2021-03-31 60,2020-03-31 100")
    report = books.metric("revenue", scenarios=A, period=("2021-01", "2021-03"), dimensions=["period"])
    assert figures(report, "period") == {"2021-01": 100, "2021-02": None, "2021-03": 110, None: 210}
    growth = books.metric(
        "revenue", scenarios={"G": "var_pct(actual,actual@pp)"}, period=("2021-01", "2021-03"), dimensions=["period"]
    )
    assert figures(growth, "period")["2021-03"] is None
    assert of(books, "2021-03", "var_pct(actual,actual@py)") == Decimal("0.1")


def test_t34_year_to_date_follows_the_fiscal_year(tmp_path: Path) -> None:
    months = ",".join(f"{year}-{month:02}-15 10" for year in (2011, 2012) for month in range(1, 13))
    fiscal = daily(tmp_path / "fiscal", months, "{starts: 7}")
    assert of(fiscal, "2012-06", "actual@ytd") == 120
    assert of(fiscal, "2012-07", "actual@ytd") == 10
    calendar = daily(tmp_path / "calendar", months)
    assert of(calendar, "2012-06", "actual@ytd") == 60
    assert of(calendar, "2012-07", "actual@ytd") == 70


def test_year_to_date_in_a_period_breakdown_is_a_window_of_each_column(tmp_path: Path) -> None:
    books = daily(tmp_path, ",".join(f"2021-{month:02}-15 10" for month in range(1, 13)))
    report = books.metric(
        "revenue", scenarios={"YTD": "actual@ytd"}, period=("2021-02", "2021-04"), dimensions=["period"]
    )
    assert figures(report, "period") == {"2021-02": 20, "2021-03": 30, "2021-04": 40, None: 40}
    assert "window_replaces_range" in codes(
        books.metric("revenue", scenarios={"Y": "actual@ytd"}, period=("2021-02", "2021-04"))
    )


@pytest.mark.parametrize("subtotals", [False, True])
def test_each_cell_of_a_shifted_view_names_the_periods_that_it_shows(tmp_path: Path, *, subtotals: bool) -> None:
    months = [f"{year}-{month:02}" for year in (2019, 2020, 2021) for month in range(1, 13)]
    books = daily(tmp_path, ",".join(f"{month}-15 {2**at}" for at, month in enumerate(months)))
    views = {view: f"actual@{view}" for view in ("py", "pp", "ytd", "ltm", "fy")}
    by_quarter = ["year", "quarter"] if subtotals else ["quarter"]
    report = books.metric("revenue", scenarios=views, period="2021", dimensions=by_quarter, subtotals=subtotals)
    for column, shown in zip(report.columns, report.figures[0], strict=True):
        for place, value in zip(report.places, shown, strict=True):
            asked = (place.members[-1].id,) * 2 if place.members else ("2021", "2021")
            window = report.window(column, place)
            period = (window.start.code, window.end.code) if window else asked
            assert value == Exact(int(of(books, period) or 0)), (column.scenario, place, period)


@pytest.mark.parametrize(
    ("view", "period", "dimensions", "said"),
    [
        ("pp", "2021", ["quarter"], "2020"),
        ("pp", ("2021-01", "2021-06"), ["quarter"], "Dec 2020 – May 2021"),
        ("ytd", ("2021-02", "2021-04"), ["period"], "Jan 2021 – Apr 2021"),
        ("pp", ("2021-02", "2021-04"), ["period"], None),
        ("pp", "2021", ["year"], None),
        ("py", "2021", ["quarter"], None),
    ],
)
def test_a_total_that_is_not_the_sum_of_its_periods_says_so(
    tmp_path: Path, view: str, period: str | tuple[str, str], dimensions: list[str], said: str | None
) -> None:
    months = [f"{year}-{month:02}" for year in (2020, 2021) for month in range(1, 13)]
    books = daily(tmp_path, ",".join(f"{month}-15 {2**at}" for at, month in enumerate(months)))
    report = books.metric("revenue", scenarios={"X": f"actual@{view}"}, period=period, dimensions=dimensions)
    *within, total = figures(report, dimensions[0]).values()
    assert (sum(filter(None, within)) != total) == (said is not None)
    assert "window_replaces_range" not in codes(report)
    messages = [note.message for note in report.notes if note.code == "own_windows"]
    assert len(messages) == (said is not None)
    assert all(str(said) in message for message in messages)


def test_shifts_chain_and_commute_over_a_window(tmp_path: Path) -> None:
    books = daily(
        tmp_path,
        ",".join(f"{year}-{month:02}-15 {year - 2010}" for year in (2019, 2020, 2021) for month in range(1, 13)),
    )
    assert of(books, "2021-03", "actual@ytd@py") == of(books, "2021-03", "actual@py@ytd") == 30
    assert of(books, "2021-03", "actual@py2") == 9
    assert of(books, "2021-03", "actual@pp3") == 10
    assert of(books, ("2021-01", "2021-03"), "actual@pp") == 10 + 11 + 11


def test_t36_a_range_of_quarters_is_its_months(tmp_path: Path) -> None:
    months = ["2020-10", "2020-11", "2020-12", "2021-01", "2021-02", "2021-03", "2021-04"]
    books = daily(tmp_path, ",".join(f"{month}-10 {amount}" for amount, month in enumerate(months, 1)))
    assert of(books, ("2020-Q4", "2021-Q1")) == of(books, ("2020-10", "2021-03")) == 21


@pytest.mark.parametrize(
    ("period", "refusal", "says"),
    [
        (("2020-W10", "2020-W12"), GrainUnavailable, "Ask by month or quarter or year"),
        (("2020-01", "2020-Q2"), MixedGrains, "Give both bounds at one grain"),
        (("2020-05", "2020-03"), BadPeriod, "Exchange them"),
        ("2020-13", BadPeriod, "there is no such month"),
        ("2021-02-29", BadPeriod, "there is no such date"),
        ("2020-Q5", BadPeriod, "there is no such quarter"),
        ("1492", BadPeriod, "there is no such year"),
        ("last month", BadPeriod, "is no period code"),
        ("２０２０-01", BadPeriod, "is no period code"),
    ],
)
def test_t37_codes_that_mean_nothing_here(
    tmp_path: Path, period: str | tuple[str, str], refusal: type[Refusal], says: str
) -> None:
    books = daily(tmp_path, "2020-03 10", grain="month")
    with pytest.raises(refusal, match=says):
        of(books, period)


def test_weeks_make_up_no_months(tmp_path: Path) -> None:
    by_day = daily(tmp_path / "days", "2021-01-05 10")
    with pytest.raises(DimensionUnavailable, match=r"The weeks do not fit into Jan 2021\. Break down by period"):
        by_day.metric("revenue", scenarios=A, period="2021-01", dimensions=["week"])
    by_week = daily(tmp_path / "weeks", "2021-W01 10", grain="week")
    assert of(by_week, ("2021-W01", "2021-W04")) == 10
    with pytest.raises(GrainUnavailable, match=r"not held by month\. Ask by week\."):
        of(by_week, "2021-01")


def test_t38_days_of_a_statement_over_a_daily_and_a_monthly_domain(tmp_path: Path) -> None:
    metric = "inspect_enabled: true\ndimensions: {}\nmeasures: {amount: {places: 2}}\nmetrics:\n  "
    books = small_books(
        tmp_path,
        facts={
            "sales": "date scenario amount\n2021-03-01 actual 10\n2021-03-02 actual 20",
            "costs": "date scenario amount\n2021-03 actual 62",
        },
        domains={
            "sales": "time: {column: date}\n" + metric + "sold: {measure: amount}\n",
            "costs": "time: {column: date, grain: month}\n" + metric + "opex: {measure: amount}\n",
        },
        statements={
            "pnl": """
              - {metric: sold}
              - {metric: opex}
              - {formula: {key: profit, label: Profit, is: sold - opex}}
            """
        },
    )
    report = books.statement("pnl", scenarios=A, period=("2021-03-01", "2021-03-02"))
    assert figures(report, "line") == {"sold": 30, "opex": None, "profit": None}
    assert [line.key for line in report.lines if line.drill] == ["sold"]
    messages = [note.message for note in report.notes]
    assert any(
        "'opex' cannot be asked this way: costs is held by month, not by date" in message for message in messages
    )
    assert any("'profit' cannot be computed here, because opex is not available" in message for message in messages)
    whole = books.statement("pnl", scenarios=A, period="2021-03")
    assert figures(whole, "line") == {"sold": 30, "opex": 62, "profit": -32}
