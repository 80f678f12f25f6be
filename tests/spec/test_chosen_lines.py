"""The lines of a statement that a call chooses: computed from all, shown with their headers, to some depth.

Rules: Lines of a statement.
"""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments, UnknownName
from engine.report.report import Report
from engine.report.snapshots import keep, opened
from tests.spec.test_views import of
from tests.support.answers.reader import answer
from tests.support.books.small import small_books

ASKED: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2021"}


@pytest.fixture
def books(tmp_path: Path) -> Door:
    """Sales and costs by product, as lines, a tree of products, and a result."""
    return small_books(
        tmp_path,
        facts={
            "gl": "date scenario product amount cost\n2021-01-05 actual P1 70 20\n2021-01-05 actual P2 20 30\n"
            "2021-01-05 actual P3 10 10"
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}, cost: {places: 2}}
            metrics:
              sales: {measure: amount}
              costs: {measure: cost}
            """
        },
        dimensions="""
            product: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={"tree": "node parent\nALL -\nK ALL\nL ALL\nP1 K\nP2 K\nP3 L"},
        statements={
            "pl": "- {header: Income}\n- {metric: sales}\n- {rollup: {dimension: tree, node: ALL, metric: sales}}\n"
            "- {header: Spending}\n- {metric: costs}\n"
            "- {formula: {key: result, label: Result, is: sales - costs}}\n"
        },
    )


def keys(report: Report) -> list[str]:
    """Return the keys of the lines that a report shows."""
    return [line.key for line in report.lines]


def test_the_lines_that_are_named_stand_with_their_headers(books: Door) -> None:
    whole = keys(books.statement("pl", **ASKED))
    assert whole == [
        *("header_1", "sales", "tree.ALL", "tree.K", "tree.P1", "tree.P2", "tree.L", "tree.P3"),
        *("header_4", "costs", "result"),
    ]
    report = books.statement("pl", lines=["result"], **ASKED)
    assert keys(report) == ["header_4", "result"]
    assert of(report, 0, line=1) == {"total": 40}
    assert keys(books.statement("pl", lines=["pl.sales", "tree.L"], **ASKED)) == ["header_1", "sales", "tree.L"]


def test_depth_shows_so_many_levels_of_nodes(books: Door) -> None:
    assert keys(books.statement("pl", depth=0, **ASKED)) == [
        *("header_1", "sales", "tree.ALL", "header_4", "costs", "result"),
    ]
    assert "tree.K" in keys(books.statement("pl", depth=1, **ASKED))
    assert "tree.P1" not in keys(books.statement("pl", depth=1, **ASKED))
    below = books.statement("pl", lines=["tree.K"], depth=1, **ASKED)
    assert keys(below) == ["header_1", "tree.K", "tree.P1", "tree.P2"]


def test_what_is_not_shown_is_still_what_others_are_computed_from(books: Door) -> None:
    asked = {**ASKED, "scenarios": {"Share": "share(actual,sales)"}}
    report = books.statement("pl", lines=["costs"], **asked)
    assert [str(value) for value in report.frame["exact"]] == ["0.6"]
    again = opened(keep(report), books.reader)
    assert answer(again, 100_000) == answer(report, 100_000)  # type: ignore[arg-type]  # what was kept is a report


def test_what_is_no_line_is_refused_with_the_lines(books: Door) -> None:
    for name in ("header_1", "nothing"):
        with pytest.raises(UnknownName) as unknown:
            books.statement("pl", lines=[name], **ASKED)
        told = unknown.value.as_data()
        assert told["field"] == "lines"
        assert "result" in told["valid"]
    with pytest.raises(BadArguments) as below:
        books.statement("pl", depth=-1, **ASKED)
    assert below.value.as_data()["example"] == {"depth": 0}
