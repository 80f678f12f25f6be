"""A range without rows: in which loaded periods there are some, told of what a caller sees.

Rules: Blanks.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from engine.door import Door
from engine.model.notes import NOTES, Severity
from engine.report.report import Report
from tests.support.books.small import figures, granting, small_books

FACTS = """
date       scenario customer region amount
2025-03-04 actual   K1       EU     1
2025-05-04 actual   K1       US     2
2025-06-04 actual   K1       EU     4
2025-11-04 actual   K2       EU     8
2026-02-04 actual   K3       EU     16
2026-09-04 actual   K3       EU     32
2026-09-04 budget   K1       EU     64
"""
QUARTERS = """
date    scenario customer heads
2025-Q1 actual   K1       3
2025-Q2 actual   K1       3
2026-Q3 actual   K3       5
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the books: K1 bought in three months of 2025, K2 in one, K3 in 2026."""
    folder = tmp_path_factory.mktemp("absences")
    small_books(
        folder,
        facts={"sales": FACTS, "people": QUARTERS},
        domains={
            "sales": "time: {column: date}\ndimensions: {customer: customer, region: region}\n"
            "measures: {amount: {places: 2}}\n"
            "metrics:\n  revenue: {measure: amount}\n  west: {measure: amount, where: {region: US}}\n"
            "  refunds: {measure: amount, where: {amount: '< 0'}}\n",
            "people": "time: {column: date, grain: quarter}\ndimensions: {customer: customer}\n"
            "measures: {heads: {type: number}}\nmetrics: {heads: {measure: heads}}",
        },
        dimensions="customer: {kind: leaf, members: live.customer}\nregion: {kind: leaf}",
        tables={"customer": "id name\nK1 First\nK2 Second\nK3 Third\nK4 Fourth"},
    )
    return folder


@pytest.fixture(scope="module")
def books(folder: Path) -> Door:
    """The books as somebody sees them who sees all."""
    return granting(folder, "{'*': {}}")


def told(report: Report, code: str = "rows_elsewhere") -> list[str]:
    """Return the messages of the notes of a code."""
    return [note.message for note in report.notes if note.code == code]


def asked(books: Door, metric: str, customer: str | None, period: str, scenario: str = "actual") -> list[str]:
    """Return what the absence of a metric of a customer says."""
    filters = {"customer": [customer]} if customer else {}
    return told(books.metric(metric, scenarios={"A": scenario}, period=period, filters=filters))


@pytest.mark.parametrize(
    ("customer", "period", "said"),
    [
        ("K1", "2026-02", "in 2026-02. It has rows in 3 months of 2025-03 to 2025-06."),
        ("K1", "2026", "in 2026-01 to 2026-12 (loaded to 2026-09). It has rows in 3 months of 2025-03 to 2025-06."),
        ("K2", "2026-Q1", "in 2026-01 to 2026-03. It has rows in 2025-11."),
        ("K4", "2026-Q1", "in 2026-01 to 2026-03. It has none in any loaded period."),
        ("K3", "2025", "in 2025-01 to 2025-12. It has rows in 2 months of 2026-02 to 2026-09."),
    ],
)
def test_a_member_without_rows_in_the_range_has_rows_elsewhere(
    books: Door, customer: str, period: str, said: str
) -> None:
    assert asked(books, "revenue", customer, period) == [
        f"actual of sales has no rows of revenue of customer '{customer}' {said}"
    ]


def test_a_metric_without_rows_in_the_range_says_where_it_has_some(books: Door) -> None:
    assert asked(books, "west", None, "2026-02") == [
        "actual of sales has no rows of west in 2026-02. It has rows in 2025-05."
    ]
    assert asked(books, "heads", "K1", "2026-Q3") == [
        "actual of people has no rows of heads of customer 'K1' in 2026-Q3. It has rows in 2025-Q1 to 2025-Q2."
    ]
    beside = books.metric("revenue", "west", scenarios={"A": "actual"}, period="2026-02")
    assert told(beside) == ["actual of sales has no rows of west in 2026-02. It has rows in 2025-05."]


def test_what_has_rows_or_another_cause_has_no_such_note(books: Door) -> None:
    """Rows, of which none meets a condition on amounts; a range outside the books; a member that nobody knows."""
    assert asked(books, "refunds", "K3", "2026") == []
    assert asked(books, "revenue", "K3", "2026") == []
    assert asked(books, "revenue", "K1", "2024") == []
    assert asked(books, "revenue", "nobody", "2026-02") == []
    assert asked(books, "revenue", "K1", "2026-09", "budget") == []


def test_only_visible_rows_are_told(folder: Path) -> None:
    """K1 bought in May from a region that this caller does not see, and has no west."""
    books = granting(folder, "{'*': {dimensions: {region: {allow: [EU]}}}}")
    (message,) = asked(books, "revenue", "K1", "2026-02")
    assert message.endswith("customer 'K1' in 2026-02. It has rows in 2 months of 2025-03 to 2025-06.")
    assert asked(books, "west", None, "2026-02") == [
        "actual of sales has no rows of west in 2026-02. It has none in any loaded period."
    ]
    blind = granting(folder, "{'*': {dimensions: {customer: {deny: [K1]}}}}")
    unknown, hidden = (asked(blind, "revenue", name, "2026-02") for name in ("nobody", "K1"))
    assert unknown == hidden == []


def test_members_that_a_breakdown_lacks_are_told_with_their_periods(books: Door) -> None:
    report = books.metric(
        "revenue",
        scenarios={"A": "actual"},
        period="2026-02",
        dimensions=["customer"],
        filters={"customer": ["K1", "K2", "K3", "K4"]},
    )
    assert figures(report, "customer") == {"K1": None, "K2": None, "K3": Decimal(16), "K4": None, None: Decimal(16)}
    (message,) = told(report, "members_without_rows")
    assert message == (
        "Members of customer without rows of actual in 2026-02: 'K1' (rows in 3 months of 2025-03 to 2025-06), 'K2' "
        "(rows in 2025-11), 'K4' (none in any loaded period)."
    )
    whole = books.metric("revenue", scenarios={"A": "actual"}, period="2026-02", dimensions=["customer"])
    assert figures(whole, "customer") == {"K3": Decimal(16), None: Decimal(16)}
    assert told(whole, "members_without_rows") == []


def test_a_member_that_is_hidden_or_unknown_stands_nowhere(folder: Path) -> None:
    books = granting(folder, "{'*': {dimensions: {customer: {deny: [K1]}}}}")
    for name in ("K1", "nobody"):
        report = books.metric(
            "revenue",
            scenarios={"A": "actual"},
            period="2026-02",
            dimensions=["customer"],
            filters={"customer": [name, "K2", "K3"]},
        )
        assert figures(report, "customer") == {"K2": None, "K3": Decimal(16), None: Decimal(16)}
        (message,) = told(report, "members_without_rows")
        assert message.endswith("in 2026-02: 'K2' (rows in 2025-11).")


def test_a_ranking_counts_no_member_without_rows(books: Door) -> None:
    report = books.metric(
        "revenue",
        scenarios={"A": "actual"},
        period="2026-02",
        dimensions=["customer"],
        filters={"customer": ["K1", "K3"]},
        order_by="A",
    )
    assert figures(report, "customer") == {"K3": Decimal(16), None: Decimal(16)}


def test_the_notes_are_cautions() -> None:
    assert {NOTES[code].severity for code in ("rows_elsewhere", "members_without_rows")} == {Severity.CAUTION}
