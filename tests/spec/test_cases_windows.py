"""The last so many periods, the same days of an earlier period, the month to date: figures, notes and refusals.

Rules: Time.
"""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from engine.door import Door
from engine.model.errors import BadArguments, GrainUnavailable, Refusal
from tests.spec.test_cases_time import daily, of
from tests.support.books.calendars import four_four_five, table
from tests.support.books.explained import contributions, explained, write_books
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, figures, small_books

MONTHS = [f"{year}-{month:02}" for year in (2020, 2021) for month in range(1, 13)]
POSTED = {month: 2**at for at, month in enumerate(MONTHS)}  # each sum of months is a number of its own
ROLLING = {"R": "actual@last3"}


@pytest.fixture(scope="module", name="months")
def two_years_of_months(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Two years, with one amount in each month."""
    return daily(tmp_path_factory.mktemp("months"), ",".join(f"{month}-15 {POSTED[month]}" for month in MONTHS))


def posted(first: str, last: str) -> int:
    """Return the sum of some months."""
    return sum(amount for month, amount in POSTED.items() if first <= month <= last)


def said(books: Door, code: str, scenario: str, period: str | tuple[str, str], *dimensions: str) -> list[str]:
    """Return the messages of a code beside one column."""
    report = books.metric("revenue", scenarios={"X": scenario}, period=period, dimensions=dimensions)
    return [note.message for note in report.notes if note.code == code]


@pytest.mark.parametrize(
    ("period", "view", "first", "last"),
    [
        ("2021-05", "@last3", "2021-03", "2021-05"),
        (("2021-01", "2021-05"), "@last2", "2021-04", "2021-05"),
        ("2021-05", "@last3@py", "2020-03", "2020-05"),
        ("2021-05", "@py@last3", "2020-03", "2020-05"),
        ("2021-05", "@last3@pp", "2021-02", "2021-04"),
        ("2021-05", "@last12", "2020-06", "2021-05"),
        ("2021-05", "@ytd@last2", "2021-04", "2021-05"),
        ("2021-05", "@fy@last2", "2021-11", "2021-12"),
        ("2021-Q2", "@last3", "2020-10", "2021-06"),
        ("2021", "@last2", "2020-01", "2021-12"),
        ("2021-05-20", "@last120", "2021-02", "2021-05"),
        ("2021-W20", "@fy@last2", "2020-01", "2021-12"),
    ],
)
def test_the_last_periods_end_with_the_last_of_the_range(
    months: Door, period: str | tuple[str, str], view: str, first: str, last: str
) -> None:
    assert of(months, period, f"actual{view}") == posted(first, last)


def test_the_last_periods_of_each_column_are_a_rolling_series(months: Door) -> None:
    report = months.metric("revenue", scenarios=ROLLING, period=("2021-02", "2021-04"), dimensions=["period"])
    series = {month: posted(first, month) for first, month in zip(MONTHS, MONTHS[2:], strict=False)}
    within = {month: series[month] for month in ("2021-02", "2021-03", "2021-04")}
    assert figures(report, "period") == dict([*within.items(), (None, series["2021-04"])])
    assert "own_windows" in codes(report)
    by_quarter = months.metric("revenue", scenarios=ROLLING, period="2021", dimensions=["quarter"])
    assert figures(by_quarter, "quarter")["2021-Q1"] == posted("2020-07", "2021-03")


def test_a_variance_of_the_last_periods_with_those_a_year_before(months: Door) -> None:
    expected = posted("2021-03", "2021-05") - posted("2020-03", "2020-05")
    assert of(months, "2021-05", "var(actual@last3,actual@last3@py)") == expected
    assert of(months, "2021-05", "var_pct(actual@last3,actual@last3@py)") == Decimal(expected) / posted(
        "2020-03", "2020-05"
    )


def test_windows_that_begin_before_the_books_say_how_much_of_them_is_held(months: Door) -> None:
    assert of(months, "2020-02", "actual@last3") == posted("2020-01", "2020-02")
    assert said(months, "short_window", "actual@last3", "2020-02") == [
        "actual@last3 of gl begins before the books: 2 of 3 months."
    ]
    assert said(months, "short_window", "actual@last3", ("2020-01", "2020-12"), "period") == [
        "actual@last3 of gl begins before the books: 1 of 3 months in 2020-01, 2 of 3 months in 2020-02."
    ]
    assert said(months, "short_window", "actual@last3", "2020-03") == []
    assert said(months, "short_window", "actual@ltm", "2020-03") == []
    many = said(months, "short_window", "actual@last24", ("2020-01", "2020-12"), "period")
    assert many[0].endswith("5 of 24 months in 2020-05 and 7 more.")
    report = months.metric("revenue", scenarios=ROLLING, period="2019-12")
    assert (figures(report, "alias"), "outside_books" in codes(report)) == ({"R": None}, True)
    assert "short_window" not in codes(report)


def stock(folder: Path, rows: str, over_time: str) -> Door:
    """A balance by entity, called revenue, beside what is posted in it."""
    return small_books(
        folder,
        facts={"gl": f"date scenario entity amount\n{rows}"},
        domains={
            "gl": f"""
            time: {{column: date}}
            dimensions: {{entity: entity}}
            measures: {{amount: {{places: 0}}}}
            balances: {{stock: {{grain: month}}}}
            inspect_enabled: true
            metrics:
              revenue: {{measure: amount, over_time: {over_time}}}
              posted: {{measure: amount}}
              mean: {{measure: amount, over_time: {{average: {{of: month}}}}}}
              before: {{measure: amount, over_time: opening}}
              least: {{measure: amount, over_members: min}}
              most: {{measure: amount, over_members: max}}
              typical: {{measure: amount, over_members: average}}
              kinds: {{over_members: {{count_distinct: entity}}}}
              known: {{measure: amount, over_time: {{last_known: always}}}}
              turn: {{formula: posted / revenue}}
            """
        },
        dimensions="entity: {kind: leaf}",
        statements={"page": "- {metric: revenue}\n- {metric: posted}\n- {metric: mean}\n- {metric: turn}"},
    )


def test_the_last_periods_of_a_balance_are_its_close_without_that_note(tmp_path: Path) -> None:
    books = stock(tmp_path, "\n".join(f"{month}-28 actual E {POSTED[month]}" for month in MONTHS), "closing")
    assert of(books, "2020-02", "actual@last3") == POSTED["2020-02"]
    assert said(books, "short_window", "actual@last3", "2020-02") == []


def test_the_sides_of_an_explained_variance_may_be_the_last_periods(tmp_path: Path) -> None:
    rows = "2025-01-05 actual DE 1\n2025-02-05 actual DE 2\n2025-02-05 actual FR 4\n2025-03-05 actual FR 8"
    later = "2026-01-05 actual FR 16\n2026-02-05 actual DE 32\n2026-03-05 actual DE 64\n2026-03-05 actual FR 128"
    books = write_books(tmp_path, f"{rows}\n{later}")
    sides = ("actual@last2", "actual@last2@py")
    found = explained(books, "revenue", "entity", period="2026-03", scenarios=sides)
    assert dict(contributions(found.lists[0])) == {"FR": 128 - (4 + 8), "DE": (32 + 64) - 2}
    means = explained(books, "revenue", "entity", period="2026-03", scenarios=("actual@avg2", "actual@avg2@py"))
    assert dict(contributions(means.lists[0])) == {"FR": 58, "DE": 47}
    with pytest.raises(BadArguments, match="means of sums and closings, and none is asked for") as refused:
        explained(books, "most_units", "entity", period="2026-03", scenarios=("actual@avg2", "actual@avg2@py"))
    assert refused.value.example == {"scenarios": ["actual@last2", "actual@last2@py"]}


DAYS = "2025-12-12 64,2026-01-31 1,2026-02-01 2,2026-02-12 4,2026-02-28 8,2026-03-12 16,2026-03-31 32"


@pytest.fixture(scope="module", name="days")
def some_days(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A few days of four months, each with an amount of its own."""
    return daily(tmp_path_factory.mktemp("days"), DAYS)


@pytest.mark.parametrize(
    ("period", "view", "first", "last"),
    [
        ("2026-03-12", "@pm", "2026-02-12", "2026-02-12"),
        (("2026-03-01", "2026-03-31"), "@pm", "2026-02-01", "2026-02-28"),
        (("2026-02-01", "2026-02-28"), "@pm", "2026-01-01", "2026-01-28"),
        (("2026-03-12", "2026-04-15"), "@pm", "2026-02-12", "2026-03-15"),
        ("2026-05-15", "@pq", "2026-02-15", "2026-02-15"),
        (("2026-05-01", "2026-05-31"), "@pq", "2026-02-01", "2026-02-28"),
        (("2026-03-30", "2026-04-02"), "@pw", "2026-03-23", "2026-03-26"),
        ("2026-W10", "@pw", "2026-W09", "2026-W09"),
        ("2026-03", "@pm", "2026-02", "2026-02"),
        (("2026-02", "2026-03"), "@pq", "2025-11", "2025-12"),
        ("2026-Q2", "@pq", "2026-Q1", "2026-Q1"),
        ("2026-03-12", "@ytd@pm", "2025-12-01", "2026-02-12"),
        ("2026-03-31", "@pm@ytd", "2026-01-01", "2026-02-28"),
        ("2026-W10", "@fy@pw", "2025-12-25", "2026-12-24"),
        ("2026-05", "@qtd@pq", "2026-01", "2026-02"),
    ],
)
def test_the_same_days_of_the_month_quarter_or_week_before(
    days: Door, period: str | tuple[str, str], view: str, first: str, last: str
) -> None:
    report = days.metric("revenue", scenarios={"X": f"actual{view}"}, period=period)
    window = report.columns[0].window
    assert window is not None
    assert (window.start.code, window.end.code) == (first, last)


def test_a_day_that_the_month_before_lacks_is_blank_and_a_range_that_ends_with_it_says_so(days: Door) -> None:
    alone = days.metric("revenue", scenarios={"X": "actual@pm"}, period="2026-03-31")
    assert (figures(alone, "alias"), "no_window" in codes(alone)) == ({"X": None}, True)
    by_day = days.metric("revenue", scenarios={"X": "actual@pm"}, period="2026-03", dimensions=["date"])
    assert sum(filter(None, list(figures(by_day, "date").values())[:-1])) == of(days, "2026-02") == 14
    march = ("2026-03-01", "2026-03-31")
    assert said(days, "scenario_partial", "actual@pm", march) == ["actual@pm: no counterpart of '2026-03-31'."]
    assert said(days, "scenario_partial", "actual@pm", ("2026-03-01", "2026-03-28")) == []


def test_a_month_of_a_table_has_its_nth_day(tmp_path: Path) -> None:
    calendar = table(date(2025, 12, 28), {2026: four_four_five()}, by_week=True)
    rows = "2025-12-28 1,2026-01-24 2,2026-01-25 4,2026-02-21 8,2026-02-22 16,2026-03-28 32,2026-03-29 64"
    books = daily(tmp_path, rows, calendar=calendar)
    assert of(books, "2026-01-25", "actual@pm") == 1  # the first day of period 2
    assert of(books, ("2026-02-22", "2026-03-28"), "actual@pm") == 4 + 8  # 35 days end with the 28th
    assert of(books, "2026-03-28", "actual@pm") is None
    assert of(books, "2026-W13", "actual@pm") is None  # the fifth week of period 3
    assert of(books, "2026-W12", "actual@pm") == of(books, "2026-W08") == 8
    assert of(books, "2026-03-29", "actual@pq") == 1  # the first day of period 4
    assert of(books, "2026-03-29", "actual@pw") == of(books, "2026-03-22")


@pytest.mark.parametrize(
    ("period", "dimensions", "view", "says"),
    [
        ("2026-Q1", [], "@pm", "@pm takes periods inside a month, and actual@pm is asked for by quarter."),
        ("2026-W10", [], "@pm", "@pm takes periods inside a month, and actual@pm is asked for by week."),
        ("2026-03", [], "@pw", "@pw takes periods inside a week, and actual@pw is asked for by month."),
        ("2026", [], "@pq", "@pq takes periods inside a quarter, and actual@pq is asked for by year."),
        ("2026-03", ["week"], "@pm", "do not fit"),
        (("2026-01", "2026-03"), ["quarter"], "@pm", "asked for by quarter"),
    ],
)
def test_periods_outside_their_unit_are_refused_with_the_period_before(
    days: Door, period: str | tuple[str, str], dimensions: list[str], view: str, says: str
) -> None:
    columns = {"A": "actual", "V": f"var(actual,actual{view})"}
    with pytest.raises(Refusal) as refused:
        days.metric("revenue", scenarios=columns, period=period, dimensions=dimensions)
    assert says in refused.value.error
    if refused.value.field == "scenarios":
        others = {str(at): column["scenario"] for at, column in enumerate(refused.value.example["scenarios"])}
        assert others == {"0": "actual", "1": "var(actual,actual@pp)"}
        days.metric("revenue", scenarios=others, period=period, dimensions=dimensions)


def test_rows_and_explanations_refuse_them_alike(tmp_path: Path) -> None:
    books = write_books(tmp_path, "2026-01-05 actual DE 1\n2026-02-05 actual DE 2")
    sides = ("actual", "actual@pm")
    with pytest.raises(BadArguments) as refused:
        explained(books, "revenue", "entity", period="2026-Q1", scenarios=sides)
    assert (refused.value.field, refused.value.example) == ("scenarios", {"scenarios": ["actual", "actual@pp"]})
    asked = {"metric": "revenue", "scenario": "actual@pm"}
    with pytest.raises(BadArguments) as refused:
        rows_of(books, period_start="2026-Q1", filters=asked)
    assert (refused.value.field, refused.value.example["scenario_id"]) == ("filters.scenario", "actual@pp")
    assert rows_of(books, period_start="2026-02", filters=asked)["contribution_total"] == 1
    with pytest.raises(BadArguments) as refused:
        rows_of(books, scenario_id="actual@pm", period_start="2026-Q1", filters={"metric": "revenue"})
    assert (refused.value.field, refused.value.example["scenario_id"]) == ("scenario_id", "actual@pp")
    alone = rows_of(books, scenario_id="actual@pm", period_start="2026-02", filters={"metric": "revenue"})
    assert alone["contribution_total"] == 1
    found = explained(books, "revenue", "entity", period="2026-02", scenarios=sides)
    assert dict(contributions(found.lists[0])) == {"DE": 2 - 1}


@pytest.mark.parametrize(
    ("period", "view", "expected"),
    [
        (
            ("2026-02", "2026-03"),
            "@pp",
            (
                "actual@pp shows Jan 2026 – Feb 2026, which shares days with Feb 2026 – Mar 2026. "
                "actual@pp2 is the 2 months before it."
            ),
        ),
        (("2026-02", "2026-03"), "@pp2", None),
        ("2026-03", "@pp", None),
        (("2026-02", "2026-03"), "@py", None),
        (("2026-02", "2026-03"), "@pp@ytd", None),
        (
            ("2026-02-20", "2026-03-12"),
            "@pw@pw",
            "actual@pw@pw shows 6 Feb 2026 – 26 Feb 2026, which shares days with 20 Feb 2026 – 12 Mar 2026.",
        ),
    ],
)
def test_an_earlier_range_that_shares_days_with_the_range_says_so(
    days: Door, period: str | tuple[str, str], view: str, expected: str | None
) -> None:
    assert said(days, "range_overlaps", f"actual{view}", period) == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("period", "view", "first", "last"),
    [
        ("2026-03-12", "@mtd", "2026-03-01", "2026-03-12"),
        (("2026-02-20", "2026-03-12"), "@mtd", "2026-03-01", "2026-03-12"),
        ("2026-03-31", "@mtd@pm", "2026-02-01", "2026-02-28"),
        ("2026-03-12", "@pm@mtd", "2026-02-01", "2026-02-12"),
        ("2026-03-12", "@mtd@py", "2025-03-01", "2025-03-12"),
        ("2026-W11", "@mtd", "2026-03-01", "2026-03-15"),
        ("2026-03-12", "@fy@mtd", "2026-06-01", "2026-06-30"),
        ("2026-03-12", "@cy@mtd", "2026-12-01", "2026-12-31"),
    ],
)
def test_the_month_to_date_begins_with_the_month_of_the_last_day(
    tmp_path: Path, period: str | tuple[str, str], view: str, first: str, last: str
) -> None:
    books = daily(tmp_path, DAYS, "{starts: 7}")
    (column,) = books.metric("revenue", scenarios={"X": f"actual{view}"}, period=period).columns
    window = column.window
    shown = (window.span.first.isoformat(), window.span.last.isoformat()) if window else period
    assert shown == (first, last)


