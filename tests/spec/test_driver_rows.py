"""Rows of an explanation by drivers: each column adds up to its total.

Rules: Explained variances.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.stopping import never
from engine.present.answers.budget import NOT_KEPT
from engine.present.answers.explanations import explanation_answer
from engine.report.explanation import ExplainedList, Explanation
from engine.report.snapshots import keep, opened
from tests.spec.test_cases_variance import driven
from tests.support.books.explained import MARGINS, explained, fraction, notes, write_books
from tests.support.books.small import small_books


@pytest.mark.parametrize("top", [1, 2, 5])
def test_v09_every_column_of_drivers_adds_up_to_its_total(tmp_path: Path, top: int) -> None:
    shop = write_books(
        tmp_path,
        driven("""
            actual P 100 1200
            actual Q 0 9
            actual R 0 7
            budget P 80 800
            budget Q 5 30
            budget R 1 5
            budget Z 0 3
        """),
    )
    (found,) = explained(shop, "revenue", "entity", drivers=True, top=top).lists
    rows = [row for row in found.rows if row.key != "(volume)"]
    for side, total in (("a", found.a), ("b", found.b)):
        weights = [(getattr(row, side), row.into_parent) for row in rows]
        assert sum((fraction(figure) or 0) * (fraction(weight) or 1) for figure, weight in weights) == fraction(total)
    by_key = {row.key: row for row in rows}
    if top == 5:
        assert (fraction(by_key["Q"].a), fraction(by_key["Q"].b)) == (0, 30)
        assert by_key["Q"].drill is None
        assert by_key["P"].drill


SHELF = (  # product, its line, units and revenue of actual, then of budget
    ("A1", "A", (10, 100), (20, 180)),
    ("A2", "A", (30, 150), (10, 60)),
    ("B1", "B", (20, 400), (20, 380)),
)
Totals = tuple[Fraction, Fraction, Fraction]


def by_definition(members: Mapping[str, Sequence[tuple[int, int]]]) -> Totals:
    """Return volume, mix and price of members with volume on both sides, as the page defines them."""
    u_a, u_b = (Fraction(sum(pairs[side][0] for pairs in members.values())) for side in (0, 1))
    r_b = Fraction(sum(pairs[1][1] for pairs in members.values()))
    mix = sum(
        ((a[0] - u_a * Fraction(b[0]) / u_b) * Fraction(b[1], b[0]) for a, b in members.values()), start=Fraction(0)
    )
    price = sum((a[0] * (Fraction(a[1], a[0]) - Fraction(b[1], b[0])) for a, b in members.values()), start=Fraction(0))
    return (u_a - u_b) * r_b / u_b, mix, price


def together(pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the sums of units and of revenue."""
    return sum(units for units, _ in pairs), sum(revenue for _, revenue in pairs)


def shelf(folder: Path, **parts: Any) -> Door:
    """Return books of products in lines."""
    rows = [
        f"2026-01-05 {scenario} {product} {units} {revenue}"
        for product, _, *sides in SHELF
        for scenario, (units, revenue) in zip(("actual", "budget"), sides, strict=True)
    ]
    return small_books(
        folder,
        facts={"gl": "\n".join(["date scenario product units revenue", *rows])},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {revenue: {places: 2}, units: {places: 0, type: number}}
            inspect_enabled: true
            metrics:
              revenue: {measure: revenue, favourable: up, drivers: {volume: units, price: net_price}}
              units: {measure: units}
              net_price: {formula: revenue / units}
            """
        },
        dimensions="""
        product: {kind: leaf, members: live.product}
        family: {kind: derived, from: product, attribute: family}
        tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={
            "product": "\n".join(["id family", *(f"{product} {line}" for product, line, *_ in SHELF)]),
            "tree": "node parent\n" + "\n".join(["A -", "B -", *(f"{product} {line}" for product, line, *_ in SHELF)]),
        },
        **parts,
    )


def totals(made: ExplainedList) -> dict[str, Fraction]:
    """Return the parts of all rows of a list, once they add up to its variance."""
    each = {name: Fraction(part.numerator, part.denominator) for name, part in made.parts.items()}
    assert sum(each.values()) == fraction(made.variance)
    return each


@pytest.mark.parametrize("top", [1, 10])
def test_the_totals_of_volume_mix_and_price_add_up_to_the_variance(tmp_path: Path, top: int) -> None:
    books = shelf(tmp_path)
    by_line, by_product = explained(books, "revenue", "family", "product", drivers=True, top=top).lists
    products = {product: sides for product, _, *sides in SHELF}
    lines = {
        line: [together([sides[at] for _, of, *sides in SHELF if of == line]) for at in (0, 1)] for line in ("A", "B")
    }
    parts = ("volume", "mix", "price")
    assert totals(by_product) == dict(zip(parts, by_definition(products), strict=True))
    assert totals(by_line) == dict(zip(parts, by_definition(lines), strict=True))


@pytest.mark.parametrize("by", [("family",), ("tree",), ("family", "product")])
def test_mix_inside_the_rows_is_told(tmp_path: Path, by: tuple[str, ...]) -> None:
    books = shelf(tmp_path)
    made = explained(books, "revenue", *by, drivers=True)
    lines = {
        line: [together([sides[at] for _, of, *sides in SHELF if of == line]) for at in (0, 1)] for line in ("A", "B")
    }
    hidden = by_definition({product: sides for product, _, *sides in SHELF})[1] - by_definition(lines)[1]
    assert hidden == -50  # line A turns from A1 at 9 to A2 at 6; the price of neither product moves the total
    (note,) = (note for note in made.notes if note.code == "mix_inside")
    assert note.message == (
        f"'revenue' by {by[0]}: -50 of the price is mix of product inside the rows. Ask by product to see it apart."
    )
    assert totals(made.lists[0])["price"] - hidden == by_definition({p: sides for p, _, *sides in SHELF})[2]
    finest = explained(books, "revenue", "product", drivers=True)
    assert "mix_inside" not in notes(finest)
    assert "mix_inside" not in notes(explained(books, "revenue", *by))


def test_v09_totals_of_drivers(tmp_path: Path) -> None:
    shop = write_books(
        tmp_path,
        driven("""
            actual P 100 1200
            actual Z 0 70
            budget P 80 800
            budget Z 10 50
        """),
    )
    (made,) = explained(shop, "revenue", "entity", drivers=True).lists
    assert totals(made) == {
        "volume": Fraction(850, 9),
        "mix": Fraction(500, 9),
        "price": 200,
        "without_volume": 70,
    }
    answer = explanation_answer(explained(shop, "revenue", "entity", drivers=True), 10_000, NOT_KEPT, never)
    assert answer["lists"][0]["totals"] == {
        "volume": 94.4444444444444,
        "mix": 55.5555555555556,
        "price": 200,
        "without_volume": 70,
    }
    (plain,) = explained(shop, "revenue", "entity").lists
    assert plain.totals is None


def test_v05_totals_of_rate_and_mix_and_what_is_kept(tmp_path: Path) -> None:
    books = write_books(tmp_path, MARGINS)
    whole = explained(books, "margin", "entity", top=1)
    assert totals(whole.lists[0]) == {
        "mix": Fraction(133, 16200) + Fraction(4, 2025) + Fraction(53, 10800),
        "rate": Fraction(181, 5400) + Fraction(7, 240),
    }
    kept = opened(keep(whole), books.reader)
    assert isinstance(kept, Explanation)
    assert kept.lists == whole.lists
