"""Finance cases T24-T33, T47, T51 and T61: variances, missing sides, signs and subtotals.

Rules: Variances, Nothing.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from engine.door import Door
from engine.present.answers.reports import answer
from engine.present.blocks import table
from engine.report.report import Report
from tests.support.books.small import codes, figure, figures, small_books

UNCUT = 10**9  # tokens
BOTH = {"A": "actual", "B": "budget", "V": "var(actual,budget)", "%": "var_pct(actual,budget)"}


def ledger(folder: Path, rows: str, scenarios: str | None = None, metric: str = "") -> Door:
    """One amount by product, actual against budget."""
    parts = {} if scenarios is None else {"scenarios": scenarios}
    return small_books(
        folder,
        facts={"gl": f"date scenario product amount\n{rows}"},
        domains={
            "gl": f"""
            time: {{column: date}}
            dimensions: {{product: product}}
            measures: {{amount: {{places: 3}}}}
            metrics:
              revenue: {{measure: amount{metric}}}
            """
        },
        dimensions="product: {kind: leaf}",
        **parts,
    )


def by_product(books: Door, period: str | tuple[str, str] = "2021-01") -> dict[tuple[str, str | None], Decimal | None]:
    """Return actual, budget, variance and share by product."""
    report = books.metric("revenue", scenarios=BOTH, period=period, dimensions=["product"])
    return figures(report, "alias", "product")


def test_t24_share_of_a_zero_base_is_blank(tmp_path: Path) -> None:
    books = ledger(
        tmp_path,
        "2021-01-05 actual P 50\n2021-01-05 budget P 0\n2021-01-05 actual Q 0\n2021-01-05 budget Q 0",
    )
    found = by_product(books)
    assert (found["V", "P"], found["%", "P"]) == (50, None)
    assert (found["V", "Q"], found["%", "Q"]) == (0, None)


def test_t25_share_of_a_negative_base_is_of_its_size(tmp_path: Path) -> None:
    books = ledger(
        tmp_path,
        "2021-01-05 actual P -80\n2021-01-05 budget P -100\n2021-01-05 actual Q 50\n2021-01-05 budget Q -100",
    )
    found = by_product(books)
    assert (found["V", "P"], found["%", "P"]) == (20, Decimal("0.2"))
    assert (found["V", "Q"], found["%", "Q"]) == (150, Decimal("1.5"))


def judged(report: Report) -> dict[str, int]:
    """Return for each column whether its first figure is favourable (1), adverse (-1) or neither."""
    block = table(report)
    named = [column["heading"][-1] for column in block["columns"]]
    return {name: good for name, (_, _, good) in zip(named, block["rows"][0]["cells"], strict=True)}


@pytest.mark.parametrize(
    ("actual", "budget", "declared", "judgement"),
    [("110", "100", "down", -1), ("-110", "-100", "up", -1), ("90", "100", "down", 1), ("110", "100", "none", 0)],
)
def test_t26_favourability_is_declared_not_read_off_a_sign(
    tmp_path: Path, actual: str, budget: str, declared: str, judgement: int
) -> None:
    rows = f"2021-01-05 actual P {actual}\n2021-01-05 budget P {budget}"
    books = ledger(tmp_path, rows, metric=f", favourable: {declared}")
    report = books.metric("revenue", scenarios=BOTH, period="2021-01")
    assert judged(report) == {"A": 0, "B": 0, "V": judgement, "%": judgement}


def test_t27_shares_do_not_add_up(tmp_path: Path) -> None:
    rows = "2021-01-05 actual P 120\n2021-01-05 budget P 100\n2021-01-05 actual Q 45\n2021-01-05 budget Q 50"
    found = by_product(ledger(tmp_path, rows))
    assert (found["V", None], found["%", None]) == (15, Decimal("0.1"))
    assert (found["%", "P"], found["%", "Q"]) == (Decimal("0.2"), Decimal("-0.1"))


def test_t28_a_scenario_missing_in_one_period(tmp_path: Path) -> None:
    rows = (
        "2021-01-05 actual P 30\n2021-03-05 actual P 25\n"
        "2021-01-05 budget P 30\n2021-02-05 budget P 20\n2021-03-05 budget P 25"
    )
    books = ledger(tmp_path, rows)
    report = books.metric("revenue", scenarios=BOTH, period=("2021-01", "2021-03"), dimensions=["period"])
    found = figures(report, "alias", "period")
    assert found["V", "2021-02"] is None
    assert (found["A", None], found["B", None], found["V", None]) == (55, 75, -20)


def test_a_missing_side_counts_as_zero_where_its_scenario_has_rows(tmp_path: Path) -> None:
    books = ledger(tmp_path, "2021-01-05 actual P 30\n2021-01-05 actual Q 5\n2021-01-05 budget P 20")
    found = by_product(books)
    assert (found["B", "Q"], found["V", "Q"], found["%", "Q"]) == (None, 5, None)


def test_rows_that_the_metric_does_not_count_make_a_missing_side_zero_as_well(tmp_path: Path) -> None:
    rows = "2021-01-05 actual P 30\n2021-01-05 actual Q 5\n2021-01-05 budget P 20"
    books = ledger(tmp_path, rows, metric=", where: {product: Q}")
    assert figures(books.metric("revenue", scenarios=BOTH, period="2021-01"), "alias") == {
        "A": 5, "B": None, "V": 5, "%": None,
    }  # fmt: skip


def test_where_both_sides_are_missing_there_is_no_variance(tmp_path: Path) -> None:
    rows = "\n".join(
        f"{day} {scenario} {product} 3"
        for scenario in ("actual", "budget")
        for day, product in (("2021-01-05", "P"), ("2021-02-05", "Q"), ("2021-03-05", "P"))
    )
    report = ledger(tmp_path, rows).metric(
        "revenue",
        scenarios=BOTH,
        period=("2021-01", "2021-02"),
        dimensions=["period"],
        filters={"product": "Q"},
    )
    found = figures(report, "alias", "period")
    assert [found["V", "2021-01"], found["%", "2021-01"], found["V", "2021-02"]] == [None, None, 0]


def test_a_missing_side_beyond_what_is_loaded_stays_unknown(tmp_path: Path) -> None:
    books = ledger(tmp_path, "2021-01-05 actual P 30\n2021-01-05 budget Q 20\n2021-02-05 budget Q 20")
    found = {
        last: books.metric("revenue", scenarios=BOTH, period=("2021-01", last), filters={"product": "Q"})
        for last in ("2021-01", "2021-02")
    }
    assert {last: figures(report, "alias")["V"] for last, report in found.items()} == {"2021-01": -20, "2021-02": None}
    assert ["open_period" in codes(report) for report in found.values()] == [False, True]


def test_a_missing_side_of_an_open_period_stays_unknown(tmp_path: Path) -> None:
    rows = "2021-01-05 actual P 30\n2021-02-05 actual P 5\n2021-02-05 budget P 5\n2021-02-05 budget Q 20"
    rows += "\n2021-01-05 budget Q 7"
    closed = "actual: {alias: A, kind: actual, closed_through: 2021-01}\nbudget: {alias: B, kind: budget}"
    books = ledger(tmp_path, rows, scenarios=closed)
    report = books.metric("revenue", scenarios=BOTH, period="2021-02", dimensions=["product"])
    assert figures(report, "alias", "product")["V", "Q"] is None
    assert "open_period" in codes(report)
    assert report.freshness["gl"]["actual"].open == "2021-02"
    assert by_product(books)["V", "Q"] == -7  # January is closed to its last day


@pytest.mark.parametrize("over_time", ["sum", "closing"])
@pytest.mark.parametrize("periods", ["quarter 2025-Q1 2025-Q2", "year 2024 2025", "month 2025-05 2025-06"])
def test_the_last_loaded_period_of_books_by_quarter_or_year_is_loaded_to_its_end(
    tmp_path: Path, periods: str, over_time: str
) -> None:
    grain, before, last = periods.split()
    rows = "\n".join(f"{period} {scenario} e1 10" for period in (before, last) for scenario in ("actual", "budget"))
    books = small_books(
        tmp_path,
        facts={"hr": f"period scenario entity heads\n{rows}\n{last} budget e2 5"},
        domains={
            "hr": f"""
            time: {{column: period, grain: {grain}}}
            dimensions: {{entity: entity}}
            measures: {{heads: {{places: 0}}}}
            metrics:
              heads: {{measure: heads, over_time: {over_time}}}
            """
        },
        dimensions="entity: {kind: leaf}",
    )
    report = books.metric("heads", scenarios=BOTH, period=last, dimensions=["entity"])
    assert figures(report, "alias", "entity")["V", "e2"] == -5
    assert "open_period" not in codes(report)
    whole = books.metric("heads", scenarios=BOTH, period=(before, last), dimensions=["entity"])
    found = figures(whole, "alias", "entity")
    assert (found["V", "e1"], found["V", "e2"], found["V", None]) == (0, -5, -5)


def test_periods_without_a_row_yet_are_not_open(tmp_path: Path) -> None:
    closed = "actual: {alias: A, kind: actual, closed_through: 2021-01}\nbudget: {alias: B, kind: budget}"
    books = ledger(tmp_path, "2021-01-05 actual P 30\n2021-03-05 actual P 5", scenarios=closed)
    for period, opened in ((("2021-01", "2021-12"), "2021-02..2021-03"), ("2021-03", "2021-03"), ("2021-04", None)):
        report = books.metric("revenue", scenarios={"A": "actual"}, period=period)
        assert report.freshness["gl"]["actual"].open == opened


def test_t29_different_coverage_is_said(tmp_path: Path) -> None:
    months = [f"2021-{month:02}-05" for month in range(1, 13)]
    rows = "\n".join([f"{day} actual P 10" for day in months] + [f"{day} budget P 10" for day in months[:5]])
    books = ledger(tmp_path, rows)
    report = books.metric("revenue", scenarios=BOTH, period=("2021-01", "2021-12"))
    assert figures(report, "alias")["V"] == 70
    said = dict.fromkeys(note.message for note in report.notes if note.code == "scenario_partial")
    assert list(said) == ["budget: 5 of 12 months of gl."]
    shared = books.metric("revenue", scenarios=BOTH, period=("2021-01", "2021-05"))
    assert figures(shared, "alias")["V"] == 0
    assert "scenario_partial" not in codes(shared)


def test_t32_a_scenario_without_any_row_is_a_blank_column(tmp_path: Path) -> None:
    books = ledger(tmp_path, "2021-01-05 actual P 30")
    columns = {"F": "forecast", "V": "var(actual,forecast)"}
    report = books.metric("revenue", scenarios=columns, period="2021-01")
    assert figures(report, "alias") == {"F": None, "V": None}
    assert codes(report) == {"not_loaded"}


def test_t33_zero_is_not_nothing(tmp_path: Path) -> None:
    books = ledger(tmp_path, "2021-01-05 actual P 10\n2021-02-05 actual P 0")
    report = books.metric("revenue", scenarios={"A": "actual"}, period=("2021-01", "2021-03"), dimensions=["period"])
    assert figures(report, "period") == {"2021-01": 10, "2021-02": 0, "2021-03": None, None: 10}
    assert [row["values"] for row in answer(report, UNCUT)["rows"]] == [[10], [0], [None], [10]]


def test_t47_subtotals_are_not_added_again(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "gl": """
            date       scenario nature       amount
            2021-01-05 actual   gross      100
            2021-01-05 actual   deductions -30
            2021-01-05 actual   cost       -50
            """
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {nature: nature}
            measures: {amount: {places: 2}}
            metrics:
              gross: {measure: amount, where: {nature: gross}}
              deductions: {measure: amount, where: {nature: deductions}}
              cost: {measure: amount, where: {nature: cost}}
              net: {formula: gross + deductions}
            """
        },
        dimensions="nature: {kind: leaf}",
        statements={
            "pnl": """
              - {metric: gross}
              - {metric: deductions}
              - {metric: net, style: subtotal}
              - {metric: cost}
              - {formula: {key: margin, label: Margin, is: net + cost}, style: total}
            """
        },
    )
    report = books.statement("pnl", scenarios={"A": "actual"}, period="2021-01")
    assert figures(report, "line") == {"gross": 100, "deductions": -30, "net": 70, "cost": -50, "margin": 20}


