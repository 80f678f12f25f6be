"""Note mixed_units: a sum over members of different units says so.

Rules: Over members.
"""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.instance.documents import InstanceFaults
from engine.report.report import Report
from tests.support.books.small import figure, figures, small_books

A = {"A": "actual"}
ROWS = """
date       scenario product quantity
2021-01-05 actual   bolt    10
2021-01-05 actual   nut     5
2021-01-05 actual   steel   7
2021-01-05 actual   idea    1
2021-02-05 actual   bolt    2
"""
PRODUCTS = """
id    name  unit
bolt  Bolt  pieces
nut   Nut   pieces
steel Steel kg
idea  Idea  -
"""


def books(folder: Path, unit: str = "uom", **more: Any) -> Door:
    """Return quantities of bolts and nuts in pieces, of steel in kilograms, and of an idea without a unit."""
    return small_books(
        folder,
        facts={"stock": ROWS},
        domains={
            "stock": f"""
            time: {{column: date}}
            dimensions: {{product: product}}
            measures: {{quantity: {{type: number, places: 0, unit_from: {unit}}}}}
            metrics:
              quantity: {{measure: quantity}}
              steel: {{measure: quantity, where: {{product: steel}}}}
              double: {{formula: 2 * quantity}}
              movements: {{over_members: count}}
              largest: {{measure: quantity, over_members: max}}
            """
        },
        dimensions="""
            product: {kind: leaf, members: live.product}
            uom: {kind: derived, from: product, attribute: unit}
        """,
        tables={"product": PRODUCTS},
        **more,
    )


def said(report: Report) -> list[dict[str, Any]]:
    """Return the notes on units."""
    return [dict(note.about) for note in report.notes if note.code == "mixed_units"]


MIXED = {"units": "kg, pieces", "scenario": "actual", "dimension": "uom"}


def test_a_sum_over_members_of_different_units_names_them(tmp_path: Path) -> None:
    found = books(tmp_path)
    report = found.metric("quantity", "double", "steel", "movements", "largest", scenarios=A, period="2021-01")
    assert figures(report, "metric") == {"quantity": 23, "double": 46, "steel": 7, "movements": 4, "largest": 10}
    assert said(report) == [{"lines": "quantity, double", **MIXED}]
    by_unit = found.metric("quantity", scenarios=A, period="2021-01", dimensions=["uom"])
    assert said(by_unit) == [{"lines": "quantity", **MIXED}]  # the total still adds them up


def test_members_of_one_unit_add_up_without_a_note(tmp_path: Path) -> None:
    found = books(tmp_path)
    pieces = found.metric("quantity", scenarios=A, period="2021-01", filters={"uom": "pieces"})
    assert (figure(pieces), said(pieces)) == (15, [])
    february = found.metric("quantity", scenarios=A, period="2021-02")
    assert (figure(february), said(february)) == (2, [])


@pytest.mark.parametrize("limit", ["{product: {deny: [steel]}}", "{uom: {deny: [kg]}}"])
def test_units_are_those_that_the_caller_sees(tmp_path: Path, limit: str) -> None:
    profiles = f"seen: {{scenarios: {{actual: {{dimensions: {limit}}}}}}}"
    report = books(tmp_path, profiles=profiles, profile="seen").metric("quantity", scenarios=A, period="2021-01")
    assert (figure(report), said(report)) == (16, [])


def test_a_unit_that_is_no_attribute_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(InstanceFaults, match="stock has no derived dimension 'product'"):
        books(tmp_path, unit="product")
