"""Amounts that are drawn for the law of digits, with what the books must hold of each."""

import math
from collections.abc import Iterator
from decimal import Decimal
from random import Random

from msgspec import Struct

FINE, CENTS, RATE = "fine", "cents", "rate"
PLACES = {FINE: 9, CENTS: 2, RATE: 12}  # of the measures
LARGEST = 2**63 - 1
SURE = 15  # digits that a double gives back


class DrawnRow(Struct, frozen=True):
    """One row: an exact number of each measure, and a double near `cents` as a computation leaves it."""

    fine: Decimal
    cents: Decimal
    rate: Decimal
    computed: float

    def fits(self, measure: str) -> bool:
        """Tell whether the store holds the number of a measure."""
        return abs(int(getattr(self, measure).scaleb(PLACES[measure]))) <= LARGEST


def drawn(seed: int, count: int) -> list[DrawnRow]:
    """Return rows of numbers of 1 to 15 digits and as many places as their measures have, of either sign."""
    random = Random(seed)
    return [*edges(), *(row(random) for _ in range(count))]


def row(random: Random) -> DrawnRow:
    """Return one row."""
    cents = number(random, places=(2,))
    return DrawnRow(
        fine=number(random, places=range(10)),
        cents=cents,
        rate=abs(number(random, places=(12,), digits=random.randint(1, 13))) or Decimal("1e-12"),
        computed=residue(random, cents),
    )


def number(random: Random, places: range | tuple[int, ...], digits: int | None = None) -> Decimal:
    """Return a number with some digits and places."""
    whole = random.randrange(10 ** (digits or random.randint(1, SURE)))
    return Decimal(whole).scaleb(-random.choice(places)) * random.choice((1, -1))


def residue(random: Random, cents: Decimal) -> float:
    """Return a double that a spreadsheet shows as an amount: some steps beside it, or next to nothing beside none."""
    near = float(cents)
    for _ in range(random.randint(0, 3)):
        beside = math.nextafter(near, random.choice((math.inf, -math.inf)))
        near = beside if Decimal(f"{beside:.15g}") == cents else near
    return near or random.choice((1.16415e-10, -7.27596e-12, 0.0))


def edges() -> Iterator[DrawnRow]:
    """Yield rows that have gone wrong before."""
    for fine, cents, rate, computed in (
        ("21693025.26", "21693025.26", "0.000037891234", 21693025.260000002),
        ("-48120377.35", "-9007199254740.99", "0.000001234567", -9007199254740.990),
        ("0.3", "0.3", "1.000000000001", 0.1 + 0.2),
        ("1234.56", "1234.56", "1", 1234.5600000000002),
        ("0", "0", "1e-12", 1.16415e-10),
        ("99999999999.999", "9999999999999.99", "9999.123456789", 9999999999999.99),
    ):
        yield DrawnRow(Decimal(fine), Decimal(cents), Decimal(rate), computed)