@pytest.mark.parametrize("period", ["2026-03", "2026-Q1", "2026"])
def test_the_month_to_date_of_a_month_is_refused_with_the_month(days: Door, period: str) -> None:
    with pytest.raises(BadArguments, match="@mtd takes periods shorter than a month") as refused:
        days.metric("revenue", scenarios={"M": "actual@mtd"}, period=period)
    assert refused.value.example == {"scenarios": [{"scenario": "actual"}]}


STOCK = "2026-01-10 actual E1 50\n2026-01-31 actual E2 50\n2026-02-28 actual E1 120\n2026-03-31 actual E1 92"


@pytest.mark.parametrize("over_time", ["closing", "{last_known: always}", "{to_date: books}"])
def test_the_opening_of_a_balance_is_the_metric_that_opens(tmp_path: Path, over_time: str) -> None:
    opening = "opening" if over_time == "closing" else f"{{opening: {over_time}}}"
    closing, opened = stock(tmp_path / "a", STOCK, over_time), stock(tmp_path / "b", STOCK, opening)
    asked: tuple[tuple[str | tuple[str, str], list[str]], ...] = (
        ("2026-01", []),
        ("2026-02", ["entity"]),
        (("2026-02", "2026-03"), ["period"]),
        (("2026-01", "2026-03"), ["period", "entity"]),
        ("2026-02-28", []),
    )
    for period, dimensions in asked:
        report = closing.metric("revenue", scenarios={"X": "actual@opening"}, period=period, dimensions=dimensions)
        known = opened.metric("revenue", scenarios={"X": "actual"}, period=period, dimensions=dimensions)
        assert figures(report, *dimensions) == figures(known, *dimensions)
        assert "window_replaces_range" not in codes(report)
        assert report.columns[0].window is None
    first = closing.metric("revenue", scenarios={"X": "actual@opening"}, period="2026-01")
    assert "outside_books" in codes(first)


