"""Books of three domains as plain values: rows, members, a weighing tree, scenarios, and a catalogue in parts.

A part of the catalogue says which domains it needs, so that it can be left out where one of them may not be seen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from hypothesis import strategies as st

from tests.laws.oracle.books import OWN, OracleEdge
from tests.laws.oracle.strategies import INNER, PRODUCTS, STRANGER, rollups_by, weighted_tree
from tests.laws.scoped.profiles import NOBODY, UNASSIGNED, World

GL, PEOPLE, SALES = "gl", "people", "sales"
LEAVES = {GL: ("product", "region"), PEOPLE: ("region",), SALES: ("product", "customer")}
AXIS = "currency"  # of the ledger
REGIONS, CUSTOMERS, CURRENCIES, BANDS = ("EU", "US"), ("X", "Y"), ("USD", "EUR"), ("big", "small")
KINDS = {"actual": "actual", "budget": "budget", "forecast": "forecast", "board": "plan"}
ALL_DOMAINS = (GL, PEOPLE, SALES)
DAYS = (
    *(date(2020, *day) for day in ((1, 15), (2, 28), (2, 29), (3, 1), (6, 30), (12, 31))),
    *(date(2021, *day) for day in ((1, 4), (2, 28), (6, 30))),
    None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopedRow:
    """A fact; a null member is the empty id, amounts are digits by measure."""

    domain: str
    scenario: str
    day: date | None
    members: Mapping[str, str]
    amounts: Mapping[str, str]


NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class ScopedPart:
    """A metric or a line as its file writes it, and the domains, scenarios and members that it needs."""

    part: Mapping[str, Any]
    needs: frozenset[str]
    scenarios: frozenset[str] = frozenset()
    members: Mapping[str, str] = field(default_factory=dict)  # dimension to the member that its formula names


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopedScenario:
    """A base scenario: `closed` is domain ("" for the others) to its last closed month, `adjust` of its variant."""

    closed: Mapping[str, str] = field(default_factory=dict)
    adjust: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class ScopedBooks:
    """An instance and its rows."""

    rows: tuple[ScopedRow, ...]
    members: Mapping[str, Mapping[str, Mapping[str, str]]]  # of the dimensions that have a table: id to attributes
    edges: tuple[OracleEdge, ...]
    names: Mapping[str, str]  # of nodes; the others are named by their leaf
    scenarios: Mapping[str, ScopedScenario]
    domains: tuple[str, ...]
    metrics: Mapping[str, Mapping[str, ScopedPart]]
    statements: Mapping[str, tuple[ScopedPart, ...]]
    default: Mapping[str, Any]
    comparisons: tuple[tuple[str, str], ...]
    rollups: Mapping[str, tuple[tuple[str, ...], ...]]
    terms: Mapping[str, Sequence[Mapping[str, str]]]

    @cached_property
    def world(self) -> World:
        """What profiles can speak of."""
        loaded = {row.members["product"] for row in self.rows if row.members.get("product")}
        described = self.members["product"]
        bands = {
            band: frozenset(key for key, known in described.items() if known.get("band") == band)
            for band in BANDS
            if any(known.get("band") == band for known in described.values())
        }
        products = tuple(dict.fromkeys((*described, *sorted(loaded - {*described}))))
        tree = {node: leaves & {*products} for node, leaves in self.nodes.items()}
        parents = {edge.parent for edge in self.edges}
        own = {f"{node}{OWN}": frozenset({node}) for node in tree if node in parents and node in products}
        unbanded = {NOBODY, *(key for key in products if not described.get(key, {}).get("band"))}
        unplaced = {NOBODY, *products}.difference(*tree.values())
        return World(
            kinds={key: KINDS[key] for key in self.scenarios},
            leaves=LEAVES,
            members={"product": products, "region": REGIONS, "customer": tuple(self.members["customer"])},
            above={"band": "product", "tree": "product"},
            below={
                "band": {**bands, UNASSIGNED: frozenset(unbanded)},
                "tree": {**tree, **own, UNASSIGNED: frozenset(unplaced)},
            },
            trees=frozenset({"tree"}),
        )

    @cached_property
    def nodes(self) -> dict[str, frozenset[str]]:
        """The leaves below each node, whatever their weight."""
        return {edge.node: frozenset(self.below(edge.node)) for edge in self.edges}

    def below(self, node: str) -> Iterator[str]:
        """Yield a node and all below it."""
        yield node
        for edge in self.edges:
            if edge.parent == node:
                yield from self.below(edge.node)


def piece(
    needs: Sequence[str], scenarios: Sequence[str] = (), members: Mapping[str, str] = NONE, /, **part: Any
) -> ScopedPart:
    """Return a part of a catalogue that needs some domains, scenarios and members."""
    return ScopedPart(part, frozenset(needs), frozenset(scenarios), members)


METRICS = {
    GL: {
        "revenue": piece([GL], measure="amount", favourable="up", label="Revenue"),
        "north": piece([GL], measure="amount", where={"tree": ["G"]}, label="North of G"),
        "others": piece([GL], measure="amount", where={"product": {"exclude": ["P1", "N"]}}),
        "beside": piece([GL], measure="amount", where={"tree": {"exclude": ["S"]}}, over_time="closing"),
        "least": piece([GL], measure="amount", over_time="lowest"),
        "middle": piece([GL], measure="amount", over_members="median"),
        "upper": piece([GL], measure="amount", over_members={"percentile": 90}),
        "several": piece([GL], measure="amount", where={"product": ["P1", "P2", "N"], "region": ["EU"]}),
        "closing": piece([GL], measure="amount", over_time="closing"),
        "opening": piece([GL], measure="amount", over_time="opening"),
        "known": piece([GL], measure="amount", over_time={"last_known": "always"}),
        "share": piece([GL], formula="north / revenue", format="percent"),
        "postings": piece([GL], over_members="count"),
        "regions": piece([GL], over_members={"count_distinct": "region"}),
        "largest": piece([GL], measure="amount", over_members="max"),
        "of_board": piece([GL], ["board"], formula="revenue / north[board@py]", format="percent"),
        "plan_gap": piece([GL], ["budget"], formula="revenue - revenue[budget/downside]", label="Gap of the plan"),
        "off_board": piece([GL], ["board", "budget"], formula="abs(plan_gap) * of_board"),
        "to_first": piece([GL], [], {"product": "P1"}, formula="revenue / revenue{product: P1}"),
        "planned_tree": piece(
            [GL], ["budget"], {"product": "P1", "tree": "G"}, formula="to_first * revenue{tree: G}[budget]"
        ),
        "a_size": piece([GL, PEOPLE], formula="revenue / people.size"),
        "per_head": piece([GL, PEOPLE], formula="revenue / people.heads", label="Revenue a head"),
    },
    PEOPLE: {
        "heads": piece([PEOPLE], measure="fte", over_time="closing", label="Heads"),
        "size": piece([PEOPLE], measure="fte", over_time="closing", repeats=True),
        "starters": piece([PEOPLE], measure="fte", where={"region": ["US"]}),
    },
    SALES: {
        "turnover": piece([SALES], measure="value", favourable="up", drivers={"volume": "pieces", "price": "price"}),
        "pieces": piece([SALES], measure="sold", where={"product": ["P1", "P4", "P7"]}),
        "price": piece([SALES], formula="turnover / pieces"),
        "margin": piece([GL, SALES], formula="gl.revenue - turnover"),
        "closing": piece([SALES], ["forecast"], formula="turnover[forecast] / turnover[@py]"),  # the ledger has one too
        "postings": piece([SALES], over_members="count"),  # the ledger has one too
        "busier": piece([GL, SALES], formula="postings - gl.postings"),
    },
}
STATEMENTS = {
    "pnl": (
        piece([], header="Trading"),
        piece([GL], metric="revenue"),
        piece([GL], rollup={"metric": "revenue", "dimension": "tree", "node": "G", "depth": 3}, key="rolled"),
        piece([], header="People"),
        piece([PEOPLE], metric="heads"),
        piece([GL, PEOPLE], formula={"key": "a_head", "label": "A head", "is": "revenue / heads"}),
        piece([], header="Customers"),
        piece([SALES], metric="turnover"),
        piece([GL, SALES], formula={"key": "rest", "label": "Rest", "is": "revenue - turnover"}),
    ),
    "shop": (
        piece([], header="Shop"),
        piece([SALES], metric="turnover"),
        piece([SALES], metric="price"),
        piece([SALES], metric="sales.postings"),
    ),
    "gaps": (
        piece([], header="Beside the budget"),
        piece([GL], ["budget"], formula={"key": "gap", "label": "Gap", "is": "revenue - revenue[budget]"}),
        piece([], header="Beside the board"),
        piece([GL], ["board", "budget"], metric="off_board"),
        piece([GL, SALES], ["board"], formula={"key": "rest", "label": "Rest", "is": "revenue - turnover[board]"}),
        piece([GL], [], {"region": "EU"}, formula={"key": "europe", "label": "Europe", "is": "revenue{region: EU}"}),
        piece([GL], formula={"key": "growth", "label": "Growth", "is": "revenue / revenue[@py] - 1"}),
    ),
    "closes": (
        piece([GL], metric="gl.closing"),
        piece([GL], metric="opening"),
        piece([PEOPLE], metric="heads"),
        piece(
            [GL], [], {"region": "EU"}, formula={"key": "outside", "label": "Outside", "is": "revenue - gaps.europe"}
        ),
        piece([GL, SALES], formula={"key": "rested", "label": "Rested", "is": "pnl.rest + opening"}),
    ),
}
COMPARISONS = (("actual", "budget"), ("actual", "actual@py"), ("forecast", "board"), ("actual+forecast", "budget"))
DEFAULTS: tuple[Mapping[str, Any], ...] = (
    {},
    {"statement": "shop", "scenarios": [{"scenario": "board", "alias": "Board"}], "period_start": "2020"},
    {
        "statement": "pnl",
        "scenarios": [{"scenario": "actual"}, {"scenario": "var(actual,budget)", "alias": "Variance"}],
        "period_start": "2020-01",
        "period_end": "2021-02",
    },
)
ADJUSTMENTS: tuple[Mapping[str, Any], ...] = (
    {"where": {"customer": ["X"]}, "factor": "0.5", "measures": ["value"]},
    {"where": {"tree": ["G"]}, "factor": "0.92", "measures": ["amount", "value"]},
    {"where": {"region": ["EU"]}, "factor": "2", "measures": ["amount", "fte"]},
)


@st.composite
def rows_of(draw: st.DrawFn, domain: str, most: int) -> list[ScopedRow]:
    """Draw the rows of a domain."""
    known = {
        "product": (*PRODUCTS, STRANGER, ""),
        "region": (*REGIONS, ""),
        "customer": (*CUSTOMERS, ""),
        AXIS: ("USD", *CURRENCIES),
    }
    leaves = (*LEAVES[domain], AXIS) if domain == GL else LEAVES[domain]
    amount = st.integers(-900, 900).map(str)
    return [
        ScopedRow(
            domain=domain,
            scenario=draw(st.sampled_from(("actual", *KINDS))),
            day=draw(st.sampled_from(DAYS)),
            members={leaf: draw(st.sampled_from(known[leaf])) for leaf in leaves},
            amounts={measure: draw(amount) for measure in MEASURES[domain]},
        )
        for _ in range(draw(st.integers(0, most)))
    ]


TERMS: dict[str, list[dict[str, str]]] = {
    "Umsatz": [{"metric": "revenue", "means": "what the ledger sold"}],
    "result": [
        {"metric": "margin", "means": "ledger without sales"},
        {"metric": "gl.closing", "means": "balance"},
        {"statement": "pnl", "means": "all lines"},
    ],
    "team": [{"metric": "heads", "means": "people"}, {"dimension": "customer", "member": "X", "means": "a customer"}],
    "the north": [
        {"dimension": "tree", "member": "G", "means": "a node"},
        {"dimension": "region", "member": "EU", "means": "a region"},
    ],
    "star": [
        {"dimension": "product", "member": "P1", "means": "the first"},
        {"dimension": "product", "member": "P4", "means": "the fourth"},
        {"dimension": "customer", "member": "Y", "means": "a customer"},
    ],
}
NOT_HELD = ["ageing", "open invoices"]
MEASURES = {GL: ("amount",), PEOPLE: ("fte",), SALES: ("value", "sold")}
# Every region and currency has a row: a profile that names what nobody ever had closes.
LASTING = tuple(
    ScopedRow(
        domain=GL,
        scenario="board",
        day=date(2021, 1, 4),
        members={"product": "P4", "region": region, AXIS: currency},
        amounts={"amount": "1"},
    )
    for region, currency in zip(REGIONS, CURRENCIES, strict=True)
)


@st.composite
def random_books(draw: st.DrawFn) -> ScopedBooks:
    """Draw books."""
    facts = [*draw(rows_of(GL, 20)), *draw(rows_of(PEOPLE, 8)), *draw(rows_of(SALES, 8))]
    edges = with_leaves(draw(weighted_tree()))
    named = draw(st.sets(st.sampled_from((*INNER, *PRODUCTS))))
    months = st.sampled_from(("2020-02", "2020-12", "2021-02"))
    closed: st.SearchStrategy[dict[str, str]] = st.one_of(
        st.just({}), st.fixed_dictionaries({"": months}), st.fixed_dictionaries({GL: months, SALES: months})
    )
    adjusted = draw(st.lists(st.sampled_from(ADJUSTMENTS), min_size=1, max_size=2, unique_by=str))
    return ScopedBooks(
        rows=(*facts, *LASTING),
        members={
            "product": {
                key: {"code": f"60{key}", "name": f"Article {key}", "band": draw(st.sampled_from((*BANDS, "")))}
                for key in PRODUCTS
            },
            "customer": {key: {"name": f"Customer {key}"} for key in CUSTOMERS},
        },
        edges=edges,
        names={edge.node: f"Node {edge.node}" for edge in edges if edge.node in named},
        scenarios={
            key: ScopedScenario(closed=draw(closed), adjust=tuple(adjusted) if key == "budget" else ()) for key in KINDS
        },
        domains=ALL_DOMAINS,
        metrics=METRICS,
        statements=STATEMENTS,
        default=draw(st.sampled_from(DEFAULTS)),
        comparisons=COMPARISONS,
        rollups={domain: draw(rollups_by(LEAVES[domain])) for domain in ALL_DOMAINS},
        terms=TERMS,
    )


def with_leaves(edges: tuple[OracleEdge, ...]) -> tuple[OracleEdge, ...]:
    """Return a tree without the nodes that no leaf lies below."""
    parents = {edge.parent for edge in edges}
    kept = tuple(edge for edge in edges if edge.node in PRODUCTS or edge.node in parents)
    return kept if kept == edges else with_leaves(kept)
