"""Periods as people write them: spellings that can mean one period only, and the last closed one."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.fiscal import FiscalYear, fiscal_calendar
from engine.model.errors import BadPeriod, MixedGrains, UnknownName
from engine.model.exact import Exact
from engine.model.requests import Exclusion
from tests.support.books.calendars import four_four_five, table
from tests.support.books.small import figure, figures, small_books

CALENDAR_YEAR = fiscal_calendar(FiscalYear(starts=1))
FROM_JULY = fiscal_calendar(FiscalYear(starts=7))


@pytest.mark.parametrize("calendar", [CALENDAR_YEAR, FROM_JULY])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        *((text, "2026-09") for text in ("2026-09", "2026-9", "2026/9", "2026.09", "2026M9", "9/2026", "09-2026")),
        *((text, "2026-09") for text in ("Sep 2026", "sept. 2026", "SEPTEMBER  2026", "2026 Sep", "Sep-2026")),
        *((text, "2026-Q3") for text in ("2026-Q3", "2026-q3", "2026Q3", "FY2026 Q3", "Q3 FY26", "fy26-q3")),
        *((text, "2026") for text in ("2026", "FY2026", "fy 2026", "FY26", "fiscal year 2026")),
        *((text, "2026-W09") for text in ("2026-W09", "2026-W9", "2026w09", "W9 2026", "week 9 2026")),
        *((text, "2026-09-05") for text in ("2026-9-5", "2026/09/05", "5.9.2026", "5 Sep 2026", "Sep 5, 2026")),
        *((text, "2026-05-13") for text in ("13/05/2026", "05/13/2026", "13-5-2026")),
    ],
)
def test_a_spelling_of_one_period_is_that_period(calendar: Calendar, text: str, code: str) -> None:
    assert calendar.read(text).code == code


@pytest.mark.parametrize("text", ["Q3 2026", "q3/2026", "3Q 2026", "2026 Q3", "2026/Q3"])
def test_a_quarter_is_ambiguous_where_the_fiscal_year_is_not_the_calendar_year(text: str) -> None:
    assert CALENDAR_YEAR.read(text).code == "2026-Q3"
    with pytest.raises(BadPeriod) as refusal:
        FROM_JULY.read(text)
    told = refusal.value.as_data()
    assert told["error"] == (
        f"period_start '{text}' can mean 2026-Q3 (FY2026 Q3 (Jan–Mar 2026)) or CY2026-Q3 (CY2026 Q3 (Jul–Sep "
        "2026)). Give the code of what you mean."
    )
    assert (told["valid"], told["example"]) == (
        ["2026-Q3", "CY2026-Q3"],
        {"period_start": "CY2026-Q3", "period_end": "CY2026-Q3"},
    )


def test_a_day_is_ambiguous_where_both_numbers_can_be_its_month() -> None:
    with pytest.raises(BadPeriod) as refusal:
        CALENDAR_YEAR.read("09/05/2026", "period_end")
    assert (refusal.value.field, refusal.value.valid) == ("period_end", ["2026-05-09", "2026-09-05"])
    assert CALENDAR_YEAR.read("05/05/2026").code == "2026-05-05"


@pytest.mark.parametrize(
    "text", ["Ju 2026", "Sep 26", "Sep", "31.2.2026", "Q5 2026", "13/2026", "1/0000", "Q1 0000", "", "x" * 10_000]
)
def test_what_spells_no_period_is_refused_with_the_codes(text: str) -> None:
    with pytest.raises(BadPeriod, match="is no period code"):
        CALENDAR_YEAR.read(text)


LEDGER = """
time: {column: date}
dimensions: {}
measures: {amount: {places: 2}}
inspect_enabled: true
metrics:
  KEY: {measure: amount}
