"""Operands that are not known: what is not loaded is not zero in a sum, but in an open period.

Rules: Nothing.
"""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.notes import NOTES, Note, Severity
from engine.report.report import Report
from tests.support.books.explained import contributions, explained, sides
from tests.support.books.inspected import rows_of
from tests.support.books.small import figures, small_books

SALES = """
    date       scenario amount
    2026-01-20 actual   1840
    2026-02-20 actual   1840
    2026-03-20 actual   1840
    2026-01-20 budget   1840
    2026-02-20 budget   1840
    2026-03-20 budget   1840
"""
WAGES = """
    date       scenario amount
    2026-01-21 actual   1210.5
    2026-02-21 actual   1210.5
    2026-01-21 budget   1210.5
    2026-02-21 budget   1210.5
    2026-03-21 budget   1210.5
"""
DOMAIN = "time: {column: date}\ndimensions: {}\nmeasures: {amount: {places: 2}}\nmetrics: {%s}\n"
METRICS = "turnover: {measure: amount}, surplus: {formula: turnover - wages.wage_cost}, kept: {formula: surplus / 2}"
BY = {"A": "actual", "B": "budget", "V": "var(actual,budget)"}


def two_domains(folder: Path, *, closed: str = "", sales: str = SALES, wages: str = WAGES, **parts: Any) -> Door:
    """Return books of sales and wages, whose surplus is one less the other."""
    scenarios = "".join(f"{key}: {{alias: {key}, kind: {key}{closed}}}\n" for key in ("actual", "budget"))
    return small_books(
        folder,
        facts={"sales": sales, "wages": wages},
        domains={"sales": DOMAIN % METRICS, "wages": DOMAIN % "wage_cost: {measure: amount}"},
        dimensions="month: {kind: leaf, grain: month}",
        scenarios=scenarios,
        **parts,
    )


def note(report: Report, code: str) -> dict[str, Any]:
    """Return the names in the only note of a code."""
    (found,) = (note for note in report.notes if note.code == code)
    return dict(found.about)


def test_an_operand_outside_its_loaded_periods_makes_a_sum_blank(tmp_path: Path) -> None:
    books = two_domains(tmp_path)
    march = books.metric("surplus", scenarios=BY, period="2026-03")
    assert figures(march, "alias") == {"A": None, "B": Decimal("629.5"), "V": None}
    said = note(march, "outside_books")
    assert (said["operands"], said["domain"], said["last"]) == (("wage_cost",), "wages", "2026-02-21")
    by_month = books.metric(
        "surplus", "kept", scenarios={"A": "actual"}, period=("2026-01", "2026-03"), dimensions=["month"]
    )
    assert figures(by_month, "metric", "month")["surplus", "2026-03"] is None
    assert figures(by_month, "metric", "month")["kept", "2026-03"] is None


def test_an_operand_with_a_part_of_its_window_counts_and_is_named(tmp_path: Path) -> None:
    quarter = two_domains(tmp_path).metric("surplus", scenarios={"A": "actual"}, period=("2026-01", "2026-03"))
    assert figures(quarter, "alias") == {"A": Decimal(3099)}
    (said,) = (known for known in quarter.notes if known.code == "operand_partial")
    assert said.message == (
        "'surplus' in actual counts 'wage_cost' for 2 of 3 months: wages is loaded from 2026-01-21 to 2026-02-21 "
        "alone. Not loaded: '2026-03'."
    )


def test_in_an_open_period_a_missing_operand_counts_as_0_and_is_named(tmp_path: Path) -> None:
    books = two_domains(tmp_path, closed=", closed_through: 2026-02")
    march = books.metric("surplus", "kept", scenarios={"A": "actual"}, period="2026-03")
    assert figures(march, "metric") == {"surplus": Decimal(1840), "kept": Decimal(920)}
    said = note(march, "open_period")
    assert (said["lines"], said["operands"]) == (("surplus", "kept"), ("wage_cost",))


@pytest.mark.parametrize(("sign", "is_named"), [(">", True), ("<", False)])
def test_an_operand_of_the_branch_that_is_not_taken_is_not_named(tmp_path: Path, sign: str, is_named: bool) -> None:
    metrics = METRICS.replace(
        "kept: {formula: surplus / 2}", f"kept: {{formula: 'if(turnover {sign} 0, surplus, turnover)'}}"
    )
    facts = {"sales": SALES, "wages": WAGES}
    domains = {"sales": DOMAIN % metrics, "wages": DOMAIN % "wage_cost: {measure: amount}"}
    opened = "actual: {alias: A, kind: actual, closed_through: 2026-02}\nbudget: {alias: B, kind: budget}\n"
    books = small_books(tmp_path / "open", facts=facts, domains=domains, dimensions="{}", scenarios=opened)
    march = books.metric("kept", scenarios={"A": "actual"}, period="2026-03")
    assert figures(march, "metric") == {"kept": Decimal(1840)}
    assert ("open_period" in {known.code for known in march.notes}) is is_named
    books = small_books(tmp_path / "part", facts=facts, domains=domains, dimensions="{}")
    quarter = books.metric("kept", scenarios={"A": "actual"}, period=("2026-01", "2026-03"))
    assert ("operand_partial" in {known.code for known in quarter.notes}) is is_named


