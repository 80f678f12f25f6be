"""AdventureWorks row by row: what inspection counts and adds up, and the rows behind cells of statements."""

import re
from csv import DictReader
from decimal import Decimal
from typing import Any

import pytest

from tests.oracles.test_adventureworks import SCENARIOS, WHOLE, line, oracle
from tests.support.answers.drills import calls, digits, figure_behind
from tests.support.answers.oracles import exactly, statement
from tests.support.books.loads import ADVENTUREWORKS
from tests.support.service.servers import McpBooks

CAP = 10_000


def scenario(key: str) -> str:
    """Return the scenario, with dates as shipped, of a key in an oracle."""
    return SCENARIOS["asis"][int(key) - 1]


def amounts(books: McpBooks, scenario_id: str, bounds: tuple[str, str], **filters: str) -> dict[str, Any]:
    """Return the rows of a scenario in a range by key and amount, and what they add up to."""
    return books.ask(
        "inspect_rows",
        source_key="finance",
        scenario_id=scenario_id,
        columns=["finance_key", "amount"],
        filters={"metric": "amount", **filters},
        period_start=bounds[0],
        period_end=bounds[1],
    )


def test_rows_of_every_month_and_organisation_are_counted_and_added_up(adventureworks: McpBooks) -> None:
    counted: dict[str, int] = {"1": 0, "2": 0}
    for row in oracle("C10_inspect_counts"):
        ((key, month, organisation),) = re.findall(r"^scenario=(\d) month=([\d-]+) org=(\d+)$", row["f"])
        found = amounts(adventureworks, scenario(key), (month, month), entity=organisation)
        keys = sorted(int(shown) for shown, *_ in found["rows"])
        assert (found["row_count"], found["truncated"], len(set(keys))) == (row["n"], False, row["n"]), row
        assert (keys[0], keys[-1]) == (row["first_fk"], row["last_fk"]), row
        assert sum(digits(amount) for _, amount, _ in found["rows"]) == exactly(row["s"]), row
        assert exactly(found["contribution_total"]) == exactly(row["s"]), row
        counted[key] += found["row_count"]
    assert counted == {str(row["ScenarioKey"]): row["n_rows"] for row in oracle("A00_profile_scenario")[:2]}


def over_cap() -> dict[str, tuple[str, tuple[str, str], dict[str, str], int]]:
    """Return the filters that may exceed the cap: scenario, range and filters of each, and how many rows there are."""
    asked = {}
    for row in oracle("C15_inspect_over_cap"):
        known = dict(part.split("=") for part in row["f"].split(" (")[0].split() if "=" in part)
        if known:  # an inspection is of one scenario: `all` is the two of them
            year = known.get("cy")
            bounds = (f"{year}-01", f"{year}-12") if year else WHOLE["asis"]
            filters = {"department": known["dept"]} if "dept" in known else {}
            asked[row["f"]] = (known["scenario"], bounds, filters, row["n"])
    return asked


def shipped(key: str) -> list[dict[str, str]]:
    """Return the shipped rows of a scenario."""
    with (ADVENTUREWORKS / "fact_finance.csv").open() as lines:
        return [row for row in DictReader(lines) if row["scenario_key"] == key]


def added_up(key: str, bounds: tuple[str, str], filters: dict[str, str]) -> Decimal:
    """Return the sum of the shipped rows that a filter keeps."""
    kept = (
        Decimal(row["amount"])
        for row in shipped(key)
        if bounds[0] <= row["date"][:7] <= bounds[1]
        and filters.get("department") in (None, row["department_group_key"])
    )
    return sum(kept, Decimal(0))


def test_filters_over_the_cap_say_so_and_still_add_up_all_rows(adventureworks: McpBooks) -> None:
    truncated = []
    for key, bounds, filters, count in over_cap().values():
        found = amounts(adventureworks, scenario(key), bounds, **filters)
        assert (found["truncated"], found["agent_truncated"]) == (count > CAP, False)
        assert found["row_count"] == len(found["rows"]) == min(count, CAP)
        assert exactly(found["contribution_total"]) == added_up(key, bounds, filters)
        assert (found["total_rows"], exactly(found["sums"]["contribution"]["sum"])) == (
            count,
            added_up(key, bounds, filters),
        )
        truncated.append(found["truncated"])
    assert sorted(truncated) == [False, False, True, True, True, True]


