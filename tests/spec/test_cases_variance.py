"""The worked cases of explained variances, V01 to V15; figures come from the cases. Rules: Explained variances."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import encode

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.stopping import never
from engine.present.answers.budget import NOT_KEPT
from engine.present.answers.explanations import explanation_answer
from engine.report.explained_lists import present
from engine.report.explanation import Explanation
from tests.support.books.explained import (
    MARGINS,
    PROFITS,
    contributions,
    explained,
    fraction,
    materiality,
    notes,
    parts,
    sides,
    write_books,
)
from tests.support.books.small import small_books

Write = Callable[..., Door]
LARGE = 1_000_000  # tokens


def answered(found: Explanation) -> list[dict[str, Any]]:
    """Return the rows of the only list of an explanation as a caller reads them."""
    (only,) = explanation_answer(found, LARGE, NOT_KEPT, never)["lists"]
    return list(only["rows"])


@pytest.fixture
def books(tmp_path: Path) -> Write:
    """Write books of one ledger."""
    return partial(write_books, tmp_path)


def test_v01_a_sum_by_member_is_sorted_by_size_with_shares_and_others(books: Write) -> None:
    shop = books("""
        2026-01-05 actual N 120
        2026-01-05 actual S 80
        2026-01-05 actual W 50
        2026-01-05 budget N 100
        2026-01-05 budget S 95
        2026-01-05 budget W 50
    """)
    whole = explained(shop, "revenue", "entity")
    (found,) = whole.lists
    assert contributions(found) == [("N", 20), ("S", -15), ("W", 0)]
    assert [row["share"] for row in answered(whole)] == [4, -3, 0]
    (first,) = explained(shop, "revenue", "entity", top=1).lists
    assert contributions(first) == [("N", 20), ("(others)", -15)]
    assert first.rows[-1].holds == 2


def test_v02_a_member_without_rows_on_one_side_counts_as_0(books: Write) -> None:
    shop = books("""
        2026-01-05 actual K1 - - - 30
        2026-01-05 budget K1 - - - 25
        2026-01-05 budget K2 - - - 10
        2026-02-05 actual K1 - - - 30
    """)
    whole = explained(shop, "cogs", "entity")
    (found,) = whole.lists
    assert contributions(found) == [("K2", -10), ("K1", 5)]
    assert {row["key"]: row["favourable"] for row in answered(whole)} == {"K1": False, "K2": True}
    assert fraction(found.variance) == -5
    empty = explained(shop, "cogs", "entity", period="2026-02")
    assert (fraction(empty.a), empty.b, empty.variance) == (30, None, None)
    assert [known.rows for known in empty.lists] == [()]
    assert "outside_books" in notes(empty)


def test_v03_a_formula_of_sums_by_lines(books: Write) -> None:
    shop = books(PROFITS)
    whole = explained(shop, "profit", "lines")
    assert (fraction(whole.a), fraction(whole.b)) == (50, 40)
    (found,) = whole.lists
    assert contributions(found) == [("revenue", 20), ("opex", -15), ("cogs", 5)]
    assert {row.key: fraction(row.difference) for row in found.rows} == {"revenue": 20, "cogs": -5, "opex": 15}
    (deeper,) = explained(shop, "profit", "lines", depth=2).lists
    assert contributions(deeper) == [
        ("revenue", 20),
        ("personnel", -10),
        ("cogs", 5),
        ("rent", -5),
    ]


def test_v04_a_formula_by_member_and_by_lines_are_two_lists_of_one_variance(books: Write) -> None:
    by_entity, by_lines = explained(books(PROFITS), "profit", "entity", "lines").lists
    assert contributions(by_entity) == [("DE", 5), ("FR", 5)]
    assert sides(by_entity.rows) == {"DE": (35, 30), "FR": (15, 10)}
    assert sum(amount for _, amount in contributions(by_lines)) == 10


def test_v05_a_ratio_by_member_has_rate_and_mix(books: Write) -> None:
    whole = explained(books(MARGINS), "margin", "entity")
    assert (fraction(whole.a), fraction(whole.b)) == (Fraction(59, 180), Fraction(1, 4))
    (found,) = whole.lists
    assert parts(found) == {
        "N": (Fraction(181, 5400), Fraction(133, 16200)),
        "S": (0, Fraction(4, 2025)),
        "W": (Fraction(7, 240), Fraction(53, 10800)),
    }
    assert fraction(found.variance) == Fraction(7, 90)
    assert whole.variance_unit == "pp"


def test_v06_a_new_and_a_lost_member(books: Write) -> None:
    shop = books("""
        2026-01-05 actual N 100 40
        2026-01-05 actual New 20 5
        2026-01-05 budget N 90 30
        2026-01-05 budget Lost 30 6
    """)
    (found,) = explained(shop, "margin", "entity").lists
    assert (fraction(found.a), fraction(found.b)) == (Fraction(3, 8), Fraction(3, 10))
    assert parts(found) == {
        "N": (Fraction(19, 360), Fraction(7, 2880)),
        "New": (0, Fraction(-7, 480)),
        "Lost": (0, Fraction(11, 320)),
    }


def test_v06_a_numerator_without_a_denominator_on_both_sides(books: Write) -> None:
    shop = books("""
        2026-01-05 actual N 100 40
        2026-01-05 actual S 100 10
        2026-01-05 actual HQ 0 -6
        2026-01-05 budget N 90 30
        2026-01-05 budget S 110 18
        2026-01-05 budget HQ - -4
    """)
    whole = explained(shop, "margin", "entity")
    (found,) = whole.lists
    assert (fraction(found.a), fraction(found.b), fraction(found.variance)) == (Fraction(11, 50), Fraction(11, 50), 0)
    assert not [row for row in answered(whole) if "share" in row]
    assert parts(found) == {
        "N": (Fraction(19, 600), Fraction(11, 1500)),
        "S": (Fraction(-147, 4400), Fraction(97, 22000)),
        "HQ": (Fraction(-1, 100), 0),
    }


def test_v06_a_numerator_without_a_denominator_on_one_side(books: Write) -> None:
    shop = books("""
        2026-01-05 actual N 100 40
        2026-01-05 actual HQ - -6
        2026-01-05 budget N 90 30
        2026-01-05 budget HQ 10 2
    """)
    (found,) = explained(shop, "margin", "entity").lists
    assert fraction(found.variance) == Fraction(1, 50)
    assert parts(found) == {"N": (Fraction(19, 300), Fraction(11, 3000)), "HQ": (Fraction(-47, 1000), 0)}


def test_v07_a_denominator_of_0_in_total_has_no_rows(books: Write) -> None:
    shop = books("""
        2026-01-05 actual N 180 59
        2026-01-05 budget N 0 -5
    """)
    whole = explained(shop, "margin", "entity", "lines")
    assert (fraction(whole.a), whole.b, whole.variance) == (Fraction(59, 180), None, None)
    assert [known.rows for known in whole.lists] == [(), ()]
    (said,) = [note for note in whole.notes if note.code == "no_divisor"]
    assert dict(said.about)["scenarios"] == ("budget",)


def test_v08_a_ratio_by_lines(books: Write) -> None:
    shop = books("2026-01-05 actual N 180 59\n2026-01-05 budget N 200 50")
    (found,) = explained(shop, "margin", "lines").lists
    assert contributions(found) == [("earned", Fraction(19, 400)), ("revenue", Fraction(109, 3600))]
    assert fraction(found.variance) == Fraction(7, 90)


def driven(rows: str) -> str:
    """Return rows of the ledger from scenario, product, units and revenue."""
    known = [line.split() for line in rows.splitlines() if line.strip()]
    return "\n".join(
        f"2026-01-05 {scenario} {product} {revenue} - {units}" for scenario, product, units, revenue in known
    )


def test_v09_drivers_are_volume_mix_and_price(books: Write) -> None:
    shop = books(
        driven("""
            actual P 100 1200
            actual Q 50 400
            actual R 10 150
            budget P 80 800
            budget Q 70 630
            budget S 20 100
        """)
    )
    (found,) = explained(shop, "revenue", "entity", drivers=True).lists
    assert (fraction(found.a), fraction(found.b)) == (1750, 1530)
    assert dict(contributions(found))["(volume)"] == -90
    assert {key: both for key, both in parts(found).items() if key != "(volume)"} == {
        "P": (200, Fraction(4200, 17)),
        "Q": (-50, Fraction(-2430, 17)),
        "R": (0, 150),
        "S": (0, Fraction(-1600, 17)),
    }


def test_v09_revenue_without_units_has_a_row_of_its_own(books: Write) -> None:
    shop = books(
        driven("""
            actual P 100 1200
            actual Q 50 400
            actual Z 0 70
            budget P 80 800
            budget Q 70 630
            budget Z - 20
        """)
    )
    (found,) = explained(shop, "revenue", "entity", drivers=True).lists
    rows = dict(contributions(found))
    assert (rows["(volume)"], rows["(without_volume)"], "Z" in rows) == (0, 50, False)
    assert {key: both for key, both in parts(found).items() if not key.startswith("(")} == {
        "P": (200, 200),
        "Q": (-50, -180),
    }


def test_v09_units_on_one_side_only(books: Write) -> None:
    shop = books(
        driven("""
            actual P 100 1200
            actual Z 0 70
            budget P 80 800
            budget Z 10 50
        """)
    )
    (found,) = explained(shop, "revenue", "entity", drivers=True).lists
    rows = dict(contributions(found))
    assert (rows["(volume)"], rows["(without_volume)"]) == (Fraction(850, 9), 70)
    assert {key: both for key, both in parts(found).items() if not key.startswith("(")} == {
        "P": (200, Fraction(1000, 9)),
        "Z": (0, Fraction(-500, 9)),
    }
    both = {row.key: (fraction(row.a), fraction(row.b)) for row in found.rows if row.key != "(volume)"}
    assert both == {"P": (1200, 800), "Z": (0, 50), "(without_volume)": (70, 0)}
    assert (fraction(found.a), fraction(found.b)) == (1200 + 70, 800 + 50)


def test_v09_no_units_at_all_on_side_b(books: Write) -> None:
    whole = explained(books(driven("actual P 10 100\nbudget P 0 80")), "revenue", "entity", drivers=True)
    assert (fraction(whole.a), fraction(whole.b)) == (100, 80)
    assert [known.rows for known in whole.lists] == [()]
    assert "'revenue' has no mix and price: 'units' of 'budget' is 0." in [note.message for note in whole.notes]


OWNED = """
    2026-01-05 actual DE 100
    2026-01-05 actual FR 50
    2026-01-05 budget DE 90
    2026-01-05 budget FR 60
