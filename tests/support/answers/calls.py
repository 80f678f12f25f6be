"""Calls of every tool, typical ones and the largest that there are, by what they ask for."""

from collections.abc import Iterator
from random import Random
from typing import Any

Call = tuple[str, dict[str, Any]]

THREE = [
    {"scenario": "actual", "alias": "Actuals"},
    {"scenario": "budget", "alias": "Budget"},
    {"scenario": "var(actual,budget)", "alias": "Variance"},
]
FIFTY = [{"scenario": f"actual@pp{back}", "alias": f"{back} back"} for back in range(1, 51)]
YEAR_2025 = {"period_start": "2025-01", "period_end": "2025-12"}
ALL_OF_DEMO = {"period_start": "2024-01", "period_end": "2026-10"}
DAYS = [f"{year}-{month:02}-{day:02}" for year in (2024, 2025) for month in range(1, 13) for day in range(1, 29, 2)]
TYPICAL: dict[str, dict[str, Any]] = {  # a call of each tool that takes arguments
    "list_variants": {"scenario_id": "budget"},
    "search_hierarchy": {"query": "sales", "dimension": "cost_centre"},
    "run_statement": {
        "statement": "full_pnl",
        "scenarios": THREE,
        "period_start": "2026-01",
        "period_end": "2026-09",
        "scale": 3,
    },
    "run_metric": {
        "metrics": ["revenue", "gross_margin"],
        "scenarios": [{"scenario": "actual", "alias": "Actuals"}, {"scenario": "actual@py", "alias": "Prior Year"}],
        "period_start": "2026-Q1",
        "period_end": "2026-Q3",
        "dimensions": ["organisation"],
    },
    "explain_variance": {
        "metric": "ebitda",
        "scenarios": ["actual", "budget"],
        "by": ["lines", "organisation"],
        "period_start": "2026-09",
    },
    "get_inspection_schema": {"source_key": "gl"},
    "inspect_rows": {
        "source_key": "gl",
        "scenario_id": "actual",
        "filters": {"metric": "revenue"},
        "period_start": "2026-09",
        "limit": 20,
    },
    "list_load_history": {"dataset_id": "live.gl", "period": "2026-09", "status": "success", "limit": 5},
    "list_bindings": {"target": "live.gl"},
    "get_binding": {"binding_id": "gl"},
}
LISTS: dict[str, Call] = {
    "orientation": ("svc_orientation", {}),
    "scenarios": ("list_scenarios", {}),
    "metrics": ("list_kpis", {}),
    "dimensions": ("list_dimensions", {}),
    "inspection sources": ("list_inspection_sources", {}),
    "load history": ("list_load_history", {"limit": 200}),
    "feeds": ("list_bindings", {}),
}
DEMO: dict[str, Call] = {
    **LISTS,
    **{f"example of {tool}": (tool, arguments) for tool, arguments in TYPICAL.items()},
    "search: a listing": ("search_hierarchy", {"dimension": "customer"}),
    "search: 2,000 of a listing": ("search_hierarchy", {"dimension": "customer", "limit": 2000}),
    "search: 2,000 hits": ("search_hierarchy", {"query": "a", "limit": 2000}),
    "full_pnl × 3 scenarios": ("run_statement_data", {"statement": "full_pnl", "scenarios": THREE, **YEAR_2025}),
    "full_pnl × 12 months": (
        "run_statement_data",
        {"statement": "full_pnl", "scenarios": THREE[:1], "dimensions": ["period"], **YEAR_2025},
    ),
    "full_pnl × 3 scenarios × 12 months": (
        "run_statement_data",
        {"statement": "full_pnl", "scenarios": THREE, "dimensions": ["period"], **YEAR_2025},
    ),
    "balance_sheet × 8 companies": (
        "run_statement_data",
        {"statement": "balance_sheet", "scenarios": THREE[:1], "dimensions": ["entity"], "period_start": "2026-09"},
    ),
    "full_pnl × 3 scenarios × 200 cost centres": (
        "run_statement_data",
        {"statement": "full_pnl", "scenarios": THREE, "dimensions": ["cost_centre"], **YEAR_2025},
    ),
    "pnl × 100 columns": (
        "run_statement_data",
        {"statement": "pnl", "scenarios": THREE, "dimensions": ["period"], **ALL_OF_DEMO},
    ),
    "pnl × 50 scenarios": ("run_statement_data", {"statement": "pnl", "scenarios": FIFTY, "period_start": "2026-09"}),
    "full_pnl × 50 scenarios": (
        "run_statement_data",
        {"statement": "full_pnl", "scenarios": FIFTY, "period_start": "2026-09"},
    ),
    "full_pnl × 50 scenarios × 8 companies": (
        "run_statement_data",
        {"statement": "full_pnl", "scenarios": FIFTY, "period_start": "2026-09", "dimensions": ["entity"]},
    ),
    "3 metrics × 3 scenarios × 8 companies": (
        "run_metric_data",
        {
            "metrics": ["sales_amount", "units", "average_price"],
            "scenarios": THREE,
            "dimensions": ["entity"],
            **YEAR_2025,
        },
    ),
    "sales × 3 scenarios × 2,000 customers": (
        "run_metric_data",
        {"metrics": ["sales_amount"], "scenarios": THREE, "dimensions": ["customer"], **YEAR_2025},
    ),
    "expenses × 200 cost centres × 34 months": (
        "run_metric_data",
        {"metrics": ["opex"], "scenarios": THREE[:1], "dimensions": ["cost_centre", "period"], **ALL_OF_DEMO},
    ),
    "inspect: 10,000 rows": (
        "inspect_rows",
        {"source_key": "gl", "scenario_id": "actual", "limit": 10_000, **YEAR_2025},
    ),
    "inspect: 10,000 rows of a figure": (
        "inspect_rows",
        {"source_key": "gl", "scenario_id": "actual", "filters": {"metric": "ebitda"}, **ALL_OF_DEMO},
    ),
    "inspect: every other day of two years": (
        "inspect_rows",
        {
            "source_key": "gl",
            "scenario_id": "actual",
            "filters": {"date": DAYS},
            "period_start": "2024-01-01",
            "period_end": "2025-12-31",
        },
    ),
}
LARGEST: Call = (  # 66,000 members, 25 MB where nothing is left out
    "run_metric_data",
    {"metrics": ["sales_amount"], "scenarios": THREE[:1], "dimensions": ["customer", "period"], **ALL_OF_DEMO},
)
YEARS_2006_TO_2008 = {"period_start": "2005-07", "period_end": "2008-06"}
ADVENTUREWORKS: dict[str, Call] = {
    **LISTS,
    "inspection schema": ("get_inspection_schema", {"source_key": "finance"}),
    "search: a listing": ("search_hierarchy", {"dimension": "account_tree"}),
    "full_pnl × 3 scenarios": (
        "run_statement_data",
        {"statement": "full_pnl", "scenarios": THREE, "period_start": "2006"},
    ),
    "full_pnl × 3 scenarios × 12 months": (
        "run_statement_data",
        {
            "statement": "full_pnl",
            "scenarios": THREE,
            "dimensions": ["period"],
            "period_start": "2005-07",
            "period_end": "2006-06",
        },
    ),
    "full_pnl × 9 organisations": (
        "run_statement_data",
        {"statement": "full_pnl", "scenarios": THREE[:1], "dimensions": ["entity"], **YEARS_2006_TO_2008},
    ),
    "balance_sheet × 36 months": (
        "run_statement_data",
        {"statement": "balance_sheet", "scenarios": THREE[:1], "dimensions": ["period"], **YEARS_2006_TO_2008},
    ),
    "full_pnl × 50 scenarios": (
        "run_statement_data",
        {"statement": "full_pnl", "scenarios": FIFTY, "period_start": "2008-06"},
    ),
    "amount × 3 scenarios × 99 accounts": (
        "run_metric_data",
        {"metrics": ["amount"], "scenarios": THREE, "dimensions": ["account"], "period_start": "2006"},
    ),
    "amount × 99 accounts × 36 months": (
        "run_metric_data",
        {"metrics": ["amount"], "scenarios": THREE[:1], "dimensions": ["account", "period"], **YEARS_2006_TO_2008},
    ),
    "inspect: 20 rows of a figure": (
        "inspect_rows",
        {
            "source_key": "finance",
            "scenario_id": "actual",
            "filters": {"metric": "net_sales"},
            "period_start": "2006-03",
            "limit": 20,
        },
    ),
    "inspect: 10,000 rows": (
        "inspect_rows",
        {"source_key": "finance", "scenario_id": "actual", **YEARS_2006_TO_2008},
    ),
}
WIDE: dict[str, Call] = {
    **LISTS,
    "variants": ("list_variants", {"scenario_id": "budget"}),
    "inspection schema": ("get_inspection_schema", {"source_key": "gl"}),
    "search: a listing": ("search_hierarchy", {"dimension": "d000"}),
    "search: hits": ("search_hierarchy", {"query": "EU"}),
    "a statement": ("run_statement", {"statement": "s000", "scenarios": THREE[:1], "period_start": "2021-01"}),
    "100 metrics": (
        "run_metric",
        {
            "metrics": [f"m{number:03}" for number in range(100)],
            "scenarios": THREE[:1],
            "period_start": "2021-01",
        },
    ),
    "inspect: a row of 602 columns": ("inspect_rows", {"source_key": "gl", "scenario_id": "actual"}),
}

