"""The demo: generated small, loaded, and held against what its files promise and what DuckDB adds up of its tables."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import duckdb
import polars as pl
import pytest

from engine.books.books import Shelf
from engine.books.checks import data_faults
from engine.door import Door, open_books
from engine.report.report import Report
from server.feeds.instance import read_instance
from tests.support.books.demo import ROWS, generate

LEAST_ROWS = 57_912
SCENARIOS = {"actual": ("2024-01", "2026-10"), "budget": ("2024-01", "2026-12"), "forecast": ("2026-07", "2026-12")}
STATEMENTS = ("full_pnl", "pnl", "kpis", "balance_sheet")
NINE_MONTHS = ("2026-01", "2026-09")
VIEWS = """
    create view nine_months as
        select gl.*, class from gl join account on account.id = gl.account
        where scenario = 'actual' and date between '2026-01-01' and '2026-09-30';
    create view close as from nine_months where date = '2026-09-30' and text = 'Balance at month end';
    create view sold as from sales where scenario = 'actual' and date between '2026-01-01' and '2026-09-30';
    create view employed as from people where scenario = 'actual' and month = '2026-09';
"""
SAME_FOR_EVERY_SEED = {
    "account",
    "balance_nodes",
    "cost_centre",
    "entity",
    "organisation_nodes",
    "pnl_nodes",
    "product",
    "share_nodes",
}
Figures = dict[tuple[str | None, ...], Decimal | None]


@pytest.fixture(scope="module")
def folder(demo_folder: Path) -> Path:
    """The instance with its data, loaded."""
    return demo_folder


def test_it_is_the_same_on_every_python(folder: Path) -> None:
    digest = sha256()
    for path in sorted((folder / "data").rglob("*.*")):
        table = path.read_bytes() if path.suffix == ".csv" else pl.read_parquet(path).write_csv().encode()
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + table)
    assert digest.hexdigest() == "f50c9ee35090b7ca2dac34ef5284548ec14304f99ad685bbecab269511a0e724"


@pytest.fixture(scope="module")
def books(folder: Path) -> Door:
    """The books as everyone sees them."""
    return open_books(folder)


@pytest.fixture(scope="module")
def tables(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The generated tables, read by DuckDB."""
    with duckdb.connect() as connection:
        for facts in ("gl", "sales"):
            connection.execute(f"create view {facts} as from '{folder}/data/{facts}/*.parquet'")
        for name in ("people", "account", "product"):
            connection.execute(f"create view {name} as from read_csv('{folder}/data/{name}.csv', all_varchar = true)")
        connection.execute(VIEWS)
        yield connection


def test_profiles_restrict_companies_and_cost_centres(folder: Path) -> None:
    """As profiles.yaml says by `organisation` and `function`, trees above them."""
    assert read_instance(folder).catalogue.domains["gl"].restricted == {"entity", "cost_centre"}


def figures(report: Report, *members: str) -> Figures:
    """Return the figures of a report by line or metric, and by members of a breakdown (none: the total)."""
    key = "line" if report.statement else "metric"
    rows = report.frame.select(key, *members, "exact").rows()
    return {row[:-1]: None if row[-1] is None else Decimal(row[-1]) for row in rows}


def metric(
    books: Door,
    key: str,
    *dimensions: str,
    scenario: str = "actual",
    period: str | tuple[str, str] = NINE_MONTHS,
    filters: Mapping[str, str] | None = None,
) -> Figures:
    """Return the figures of one metric by members of dimensions."""
    report = books.metric(key, scenarios={"It": scenario}, period=period, dimensions=dimensions, filters=filters or {})
    return {members[1:]: figure for members, figure in figures(report, *dimensions).items()}


