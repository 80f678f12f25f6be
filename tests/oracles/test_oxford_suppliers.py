"""Rankings of Oxford's suppliers over HTTP: three thousand of them, whose sums stay in frames until few are shown."""

import csv
from collections import defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest

from engine.report.ranking import MAX_SMALL
from tests.support.books.loads import OXFORD
from tests.support.service.servers import McpBooks

YEAR: dict[str, Any] = {"period_start": "2016", "period_end": "2016"}  # April 2015 to March 2016
SHOWN = 5
Spend = Mapping[str, Decimal]


def spend_of(column: str, year: int) -> Spend:
    """Return the payments of a fiscal year by supplier, read from the published file."""
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    with (OXFORD / "ledger.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["amount"] and f"{year - 1}-04-01" <= row["paid_date"] <= f"{year}-03-31":
                sums[row[column] or "(unassigned)"] += Decimal(row["amount"])
    return sums


def first(figures: Spend, size: Callable[[Decimal], Decimal]) -> list[str]:
    """Return the first suppliers by a size, equal ones by id."""
    return sorted(figures, key=lambda name: (-size(figures[name]), name))[:SHOWN]


def differences(now: Spend, before: Spend) -> Spend:
    """Return what each supplier was paid more than a year before."""
    return {name: now.get(name, Decimal()) - before.get(name, Decimal()) for name in {**now, **before}}


def exactly(rows: list[dict[str, Any]], value: Callable[[dict[str, Any]], object]) -> list[tuple[str, Decimal]]:
    """Return the keys of rows with a figure each, to the last digit."""
    return [(row["key"], Decimal(str(value(row)))) for row in rows]


def folded(figures: Spend, shown: list[str]) -> list[tuple[str, Decimal]]:
    """Return the suppliers shown with their figures, then all others."""
    others = sum((figure for name, figure in figures.items() if name not in shown), Decimal())
    return [*((name, figures[name]) for name in shown), ("(others)", others)]


@pytest.mark.parametrize("column", ["supplier", "supplier_id"])
def test_the_first_suppliers_their_others_and_the_total_are_those_of_the_file(oxford: McpBooks, column: str) -> None:
    now = spend_of(column, 2016)
    told = oxford.ask(
        "run_metric",
        metrics=["spend"],
        scenarios=[{"scenario": "actual", "alias": "A"}],
        dimensions=[column],
        order_by="spend@A",
        top=SHOWN,
        **YEAR,
    )
    expected = [*folded(now, first(now, lambda paid: paid)), ("total", sum(now.values(), Decimal()))]
    assert exactly(told["rows"], lambda row: row["values"][0]) == expected
    assert len(now) > MAX_SMALL


@pytest.mark.parametrize("column", ["supplier", "supplier_id"])
def test_the_suppliers_that_explain_a_variance_are_those_of_the_file(oxford: McpBooks, column: str) -> None:
    less = differences(spend_of(column, 2016), spend_of(column, 2015))
    told = oxford.ask(
        "explain_variance", metric="spend", scenarios=["actual", "actual@py"], by=[column], top=SHOWN, **YEAR
    )
    (listed,) = told["lists"]
    assert exactly(listed["rows"], lambda row: row["contribution"]) == folded(less, first(less, abs))
    assert len(less) > MAX_SMALL