def test_t51_two_domains_with_opposite_signs(tmp_path: Path) -> None:
    def domain(prefix: str, sign: str) -> str:
        return f"""
            time: {{column: date}}
            dimensions: {{nature: nature}}
            measures: {{amount: {{places: 2}}}}
            metrics:
              {prefix}revenue: {{measure: amount, where: {{nature: revenue}}, sign: {sign}}}
              {prefix}expense: {{measure: amount, where: {{nature: expense}}}}
        """

    books = small_books(
        tmp_path,
        facts={
            "gl": "date scenario nature amount\n2021-01-05 actual revenue -100\n2021-01-05 actual expense 60",
            "plan": "date scenario nature amount\n2021-01-05 actual revenue 95\n2021-01-05 actual expense 58",
        },
        domains={"gl": domain("", "negate"), "plan": domain("plan_", "keep")},
        dimensions="nature: {kind: leaf}",
        statements={
            "pnl": """
              - {formula: {key: profit, label: Profit, is: revenue - expense}}
              - {formula: {key: planned, label: Planned, is: plan_revenue - plan_expense}}
              - {formula: {key: difference, label: Difference, is: profit - planned}}
            """
        },
    )
    report = books.statement("pnl", scenarios={"A": "actual"}, period="2021-01")
    assert figures(report, "line") == {"profit": 40, "planned": 37, "difference": 3}


