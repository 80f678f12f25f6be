"""Exact figures: rational numbers, their rounding and their JSON form.

The engine sums facts as integers and then computes with fractions, so no digit is lost. A figure without division keeps
all its digits. A quotient is divided once, at the end, and rounded half even to 15 significant digits.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from math import floor, gcd, lcm, log10
from typing import Final

from msgspec import Struct

from engine.model.stopping import watched

PRECISION: Final = 15  # significant digits of a quotient
QUOTIENT: Final = Context(prec=PRECISION, rounding=ROUND_HALF_EVEN)
POWERS_OF_TEN: Final = {10**k: k for k in range(40)}
MAX_PLAIN: Final = 18  # digits of a text that is read as an integer at once
FARTHEST: Final = 400  # largest power of ten in a decimal text; covers all doubles
FARTHEST_QUOTIENT: Final = 100  # decimal places of a quotient that is rounded as an integer
MAX_COMMON: Final = 10**40  # of a denominator over which many figures are compared
SURE: Final = 10**15  # below it, every decimal of 15 digits is the shortest text of its double


class Exact(Struct, frozen=True, eq=False, gc=False):  # it holds integers, so collections pass over what holds it
    """A rational number: `numerator` over `denominator` (above 0, not reduced)."""

    numerator: int
    denominator: int = 1

    @classmethod
    def of(cls, text: str) -> "Exact":
        """Parse a decimal text. Raises ValueError if it is not a decimal number."""
        if text.isascii() and text.isdigit() and len(text) <= MAX_PLAIN:
            return cls(int(text))
        try:
            sign, digits, exponent = Decimal(text).as_tuple()
        except ArithmeticError as unreadable:
            raise ValueError(f"'{text}' is no number") from unreadable
        if not isinstance(exponent, int) or abs(exponent) > FARTHEST:  # NaN and infinity have none
            raise ValueError(f"'{text}' is no number")
        magnitude = int("".join(map(str, digits)))
        numerator = -magnitude if sign else magnitude
        return cls(numerator * 10**exponent) if exponent >= 0 else cls(numerator, 10**-exponent)

    def __add__(self, other: "Exact") -> "Exact":
        if self.denominator == other.denominator:
            return Exact(self.numerator + other.numerator, self.denominator)
        return Exact(
            self.numerator * other.denominator + other.numerator * self.denominator,
            self.denominator * other.denominator,
        )

    def __sub__(self, other: "Exact") -> "Exact":
        if self.denominator == other.denominator:
            return Exact(self.numerator - other.numerator, self.denominator)
        return self + -other

    def __neg__(self) -> "Exact":
        return Exact(-self.numerator, self.denominator)

    def __abs__(self) -> "Exact":
        return Exact(abs(self.numerator), self.denominator)

    def __mul__(self, other: "Exact") -> "Exact":
        return Exact(self.numerator * other.numerator, self.denominator * other.denominator)

    def __truediv__(self, other: "Exact") -> "Exact":
        if other.numerator < 0:
            return -self / -other
        return Exact(self.numerator * other.denominator, self.denominator * other.numerator)

    def __bool__(self) -> bool:
        return self.numerator != 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Exact):
            return NotImplemented
        return self.numerator * other.denominator == other.numerator * self.denominator

    def __ne__(self, other: object) -> bool:  # that of a Struct does not ask __eq__
        return not self == other

    def __lt__(self, other: "Exact") -> bool:
        return self.numerator * other.denominator < other.numerator * self.denominator

    def __hash__(self) -> int:
        return hash(self.reduced())

    def reduced(self) -> tuple[int, int]:
        """Return numerator and denominator in lowest terms."""
        common = gcd(self.numerator, self.denominator)
        return self.numerator // common, self.denominator // common

    def scaled(self, power: int) -> "Exact":
        """Return the figure divided by a power of ten: in thousands, in millions."""
        return Exact(self.numerator, self.denominator * 10**power)

    def rounded(self, places: int) -> "Exact":
        """Return the figure rounded to decimal places, half away from zero. For display only."""
        doubled = 2 * abs(self.numerator) * 10**places
        units = (doubled + self.denominator) // (2 * self.denominator)
        return Exact(-units if self.numerator < 0 else units, 10**places)

    def decimal(self, *, quotient: bool = False) -> Decimal:
        """Return all digits of the figure, or 15 significant digits of a quotient."""
        numerator, denominator = self.reduced()
        places = decimal_places(denominator)
        if places is None or (quotient and abs(numerator) * 10**places >= SURE * denominator):
            return QUOTIENT.divide(Decimal(numerator), Decimal(denominator))
        units = numerator * 10**places // denominator
        return Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -places))

    def digits(self, *, quotient: bool = False) -> str:
        """Return the figure as plain text, such as "-385.1"; never "-0"."""
        numerator, places = self.numerator, POWERS_OF_TEN.get(self.denominator)
        if places is not None and (not quotient or -SURE < numerator < SURE):
            whole, rest = divmod(abs(numerator), self.denominator)
            text = f"{'-' if numerator < 0 else ''}{whole}"
            return f"{text}.{rest:0{places}}".rstrip("0") if rest else text
        text = format(self.decimal(quotient=quotient), "f")
        plain = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if plain == "-0" else plain

    def as_json(self, *, quotient: bool = False) -> int | float | str:
        """Return a number if its double's shortest text equals the figure, else the digits as text."""
        return json_number(self.numerator, self.denominator, quotient)