def test_the_opening_has_its_movement_its_rows_and_its_explanation(tmp_path: Path) -> None:
    books = stock(tmp_path, STOCK, "closing")
    columns = {"V": "var(actual,actual@opening)", "Y": "actual@ytd@opening", "M": "actual@opening@pp"}
    report = books.metric("revenue", scenarios=columns, period="2026-03")
    assert figures(report, "alias") == {"V": 92 - 120, "Y": None, "M": 100}
    assert "scenario_partial" not in codes(report)
    rows = rows_of(books, period_start="2026-03", filters={"metric": "revenue", "scenario": "actual@opening"})
    assert (rows["contribution_total"], rows["rows"][0][0]) == (120, "2026-02-28")
    before = rows_of(books, period_start="2026-03", filters={"scenario": "actual@opening"})
    assert [row[0] for row in before["rows"]] == ["2026-01-10", "2026-01-31", "2026-02-28"]
    found = explained(books, "revenue", "entity", period="2026-02", scenarios=("actual", "actual@opening"))
    assert dict(contributions(found.lists[0])) == {"E1": 120 - 50, "E2": -50}


def test_the_opening_of_periods_that_a_filter_keeps_stands_before_the_first(tmp_path: Path) -> None:
    books = stock(tmp_path, f"{STOCK}\n2026-04-30 actual E1 7", "closing")
    kept = {"period": ["2026-02", "2026-04"]}
    period = ("2026-02", "2026-04")
    report = books.metric("revenue", scenarios={"X": "actual@opening"}, period=period, filters=kept)
    assert figures(report, "alias") == {"X": 100}
    by_month = books.metric(
        "revenue", scenarios={"X": "actual@opening"}, period=period, filters=kept, dimensions=["period"]
    )
    assert figures(by_month, "period") == {"2026-02": 100, "2026-04": 92, None: 100}


