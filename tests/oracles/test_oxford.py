"""Oxford's payments through a real MCP client: figures computed elsewhere, compared to the last digit.

Rows are told apart by their transaction, which is one row each but for those that A20_duplicates knows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from tests.support.answers.oracles import TOTAL, exactly, metrics, oracle_of, statement
from tests.support.books.loads import OXFORD, UserLoad
from tests.support.service.servers import McpBooks, Server, connected

YEARS: dict[str, Any] = {"period_start": "2014", "period_end": "2018"}
MONTHS = {"period_start": "2014-01", "period_end": "2018-01"}
WEEKS = {"period_start": "2014-W02", "period_end": "2018-W05"}
DAYS: dict[str, Any] = {"period_start": "2014-01-07", "period_end": "2018-01-30"}
BY_PERIOD = [("A10_by_m", MONTHS), ("A10_by_w", WEEKS)]
UNDATED_FILE = "2014-Q2"


def oracle(name: str) -> list[dict[str, Any]]:
    """Return the rows of an oracle file."""
    return oracle_of(OXFORD, name)


def dated_files() -> list[dict[str, Any]]:
    """Return the profiles of the files whose rows have dates."""
    return [row for row in oracle("A00_profile") if row["mn"] is not None]


def months_of(file: str) -> list[str]:
    """Return the months of a file's calendar quarter."""
    year, quarter = file.split("-Q")
    return [f"{year}-{month:02}" for month in range(int(quarter) * 3 - 2, int(quarter) * 3 + 1)]


def fiscal(file: str) -> str:
    """Return the fiscal quarter of a file's calendar quarter: January to March 2014 is the last of fiscal year 2014."""
    year, quarter = map(int, file.split("-Q"))
    return f"{year}-Q4" if quarter == 1 else f"{year + 1}-Q{quarter - 1}"


def month_of(day: str) -> str:
    """Return the month of a day."""
    return day[:7]


def iso_week(day: str) -> str:
    """Return the ISO week of a day."""
    year, week, _ = date.fromisoformat(day).isocalendar()
    return f"{year}-W{week:02}"


def held(figures: dict[str, list[Decimal | None]]) -> dict[str, list[Decimal | None]]:
    """Return the members that have any figure, without the total."""
    return {key: row for key, row in figures.items() if key != TOTAL and any(value is not None for value in row)}


def total(values: Iterable[Decimal | None]) -> Decimal | None:
    """Return the sum of what is there, None where nothing is."""
    there = [value for value in values if value is not None]
    return sum(there, Decimal(0)) if there else None


@pytest.fixture(scope="module")
def month_payments(oxford_server: Server) -> dict[str, list[Decimal]]:
    """The single payments of each month that holds any."""
    found = {}
    with connected(oxford_server.url, "auto") as books:
        for month in (row["period"] for row in oracle("A10_by_m")):
            payments = held(metrics(books, "spend", dimensions=["transaction"], period_start=month)).values()
            found[month] = [value for (value,) in payments if value is not None]
    return found


def test_every_row_of_the_files_is_loaded_or_rejected_by_name(oxford_load: UserLoad) -> None:
    files = oracle("A00_profile")
    rows, without_amount = sum(row["n"] for row in files), sum(row["null_amounts"] for row in files)
    assert f"payments: {rows - without_amount:,} of {rows:,} rows" in oxford_load.out
    rejected = [line for line in oxford_load.err.splitlines() if "ledger.csv row" in line]
    assert len(rejected) == without_amount
    first_file = next(row for row in files if row["null_amounts"])
    last = first_file["n"] + 1  # the heading is row 1
    assert f"row {last}, amount: is missing" in rejected[0]


@pytest.mark.parametrize(("name", "bounds"), BY_PERIOD)
def test_spend_and_capital_by_period_in_a_statement(oxford: McpBooks, name: str, bounds: dict[str, Any]) -> None:
    figures = statement(oxford, "spending", scenarios={"paid": "actual"}, dimensions=["period"], **bounds)
    rows = {row["period"]: row for row in oracle(name)}
    for period, row in rows.items():
        assert figures["spend", "paid", period] == exactly(row["s"]), row
        assert figures["capital", "paid", period] == exactly(row["capital"]), row
    shown = {key[2] for key, value in figures.items() if len(key) == 3 and value is not None}
    assert shown == set(rows)
    for line, column in (("spend", "s"), ("capital", "capital")):
        assert figures[line, "paid"] == total(exactly(row[column]) for row in rows.values())