# What an agent asks of the demo, each with the tokens that its answer may have.

SIDES = [{"scenario": "actual"}, {"scenario": "budget"}]
COMPARED = [*SIDES, {"scenario": "var(actual,budget)"}]
NINE_MONTHS = {"period_start": "2026-01", "period_end": "2026-09"}
TEN = [
    *("revenue", "cost_of_sales", "gross_profit", "opex", "ebitda"),
    *("other_opex", "personnel", "depreciation", "operating_result", "net_result"),
]
GOALS: dict[str, tuple[int, Call]] = {
    "one metric, one scenario, one period": (
        180,
        ("run_metric", {"metrics": ["revenue"], "scenarios": SIDES[:1], "period_start": "2026-09"}),
    ),
    "a metric by the 3 roots of organisation × 4 columns": (
        380,
        (
            "run_metric",
            {
                "metrics": ["revenue"],
                "scenarios": [*COMPARED, {"scenario": "actual@py"}],
                "dimensions": ["organisation"],
                **NINE_MONTHS,
            },
        ),
    ),
    "revenue by month, actual, budget, variance": (
        480,
        ("run_metric", {"metrics": ["revenue"], "scenarios": COMPARED, "dimensions": ["period"], **NINE_MONTHS}),
    ),
    "10 metrics × 2 scenarios": (430, ("run_metric", {"metrics": TEN, "scenarios": SIDES, **NINE_MONTHS})),
    "closing cash by quarter, 7 quarters": (
        330,
        (
            "run_metric",
            {
                "metrics": ["cash"],
                "scenarios": SIDES[:1],
                "dimensions": ["period"],
                "period_start": "2025-Q1",
                "period_end": "2026-Q3",
            },
        ),
    ),
    "pnl, 13 lines × 3": (700, ("run_statement", {"statement": "pnl", "scenarios": COMPARED, **NINE_MONTHS})),
    "full_pnl, 71 lines × 3": (
        3_200,
        ("run_statement", {"statement": "full_pnl", "scenarios": COMPARED, **NINE_MONTHS}),
    ),
    "the ten largest of 2,000 customers, with the rest and the total": (
        480,
        (
            "run_metric",
            {
                "metrics": ["sales_amount"],
                "scenarios": SIDES[:1],
                "dimensions": ["customer"],
                "order_by": "sales_amount",
                "top": 10,
                **NINE_MONTHS,
            },
        ),
    ),
}