def test_what_has_no_opening_is_unavailable_beside_a_balance(tmp_path: Path) -> None:
    books = stock(tmp_path, STOCK, "closing")
    report = books.statement("page", scenarios={"X": "actual@opening"}, period="2026-02")
    assert figures(report, "line") == {"revenue": 100, "posted": None, "mean": None, "turn": None}
    messages = [note.message for note in report.notes]
    assert "'posted' or 'mean' cannot be asked this way: only a balance has an opening." in messages
    assert "'turn' cannot be computed here, because posted is not available: only a balance has an opening." in messages
    compared = books.statement("page", scenarios={"X": "var(actual,actual@opening)"}, period="2026-02")
    assert figures(compared, "line") == {"revenue": 20, "posted": None, "mean": None, "turn": None}


@pytest.mark.parametrize("metric", ["posted", "mean", "before"])
def test_a_call_without_a_balance_has_no_opening(tmp_path: Path, metric: str) -> None:
    books = stock(tmp_path, STOCK, "closing")
    with pytest.raises(
        BadArguments, match=r"no balance is asked for\. Ask for 'revenue' or 'known', or for @pp"
    ) as refused:
        books.metric(metric, scenarios={"X": "actual@opening"}, period="2026-02")
    assert refused.value.example == {"scenarios": [{"scenario": "actual@pp"}]}
    with pytest.raises(BadArguments) as refused:
        explained(books, metric, "entity", period="2026-02", scenarios=("actual", "actual@opening"))
    assert refused.value.example == {"scenarios": ["actual", "actual@pp"]}
    with pytest.raises(GrainUnavailable, match="only a balance has an opening"):
        rows_of(books, period_start="2026-02", filters={"metric": metric, "scenario": "actual@opening"})


