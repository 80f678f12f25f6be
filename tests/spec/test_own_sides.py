"""Operands of formulas with a scenario or steps of their own: figures, totals, notes, scope, drill and refusals.

Rules: Operands with a scenario of their own.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments, Refusal, UnknownName
from tests.laws.oracle.asking import UNCUT
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, figures, granting, small_books

FACTS = """
    date       scenario product region amount stock
    2025-01-10 actual   P1      EU     40     0
    2025-02-10 actual   P2      US     10     0
    2026-01-10 actual   P1      EU     90     5
    2026-01-11 actual   P2      US     30     7
    2026-02-10 actual   P1      EU     -20    6
    2026-02-12 actual   P3      EU     8      0
    2026-01-10 budget   P1      EU     100    4
    2026-01-11 budget   P2      US     20     0
    2026-02-10 budget   P1      US     10     0
    2026-02-10 budget   P4      EU     16     0
"""
DOMAIN = """
    time: {column: date}
    dimensions: {product: product, region: region}
    measures: {amount: {places: 2}, stock: {type: number, places: 0}}
    inspect_enabled: true
    metrics:
      sales: {measure: amount}
      units: {measure: stock, over_time: closing}
      gap: {formula: "sales - sales[budget]"}
      off: {formula: "gap / sales[budget]"}
      growth: {formula: "sales / sales[@py] - 1"}
      planned: {formula: "sales[budget]"}
      price: {formula: "sales / units"}
"""
LINES = """
- {metric: sales}
- formula: {key: beside, label: Beside plan, is: "sales - planned"}
- formula: {key: half, label: Half, is: "beside / 2"}
- formula: {key: of_year, label: Of the year, is: "sales / sales[@fy]"}
"""
SCENARIOS = """
actual:   {alias: Actuals, kind: actual, closed_through: 2026-02}
budget:
  alias: Budget
  kind: budget
  closed_through: 2026-12
  variants: {low: {label: Low, adjust: [{where: {region: [EU]}, factor: "0.5", measures: [amount]}]}}