@pytest.mark.parametrize(("name", "bounds"), BY_PERIOD)
def test_credits_are_the_payments_below_zero(oxford: McpBooks, name: str, bounds: dict[str, Any]) -> None:
    found = held(metrics(oxford, "credits", dimensions=["period"], **bounds))
    wanted = {row["period"]: exactly(row["credits"]) for row in oracle(name)}
    assert {period: value for period, (value,) in found.items()} == {
        period: value for period, value in wanted.items() if value is not None
    }


def test_calendar_years_beside_fiscal_years_that_begin_in_april(oxford: McpBooks) -> None:
    wanted: dict[str, Decimal] = defaultdict(Decimal)
    for row in oracle("A10_by_m"):
        wanted[f"CY{row['period'][:4]}"] += Decimal(row["s"])
    bounds: dict[str, Any] = {"period_start": "CY2014", "period_end": "CY2018"}
    assert {
        year: value for year, (value,) in held(metrics(oxford, "spend", dimensions=["period"], **bounds)).items()
    } == wanted
    by_year = held(metrics(oxford, "spend", dimensions=["calendar_year"], period_start="CY2014", period_end="CY2018"))
    assert {year: value for year, (value,) in by_year.items()} == wanted


@pytest.mark.parametrize(("name", "code"), [("A10_by_m", month_of), ("A10_by_w", iso_week)])
def test_days_add_up_to_their_months_and_weeks(oxford: McpBooks, name: str, code: Callable[[str], str]) -> None:
    periods: dict[str, list[list[Decimal | None]]] = defaultdict(list)
    for day, values in held(metrics(oxford, "spend", "capital", dimensions=["date"], **DAYS)).items():
        periods[code(day)].append(values)
    rows = oracle(name)
    assert set(periods) == {row["period"] for row in rows}
    for row in rows:
        sums = [total(column) for column in zip(*periods[row["period"]], strict=True)]
        assert sums == [exactly(row["s"]), exactly(row["capital"])], row


def test_rows_and_credits_of_each_month(month_payments: dict[str, list[Decimal]]) -> None:
    rows = oracle("A10_by_m")
    for row in rows:
        amounts = month_payments[row["period"]]
        assert total(amounts) == exactly(row["s"]), row
        assert total(amount for amount in amounts if amount < 0) == exactly(row["credits"]), row
    (repeated,) = oracle("A20_duplicates")
    repeats = [row["n"] - len(month_payments[row["period"]]) for row in rows]
    assert min(repeats) == 0
    assert sum(repeats) == repeated["extra_rows"]


def test_files_by_their_sums_in_any_order_of_asking(oxford: McpBooks) -> None:
    files = {row["file_quarter"]: [exactly(row["s"])] for row in dated_files()}
    by_file = metrics(oxford, "spend", dimensions=["file_quarter"], **YEARS)
    assert held(by_file) == files
    by_quarter = metrics(oxford, "spend", dimensions=["quarter"], **YEARS)
    assert held(by_quarter) == {fiscal(file): values for file, values in files.items()}
    assert by_file[TOTAL] == by_quarter[TOTAL] == [total(values[0] for values in files.values())]


def test_files_by_their_rows_and_signs(month_payments: dict[str, list[Decimal]]) -> None:
    repeats = []
    for row in dated_files():
        amounts = [amount for month in months_of(row["file_quarter"]) for amount in month_payments.get(month, [])]
        assert total(amounts) == exactly(row["s"]), row
        assert sum(amount < 0 for amount in amounts) == row["neg"], row
        assert sum(amount == 0 for amount in amounts) == row["zero"], row
        repeats.append(row["n"] - row["null_amounts"] - len(amounts))
    (repeated,) = oracle("A20_duplicates")
    assert min(repeats) == 0
    assert sum(repeats) == repeated["extra_rows"]


