"""Note scenario_partial: a scenario holds fewer periods of the range, or lacks lines, beside another.

Rules: Time, Comparing times.
"""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

from engine.door import Door
from engine.model.notes import messages
from engine.report.report import Report
from tests.support.books.small import figures, small_books

SATURDAY = 5
A, B = {"A": "actual"}, {"B": "budget"}
ROWS = """
date    scenario account amount
2021-01 actual   sales   10
2021-02 actual   sales   20
2021-02 actual   taxes   -3
2021-03 actual   sales   30
2021-01 budget   sales   9
2021-02 budget   sales   9
2020-01 actual   sales   5
2020-02 actual   sales   5
2020-03 actual   sales   5
"""


def books(folder: Path, rows: str = ROWS, time: str = "{column: date, grain: month}", **more: Any) -> Door:
    """Return sales and taxes of three months, a budget of sales of two, and sales of the year before."""
    return small_books(
        folder,
        facts={"gl": rows},
        domains={
            "gl": f"""
            time: {time}
            dimensions: {{account: account}}
            measures: {{amount: {{places: 0}}}}
            metrics:
              sales: {{measure: amount, where: {{account: sales}}}}
              taxes: {{measure: amount, where: {{account: taxes}}}}
            """
        },
        dimensions="account: {kind: leaf}",
        **more,
    )


def said(report: Report) -> list[str]:
    """Return the distinct messages of the notes on what is partial."""
    return list(dict.fromkeys(note.message for note in report.notes if note.code == "scenario_partial"))


def test_fewer_periods_are_said_beside_another_column_without_a_variance(tmp_path: Path) -> None:
    report = books(tmp_path).metric("sales", scenarios={**A, **B}, period="2021-Q1")
    assert figures(report, "alias") == {"A": 60, "B": 18}
    assert said(report) == ["budget: 2 of 3 months of gl."]


def test_lacking_lines_are_said_with_and_without_a_variance(tmp_path: Path) -> None:
    found = books(tmp_path)
    beside = found.metric("sales", "taxes", scenarios={**A, **B}, period="2021-02")
    variance = found.metric("sales", "taxes", scenarios={"V": "var(actual,budget)"}, period="2021-02")
    assert said(beside) == said(variance) == ["budget: no rows for 'taxes'."]


def test_one_note_says_all_of_a_scenario(tmp_path: Path) -> None:
    report = books(tmp_path).metric("sales", "taxes", scenarios={**A, **B}, period="2021-Q1")
    assert "budget: 2 of 3 months of gl and no rows for 'taxes'." in messages(report.notes)


def test_a_scenario_alone_or_a_window_of_its_own_is_not_partial(tmp_path: Path) -> None:
    found = books(tmp_path)
    assert said(found.metric("sales", scenarios=B, period="2021-Q1")) == []
    assert said(found.metric("sales", scenarios={**A, "Y": "actual@ytd"}, period="2021-03")) == []
    assert said(found.metric("sales", scenarios={**A, "PY": "actual@py"}, period="2021-Q1")) == []


def test_a_scenario_without_rows_in_the_range_is_blank_and_not_partial(tmp_path: Path) -> None:
    report = books(tmp_path).metric("sales", scenarios={**A, **B}, period="2021-03")
    assert said(report) == []
    assert "outside_books" in {note.code for note in report.notes}


def test_a_range_of_days_that_begins_on_a_weekend_lacks_no_week(tmp_path: Path) -> None:
    """In August 2026 the first week has a weekend alone, in August 2025 a Friday as well."""
    first, days = date(2025, 1, 1), timedelta(days=1)
    working = [day for at in range(730) if (day := first + at * days).weekday() < SATURDAY]
    rows = "".join(f"\n{day} actual sales 1" for day in working)
    daily = books(tmp_path / "whole", time="{column: date}", rows=f"date scenario account amount{rows}")
    assert said(beside_prior_year(daily, ("2026-08-01", "2026-08-31"))) == []
    assert said(beside_prior_year(daily, ("2026-02-01", "2026-02-28"))) == []
    gap = [day for day in working if not date(2026, 8, 10) <= day <= date(2026, 8, 14)]
    rows = "".join(f"\n{day} actual sales 1" for day in gap)
    lacking = books(tmp_path / "gap", time="{column: date}", rows=f"date scenario account amount{rows}")
    assert said(beside_prior_year(lacking, ("2026-08-01", "2026-08-31"))) == ["actual: 4 of 5 weeks of gl."]


def beside_prior_year(daily: Door, days: tuple[str, str]) -> Report:
    """Return the sales of some days beside those of the year before."""
    return daily.metric("sales", scenarios={"A": "actual", "PY": "actual@py"}, period=days)


def test_what_is_partial_is_what_the_caller_sees(tmp_path: Path) -> None:
    scope = "seen: {scenarios: {actual: {dimensions: {account: {allow: [taxes]}}}, budget: {}}}"
    report = books(tmp_path, profiles=scope, profile="seen").metric("taxes", scenarios={**A, **B}, period="2021-Q1")
    assert figures(report, "alias") == {"A": -3, "B": None}
    assert said(report) == ["actual: 1 of 3 months of gl.", "budget: no rows for 'taxes'."]