forecast: {alias: Forecast, kind: forecast}
"""
AMOUNTS = {
    (row[0][:7], row[1], row[2], row[3]): Fraction(row[4])
    for row in (line.split() for line in FACTS.strip().splitlines()[1:])
}


def ledger(folder: Path, **parts: Any) -> Door:
    """Return books of sales and units of two scenarios."""
    return small_books(
        folder,
        facts={"gl": FACTS},
        domains={"gl": DOMAIN},
        dimensions="product: {kind: leaf}\nregion: {kind: leaf}\nmonth: {kind: leaf, grain: month}",
        statements={"pnl": LINES},
        scenarios=SCENARIOS,
        **parts,
    )


def posted(scenario: str, months: str, kept: Callable[[str, str], bool] = lambda _product, _region: True) -> Fraction:
    """Return what rows of a scenario add up to in some months."""
    return sum(
        (
            amount
            for (month, known, product, region), amount in AMOUNTS.items()
            if known == scenario and month in months.split() and kept(product, region)
        ),
        Fraction(0),
    )


def one(books: Door, formula: str, scenario: str = "actual", period: Any = "2026-01", **asked: Any) -> Decimal | None:
    """Return the total of a formula."""
    report = books.metric("sales", formulas={"x": formula}, scenarios={"A": scenario}, period=period, **asked)
    return figures(report, "metric")["x"]


def near(figure: Fraction) -> Any:
    """Return a fraction as the digits of an answer have it."""
    return pytest.approx(Decimal(figure.numerator) / Decimal(figure.denominator), rel=Decimal("1e-14"))


YEAR = ("2026-01", "2026-02")


def test_an_own_scenario_replaces_that_of_the_column_with_all_its_steps(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    wanted = posted("budget", "2026-01")
    for scenario in ("actual", "actual@py", "budget@ytd", "forecast", "actual+forecast"):
        assert one(books, "sales[budget]", scenario) == wanted, scenario
    assert one(books, "sales[budget/low]") == posted("budget", "2026-01", lambda _, region: region == "US") + 50
    assert one(books, "sales[actual@py]", "budget") == posted("actual", "2025-01")
    assert one(books, "planned", "actual@py") == wanted


def test_own_steps_come_after_those_of_the_column(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    assert one(books, "sales[@py]", "actual", YEAR) == posted("actual", "2025-01 2025-02")
    assert one(books, "sales[@fy]", "actual") == posted("actual", "2026-01 2026-02")
    assert one(books, "sales[@fy]", "actual@py") == posted("actual", "2025-01 2025-02")
    assert one(books, "sales[@py@fy]", "budget") is None
    assert one(books, "growth", "actual", YEAR) == near(posted("actual", "2026-01 2026-02") / 50 - 1)


def test_each_side_of_a_variance_computes_the_formula(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    both = "2026-01 2026-02"
    actual, budget, before = posted("actual", both), posted("budget", both), posted("actual", "2025-01 2025-02")
    assert one(books, "sales - sales[budget]", "var(actual,actual@py)", YEAR) == actual - budget - (before - budget)
    assert one(books, "sales[actual] - sales[budget]", "var(actual,budget)", YEAR) == 0
    assert one(books, "sales / sales[actual]", "var(actual,budget)", YEAR) == pytest.approx(
        Decimal(float(1 - budget / actual))
    )


def test_totals_and_others_are_computed_at_their_own_level(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    formula = "abs(sales[actual] - sales[budget]) / abs(sales[actual])"
    report = books.metric(
        "sales",
        formulas={"x": formula},
        scenarios={"A": "actual"},
        period=YEAR,
        dimensions=["product"],
        order_by="x",
        top=1,
    )
    both = "2026-01 2026-02"

    def error(kept: Callable[[str, str], bool]) -> Fraction:
        actual, budget = posted("actual", both, kept), posted("budget", both, kept)
        return abs(actual - budget) / abs(actual)

    found = {
        product: value for (metric, product), value in figures(report, "metric", "product").items() if metric == "x"
    }
    wanted = {"P3": error(lambda product, _: product == "P3"), None: error(lambda *_: True)}
    wanted["(others)"] = error(lambda product, _: product != "P3")
    assert found == {key: pytest.approx(Decimal(float(figure)), rel=Decimal("1e-14")) for key, figure in wanted.items()}


def test_members_of_an_own_scenario_have_rows_and_a_missing_one_counts_as_in_a_variance(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    asked: dict[str, Any] = {"scenarios": {"A": "actual", "V": "var(actual,budget)"}, "dimensions": ["product"]}
    report = books.metric("sales", "gap", period=YEAR, **asked)
    found = figures(report, "metric", "alias", "product")
    for product in ("P1", "P2", "P3", "P4"):
        assert found["gap", "A", product] == found["sales", "V", product], product
    assert found["gap", "A", "P4"] == -16  # closed, with other rows: no sales are 0
    march = books.metric("gap", scenarios={"A": "actual"}, period="2026-03")
    assert figures(march, "metric") == {"gap": None}
    assert {"outside_books"} <= set(codes(march))


def test_a_formula_of_the_catalogue_is_computed_in_the_scenario_of_its_operand(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    january = {"A": posted("actual", "2026-01"), "B": posted("budget", "2026-01")}
    assert one(books, "price[budget]") == january["B"] / 4
    assert one(books, "price - price[budget]") == near(january["A"] / 12 - january["B"] / 4)
    assert one(books, "gap[budget]") == 0
    assert one(books, "off * 2", "actual") == near((january["A"] / january["B"] - 1) * 2)


def test_lines_of_a_statement_take_them(tmp_path: Path) -> None:
    report = ledger(tmp_path).statement("pnl", scenarios={"A": "actual"}, period="2026-01")
    gap = posted("actual", "2026-01") - posted("budget", "2026-01")
    year = posted("actual", "2026-01 2026-02")
    found = figures(report, "line")
    assert (found["beside"], found["half"]) == (gap, gap / 2)
    assert found["of_year"] == pytest.approx(Decimal(float(posted("actual", "2026-01") / year)))


def test_it_is_not_additive(tmp_path: Path) -> None:
    report = ledger(tmp_path).metric(
        "sales", "gap", scenarios={"S": "share(actual)"}, period=YEAR, dimensions=["product"], scale=3
    )
    assert "no_share" in codes(report)
    assert {value for (metric, _), value in figures(report, "metric", "product").items() if metric == "gap"} == {None}


SEEN = "{actual: {}, budget: {dimensions: {region: {allow: [EU]}}}}"


def test_operands_are_computed_inside_what_is_seen_of_all_of_their_scenarios(tmp_path: Path) -> None:
    ledger(tmp_path)
    books = granting(tmp_path, SEEN)
    european = {key: posted(key, "2026-01", lambda _, region: region == "EU") for key in ("actual", "budget")}
    report = books.metric(
        "sales",
        formulas={"x": "sales - sales[budget]", "b": "sales[budget]"},
        scenarios={"A": "actual"},
        period="2026-01",
    )
    assert figures(report, "metric") == {
        "sales": posted("actual", "2026-01"),
        "x": european["actual"] - european["budget"],
        "b": european["budget"],
    }
    (note,) = (note for note in report.notes if note.code == "scope_differs")
    assert note.message == (
        "'x' is computed only of what you may see in all of actual and budget; one alone may show more."
    )
    assert one(books, "sales[@py] / sales", "actual", YEAR) == pytest.approx(Decimal(50) / 108)  # of one scenario


def test_what_names_a_hidden_scenario_does_not_exist(tmp_path: Path) -> None:
    ledger(tmp_path)
    books = granting(tmp_path, "{actual: {}}")
    assert {"sales", "units", "growth", "price"} == set(books.reader.metrics)
    assert [line.key for line in books.reader.statements["pnl"].lines] == ["sales", "of_year"]
    hidden, unknown = (refusal(books, f"sales / sales[{name}]") for name in ("budget", "budgot"))
    assert isinstance(hidden, UnknownName)
    assert hidden.as_data() == {**unknown.as_data(), "error": hidden.error, "got": "budget"}
    assert hidden.valid == ["actual"]


def refusal(books: Door, formula: str, **asked: Any) -> Refusal:
    """Return the refusal of a formula."""
    asked = {"scenarios": {"A": "actual"}, "period": "2026-01", **asked}
    with pytest.raises(Refusal) as refused:
        books.metric("sales", formulas={"x": formula}, **asked)
    return refused.value


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("sales / sales[actual", "'formulas.x' is no formula at character 14: '[' has no ']' after it"),
        ("sales[]", "at character 6: '' is no scenario and no steps of an operand"),
        ("sales[var(actual,budget)]", "no scenario and no steps of an operand: it is an id"),
        ("sales[@nonsense]", "there is no shift @nonsense; shifts are @py"),
        ("sales[actual@last500]", "@last takes a number from 2 to 120"),
        ("2[actual]", "'[actual]' cannot stand there"),
        ("(sales)[actual]", "'[actual]' cannot stand there"),
        ("days(period)[actual]", "'[actual]' cannot stand there"),
        ("sales[@opening]", "sales[@opening] cannot be read: only a balance has an opening"),
        ("sales[forecast+actual]", "forecast has no closed_through"),
        ("units[@avg3] + sales", "adds number to money"),
    ],
)
def test_a_refusal_says_what_is_wrong(tmp_path: Path, formula: str, says: str) -> None:
    refused = refusal(ledger(tmp_path), formula)
    assert isinstance(refused, BadArguments)
    assert says in refused.error, refused.error


def test_steps_that_take_other_periods_are_refused_at_the_formula(tmp_path: Path) -> None:
    refused = refusal(ledger(tmp_path), "sales / sales[@pm]", period="2026-Q1")
    assert (refused.error_type, refused.field, refused.example) == ("bad_arguments", "formulas.x", None)


def test_a_call_that_reads_too_many_sides_is_refused(tmp_path: Path) -> None:
    columns = {f"{at}": f"actual@pp{at}" for at in range(2, 72)}
    formula = "sales[@py] + sales[@fy] + sales[@ytd]"
    assert "200 is the most" in refusal(ledger(tmp_path), formula, scenarios=columns).error


def test_the_rows_of_each_operand_are_one_call(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    formula = "abs(sales[actual] - sales[budget]) / abs(sales)"
    report = books.metric("units", formulas={"x": formula}, scenarios={"A": "actual@ytd"}, period="2026-02")
    result = answer(report, UNCUT)
    column = next(column for column in result["columns"] if column["metric"] == "x")
    behind = [
        (name, call, figure_behind(call, lambda asked: rows_of(books, **asked)))
        for _, name, call in calls(result["rows"][0], column)
    ]
    assert [call["scenario_id"] for _, call, _ in behind] == ["actual", "budget", "actual@ytd"]
    assert [made for _, _, made in behind] == [-12, 26, 108]


def test_rows_that_differ_by_column_have_no_drill(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    asked: dict[str, Any] = {"formulas": {"x": "sales / sales[@ytd]"}, "period": "2026-01"}
    several = answer(books.metric("sales", scenarios={"A": "actual", "B": "budget"}, **asked), UNCUT)
    drills = [each["of_metric"].get("drill", 1) for each in several["columns"] if each["metric"] == "x"]
    assert drills == [None, None]
    alone = answer(books.metric("sales", scenarios={"A": "actual"}, **asked), UNCUT)
    assert all("operands" in column["of_metric"] for column in alone["columns"] if column["metric"] == "x")


def test_the_notes_of_operands_are_those_of_columns(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    report = books.metric(
        "sales",
        formulas={"x": "sales / sales[@last24]", "y": "sales[actual+budget]"},
        scenarios={"A": "actual"},
        period=("2025-02", "2026-03"),
    )
    assert {"short_window", "window_replaces_range"} <= set(codes(report))
    assert set(report.freshness["gl"]) == {"actual", "budget"}
    assert set(report.permission.scenarios) >= {"actual", "budget"}
