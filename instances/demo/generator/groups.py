"""Groups: what is posted as one each month, on which accounts, and how many rows each of them gets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from generator.chart import Section
from generator.company import Centre, Company, Entity
from generator.figures import PERSONNEL
from generator.split import spread_rows

STEEP = {*PERSONNEL, "TAXES"}  # sections of one main account and a few small ones
TRADING, OF_SELLERS = ("REV_", "COS_"), ("REV_", "COS_", "ORD_", "DISTRIBUTION")  # sections by how they start
CLAIMS = {"REV": 1.0, "COS": 0.8, "ORD": 5.0}  # rows an entity's sections claim, by how they start, or by name
WEIGHTS = {"DEPRECIATION": 9.0, "FIN_EXPENSE": 4.0, "FIN_INCOME": 2.0, "TAXES": 2.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountAccounts:
    """One amount a month and the accounts it is posted on, with their weights and rows."""

    entity: str
    section: Section
    centre: str | None  # the cost centre that has all of it; None: those of the section's function share it
    accounts: tuple[str, ...]
    weights: tuple[float, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A group before it has rows: how many it claims beside the others."""

    entity: Entity
    section: Section
    centre: Centre | None
    weight: float

    @property
    def is_trading(self) -> bool:
        """Tell whether it is sales or cost of sales."""
        return self.section.node.startswith(TRADING)


def claims(company: Company, sections: Sequence[Section]) -> Iterator[Claim]:
    """Yield everything that is posted in a month."""
    for entity in company.entities:
        for section in sections:
            if section.node in PERSONNEL:
                for centre in company.centres:
                    if centre.entity == entity.id:
                        yield Claim(entity=entity, section=section, centre=centre, weight=25 * centre.posts)
            elif entity.sales or not section.node.startswith(OF_SELLERS):
                yield Claim(entity=entity, section=section, centre=None, weight=claimed(entity, section))


def claimed(entity: Entity, section: Section) -> float:
    """Return how many rows an entity's section claims beside others of its kind."""
    side, _, line = section.node.partition("_")
    if side in CLAIMS:
        return entity.sales * entity.mix.get(line, 0.2) * CLAIMS[side]
    return entity.overhead * WEIGHTS.get(section.node, section.permille)


def groups(
    company: Company, sections: Sequence[Section], rows: int, trading_rows: int, seed: int
) -> list[AmountAccounts]:
    """Return the groups of a month that has so many rows, those of trading as many as leave one for each other."""
    found = sorted(claims(company, sections), key=lambda claim: not claim.is_trading)
    trading = sum(claim.is_trading for claim in found)
    for_trading = min(max(trading, trading_rows), rows - (len(found) - trading))
    shares = [
        *spread_rows(for_trading, [claim.weight for claim in found[:trading]]),
        *spread_rows(rows - for_trading, [claim.weight for claim in found[trading:]]),
    ]
    return [group_of(claim, share, seed) for claim, share in zip(found, shares, strict=True)]


def group_of(claim: Claim, rows: int, seed: int) -> AmountAccounts:
    """Return a group: its heaviest accounts first, as many of them as it has rows for."""
    centre = claim.centre.id if claim.centre else None
    rng = Random(f"{seed} {claim.entity.id} {claim.section.node} {centre}")
    steepness = 2.2 if claim.section.node in STEEP else 0.8
    weighed = [
        (rng.uniform(0.6, 1.4) / (place + 1) ** steepness, account.id)
        for place, account in enumerate(claim.section.accounts)
    ]
    heaviest = sorted(weighed, reverse=True)[:rows]
    weights = tuple(weight for weight, _ in heaviest)
    return AmountAccounts(
        entity=claim.entity.id,
        section=claim.section,
        centre=centre,
        accounts=tuple(account for _, account in heaviest),
        weights=weights,
        rows=tuple(spread_rows(rows, weights)),
    )
