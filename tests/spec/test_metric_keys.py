"""Finance case T72: keys of metrics are unique within their domain; domain.key tells apart what several share."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door, open_books
from engine.instance.documents import InstanceFaults
from engine.model.errors import BadArguments, MixedDomains, UnknownName
from tests.support.books.inspected import rows_of
from tests.support.books.small import figure, figures, small_books

DOMAIN = """
time: {column: date}
dimensions: {}
measures: {amount: {places: 2}}
inspect_enabled: true
metrics:
"""
GL = """
  revenue: {measure: amount, sign: negate}
  costs: {measure: amount}
  margin: {formula: revenue / costs}
"""
SALES = """
  revenue: {measure: amount, label: Orders}
  doubled: {formula: revenue * 2}
  gap: {formula: revenue - gl.revenue}
"""
LINES = """
- {metric: gl.revenue}
- {formula: {key: x, label: X, is: sales.revenue - gl.revenue}}
"""
POSTED = {"gl": -70, "sales": 100}
A = {"A": "actual"}
ASKED: dict[str, Any] = {"scenarios": A, "period": "2026-01"}


def shared(folder: Path, sales: str = SALES, lines: str = "") -> Door:
    """Return books of a ledger with -70 and sales of 100, each with a metric `revenue`."""
    return small_books(
        folder,
        facts={
            key: f"date scenario amount\n2026-01-05 actual {amount}" for key, amount in (("gl", -70), ("sales", 100))
        },
        domains={"gl": DOMAIN + GL, "sales": DOMAIN + sales},
        statements={
            "pnl": lines or "- {metric: gl.revenue}\n- {formula: {key: x, label: X, is: sales.revenue - gl.revenue}}"
        },
        profiles="ledger: {scenarios: {actual: {domains: {allow: [gl]}}}}",
    )


def test_t72_a_shared_key_is_told_apart_by_its_domain(tmp_path: Path) -> None:
    books = shared(tmp_path)
    assert figure(books.metric("gl.revenue", **ASKED)) == 70
    assert figure(books.metric("sales.revenue", **ASKED)) == 100
    assert figure(books.metric("costs", **ASKED)) == figure(books.metric("gl.costs", **ASKED)) == -70
    assert figures(books.metric("sales.revenue", "doubled", "gap", **ASKED), "metric") == {
        "sales.revenue": 100,
        "doubled": 200,
        "gap": 30,
    }
    assert figure(books.metric("margin", **ASKED)) == -1
    assert figures(books.statement("pnl", **ASKED), "line") == {"revenue": 70, "x": 30}


def test_t72_a_shared_bare_key_is_refused_with_both_spellings(tmp_path: Path) -> None:
    books = shared(tmp_path)
    with pytest.raises(BadArguments, match=r"'revenue' can mean gl.revenue or sales.revenue") as refused:
        books.metric("revenue", **ASKED)
    assert refused.value.valid == ["gl.revenue", "sales.revenue"]
    with pytest.raises(BadArguments, match=r"can mean gl.revenue or sales.revenue"):
        rows_of(books, source_key="gl", scenario_id="actual", filters={"metric": "revenue"})
    with pytest.raises(UnknownName):
        books.metric("people.revenue", **ASKED)
    with pytest.raises(MixedDomains):
        books.metric("gl.revenue", "sales.revenue", **ASKED)


def test_t72_rows_of_a_shared_key_tie(tmp_path: Path) -> None:
    found = rows_of(shared(tmp_path), source_key="gl", scenario_id="actual", filters={"metric": "gl.revenue"})
    assert Decimal(str(found["contribution_total"])) == 70


def test_t72_who_sees_one_domain_knows_the_bare_key_alone(tmp_path: Path) -> None:
    shared(tmp_path)
    ledger = open_books(tmp_path / "small", state=tmp_path / "state", profile="ledger")
    report = ledger.metric("revenue", **ASKED)
    assert [line.key for line in report.lines] == ["revenue"]
    assert figure(report) == figure(ledger.metric("gl.revenue", **ASKED)) == 70
    assert figure(ledger.metric("margin", **ASKED)) == -1
    with pytest.raises(UnknownName):
        ledger.metric("sales.revenue", **ASKED)


@pytest.mark.parametrize(
    ("sales", "lines", "fault"),
    [
        (SALES, "- {metric: revenue}", "'revenue' is a metric of gl and of sales — gl.revenue or sales.revenue"),
        (SALES, "- {formula: {key: x, label: X, is: revenue}}", "'revenue' can mean gl.revenue or sales.revenue"),
        ("  orders: {formula: costs}", "", "'costs' is a metric of gl; write gl.costs"),
        ("  orders: {formula: margins}", "", "there is no metric 'margins'"),
        ("  revenue: {formula: revenue}", "", "formulas go round in a circle: sales.revenue → sales.revenue"),
    ],
)
def test_t72_files_say_which(tmp_path: Path, sales: str, lines: str, fault: str) -> None:
    with pytest.raises(InstanceFaults) as found:
        shared(tmp_path, sales, lines or "- {metric: costs}")
    assert fault in str(found.value)
