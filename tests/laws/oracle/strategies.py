"""Random small books, metrics and requests."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import combinations

from hypothesis import strategies as st

from tests.laws.oracle.books import (
    GL,
    LEAVES,
    MEASURES,
    PEOPLE,
    PLACES,
    OracleAdjustment,
    OracleBooks,
    OracleEdge,
    OracleGroup,
    OracleRollup,
    OracleRow,
    OracleScenario,
)
from tests.laws.oracle.calendar import Fiscal
from tests.laws.oracle.cuts import cuts_of
from tests.laws.oracle.formulas import formulas_of, lines_of
from tests.laws.oracle.members import TOP, TwoWeights, node_weights, placed
from tests.laws.oracle.metrics import bases_of

DAYS = [
    *(date(2019, *day) for day in ((2, 28), (12, 30))),
    *(date(2020, *day) for day in ((1, 1), (2, 28), (2, 29), (3, 1), (6, 30), (7, 1), (12, 31))),
    *(date(2021, *day) for day in ((1, 3), (1, 4), (2, 28), (3, 1), (6, 30))),
    None,
]
SCENARIOS = ("actual", "budget", "forecast")
PRODUCTS = ("G", "N", "P1", "P2", "P3", "P4")  # G and N are nodes with postings of their own
STRANGER = "P9"  # facts bring it; the table of members lacks it
REGIONS = ("EU", "US", "")
JOURNALS = ("J1", "J2", "")
ALLOWED = ({"actual": ("EU",)}, {"forecast": ("EU",)}, {"actual": ("EU", "US"), "budget": ("EU",)})  # by a profile
WEIGHTS = ("1", "1", "1", "-1", ".5", "0", "-1.75", ".000125")
INNER = ("G", "N", "S")
SMALL, MOST = st.integers(-30, 30), 2**63 - 1
LARGE = st.one_of(SMALL, st.integers(-MOST, MOST), st.sampled_from((MOST, -MOST, MOST - 1)))
AMOUNTS = st.sampled_from((SMALL, SMALL, LARGE))  # in units of the last place


@st.composite
def rows_of(draw: st.DrawFn, domain: str, days: Sequence[date | None], most: int) -> list[OracleRow]:
    """Draw the rows of a domain on some days."""
    units = draw(AMOUNTS)
    known = {"product": (*PRODUCTS, STRANGER, ""), "region": REGIONS, "journal": JOURNALS}
    return [
        OracleRow(
            domain=domain,
            scenario=draw(st.sampled_from(("actual", *SCENARIOS))),
            day=draw(st.sampled_from(days)),
            members={key: draw(st.sampled_from(known[key])) for key in LEAVES[domain]},
            amounts={key: Fraction(draw(units), 10 ** PLACES[key]) for key in MEASURES[domain]},
        )
        for _ in range(draw(st.sampled_from((most, most, most, most // 3, 0))))
    ]


@st.composite
def weighted_tree(draw: st.DrawFn) -> tuple[OracleEdge, ...]:
    """Draw a ragged tree; an edge that would give a leaf two weights below one node is left out."""
    edges: tuple[OracleEdge, ...] = ()
    for at, node in enumerate((*INNER, *PRODUCTS[2:])):
        for parent in draw(st.lists(st.sampled_from((TOP, *INNER[:at])), unique=True, max_size=2)):
            longer = (*edges, OracleEdge(node, parent, draw(st.sampled_from(WEIGHTS))))
            edges = longer if is_sound(longer) else edges
    return edges or (OracleEdge("G", TOP, "1"),)


def is_sound(edges: tuple[OracleEdge, ...]) -> bool:
    """Tell whether every leaf has one weight below every node, and reaches it once where that weight is not 1."""
    try:
        for node in (TOP, *placed(edges)):
            node_weights(edges, node, set(PRODUCTS))
    except TwoWeights:
        return False
    for node in placed(edges):
        reached = Counter(paths_below(edges, node, set(PRODUCTS)))
        if any(count > 1 and weight != 1 for (_, weight), count in reached.items()):
            return False
    return all(edge.parent in (TOP, *placed(edges)) for edge in edges)


def paths_below(edges: tuple[OracleEdge, ...], node: str, known: set[str]) -> Iterator[tuple[str, Fraction]]:
    """Yield the leaf and the weight of each path below a node."""
    if node in known:
        yield node, Fraction(1)
    for edge in edges:
        if edge.parent == node and Fraction(edge.weight):
            for leaf, weight in paths_below(edges, edge.node, known):
                yield leaf, weight * Fraction(edge.weight)


@st.composite
def alternate_tree(draw: st.DrawFn) -> tuple[OracleEdge, ...]:
    """Draw two roots over the same leaves."""
    below = [OracleEdge(leaf, root, "1") for root in ("K", "L") for leaf in PRODUCTS[2:] if draw(st.booleans())]
    return (OracleEdge("K", TOP, "1"), OracleEdge("L", TOP, "1"), *below)


@st.composite
def scenarios_of(draw: st.DrawFn, books: OracleBooks) -> dict[str, OracleScenario]:
    """Draw closed months and a downside of the budget."""
    months = st.sampled_from(("2020-02", "2020-12", "2021-02", "2021-06"))
    closed: st.SearchStrategy[dict[str, str]] = st.one_of(
        st.just({}), st.fixed_dictionaries({"": months}), st.fixed_dictionaries({GL: months, PEOPLE: months})
    )
    adjust = []
    for _ in range(draw(st.integers(1, 2))):
        where = draw(cuts_of(books, draw(st.sampled_from((GL, PEOPLE)))).filter(bool))
        measures = draw(st.sampled_from((("amount",), ("amount", "qty"))))
        touches = (*measures, "fte") if set(where) == {"region"} and draw(st.booleans()) else measures
        adjust.append(OracleAdjustment(where, draw(st.sampled_from(("0.92", "2", "-1", "0", "1.0000001"))), touches))
    found = {key: OracleScenario(key, draw(closed)) for key in SCENARIOS}
    return {**found, "budget": replace(found["budget"], downside=tuple(adjust))}


@st.composite
def groups_of(draw: st.DrawFn, books: OracleBooks) -> dict[str, dict[str, OracleGroup]]:
    """Draw declared stock groups, or none."""
    grains = {GL: st.sampled_from(("month", "day")), PEOPLE: st.just("month")}
    return {
        domain: {
            key: OracleGroup((draw(cuts_of(books, domain)),), draw(grains[domain]))
            for key in draw(st.sampled_from(((), ("bs",), ("bs", "more"))))
        }
        for domain in (GL, PEOPLE)
    }


@st.composite
def random_books(draw: st.DrawFn) -> OracleBooks:
    """Draw an instance and its rows."""
    days = draw(st.lists(st.sampled_from(DAYS), min_size=2, max_size=5, unique=True))
    months = [day and day.replace(day=1) for day in days]
    facts = (*draw(rows_of(GL, days, 28)), *draw(rows_of(PEOPLE, months, 12)))
    books = OracleBooks(
        fiscal=Fiscal(draw(st.sampled_from((1, 2, 3, 7, 12))), draw(st.booleans())),
        rows=facts,
        bands={product: draw(st.sampled_from(("big", "small", ""))) for product in PRODUCTS},
        trees={"tree": draw(weighted_tree()), "alt": draw(alternate_tree())},
        scenarios={},
        groups={GL: {}, PEOPLE: {}},
        bases={},
        formulas={},
        lines={},
        rollup=OracleRollup("flow", "G", negated=False),
        allowed=draw(st.sampled_from(({}, {}, *ALLOWED))),
    )
    books = replace(books, scenarios=draw(scenarios_of(books)), groups=draw(groups_of(books)))
    books = replace(books, bases=draw(bases_of(books)))
    books = replace(books, rollups={domain: draw(rollups_by(LEAVES[domain])) for domain in (GL, PEOPLE)})
    books = replace(books, formulas=draw(formulas_of(books.bases)))
    return replace(books, lines=draw(lines_of(books.bases)), rollup=draw(rollup_of(books)))


def rollups_by(leaves: Sequence[str], least: int = 0) -> st.SearchStrategy[tuple[tuple[str, ...], ...]]:
    """Return what draws the rollups that a domain declares."""
    keys = [some for count in range(1, len(leaves) + 1) for some in combinations(leaves, count)]
    return st.lists(st.sampled_from(keys), unique=True, min_size=least, max_size=2).map(tuple)


@st.composite
def rollup_of(draw: st.DrawFn, books: OracleBooks) -> OracleRollup:
    """Draw the rollup of the statement."""
    node = draw(st.sampled_from(sorted(placed(books.trees["tree"]))))
    return OracleRollup(draw(st.sampled_from(("flow", "other", "stock"))), node, draw(st.booleans()))
