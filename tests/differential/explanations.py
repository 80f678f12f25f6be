"""The oracle of explained variances: a sum by the members of a leaf dimension, and by volume, mix and price."""

from dataclasses import replace
from fractions import Fraction

from tests.differential.figures import AskedCell, Oracle
from tests.differential.references import WrittenSide

ExplainedRows = dict[str, tuple[Fraction, Fraction, Fraction]]  # by member: a, b and contribution
ZERO = Fraction(0)


def explained(
    oracle: Oracle, metric: str, sides: tuple[WrittenSide, WrittenSide], by: str, cell: AskedCell
) -> ExplainedRows:
    """Return the contributions of members to a - b."""
    figures = by_member(oracle, metric, sides, by, cell)
    return {member: (a or ZERO, b or ZERO, (a or ZERO) - (b or ZERO)) for member, (a, b) in figures.items()}


def by_member(
    oracle: Oracle, metric: str, sides: tuple[WrittenSide, WrittenSide], by: str, cell: AskedCell
) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    """Return the figures of both sides by member, each within what may be seen of both."""
    a, b = sides
    found = {}
    for member in oracle.books.shown(by, ()):
        of = replace(cell, breakdown=(by,), members={by: member})
        found[member] = (
            oracle.plain(metric, a, of, oracle.scope(a, b)),
            oracle.plain(metric, b, of, oracle.scope(b, a)),
        )
    return {member: pair for member, pair in found.items() if pair != (None, None)}


def driven(oracle: Oracle, sides: tuple[WrittenSide, WrittenSide], by: str, cell: AskedCell) -> ExplainedRows:
    """Return what volume, and mix and price of members, contribute to the variance of `m`, driven by `units`."""
    amounts, volumes = (by_member(oracle, metric, sides, by, cell) for metric in ("m", "units"))
    members = {**amounts, **volumes}
    units = {m: tuple(u or ZERO for u in volumes.get(m, (None, None))) for m in members}
    revenue = {m: tuple(r or ZERO for r in amounts.get(m, (None, None))) for m in members}
    total = [sum((units[m][at] for m in members), ZERO) for at in (0, 1)]
    earned = [sum((revenue[m][at] for m in members if units[m][at]), ZERO) for at in (0, 1)]
    rows = {"(volume)": (total[0], total[1], (total[0] - total[1]) * earned[1] / total[1])}
    without = [ZERO, ZERO]
    for member in members:
        u, r = units[member], revenue[member]
        sold = [r[at] if u[at] else ZERO for at in (0, 1)]
        for at in (0, 1):
            without[at] += r[at] - sold[at]
        if not (u[0] or u[1]):
            continue
        price_of = [sold[at] / u[at] if u[at] else None for at in (0, 1)]
        before = price_of[1] if price_of[1] is not None else price_of[0]
        after = price_of[0] if price_of[0] is not None else before
        assert before is not None
        assert after is not None
        mix = (u[0] - total[0] * u[1] / total[1]) * before
        rows[member] = (sold[0], sold[1], mix + u[0] * (after - before))
    if any(without):
        rows["(without_volume)"] = (without[0], without[1], without[0] - without[1])
    return rows
