"""Effects: contributions of random members add up to the variance exactly, and long parts are rounded."""

from fractions import Fraction
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from engine.model.exact import Exact
from engine.report.effects import (
    DIGITS,
    LONGEST,
    MemberEffect,
    driver_effects,
    effect_of,
    exact_sum,
    ratio_effects,
    short,
)

amounts = st.builds(Exact, st.integers(-(10**9), 10**9), st.sampled_from((1, 10, 100, 7)))
pairs = st.tuples(amounts, amounts)


def fraction(number: Exact) -> Fraction:
    """Return an exact number as a fraction."""
    return Fraction(number.numerator, number.denominator)


@given(st.lists(amounts, max_size=20))
def test_a_sum_is_exact(numbers: list[Exact]) -> None:
    assert fraction(exact_sum(numbers)) == sum(map(fraction, numbers))


@given(st.lists(st.tuples(pairs, pairs), min_size=1, max_size=8))
def test_the_effects_of_a_ratio_add_up(members: list[tuple[tuple[Exact, Exact], tuple[Exact, Exact]]]) -> None:
    over, under = [n for n, _ in members], [d for _, d in members]
    totals = [tuple(exact_sum([pair[side] for pair in known]) for side in (0, 1)) for known in (over, under)]
    (n_a, n_b), (d_a, d_b) = totals
    if not (d_a and d_b):
        return
    effects = ratio_effects(over, under, (n_a, n_b), (d_a, d_b))
    variance = fraction(n_a) / fraction(d_a) - fraction(n_b) / fraction(d_b)
    assert sum(fraction(effect.contribution) for effect in effects) == variance
    together = effect_of(effects)
    assert fraction(together.contribution) == variance
    assert together.rest is not None
    assert together.mix is not None
    assert fraction(together.rest) + fraction(together.mix) == variance


@given(st.lists(st.tuples(pairs, pairs), min_size=1, max_size=8))
def test_volume_mix_price_and_what_has_no_volume_add_up(
    members: list[tuple[tuple[Exact, Exact], tuple[Exact, Exact]]],
) -> None:
    found = driver_effects([u for u, _ in members], [r for _, r in members])
    if found is None:
        assert sum(fraction(u_b) for (_, u_b), _ in members) == 0
        return
    whole = fraction(found.volume) + fraction(found.without_volume)
    whole += sum(fraction(effect.contribution) for effect in found.members)
    assert whole == sum(fraction(a) - fraction(b) for _, (a, b) in members)


def test_the_mix_of_many_members_is_rounded_and_still_adds_up_with_its_rate() -> None:
    effects = [MemberEffect(Exact(1, 3), Exact(1, 10**9 + 2 * at + 1)) for at in range(200)]
    together = effect_of(effects)
    exact = sum(Fraction(1, 10**9 + 2 * at + 1) for at in range(200))
    assert exact.denominator.bit_length() > LONGEST
    assert together.mix is not None
    assert together.rest is not None
    assert together.mix.denominator.bit_length() < LONGEST
    assert abs(fraction(together.mix) / exact - 1) < Fraction(1, 10 ** (DIGITS - 2))
    assert fraction(together.mix) + fraction(together.rest) == fraction(together.contribution) == Fraction(200, 3)


def test_a_number_of_few_digits_is_not_rounded() -> None:
    assert short(Exact(1, 3)) == Exact(1, 3)


def test_the_mix_of_many_members_that_is_nothing_has_no_long_denominator() -> None:
    effects = [MemberEffect(Exact(at, 3), Exact(0, 10**9 + 2 * at + 1)) for at in range(1000)]
    together = effect_of(effects)
    assert together.mix is not None
    assert (together.mix.numerator, together.mix.denominator) == (0, 1)


def drawn_members(seed: int) -> list[tuple[int, int, int]]:
    """Return a side a, a side b and a price of 300 members."""
    draw = Random(seed)
    return [(draw.randrange(1, 10**6), draw.randrange(1, 10**6), draw.randrange(1, 10**4)) for _ in range(300)]


def test_many_members_whose_prices_are_those_of_before_have_no_price_together() -> None:
    members = drawn_members(1)
    volumes = [(Exact(a, 100), Exact(b, 100)) for a, b, _ in members]
    amounts = [(Exact(a * price, 10**4), Exact(b * price, 10**4)) for a, b, price in members]
    found = driver_effects(volumes, amounts)
    assert found is not None
    together = effect_of(found.members)
    assert together.rest == Exact(0)
    assert together.mix == together.contribution


def test_many_members_whose_ratios_are_those_of_before_have_no_rate_together() -> None:
    members = drawn_members(2)
    under = [(Exact(a), Exact(b)) for a, b, _ in members]
    over = [(Exact(a * price, 700), Exact(b * price, 700)) for a, b, price in members]
    n, d = (tuple(exact_sum([pair[side] for pair in known]) for side in (0, 1)) for known in (over, under))
    together = effect_of(ratio_effects(over, under, (n[0], n[1]), (d[0], d[1])))
    assert together.rest == Exact(0)
    assert together.contribution
