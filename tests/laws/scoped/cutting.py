"""Books cut to what profiles show: rows, members, nodes, scenarios and entries of the catalogue alike."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tests.laws.scoped.books import (
    AXIS,
    GL,
    LEAVES,
    MEASURES,
    STATEMENTS,
    ScopedBooks,
    ScopedPart,
    ScopedRow,
    ScopedScenario,
)
from tests.laws.scoped.profiles import ProfileSpec

DIMENSIONS = {  # in the order of the file
    "product": "{kind: leaf, members: live.product}",
    "band": "{kind: derived, from: product, attribute: band}",
    "tree": "{kind: ragged, leaf_dimension: product, nodes: live.tree}",
    "region": "{kind: leaf}",
    "customer": "{kind: leaf, members: live.customer}",
    "month": "{kind: leaf, grain: month}",
    "quarter": "{kind: leaf, grain: quarter}",
}
LEAF_OF = {"band": "product", "tree": "product"}
ASIDE = "aside"  # scenario of rows that only keep their members there


@dataclass(frozen=True)
class Sight:
    """What a caller sees of books through some profiles."""

    books: ScopedBooks
    profiles: Sequence[ProfileSpec]

    @cached_property
    def cells(self) -> Mapping[tuple[str, str], frozenset[tuple[str, ...]]]:
        """What may be seen of each scenario of each domain: the members of the rows that there can be."""
        return {
            (scenario, domain): frozenset(
                tuple(row.values()) for row in self.books.world.rows_seen(self.profiles, scenario, domain)
            )
            for scenario in self.books.scenarios
            for domain in self.books.domains
        }

    def sees(self, row: ScopedRow, scenarios: Sequence[str]) -> bool:
        """Tell whether a row lies inside what may be seen of each of some scenarios."""
        members = tuple(row.members[leaf] for leaf in LEAVES[row.domain])
        return all(members in self.cells[scenario, row.domain] for scenario in scenarios)

    @cached_property
    def domains(self) -> frozenset[str]:
        """The domains of which anything may be seen."""
        return frozenset(domain for (_, domain), cell in self.cells.items() if cell)

    @cached_property
    def scenarios(self) -> frozenset[str]:
        """The scenarios of which anything may be seen."""
        return frozenset(scenario for (scenario, _), cell in self.cells.items() if cell)

    @cached_property
    def rows(self) -> tuple[ScopedRow, ...]:
        """The rows that may be seen."""
        return tuple(row for row in self.books.rows if self.sees(row, [row.scenario]))

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """The members of each leaf dimension that a row seen has, or that a grant shows, rows or no rows."""
        having = {
            leaf: [domain for domain in self.books.domains if leaf in LEAVES[domain]]
            for leaf in self.books.world.members
        }
        return {
            leaf: frozenset(row.members[leaf] for row in self.rows if row.domain in domains).union(
                *(
                    self.books.world.members_known(self.profiles, scenario, domain, leaf)
                    for scenario in self.books.scenarios
                    for domain in domains
                )
            )
            for leaf, domains in having.items()
        }

    def shows(self, dimension: str, member: str) -> bool:
        """Tell whether a member or node is there, by its table or by a row that is seen, and may be seen."""
        if dimension not in self.members:
            return bool(self.books.nodes.get(member, frozenset()) & self.members[LEAF_OF[dimension]])
        is_loaded = member in self.books.members.get(dimension, {})
        has_rows = any(row.members.get(dimension) == member for row in self.rows)
        return member in self.members[dimension] and (is_loaded or has_rows)

    def alike(self, scenarios: Sequence[str]) -> bool:
        """Tell whether as much may be seen of each of some scenarios."""
        return all(len({self.cells[scenario, domain] for scenario in scenarios}) == 1 for domain in self.books.domains)


def cut(books: ScopedBooks, sight: Sight, compared: Sequence[str] = ()) -> ScopedBooks:
    """Return books that hold only what is seen; rows of scenarios compared, only what is seen of all of them.

    Rows that only comparing takes away are set aside, so that their members stay.
    """
    rows = tuple(
        row if row.scenario not in compared or sight.sees(row, compared) else replace(row, scenario=ASIDE)
        for row in sight.rows
    )
    seen = sight.members["product"]
    edges = tuple(edge for edge in books.edges if books.nodes[edge.node] & seen)
    scenarios = {key: scenario_cut(books.scenarios[key], sight) for key in books.scenarios if key in sight.scenarios}
    metrics = {domain: metrics_cut(books.metrics[domain], sight) for domain in books.domains if domain in sight.domains}
    statements = {key: lines for key in STATEMENTS if (lines := lines_cut(books.statements[key], sight))}
    return replace(
        books,
        rows=rows,
        members={
            leaf: {key: known for key, known in members.items() if key in sight.members[leaf]}
            for leaf, members in books.members.items()
        },
        edges=edges,
        scenarios={**scenarios, **({ASIDE: ScopedScenario()} if compared else {})},
        domains=tuple(domain for domain in books.domains if domain in sight.domains),
        metrics=metrics,
        statements=statements,
        terms=terms_cut(books.terms, metrics, statements),
        default=default_cut(books.default, sight, books),
        comparisons=tuple(pair for pair in books.comparisons if all(is_seen(reference, sight) for reference in pair)),
    )


def terms_cut(
    terms: Mapping[str, Sequence[Mapping[str, str]]],
    metrics: Mapping[str, Mapping[str, ScopedPart]],
    statements: Collection[str],
) -> dict[str, list[Mapping[str, str]]]:
    """Return the terms with the readings that name something seen; members are seen where books have them."""
    keys = {name for domain, known in metrics.items() for key in known for name in (key, f"{domain}.{key}")}
    dimensions = {
        key for key in DIMENSIONS if LEAF_OF.get(key, key) in {leaf for one in metrics for leaf in LEAVES[one]}
    }
    whole = {
        term: [
            reading
            for reading in readings
            if reading.get("metric") in keys
            or reading.get("statement") in statements
            or reading.get("dimension") in dimensions
        ]
        for term, readings in terms.items()
    }
    return {term: readings for term, readings in whole.items() if readings}


def metrics_cut(metrics: Mapping[str, ScopedPart], sight: Sight) -> dict[str, ScopedPart]:
    """Return the metrics of which all is seen."""
    return {key: known for key, known in metrics.items() if part_is_seen(known, sight)}


def part_is_seen(part: ScopedPart, sight: Sight) -> bool:
    """Tell whether all domains, scenarios and members that a part of the catalogue needs are seen."""
    is_seen = part.needs <= sight.domains and part.scenarios <= sight.scenarios
    return is_seen and all(sight.shows(dimension, member) for dimension, member in part.members.items())


def lines_cut(lines: Sequence[ScopedPart], sight: Sight) -> tuple[ScopedPart, ...]:
    """Return the lines of which all is seen, and headers with a line below."""
    seen = [line for line in lines if part_is_seen(line, sight)]
    kinds = [*("header" in line.part for line in seen), True]
    return tuple(line for line, of_words, last in zip(seen, kinds, kinds[1:], strict=False) if not (of_words and last))


def scenario_cut(scenario: ScopedScenario, sight: Sight) -> ScopedScenario:
    """Return a scenario without what speaks of domains and dimensions that are not seen."""
    leaves = {leaf for domain in sight.domains for leaf in LEAVES[domain]}
    measures = {measure for domain in sight.domains for measure in MEASURES[domain]}
    adjust = []
    for part in scenario.adjust:
        touched = [measure for measure in part["measures"] if measure in measures]
        if touched and all(LEAF_OF.get(key, key) in leaves for key in part["where"]):
            adjust.append({**part, "measures": touched})
    idle = {"where": {}, "factor": "1", "measures": sorted(measures)[:1]}
    return ScopedScenario(
        closed={domain: month for domain, month in scenario.closed.items() if domain in ("", *sight.domains)},
        adjust=tuple(adjust or [idle]) if scenario.adjust else (),
    )


def default_cut(default: Mapping[str, Any], sight: Sight, books: ScopedBooks) -> dict[str, Any]:
    """Return the default report without what is not seen."""
    columns = [column for column in default.get("scenarios", ()) if is_seen(column["scenario"], sight)]
    shown = {**default, "scenarios": columns}
    if "statement" in default and not lines_cut(books.statements[default["statement"]], sight):
        del shown["statement"]
    return shown


def is_seen(reference: str, sight: Sight) -> bool:
    """Tell whether every scenario that a reference names is seen."""
    return not any(key in reference for key in sight.books.scenarios if key not in sight.scenarios)


def dimensions_of(books: ScopedBooks) -> list[str]:
    """Return the dimensions that books have."""
    leaves = {leaf for domain in books.domains for leaf in LEAVES[domain]}
    return [key for key in DIMENSIONS if LEAF_OF.get(key, key) in {*leaves, "month", "quarter"}]


def axes_of(domain: str) -> tuple[str, ...]:
    """Return the axes of a domain."""
    return (AXIS,) if domain == GL else ()