BOTH = {"A": "actual@avg2", "L": "actual@last2"}


def test_the_mean_of_periods_of_a_flow_divides_by_their_number(months: Door) -> None:
    report = months.metric("revenue", period=("2020-01", "2020-05"), scenarios=BOTH, dimensions=["period"])
    found = figures(report, "alias", "period")
    assert found["A", "2020-01"] is None
    assert "outside_books" in codes(report)
    assert found["A", "2020-05"] == Decimal(posted("2020-04", "2020-05")) / 2
    assert found["L", "2020-05"] == posted("2020-04", "2020-05")
    assert found["A", None] == found["A", "2020-05"]


def test_the_mean_of_periods_counts_those_without_rows(tmp_path: Path) -> None:
    books = daily(tmp_path, "2026-01-15 3,2026-03-15 6")
    assert of(books, "2026-03", "actual@avg3") == 3
    assert of(books, "2026-03", "actual@avg2") == 3
    assert of(books, "2026-03", "var(actual,actual@avg3)") == 3
    assert of(books, "2026-04", "actual@avg3") == 2
    assert of(books, "2026-02", "actual@avg2") == Decimal("1.5")
    assert of(books, "2026-02", "actual@avg3") is None


def test_the_mean_of_a_balance_is_that_of_its_closings_and_of_a_formula_that_of_its_operands(tmp_path: Path) -> None:
    books = stock(tmp_path, STOCK, "closing")
    report = books.statement("page", scenarios={"X": "actual@avg3"}, period="2026-03")
    posts = 50 + 50 + 120 + 92
    assert figures(report, "line")["revenue"] == (100 + 120 + 92) / Decimal(3)
    assert figures(report, "line")["posted"] == posts / Decimal(3)
    assert figures(report, "line")["mean"] == (100 + 120 + 92) / Decimal(3)
    assert figures(report, "line")["turn"] == Decimal(posts) / (100 + 120 + 92)
    by_entity = books.metric("revenue", scenarios={"X": "actual@avg2"}, period="2026-02", dimensions=["entity"])
    assert figures(by_entity, "entity") == {"E1": (50 + 120) / Decimal(2), "E2": Decimal(25), None: Decimal(110)}
    rows = rows_of(books, period_start="2026-03", filters={"metric": "posted", "scenario": "actual@avg3"})
    assert (rows["contribution_total"], rows["divisor"], rows["figure"]) == (posts, 3, 104)