def varied(drawn: Random, count: int) -> Iterator[Call]:
    """Yield calls of reports of the demo: statements and metrics, scenarios, periods and up to two dimensions."""
    cuts = {
        "gl": ["organisation", "entity", "account", "cost_centre", "period", "quarter"],
        "sales": ["customer", "product", "product_line", "organisation", "month", "quarter"],
        "people": ["organisation", "entity", "period"],
    }
    metrics = {
        "gl": TEN,
        "sales": ["sales_amount", "units", "average_price"],
        "people": ["headcount", "payroll", "payroll_per_head"],
    }
    scenarios = [*COMPARED, {"scenario": "actual@py"}, {"scenario": "var_pct(actual,budget)"}]
    periods = [("2026-09", "2026-09"), ("2026-01", "2026-09"), ("2025-01", "2026-09"), ("2025-Q1", "2026-Q3")]
    for _ in range(count):
        start, end = drawn.choice(periods)
        shared = {"scenarios": scenarios[: drawn.randint(1, 5)], "period_start": start, "period_end": end}
        if drawn.random() < 0.4:
            statement = drawn.choice(["pnl", "full_pnl", "balance_sheet", "kpis"])
            dimensions = drawn.choice([[], [], ["period"], ["organisation"], ["entity"]])
            yield "run_statement_data", {"statement": statement, "dimensions": dimensions, **shared}
        else:
            domain = drawn.choice(list(metrics))
            asked = drawn.sample(metrics[domain], drawn.randint(1, 3))
            dimensions = drawn.sample(cuts[domain], drawn.randint(0, 2))
            yield "run_metric_data", {"metrics": asked, "dimensions": dimensions, **shared}
