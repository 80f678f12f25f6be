"""Note scenario_partial: a scenario holds fewer periods of the range, or lacks lines, beside another."""

from pathlib import Path
from typing import Any

from engine.door import Door
from engine.model.notes import messages
from engine.report.report import Report
from tests.support.small import figures, small_books

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


def books(folder: Path, **more: Any) -> Door:
    """Return sales and taxes of three months, a budget of sales of two, and sales of the year before."""
    return small_books(
        folder,
        facts={"gl": ROWS},
        domains={
            "gl": """
            time: {column: date, grain: month}
            dimensions: {account: account}
            measures: {amount: {places: 0}}
            metrics:
              sales: {measure: amount, where: {account: sales}}
              taxes: {measure: amount, where: {account: taxes}}
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


def test_what_is_partial_is_what_the_caller_sees(tmp_path: Path) -> None:
    scope = "seen: {scenarios: {actual: {dimensions: {account: {allow: [taxes]}}}, budget: {}}}"
    report = books(tmp_path, profiles=scope, profile="seen").metric("taxes", scenarios={**A, **B}, period="2021-Q1")
    assert figures(report, "alias") == {"A": -3, "B": None}
    assert said(report) == ["actual: 1 of 3 months of gl.", "budget: no rows for 'taxes'."]
