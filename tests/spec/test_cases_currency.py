"""Finance cases T65 and T66: amounts are converted as they are loaded, each at its own rate, and rounded once.

Rules: Rounding and scale.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from tests.support.books.small import figure, figures, small_books

A = {"A": "actual"}
JAN = "2021-01"


def converted(folder: Path, rows: str, rates: str, *, places: int = 4, **convert: str) -> Door:
    """Sales in several currencies, and the same in USD."""
    asked = {"rates": "live.fx_rate", "from": "currency", "into": "usd", **convert}
    return small_books(
        folder,
        facts={"gl": f"date scenario currency amount\n{rows}"},
        domains={
            "gl": f"""
            time: {{column: date}}
            dimensions: {{currency: currency}}
            measures: {{amount: {{places: 2}}, usd: {{places: {places}}}}}
            metrics:
              sales: {{measure: usd}}
              as_booked: {{measure: amount}}
            """
        },
        dimensions="currency: {kind: leaf}",
        tables={"fx_rate": rates},
        bindings={"gl": {"convert": asked}},
    )


def shown(books: Door, **asked: Any) -> str:
    """Return the figure of all sales as it is printed."""
    return repr(books.metric("sales", scenarios=A, period=JAN, **asked)).split()[-1]


BY_MONTH = """
    currency date    kind    rate
    CAD      2021-01 average 0.68
    CAD      2021-02 average 0.66
"""
BY_DAY = """
    currency date       kind    rate
    CAD      2021-01-05 average 0.68
    CAD      2021-02-08 average 0.66
    CAD      2021-02-09 average 0.99
"""


@pytest.mark.parametrize("rates", [BY_MONTH, BY_DAY], ids=["months", "days"])
def test_t65_each_amount_is_converted_at_its_own_rate_and_then_added(tmp_path: Path, rates: str) -> None:
    rows = "2021-01-05 actual CAD 100\n2021-02-08 actual CAD 200"
    books = converted(tmp_path, rows, rates, kind="average")
    both: dict[str, Any] = {"scenarios": A, "period": ("2021-01", "2021-02")}
    assert figure(books.metric("sales", **both)) == Decimal("200.00")
    by_month = figures(books.metric("sales", dimensions=["period"], **both), "period")
    assert by_month == {"2021-01": Decimal("68.00"), "2021-02": Decimal("132.00"), None: Decimal("200.00")}
    assert figure(books.metric("as_booked", **both)) == 300


@pytest.mark.parametrize(("sign", "text"), [("", "1.01"), ("-", "(1.01)")])
def test_t66_converted_rows_are_rounded_once_after_they_are_added(tmp_path: Path, sign: str, text: str) -> None:
    rows = "\n".join([f"2021-01-05 actual CAD {sign}0.50"] * 3)  # each is 0.335 at 0.67
    books = converted(tmp_path, rows, "currency date rate\nCAD 2021-01 0.67")
    assert figure(books.metric("sales", scenarios=A, period=JAN)) == Decimal(f"{sign}1.005")
    assert shown(books, decimals=2) == text


def test_converted_amounts_keep_every_place_of_amount_and_rate(tmp_path: Path) -> None:
    rows = "2021-01-05 actual CAD 0.01\n2021-01-06 actual EUR 1234567.89"
    rates = "currency date rate\nCAD 2021-01 0.678901\nEUR 2021-01-06 1.1"
    books = converted(tmp_path, rows, rates, places=8)
    by_currency = figures(books.metric("sales", scenarios=A, period=JAN, dimensions=["currency"]), "currency")
    # 0.01 × 0.678901, and 1,234,567.89 + 123,456.789
    assert by_currency == {
        "CAD": Decimal("0.00678901"),
        "EUR": Decimal("1358024.679"),
        None: Decimal("1358024.68578901"),
    }


def test_amounts_in_the_books_own_currency_need_no_rate(tmp_path: Path) -> None:
    rows = "2021-01-05 actual USD 7.25\n2021-01-05 actual CAD 100"
    books = converted(tmp_path, rows, "currency date rate\nCAD 2021-01 0.5")
    assert figure(books.metric("sales", scenarios=A, period=JAN)) == Decimal("57.25")