def test_the_largest_rows_and_the_counts_of_departments_are_those_of_the_shipped_file(
    adventureworks: McpBooks,
) -> None:
    first, last = WHOLE["asis"]
    source = {"source_key": "finance", "scenario_id": scenario("1"), "filters": {"metric": "amount"}}
    asked = {**source, "period_start": first, "period_end": last}
    known = sorted((Decimal(row["amount"]) for row in shipped("1")), reverse=True)
    for is_smallest in (False, True):
        found = adventureworks.ask(
            "inspect_rows", **asked, columns=["amount"], order_by="contribution", asc=is_smallest, limit=10
        )
        assert [digits(amount) for amount, _ in found["rows"]] == (known[::-1] if is_smallest else known)[:10]
    by_department: dict[str, list[Decimal]] = {}
    for row in shipped("1"):
        by_department.setdefault(row["department_group_key"], []).append(Decimal(row["amount"]))
    counted = adventureworks.ask("inspect_rows", **asked, count_by=["department"])
    assert {key: (count, digits(amount)) for key, count, amount in counted["rows"]} == {
        key: (len(each), sum(each, Decimal(0))) for key, each in by_department.items()
    }


def test_totals_of_truncated_rows_are_those_of_the_scenario(adventureworks: McpBooks) -> None:
    for row in oracle("A00_profile_scenario")[:2]:
        found = amounts(adventureworks, scenario(str(row["ScenarioKey"])), WHOLE["asis"])
        assert found["truncated"] is (row["n_rows"] > CAP)
        assert exactly(found["contribution_total"]) == exactly(row["amount_sum"])


def test_without_the_cap_every_row_is_shown(every_row: McpBooks) -> None:
    for key, bounds, filters, count in over_cap().values():
        found = amounts(every_row, scenario(key), bounds, **filters)
        assert (found["row_count"], found["truncated"]) == (count, False)
        assert len({shown for shown, *_ in found["rows"]}) == count
        assert sum(digits(amount) for _, amount, _ in found["rows"]) == exactly(found["contribution_total"])
    both = [amounts(every_row, scenario(key), WHOLE["asis"])["row_count"] for key in ("1", "2")]
    assert sum(both) == next(row["n"] for row in oracle("C15_inspect_over_cap") if row["f"] == "all")


@pytest.mark.parametrize(
    ("name", "by", "bounds"),
    [
        ("B20_bs_close_orig_fiscal_year", "year", ("2006", "2008")),
        ("B20_bs_close_orig_month", "period", WHOLE["orig"]),
    ],
)
def test_last_known_balances_of_each_leaf_cell(
    last_known: McpBooks, name: str, by: str, bounds: tuple[str, str]
) -> None:
    asked: dict[str, Any] = {"period_start": bounds[0], "period_end": bounds[1], "dimensions": [by]}
    figures = statement(last_known, "balance_sheet", scenarios={"actual": "actual"}, **asked)
    rows = oracle(name)
    lingering = 0
    for row in rows:
        shown, closing = exactly(row["last_nonempty_per_leaf_cell"]), exactly(row["last_posting_date_any"])
        if row["node"] == 1:  # the statement shows the difference of both sides as a formula
            assert figures["difference", "actual", str(row["period"])] == shown, row
        else:
            assert figures[line(row["node"]), "actual", str(row["period"])] == shown, row
        lingering += shown != closing
    assert lingering > 10  # or this would be closing under another name
    known = {(line(row["node"]), str(row["period"])) for row in rows if row["node"] != 1}
    assert {(key[0], key[2]) for key in figures if key[0].startswith("account_tree") and len(key) == 3} == known


def rows_behind(books: McpBooks, row: dict[str, Any], column: dict[str, Any]) -> dict[str, Decimal]:
    """Return what the rows behind a cell make of each of its operands, its sides counted with their signs."""
    made: dict[str, Decimal] = {}
    for sign, operand, call in calls(row, column):
        figure = figure_behind(call, lambda asked: books.ask("inspect_rows", **asked)) or Decimal(0)
        made[operand] = made.get(operand, Decimal(0)) + (figure if sign == "+" else -figure)
    return made


def cells(books: McpBooks, key: str, **asked: Any) -> dict[tuple[str, ...], tuple[Any, dict[str, Any], dict[str, Any]]]:
    """Return the cells of a statement by line, alias and members: the figure, and its row and column."""
    result = books.ask("run_statement_data", statement=key, **asked)
    return {
        (row["key"], column["alias"], *column["members"].values()): (exactly(value), row, column)
        for row in result["rows"]
        for column, value in zip(result["columns"], row["values"], strict=True)
    }


COLUMNS = [
    {"scenario": "actual", "alias": "actual"},
    {"scenario": "budget", "alias": "budget"},
    {"scenario": "var(actual,budget)", "alias": "var"},
]


