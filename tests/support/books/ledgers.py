"""A ledger in somebody's database, an instance that reads it, and what of it is loaded."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from engine.door import open_books
from tests.support.books.small import figures, write_instance

DOMAIN = """
    time: {column: date}
    dimensions: {account: account}
    measures: {amount: {places: 2}}
    metrics:
      revenue: {measure: amount}
"""
LEDGER = [
    ("2021-01-31", "01", "A", "1.10"),
    ("2021-02-01", "01", "A", "2.20"),
    ("2021-02-28", "02", "A", "40.00"),
    ("2021-02-28", "01", "B", "-0.30"),
    ("2021-03-01", "01", "A", "8.00"),
]
FEBRUARY = {"A": Decimal("2.20"), "B": Decimal("-0.30"), None: Decimal("1.90")}  # of company 01
QUERY = """
    select posted as date, 'actual' as scenario, account, amount from ledger -- of :nobody
    where posted >= :period_start and posted < :period_end_exclusive and company = :company
"""
FEED = {"extract": QUERY, "load": "replace_periods", "parameters": {"company": "01"}}


def ledger(folder: Path, source: dict[str, Any], **feed: Any) -> Path:
    """Write an instance of one ledger that comes out of a database; `feed` says more of its feed, or other things."""
    instance = write_instance(
        folder / "small", facts={"gl": "date"}, domains={"gl": DOMAIN}, dimensions="account: {kind: leaf}"
    )
    integrations = {
        "sources": {"erp": source},
        "bindings": {"gl": {"source": "erp", "target": "live.gl", "unknown_members": "extend", **FEED, **feed}},
    }
    (instance / "integrations.yaml").write_text(yaml.safe_dump(integrations))
    return instance


def revenue(instance: Path, folder: Path) -> dict[Any, Decimal | None]:
    """Return what is loaded, by account."""
    books = open_books(instance, state=folder / "state")
    return figures(books.metric("revenue", scenarios={"A": "actual"}, period="2021", dimensions=["account"]), "account")