def test_a_scenario_without_any_row_of_a_domain_makes_sums_blank(tmp_path: Path) -> None:
    actuals = "\n".join(line for line in WAGES.splitlines() if "budget" not in line)
    report = two_domains(tmp_path, wages=actuals).metric("surplus", scenarios={"B": "budget"}, period="2026-02")
    assert figures(report, "alias") == {"B": None}
    said = note(report, "not_loaded")
    assert (said["scenario"], said["domain"], said["operands"]) == ("budget", "wages", ("wage_cost",))


def test_a_row_that_is_missing_in_loaded_periods_is_0(tmp_path: Path) -> None:
    gap = "\n".join(line for line in WAGES.splitlines() if "2026-02-21 budget" not in line)
    report = two_domains(tmp_path, wages=gap).metric("surplus", scenarios={"B": "budget"}, period="2026-02")
    assert figures(report, "alias") == {"B": Decimal(1840)}
    assert not {known.code for known in report.notes} & {"outside_books", "not_loaded", "operand_partial"}


STOCK = """
    date       scenario product amount
    2026-01-31 actual   A       512.2
    2026-02-28 actual   A       498.75
    2026-03-31 actual   A       530
"""


def test_a_first_opening_is_unknown_of_balances_and_0_of_movements(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={"stock": STOCK},
        domains={
            "stock": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              close: {measure: amount, over_time: closing}
              open: {measure: amount, over_time: opening}
              cash: {formula: open - close}
              moved: {measure: amount, over_time: {to_date: books}}
              moved_before: {measure: amount, over_time: {opening: {to_date: books}}}
              movement: {formula: moved - moved_before}
            """
        },
        dimensions="product: {kind: leaf}\nmonth: {kind: leaf, grain: month}",
    )
    for by, member in (("month", "2026-01"), ("product", "A")):
        january = books.metric("cash", "movement", scenarios={"A": "actual"}, period="2026-01", dimensions=[by])
        expected = {"cash": None, "movement": Decimal("512.2")}
        assert figures(january, "metric", by) == {
            (metric, key): amount for metric, amount in expected.items() for key in (member, None)
        }
    february = books.metric("cash", scenarios={"A": "actual"}, period="2026-02")
    assert figures(february, "alias") == {"A": Decimal("13.45")}
    month = {"period_start": "2026-01", "period_end": "2026-01"}
    rows = rows_of(books, source_key="stock", filters={"metric": "cash"}, **month)
    assert (rows["rows"], rows["contribution_total"]) == ([], None)
    assert [said["code"] for said in rows["notes"]] == ["outside_books"]


def test_an_explanation_by_time_adds_up_though_a_month_of_an_operand_is_not_loaded(tmp_path: Path) -> None:
    books = two_domains(tmp_path)
    (by_month,) = explained(books, "surplus", "month", period=("2026-01", "2026-03")).lists
    assert contributions(by_month) == [("2026-03", Fraction("1210.5")), ("2026-01", 0), ("2026-02", 0)]
    assert sides(by_month.rows)["2026-03"] == (Fraction(1840), Fraction("629.5"))


@pytest.mark.parametrize("code", ["outside_books", "not_loaded", "open_period", "operand_partial"])
def test_notes_on_what_is_not_known_are_cautions(code: str) -> None:
    assert NOTES[code].severity is Severity.CAUTION


def test_a_note_of_operands_has_a_sentence_of_its_own() -> None:
    whole = Note.of("not_loaded", scenario="budget", domain="wages", lines=("a",))
    assert whole.message == "'a' is blank: budget has no rows of wages in any period."
    of_one = whole.with_names(operands=("b",))
    assert of_one.message == "'a' is blank: 'b' is unknown, for budget has no rows of wages in any period."
    assert of_one.as_data()["operands"] == ["b"]


@pytest.mark.parametrize(
    ("wages", "expected"),
    [
        ("2026-02-05 budget P 1", {"P": 10 - 3 - (4 - 1), "Q": 20 - 5, None: 30 - 8 - (4 - 1)}),
        ("2026-03-05 budget P 1", {"P": None, "Q": None, None: None}),  # the budget has sales and no wages then
    ],
)
def test_a_missing_side_of_a_formula_counts_as_0_if_it_does_for_every_metric(
    tmp_path: Path, wages: str, expected: dict[str | None, int | None]
) -> None:
    domain = "time: {{column: date}}\ndimensions: {{product: product}}\nmeasures: {{amount: {{places: 2}}}}\nmetrics:\n"
    books = small_books(
        tmp_path,
        facts={
            "gl": "date scenario product amount\n2026-02-05 actual P 10\n2026-02-05 actual Q 20\n2026-02-05 budget P 4",
            "pay": f"date scenario product amount\n2026-02-05 actual P 3\n2026-02-05 actual Q 5\n{wages}",
        },
        domains={
            "gl": f"{domain.format()}  sales: {{measure: amount}}",
            "pay": f"{domain.format()}  wages: {{measure: amount}}\n  surplus: {{formula: gl.sales - wages}}",
        },
        dimensions="product: {kind: leaf}",
        scenarios="actual: {alias: A, kind: actual}\nbudget: {alias: B, kind: budget}",
    )
    report = books.metric("surplus", scenarios={"V": "var(actual,budget)"}, period="2026-02", dimensions=["product"])
    assert figures(report, "product") == expected
