"""AdventureWorks through a real MCP client: figures computed elsewhere, compared to the last digit."""

from decimal import Decimal
from typing import Any

import pytest

from tests.support.answers.oracles import TOTAL, exactly, metrics, oracle_of, same_share, statement
from tests.support.books.loads import ADVENTUREWORKS
from tests.support.service.servers import McpBooks

WHOLE = {"orig": ("2005-07", "2008-06"), "asis": ("2010-12", "2013-12")}
SCENARIOS = {"orig": ("actual", "budget"), "asis": ("actual_shipped", "budget_shipped")}


def oracle(name: str) -> list[dict[str, Any]]:
    """Return the rows of an oracle file."""
    return oracle_of(ADVENTUREWORKS, name)


def against(other: str, a: str, b: str) -> dict[str, str]:
    """Return the columns that compare two references, by alias."""
    return {"actual": a, other: b, "var": f"var({a},{b})", "share": f"var_pct({a},{b})"}


def line(node: int) -> str:
    """Return the key of a node's line in the statements."""
    return f"account_tree.{node}"


def grain_of(name: str) -> tuple[str, str]:
    """Return the date view and the breakdown of an oracle's name."""
    view = "asis" if "asis" in name else "orig"
    return view, {"month": "period", "quarter": "quarter", "year": "year"}.get(name.rsplit("_", 1)[-1], "total")


@pytest.mark.parametrize("name", ["A10_pl_orig_month", "A10_pl_orig_fiscal_quarter", "A10_pl_asis_fiscal_year"])
def test_profit_and_loss_by_period_against_budget(adventureworks: McpBooks, name: str) -> None:
    view, by = grain_of(name)
    actual, budget = SCENARIOS[view]
    bounds = ("2011", "2014") if view == "asis" else WHOLE[view]
    figures = statement(
        adventureworks,
        "full_pnl",
        scenarios=against("budget", actual, budget),
        period_start=bounds[0],
        period_end=bounds[1],
        dimensions=[by],
    )
    rows = oracle(name)
    for row in rows:
        key = (line(row["node"]), str(row["period"]))
        assert figures[key[0], "actual", key[1]] == exactly(row["actual"]), row
        assert figures[key[0], "budget", key[1]] == exactly(row["budget"]), row
        if row["actual"] is not None and row["budget"] is not None:
            assert figures[key[0], "var", key[1]] == exactly(row["var"]), row
            assert same_share(figures[key[0], "share", key[1]], row["var_pct_absbase"]), row
    known = {(line(row["node"]), str(row["period"])) for row in rows}
    shown = {
        (key[0], key[2])
        for key, value in figures.items()
        if len(key) == 3 and value is not None and key[1] in ("actual", "budget")
    }
    assert {key for key in shown if key[0].startswith("account_tree")} == known


def test_calendar_years_beside_fiscal_years(adventureworks: McpBooks) -> None:
    """The months of the oracle, added by calendar year: fiscal years of the same books begin in July."""
    asked: dict[str, Any] = {
        "scenarios": against("budget", "actual", "budget"),
        "period_start": "2005-07",
        "period_end": "2008-06",
    }
    by_year, by_quarter, ranged = (
        statement(adventureworks, "full_pnl", **asked, dimensions=["calendar_quarter"]),
        statement(adventureworks, "full_pnl", **asked, dimensions=["quarter"]),
        statement(adventureworks, "full_pnl", **{**asked, "period_start": "CY2006", "period_end": "CY2007"}),
    )
    by_month: dict[str, Any] = {**asked, "scenarios": {"actual": "actual"}}
    crossed = statement(adventureworks, "full_pnl", **by_month, dimensions=["calendar_year", "month"])
    months: dict[tuple[int, str], Decimal] = {}
    for row in oracle("A10_pl_orig_month"):
        if row["actual"] is not None:
            key = (row["node"], str(row["period"]))
            months[key] = Decimal(row["actual"])
            assert crossed[line(row["node"]), "actual", f"CY{key[1][:4]}", key[1]] == months[key], row
    for node in {node for node, _ in months}:
        by_calendar: dict[str, Decimal] = {}
        for (other, month), amount in months.items():
            if other == node:
                code = f"CY{month[:4]}-Q{(int(month[5:]) + 2) // 3}"
                by_calendar[code] = by_calendar.get(code, Decimal(0)) + amount
        for code, amount in by_calendar.items():
            assert by_year[line(node), "actual", code] == amount, (node, code)
            fiscal = f"{int(code[2:6]) + (code[-1] in '34')}-Q{(int(code[-1]) + 1) % 4 + 1}"
            assert by_quarter[line(node), "actual", fiscal] == amount, (node, fiscal)
        whole = sum(amount for code, amount in by_calendar.items() if code[2:6] in ("2006", "2007"))
        assert ranged[line(node), "actual"] == whole, node


