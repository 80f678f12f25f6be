"""Exact figures as text: the digits that plain decimal arithmetic writes."""

from decimal import Context, Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from engine.model.exact import Exact

numerators = st.one_of(st.integers(-(10**20), 10**20), st.integers(-100, 100))
denominators = st.one_of(st.integers(0, 45).map(lambda power: 10**power), st.integers(1, 10**6))


@given(numerator=numerators, denominator=denominators, quotient=st.booleans())
@example(numerator=-1, denominator=10**3, quotient=False)
@example(numerator=10**15, denominator=10, quotient=True)
@example(numerator=0, denominator=100, quotient=False)
@example(numerator=-(10**15) - 5, denominator=10, quotient=True)
def test_digits_are_those_of_decimal_arithmetic(numerator: int, denominator: int, quotient: bool) -> None:
    figure = Exact(numerator, denominator)
    ends = {2, 5}.issuperset(factors(figure.reduced()[1]))
    digits = Context(prec=15 if quotient or not ends else 200)
    expected = digits.divide(Decimal(numerator), Decimal(denominator))
    written = figure.digits(quotient=quotient)
    assert Decimal(written) == expected
    assert written == (format(expected.normalize(digits), "f") if numerator else "0")


def factors(number: int) -> set[int]:
    """Return 2 and 5 where they divide a number, and what else is left of it."""
    found = set()
    for prime in (2, 5):
        while number % prime == 0:
            found.add(prime)
            number //= prime
    return found | ({number} if number > 1 else set())


halves = st.tuples(st.integers(10**14, 10**15), st.integers(0, 30)).map(
    lambda found: (2 * found[0] + 1, 2 * 10 ** found[1])
)
fractions = (
    st.tuples(numerators, denominators) | st.tuples(st.integers(-(10**24), 10**24), st.integers(1, 10**24)) | halves
)


@given(fraction=fractions, quotient=st.booleans())
@example(fraction=(999_999_999_999_999_5, 10), quotient=True)  # rounds to one digit more
@example(fraction=(1, 3 * 10**120), quotient=True)
@example(fraction=(10**400, 3), quotient=True)  # beyond a double
@example(fraction=(0, 3), quotient=True)
def test_json_is_the_double_that_the_digits_name_else_the_digits(fraction: tuple[int, int], quotient: bool) -> None:
    figure = Exact(*fraction)
    digits = figure.digits(quotient=quotient)
    made, number = figure.as_json(quotient=quotient), float(digits)
    if isinstance(made, str):
        assert made == digits
        assert Decimal(repr(number)) != Decimal(digits)
    else:
        assert Decimal(repr(float(made))) == Decimal(digits)
        assert isinstance(made, int) == (number.is_integer() and abs(number) < 10**15)
