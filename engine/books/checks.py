"""Checks the catalogue against the loaded data: tables, columns, members and trees that it names."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from engine.books.books import Books
from engine.books.reader import Reader
from engine.model.catalogue import Base, Catalogue, DimensionKind, Domain, FormulaLine, RollupLine
from engine.model.errors import Refusal, closest, quoted
from engine.model.exact import ONE, Exact
from engine.model.formulas import Formula
from engine.model.functions import own_operands_in
from engine.model.members.member_sets import MemberSet
from engine.model.members.trees import HierarchyFault, RaggedNodes
from engine.model.profiles import Profile
from engine.model.scenarios import Scenario
from engine.model.scope import ALL, Cut

MOST_COMPARED = 10_000  # ids that an unknown id is compared with for a suggestion


def data_faults(books: Books, feeds: Collection[str]) -> Iterator[str]:
    """Yield everything in the catalogue that the data cannot answer, and facts that belong to no feed in `feeds`."""
    catalogue = books.catalogue
    for domain in catalogue.domains.values():
        yield from fact_faults(books, domain)
        for feed in sorted(books.feeds(domain.key) - set(feeds)):
            yield (
                f"{domain.table} ({domain.key}) holds rows of the feed '{feed}', which integrations.yaml lacks; "
                "they still count: give the feed its name back, or take them out with "
                f"tieout provision --forget {feed}"
            )
    broken = set()
    for dimension in catalogue.dimensions.values():
        if dimension.grain:
            continue
        try:
            members = books.members(dimension.key)
            if isinstance(members, RaggedNodes):
                members.refuse_splits()
        except (Refusal, HierarchyFault) as fault:
            broken.add(dimension.key)
            yield f"{dimension.location}: {dimension.key}: {fault}"
    for owner, cut in named_cuts(books):
        if cut.dimension not in broken:
            yield from cut_faults(books, owner, cut)
    yield from (
        f"{cut.location}: metric {metric.key}: a {metric.body.over_members.value} cannot be weighed, and "
        f"{cut.dimension} weighs"
        for metric in catalogue.metrics.values()
        if isinstance(metric.body, Base) and not metric.body.over_members.is_additive
        for cut in metric.body.kept
        if cut.dimension not in broken and any(weight != ONE for weight in cut_weights(books, cut))
    )


def data_warnings(books: Books) -> Iterator[str]:
    """Yield every metric that adds up, over several periods, rows that its domain declares as balances."""
    reader = Reader(books, ())
    for metric in books.catalogue.metrics.values():
        if not isinstance(metric.body, Base):
            continue
        for group in books.catalogue.summed_balances(metric.body):
            if any(not (reader.cut_cell(metric.body.where) & reader.cut_cell(cuts)).is_nothing for cuts in group.where):
                yield (
                    f"warning: metric {metric.key} adds up balances of {metric.domain} ({group.key}) over several "
                    "periods: say over_time: closing, or restrict it to other rows"
                )


def fact_faults(books: Books, domain: Domain) -> Iterator[str]:
    """Yield what the facts of a domain are missing."""
    table = f"{domain.table} ({domain.key})"
    if not books.feeds(domain.key):
        yield f"{domain.location}: {table} is not loaded"
        return
    wanted = {*domain.dimensions, *domain.measures}
    loads = books.columns(domain.key)
    for text in sorted(set(domain.texts) - set().union(*loads.values())):
        yield (
            f"{domain.locations[text]}: {table} has no column '{text}' in any load, so inspect_columns shows nothing "
            "of it; load it again"
        )
    for load, columns in loads.items():
        for column in sorted(wanted - columns):
            yield f"{domain.locations[column]}: {table} has no column '{column}' in load {load}; load it again"
    for key, places in books.places(domain.key).items():
        measure = domain.measures.get(key)
        if measure is not None and places != {measure.places}:
            held = " and ".join(map(str, sorted(places)))
            yield f"{domain.locations[key]}: {table} holds {key} to {held} places, not {measure.places}; load it again"


def named_cuts(books: Books) -> Iterator[tuple[str, Cut]]:
    """Yield every restriction in the catalogue, with a description of its owner."""
    catalogue = books.catalogue
    for metric in catalogue.metrics.values():
        if isinstance(metric.body, Base):
            yield from ((f"metric {metric.key}", cut) for cut in metric.body.where)
        else:
            yield from ((f"metric {metric.key}", cut) for cut in own_cuts(metric.body, metric.location, catalogue))
    for statement in catalogue.statements.values():
        yield from ((f"statement {statement.key}, covers", cut) for cut in statement.covers)
        for line in statement.lines:
            if isinstance(line, RollupLine):
                cut = Cut(line.dimension, (line.node,), location=line.location)
                yield f"statement {statement.key}, line {line.key}", cut
            if isinstance(line, FormulaLine):
                cuts = own_cuts(line.formula, line.location, catalogue)
                yield from ((f"statement {statement.key}, line {line.key}", cut) for cut in cuts)
    for domain in catalogue.domains.values():
        for group in domain.stock_groups.values():
            yield from ((f"balances {group.key} of {domain.key}", cut) for cuts in group.where for cut in cuts)
    for scenario in catalogue.live_scenarios.values():
        yield from variant_cuts(scenario)
    yield from catalogue.vocabulary.cuts


def own_cuts(formula: Formula, location: str, catalogue: Catalogue) -> Iterator[Cut]:
    """Yield the members that operands of a formula of the catalogue have of their own, as restrictions."""
    for operand in own_operands_in(formula):
        for key, ids in operand.cuts:
            if ids != (ALL,) or catalogue.dimensions[key].kind is DimensionKind.RAGGED:
                yield Cut(key, ids, location=location)


def variant_cuts(scenario: Scenario) -> Iterator[tuple[str, Cut]]:
    """Yield every restriction of the variants of a scenario, with a description of the variant."""
    for variant in scenario.variants:
        for adjustment in variant.adjustments:
            yield from ((f"variant {scenario.id}/{variant.key}", cut) for cut in adjustment.where)


def profile_faults(books: Books, profiles: Iterable[Profile]) -> Iterator[str]:
    """Yield every member and node that profiles name and the books lack. Denying one of them hides everything."""
    for profile in profiles:
        for key, grant in profile.grants:
            for cut in grant.dimensions:
                try:
                    members = books.members(cut.dimension)
                    lost = [member for member in cut.ids if not members.has(member)]
                except (Refusal, HierarchyFault) as fault:
                    yield f"{cut.location}: profile {profile.key}, {key}: {fault}"
                    continue
                for member in lost:
                    shut = ", and denies it: nothing is shown" if cut.deny else ""
                    yield f"{cut.location}: profile {profile.key}, {key}: {no_member(members, member)}{shut}"


def cut_weights(books: Books, cut: Cut) -> Iterator[Exact]:
    """Yield the weights of the leaves of a restriction."""
    members = books.members(cut.dimension)
    return (weight for member in cut.ids if members.has(member) for weight in members.leaves(member).values())


def cut_faults(books: Books, owner: str, cut: Cut) -> Iterator[str]:
    """Yield the ids of a restriction that are not loaded, and conflicting weights."""
    members = books.members(cut.dimension)
    lost = [member for member in cut.ids if not members.has(member)]
    for member in lost:
        yield f"{cut.location}: {owner}: {no_member(members, member)}"
    if not lost and not cut.deny:
        try:
            members.joined(cut.ids)
        except Refusal as refusal:
            yield f"{cut.location}: {owner}: {refusal}"


def no_member(members: MemberSet, member: str) -> str:
    """Return a message that a dimension lacks an id, with suggestions."""
    close = closest(member, list(islice(members.ids(), MOST_COMPARED)))
    return f"{members.dimension} has no '{member}'" + (f" — did you mean {quoted(close)}?" if close else "")