@pytest.mark.parametrize("view", ["orig", "asis"])
def test_profit_and_loss_of_the_whole_history(adventureworks: McpBooks, view: str) -> None:
    actual, budget = SCENARIOS[view]
    start, end = WHOLE[view]
    columns = {
        "actual": actual,
        "budget": budget,
        "var": f"var({actual},{budget})",
        "share": f"var_pct({actual},{budget})",
    }
    figures = statement(adventureworks, "full_pnl", scenarios=columns, period_start=start, period_end=end)
    for row in oracle(f"A11_pl_{view}_total"):
        for column in ("actual", "budget"):
            assert figures[line(row["node"]), column] == exactly(row[column]), row
        if row["actual"] is not None and row["budget"] is not None:
            assert figures[line(row["node"]), "var"] == exactly(row["var"]), row
            assert same_share(figures[line(row["node"]), "share"], row["var_pct_absbase"]), row


@pytest.mark.parametrize(
    ("name", "by", "bounds"),
    [
        ("A20_prior_year_orig_fiscal_year", "year", ("2006", "2009")),
        ("A20_prior_year_orig_month", "period", ("2005-07", "2009-06")),
    ],
)
def test_prior_year_and_growth(adventureworks: McpBooks, name: str, by: str, bounds: tuple[str, str]) -> None:
    figures = statement(
        adventureworks,
        "full_pnl",
        scenarios={
            "actual": "actual",
            "prior": "actual@py",
            "var": "var(actual,actual@py)",
            "share": "var_pct(actual,actual@py)",
        },
        period_start=bounds[0],
        period_end=bounds[1],
        dimensions=[by],
    )
    for row in oracle(name):
        key, period = line(row["node"]), str(row["period"])
        assert figures[key, "actual", period] == exactly(row["actual"]), row
        assert figures[key, "prior", period] == exactly(row["prior_year"]), row
        if row["actual"] is not None and row["prior_year"] is not None:
            assert figures[key, "var", period] == exactly(row["var"]), row
            assert same_share(figures[key, "share", period], row["var_pct_absbase"]), row


def test_ragged_organisation_by_fiscal_year(adventureworks: McpBooks) -> None:
    rows = oracle("A30_org_rollup_orig_fiscal_year")
    for organisation in sorted({row["org"] for row in rows}):
        figures = statement(
            adventureworks,
            "full_pnl",
            scenarios={"actual": "actual", "budget": "budget"},
            period_start="2006",
            period_end="2008",
            filters={"organisation": str(organisation)},
            dimensions=["year"],
        )
        for row in (row for row in rows if row["org"] == organisation):
            for column in ("actual", "budget"):
                assert figures[line(row["node"]), column, str(row["period"])] == exactly(row[column]), row