"""


def books_of(folder: Path, closed: str, *, margin: str = "", **parts: str) -> Door:
    """Return books of 1 in January 2021, 2 in February and so on, in two domains; sales come ten times."""
    rows = [(f"2021-{month:02}-15", month) for month in range(1, 13)]
    facts = {
        domain: "date scenario amount\n"
        + "\n".join(f"{day} {scenario} {amount * factor}" for scenario in ("actual", "budget") for day, amount in rows)
        for domain, factor in (("gl", 1), ("sales", 10))
    }
    return small_books(
        folder,
        facts=facts,
        domains={"gl": LEDGER.replace("KEY", "revenue"), "sales": LEDGER.replace("KEY", "intake") + margin},
        dimensions="quarter: {kind: leaf, grain: quarter}",
        statements={"pnl": "- {metric: revenue}\n- {metric: intake}"},
        scenarios=f"actual: {{alias: Actuals, kind: actual, {closed}}}\nbudget: {{alias: Budget, kind: budget}}\n",
        **parts,
    )


@pytest.fixture
def closed(tmp_path: Path) -> Door:
    """Books whose ledger is closed through August, and sales through October."""
    return books_of(tmp_path, "closed_through: {gl: 2021-08, sales: 2021-10}")


A, V = {"A": "actual"}, {"B": "budget", "V": "var(budget,actual@py)"}


@pytest.mark.parametrize(
    ("period", "codes", "amount"),
    [
        ("last_closed", ("2021-08", "2021-08"), 8),
        (" LAST_CLOSED ", ("2021-08", "2021-08"), 8),
        ("last closed", ("2021-08", "2021-08"), 8),
        ("last_closed - 1", ("2021-07", "2021-07"), 7),
        ("last_closed-1", ("2021-07", "2021-07"), 7),
        ("last_closed-7", ("2021-01", "2021-01"), 1),
        (("2021-02", "last_closed"), ("2021-02", "2021-08"), 35),
        (("last_closed-2", "last_closed"), ("2021-06", "2021-08"), 21),
        (("2021-Q1", "last_closed"), ("2021-Q1", "2021-Q2"), 21),  # the third quarter is not closed yet
        (("2021-08-15", "last_closed"), ("2021-08-15", "2021-08-31"), 8),
        (("Mar 2021", "2021-4"), ("2021-03", "2021-04"), 7),
        ("Q2 2021", ("2021-Q2", "2021-Q2"), 15),
        ("FY2021", ("2021", "2021"), 78),
    ],
)
def test_a_range_is_echoed_by_its_codes(
    closed: Door, period: str | tuple[str, str], codes: tuple[str, str], amount: int
) -> None:
    report = closed.metric("revenue", scenarios=A, period=period)
    assert (report.period.start.code, report.period.end.code, figure(report)) == (*codes, amount)
    rows = closed.rows("gl", scenario="actual", period=period, filters={"metric": "revenue"})
    assert rows.period is not None
    assert (rows.period.start.code, rows.period.end.code) == codes
    assert rows.contribution_total == Exact(amount)


def test_last_closed_of_a_metric_is_the_earliest_of_all_domains_that_it_reads(tmp_path: Path) -> None:
    books = books_of(
        tmp_path, "closed_through: {gl: 2021-08, sales: 2021-10}", margin="  margin: {formula: intake - gl.revenue}"
    )
    report = books.metric("margin", scenarios=A, period="last_closed")
    assert (report.period.end.code, figure(report)) == ("2021-08", 72)
    asked = {"with": "margin + intake", "without": "2 * intake"}
    assert books.metric("intake", scenarios=A, period="last_closed", formulas=asked).period.end.code == "2021-08"
    del asked["with"]
    assert books.metric("intake", scenarios=A, period="last_closed", formulas=asked).period.end.code == "2021-10"


def test_last_closed_is_that_of_the_first_scenario_with_one_and_of_the_domains_read(closed: Door) -> None:
    assert figure(closed.metric("intake", scenarios=A, period="last_closed")) == 100
    assert closed.statement("pnl", scenarios=A, period="last_closed").period.end.code == "2021-08"
    assert closed.metric("intake", scenarios=V, period="last_closed").period.end.code == "2021-10"
    assert closed.rows("sales", scenario="actual", period="last_closed").period.end.last == date(2021, 10, 31)  # type: ignore[union-attr]  # a range was asked for


@pytest.mark.parametrize(
    ("filters", "codes", "amount"),
    [
        ({"month": "last_closed"}, ("2021-08",), 8),
        ({"month": ["last_closed-1", "last_closed"]}, ("2021-07", "2021-08"), 15),
        ({"period": "Last_Closed"}, ("2021-08",), 8),
        ({"quarter": "last_closed"}, ("2021-Q2",), 15),  # the third quarter is not closed yet
        ({"month": {"exclude": ["last_closed"]}}, Exclusion(exclude=("2021-08",)), 70),
    ],
)
def test_a_filter_on_time_takes_the_last_closed_period(
    closed: Door, filters: dict[str, Any], codes: Any, amount: int
) -> None:
    report = closed.metric("revenue", scenarios=A, period=("2021-01", "2021-12"), filters=filters)
    ((key, shown),) = report.filters.items()
    assert (key in filters, shown, figure(report)) == (True, codes, amount)
    rows = closed.rows("gl", scenario="actual", period=("2021-01", "2021-12"), filters={**filters, "metric": "revenue"})
    assert (rows.filters[key], rows.contribution_total) == (codes, Exact(amount))


def test_a_filter_without_a_last_closed_period_is_refused(closed: Door) -> None:
    with pytest.raises(BadPeriod) as refusal:
        closed.metric("revenue", scenarios={"B": "budget"}, period="2021", filters={"month": "last_closed"})
    assert (refusal.value.field, refusal.value.got) == ("filters.month", "last_closed")


@pytest.mark.parametrize("scenarios", [{"B": "budget"}, {"N": "nobody"}])
def test_without_a_last_closed_period_it_is_refused(closed: Door, scenarios: dict[str, str]) -> None:
    for ask in (
        lambda: closed.metric("revenue", scenarios=scenarios, period=("2021-01", "last_closed")),
        lambda: closed.rows("gl", scenario=next(iter(scenarios.values())), period=("2021-01", "last_closed")),
    ):
        with pytest.raises(BadPeriod) as refusal:
            ask()
        assert refusal.value.error == (
            "period_end 'last_closed': no scenario of this call has a last closed period. Give a period code."
        )
        assert (refusal.value.field, refusal.value.got) == ("period_end", "last_closed")


def test_last_closed_beyond_the_calendar_and_bounds_of_two_grains_are_refused(tmp_path: Path) -> None:
    books = books_of(tmp_path, "closed_through: 2021-01")
    with pytest.raises(BadPeriod, match="lies before the calendar begins"):
        books.metric("revenue", scenarios=A, period=("1900", "last_closed-999"))
    with pytest.raises(MixedGrains):
        books.metric("revenue", scenarios=A, period=("Q1 2021", "Sep 2021"))


def test_filters_on_time_are_spelled_the_same_way(closed: Door) -> None:
    chosen = {"quarter": ["Q1 2021", "2021q3"], "period": ["Mar 2021", "2021-7"]}
    report = closed.metric(
        "revenue", scenarios=A, period=("2021-01", "2021-12"), filters={"quarter": chosen["quarter"]}
    )
    assert (figure(report), report.filters) == (30, {"quarter": ("2021-Q1", "2021-Q3")})
    months = closed.metric("revenue", scenarios=A, period=("2021-01", "2021-12"), filters=chosen, dimensions=["period"])
    assert figures(months, "period") == {"2021-03": 3, "2021-07": 7, None: 10}
    rows = closed.rows("gl", scenario="actual", period=("2021-01", "2021-12"), filters={"quarter": "Q3 2021"})
    assert (len(rows.rows), rows.filters) == (3, {"quarter": ("2021-Q3",)})


def test_a_calendar_month_is_not_the_period_of_a_table(tmp_path: Path) -> None:
    retail = table(date(2020, 12, 27), {2021: four_four_five(52)})
    books = books_of(tmp_path, "closed_through: 2021-02", calendar=retail)
    assert books.metric("revenue", scenarios=A, period="2021-3").period.start.code == "2021-03"
    with pytest.raises(BadPeriod) as refusal:
        books.metric("revenue", scenarios=A, period="Mar 2021")
    assert "can mean 2021-03 (FY2021 P03 (21 Feb–27 Mar 2021)) or CY2021-03 (Mar 2021)" in refusal.value.error
    assert refusal.value.valid == ["2021-03", "CY2021-03"]
    assert figure(books.metric("revenue", scenarios=A, period="last_closed")) == 2  # 24 Jan–20 Feb


@pytest.mark.parametrize(
    ("asked", "codes", "amount"),
    [
        (("2021-01-01", "2021-09"), ("2021-01", "2021-09"), 45),
        (("2021-Q1", "2021-09"), ("2021-Q1", "2021-Q3"), 45),
        (("2021", "2021-09"), ("2021-01", "2021-09"), 45),
        (("2021-11", "2021"), ("2021-11", "2021-12"), 23),
        (("2021-02", "2021-Q3"), ("2021-02", "2021-09"), 44),
        (("2021-W06", "2021-03"), ("2021-02-08", "2021-03-31"), 5),
        (("2021-09", "2021-Q1"), ("2021-Q1", "2021-Q3"), 45),  # from the later to the earlier
        (("H1 2021", "H1 2021"), ("2021-Q1", "2021-Q2"), 21),
        (("H1 2021", "H2 2021"), ("2021-Q1", "2021-Q4"), 78),
        (("H2 2021", "H1 2021"), ("2021-Q1", "2021-Q4"), 78),
        (("2021-02", "H2 2021"), ("2021-02", "2021-12"), 77),
        (("H2 2021", "2021-11-30"), ("2021-07", "2021-11"), 45),
        (("H1 2021", "last_closed"), ("2021-Q1", "2021-Q2"), 21),  # the third quarter is not closed yet
        (("2021-02", "latest"), ("2021-02", "2021-08"), 35),
    ],
)
def test_the_example_of_a_refused_range_has_the_days_that_were_asked_for(
    closed: Door, asked: tuple[str, str], codes: tuple[str, str], amount: int
) -> None:
    with pytest.raises(BadPeriod) as refusal:
        closed.metric("revenue", scenarios=A, period=asked)
    mended = {"period_start": asked[0], "period_end": asked[1], **refusal.value.example}
    report = closed.metric("revenue", scenarios=A, period=(mended["period_start"], mended["period_end"]))
    assert (report.period.start.code, report.period.end.code, figure(report)) == (*codes, amount)


def test_a_period_that_is_none_is_refused_with_last_closed_where_one_is_closed(closed: Door) -> None:
    with pytest.raises(BadPeriod, match="last_closed-1 the one before") as refusal:
        closed.metric("revenue", scenarios=A, period="Sep")
    assert refusal.value.valid[-1] == "last_closed"
    with pytest.raises(BadPeriod) as refusal:
        closed.metric("revenue", scenarios={"B": "budget"}, period="last month")
    assert "last_closed" not in refusal.value.error


@pytest.mark.parametrize("bounds", [("", "2021-02"), ("2021-02", ""), ("", "")])
def test_an_empty_bound_is_no_period_that_is_left_out(closed: Door, bounds: tuple[str, str]) -> None:
    for ask in (
        lambda: closed.metric("revenue", scenarios=A, period=bounds),
        lambda: closed.rows("gl", scenario="actual", period=bounds),
    ):
        with pytest.raises(BadPeriod, match="'' is no period code"):
            ask()


def test_an_empty_statement_is_none_that_is_left_out(closed: Door) -> None:
    with pytest.raises(UnknownName, match="There is no statement ''"):
        closed.statement("", scenarios=A, period="2021-02")


def test_words_for_several_periods_are_refused_with_codes_that_a_filter_takes(closed: Door) -> None:
    with pytest.raises(BadPeriod, match="Give their codes") as refusal:
        closed.metric("revenue", scenarios=A, period=("2021-01", "2021-12"), filters={"quarter": "H1 2021"})
    codes = refusal.value.valid
    assert codes == ["2021-Q1", "2021-Q2"]
    half = closed.metric("revenue", scenarios=A, period=("2021-01", "2021-12"), filters={"quarter": codes})
    assert figure(half) == 21
