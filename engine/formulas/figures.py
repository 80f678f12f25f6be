"""Figures and the two kinds of nothing, and what can be done with a figure of each type."""

from dataclasses import dataclass
from enum import Enum

from engine.exact import Exact


class Nothing(Enum):
    """Why there is no figure: no row was seen, or the question cannot be asked."""

    MISSING = "missing"
    UNAVAILABLE = "unavailable"


Figure = Exact | Nothing


class Kind(Enum):
    """What a figure is an amount of."""

    MONEY = "money"
    NUMBER = "number"
    PRICE = "price"  # money for each
    RATIO = "ratio"


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureType:
    """What a figure is, whether parts add up to the whole, and whether it was divided."""

    kind: Kind
    additive: bool
    quotient: bool = False


class FormulaFault(ValueError):
    """A formula that cannot be read, or whose parts do not go together; says so to whoever wrote it."""


PRODUCTS: dict[tuple[Kind, Kind], Kind] = {
    (Kind.NUMBER, Kind.NUMBER): Kind.NUMBER,
    (Kind.MONEY, Kind.NUMBER): Kind.MONEY,
    (Kind.PRICE, Kind.NUMBER): Kind.MONEY,
    **{(kind, Kind.RATIO): kind for kind in Kind},
}
QUOTIENTS: dict[tuple[Kind, Kind], Kind] = {
    (Kind.MONEY, Kind.NUMBER): Kind.PRICE,
    (Kind.MONEY, Kind.PRICE): Kind.NUMBER,
    (Kind.NUMBER, Kind.MONEY): Kind.NUMBER,
    (Kind.NUMBER, Kind.PRICE): Kind.NUMBER,
    (Kind.PRICE, Kind.NUMBER): Kind.PRICE,
    (Kind.RATIO, Kind.NUMBER): Kind.RATIO,
    **{(kind, Kind.RATIO): kind for kind in Kind},
    **{(kind, kind): Kind.RATIO for kind in Kind},
}


def product_type(left: FigureType, right: FigureType) -> FigureType:
    """Return what one figure times another makes; never an additive one."""
    kind = PRODUCTS.get((left.kind, right.kind)) or PRODUCTS.get((right.kind, left.kind))
    if kind is None:
        raise FormulaFault(f"multiplies {left.kind.value} by {right.kind.value}")
    return FigureType(kind=kind, additive=False, quotient=left.quotient or right.quotient)


def quotient_type(over: FigureType, under: FigureType) -> FigureType:
    """Return what one figure over another makes: like over like is a ratio, money over a number a price."""
    kind = QUOTIENTS.get((over.kind, under.kind))
    if kind is None:
        raise FormulaFault(f"divides {over.kind.value} by {under.kind.value}")
    return FigureType(kind=kind, additive=False, quotient=True)
