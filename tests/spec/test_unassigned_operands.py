"""Operands that have no rows under a filter or a member, because their rows carry no member: the note names them.

Rules: Nothing.
"""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.report.report import Report
from tests.support.books.small import small_books

ROWS = """
    date       scenario product region account amount
    2026-01-10 actual   pro     north  sales   100
    2026-01-10 actual   lite    north  sales   60
    2026-01-11 actual   pro     north  goods   51
    2026-01-12 actual   -       north  wages   30
    2026-01-12 actual   -       south  wages   4
    2026-01-13 actual   lite    north  travel  5
    2026-02-10 actual   pro     north  sales   10
    2026-02-12 actual   -       -      rent    7
"""
DOMAIN = """
time: {column: date}
dimensions: {account: account, product: product, region: region}
measures: {amount: {places: 2}}
metrics:
  sales: {measure: amount, where: {account: sales}}
  goods: {measure: amount, where: {account: goods}}
  wages: {measure: amount, where: {account: wages}}
  rent: {measure: amount, where: {account: rent}}
  travel: {measure: amount, where: {account: travel}}
  ebitda: {formula: sales - goods - wages}
  after_travel: {formula: sales - travel}
  after_rent: {formula: sales - rent}
  share: {formula: ebitda / sales}
"""
DIMENSIONS = "account: {kind: leaf}\nproduct: {kind: leaf}\nregion: {kind: leaf}\nmonth: {kind: leaf, grain: month}\n"
SEEN = "seen: {scenarios: {actual: {dimensions: {%s}}}}"
A = {"A": "actual"}


def books(folder: Path, **parts: Any) -> Door:
    """Return books whose wages and rent carry no product."""
    return small_books(folder, facts={"gl": ROWS}, domains={"gl": DOMAIN}, dimensions=DIMENSIONS, **parts)


def operands(report: Report) -> list[tuple[Any, ...]]:
    """Return lines, operand, amount and dimension of each note on operands without a member."""
    about = [dict(note.about) for note in report.notes if note.code == "operand_unassigned"]
    return [(known["lines"], known["operand"], known["amount"], known["dimension"]) for known in about]


def test_a_filter_that_leaves_out_rows_without_a_member_names_the_operand(tmp_path: Path) -> None:
    report = books(tmp_path).metric("share", scenarios=A, period="2026-01", filters={"product": ["pro"]})
    assert operands(report) == [(("share",), "wages", "34", "product")]
    (note,) = (known for known in report.notes if known.code == "operand_unassigned")
    assert note.message == "'share' counts nothing of wages there: 34 of it in actual has no product."


def test_a_breakdown_names_the_operand_once(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"scenarios": A, "period": ("2026-01", "2026-02"), "dimensions": ["product", "month"]}
    report = books(tmp_path).metric("ebitda", "share", **asked)
    assert operands(report) == [(("ebitda", "share"), "wages", "34", "product")]


def test_a_member_is_compared_with_the_rows_without_one(tmp_path: Path) -> None:
    report = books(tmp_path).metric("ebitda", "after_travel", scenarios=A, period="2026-01", dimensions=["product"])
    assert operands(report) == [(("ebitda",), "wages", "34", "product")]


def test_other_filters_stay(tmp_path: Path) -> None:
    filters = {"product": ["pro"], "region": ["north"]}
    report = books(tmp_path).metric("ebitda", scenarios=A, period="2026-01", filters=filters)
    assert operands(report) == [(("ebitda",), "wages", "30", "product")]


def test_rows_without_a_member_of_two_filters_are_found(tmp_path: Path) -> None:
    filters = {"product": ["pro"], "region": ["north"]}
    report = books(tmp_path).metric("after_rent", scenarios=A, period="2026-02", filters=filters)
    assert operands(report) == [(("after_rent",), "rent", "7", "product and no region")]


@pytest.mark.parametrize(("scope", "amounts"), [("region: {allow: [north]}", ["30"]), ("product: {allow: [pro]}", [])])
def test_the_amount_is_what_the_caller_sees(tmp_path: Path, scope: str, amounts: list[str]) -> None:
    seen = books(tmp_path, profiles=SEEN % scope, profile="seen")
    report = seen.metric("ebitda", scenarios=A, period="2026-01", filters={"product": ["pro"]})
    assert [amount for _, _, amount, _ in operands(report)] == amounts


def test_an_operand_of_other_members_or_one_that_is_there_is_not_named(tmp_path: Path) -> None:
    seen = books(tmp_path)
    pro = seen.metric("after_travel", scenarios=A, period="2026-01", filters={"product": ["pro"]})
    both = seen.metric("ebitda", scenarios=A, period="2026-01", filters={"product": ["pro", "(unassigned)"]})
    whole = seen.metric("ebitda", scenarios=A, period="2026-01")
    assert [operands(report) for report in (pro, both, whole)] == [[], [], []]


@pytest.mark.parametrize(("limit", "amounts"), [(1000, []), (100, ["34"])])
def test_an_operand_of_the_branch_that_is_not_taken_is_not_named(
    tmp_path: Path, limit: int, amounts: list[str]
) -> None:
    seen = books(tmp_path)
    formula = {"paid": f"if(sales > {limit - 1}, sales - wages, sales)"}
    asked: dict[str, Any] = {"scenarios": A, "period": "2026-01", "formulas": formula}
    by_filter = seen.metric("sales", filters={"product": ["pro"]}, **asked)
    by_member = seen.metric("sales", dimensions=["product"], **asked)
    for report in (by_filter, by_member):
        assert [amount for _, _, amount, _ in operands(report)] == amounts
