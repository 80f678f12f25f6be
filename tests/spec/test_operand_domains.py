"""Operands of a call's formulas from other domains and from lines of statements.

Rules: Several domains.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import DimensionUnavailable, Refusal, UnknownName
from tests.support.books.small import codes, figures, granting, small_books

SALES = """
    date       scenario product entity amount
    2026-01-10 actual   Core    FR     60
    2026-01-11 actual   Pro     DE     40
    2026-01-10 budget   Core    FR     50
"""
PEOPLE = """
    date       scenario entity heads
    2026-01-31 actual   FR     6
    2026-01-31 actual   DE     4
"""
DAYS = """
    date       scenario days
    2026-01-31 actual   20
"""
TREE = "node parent weight\nAll - 1\nFR All 1\nDE All 1"


def books_of(folder: Path) -> Door:
    """Return books of sales, people and working days."""
    return small_books(
        folder,
        facts={"sales": SALES, "people": PEOPLE, "cal": DAYS},
        domains={
            "sales": """
                time: {column: date}
                dimensions: {product: product, entity: entity}
                measures: {amount: {places: 2}}
                inspect_enabled: true
                metrics: {revenue: {measure: amount}}
            """,
            "people": """
                time: {column: date}
                dimensions: {entity: entity}
                measures: {heads: {type: number, places: 0}}
                inspect_enabled: true
                metrics: {heads: {measure: heads, over_time: closing}}
            """,
            "cal": """
                time: {column: date}
                dimensions: {}
                measures: {days: {type: number, places: 0}}
                metrics: {workdays: {measure: days, repeats: true}}
            """,
        },
        dimensions="""
            product: {kind: leaf}
            entity: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: entity, nodes: live.tree}
        """,
        tables={"tree": TREE},
        statements={
            "pnl": """
- {header: Trading}
- {metric: revenue}
- formula: {key: doubled, label: Doubled, is: "revenue * 2"}
- {rollup: {metric: revenue, dimension: tree, node: All, depth: 0}, key: rolled}
- {rollup: {metric: revenue, dimension: tree, node: FR, depth: 0}, key: french}
"""
        },
    )


def asked(books: Door, formula: str, **more: Any) -> dict[Any, Decimal | None]:
    """Return the figures of a formula by member."""
    more = {"scenarios": {"A": "actual"}, "period": "2026-01", **more}
    report = books.metric("revenue", formulas={"x": formula}, **more)
    found = figures(report, "metric", *report.breakdown)
    return (
        {None: found["x"]} if not report.breakdown else {key[1]: each for key, each in found.items() if key[0] == "x"}
    )


def test_an_operand_of_another_domain_is_read_beside_the_call(tmp_path: Path) -> None:
    books = books_of(tmp_path)
    for formula in ("revenue / people.heads", "revenue / heads"):
        assert asked(books, formula, dimensions=["entity"]) == {"FR": 10, "DE": 10, None: 10}
    assert asked(books, "revenue / heads", filters={"entity": "FR"}) == {None: 10}
    assert asked(books, "revenue / heads{entity: DE}", dimensions=["entity"]) == {"FR": 15, "DE": 10, None: 25}


def test_an_operand_without_a_dimension_of_the_call_is_refused_by_name(tmp_path: Path) -> None:
    books = books_of(tmp_path)
    for more in ({"dimensions": ["product"]}, {"filters": {"product": "Core"}}):
        with pytest.raises(DimensionUnavailable) as refused:
            asked(books, "revenue / people.heads", **more)
        assert "heads is of people, which has no product" in refused.value.error
        assert (refused.value.field, refused.value.valid) == ("formulas.x", ["revenue"])
    report = asked(books, "revenue / workdays", dimensions=["product"])  # repeats
    assert report == {"Core": 3, "Pro": 2, None: 5}


def test_a_line_of_a_statement_is_an_operand(tmp_path: Path) -> None:
    books = books_of(tmp_path)
    assert asked(books, "pnl.doubled / revenue", dimensions=["product"]) == {"Core": 2, "Pro": 2, None: 2}
    assert asked(books, "pnl.rolled - pnl.french") == {None: 40}
    assert asked(books, "pnl.doubled[budget] / pnl.revenue") == {None: 1}
    assert asked(books, "pnl.doubled{product: Core}", dimensions=["product"]) == {"Core": 120, "Pro": 120, None: 120}


def test_a_line_that_is_hidden_or_does_not_exist_is_unknown(tmp_path: Path) -> None:
    books_of(tmp_path)
    books = granting(tmp_path, "{actual: {domains: {allow: [sales]}, dimensions: {entity: {allow: [DE]}}}}")
    hidden, unknown = (refusal(books, f"pnl.{line}") for line in ("french", "frensh"))
    assert isinstance(hidden, UnknownName)
    assert hidden.valid == unknown.valid == ["pnl.doubled", "pnl.revenue", "pnl.rolled"]
    for name in ("heads", "people.heads", "pnl.Trading", "ghost.revenue"):
        assert isinstance(refusal(books, f"revenue / {name}"), UnknownName), name


def refusal(books: Door, formula: str) -> Refusal:
    """Return the refusal of a formula."""
    with pytest.raises(Refusal) as refused:
        asked(books, formula)
    return refused.value


def test_it_says_what_it_reads(tmp_path: Path) -> None:
    books = books_of(tmp_path)
    report = books.metric(
        "revenue", formulas={"x": "revenue / heads"}, scenarios={"B": "budget", "A": "actual"}, period="2026-01"
    )
    assert figures(report, "metric", "alias") == {
        ("revenue", "B"): 50,
        ("revenue", "A"): 100,
        ("x", "B"): None,
        ("x", "A"): 10,
    }
    assert "not_loaded" in codes(report)
    assert set(report.freshness) == {"sales", "people"}
