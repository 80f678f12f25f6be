"""Kept results that one read cannot return, or whose owner has no room for their document: refused, no file stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.fixtures import PROFILES
from tests.support.service.servers import McpBooks, connected, serving

MEMBERS, MONTHS = 8_000, range(1, 13)
DOMAIN = """
    time: {column: date}
    dimensions: {product: product}
    measures: {amount: {places: 2}}
    metrics: {revenue: {measure: amount}}
"""
ASKED = {
    "metrics": ["revenue"],
    "scenarios": [{"scenario": "actual"}],
    "period_start": "2026-01",
    "period_end": "2026-12",
    "dimensions": ["product", "month"],
}
TOO_LONG = (
    "This result has more than 8 MB as JSON, the most that one read returns. "
    "Call export_dataset, which makes it a file."
)
NO_ROOM = "This file would be more than 1 MB, your quota. Ask for less."


@pytest.fixture(scope="module")
def long_books(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Books of 8,000 products in each of twelve months, and their state folder."""
    folder = tmp_path_factory.mktemp("long")
    rows = (f"2026-{month:02}-05 actual P{n:04} {n}.25" for n in range(MEMBERS) for month in MONTHS)
    instance = write_instance(
        folder / "instance",
        facts={"gl": "\n".join(("date scenario product amount", *rows))},
        domains={"gl": DOMAIN},
        dimensions="product: {kind: leaf}",
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    return instance, folder / "state"


@pytest.fixture(params=[("1000", TOO_LONG), ("1", NO_ROOM)])
def refused(request: pytest.FixtureRequest, long_books: tuple[Path, Path]) -> Iterator[tuple[McpBooks, str]]:
    """A client whose files may have so many megabytes, and how its read is refused."""
    quota, says = request.param
    with serving(*long_books, SVC_QUOTA_MEGABYTES=quota) as server, connected(server.url, "auto") as books:
        yield books, says


def test_a_long_result_is_refused_with_what_to_do(refused: tuple[McpBooks, str], long_books: tuple[Path, Path]) -> None:
    books, says = refused
    reference = books.keep("run_metric", **ASKED)
    with pytest.raises(MCPError) as caught:
        books.resource(f"tieout://dataset/{reference}")
    assert caught.value.error.message == says
    assert [path for path in (long_books[1] / "files").rglob("*") if path.is_file()] == []
