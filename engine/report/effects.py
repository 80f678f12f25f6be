"""Effects: what each member contributes to a variance, exact, so that contributions add up without a remainder.

A pair holds a figure of both sides of a variance, a first. A ratio's contribution is what its rate and its mix bring, a
price's what its mix and its price bring.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from math import gcd

from msgspec import Struct

from engine.model.exact import ONE, ZERO, Exact
from engine.model.stopping import watched

Pair = tuple[Exact, Exact]
HALF = Exact(1, 2)
LONGEST = 2000  # bits of a denominator; the mix of many members together is rounded beyond
DIGITS = 30  # significant digits of a rounded mix
DECIMALS_OF_A_BIT = 0.30103


class MemberEffect(Struct, frozen=True):
    """What a member, or several, contribute to a variance; `mix` is a part of it, None where there are no parts."""

    contribution: Exact
    mix: Exact | None = None

    @property
    def rest(self) -> Exact | None:
        """The other part: the rate of a ratio, the price of a driver."""
        return None if self.mix is None else self.contribution - self.mix


def difference(pair: Pair) -> Exact:
    """Return the first figure less the second."""
    return pair[0] - pair[1]


def added(pairs: Iterable[Pair]) -> Pair:
    """Return the sums of both sides."""
    found = list(pairs)
    return exact_sum([a for a, _ in watched(found)]), exact_sum([b for _, b in watched(found)])


def effect_of(effects: Sequence[MemberEffect]) -> MemberEffect:
    """Return what several members contribute together."""
    parts = [effect.mix for effect in watched(effects) if effect.mix is not None]
    contribution = exact_sum([effect.contribution for effect in watched(effects)])
    return MemberEffect(contribution, short(exact_sum(parts)) if parts else None)


def exact_sum(numbers: Sequence[Exact]) -> Exact:
    """Return an exact sum: numbers of one denominator first, then in pairs, since the longest products cost most."""
    by_denominator: dict[int, int] = {}
    for number in watched(numbers):
        by_denominator[number.denominator] = by_denominator.get(number.denominator, 0) + number.numerator
    sums = [reduced(Exact(numerator, denominator)) for denominator, numerator in watched(by_denominator.items())]
    while len(sums) > 1:
        pairs = watched(list(zip_longest(sums[::2], sums[1::2], fillvalue=ZERO)))
        sums = [reduced(one + other) for one, other in pairs]
    return sums[0] if sums else ZERO


def reduced(number: Exact) -> Exact:
    """Return a number in lowest terms, so that what members share does not make its denominator long."""
    if number.denominator.bit_length() > 2 * LONGEST:
        return number  # no two short numbers make it up
    common = gcd(number.numerator, number.denominator)
    return Exact(number.numerator // common, number.denominator // common)


def short(number: Exact) -> Exact:
    """Return a number, rounded to 30 significant digits if its denominator is too long to keep."""
    if not number:
        return ZERO  # its denominator may be that of thousands of members, and it has no digits to round to
    if number.denominator.bit_length() <= LONGEST:
        return number
    magnitude = number.numerator.bit_length() - number.denominator.bit_length()
    places = max(0, DIGITS - int(magnitude * DECIMALS_OF_A_BIT))
    return Exact(number.numerator * 10**places // number.denominator, 10**places)


# Ratios: numerators over denominators.


def ratio_effects(numerators: Sequence[Pair], denominators: Sequence[Pair], n: Pair, d: Pair) -> list[MemberEffect]:
    """Return the effect of each member on the ratio of the totals n and d, whose denominators are not 0."""
    a, b = (over / under for over, under in zip(n, d, strict=True))
    mean = (a + b) * HALF
    members = watched(list(zip(numerators, denominators, strict=True)))
    return [ratio_effect(numerator, denominator, d, mean) for numerator, denominator in members]


def ratio_effect(n: Pair, d: Pair, total: Pair, mean: Exact) -> MemberEffect:
    """Return the effect of one member: all rate where a side has a numerator alone, all mix where one has nothing."""
    share = d[0] / total[0] - d[1] / total[1]
    contribution = n[0] / total[0] - n[1] / total[1] - mean * share
    if any(over and not under for over, under in zip(n, d, strict=True)):
        return MemberEffect(contribution, ZERO)
    rates = [over / under for over, under in zip(n, d, strict=True) if under]
    if not rates:
        return MemberEffect(contribution, ZERO)
    return MemberEffect(contribution, ((rates[0] + rates[-1]) * HALF - mean) * share)


def part_effects(n: Pair, d: Pair) -> tuple[Exact, Exact]:
    """Return what the numerator and the denominator of a ratio contribute, each at the mean of the other."""
    inverse = (ONE / d[0], ONE / d[1])
    return difference(n) * (inverse[0] + inverse[1]) * HALF, (n[0] + n[1]) * HALF * difference(inverse)


# Drivers: an amount is a volume times a price.


class DriverEffects(Struct, frozen=True):
    """What the volume as a whole, each member by mix and price, and amounts without volume contribute."""

    volume: Exact
    members: Sequence[MemberEffect]
    without_volume: Exact
    without: Pair  # amounts without volume
    volumes: Pair  # volumes in total
    moved: Sequence[Pair]  # of each member, the amounts with volume


def driver_effects(volumes: Sequence[Pair], amounts: Sequence[Pair]) -> DriverEffects | None:
    """Return the effects of the members of a dimension; None if side b has no volume."""
    both = watched(list(zip(volumes, amounts, strict=True)))
    moved = [(r_a if u_a else ZERO, r_b if u_b else ZERO) for (u_a, u_b), (r_a, r_b) in both]
    total, r_total = added(volumes), added(moved)
    if not total[1]:
        return None
    growth, price = total[0] / total[1], r_total[1] / total[1]
    whole = added(amounts)
    without = (whole[0] - r_total[0], whole[1] - r_total[1])
    return DriverEffects(
        volume=difference(total) * price,
        members=[driver_effect(u, r, growth) for u, r in watched(list(zip(volumes, moved, strict=True)))],
        without_volume=difference(without),
        without=without,
        volumes=total,
        moved=moved,
    )


def driver_effect(u: Pair, r: Pair, growth: Exact) -> MemberEffect:
    """Return the mix and price of one member; one that is new takes its own price as that of side b."""
    contribution = r[0] - growth * r[1]
    if not u[0] and not u[1]:
        return MemberEffect(contribution, ZERO)
    price = r[1] / u[1] if u[1] else r[0] / u[0]
    return MemberEffect(contribution, (u[0] - growth * u[1]) * price)


def hidden_mix(rows: DriverEffects, inside: DriverEffects) -> Exact | None:
    """Return the mix between members that lie inside one row, which is in the price of the rows.

    `inside` are the effects of all members inside the rows. None where volume, or amounts without volume, are others.
    """
    if (rows.volumes, rows.without, added(rows.moved)) != (inside.volumes, inside.without, added(inside.moved)):
        return None
    mix_inside, mix = (effect_of(effects.members).mix or ZERO for effects in (inside, rows))
    return mix_inside - mix
