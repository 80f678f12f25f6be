"""What the clients of the conformance tests ask for, and what the rows that were loaded make of it."""

SCENARIOS = [{"scenario": "actual", "alias": "Actuals"}, {"scenario": "var(actual,budget)", "alias": "Variance"}]
STATEMENT = {"statement": "pnl", "scenarios": SCENARIOS, "period_start": "2006"}
PNL = {  # added up by hand from data/fact_finance.csv: actual of FY2006, actual less budget
    "net_sales": [1450, -50],  # 1000 - 50 + 500; budget 900 + 600
    "cost_of_sales": [500.25, 120.25],  # 400.25 + 100; budget 380
    "operating_expenses": [200, -10],  # 200; budget 210
    "operating_profit": [749.75, -160.25],
    "net_income": [700, -210],  # 749.75 + 10.50 - 60.25; budget 910
}
TEMPLATES = ["tieout://statement/{statement}", "tieout://metric/{metric}", "tieout://dataset/{data_ref}"]
SKILLS = ["month-end-review", "variance-commentary", "tie-out", "board-summary", "flux"]
LOADED_FIRST = ["svc_orientation", "run_statement", "run_metric", "explain_variance"]
