"""Random formulas whose parts go together: money, numbers, prices and ratios."""

from collections.abc import Mapping

from hypothesis import strategies as st

from tests.laws.oracle.books import GL, PEOPLE, OracleBase, OracleFormula
from tests.laws.oracle.expressions import (
    DAYS_HELD,
    PERIODS_HELD,
    Applied,
    Binary,
    Chosen,
    Expression,
    Name,
    Negative,
    Number,
)

MONEY, NUMBER, PRICE, RATIO = "money", "number", "price", "ratio"
DAYS, RATE, PERIODS = "days", "money a day", "periods"  # parts of formulas alone
Kinds = Mapping[str, tuple[str, str]]  # metric to its kind and domain
MADE: Kinds = {  # in the order in which one may use another
    "net": (MONEY, GL),
    "margin": (RATIO, GL),
    "price": (PRICE, GL),
    "value": (MONEY, GL),
    "both": (NUMBER, PEOPLE),
    "per_head": (PRICE, PEOPLE),
}
LINES: Kinds = {"first": (MONEY, ""), "second": (RATIO, ""), "third": (NUMBER, "")}
PRODUCTS = {
    MONEY: [(MONEY, NUMBER), (PRICE, NUMBER), (MONEY, RATIO), (RATE, DAYS)],
    NUMBER: [(NUMBER, NUMBER), (NUMBER, RATIO)],
    PRICE: [(PRICE, RATIO)],
    RATIO: [(RATIO, RATIO)],
    DAYS: [(RATIO, DAYS)],
    RATE: [(RATE, RATIO)],
}
QUOTIENTS = {  # the first of names alone
    MONEY: [(MONEY, RATIO)],
    NUMBER: [(MONEY, PRICE), (NUMBER, RATIO), (NUMBER, DAYS)],
    PRICE: [(MONEY, NUMBER), (PRICE, NUMBER), (PRICE, RATIO), (MONEY, PERIODS)],
    RATIO: [(MONEY, MONEY), (NUMBER, NUMBER), (PRICE, PRICE), (RATIO, RATIO), (NUMBER, PERIODS), (RATE, RATE)],
    DAYS: [(MONEY, RATE)],
    RATE: [(MONEY, DAYS)],
}
LEAVES_HELD = {DAYS: DAYS_HELD, PERIODS: PERIODS_HELD}
CONSTANTS = ("2", "0.5", "3", "1.25", "0")
SHAPES = ("name", "sum", "sum", "factor", "divisor", "negative", "product", "quotient", "function", "choice")


def kinds_of(bases: Mapping[str, OracleBase]) -> dict[str, tuple[str, str]]:
    """Return the kind and domain of the base metrics."""
    return {
        key: (MONEY if base.measure == "amount" and not base.counts else NUMBER, base.domain)
        for key, base in bases.items()
    }


@st.composite
def formulas_of(draw: st.DrawFn, bases: Mapping[str, OracleBase]) -> dict[str, OracleFormula]:
    """Draw the formula metrics, each over the bases and those before it."""
    known = kinds_of(bases)
    found = {}
    for key, (kind, domain) in MADE.items():
        found[key] = OracleFormula(
            key=key,
            domain=domain,
            expression=draw(part(kind, domain, known, 2)),
            percent=kind == RATIO and draw(st.booleans()),
        )
        known[key] = (kind, domain)
    return found


@st.composite
def lines_of(draw: st.DrawFn, bases: Mapping[str, OracleBase]) -> dict[str, OracleFormula]:
    """Draw the formula lines of the statement."""
    known = {**kinds_of(bases), **MADE}
    return {
        key: OracleFormula(key=key, domain="", expression=draw(part(kind, "", known, 2)))
        for key, (kind, _) in LINES.items()
    }


@st.composite
def part(draw: st.DrawFn, kind: str, domain: str, known: Kinds, depth: int) -> Expression:
    """Draw a part of a formula."""
    names = [key for key, (of, _) in known.items() if of == kind]
    shape = draw(st.sampled_from(SHAPES))
    if kind == PERIODS or (kind == DAYS and (shape == "name" or not depth)):
        return Name(LEAVES_HELD[kind], LEAVES_HELD[kind])
    if shape == "name" or not depth:
        return name(draw(st.sampled_from(names)), domain, known) if names else draw(quotient(kind, domain, known, 1))
    below = part(kind, domain, known, depth - 1)
    constant = st.sampled_from(CONSTANTS).map(Number)
    match shape:
        case "sum":
            parts = [draw(below), draw(below if draw(st.integers(0, 7)) < 7 else constant)]
            return Binary(draw(st.sampled_from("+-")), *(parts if draw(st.booleans()) else reversed(parts)))
        case "factor":
            sides = (draw(constant), draw(below))
            return Binary("*", *(sides if draw(st.booleans()) else reversed(sides)))
        case "divisor":
            return Binary("/", draw(below), draw(constant.filter(lambda number: number.text != "0")))
        case "negative":
            return Negative(draw(below))
        case "product":
            left, right = draw(st.sampled_from(PRODUCTS[kind]))
            return Binary("*", draw(part(left, domain, known, depth - 1)), draw(part(right, domain, known, depth - 1)))
        case "function":
            return draw(function_of(below, constant))
        case "choice":
            compared = part(draw(st.sampled_from((MONEY, NUMBER, RATIO))), domain, known, depth - 1)
            first, second = draw(compared), draw(compared | constant)
            then, otherwise = draw(below), draw(below | constant)
            return Chosen(draw(st.sampled_from(("<", "<=", "=", "!=", ">=", ">"))), first, second, then, otherwise)
        case _:
            return draw(quotient(kind, domain, known, depth))


@st.composite
def function_of(draw: st.DrawFn, below: st.SearchStrategy[Expression], constant: st.SearchStrategy[Number]) -> Applied:
    """Draw a function of parts of one kind."""
    name = draw(st.sampled_from(("min", "max", "abs", "round", "round")))
    if name in ("abs", "round"):
        places = st.lists(st.sampled_from(("0", "1", "2", "-2")).map(Number), max_size=name == "round")
        return Applied(name, (draw(below), *draw(places)))
    arguments = [draw(below), draw(below | constant)]
    return Applied(name, tuple(arguments if draw(st.booleans()) else reversed(arguments)))


@st.composite
def quotient(draw: st.DrawFn, kind: str, domain: str, known: Kinds, depth: int) -> Expression:
    """Draw one part over another; where no metric is of a kind, of the plain kinds there are."""
    over, under = draw(st.sampled_from(QUOTIENTS[kind] if depth > 1 else [QUOTIENTS[kind][0]]))
    return Binary("/", draw(part(over, domain, known, depth - 1)), draw(part(under, domain, known, depth - 1)))


def name(key: str, domain: str, known: Kinds) -> Name:
    """Return a metric as a formula of a domain writes it: those of other domains by their domain."""
    home = known[key][1]
    return Name(key, key if not domain or home == domain else f"{home}.{key}")