def test_t61_variance_of_unrounded_figures(tmp_path: Path) -> None:
    books = ledger(tmp_path, "2021-01-05 actual P 1.449\n2021-01-05 budget P 1.351")
    report = books.metric("revenue", scenarios=BOTH, period="2021-01", decimals=1)
    assert figures(report, "alias")["V"] == Decimal("0.098")
    shown = repr(report)
    assert all(text in shown for text in ("1.4", "+0.1", "+7.3%"))


def test_t61_variance_beside_one_that_lacks_a_side_is_of_unrounded_figures(tmp_path: Path) -> None:
    books = ledger(tmp_path, "2021-01-05 actual P 1.449\n2021-01-05 budget P 1.351\n2021-01-05 actual Q 2.002")
    found = by_product(books)
    assert (found["V", "P"], found["V", "Q"], found["V", None]) == (Decimal("0.098"), Decimal("2.002"), Decimal("2.1"))


def test_variants_multiply_rows_before_anything_else(tmp_path: Path) -> None:
    scenarios = """
        actual: {alias: A, kind: actual}
        budget:
          alias: B
          kind: budget
          variants:
            downside:
              label: Downside
              adjust:
                - {where: {product: P}, factor: 0.92}
                - {where: {product: [P, Q]}, factor: 0.5}
    """
    books = ledger(tmp_path, "2021-01-05 budget P 100\n2021-01-05 budget Q 40\n2021-01-05 budget R 1", scenarios)
    columns = {"B": "budget", "D": "budget/downside", "V": "var(budget/downside,budget)"}
    report = books.metric("revenue", scenarios=columns, period="2021-01", dimensions=["product"])
    found = figures(report, "alias", "product")
    assert [found["D", product] for product in ("P", "Q", "R", None)] == [46, 20, 1, 67]
    assert found["V", None] == -74
    assert figure(books.metric("revenue", scenarios={"D": "budget/downside"}, period="2021-01")) == 67
    unknown = books.metric("revenue", scenarios={"U": "budget/upside", "B": "budget"}, period="2021-01")
    assert codes(unknown) == {"unknown_scenario"}


