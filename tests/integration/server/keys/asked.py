"""What is asked of the keyed instance: each call by its name."""

from typing import Any

ALL = [{"scenario": key} for key in ("actual", "budget", "plan", "forecast", "actual/down")]
ACTUAL = ALL[:1]
YEAR = {"period_start": "2020-07", "period_end": "2021-06"}
WEEKS = {"period_start": "2020-W31", "period_end": "2020-W34"}
FLOWS = ["sales", "sold", "price", "rows", "regions", "largest", "high", "elsewhere", "all"]
BALANCES = ["cash", "known", "moved", "mean", "before", "carried"]
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "orientation": ("svc_orientation", {}),
    "scenarios": ("list_scenarios", {}),
    "variants": ("list_variants", {"scenario_id": "actual"}),
    "metrics": ("list_kpis", {}),
    "dimensions": ("list_dimensions", {}),
    "feeds": ("list_bindings", {}),
    "feed": ("get_binding", {"binding_id": "actual"}),
    "sources": ("list_inspection_sources", {}),
    "members": ("search_hierarchy", {"dimension": "account"}),
    "nodes": ("search_hierarchy", {"dimension": "tree"}),
    "items": ("search_hierarchy", {"dimension": "item"}),
    "classes": ("search_hierarchy", {"dimension": "class"}),
    "regions": ("search_hierarchy", {"dimension": "region"}),
    "terms": ("search_hierarchy", {"query": ["umsatz", "guv", "The Bank"]}),
    "flows": ("run_metric", {"metrics": FLOWS, "scenarios": ALL, **YEAR}),
    "by region": ("run_metric", {"metrics": ["all", "sold"], "scenarios": ALL, "dimensions": ["region"], **YEAR}),
    "by class": ("run_metric", {"metrics": ["all"], "scenarios": ACTUAL, "dimensions": ["class"], **YEAR}),
    "by node": ("run_metric", {"metrics": ["all"], "scenarios": ACTUAL, "dimensions": ["tree"], **YEAR}),
    "by journal": ("run_metric", {"metrics": ["all"], "scenarios": ACTUAL, "dimensions": ["journal"], **YEAR}),
    "by week": ("run_metric", {"metrics": ["all"], "scenarios": ACTUAL, "dimensions": ["week"], **WEEKS}),
    "by month of year": (
        "run_metric",
        {"metrics": ["all"], "scenarios": ACTUAL, "dimensions": ["calendar_year", "month_of_year"], **YEAR},
    ),
    "by period": ("run_metric", {"metrics": ["all"], "scenarios": ALL, "dimensions": ["period"], **YEAR}),
    "trading": ("run_metric", {"metrics": ["all"], "scenarios": ACTUAL, "period_start": "TY2021-P02"}),
    "fiscal year": ("run_metric", {"metrics": ["all"], "scenarios": ACTUAL, "period_start": "2020"}),
    "undated": ("run_metric", {"metrics": ["all"], "scenarios": ACTUAL, "period_start": "(undated)"}),
    "balances": ("run_metric", {"metrics": BALANCES, "scenarios": ACTUAL, "period_start": "2020-08"}),
    "balances of a year": ("run_metric", {"metrics": BALANCES, "scenarios": ACTUAL, **YEAR}),
    "people": (
        "run_metric",
        {"metrics": ["headcount"], "scenarios": [{"scenario": "actual"}, {"scenario": "forecast"}], **YEAR},
    ),
    "orders": ("run_metric", {"metrics": ["orders", "ordered"], "scenarios": ACTUAL, **YEAR}),
    "ledger": ("run_metric", {"metrics": ["ledger_amount"], "scenarios": ACTUAL, **YEAR}),
    "secret": ("run_metric", {"metrics": ["salaries"], "scenarios": ACTUAL, **YEAR}),
    "statement": ("run_statement", {"statement": "pnl", "scenarios": ALL[:2], **YEAR}),
    "default": ("run_statement", {}),
    "variance": (
        "explain_variance",
        {"metric": "sales", "scenarios": ["actual", "budget"], "by": ["item"], **YEAR},
    ),
    "schema": ("get_inspection_schema", {"source_key": "gl"}),
    "rows": ("inspect_rows", {"source_key": "gl", "scenario_id": "actual", **YEAR}),
}
