"""Books in whose trees every leaf lies below many nodes, so that one combination of classes has many targets.

Of their two domains one lacks a dimension: the other one stands first or second in a breakdown of both.
"""

from pathlib import Path

from tests.support.books.small import write_instance

LEAVES, DEPTH, METRICS, MONTHS = 6, 14, 8, 6
DIMENSIONS = """
shop: {kind: leaf, label: Shop}
item: {kind: leaf, label: Item}
shops: {kind: ragged, label: Shops, leaf_dimension: shop, nodes: live.shops}
items: {kind: ragged, label: Items, leaf_dimension: item, nodes: live.items}
period: {kind: leaf, label: Period, grain: month}
quarter: {kind: leaf, label: Quarter, grain: quarter}
year: {kind: leaf, label: Year, grain: year}
"""
PROFILES = """
everyone: {operations: true, scenarios: {'*': {}}}
some: {scenarios: {'*': {dimensions: {shop: {allow: [S0, S1, S2]}}}}}
few: {scenarios: {actual: {dimensions: {items: {allow: [I3]}}}}}
assign:
  - {subject: ada, profile: everyone}
  - {subject: bob, profile: some}
  - {subject: cyd, profile: few}
"""


def tree(letter: str) -> str:
    """Return a chain of nodes with the leaves at its end."""
    chain = [f"N{at}{letter} {f'N{at - 1}{letter}' if at else '-'} 1 -" for at in range(DEPTH)]
    leaves = [f"{letter}{at} N{DEPTH - 1}{letter} 1 -" for at in range(LEAVES)]
    return "\n".join(("node parent weight name", *chain, *leaves))


def facts() -> str:
    """Return the rows: an amount of every shop, item and month, a few scenarios of it."""
    rows = [
        f"2020-{month:02}-15 {scenario} S{shop} I{item} {shop * 100 + item * 10 + month}"
        for scenario in ("actual", "budget")
        for month in range(1, MONTHS + 1)
        for shop in range(LEAVES)
        for item in range(LEAVES)
    ]
    return "\n".join(("date scenario shop item amount", *rows))


def people() -> str:
    """Return the heads of every shop and month."""
    rows = [
        f"2020-{month:02} actual S{shop} {shop + month}" for month in range(1, MONTHS + 1) for shop in range(LEAVES)
    ]
    return "\n".join(("date scenario shop heads", *rows))


def metrics() -> str:
    """Return the metrics of the ledger, of many classes of shops, and one that is known from some time on."""
    plain = [
        f"  m{at}: {{label: M{at}, measure: amount, where: {{shop: [S{at % LEAVES}, S5]}}}}" for at in range(METRICS)
    ]
    return "\n".join(
        (*plain, "  known: {label: Known, measure: amount, over_time: {last_known: always}, balance: stock}")
    )


def write_chains(folder: Path) -> Path:
    """Write the instance."""
    lines = [*(f"m{at}" for at in range(METRICS)), "heads", "a_head"]
    return write_instance(
        folder,
        facts={"gl": facts(), "people": people()},
        domains={
            "gl": f"""
label: Ledger
time: {{column: date}}
dimensions: {{shop: shop, item: item}}
measures: {{amount: {{places: 2}}}}
inspect_enabled: true
balances: {{stock: {{where: {{shop: [S0, S1, S2, S3]}}, grain: month}}}}
metrics:
{metrics()}
""",
            "people": """
label: People
time: {column: date, grain: month}
dimensions: {shop: shop}
measures: {heads: {type: number, places: 0}}
inspect_enabled: true
metrics:
  heads: {label: Heads, measure: heads, over_time: closing}
  a_head: {label: A head, formula: gl.m0 / heads}
""",
        },
        dimensions=DIMENSIONS,
        tables={"shops": tree("S"), "items": tree("I")},
        statements={"pnl": "\n".join(f"  - {{metric: {key}}}" for key in lines) + "\n"},
        profiles=PROFILES,
    )