def test_departments_own_postings_and_rolled_up(adventureworks: McpBooks) -> None:
    rows = oracle("A40_dept_total")
    for department in sorted({row["dept"] for row in rows}):
        start, end = WHOLE["orig"]
        asked: dict[str, Any] = {
            "scenarios": {"actual": "actual", "budget": "budget"},
            "period_start": start,
            "period_end": end,
        }
        own = statement(adventureworks, "full_pnl", filters={"department": str(department)}, **asked)
        rolled = statement(adventureworks, "full_pnl", filters={"department_tree": str(department)}, **asked)
        by_node = statement(adventureworks, "full_pnl", filters={"department_tree": f"{department}/(own)"}, **asked)
        assert own == by_node
        for row in (row for row in rows if row["dept"] == department):
            for column in ("actual", "budget"):
                assert own[line(row["node"]), column] == exactly(row[f"own_{column}"]), row
                assert rolled[line(row["node"]), column] == exactly(row[f"rolled_{column}"]), row


def test_operating_expenses_of_each_department_by_fiscal_year(adventureworks: McpBooks) -> None:
    rows = oracle("A41_dept_orig_fiscal_year")
    for department in sorted({row["dept"] for row in rows}):
        figures = statement(
            adventureworks,
            "full_pnl",
            scenarios={
                "actual": "actual",
                "budget": "budget",
                "var": "var(actual,budget)",
                "share": "var_pct(actual,budget)",
            },
            period_start="2006",
            period_end="2008",
            filters={"department": str(department)},
            dimensions=["year"],
        )
        for row in (row for row in rows if row["dept"] == department):
            key, year = line(row["node"]), str(row["fy"])
            assert figures[key, "actual", year] == exactly(row["actual"]), row
            assert figures[key, "budget", year] == exactly(row["budget"]), row
            if row["actual"] is not None and row["budget"] is not None:
                assert figures[key, "var", year] == exactly(row["var"]), row
                assert same_share(figures[key, "share", year], row["var_pct_absbase"]), row


def test_departments_and_their_fiscal_years_in_one_answer(adventureworks: McpBooks) -> None:
    """A department's own figure stands above those of its fiscal years; each has an oracle of its own."""
    figures = statement(
        adventureworks,
        "full_pnl",
        scenarios={"actual": "actual", "budget": "budget"},
        period_start="2006",
        period_end="2008",
        dimensions=["department", "year"],
        subtotals=True,
    )
    for row in oracle("A40_dept_total"):
        for column in ("actual", "budget"):
            assert figures[line(row["node"]), column, str(row["dept"])] == exactly(row[f"own_{column}"]), row
    for row in oracle("A41_dept_orig_fiscal_year"):
        for column in ("actual", "budget"):
            where = (line(row["node"]), column, str(row["dept"]), str(row["fy"]))
            assert figures[where] == exactly(row[column]), row


@pytest.mark.parametrize(
    ("name", "by", "bounds"),
    [
        ("B20_bs_close_orig_fiscal_year", "year", ("2006", "2008")),
        ("B20_bs_close_orig_month", "period", ("2005-07", "2008-06")),
    ],
)
def test_closing_balances_at_the_last_posting_date(
    closing_by_day: McpBooks, name: str, by: str, bounds: tuple[str, str]
) -> None:
    figures = statement(
        closing_by_day,
        "balance_sheet",
        scenarios={"actual": "actual"},
        period_start=bounds[0],
        period_end=bounds[1],
        dimensions=[by],
    )
    compared = 0
    for row in oracle(name):
        if row["node"] != 1:  # the statement shows both sides, not their difference node
            assert figures[line(row["node"]), "actual", str(row["period"])] == exactly(row["last_posting_date_any"]), (
                row
            )
            compared += 1
    assert compared > 100
    assert all(not value for key, value in figures.items() if key[0] == "difference")


def test_every_node_rolls_up_with_its_operators(adventureworks: McpBooks) -> None:
    start, end = WHOLE["orig"]
    for row in oracle("B50_unary_rollup"):
        asked: dict[str, Any] = {
            "period_start": start,
            "period_end": end,
            "filters": {"account_tree": str(row["node"])},
        }
        assert metrics(adventureworks, "amount", **asked)[TOTAL] == [exactly(row["rolled_with_operators"])], row


