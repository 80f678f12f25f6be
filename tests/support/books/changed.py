"""Books of a ledger and of people, and profiles of them that tests change."""

from pathlib import Path
from typing import Any

from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

JAN = {"period_start": "2021-01", "period_end": "2021-03"}
EUROPE = "{dimensions: {region: {allow: [EU]}}}"
AMERICA = "{dimensions: {region: {deny: [EU]}}}"
PROFILES = f"""
whole: {{operations: true, scenarios: {{'*': {{}}}}}}
europe: {{scenarios: {{actual: {EUROPE}}}}}
america: {{scenarios: {{'*': {AMERICA}}}}}
ledger: {{scenarios: {{'*': {{domains: {{allow: [gl]}}, dimensions: {{tree: {{allow: [North]}}}}}}}}}}
"""
SCENARIOS = ({"scenario": "actual"}, {"scenario": "budget"}, {"scenario": "var(actual,budget)"})
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("svc_orientation", {}),
    ("list_scenarios", {}),
    ("list_kpis", {}),
    ("list_dimensions", {}),
    ("list_inspection_sources", {}),
    ("list_load_history", {}),
    ("list_bindings", {}),
    ("get_inspection_schema", {"source_key": "gl"}),
    ("search_hierarchy", {"query": "a"}),
    ("search_hierarchy", {"dimension": "tree"}),
    ("search_hierarchy", {"query": "US", "dimension": "region"}),
    ("run_statement", {"statement": "pnl", "scenarios": SCENARIOS, **JAN}),
    ("run_statement_data", {"statement": "pnl", "scenarios": SCENARIOS[:1], "dimensions": ["region"], **JAN}),
    ("run_metric_data", {"metrics": ["revenue"], "scenarios": SCENARIOS, "dimensions": ["tree"], **JAN}),
    ("run_metric_data", {"metrics": ["revenue"], "scenarios": SCENARIOS, "dimensions": ["product", "region"], **JAN}),
    ("run_metric", {"metrics": ["headcount"], "scenarios": SCENARIOS[:1], **JAN}),
    ("inspect_rows", {"source_key": "gl", "scenario_id": "actual", "filters": {"metric": "revenue"}, **JAN}),
    ("inspect_rows", {"source_key": "gl", "scenario_id": "budget", "filters": {"region": "US"}, **JAN}),
)


def ledger(folder: Path, profiles: str) -> Path:
    """Write and load books of a ledger and of people, by product, tree and region."""
    instance = write_instance(
        folder / "small",
        facts={
            "gl": "date scenario product region amount\n"
            + "\n".join(
                f"2021-0{month}-05 {scenario} {product} {region} {number * 7 + 1}"
                for number, (month, scenario, product, region) in enumerate(
                    (month, scenario, product, region)
                    for month in (1, 2, 3)
                    for scenario in ("actual", "budget")
                    for product in "ABC"
                    for region in ("EU", "US", "-")
                )
            ),
            "people": "date scenario region heads\n2021-01 actual EU 6\n2021-02 actual US 7",
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product, region: region}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics: {revenue: {measure: amount}, doubled: {formula: revenue * 2}}
            """,
            "people": """
            time: {column: date, grain: month}
            dimensions: {region: region}
            measures: {heads: {type: number, places: 0}}
            metrics: {headcount: {measure: heads, over_time: closing}}
            """,
        },
        dimensions="""
            product: {kind: leaf, members: live.product}
            region: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={
            "product": "id name\nA Ale\nB Beer\nC Cider",
            "tree": "node parent\nNorth -\nSouth -\nA North\nB North\nC South",
        },
        statements={"pnl": "  - {metric: revenue}\n  - {rollup: {metric: revenue, dimension: tree, node: North}}\n"},
        profiles=profiles,
    )
    load_instance(instance, folder / "state")
    return instance
