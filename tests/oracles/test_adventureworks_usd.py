"""AdventureWorks' statistical accounts, weeks, currencies and dollars, computed anew from its rows."""

import csv
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from typing import Any

from tests.support.answers.oracles import TOTAL, metrics
from tests.support.books.loads import ADVENTUREWORKS
from tests.support.service.servers import McpBooks

HEADCOUNT, UNITS, FEET = "96", "97", "99"
SIGNS = {"+": 1, "-": -1, "~": 0}
YEARS = ("2006", "2007", "2008")
WHOLE: dict[str, Any] = {"period_start": "2006", "period_end": "2008"}


def table(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table."""
    with (ADVENTUREWORKS / name).open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)


@cache
def below(node: str) -> dict[str, int]:
    """Return the accounts below a node, each with the product of the operators between."""
    children = [row for row in table("DimAccount.csv") if row["ParentAccountKey"] == node]
    found = {node: 1}
    for row in children:
        sign = SIGNS[row["Operator"]]
        found |= {key: sign * weight for key, weight in below(row["AccountKey"]).items()}
    return found


@cache
def postings() -> list[dict[str, Any]]:
    """Return the actual postings with their original month, their currency, and their amount in dollars."""
    currencies = {row["OrganizationKey"]: row["CurrencyKey"] for row in table("DimOrganization.csv")}
    rates = {(row["currency_key"], row["date"]): row["average_rate"] for row in table("fact_currency_rate.csv")}
    found = []
    for row in table("fact_finance.csv"):
        if row["scenario_key"] != "1":
            continue
        currency, amount = currencies[row["organization_key"]], Decimal(row["amount"])
        dollars = amount * Decimal(rates[currency, row["date"]])
        found.append(
            {
                "account": row["account_key"],
                "month": row["original_date"][:7],
                "shipped": date.fromisoformat(row["date"]),
                "currency": currency,
                "amount": amount,
                "usd": dollars.quantize(Decimal("0.000001"), ROUND_HALF_EVEN),
            }
        )
    return found


def fiscal(month: str) -> str:
    """Return the fiscal year of a month."""
    return str(int(month[:4]) + (month[5:] >= "07"))


def summed(node: str, column: str, by: str) -> dict[str, Decimal]:
    """Return the sums below a node, by fiscal year, currency or ISO week of the shipped day."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    weights = below(node)
    for row in postings():
        year, week, _ = row["shipped"].isocalendar()
        key = {"year": fiscal(row["month"]), "currency": row["currency"], "week": f"{year}-W{week:02}"}[by]
        if weights.get(row["account"]):
            sums[key] += weights[row["account"]] * row[column]
    return sums


def test_amounts_in_dollars_are_converted_posting_by_posting(adventureworks: McpBooks) -> None:
    shown = ("net_sales_usd", "net_income_usd", "net_sales")
    found = metrics(adventureworks, *shown, dimensions=["year"], **WHOLE)
    sums = [summed("50", "usd", "year"), summed("47", "usd", "year"), summed("50", "amount", "year")]
    assert found == {
        **{year: [of_metric[year] for of_metric in sums] for year in YEARS},
        TOTAL: [sum(of_metric.values()) for of_metric in sums],
    }


def test_currencies_have_their_names(adventureworks: McpBooks) -> None:
    names = {"100": "US Dollar", "19": "Canadian Dollar", "36": "Euro", "6": "Australian Dollar"}
    found = metrics(adventureworks, "net_sales", "net_sales_usd", dimensions=["currency"], **WHOLE)
    local, dollars = (summed("50", column, "currency") for column in ("amount", "usd"))
    assert found == {
        **{name: [local[key], dollars[key]] for key, name in names.items()},
        TOTAL: [sum(local.values()), sum(dollars.values())],
    }


def test_heads_units_feet_and_the_price_of_a_unit(adventureworks: McpBooks) -> None:
    shown = ("headcount", "units", "square_footage", "unit_price")
    found = metrics(adventureworks, *shown, dimensions=["year"], **WHOLE)
    units, sales = summed(UNITS, "amount", "year"), summed("50", "amount", "year")
    for year in YEARS:
        balances = [row for row in postings() if row["account"] in (HEADCOUNT, FEET) and fiscal(row["month"]) == year]
        last = max(row["month"] for row in balances)  # both close together
        heads, feet = (
            [row["amount"] for row in balances if (row["account"], row["month"]) == (account, last)]
            for account in (HEADCOUNT, FEET)
        )
        *closed, price = found[year]
        assert closed == [sum(heads) if heads else None, units[year], sum(feet) if feet else None], year
        assert price is not None
        assert abs(price - sales[year] / units[year]) < Decimal("1e-12") * price


def test_weeks_of_the_shipped_days(adventureworks: McpBooks) -> None:
    weeks = summed("50", "usd", "week")
    asked = {"dimensions": ["week"], "period_start": "2011-W01", "period_end": "2013-W52"}
    found = metrics(adventureworks, "net_sales_usd", scenarios=("actual_shipped",), **asked)
    inside = {week: amount for week, amount in weeks.items() if "2011-W01" <= week <= "2013-W52"}
    assert {week: value for week, (value,) in found.items() if week != TOTAL and value is not None} == inside
    assert found[TOTAL] == [sum(inside.values())]