def digests(folder: Path) -> dict[str, str]:
    """Return what every file below a folder holds, as digests."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_same_seed_makes_the_same_files_and_another_seed_others(folder: Path, tmp_path: Path) -> None:
    generate(tmp_path / "again", ROWS)
    generate(tmp_path / "other", ROWS, seed=2)
    same, other = digests(tmp_path / "again"), digests(tmp_path / "other")
    assert same == digests(folder / "data")
    assert same.keys() == other.keys()
    assert {Path(name).stem for name in same if same[name] == other[name]} == SAME_FOR_EVERY_SEED


def test_too_few_rows_are_refused_with_the_least_that_will_do(tmp_path: Path) -> None:
    made = generate(tmp_path, LEAST_ROWS - 1)
    assert made.returncode == 2
    assert f"--rows takes at least {LEAST_ROWS:,}" in made.stderr
    assert generate(tmp_path, LEAST_ROWS).returncode == 0


def test_the_ledger_has_the_rows_asked_for_in_equal_months(tables: duckdb.DuckDBPyConnection) -> None:
    counts = tables.execute("select count(*) from gl group by scenario, date_trunc('month', date)").fetchall()
    rows = [count for (count,) in counts]
    assert sum(rows) == ROWS
    assert len(rows) == 34 + 36 + 6
    assert max(rows) - min(rows) <= 1


def test_amounts_do_not_depend_on_the_number_of_rows(tables: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    generate(tmp_path, 4 * ROWS)
    tables.execute(f"create view larger as from '{tmp_path}/gl/*.parquet'")
    by_class, by_class_larger = (
        tables.query(f"from {ledger}")
        .join(tables.query("select id as account, class from account"), "account")
        .aggregate("scenario, entity, class, date_trunc('month', date) as month, sum(amount) as amount")
        .order("all")
        .fetchall()
        for ledger in ("gl", "larger")
    )
    assert by_class == by_class_larger


def test_the_files_hold_together_and_against_the_data(folder: Path) -> None:
    instance = read_instance(folder)
    shelf = Shelf(instance.catalogue, folder / ".tieout" / "store")
    assert list(data_faults(shelf.current(), instance.bindings)) == []


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_statement_has_every_figure_in_every_scenario(books: Door, statement: str, scenario: str) -> None:
    report = books.statement(statement, scenarios={"It": scenario}, period=SCENARIOS[scenario])
    blank = {line for (line,), figure in figures(report).items() if figure is None}
    assert all(str(line).startswith("pnl.59") for line in blank)  # small books do not post on every single account


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("dimension", ["organisation", "group_share", "entity", "period", "quarter", "year"])
def test_every_statement_breaks_down(books: Door, statement: str, dimension: str) -> None:
    report = books.statement(
        statement, scenarios={"A": "actual"}, period=("2025-01", "2025-12"), dimensions=[dimension]
    )
    assert any(figure for (_, member), figure in figures(report, dimension).items() if member)


def test_the_default_report_is_the_full_profit_and_loss_with_its_comparisons(books: Door) -> None:
    report = books.statement()
    assert report.statement == "full_pnl"
    assert [column.heading for column in report.columns] == ["Actuals", "Budget", "Variance", "Var %", "Prior Year"]
    assert (report.period.start.code, report.period.end.code) == NINE_MONTHS
    assert [line.key for line in report.lines if line.kind == "memo"] == ["pnl.ORDERS"]
    assert figures(report, "scenario")["net_result", "var(actual,budget)"]


@pytest.mark.parametrize("profile", ["controller", "europe", "sales_americas", "it_costs"])
def test_every_profile_sees_something_and_only_the_controller_all(folder: Path, books: Door, profile: str) -> None:
    def seen(door: Door) -> Figures:
        return figures(door.statement("kpis", scenarios={"A": "actual"}, period=NINE_MONTHS))

    by_profile = seen(open_books(folder, profile=profile))
    assert any(by_profile.values())
    assert (by_profile == seen(books)) is (profile == "controller")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_company_balances_at_every_month_end(books: Door, scenario: str) -> None:
    months, by = SCENARIOS[scenario], ["entity", "period"]
    report = books.statement("balance_sheet", scenarios={"It": scenario}, period=months, dimensions=by)
    found = figures(report, *by)
    differences = [figure for (line, *_), figure in found.items() if line == "difference"]
    assets = [figure for (line, *_), figure in found.items() if line == "balance_tree.ASSETS"]
    assert set(differences) == {Decimal(0)}
    assert len(assets) == len(differences) > 8 * 6
    assert all(figure is not None and figure > 0 for figure in assets)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_company_is_ever_out_of_cash(books: Door, scenario: str) -> None:
    cash = metric(books, "cash", "entity", "period", scenario=scenario, period=SCENARIOS[scenario])
    assert all(figure is not None and figure > 0 for figure in cash.values())


@pytest.mark.parametrize("month", ["2024-01", "2024-12", "2025-06", "2026-10"])
def test_the_result_of_the_year_is_the_same_in_both_statements(books: Door, month: str) -> None:
    earned = metric(books, "net_result", "entity", scenario="actual@ytd", period=month)
    held = metric(books, "balance", "entity", period=month, filters={"balance_tree": "YEAR_RESULT"})
    assert len(earned) == 8 + 1
    assert earned == {company: figure and -figure for company, figure in held.items()}


def test_the_tree_and_the_formulas_come_to_the_same_plausible_result(books: Door) -> None:
    report = books.statement("pnl", scenarios={"A": "actual"}, period=NINE_MONTHS)
    line = {key[0]: figure or Decimal(0) for key, figure in figures(report).items()}
    assert line["net_result"] == line["operating_result"] + line["financial_result"] - line["income_taxes"]
    assert Decimal("0.35") < line["gross_margin"] < Decimal("0.45")
    assert Decimal("0.10") < line["ebitda_margin"] < Decimal("0.18")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_sales_are_the_revenue_of_every_company_and_month(books: Door, scenario: str) -> None:
    revenue, sales = (
        metric(books, key, "entity", "period", scenario=scenario, period=SCENARIOS[scenario])
        for key in ("revenue", "sales_amount")
    )
    assert revenue == sales
    assert len(sales) > 7 * 6


def test_payroll_is_wages_and_salaries_of_every_cost_centre(books: Door) -> None:
    payroll = metric(books, "payroll", "cost_centre")
    assert len(payroll) == 200 + 1
    assert payroll == metric(books, "postings", "cost_centre", filters={"pnl": "WAGES"})


@pytest.mark.parametrize(
    ("key", "query"),
    [
        ("revenue", "select -sum(amount) from nine_months where account between '4000' and '4999'"),
        ("cost_of_sales", "select sum(amount) from nine_months where account between '5000' and '5999'"),
        ("personnel", "select sum(amount) from nine_months where account between '6000' and '6399'"),
        ("other_opex", "select sum(amount) from nine_months where class = 'Other operating expenses'"),
        ("net_result", "select -sum(amount) from nine_months where account between '4000' and '9899'"),
        ("order_intake", "select -sum(amount) from nine_months where account >= '9900'"),
        ("cash", "select sum(amount) from close where account between '1800' and '1899'"),
        ("total_assets", "select sum(amount) from close where account < '2000'"),
        ("equity", "select -sum(amount) from close where account between '2000' and '2999'"),
        ("headcount", "select sum(fte::decimal(18, 2)) from employed"),
        ("sales_amount", "select sum(amount) from sold"),
        ("units", "select sum(units) from sold"),
    ],
)
def test_totals_are_those_that_duckdb_adds_up(
    books: Door, tables: duckdb.DuckDBPyConnection, key: str, query: str
) -> None:
    assert list(metric(books, key).values()) == [row[0] for row in tables.execute(query).fetchall()]


@pytest.mark.parametrize(("code", "plain"), [("CY2025", "2025"), ("CY2026-Q3", "2026-Q3"), ("Q3 CY26", "2026-Q3")])
def test_calendar_codes_are_the_fiscal_ones_where_fiscal_years_are_calendar_years(
    books: Door, code: str, plain: str
) -> None:
    found = metric(books, "revenue", period=code)
    assert found == metric(books, "revenue", period=plain)
    assert None not in found.values()


def test_members_are_those_that_duckdb_adds_up(books: Door, tables: duckdb.DuckDBPyConnection) -> None:
    wanted = tables.execute("""
        select line, strftime(date, '%G-W%V') as week, sum(amount) from sales join product on product.id = sales.product
        where scenario = 'budget' and week between '2025-W10' and '2025-W20' group by all
    """).fetchall()
    weeks = ("2025-W10", "2025-W20")
    found = metric(books, "sales_amount", "product_line", "week", scenario="budget", period=weeks)
    assert found.pop((None, None)) == sum(amount for *_, amount in wanted)
    assert found == {(line, week): amount for line, week, amount in wanted}


def test_what_sits_on_a_node_itself_is_the_company_that_posts_there(books: Door) -> None:
    own = metric(books, "personnel", filters={"organisation": "GROUP/(own)"})
    assert own == metric(books, "personnel", filters={"entity": "NL01"})


def test_a_company_held_through_another_counts_with_the_share_of_the_share(books: Door) -> None:
    alone, shared = metric(books, "revenue", "entity"), metric(books, "revenue", "group_share")
    british, asian = alone["GB01",], alone["SG01",]
    assert british is not None
    assert asian is not None
    assert shared["GB01",] == british + Decimal("0.75") * asian