"""


@pytest.mark.parametrize("filters", [{}, {"ownership": "GROUP"}])
def test_v10_members_of_a_weighted_tree_count_times_their_weight(books: Write, filters: dict[str, str]) -> None:
    whole = explained(books(OWNED), "revenue", "ownership", filters=filters)
    (found,) = whole.lists
    assert (fraction(found.a), fraction(found.b)) == (145, 144)
    assert contributions(found) == [("DE", 10), ("FR", -9)]
    assert [fraction(row.difference) for row in found.rows] == [10, -10]
    assert [fraction(row.into_parent) for row in found.rows] == [None, Fraction(9, 10)]
    if not filters:
        assert (fraction(whole.a), fraction(whole.b)) == (150, 150)
        said = [note.message for note in whole.notes if note.code == "weighted_rows"]
        assert any("145 against 150" in message and "144 against 150" in message for message in said)


def test_v11_sides_are_cut_to_what_may_be_seen_of_both(tmp_path: Path) -> None:
    rows = """
        2026-01-05 actual DE 100
        2026-01-05 actual FR 40
        2026-01-05 budget DE 90
    """
    seen = "seen: {scenarios: {actual: {}, budget: {dimensions: {entity: {allow: [DE]}}}}}"
    said = []
    for folder, hidden in (("with", "2026-01-05 budget FR 60"), ("without", "")):
        shop = write_books(tmp_path / folder, rows + hidden, profiles=seen, profile="seen")
        whole = explained(shop, "revenue", "entity")
        (found,) = whole.lists
        assert (fraction(whole.a), fraction(whole.b)) == (100, 90)
        assert contributions(found) == [("DE", 10)]
        assert "scope_differs" in notes(whole)
        said.append(encode(explanation_answer(whole, LARGE, NOT_KEPT, never)))
    assert b"FR" not in said[0]
    assert said[0] == said[1]


def test_v12_rows_below_the_materiality_are_in_others(books: Write) -> None:
    changes = {"A": 500, "B": -480, "C": 12, "D": -7, "E": 3}
    lines = [f"2026-01-05 budget {key} 1000\n2026-01-05 actual {key} {1000 + by}" for key, by in changes.items()]
    shop = books("\n".join(lines))
    (found,) = explained(shop, "revenue", "entity", materiality=materiality(absolute=10)).lists
    assert contributions(found) == [
        ("A", 500),
        ("B", -480),
        ("C", 12),
        ("(others)", -4),
    ]
    assert found.rows[-1].holds == 2
    # the larger total is 5028, of which 0.2 percent are 10.056
    (shares,) = explained(shop, "revenue", "entity", materiality=materiality(percent=0.2)).lists
    assert contributions(shares) == contributions(found)


CASH = """
time: {column: date}
dimensions: {bank: bank}
measures: {amount: {places: 2}, quoted: {places: 0, type: number}}
balances: {cash: {where: {bank: [Bank1, Bank2]}, grain: month}}
metrics:
  cash: {measure: amount, over_time: closing}
  average_cash: {measure: amount, over_time: {average: {of: month}}}
  highest: {measure: amount, over_members: max}
  lowest: {measure: amount, over_members: min}
  mean: {measure: amount, over_members: average}
  banks: {over_members: {count_distinct: bank}}
  squared: {formula: quote * quote}
  quote: {measure: quoted, over_members: sum}
  twice: {formula: quote / quote / quote}