def sort_keys(figures: Sequence[Exact]) -> list[tuple[int, Exact]]:
    """Return what sorts as some figures do, mostly by whole numbers: two fractions take far longer to compare.

    Those over one small denominator are compared by their numerators, the others in parts of 2**-64 first, and as
    fractions where they lie within one.
    """
    common = 1
    for denominator in {figure.denominator for figure in watched(figures)}:
        common = lcm(common, denominator)
        if common > MAX_COMMON:
            return [((figure.numerator << 64) // figure.denominator, figure) for figure in watched(figures)]
    return [(figure.numerator * (common // figure.denominator), ZERO) for figure in watched(figures)]


def json_number(numerator: int, denominator: int, quotient: bool) -> int | float | str:
    """Return a rational number as JSON: a number if its double's shortest text equals it, else its digits as text."""
    if -SURE < numerator < SURE and denominator in POWERS_OF_TEN:
        return numerator / denominator if numerator % denominator else numerator // denominator
    if quotient and (rounded := quotient_number(numerator, denominator)) is not None:
        return rounded
    figure = Exact(numerator, denominator)
    exact = figure.decimal(quotient=quotient)
    number = float(exact)
    if Decimal(repr(number)) != exact:
        return figure.digits(quotient=quotient)
    return int(number) if number.is_integer() and abs(number) < SURE else number


def quotient_number(numerator: int, denominator: int) -> int | float | None:
    """Return a quotient of everyday size, rounded half even to 15 significant digits; None if it is of another.

    The double nearest to 15 digits is shown by these digits.
    """
    if not numerator:
        return 0
    known = everyday_quotient(numerator, denominator)
    if known is None:
        return None
    number = known[0] / known[1]
    return int(number) if number.is_integer() and abs(number) < SURE else number


def everyday_quotient(numerator: int, denominator: int) -> tuple[int, int] | None:
    """Return a quotient of everyday size with 15 significant digits, over a power of ten; None if it is of another."""
    try:
        places = PRECISION - 1 - floor(log10(abs(numerator / denominator)))
    except (OverflowError, ValueError):  # it is too large or too small for a double
        return None
    if not 0 <= places < FARTHEST_QUOTIENT:
        return None
    whole, rest = divmod(abs(numerator) * 10**places, denominator)
    digits = whole + (2 * rest > denominator or (2 * rest == denominator and whole & 1))
    if not SURE <= 10 * digits <= 10 * SURE:  # the logarithm was off by one
        return None
    return -digits if numerator < 0 else digits, 10**places


def told_fraction(numerator: int, denominator: int, *, quotient: bool) -> tuple[int, int]:
    """Return a figure as it is told: a quotient, and a decimal that never ends, with 15 significant digits."""
    if denominator in POWERS_OF_TEN and not quotient:
        return numerator, denominator
    known = everyday_quotient(numerator, denominator) if numerator and quotient else None
    return known or Exact(numerator, denominator).decimal(quotient=quotient).as_integer_ratio()


def decimal_places(denominator: int) -> int | None:
    """Return the number of decimals of a fraction in lowest terms, None if they never end."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    for step in reversed(range(rest.bit_length().bit_length())):  # few steps, however long the denominator is
        power = 5 ** (1 << step)
        if rest % power == 0:
            rest //= power
            fives += 1 << step
    return max(twos, fives) if rest == 1 else None


ZERO: Final = Exact(0)
ONE: Final = Exact(1)
