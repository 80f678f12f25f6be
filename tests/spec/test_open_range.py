"""A result names the open periods that its figures read: such a figure may still change.

Rules: Blanks, Variances.
"""

from pathlib import Path

import pytest

from engine.door import Door
from engine.report.report import Report
from tests.support.books.explained import explained
from tests.support.books.small import small_books

FACTS = """
date scenario entity amount
2021-01-10 actual A 10
2021-02-10 actual A 20
2021-03-10 actual A 30
2021-03-10 actual B 3
2021-04-10 actual B 4
2021-01-10 forecast A 5
2021-05-10 forecast A 6
"""
SIDES = ["actual", "actual@pp"]
PROFILE = "seen: {scenarios: {actual: {dimensions: {entity: {allow: [A]}}}}}"


def books(folder: Path, time: str = "{column: date}", profile: str = "", closed: str = "2021-02") -> Door:
    """Return books that are closed through February and loaded through April, of entity A through March."""
    return small_books(
        folder,
        profile="seen" if profile else None,
        facts={"gl": FACTS},
        domains={
            "gl": f"""
            time: {time}
            dimensions: {{entity: entity}}
            measures: {{amount: {{places: 2}}}}
            metrics:
              revenue: {{measure: amount}}
              balance: {{measure: amount, over_time: closing}}
            """
        },
        dimensions="entity: {kind: leaf}",
        scenarios=f"""
            actual: {{alias: Actuals, kind: actual, closed_through: {closed}}}
            forecast: {{alias: Forecast, kind: forecast}}
        """,
        profiles=profile,
    )


def opened(report: Report) -> list[str]:
    """Return what the notes say of open periods."""
    return [note.message for note in report.notes if note.code == "open_in_range"]


@pytest.mark.parametrize(
    ("scenario", "period", "open_periods"),
    [
        ("actual", ("2021-01", "2021-02"), None),
        ("actual", ("2021-02", "2021-03"), "2021-03"),
        ("actual", "2021-04", "2021-04"),
        ("actual", ("2021-01", "2021-12"), "2021-03..2021-04"),  # the periods after it have no rows yet
        ("actual", "2021-12", None),
        ("actual@ytd", "2021-03", "2021-03"),
        ("actual@py", "2022-03", "2021-03"),
        ("actual@pp", "2021-03", None),
        ("forecast", ("2021-01", "2021-12"), None),
        ("actual+forecast", ("2021-01", "2021-12"), None),  # reads no open period of actual
    ],
)
@pytest.mark.parametrize("metric", ["revenue", "balance"])
def test_a_result_names_the_open_periods_that_it_reads(
    tmp_path: Path, metric: str, scenario: str, period: str | tuple[str, str], open_periods: str | None
) -> None:
    report = books(tmp_path).metric(metric, scenarios={"X": scenario}, period=period)
    said = f"{scenario} of gl: {open_periods} is open, so figures that read it may still change."
    assert opened(report) == ([said] if open_periods else [])


def test_a_report_by_period_names_them_once_by_months_or_finer(tmp_path: Path) -> None:
    door = books(tmp_path, "{column: date, grain: day}")
    report = door.metric("revenue", scenarios={"X": "actual"}, period="2021", dimensions=["month"])
    assert opened(report) == ["actual of gl: 2021-03..2021-04 is open, so figures that read it may still change."]
    report = door.metric("revenue", scenarios={"X": "actual"}, period=("2021-W08", "2021-W10"))
    assert opened(report) == ["actual of gl: 2021-W09..2021-W10 is open, so figures that read it may still change."]


def test_what_is_open_is_told_by_the_rows_that_the_caller_sees(tmp_path: Path) -> None:
    report = books(tmp_path, profile=PROFILE).metric("revenue", scenarios={"X": "actual"}, period="2021-04")
    assert opened(report) == []
    report = books(tmp_path / "again", profile=PROFILE).metric("revenue", scenarios={"X": "actual"}, period="2021-03")
    assert len(opened(report)) == 1


def test_an_explained_variance_names_the_open_periods_of_its_sides(tmp_path: Path) -> None:
    found = explained(books(tmp_path), "revenue", "entity", scenarios=SIDES, period="2021-03")
    assert [note.code for note in found.notes].count("open_in_range") == 1
