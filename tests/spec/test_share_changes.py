"""Changes of shares: the share of one scenario less that of another, in percentage points, or relative to the second.

The shares are fractions of the figures that the books were written with.

Rules: Views, Variances.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.requests import Condition
from engine.report.data import Comparison
from engine.report.snapshots import keep, opened
from tests.spec.test_views import SHOP, of
from tests.support.answers.drills import calls
from tests.support.answers.reader import answer
from tests.support.books.explained import explained
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, granting, small_books

CHANGE = "var(share(actual),share(budget))"
JANUARY: dict[str, Any] = {"period": "2021-01", "dimensions": ["customer"]}
ACTUAL = {"C1": 100, "C2": 300, "C4": 50, "C5": -20}  # of January
BUDGET = {"C1": 400, "C2": 100}
SALES, PLAN = sum(ACTUAL.values()), sum(BUDGET.values())


@pytest.fixture
def shop(tmp_path: Path) -> Door:
    """Sales of five customers, and a budget of two."""
    return small_books(tmp_path, **SHOP)


def of_plan(customer: str) -> Fraction:
    """Return the share of a customer in the budget."""
    return Fraction(BUDGET.get(customer, 0), PLAN)


def test_a_change_of_shares_is_in_percentage_points(shop: Door) -> None:
    report = shop.metric("revenue", scenarios={"V": CHANGE}, **JANUARY)
    expected = {customer: Fraction(sales, SALES) - of_plan(customer) for customer, sales in ACTUAL.items()}
    assert of(report) == {**expected, "total": 0}
    assert sum(expected.values()) == 0
    assert report.columns[0].comparison is Comparison.POINTS
    assert set(report.frame["unit"]) == {"pp"}
    result = answer(report, 100_000)
    assert result["scenarios"][0]["unit"] == "pp"
    assert result["rows"][0]["values"] == [-0.567441860465116]
    again = opened(keep(report), shop.reader)
    assert answer(again, 100_000) == result  # type: ignore[arg-type]  # what was kept is a report


def test_a_relative_change_divides_by_the_second_share(shop: Door) -> None:
    report = shop.metric("revenue", scenarios={"V": "var_pct(share(actual),share(budget))"}, **JANUARY)
    assert of(report) == {
        "C1": (Fraction(100, SALES) - of_plan("C1")) / of_plan("C1"),
        "C2": (Fraction(300, SALES) - of_plan("C2")) / of_plan("C2"),
        "C4": None,
        "C5": None,
        "total": 0,
    }
    (note,) = (note for note in report.notes if note.code == "no_divisor")
    assert dict(note.about)["members"] == ("C4", "C5")
    assert set(report.frame["unit"]) == {"fraction"}


def test_others_and_sub_totals_have_changes_of_their_own(shop: Door) -> None:
    columns = {"A": "actual", "V": CHANGE}
    top = shop.metric("revenue", scenarios=columns, order_by="A", top=1, **JANUARY)
    assert of(top)["(others)"] == Fraction(SALES - 300, SALES) - of_plan("C1")
    asked: dict[str, Any] = {"period": ("2021-01", "2021-02"), "dimensions": ["region", "customer"], "subtotals": True}
    parent = {"V": "var(share(actual,parent),share(actual@pp,parent))"}
    nested = of(shop.metric("revenue", scenarios=parent, **{**asked, "period": "2021-02"}))
    assert nested["US/C1"] is None  # nothing of January is in the US
    whole = of(shop.metric("revenue", scenarios={"V": CHANGE}, **{**asked, "period": "2021-01"}))
    assert (whole["EU"], whole["EU/C2"]) == (0, Fraction(300, SALES) - of_plan("C2"))


def test_a_change_of_common_size_divides_by_a_line(shop: Door) -> None:
    columns = {"V": "var(share(actual,revenue),share(budget,revenue))"}
    report = shop.statement("pl", scenarios=columns, period="2021-01")
    assert [of(report, 0, line)["total"] for line in range(3)] == [0, None, None]
    assert {note.code for note in report.notes} >= {"no_share"}
    by_customer = shop.statement("pl", scenarios={"V": "var(share(actual,half),share(budget,half))"}, **JANUARY)
    assert of(by_customer, 0, 0)["C1"] == 0  # twice the half in both


def test_what_a_side_lacks_counts_as_0_where_it_does_in_a_variance(shop: Door) -> None:
    year = shop.metric("revenue", scenarios={"V": CHANGE}, period="2021", dimensions=["customer"])
    assert of(year)["C3"] is None  # the budget is loaded for January alone
    assert "open_period" in codes(year)
    assert of(year)["C1"] == Fraction(120, 500) - of_plan("C1")
    none = shop.metric("revenue", scenarios={"V": "var(share(actual),share(actual@py))"}, **JANUARY)
    assert set(of(none).values()) == {None}
    assert "outside_books" in codes(none)


def test_both_shares_are_of_what_the_caller_sees_of_both(shop: Door, tmp_path: Path) -> None:
    seen = granting(tmp_path, "{actual: {}, budget: {dimensions: {customer: {allow: [C1]}}}}")
    report = seen.metric("revenue", scenarios={"A": "share(actual)", "V": CHANGE}, **JANUARY)
    assert of(report) == {"C1": 0, "C2": None, "C4": None, "C5": None, "total": 0}
    assert of(report, 0)["C1"] == Fraction(100, SALES)
    assert "scope_differs" in codes(report)
    hidden = granting(tmp_path, "{actual: {}}").metric("revenue", scenarios={"A": "actual", "V": CHANGE}, **JANUARY)
    unknown = shop.metric("revenue", scenarios={"A": "actual", "V": "var(share(actual),share(none))"}, **JANUARY)
    assert [codes(each) for each in (hidden, unknown)] == [{"unknown_scenario"}, {"unknown_scenario"}]


def test_the_rows_behind_a_change_are_those_of_both_sides(shop: Door) -> None:
    result = answer(shop.metric("revenue", scenarios={"V": CHANGE}, **JANUARY), 100_000)
    row = next(row for row in result["rows"] if row.get("key") == "C1")
    sums = {sign: rows_of(shop, **call)["contribution_total"] for sign, _, call in calls(row, result["columns"][0])}
    assert sums == {"+": 100, "-": 400}


def test_conditions_test_a_change_and_nothing_is_ordered_by_it(shop: Door) -> None:
    columns = {"A": "actual", "V": CHANGE}
    gained = shop.metric("revenue", scenarios=columns, having=[Condition(column="V", min=0.1)], **JANUARY)
    assert list(of(gained)) == ["C2", "C4", "(others)", "total"]
    for ranking, field in (({"order_by": "V"}, "order_by"), ({"top": 1}, "top")):
        shown = columns if "order_by" in ranking else dict(reversed(columns.items()))
        with pytest.raises(BadArguments) as refusal:
            shop.metric("revenue", scenarios=shown, **ranking, **JANUARY)
        told = refusal.value.as_data()
        assert (told["field"], told["valid"]) == (field, ["A"])


@pytest.mark.parametrize(
    "reference",
    [
        "var(share(actual),budget)",
        "var(share(actual))",
        "var(share(actual),share(budget,parent))",
        "var(share(var(actual,budget)),share(budget))",
        "var(share(actual),share(budget),share(actual@pp))",
        "var(rank(actual),share(budget))",
        "rank(var(share(actual),share(budget)))",
        "running(var(share(actual),share(budget)))",
        "share(var(share(actual),share(budget)))",
    ],
)
def test_what_is_no_change_of_shares_is_refused_with_one_that_works(shop: Door, reference: str) -> None:
    with pytest.raises(BadArguments) as refusal:
        shop.metric("revenue", scenarios={"V": reference}, **JANUARY)
    told = refusal.value.as_data()
    assert told["field"] == "scenarios.0.scenario"
    assert "is no column" in told["error"]
    for form in told["valid"]:
        shop.metric("revenue", scenarios={"V": form}, **{**JANUARY, "period": "2021-02"})


def test_a_change_that_no_line_has_is_refused(shop: Door) -> None:
    for metric in ("price", "largest"):
        with pytest.raises(BadArguments, match="do not add up"):
            shop.metric(metric, scenarios={"V": CHANGE}, **JANUARY)
    with pytest.raises(BadArguments, match="columns of a report"):
        explained(shop, "revenue", "customer", scenarios=(CHANGE, "budget"))