@pytest.mark.parametrize("metric", ["least", "most", "typical", "kinds", "before", "known"])
def test_what_has_no_mean_of_periods_is_refused(tmp_path: Path, metric: str) -> None:
    books = stock(tmp_path, STOCK, "closing")
    with pytest.raises(BadArguments, match="means of sums and closings, and none is asked for") as refused:
        books.metric(metric, scenarios={"X": "actual@avg3"}, period="2026-02")
    assert refused.value.example == {"scenarios": [{"scenario": "actual@last3"}]}
    beside = books.metric(metric, "posted", scenarios={"X": "actual@avg3"}, period="2026-03")
    assert figures(beside, "metric") == {metric: None, "posted": 104}
    messages = [note.message for note in beside.notes if note.code == "unavailable"]
    assert messages == [f"'{metric}' cannot be asked this way: only sums, counts and closing balances have a mean."]


def test_a_window_of_months_moves_as_months_where_longer_periods_are_asked_for(tmp_path: Path) -> None:
    ends = {"07-01": 1, "08-30": 2, "08-31": 4, "09-01": 8, "10-05": 16, "11-30": 32}
    books = daily(tmp_path, ",".join(f"2020-{day} {amount}" for day, amount in ends.items()), "{starts: 12}")
    for period in ("2020-Q4", ("2020-09", "2020-11"), "2020-11"):
        assert of(books, period, "actual@cqtd@pq") == 1 + 2 + 4
    assert of(books, "2020-11-30", "actual@cqtd@pq") == 1 + 2
