"""The company: its entities, cost centres, products and customers, all drawn from one seed."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import add
from pathlib import Path
from random import Random
from typing import Any

FOLDER = Path(__file__).parent
DEARER = (1.0, 1.5, 2.1, 3.2)  # what the sizes of a series cost against the smallest


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """One company of the group; permilles of the group's sales and overhead, loans in EUR."""

    id: str
    name: str
    sales: int
    overhead: int
    pay: float
    loans: int
    markets: tuple[str, ...]
    mix: Mapping[str, float]  # product line -> share of its sales, 1 in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Centre:
    """One cost centre, its full-time posts and a month's salary of each, in EUR."""

    id: str
    name: str
    function: str
    entity: str
    posts: float
    pay: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SoldProduct:
    """One product and its list price in cents."""

    id: str
    name: str
    line: str
    price: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer:
    """One customer."""

    id: str
    name: str
    region: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductLine:
    """One product line; permilles of the group's sales and of its own that materials take."""

    key: str
    name: str
    sales: int
    materials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """Everything that stays the same whatever the number of rows."""

    entities: tuple[Entity, ...]
    centres: tuple[Centre, ...]
    lines: tuple[ProductLine, ...]
    products: tuple[SoldProduct, ...]  # by line
    customers: tuple[Customer, ...]
    trees: Mapping[str, list[dict[str, str]]]  # organisation and group_share, as the file writes them


def read_company(seed: int) -> Company:
    """Return the company of a seed."""
    written = tomllib.loads((FOLDER / "company.toml").read_text(encoding="utf-8"))
    regions = tomllib.loads((FOLDER / "customers.toml").read_text(encoding="utf-8"))
    rng = Random(f"{seed} company")
    return Company(
        entities=tuple(entity_of(key, part, written) for key, part in written["entities"].items()),
        centres=tuple(centre for key in written["entities"] for centre in centres_of(key, written, rng)),
        lines=tuple(
            ProductLine(key=key, name=part["name"], sales=part["sales"], materials=part["materials"])
            for key, part in written["lines"].items()
        ),
        products=tuple(
            made
            for place, part in enumerate(written["lines"].values(), start=1)
            for made in products_of(place, part, rng)
        ),
        customers=customers_of(regions, rng),
        trees={key: written[key] for key in ("organisation", "group_share")},
    )


def entity_of(key: str, part: Mapping[str, Any], written: Mapping[str, Any]) -> Entity:
    """Return one entity."""
    tilt = part.get("tilts", {})
    weights = {line: part["sales"] * tilt.get(line, 1) for line, part in written["lines"].items()}
    return Entity(
        id=key,
        name=part["name"],
        sales=part["sales"],
        overhead=part["overhead"],
        pay=part["pay"],
        loans=part["loans"] * 1_000_000,
        markets=tuple(part["markets"]),
        mix={line: weight / added(weights.values()) for line, weight in weights.items()},
    )


def added(numbers: Iterable[float]) -> float:
    """Return the sum of numbers, added one after another: from Python 3.12 on, `sum` rounds otherwise."""
    return reduce(add, numbers)


def centres_of(entity: str, written: Mapping[str, Any], rng: Random) -> list[Centre]:
    """Return the cost centres of one entity; its staff spreads over them."""
    described = written["entities"][entity]
    departments = written["departments"] if described["sales"] else written["head_office"]
    departments = departments[: described["centres"]]
    weights = [weight * rng.uniform(0.85, 1.15) for _, _, weight in departments]
    return [
        Centre(
            id=f"{entity}-{100 + 10 * place}",
            name=f"{name} {entity}",
            function=function,
            entity=entity,
            posts=described["staff"] * weight / added(weights),
            pay=written["functions"][function] * described["pay"] * rng.uniform(0.9, 1.12),
        )
        for place, ((name, function, _), weight) in enumerate(zip(departments, weights, strict=True))
    ]


def products_of(place: int, part: Mapping[str, Any], rng: Random) -> list[SoldProduct]:
    """Return the products of one line: every series in every size."""
    return [
        SoldProduct(
            id=f"{place:02}{series:02}{size:02}",
            name=f"{series_name} {size_name}",
            line=part["name"],
            price=round(100 * part["price"] * DEARER[size - 1] * (1 + 0.18 * (series - 1)) * rng.uniform(0.95, 1.05)),
        )
        for series, series_name in enumerate(part["series"], start=1)
        for size, size_name in enumerate(part["sizes"], start=1)
    ]


def customers_of(regions: Mapping[str, Any], rng: Random) -> tuple[Customer, ...]:
    """Return the customers of all regions; no two in a region share stem and trade."""
    named = [
        (f"{stem} {trade} {rng.choice(part['forms'])}", region)
        for region, part in regions.items()
        for stem, trade in rng.sample(list(product(part["stems"], part["trades"])), part["customers"])
    ]
    rng.shuffle(named)
    return tuple(
        Customer(id=f"C{place:04}", name=name, region=region) for place, (name, region) in enumerate(named, start=1)
    )
