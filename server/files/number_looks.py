"""Number looks: what the digits of a text show - decimal places, marks around them, digits of another script."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

PLACES: Final = re.compile(r"[.,]\d")
TWO_PLACES: Final = re.compile(r"\d[.,]\d\d(?!\d)")
WHOLE: Final = r"^\d+$"
DIGIT: Final = r"\d"
NUMBER_BEHIND: Final = r"( \d+)?"  # behind a word, such as that of a total
OTHER_DIGIT: Final = re.compile(r"(?![0-9])\d")  # of another script, whatever marks stand beside it
CALENDAR_PART: Final = re.compile(r"\d{1,8}")  # numbers of years, quarters, weeks, days
NUMBERED: Final = re.compile(r"\d{3,}")
CURRENCY: Final = r"(?:US|R|C|A|NZ|HK|S)?\$|€|£|¥|₹|₺|₽|zł|Kč|kr\.?|Fr\.?|Ft|lei|[A-Z]{3}"
MARKED: Final = re.compile(rf"[-−(]?\s*(?P<before>{CURRENCY})?\s*[-−(]?\s*\d[\d.,'’\s]*\)?\s*(?P<after>{CURRENCY})?\)?")
SIDED: Final = re.compile(r"(?P<amount>.*\d[)]?)\s*(?P<side>dr|cr)", re.IGNORECASE)
UNITS: Final[Mapping[str, int]] = {  # behind an amount, in lower case
    "k": 1_000, "tsd": 1_000, "m": 1_000_000, "mm": 1_000_000, "mn": 1_000_000, "mio": 1_000_000, "mln": 1_000_000,
    "b": 1_000_000_000, "bn": 1_000_000_000, "mrd": 1_000_000_000,
}  # fmt: skip
UNIT_BEHIND: Final = re.compile(rf"(?P<digits>[-−]?\d[\d.,'’]*)\s*(?P<unit>{'|'.join(UNITS)})", re.IGNORECASE)


def has_places(text: str) -> bool:
    """Tell whether a number has decimal places."""
    return PLACES.search(text) is not None


def has_two_places(text: str) -> bool:
    """Tell whether a text has a number with two decimal places, as an amount has."""
    return TWO_PLACES.search(text) is not None


def has_other_digit(text: str) -> bool:
    """Tell whether a text has a digit of another script."""
    return OTHER_DIGIT.search(text) is not None


def without_number(name: str) -> str:
    """Return a name without the number and the marks at its end."""
    return re.sub(r"[\W_\d]+$", "", name)


class UnitAmount(Struct, frozen=True):
    """An amount with a unit behind it, such as 950K."""

    digits: str
    unit: str  # as it is written; empty if there is none


def with_unit(text: str) -> UnitAmount:
    """Return a text as an amount and the unit behind it."""
    match = UNIT_BEHIND.fullmatch(text.strip())
    return UnitAmount(match["digits"].strip(), match["unit"]) if match else UnitAmount(text.strip(), "")