"""


@pytest.fixture
def cash(tmp_path: Path) -> Door:
    """Balances of two banks from April to September 2026."""
    months = {"Bank1": (400, 410, 420, 430, 460, 500), "Bank2": (210, 220, 230, 230, 220, 200)}
    rows = [f"2026-{4 + at:02}-28 actual {bank} {by}" for bank, known in months.items() for at, by in enumerate(known)]
    return small_books(
        tmp_path,
        facts={"gl": "date scenario bank amount quoted\n" + "\n".join(f"{row} 0" for row in rows)},
        domains={"gl": CASH},
        dimensions="bank: {kind: leaf}",
    )


def test_v13_balances_and_their_averages(cash: Door) -> None:
    before = ("actual", "actual@pp")
    month = explained(cash, "cash", "bank", scenarios=before, period="2026-09")
    assert contributions(month.lists[0]) == [("Bank1", 40), ("Bank2", -20)]
    assert fraction(month.variance) == 20
    quarter = explained(cash, "average_cash", "bank", scenarios=before, period="2026-Q3")
    assert (fraction(quarter.a), fraction(quarter.b)) == (680, 630)
    assert contributions(quarter.lists[0]) == [("Bank1", Fraction(160, 3)), ("Bank2", Fraction(-10, 3))]


@pytest.mark.parametrize("metric", ["highest", "lowest", "mean", "banks", "squared", "twice"])
def test_v13_what_does_not_add_up_over_members_is_refused_with_what_does(cash: Door, metric: str) -> None:
    with pytest.raises(BadArguments, match=f"{metric} is neither a sum") as refused:
        explained(cash, metric, "bank", scenarios=("actual", "actual@pp"), period="2026-09")
    assert refused.value.valid == ["cash", "average_cash", "quote"]


def test_balances_are_not_explained_by_time(cash: Door) -> None:
    with pytest.raises(BadArguments, match="cash is no sum over time"):
        explained(cash, "cash", "period", scenarios=("actual", "actual@py"), period=("2026-08", "2026-09"))


@pytest.mark.parametrize(
    ("side", "adds_up"), [("actual@ytd", False), ("actual@qtd", False), ("actual@pp", True), ("actual@py", True)]
)
def test_ratios_and_drivers_are_explained_by_periods_that_make_up_the_total(
    books: Write, side: str, adds_up: bool
) -> None:
    """A sum is explained by any periods: what they count twice is in a row of its own."""
    days = [f"{year}-{month:02}-05" for year in (2025, 2026) for month in (1, 2, 3)]
    amounts = ("100 40 3", "80 10 2", "50 30 5", "70 20 4", "90 60 2", "60 10 9")
    shop = books("\n".join(f"{day} actual DE {known}" for day, known in zip(days, amounts, strict=True)))
    asked: dict[str, Any] = {"scenarios": ("actual", side), "period": ("2026-02", "2026-03")}
    rows = contributions(explained(shop, "revenue", "period", **asked).lists[0])
    assert ("(shared)" not in dict(rows)) == adds_up
    for metric, drivers in (("margin", False), ("revenue", True)):
        if adds_up:
            (found,) = explained(shop, metric, "period", drivers=drivers, **asked).lists
            assert {key for key, _ in contributions(found)} >= {"2026-02", "2026-03"}
        else:
            with pytest.raises(BadArguments, match=f"The periods of {side} are not the days of its total"):
                explained(shop, metric, "period", drivers=drivers, **asked)


def test_v14_a_blend_by_period(books: Write) -> None:
    amounts = {"actual": (100, 110, 40), "forecast": (95, 105, 120), "budget": (98, 104, 125)}
    rows = [
        f"2026-{8 + at:02}-05 {scenario} DE {amount}"
        for scenario, known in amounts.items()
        for at, amount in enumerate(known)
    ]
    closed = """
        actual:   {alias: Actuals, kind: actual, closed_through: 2026-09}
        budget:   {alias: Budget, kind: budget}
        forecast: {alias: Forecast, kind: forecast}
    """
    shop = books("\n".join(rows), scenarios=closed)
    whole = explained(shop, "revenue", "period", period=("2026-08", "2026-10"), scenarios=("actual+forecast", "budget"))
    assert (fraction(whole.a), fraction(whole.b)) == (330, 327)
    assert contributions(whole.lists[0]) == [
        ("2026-09", 6),
        ("2026-10", -5),
        ("2026-08", 2),
    ]
    shared = explanation_answer(whole, LARGE, NOT_KEPT, never)["drill"]

    def behind(month: str) -> dict[str, Any]:
        asked = [(side["scenario_id"], {"metric": "revenue", **side.get("filters", {})}) for side in shared["sides"]]
        found = {name: shop.rows("gl", scenario=name, period=month, filters=filters) for name, filters in asked}
        return {name: fraction(present(rows.contribution_total)) for name, rows in found.items()}

    assert {month: behind(month) for month in ("2026-08", "2026-09", "2026-10")} == {
        "2026-08": {"actual": 100, "forecast": None, "budget": 98},
        "2026-09": {"actual": 110, "forecast": None, "budget": 104},
        "2026-10": {"actual": None, "forecast": 120, "budget": 125},
    }


def test_v15_what_a_shared_leaf_counts_twice_is_taken_back(books: Write) -> None:
    shop = books(
        """
        2026-01-05 actual X 10
        2026-01-05 actual Y 20
        2026-01-05 actual Z 30
        2026-01-05 budget X 4
        2026-01-05 budget Y 22
        2026-01-05 budget Z 29
        """,
        tree="node parent weight\nP1 - 1\nP2 - 1\nX P1 1\nX P2 1\nY P1 1\nZ P2 1",
    )
    (found,) = explained(shop, "revenue", "ownership").lists
    assert (fraction(found.a), fraction(found.b)) == (60, 55)
    assert contributions(found) == [("P2", 7), ("P1", 4), ("(shared)", -6)]
    with pytest.raises(BadArguments, match="share members"):
        explained(shop, "margin", "ownership")