def test_files_by_their_first_and_last_day(oxford: McpBooks) -> None:
    for row in dated_files():
        days = held(
            metrics(oxford, "spend", dimensions=["date"], filters={"file_quarter": row["file_quarter"]}, **DAYS)
        )
        assert (min(days), max(days)) == (row["mn"], row["mx"]), row
        outside = [day for day in days if month_of(day) not in months_of(row["file_quarter"])]
        assert len(outside) == row["out_of_quarter"], row


def test_payments_without_an_expense_type_are_unassigned(oxford: McpBooks) -> None:
    files = dated_files()
    assert all(row["null_cat"] in (0, row["n"]) for row in files)
    filters = {"category": "(unassigned)"}
    found = held(metrics(oxford, "spend", dimensions=["file_quarter"], filters=filters, **YEARS))
    assert found == {row["file_quarter"]: [exactly(row["s"])] for row in files if row["null_cat"]}


def test_no_dated_payment_lacks_a_service_area(oxford: McpBooks) -> None:
    assert all(row["null_area"] == row["null_amounts"] for row in dated_files())  # one row without both, rejected
    assert held(metrics(oxford, "spend", filters={"service_area": "(unassigned)"}, dimensions=["year"], **YEARS)) == {}


def test_undated_rows_are_counted_and_belong_to_no_period(oxford: McpBooks) -> None:
    undated = oracle("A11_undated")
    kept = sum(row["n"] for row in undated if row["s"] is not None)  # the other has no amount: rejected
    asked = {"metrics": ["spend"], "filters": {"file_quarter": UNDATED_FILE}, "dimensions": ["period"], **MONTHS}
    result = oxford.ask("run_metric_data", **asked)
    assert result["freshness"]["payments"]["actual"]["undated"] == kept
    assert all(row["values"] == [None] for row in result["rows"])
    files = {row["file_quarter"]: row for row in oracle("A00_profile")}
    assert files[UNDATED_FILE]["null_dates"] == files[UNDATED_FILE]["n"] == kept


def area_by_year(books: McpBooks) -> dict[str, list[Decimal | None]]:
    """Return spend by service area and fiscal year, where there is any."""
    return held(metrics(books, "spend", dimensions=["service_area", "year"], **YEARS))


def test_service_area_by_fiscal_year(oxford: McpBooks) -> None:
    expected = {f"{row['service_area']}/{row['fy_end']}": [exactly(row["s"])] for row in oracle("A12_area_x_fy")}
    assert area_by_year(oxford) == expected


def test_a_service_area_with_odd_characters_is_found_and_filters(oxford: McpBooks) -> None:
    rows = [row for row in oracle("A12_area_x_fy") if not row["service_area"].replace(" ", "").isalpha()]
    assert len(rows) > 10
    for row in rows:
        area = row["service_area"]
        found = oxford.ask("search_hierarchy", query=area, dimension="service_area")["records"]
        assert found[0]["id"] == area
        year = str(row["fy_end"])
        assert metrics(oxford, "spend", filters={"service_area": area}, period_start=year)[TOTAL] == [exactly(row["s"])]


def test_suspense_hidden_takes_nothing_else_away(suspense_hidden: McpBooks) -> None:
    by_year = metrics(suspense_hidden, "spend", dimensions=["year"], **YEARS)
    rows = oracle("A24_scope_hide_suspense")
    assert held(by_year) == {str(row["fy_end"]): [exactly(row["s"])] for row in rows}
    assert by_year[TOTAL] == [total(exactly(row["s"]) for row in rows)]
    areas = [row for row in oracle("A12_area_x_fy") if row["service_area"] != "Suspense"]
    assert area_by_year(suspense_hidden) == {
        f"{row['service_area']}/{row['fy_end']}": [exactly(row["s"])] for row in areas
    }


def test_suspense_hidden_does_not_exist(suspense_hidden: McpBooks) -> None:
    found = suspense_hidden.ask("search_hierarchy", query="Suspense", dimension="service_area")
    assert found["records"] == []
    result = suspense_hidden.ask("run_metric_data", metrics=["spend"], filters={"service_area": "Suspense"}, **YEARS)
    assert result["rows"][-1]["values"] == [None]
    assert [note["code"] for note in result["notes"]] == ["open_period", "default_scenarios", "unknown_member"]
