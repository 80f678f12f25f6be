"""Books to search: customers in two trees, and how a test asks for them."""

from pathlib import Path
from typing import Any

from engine.books.search import SearchResult, search
from engine.books.several_names import search_names
from engine.door import Door
from engine.model.requests import SearchRequest
from tests.support.books.small import small_books

DOMAIN = """
time: {column: date}
dimensions: {customer: customer, region: region}
axes: {voucher: voucher}
measures: {amount: {places: 2}}
metrics:
  revenue: {measure: amount}
"""
DIMENSIONS = """
customer: {kind: leaf, members: live.customer}
region: {kind: leaf}
segment: {kind: derived, from: customer, attribute: segment}
territory: {kind: ragged, leaf_dimension: customer, nodes: live.territory}
channel: {kind: ragged, leaf_dimension: customer, nodes: live.channel}
week: {kind: leaf, grain: week}
"""
FACTS = """
date       scenario customer region voucher amount
2026-01-05 actual   K1       EU     v1      1
2026-01-05 actual   K2       EU     v1      2
2026-01-05 actual   K3       US     v1      4
2026-01-05 actual   K4       US     v1      8
2026-01-05 actual   HQ       -      v1      16
2026-01-05 actual   -        EU     v1      32
2026-01-05 budget   K3       APAC   v1      64
"""
CUSTOMERS = """
id code    name                      segment
K3 B-100   O’Brien~Stores            Wholesale
K1 A-100   Müller~Söhne              Retail
K2 A-1001  Sankt~Straßen~Bau         Retail
K4 R&D     Łódź~Ærø~Research         -
HQ ４７１１ ﬁnanz~Café~Ångström       Non-Profit
"""
TERRITORY = """
node   parent name   leaf
World  -      World  HQ
Europe World  Europe -
K1     Europe -      -
K2     Europe -      -
K3     World  -      -
"""
CHANNEL = """
node   parent name
Direct -      Direct~Sales
Shops  Direct Shops
K1     Shops  -
K4     Direct -
Agents -      Agents
K1     Agents -
HQ     Agents -
"""


def books_of(folder: Path, **parts: Any) -> Door:
    """A handful of customers in two trees, as written above unless said otherwise."""
    written = {
        "facts": {"sales": FACTS},
        "domains": {"sales": DOMAIN},
        "dimensions": DIMENSIONS,
        "tables": {"customer": CUSTOMERS, "territory": TERRITORY, "channel": CHANNEL},
    }
    return small_books(folder, **(written | parts))


def find(
    books: Door, query: str | None = None, dimension: str | None = None, limit: int | None = None, offset: int = 0
) -> SearchResult:
    """Search some books."""
    return search(SearchRequest(query=query, dimension=dimension, limit=limit, offset=offset), books.reader)


def find_names(
    books: Door, *names: str, dimension: str | None = None, limit: int | None = None
) -> tuple[SearchResult, ...]:
    """Search some books for several names, or the words of one."""
    query = names if len(names) > 1 else names[0]
    return search_names(SearchRequest(query=query, dimension=dimension, limit=limit), books.reader)


def ids(found: SearchResult) -> list[str]:
    """Return the ids of everything found, records first."""
    return [hit.id for hit in (*found.records, *found.hierarchy_nodes)]


def listed(books: Door, dimension: str) -> list[str]:
    """Return the ids of a whole dimension."""
    return ids(find(books, dimension=dimension))


MANY = 230


def write_crowd(folder: Path) -> Path:
    """Write and load books of many customers, of whom a profile shows few; return their folder."""
    customers = "id code name segment\n" + "\n".join(f"C{at:03d} - Client~{at} Retail" for at in range(MANY))
    tree = "node parent\nTop -\n" + "\n".join(f"C{at:03d} Top" for at in range(MANY))
    books_of(
        folder,
        facts={"sales": "date scenario customer region voucher amount\n2026-01-05 actual C000 EU v1 1"},
        tables={"customer": customers, "territory": tree, "channel": "node parent\nC000 -"},
        profiles="few: {scenarios: {'*': {dimensions: {customer: {allow: [C007, C100, C229]}}}}}",
    )
    return folder
