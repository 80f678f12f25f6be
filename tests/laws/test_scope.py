"""The law of scope: an answer through a profile is the answer of books cut to that profile.

The cut is made by an oracle of plain Python over the rows, members and nodes as they were written; nothing of the
engine decides what is visible.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from engine.answers.figures import answer
from engine.answers.rows import rows_answer
from engine.door import Door, open_books
from engine.errors import Refusal
from engine.plans.report_plan import plan_metrics, plan_statement
from engine.queries.resolve import metric_query, statement_query
from engine.queries.rows import row_query
from engine.reader import Reader
from engine.report.inspection import inspect
from engine.report.run import run
from engine.requests import MetricRequest, RowsRequest, ScenarioAsked, SearchRequest, StatementRequest
from engine.search.search import search
from tests.laws.oracle.strategies import rollups_by
from tests.support.books import load_instance
from tests.support.small import write_instance

PRODUCTS = ("A", "B", "C", "D", "")
REGIONS = ("EU", "US", "")
ROW_FILTERS = ({}, {"tree": "North"}, {"metric": "revenue"}, {"metric": "known", "region": "EU"}, {"metric": "regions"})
METRICS = ("revenue", "share", "closing", "opening", "known", "postings", "regions", "largest")
TREE = {"North": ("A", "B"), "South": ("C",)}  # D is in no node
WEIGHTS = {"A": "1", "B": "-1", "C": ".5"}
DATES = ("2020-01-15", "2020-02-15", "2021-01-15", "2021-02-15")
Row = tuple[str, str, str, str, int]  # date, scenario, product, region, cents
Rollups = tuple[tuple[str, ...], ...]

rows = st.lists(
    st.tuples(
        st.sampled_from(DATES),
        st.sampled_from(("actual", "budget")),
        st.sampled_from(PRODUCTS),
        st.sampled_from(REGIONS),
        st.integers(-500, 500),
    ),
    max_size=25,
)
restrictions = st.dictionaries(
    st.sampled_from(("product", "region", "tree")),
    st.tuples(st.booleans(), st.integers(1, 7)),
    max_size=2,
)


def members_of(dimension: str, bits: int) -> list[str]:
    """Return the members or nodes that a restriction names."""
    known = {"product": PRODUCTS[:4], "region": REGIONS[:2], "tree": tuple(TREE)}[dimension]
    return [member for at, member in enumerate(known) if bits >> at & 1] or [known[0]]


def allows(row: Row, restriction: Mapping[str, tuple[bool, int]]) -> bool:
    """Tell by the words of figures.md whether a row is visible."""
    return all(
        holds(row[2] if dimension != "region" else row[3], dimension, deny, members_of(dimension, bits))
        for dimension, (deny, bits) in restriction.items()
    )


def holds(member: str, dimension: str, deny: bool, named: list[str]) -> bool:
    """Tell whether one member is inside one allow or deny."""
    if dimension != "tree":
        return (member not in named) if deny else member in named
    leaves = {leaf for node in named for leaf in TREE[node]}
    placed = {leaf for node in TREE.values() for leaf in node}
    return (member in placed and member not in leaves) if deny else member in leaves


def profile_of(restriction: Mapping[str, tuple[bool, int]], scenarios: tuple[str, ...]) -> str:
    """Return the profile that says a restriction of some scenarios."""
    dimensions = {
        dimension: {"deny" if deny else "allow": members_of(dimension, bits)}
        for dimension, (deny, bits) in restriction.items()
    }
    grants = {scenario: {"dimensions": dimensions} for scenario in scenarios}
    return f"seen: {{scenarios: {grants}}}\n".replace("'", '"')


def write(
    folder: Path,
    facts: list[Row],
    products: list[str],
    nodes: list[tuple[str, str, str]],
    scenarios: str,
    profile: str,
    rollups: Rollups = (),
) -> Door:
    """Write, load and open books as the profile `seen`, whole where it is not said."""
    text = "date scenario product region amount\n" + "\n".join(
        f"{day} {scenario} {product or '-'} {region or '-'} {cents / 100:.2f}"
        for day, scenario, product, region, cents in facts
    )
    instance = write_instance(
        folder / "books",
        facts={"gl": text},
        domains={
            "gl": f"""
            rollups: {[list(keys) for keys in rollups]}
            time: {{column: date}}
            dimensions: {{product: product, region: region}}
            measures: {{amount: {{places: 2}}}}
            balances: {{all: {{grain: month}}}}
            inspect_enabled: true
            metrics:
              revenue: {{measure: amount, favourable: up}}
              north: {{measure: amount, where: {{tree: [North]}}}}
              closing: {{measure: amount, over_time: closing}}
              share: {{formula: north / revenue, format: percent}}
              opening: {{measure: amount, over_time: opening}}
              known: {{measure: amount, over_time: {{last_known: always}}}}
              postings: {{over_members: count}}
              regions: {{over_members: {{count_distinct: region}}}}
              largest: {{measure: amount, over_members: max}}
            """
        },
        dimensions="""
            product: {kind: leaf, members: live.product}
            region: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={
            "product": "id name\n" + "\n".join(f"{member} Product~{member}" for member in products),
            "tree": "node parent weight\n" + "\n".join(" ".join(node) for node in nodes),
        },
        statements={
            "pnl": """
              - {metric: revenue}
              - {metric: closing}
              - {formula: {key: twice, label: Twice, is: revenue * 2}}
              - {rollup: {metric: revenue, dimension: tree, node: North}}
            """
        },
        scenarios=scenarios,
        profiles=profile,
    )
    load_instance(instance, folder / "state")
    return open_books(instance, state=folder / "state", profile="seen" if profile else None)


