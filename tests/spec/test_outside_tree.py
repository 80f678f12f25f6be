"""Note outside_tree: leaves of the tree that a statement covers which have rows and which no line reaches.

Rules: Over members.
"""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.instance.documents import InstanceFaults
from engine.report.report import Report
from tests.support.books.small import figures, small_books

A, B = {"A": "actual"}, {"B": "budget"}
ROWS = """
date       scenario account entity amount
2021-01-05 actual   sales   E1     100.00
2021-01-05 actual   rent    E1     -30.00
2021-01-05 actual   fines   E1     -4.50
2021-01-06 actual   fines   E2     -0.50
2021-01-05 actual   gifts   E1     2.00
2021-01-05 actual   memo    E1     9.00
2021-02-05 actual   gifts   E1     7.00
2021-01-05 budget   sales   E1     90.00
"""
NODES = """
node  parent weight
ALL   -      1
sales ALL    1
COSTS ALL    1
rent  COSTS  1
fines COSTS  1
gifts ALL    1
memo  ALL    0
"""


def books(folder: Path, covers: str = "{pnl: ALL}", **more: Any) -> Door:
    """Return books whose statement shows sales and rent, and neither fines nor gifts."""
    return small_books(
        folder,
        facts={"gl": ROWS},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account, entity: entity}
            measures: {amount: {places: 2}}
            metrics:
              sales: {measure: amount, where: {pnl: sales}}
              rent: {measure: amount, where: {account: rent}}
            """
        },
        dimensions="""
            account: {kind: leaf}
            entity: {kind: leaf}
            pnl: {kind: ragged, leaf_dimension: account, nodes: live.pnl}
        """,
        tables={"pnl": NODES},
        statements={"short": f"- {{metric: sales}}\n- {{metric: rent}}\ncovers: {covers}"},
        **more,
    )


def said(report: Report) -> list[dict[str, Any]]:
    """Return the notes on what lies outside of the lines."""
    return [dict(note.about) for note in report.notes if note.code == "outside_tree"]


BELOW = {"scenario": "actual", "node": "ALL", "dimension": "pnl"}


def test_leaves_that_no_line_reaches_are_named_with_their_amounts(tmp_path: Path) -> None:
    found = books(tmp_path)
    report = found.statement("short", scenarios={**A, **B}, period="2021-01")
    assert figures(report, "line", "alias")["rent", "A"] == -30
    assert said(report) == [{**BELOW, "members": "fines -5, gifts 2", "count": "2", "total": "-3"}]
    variance = found.statement("short", scenarios={"V": "var(actual,budget)"}, period="2021-01")
    assert said(variance) == said(report)
    later = found.statement("short", scenarios=A, period="2021-Q1")
    assert said(later) == [{**BELOW, "members": "gifts 9, fines -5", "count": "2", "total": "4"}]


def test_a_filter_and_a_smaller_node_leave_less_outside(tmp_path: Path) -> None:
    report = books(tmp_path / "all").statement("short", scenarios=A, period="2021-01", filters={"entity": "E2"})
    assert said(report) == [{**BELOW, "members": "fines -0.5", "count": "1", "total": "-0.5"}]
    costs = books(tmp_path / "costs", covers="{pnl: COSTS}").statement("short", scenarios=A, period="2021-01")
    assert said(costs) == [{**BELOW, "node": "COSTS", "members": "fines -5", "count": "1", "total": "-5"}]
    none = books(tmp_path / "none", covers="{}").statement("short", scenarios=A, period="2021-01")
    assert said(none) == []


def test_what_is_outside_is_what_the_caller_sees_in_each_scenario(tmp_path: Path) -> None:
    limit = "seen: {scenarios: {actual: {dimensions: {account: {deny: [gifts]}}}}}"
    seen = books(tmp_path / "leaf", profiles=limit, profile="seen").statement("short", scenarios=A, period="2021-01")
    assert said(seen) == [{**BELOW, "members": "fines -5", "count": "1", "total": "-5"}]
    limit = "seen: {scenarios: {actual: {dimensions: {entity: {allow: [E2]}}}}}"
    entity = books(tmp_path / "other", profiles=limit, profile="seen").statement("short", scenarios=A, period="2021-01")
    assert said(entity) == [{**BELOW, "members": "fines -0.5", "count": "1", "total": "-0.5"}]


def test_a_statement_covers_ragged_dimensions_only(tmp_path: Path) -> None:
    with pytest.raises(InstanceFaults, match="there is no ragged dimension 'account'"):
        books(tmp_path, covers="{account: rent}")
