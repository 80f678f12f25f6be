"""Conditions on the figures of members: who meets them is shown, and one row holds the others.

Rules: Conditions.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.requests import Condition
from engine.report import ranking
from engine.report.snapshots import keep, opened
from tests.spec.test_views import SHOP, of
from tests.support.answers.drills import calls
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.small import small_books

BOTH = {"A": "actual", "B": "budget", "Variance": "var(actual,budget)", "Share": "share(actual)"}
ASKED: dict[str, Any] = {"scenarios": BOTH, "period": "2021", "dimensions": ["customer"]}


@pytest.fixture
def shop(tmp_path: Path) -> Door:
    """Sales of five customers by region: C1 120, C2 300, C3 50, C4 50, C5 -20; a budget of two."""
    return small_books(tmp_path, **SHOP)


def test_members_that_meet_a_condition_stand_in_their_order_before_the_others(shop: Door) -> None:
    report = shop.metric("revenue", having=[Condition(column="A", min=50.0)], **ASKED)
    assert of(report, 0) == {"C1": 120, "C2": 300, "C3": 50, "C4": 50, "(others)": -20, "total": 500}
    report = shop.metric("revenue", having=[Condition(column="A", min=50.01)], **ASKED)
    assert of(report, 0) == {"C1": 120, "C2": 300, "(others)": 80, "total": 500}
    assert (report.places[2].holds, report.places[2].unmet) == (3, 3)
    nobody = shop.metric("revenue", having=[Condition(column="A", min=1000.0)], **ASKED)
    assert of(nobody, 0) == {"(others)": 500, "total": 500}


def test_with_top_the_condition_comes_first_and_the_others_say_both_counts(shop: Door) -> None:
    report = shop.metric("revenue", having=[Condition(column="A", max=299.0)], order_by="A", top=1, **ASKED)
    assert of(report, 0) == {"C1": 120, "(others)": 380, "total": 500}
    assert (report.places[1].holds, report.places[1].unmet) == (4, 1)
    (row,) = (row for row in answer(report, 100_000)["rows"] if row["kind"] == "others")
    assert (row["holds"], row["unmet"]) == (4, 1)
    again = opened(keep(report), shop.reader)
    assert answer(again, 100_000) == answer(report, 100_000)  # type: ignore[arg-type]  # what was kept is a report


@pytest.mark.parametrize(
    ("conditions", "shown"),
    [
        ([Condition(column="Variance", is_="favourable")], ["C2"]),
        ([Condition(column="Variance", is_="unfavourable")], ["C1"]),
        ([Condition(column="Variance", is_="missing")], ["C3", "C4", "C5"]),
        ([Condition(column="B", is_="missing"), Condition(column="A", min=0.0)], ["C3", "C4"]),
        ([Condition(column="Share", min=0.24)], ["C1", "C2"]),
        ([Condition(column="A", min=0.0, max=50.0)], ["C3", "C4"]),
    ],
)
@pytest.mark.parametrize("small", [0, 1_000])  # members, above which sums stay in frames
def test_conditions_are_joined_by_and(
    shop: Door, monkeypatch: pytest.MonkeyPatch, conditions: list[Condition], shown: list[str], small: int
) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", small)
    report = shop.metric("revenue", having=conditions, **ASKED)
    found = [place.members[0].id for place in report.places[:-1]]
    assert found == [*shown, "(others)"]


def test_a_running_sum_passes_over_the_members_that_a_condition_leaves_out(shop: Door) -> None:
    """In the order of sales it is 300, 420, 470, 520 and 500; a condition cuts after it is worked out."""
    columns = {"A": "actual", "R": "running(actual)", "S": "running(share(actual))"}
    asked = {**ASKED, "scenarios": columns, "order_by": "A"}
    first = shop.metric("revenue", having=[Condition(column="R", max=470.0)], **asked)
    assert of(first, 1) == {"C2": 300, "C1": 420, "C3": 470, "(others)": 500, "total": 500}
    last = shop.metric("revenue", having=[Condition(column="A", max=50.0)], **asked)
    assert of(last, 1) == {"C3": 470, "C4": 520, "C5": 500, "(others)": 500, "total": 500}
    assert of(last, 2) == {key: Fraction(figure) / 500 for key, figure in of(last, 1).items() if figure is not None}
    one = shop.metric(
        "revenue", having=[Condition(column="S", min=0.9), Condition(column="A", min=0.0)], top=1, **asked
    )
    assert of(one, 1) == {"C3": 470, "(others)": 500, "total": 500}
    assert (one.places[1].holds, one.places[1].unmet) == (4, 3)
    nested = {**ASKED, "scenarios": columns, "dimensions": ["region", "customer"], "subtotals": True}
    regions = of(shop.metric("revenue", having=[Condition(column="A", max=100.0)], **nested), 1)
    assert (regions["US"], regions["US/C3"], regions["(others)"]) == (500, 70, 500)


@pytest.mark.parametrize("small", [0, 1_000])
def test_a_running_sum_beside_a_condition_is_the_same_where_members_are_many(
    shop: Door, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", small)
    columns = {"A": "actual", "R": "running(actual)"}
    report = shop.metric("revenue", having=[Condition(column="A", max=50.0)], **{**ASKED, "scenarios": columns})
    assert of(report, 1) == {"C3": 470, "C4": 520, "C5": 500, "(others)": 500, "total": 500}


def test_a_condition_is_on_the_total_over_the_second_dimension(shop: Door) -> None:
    asked = {**ASKED, "dimensions": ["customer", "region"]}
    report = shop.metric("revenue", having=[Condition(column="A", min=110.0)], **asked)
    assert list(of(report, 0)) == ["C1/EU", "C1/US", "C2/EU", "(others)/EU", "(others)/US", "total"]
    nested = shop.metric("revenue", having=[Condition(column="A", min=110.0)], subtotals=True, **asked)
    assert list(of(nested, 0))[:5] == ["C1", "C1/EU", "C1/US", "C2", "C2/EU"]
    assert of(nested, 0)["(others)"] == 80
    of_months = {**ASKED, "dimensions": ["customer", "period"], "period": ("2021-01", "2021-02")}
    by_month = shop.metric("revenue", having=[Condition(column="A", min=120.0)], subtotals=True, **of_months)
    assert of(by_month, 0)["C1"] == 120
    assert "C3" not in of(by_month, 0)


def test_the_rows_behind_the_others_make_them(shop: Door) -> None:
    report = shop.metric(
        "revenue", having=[Condition(column="A", min=100.0)], **{**ASKED, "scenarios": {"A": "actual"}}
    )
    result = answer(report, 100_000)
    (row,) = (row for row in result["rows"] if row["kind"] == "others")
    ((_, _, asked),) = calls(row, result["columns"][0])
    assert rows_of(shop, **asked)["contribution_total"] == row["values"][0] == 80


def test_a_ratio_of_the_others_divides_their_sums(shop: Door) -> None:
    report = shop.metric(
        "price", having=[Condition(column="price", min=12.0)], **{**ASKED, "scenarios": {"A": "actual"}}
    )
    assert of(report, 0) == {
        "C2": 15,
        "C3": Fraction(25, 2),
        "(others)": Fraction(150, 17),
        "total": Fraction(500, 41),
    }


@pytest.mark.parametrize(
    ("conditions", "asked", "field", "words"),
    [
        ([Condition(column="C", min=1.0)], {}, "having.0.column", "is no column of this call"),
        ([Condition(column="A")], {}, "having.0", "needs min, max or is"),
        ([Condition(column="A", is_="favourable")], {}, "having.0.is", "is no variance"),
        ([Condition(column="Share", is_="favourable")], {}, "having.0.is", "is no variance"),
        ([Condition(column="sold@Variance", is_="favourable")], {}, "having.0.is", "which direction of sold"),
        ([Condition(column="A", min=float("nan"))], {}, "having.0", "take a number"),
        ([Condition(column="A", min=1.0)] * 11, {}, "having", "are the most"),
        ([Condition(column="A", min=1.0)], {"dimensions": []}, "dimensions", "Name one in dimensions"),
    ],
)
def test_a_condition_on_nothing_is_refused_in_words(
    shop: Door, conditions: list[Condition], asked: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(BadArguments) as refusal:
        metrics = ["revenue", "sold"] if conditions[0].column.startswith("sold") else ["revenue"]
        shop.metric(*metrics, having=conditions, **{**ASKED, **asked})
    told = refusal.value.as_data()
    assert told["field"] == field
    assert words in told["error"]
    if field == "having.0.column":
        for spelling in told["valid"]:
            shop.metric("revenue", having=[Condition(column=spelling, min=1.0)], **ASKED)
