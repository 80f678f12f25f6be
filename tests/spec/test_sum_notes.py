"""The notes on sums and names that mislead, and on what a call did not ask for."""

from pathlib import Path
from typing import Any

from engine.door import Door, open_books
from engine.report.report import Report
from tests.support.inspecting import rows_of
from tests.support.small import codes, figures, granting, small_books

A = {"A": "actual"}
ROWS = """
    date       scenario account region amount
    2020-01-31 actual   sales   north  100
    2020-02-29 actual   sales   north  110
    2020-03-31 actual   costs   north  40
    2020-03-30 actual   costs   south  30
    2020-01-15 budget   sales   north  90
"""
DOMAIN = """
    time: {column: date}
    dimensions: {account: account, region: region}
    measures: {amount: {places: 0}}
    inspect_enabled: true
    metrics:
      sales: {measure: amount, where: {account: sales}}
      costs: {measure: amount, where: {account: costs}, favourable: down}
      owed: {measure: amount, where: {account: costs}, sign: negate}
      margin: {formula: (sales - costs) / sales, format: percent}
"""
LINES = """
    - {metric: sales}
    - {metric: owed}
    - {rollup: {metric: costs, dimension: tree, node: Costs}, sign: negate}
    - {formula: {key: less_sales, label: Less sales, is: 0 - sales}}
    - {formula: {key: half, label: Half, is: costs * -1 / 2}}
    - {formula: {key: plus_sales, label: Sales again, is: 0 - sales * -1}}
    - {formula: {key: profit, label: Profit, is: sales - costs}}
    - {formula: {key: inverse, label: Inverse, is: -1 / sales}}
"""


def books(folder: Path, **more: Any) -> Door:
    """Sales and costs of two regions, posted at the end of the month, north's once a month."""
    return small_books(
        folder,
        facts={"gl": ROWS},
        domains={"gl": DOMAIN},
        dimensions="""
            account: {kind: leaf}
            region: {kind: leaf}
            date: {kind: leaf, grain: date}
            tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
        """,
        tables={"tree": "node parent weight\nCosts - 1\ncosts Costs 1"},
        statements={"pnl": LINES},
        **more,
    )


def said(report: Report, code: str) -> list[dict[str, str]]:
    """Return the names in the notes of a code."""
    return [dict(note.about) for note in report.notes if note.code == code]


def test_a_line_that_shows_a_metric_with_the_other_sign_says_so(tmp_path: Path) -> None:
    report = books(tmp_path).statement("pnl", scenarios=A, period="2020-03")
    found = figures(report, "line")
    assert (found["tree.costs"], found["half"], found["owed"]) == (-70, -35, -70)
    assert said(report, "sign_reversed") == [
        {"lines": "'tree.Costs', 'tree.costs' or 'half'", "metric": "costs"},
        {"lines": "'less_sales'", "metric": "sales"},
    ]


def test_days_of_data_posted_once_a_month_say_so(tmp_path: Path) -> None:
    everyone = books(tmp_path)
    asked: dict[str, Any] = {"scenarios": A, "period": ("2020-03-01", "2020-03-31")}
    assert "coarser_postings" not in codes(everyone.metric("sales", **asked))  # 30 and 31 March
    north = granting(tmp_path, "{actual: {dimensions: {region: {allow: [north]}}}}")
    by_day = north.metric("sales", **asked)
    assert said(by_day, "coarser_postings") == [{"scenario": "actual", "domain": "gl", "grain": "date"}]
    by_week = north.metric("sales", scenarios=A, period=("2020-W01", "2020-W09"))
    assert said(by_week, "coarser_postings") == [{"scenario": "actual", "domain": "gl", "grain": "week"}]
    broken_down = north.metric("sales", scenarios=A, period="2020-03", dimensions=["date"])
    assert said(broken_down, "coarser_postings") == [{"scenario": "actual", "domain": "gl", "grain": "date"}]
    assert "coarser_postings" not in codes(north.metric("sales", scenarios=A, period="2020-03"))


def test_what_was_not_asked_for_and_was_assumed_is_said(tmp_path: Path) -> None:
    without = books(tmp_path)
    rows = rows_of(without, source_key="gl", scenario_id="actual")
    assert [note["period"] for note in rows["notes"]] == ["all periods"]
    instance = tmp_path / "small"
    with (instance / "instance.yaml").open("a") as file:
        scenarios = "[{scenario: actual}, {scenario: 'var(actual,budget)'}]"
        file.write(f"default: {{period_start: 2020-01, period_end: 2020-02, scenarios: {scenarios}}}\n")
    found = open_books(instance, state=tmp_path / "state")
    report = found.metric("sales")
    assert list(figures(report, "scenario").values()) == [210, 120]
    assert said(report, "default_scenarios") == [{"scenarios": "actual, var(actual,budget)"}]
    assert said(report, "default_period") == [{"period": report.period.label}]
    asked = found.metric("sales", scenarios=A, period="2020-01")
    assert not codes(asked) & {"default_scenarios", "default_period"}
    rows = rows_of(found, source_key="gl", scenario_id="actual")
    assert [(note["code"], note["period"]) for note in rows["notes"]] == [("default_period", report.period.label)]
    assert rows_of(found, source_key="gl", scenario_id="actual", period_start="2020-01")["notes"] == []
    actual = granting(tmp_path, "{actual: {}}").metric("sales")
    assert said(actual, "default_scenarios") == [{"scenarios": "actual"}]
