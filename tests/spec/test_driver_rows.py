"""Rows of an explanation by drivers: each column adds up to its total.

Rules: Explained variances.
"""

from pathlib import Path

import pytest

from tests.spec.test_cases_variance import driven
from tests.support.books.explained import explained, fraction, write_books


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
