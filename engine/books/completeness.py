"""Completeness: what periods, trees and statements leave out of the loaded books, count twice, or weigh with 0."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Context, Decimal
from functools import reduce
from operator import and_

import polars as pl
from msgspec import Struct

from engine.books.books import Books
from engine.books.search_rows import TreeNodes, described
from engine.model.calendar.periods import UNDATED_CODE, WITHOUT_DATE, Span
from engine.model.catalogue import (
    Base,
    Dimension,
    DimensionKind,
    Domain,
    FormulaLine,
    MetricLine,
    RollupLine,
    Statement,
)
from engine.model.errors import Refusal, quoted
from engine.model.fact_store import ROWS, SPAN, Aggregate, Question, Slice
from engine.model.figure_parts import FigureParts, figure_named
from engine.model.functions import metrics_of
from engine.model.members.member_sets import NULL_CODE, leaves_of_cut
from engine.model.members.trees import HierarchyFault, RaggedNodes
from engine.model.scope import EVERYTHING, UNASSIGNED, Cut

MOST = 3  # members that a remark names
WIDE = Context(prec=60)  # more digits than any sum has

LeafAmounts = Mapping[str, Mapping[int, int]]  # scenario -> leaf code -> amount of its dated rows


class Postings(Struct, frozen=True):
    """The amounts of one measure of a domain by the members of a leaf dimension, in each scenario."""

    domain: Domain
    leaf: str
    amounts: LeafAmounts
    places: int  # of the amounts, which are integers of the last one
    ids: pl.Series

    @property
    def codes(self) -> frozenset[int]:
        """The members that have rows in any scenario."""
        return frozenset[int]().union(*self.amounts.values())

    def describe(self, codes: Collection[int]) -> str:
        """Return the amounts of some members in words: of each scenario, then of the largest members."""
        sums = {
            scenario: sum(amounts.get(code, 0) for code in codes)
            for scenario, amounts in self.amounts.items()
            if not amounts.keys().isdisjoint(codes)
        }
        largest = sorted(codes, key=lambda code: (-self._size(code), self.ids[code]))[:MOST]
        shown = ", ".join(UNASSIGNED if code == NULL_CODE else self.ids[code] for code in largest)
        rest = f", {len(codes) - MOST:,} more" if len(codes) > MOST else ""
        return f"{'; '.join(f'{scenario} {self._written(units)}' for scenario, units in sums.items())} ({shown}{rest})"

    def _size(self, code: int) -> int:
        return max(abs(amounts.get(code, 0)) for amounts in self.amounts.values())

    def _written(self, units: int) -> str:
        return in_digits(units, self.places)


class ReadTree(Struct, frozen=True):
    """A tree and the leaves without a node. It is opened only if it may reach a leaf twice or lose one."""

    dimension: Dimension
    outside: frozenset[int]
    nodes: RaggedNodes | None


def completeness(books: Books, domains: Collection[str]) -> Iterator[str]:
    """Yield what trees and statements leave out of some domains, reach twice, or weigh with 0, with the amounts.

    Trees and statements that cannot be read are left out; `data_faults` names them.
    """
    catalogue = books.catalogue
    for domain in (catalogue.domains[key] for key in domains if books.feeds(key)):
        yield from undated_remarks(books, domain)
        yield from unmet_remarks(books, domain)
        for leaf in catalogue.leaves_of(domain.key):
            trees = list(readable_trees(books, leaf))
            if not trees and not any(catalogue.dimensions[known].leaf == leaf for known in cut_dimensions(books)):
                continue
            postings = read_postings(books, domain, leaf)
            yield from tree_remarks(postings, trees)
            for statement in catalogue.statements.values():
                yield from statement_remarks(books, statement, postings)


def cut_dimensions(books: Books) -> frozenset[str]:
    """Return the dimensions that metrics restrict."""
    bodies = (metric.body for metric in books.catalogue.metrics.values())
    return frozenset(cut.dimension for body in bodies if isinstance(body, Base) for cut in body.where)


def readable_trees(books: Books, leaf: str) -> Iterator[ReadTree]:
    """Yield the trees above a leaf dimension."""
    for dimension in books.catalogue.dimensions.values():
        if dimension.kind is DimensionKind.RAGGED and dimension.leaf == leaf:
            with suppress(Refusal, HierarchyFault):
                yield read_tree(books, dimension)


def read_tree(books: Books, dimension: Dimension) -> ReadTree:
    """Read a tree from its table; where a root has a weight or several paths lead to a node, open it."""
    ids, _, table = books.loaded.tables(dimension.key)
    assert table is not None  # noqa: S101 - a ragged dimension without nodes is not loaded
    tree = TreeNodes.of(described(ids, None), table)
    if tree.is_simple and not weighs_roots(table):
        postings = tree.nodes["posting"].drop_nulls()
        outside = pl.repeat(value=True, n=len(ids), eager=True).scatter(postings, values=False).arg_true()
        return ReadTree(dimension, frozenset(outside.to_list()), None)
    nodes = books.members(dimension.key)
    assert isinstance(nodes, RaggedNodes)  # noqa: S101 - a ragged dimension has no other members
    return ReadTree(dimension, nodes.unassigned(), nodes)


def weighs_roots(table: pl.DataFrame) -> bool:
    """Tell whether a table of nodes gives a weight other than 1 to a root."""
    if "weight" not in table.columns:
        return False
    roots = table.filter(pl.col("parent").is_null()) if "parent" in table.columns else table
    return roots.filter(pl.col("weight") != "1").height > 0


def unmet_remarks(books: Books, domain: Domain) -> Iterator[str]:
    """Yield the metrics of a domain whose condition no loaded member meets."""
    for metric in books.catalogue.metrics.values():
        for cut in metric.body.where if isinstance(metric.body, Base) and metric.domain == domain.key else ():
            try:
                members = books.members(cut.dimension)
            except (Refusal, HierarchyFault):
                continue
            if not any(map(members.has, cut.ids)):
                named = quoted(cut.ids, MOST)
                yield f"{cut.location}: metric {metric.key} names {named}, which {cut.dimension} no longer has"


def undated_remarks(books: Books, domain: Domain) -> Iterator[str]:
    """Yield the rows of a domain that belong to no period, with their amounts in each scenario."""
    measure, found = domain.first_amount, []
    for scenario in books.catalogue.live_scenarios if domain.keeps_undated else ():
        for rows, units in sums_of(books, domain, scenario, WITHOUT_DATE, ()).select(ROWS, measure.key).iter_rows():
            found.append(f"{scenario} {rows:,} row{'' if rows == 1 else 's'} of {in_digits(units, measure.places)}")
    if found:
        yield f"{domain.key}: rows without a date are in no period; {UNDATED_CODE} asks for them: {'; '.join(found)}"


def sums_of(books: Books, domain: Domain, scenario: str, span: Span, keys: tuple[str, ...]) -> pl.DataFrame:
    """Return the sums of the first amount of a domain in a span and its rows, a row for each key group."""
    amount = Aggregate(domain.first_amount.key)
    asked = Slice(domain=domain.key, scenario=scenario, spans=(span,), keys=keys, aggregates=(amount,))
    (frame,) = books.facts.collect([Question(asked, EVERYTHING)], lambda: None)
    return frame.group_by(keys or SPAN).agg(pl.col(amount.measure, ROWS).sum())


def in_digits(units: int, places: int) -> str:
    """Return an amount in digits, with commas between thousands."""
    return f"{Decimal(units).scaleb(-places, WIDE):,f}"


def read_postings(books: Books, domain: Domain, leaf: str) -> Postings:
    """Return the amounts of the first measure of money of a domain, else of its first, by member."""
    measure, days = domain.first_amount, books.catalogue.calendar.days

    def read(scenario: str) -> dict[int, int]:
        return dict(sums_of(books, domain, scenario, days, (leaf,)).select(leaf, measure.key).iter_rows())

    scenarios = list(books.catalogue.live_scenarios)
    with ThreadPoolExecutor() as pool:  # a sum takes hardly more than one core
        each = dict(zip(scenarios, pool.map(read, scenarios), strict=True))
    amounts = {scenario: found for scenario, found in each.items() if found}
    return Postings(domain, leaf, amounts, measure.places, books.loaded.tables(leaf).ids)


def tree_remarks(postings: Postings, trees: Sequence[ReadTree]) -> Iterator[str]:
    """Yield members with postings that no tree holds, that one tree reaches twice, and that roots of weight 0 lose."""
    codes, domain = postings.codes, postings.domain.key
    outside = reduce(and_, (tree.outside for tree in trees)) & codes if trees else frozenset[int]()
    if outside:
        names = " and ".join(tree.dimension.key for tree in trees)
        yield (
            f"{domain}: no node of {names} holds {count(len(outside), postings.leaf)} with postings: "
            f"{postings.describe(outside)}"
        )
    for dimension, tree in ((each.dimension, each.nodes) for each in trees if each.nodes is not None):
        lost = frozenset[int]().union(*(tree.below(root) for root, weight in tree.roots if not weight)) & codes
        roots = ", ".join(root for root, weight in tree.roots if not weight)
        if roots:
            yield (
                f"{dimension.location}: {dimension.key}: the weight of the root {roots} is 0, so totals by "
                f"{dimension.key} leave out {domain} of {postings.describe(lost) if lost else 'nothing yet'}"
            )
        twice = frozenset(code for code, paths in path_counts(tree).items() if paths > 1) & codes
        if twice:
            counted = "counts by each path" if tree.adds_paths else "counts once in a total, and in each node"
            yield (
                f"{dimension.location}: {dimension.key} reaches {count(len(twice), postings.leaf)} by several paths; "
                f"each {counted}: {domain} {postings.describe(twice)}"
            )


def path_counts(tree: RaggedNodes) -> Mapping[int, int]:
    """Return how many paths lead from the roots to each leaf."""
    parents = Counter(child for edges in tree.edges.values() for child, _ in edges)
    paths = Counter(node for node, _ in tree.roots)
    ready = [node for node in tree.names if not parents[node]]
    leaves: dict[int, int] = defaultdict(int)
    while ready:
        node = ready.pop()
        if node in tree.postings:
            leaves[tree.postings[node]] += paths[node]
        for child, _ in tree.edges.get(node, ()):
            paths[child] += paths[node]
            parents[child] -= 1
            if not parents[child]:
                ready.append(child)
    return leaves


def statement_remarks(books: Books, statement: Statement, postings: Postings) -> Iterator[str]:
    """Yield how much of a domain the lines of a statement do not reach, below the nodes that it covers."""
    catalogue, leaf = books.catalogue, postings.leaf
    bases = [base for base in statement_bases(books, statement) if base.domain == postings.domain.key]
    own = [[cut for cut in base.where if catalogue.dimensions[cut.dimension].leaf == leaf] for base in bases]
    if not bases or not all(own):
        return
    covers = [cut for cut in statement.covers if catalogue.dimensions[cut.dimension].leaf == leaf]
    try:
        sets = [[selected(books, cut) for cut in cuts] for cuts in own]
        meant = [selected(books, cut) for cut in covers]
    except (Refusal, HierarchyFault):
        return
    reached = frozenset[int]().union(*(reduce(and_, cuts) for cuts in sets))
    inside = postings.codes & frozenset[int]().union(*meant) if meant else postings.codes
    missed = inside - reached
    if missed:
        below = f" below {', '.join(id_ for cut in covers for id_ in cut.ids)}" if covers else ""
        mend = "" if covers else "; covers: {TREE: NODE} says which part it should reach"
        yield (
            f"statement {statement.key} reaches {len(inside - missed):,} of {count(len(inside), leaf)} with postings "
            f"of {postings.domain.key}{below}; the others hold {postings.describe(missed)}{mend}"
        )


def selected(books: Books, cut: Cut) -> frozenset[int]:
    """Return the leaves that a restriction selects; members and nodes that are not loaded select nothing."""
    members = books.members(cut.dimension)
    return frozenset(leaves_of_cut(cut, members, books.loaded.count(members.leaf)))


def statement_bases(books: Books, statement: Statement) -> Iterator[Base]:
    """Yield the bases of all lines of a statement, those of formulas included."""
    lines = {line.key: line for line in statement.lines}
    names: list[str] = []
    for line in statement.lines:
        match line:
            case RollupLine():
                yield line.base_of(line.node)
            case MetricLine():
                names.append(line.metric)
            case FormulaLine():
                names += [name for name in metrics_of(line.formula) if name not in lines]
    for name in names:
        figure, home = figure_named(name, books.catalogue)
        yield from FigureParts.of(books.catalogue, figure, home=home).bases


def count(number: int, leaf: str) -> str:
    """Return a number of members in words."""
    return f"{number:,} {'member' if number == 1 else 'members'} of {leaf}"
