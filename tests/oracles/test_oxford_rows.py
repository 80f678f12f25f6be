"""Oxford's payments counted, and shown row by row."""

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from tests.oracles.test_oxford import BY_PERIOD, YEARS, dated_files, held, oracle, total
from tests.support.answers.drills import digits
from tests.support.answers.oracles import TOTAL, exactly, metrics
from tests.support.service.servers import McpBooks


@pytest.mark.parametrize(("name", "bounds"), BY_PERIOD)
def test_payments_of_each_period_are_counted(oxford: McpBooks, name: str, bounds: dict[str, Any]) -> None:
    counted = metrics(oxford, "payments", dimensions=["period"], **bounds)
    assert held(counted) == {row["period"]: [Decimal(row["n"])] for row in oracle(name)}
    assert counted[TOTAL] == [sum(Decimal(row["n"]) for row in oracle(name))]


def test_payments_of_each_file_are_counted(oxford: McpBooks) -> None:
    counted = held(metrics(oxford, "payments", dimensions=["file_quarter"], **YEARS))
    assert counted == {row["file_quarter"]: [Decimal(row["n"] - row["null_amounts"])] for row in dated_files()}
    unassigned = {"category": "(unassigned)"}
    found = held(metrics(oxford, "payments", dimensions=["file_quarter"], filters=unassigned, **YEARS))
    assert found == {row["file_quarter"]: [Decimal(row["null_cat"])] for row in dated_files() if row["null_cat"]}


def test_payments_of_each_service_area_and_year_are_counted(oxford: McpBooks) -> None:
    counted = held(metrics(oxford, "payments", "spend", dimensions=["service_area", "year"], **YEARS))
    rows = {f"{row['service_area']}/{row['fy_end']}": row for row in oracle("A12_area_x_fy")}
    assert counted == {key: [Decimal(row["n"]), exactly(row["s"])] for key, row in rows.items()}


def test_suspense_is_not_counted_where_it_is_hidden(suspense_hidden: McpBooks) -> None:
    counted = held(metrics(suspense_hidden, "payments", "spend", dimensions=["year"], **YEARS))
    rows = oracle("A24_scope_hide_suspense")
    assert counted == {str(row["fy_end"]): [Decimal(row["n"]), exactly(row["s"])] for row in rows}


def test_repeated_rows_are_kept_and_counted(oxford: McpBooks) -> None:
    asked: dict[str, Any] = {"period_start": "2015-09", "dimensions": ["transaction"]}
    counted = held(metrics(oxford, "payments", "spend", **asked))
    repeated = [(count, amount) for count, amount in counted.values() if count and amount and count > 1]
    (row,) = oracle("A20_duplicates")
    assert len(repeated) == row["groups"]
    assert sum(count - 1 for count, _ in repeated) == row["extra_rows"]
    assert total(amount * (count - 1) / count for count, amount in repeated) == exactly(row["extra_amount"])


def test_undated_rows_are_shown_though_no_period_has_them(oxford: McpBooks) -> None:
    (undated,) = [row for row in oracle("A11_undated") if row["s"] is not None]
    asked: dict[str, Any] = {
        "source_key": "payments",
        "scenario_id": "actual",
        "columns": ["file_quarter", "amount", "paid_date"],
    }
    shown = oxford.ask("inspect_rows", **asked, filters={"period": "(unassigned)"})
    assert {row[0] for row in shown["rows"]} == {undated["file_quarter"]}
    assert len(shown["rows"]) == undated["n"]
    assert total(exactly(row[1]) for row in shown["rows"]) == exactly(undated["s"])
    assert {row[2] for row in shown["rows"]} == {None}


def test_repeated_rows_are_shown_as_often_as_they_stand(oxford: McpBooks) -> None:
    columns = ["service_area", "category", "account", "paid_date", "transaction", "spend_type", "supplier_id",
               "supplier", "amount"]  # fmt: skip
    asked: dict[str, Any] = {
        "source_key": "payments",
        "scenario_id": "actual",
        "period_start": "2015-09",
        "columns": columns,
    }
    rows = Counter(map(tuple, oxford.ask("inspect_rows", **asked)["rows"]))
    repeated = {row: count for row, count in rows.items() if count > 1}
    (known,) = oracle("A20_duplicates")
    assert len(repeated) == known["groups"]
    assert sum(count - 1 for count in repeated.values()) == known["extra_rows"]
    assert total((count - 1) * digits(row[-1]) for row, count in repeated.items()) == exactly(known["extra_amount"])


def test_credits_of_each_week_are_in_its_rows(oxford: McpBooks) -> None:
    asked: dict[str, Any] = {
        "source_key": "payments",
        "scenario_id": "actual",
        "columns": ["amount"],
        "filters": {"metric": "spend"},
    }
    for row in oracle("A10_by_w")[::10]:
        shown = oxford.ask("inspect_rows", **asked, period_start=row["period"])
        amounts = [digits(amount) for amount, _ in shown["rows"]]
        assert len(amounts) == row["n"]
        assert total(amount for amount in amounts if amount < 0) == exactly(row["credits"])
        assert exactly(shown["contribution_total"]) == exactly(row["s"])
        assert exactly(shown["sums"]["contribution"]["negative"]) == (exactly(row["credits"]) or 0)
        largest = oxford.ask("inspect_rows", **asked, period_start=row["period"], order_by="amount", limit=1)
        assert (digits(largest["rows"][0][0]), largest["total_rows"]) == (max(amounts), row["n"])