# A profile that names a region nobody has closes; these rows, never granted, let both exist.
HIDDEN: list[Row] = [("2021-01-15", "board", "D", region, 1) for region in REGIONS[:2]]
SCENARIOS = {
    "actual": "actual: {alias: A, kind: actual, closed_through: 2021-01}\n",
    "budget": "budget: {alias: B, kind: budget}\n",
}
BOARD = "board: {alias: Board, kind: plan}\n"
NODES = [(node, "-", "1") for node in TREE] + [(leaf, node, WEIGHTS[leaf]) for node in TREE for leaf in TREE[node]]


def cut(folder: Path, facts: list[Row], restriction: Mapping[str, tuple[bool, int]], granted: tuple[str, ...]) -> Door:
    """Return books that hold only what the profile shows, for everyone."""
    kept = [row for row in facts if row[1] in granted and allows(row, restriction)]
    products = [member for member in PRODUCTS[:4] if visible_product(member, restriction)]
    leaves = [node for node in NODES if node[0] not in TREE and node[0] in products]
    nodes = [node for node in NODES if node[0] in TREE and any(leaf[1] == node[0] for leaf in leaves)] + leaves
    return write(folder, kept, products, nodes, "".join(SCENARIOS[key] for key in granted), "")


def visible_product(member: str, restriction: Mapping[str, tuple[bool, int]]) -> bool:
    """Tell whether a profile shows a product at all."""
    return all(
        holds(member, dimension, deny, members_of(dimension, bits))
        for dimension, (deny, bits) in restriction.items()
        if dimension != "region"
    )


def answers(books: Door, granted: tuple[str, ...]) -> Iterator[Any]:
    """Yield what every reading tool answers, versions and loads aside."""
    reader = books.reader
    yield sorted(reader.scenarios), sorted(reader.metrics), sorted(reader.statements), sorted(reader.dimensions)
    for query in (None, "product", "a", "north"):
        found = search(SearchRequest(query=query), reader)
        yield found.records, found.hierarchy_nodes
    columns = [ScenarioAsked(scenario=key) for key in ("actual", "budget", "actual@py", "budget@ytd")]
    if len(granted) == 2:
        columns.append(ScenarioAsked(scenario="actual+budget"))
        columns += [ScenarioAsked(scenario=f"{kind}(actual,budget)") for kind in ("var", "var_pct")]
    for dimensions in ((), ("product",), ("tree",), ("region", "period")):
        for filters in ({}, {"tree": "North"}, {"product": ("A", "C")}, {"region": "EU"}):
            asked = {
                "scenarios": tuple(columns),
                "period_start": "2021-01",
                "period_end": "2021-02",
                "dimensions": dimensions,
                "filters": filters,
            }
            metrics = MetricRequest(metrics=METRICS, **asked)
            statement = StatementRequest(statement="pnl", **asked)
            yield answered(lambda metrics=metrics: plan_metrics(metric_query(metrics, reader), reader))
            yield answered(lambda statement=statement: plan_statement(statement_query(statement, reader), reader))

    for filters in (
        {},
        {"tree": "North"},
        {"metric": "revenue"},
        {"metric": "known", "region": "EU"},
        {"metric": "regions"},
    ):
        for scenario in granted:
            yield rows_of(RowsRequest(source_key="gl", scenario_id=scenario, filters=filters), reader)
    if len(granted) == 2:
        both = {"metric": "revenue", "scenario": "actual+budget", "compared_with": "budget"}
        yield rows_of(RowsRequest(source_key="gl", scenario_id="actual", period_start="2021", filters=both), reader)


def rows_of(asked: RowsRequest, reader: Reader) -> Any:
    """Return the rows that a caller reads, in any order, and what is said of them; versions aside."""
    try:
        result = rows_answer(inspect(row_query(asked, reader, 1000), reader), 1_000_000)
    except Refusal as refusal:
        return refusal.as_data()
    versions = ("catalogue_version", "data_version", "rows")
    return sorted(map(str, result["rows"])), {key: part for key, part in result.items() if key not in versions}


def answered(plan: Any) -> Any:
    """Return an answer or a refusal as its caller reads it."""
    try:
        result = answer(run(plan()), 1_000_000)
    except Refusal as refusal:
        return refusal.as_data()
    for scenarios in result["freshness"].values():
        for known in scenarios.values():
            for name in ("load_id", "loaded_at", "earliest_loaded_at"):
                known.pop(name, None)
    return {key: part for key, part in result.items() if key not in ("catalogue_version", "data_version")}


@given(
    facts=rows,
    restriction=restrictions,
    granted=st.sampled_from([("actual",), ("actual", "budget")]),
    rollups=rollups_by(("product", "region")),
)
def test_an_answer_through_a_profile_is_that_of_books_cut_to_it(
    facts: list[Row], restriction: dict[str, tuple[bool, int]], granted: tuple[str, ...], rollups: Rollups
) -> None:
    assume(any(visible_product(member, restriction) for member in PRODUCTS[:4]))  # else nothing at all is granted
    with tempfile.TemporaryDirectory() as folder:
        everything = "".join(SCENARIOS.values()) + BOARD
        seen = write(
            Path(folder, "seen"),
            facts + HIDDEN,
            list(PRODUCTS[:4]),
            NODES,
            everything,
            profile_of(restriction, granted),
            rollups,
        )
        whole = cut(Path(folder, "cut"), facts, restriction, granted)
        for mine, theirs in zip(answers(seen, granted), answers(whole, granted), strict=True):
            assert mine == theirs