def test_rows_behind_profit_and_loss_by_month_add_up_to_its_cells(adventureworks: McpBooks) -> None:
    months = ("2005-10", "2006-03")
    asked = {"scenarios": COLUMNS, "period_start": months[0], "period_end": months[1], "dimensions": ["period"]}
    shown = cells(adventureworks, "full_pnl", **asked)
    tied = 0
    for row in oracle("A10_pl_orig_month"):
        if row["period"] not in months or row["actual"] is None or row["budget"] is None:
            continue
        for column in ("actual", "budget", "var"):
            figure, *of = shown[line(row["node"]), column, row["period"]]
            assert figure == exactly(row[column]), row
            assert list(rows_behind(adventureworks, *of).values()) == [figure], row
            tied += 1
    assert tied > 100


def test_rows_behind_a_group_of_organisations_add_up_to_its_cells(adventureworks: McpBooks) -> None:
    asked = {"scenarios": COLUMNS[:1], "period_start": "2006", "filters": {"organisation": "14"}}
    shown = cells(adventureworks, "full_pnl", **asked)
    known = [row for row in oracle("A30_org_rollup_orig_fiscal_year") if (row["org"], row["period"]) == (14, 2006)]
    assert len(known) == 8
    for row in known:
        figure, *of = shown[line(row["node"]), "actual"]
        assert figure == exactly(row["actual"]), row
        assert sum(rows_behind(adventureworks, *of).values()) == (figure or 0), row


def shares_held() -> dict[str, Decimal]:
    """Return the share of each organisation that the whole group holds: all owners' shares up to the group."""
    with (ADVENTUREWORKS / "DimOrganization.csv").open() as lines:
        tree = {row["OrganizationKey"]: row for row in DictReader(lines)}

    def held(key: str) -> Decimal:
        parent = tree[key]["ParentOrganizationKey"]
        return Decimal(tree[key]["PercentageOfOwnership"]) * held(parent) if parent else Decimal(1)

    return {key: held(key) for key in tree}


def test_rows_behind_a_group_by_shares_owned_count_with_the_share(adventureworks: McpBooks) -> None:
    shares = shares_held()
    asked = {"metrics": ["amount"], "period_start": "2005-08", "filters": {"group_share": min(shares, key=int)}}
    result = adventureworks.ask("run_metric_data", scenarios=COLUMNS[:1], **asked)
    rows = [row for row in shipped("1") if row["original_date"][:7] == "2005-08"]
    expected = sum((Decimal(row["amount"]) * shares[row["organization_key"]] for row in rows), Decimal(0))
    assert expected != sum(Decimal(row["amount"]) for row in rows)
    assert exactly(result["rows"][-1]["values"][0]) == expected
    assert rows_behind(adventureworks, result["rows"][-1], result["columns"][0]) == {"amount": expected}


@pytest.mark.parametrize("month", ["2005-07", "2006-06", "2008-05"])
def test_rows_behind_a_closing_balance_are_those_of_its_last_month(adventureworks: McpBooks, month: str) -> None:
    asked = {"scenarios": COLUMNS[:1], "period_start": "2005-07", "period_end": month}
    for (key, _), (figure, row, column) in cells(adventureworks, "balance_sheet", **asked).items():
        behind = rows_behind(adventureworks, row, column)
        assert sum(behind.values()) == (figure or 0), key


@pytest.mark.parametrize("year", ["2006", "2008"])
def test_rows_behind_a_last_known_balance_are_the_last_of_each_leaf_cell(last_known: McpBooks, year: str) -> None:
    found = cells(last_known, "balance_sheet", scenarios=COLUMNS[:1], period_start=year)
    rows = [row for row in oracle("B20_bs_close_orig_fiscal_year") if str(row["period"]) == year and row["node"] != 1]
    for row in rows:
        figure, *of = found[line(row["node"]), "actual"]
        assert figure == exactly(row["last_nonempty_per_leaf_cell"]), row
        assert sum(rows_behind(last_known, *of).values()) == (figure or 0), row


def test_rows_behind_the_operands_of_a_ratio_make_the_ratio(adventureworks: McpBooks) -> None:
    figure, row, column = cells(adventureworks, "full_pnl", scenarios=COLUMNS[:1], period_start="2006-03")[
        "gross_margin_pct", "actual"
    ]
    operands = rows_behind(adventureworks, row, column)
    known = {row["node"]: digits(row["actual"]) for row in oracle("A10_pl_orig_month") if row["period"] == "2006-03"}
    assert operands == {"gross_margin": known[49], "net_sales": known[50]}
    assert abs(known[49] / known[50] - digits(figure)) < Decimal("1e-14")
