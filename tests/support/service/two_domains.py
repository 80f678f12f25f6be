"""Books of two domains, of which one of two callers sees one alone, and clients of both callers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.issuers import Issuer, issuing
from tests.support.service.servers import McpBooks, Server, connected
from tests.support.service.users import HOST, serving_many

DOMAIN = """
    time: {{column: date}}
    dimensions: {{region: region}}
    measures: {{amount: {{places: 2}}}}
    metrics: {{{metric}: {{measure: amount}}, {metric}_rate: {{formula: {metric} / {metric}}}}}
"""
FACTS = "scenario date region amount\nactual 2026-01-15 north 100\nbudget 2026-02-20 south 20"
PROFILES = """
all_of_it: {scenarios: {'*': {}}}
sales: {scenarios: {actual: {domains: {allow: [gl]}}}}
assign:
  - {claim: {groups: finance}, profile: all_of_it}
  - {claim: {groups: sales}, profile: sales}
"""


def write_two_domains(folder: Path) -> tuple[Path, Path]:
    """Write and load the books: revenue, and pay, which sales does not see."""
    instance = write_instance(
        folder / "instance",
        facts={"gl": FACTS, "hr": FACTS},
        domains={"gl": DOMAIN.format(metric="revenue"), "hr": DOMAIN.format(metric="pay")},
        dimensions="region: {kind: leaf}",
        scenarios="actual: {alias: Actuals, kind: actual}\nbudget: {alias: Budget, kind: budget}",
        statements={
            "pnl": "  - {metric: revenue}\n  - {header: Result}\n  - {metric: pay}\n"
            "  - {formula: {key: result, is: revenue - revenue, label: Result}}\n",
            "staff": "  - {metric: pay}\n",
        },
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    return instance, folder / "state"


@contextmanager
def serving_two_domains(folder: Path, **settings: str) -> Iterator[tuple[Issuer, Server]]:
    """Serve the books to those whom an issuer lets in."""
    with issuing() as issuer, serving_many(write_two_domains(folder), issuer.url, **settings) as server:
        yield issuer, server


@contextmanager
def callers_of(served: tuple[Issuer, Server], era: str) -> Iterator[tuple[McpBooks, McpBooks]]:
    """Connect one who sees all and one who sees sales."""
    issuer, server = served
    keys = [issuer.token(sub=group, groups=[group]) for group in ("finance", "sales")]
    with (
        connected(server.url, era, keys[0], Host=HOST) as finance,
        connected(server.url, era, keys[1], Host=HOST) as sales,
    ):
        yield finance, sales