def test_own_postings_of_every_account(adventureworks: McpBooks) -> None:
    start, end = WHOLE["orig"]
    asked: dict[str, Any] = {"period_start": start, "period_end": end, "dimensions": ["account"]}
    shown = metrics(adventureworks, "amount", scenarios=("actual", "budget"), **asked)
    for row in oracle("A04_account_nodes"):
        sums = [value for value in shown.get(str(row["k"]), []) if value is not None]
        assert (sum(sums) if sums else None) == exactly(row["own_sum"]), row


def test_postings_by_day_in_both_date_views(adventureworks: McpBooks) -> None:
    rows = oracle("A01_posting_calendar")
    for view, column in (("orig", "d_orig"), ("asis", "d_asis")):
        figures = by_members(adventureworks, view, "date")
        for row in rows:
            for at, scenario in enumerate(("actual_sum", "budget_sum")):
                assert figures[row[column]][at] == exactly(row[scenario]), row
        dated = {day for day, values in figures.items() if day != TOTAL and any(value is not None for value in values)}
        assert dated == {row[column] for row in rows}


def test_months_without_postings_are_blank(adventureworks: McpBooks) -> None:
    figures = by_members(adventureworks, "asis", "period")
    for row in oracle("A02_month_coverage_asis"):
        actual, budget = figures[row["m"]]
        assert (actual is None) == (row["actual_rows"] == 0), row
        assert (budget is None) == (row["budget_rows"] == 0), row


def test_scenarios_as_loaded(adventureworks: McpBooks) -> None:
    total = by_members(adventureworks, "asis", "period")[TOTAL]
    actual, budget, forecast = oracle("A00_profile_scenario")
    assert total == [exactly(actual["amount_sum"]), exactly(budget["amount_sum"])]
    assert forecast["n_rows"] == 0
    start, end = WHOLE["orig"]
    result = adventureworks.ask(
        "run_metric_data",
        metrics=["amount"],
        scenarios=[{"scenario": "forecast", "alias": "F"}],
        period_start=start,
        period_end=end,
    )
    assert result["rows"][-1]["values"] == [None]
    assert {note["code"] for note in result["notes"]} == {"not_loaded"}


def by_members(books: McpBooks, view: str, dimension: str) -> dict[str, list[Decimal | None]]:
    """Return the amounts of actual and budget by member of a dimension."""
    start, end = WHOLE[view]
    asked: dict[str, Any] = {"period_start": start, "period_end": end}
    if dimension == "date":
        asked = dict(zip(asked, days(view), strict=True))
    return metrics(books, "amount", scenarios=SCENARIOS[view], dimensions=[dimension], **asked)


def days(view: str) -> tuple[str, str]:
    """Return a range of days that holds every posting of a view, short enough to break down by day."""
    return {"orig": ("2005-07-01", "2008-06-30"), "asis": ("2010-12-29", "2013-12-28")}[view]


def test_a_profile_that_allows_the_usa_alone(usa_only: McpBooks) -> None:
    rows = oracle("F_S1_usa_only")
    for organisation in sorted({row["org"] for row in rows}):
        figures = statement(
            usa_only,
            "full_pnl",
            scenarios={
                "actual": "actual_shipped",
                "budget": "budget_shipped",
                "var": "var(actual_shipped,budget_shipped)",
            },
            period_start="2011",
            period_end="2014",
            filters={"organisation": str(organisation)},
            dimensions=["year"],
        )
        for row in (row for row in rows if row["org"] == organisation):
            key, year = line(row["node"]), str(row["fy"])
            for column in ("actual", "budget"):
                assert figures.get((key, column, year)) == exactly(row[column]), row
            if row["actual"] is not None and row["budget"] is not None:
                assert figures[key, "var", year] == exactly(row["var"]), row
    hidden = usa_only.ask("search_hierarchy", dimension="organisation")
    shown = {"1", "2", "14", "14/(own)", "3", "4", "5", "6", "7"}
    assert {node["id"] for node in hidden["hierarchy_nodes"]} == shown