def test_an_adjustment_touches_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    domain = """
        time: {column: date}
        dimensions: {product: product%s}
        measures: {amount: {places: 2}, units: {type: number}}
        metrics:
          %srevenue: {measure: amount}
          %ssold: {measure: units}
    """
    books = small_books(
        tmp_path,
        facts={
            "gl": """
            date       scenario product region amount units
            2021-01-05 budget   P       EU     100    1
            2021-01-05 budget   P       US     40     2
            2021-01-05 budget   Q       EU     7      4
            """,
            "plan": "date scenario product amount units\n2021-01-05 budget P 10 8",
        },
        domains={"gl": domain % (", region: region", "", ""), "plan": domain % ("", "plan_", "plan_")},
        dimensions="product: {kind: leaf}\nregion: {kind: leaf}",
        statements={"pnl": "- {metric: revenue}\n- {metric: sold}\n- {metric: plan_revenue}\n- {metric: plan_sold}"},
        scenarios="""
            budget:
              alias: B
              kind: budget
              variants:
                low:
                  label: Low
                  adjust: [{where: {product: P, region: EU}, factor: 0.5, measures: [amount]}]
        """,
    )
    report = books.statement("pnl", scenarios={"X": "budget/low"}, period="2021-01")
    assert figures(report, "line") == {"revenue": 50 + 40 + 7, "sold": 7, "plan_revenue": 10, "plan_sold": 8}
    assert [dict(note.about)["domain"] for note in report.notes if note.code == "variant_untouched"] == ["plan"]


def test_weekends_are_no_difference_of_coverage(tmp_path: Path) -> None:
    days = {"2020": (1, 2, 3, 6, 7, 8, 9, 10), "2021": (1, 4, 5, 6, 7, 8)}  # the working days of both weeks
    rows = "\n".join(f"{year}-01-{day:02} actual 1" for year, held in days.items() for day in held)
    books = small_books(
        tmp_path,
        facts={"gl": f"date scenario amount\n{rows}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
            """
        },
    )
    variance = {"V": "var(actual,actual@py)"}
    alike = books.metric("revenue", scenarios=variance, period=("2021-01-01", "2021-01-10"))
    assert figure(alike) == 6 - 8
    assert "scenario_partial" not in codes(alike)
    longer = books.metric("revenue", scenarios=variance, period=("2021-01-01", "2021-01-31"))
    assert "scenario_partial" not in codes(longer)
    earlier = books.metric("revenue", scenarios={"V": "var(actual,actual@pp14)"}, period=("2021-01-04", "2021-01-24"))
    assert "scenario_partial" in codes(earlier)
