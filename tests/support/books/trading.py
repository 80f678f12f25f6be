"""Books of a small trading company: costs by function, sales by customer, a vocabulary of its own."""

from pathlib import Path

from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

VOCABULARY = """
not_held: [ageing, open invoices]
terms:
  Umsatz: {metric: revenue}
  GuV: {statement: pnl}
  the pump people: {dimension: customer, member: K2}
  result:
    - {metric: margin, means: revenue less costs}
    - {metric: revenue, means: what customers bought}
  group:
    - {dimension: customer, member: K1, means: the first group}
    - {dimension: customer, member: K3, means: the second group}
    - {dimension: function, member: IT, means: the IT group}
"""
PROFILES = """
whole: {scenarios: {'*': {}}}
sales: {scenarios: {'*': {domains: {allow: [sales]}, dimensions: {customer: {allow: [K2, K3]}}}}}
assign: [{subject: somebody, profile: whole}, {subject: dev, profile: whole}]
"""


def write_trading(folder: Path, profiles: str = PROFILES, vocabulary: str = VOCABULARY) -> Path:
    """Write the instance and load it; return its folder."""
    instance = write_instance(
        folder / "small",
        facts={
            "costs": "date scenario function memo amount\n"
            "2026-01-05 actual IT licence -3\n2026-02-05 actual HR course -4",
            "sales": "date scenario customer amount\n2025-11-05 actual K1 16\n2026-01-05 actual K2 32\n"
            "2026-02-05 actual K2 64\n2026-02-06 actual K3 128",
        },
        domains={
            "costs": "time: {column: date}\ndimensions: {function: function}\nmeasures: {amount: {places: 2}}\n"
            "inspect_enabled: true\ninspect_columns: [date, function, memo, amount]\n"
            "metrics: {costs: {measure: amount}}",
            "sales": "time: {column: date}\ndimensions: {customer: customer}\nmeasures: {amount: {places: 2}}\n"
            "metrics:\n  revenue: {measure: amount}\n  margin: {formula: revenue + costs.costs}",
        },
        dimensions="function: {kind: leaf}\ncustomer: {kind: leaf, members: live.customer}",
        tables={"customer": "id name\nK1 Corvane~Group\nK2 Corvane~Pumpen\nK3 Ostend~Group"},
        statements={"pnl": "- {metric: revenue}\n- {metric: costs}"},
        profiles=profiles,
    )
    with (instance / "instance.yaml").open("a", encoding="utf-8") as more:
        more.write(vocabulary)
    load_instance(instance, folder / "state")
    return instance
