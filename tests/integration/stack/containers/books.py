"""The books of the stack: a ledger whose figures follow from arithmetic, with 20,000 customers."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.support.books.small import write_instance
from tests.support.service.servers import McpBooks

CUSTOMERS, MONTHS, REGIONS = 20_000, 9, ("EU", "US")
BREAKDOWN = {"dimensions": ["customer"]}
PNL = {
    "statement": "pnl",
    "scenarios": [{"scenario": "actual"}, {"scenario": "budget"}],
    "period_start": "2026-01",
    "period_end": "2026-09",
}
PROFILES = """
everyone: {operations: true, scenarios: {'*': {}}}
europe: {scenarios: {'*': {dimensions: {region: {allow: [EU]}}}}}
assign:
  - {subject: dev, profile: everyone}
  - {claim: {groups: finance}, profile: everyone}
  - {claim: {groups: finance-europe}, profile: europe}
"""
DOMAIN = """
time: {column: date}
dimensions: {region: region, customer: customer}
measures: {amount: {places: 2}}
metrics: {revenue: {measure: amount}}
"""
MORE = 1000  # of the row that a later file has besides


def rows() -> Iterator[tuple[str, str, str, str, int]]:
    """Yield day, scenario, region, customer and amount of each row."""
    for month in range(1, MONTHS + 1):
        for customer in range(CUSTOMERS):
            region, day = REGIONS[customer % 2], f"2026-{month:02d}-15"
            yield day, "actual", region, f"c{customer}", customer + month
            if customer < CUSTOMERS // 10:
                yield day, "budget", region, f"c{customer}", 10


@cache
def expected(*regions: str) -> list[int]:
    """Return the actual and the budget of some regions, summed row by row."""
    found = {"actual": 0, "budget": 0}
    for _, scenario, region, _, amount in rows():
        found[scenario] += amount if region in (regions or REGIONS) else 0
    return list(found.values())


def write_books(folder: Path) -> None:
    """Write the instance, which nobody but its owner may read yet."""
    table = "\n".join(" ".join(map(str, row)) for row in rows())
    write_instance(
        folder,
        facts={"gl": f"date scenario region customer amount\n{table}"},
        domains={"gl": DOMAIN},
        dimensions="region: {kind: leaf}\ncustomer: {kind: leaf}",
        statements={"pnl": "  - {metric: revenue}\n"},
        profiles=PROFILES,
    )
    with (folder / "instance.yaml").open("a", encoding="utf-8") as file:
        file.write(yaml.safe_dump({"default": PNL}))


def add_row(folder: Path) -> None:
    """Let the file of the ledger have one more row."""
    with (folder / "data" / "gl.csv").open("a", encoding="utf-8") as file:
        file.write(f"2026-09-30,actual,EU,c0,{MORE}\n")


def figures(books: McpBooks) -> list[int]:
    """Return the actual and the budget of the statement's line."""
    (line,) = books.ask("run_statement", **PNL)["rows"]
    return [int(float(value)) for value in line["values"][:2]]


def data_ref(books: McpBooks) -> str:
    """Return the reference of the statement's data."""
    return books.keep("run_statement", **PNL)


def loads(books: McpBooks) -> list[dict[str, Any]]:
    """Return the history of loads."""
    found: list[dict[str, Any]] = books.ask("list_load_history", limit=200)["loads"]
    return found
