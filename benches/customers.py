"""Books with many customers: codes, names, a segment each, and two trees of different shape above them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from random import Random

from benches.books import ROOT, BenchBooks
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

SEED = 20260401
ROWS = 50_000
DOMAIN = """
time: {column: date}
dimensions: {customer: customer}
measures: {amount: {places: 2}}
metrics:
  revenue: {measure: amount}
"""
DIMENSIONS = """
customer: {kind: leaf, members: live.customer}
segment: {kind: derived, from: customer, attribute: segment}
territory: {kind: ragged, leaf_dimension: customer, nodes: live.territory}
channel: {kind: ragged, leaf_dimension: customer, nodes: live.channel}
"""
PROFILES = """
part: {scenarios: {'*': {dimensions: {territory: {allow: [T1]}}}}}
rest: {scenarios: {'*': {dimensions: {channel: {deny: [C2]}}}}}
"""
TERRITORY = (1, 6, 40, 300, 2_200, 7_500)  # nodes of each level
CHANNEL = (4, 90, 1_400, 8_500)
SEGMENTS = ("Öffentliche~Hand", "Mid~Market", "Enterprise", "Small~Business", "Non-Profit", "-")
FIRST = (
    "Müller Östberg Łukasz O'Brien Ångström Núñez Smith Weiß Fournier Johansen Kowalski Rossi Yamada Haddad Silva "
    "Petrović Dvořák Jensen Papadopoulos Schröder Abbott Becker Castillo Duarte Eriksson Ferrari Grünwald Hoffmann"
)
SECOND = (
    "Logistics Medical Foods Retail Energy Textiles Chemicals Robotics Insurance Optics Shipping Dairy Metals Print "
    "Aviation Timber Glass Software Seeds Ceramics"
)
FORM = ("GmbH", "Ltd", "S.A.", "AB", "& Sons", "Group", "Inc", "K.K.")
PLACES = "North South East West Central Alpine Coastal Inner Upper Lower Nordic Iberian Baltic Rhine Danube"


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One node of a tree."""

    id: str
    parent: str | None
    name: str


def customer_books(customers: int) -> BenchBooks:
    """Return books with a number of customers, written and loaded once."""
    home = ROOT / "out" / "benches" / f"customers-{customers}"
    books = BenchBooks(home / "instance", home / "state")
    if not (books.state / "store" / "CURRENT").exists():
        print(f"writing and loading {customers:,} customers …")
        write(books.instance, customers)
        load_instance(books.instance, books.state)
    return books


def write(folder: Path, customers: int) -> None:
    """Write the instance."""
    random = Random(SEED)
    ids = [f"K{at:06d}" for at in range(customers)]
    share = customers / 100_000
    territory, channel = tree("T", TERRITORY, share, random), tree("C", CHANNEL, share, random)
    write_instance(
        folder,
        facts={"sales": table("date scenario customer amount", facts(ids, random))},
        domains={"sales": DOMAIN},
        dimensions=DIMENSIONS,
        tables={
            "customer": table("id code name segment", members(ids, random)),
            "territory": table("node parent name", placed(ids, territory, random)),
            "channel": table("node parent name", placed(ids, channel, random)),
        },
        profiles=PROFILES,
    )


def table(header: str, rows: Iterator[tuple[object, ...]]) -> str:
    """Return rows as the text of a small table."""
    return "\n".join((header, *(" ".join(str(cell).replace(" ", "~") for cell in row) for row in rows)))


def members(ids: Sequence[str], random: Random) -> Iterator[tuple[object, ...]]:
    """Yield the customers."""
    codes = random.sample(range(10**6, 10**7), len(ids))
    first, second = FIRST.split(), SECOND.split()
    for member, code in zip(ids, codes, strict=True):
        name = f"{random.choice(first)} {random.choice(second)} {random.choice(FORM)} {random.randrange(1000)}"
        yield member, f"{code // 1000}-{code % 1000:03d}", name, random.choice(SEGMENTS)


def tree(letter: str, levels: Sequence[int], share: float, random: Random) -> list[list[TreeNode]]:
    """Return the levels of a tree, each node under a random one of the level above."""
    sizes = [size if at < 2 else max(2, int(size * share)) for at, size in enumerate(levels)]
    grown: list[list[TreeNode]] = []
    places, second = PLACES.split(), SECOND.split()
    for before, size in zip(accumulate([0, *sizes]), sizes, strict=False):
        grown.append(
            [
                TreeNode(
                    f"{letter}{number}",
                    random.choice(grown[-1]).id if grown else None,
                    f"{random.choice(places)} {random.choice(second)} {number}",
                )
                for number in range(before, before + size)
            ]
        )
    return grown


def placed(ids: Sequence[str], levels: Sequence[Sequence[TreeNode]], random: Random) -> Iterator[tuple[object, ...]]:
    """Yield a tree's nodes and the customers below them, which hang at several levels; one in a hundred nowhere."""
    for node in (node for level in levels for node in level):
        yield node.id, node.parent or "-", node.name
    for member in ids:
        if random.random() >= 0.01:
            yield member, random.choice(levels[random.choice((-1, -1, -1, -2, -2, -3))]).id, "-"


def facts(ids: Sequence[str], random: Random) -> Iterator[tuple[object, ...]]:
    """Yield rows of customers, some of none."""
    for _ in range(ROWS):
        customer = "-" if random.random() < 0.001 else random.choice(ids)
        yield f"2026-{random.randint(1, 9):02d}-15", "actual", customer, random.randint(1, 9_999)
