"""The permission of a report: what of the books it was cut to, in names and ids that outlive the books.

A report depends on the whole cell that could be seen, not only on what its filters left of it: anchors, coverage and
the zero of a missing side are looked for before any filter.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.cuts import Cut, Cuts
from engine.members.memberset import LeafMembers
from engine.reader import Reader
from engine.scope import Allowed, Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What could be seen of a scenario of a domain when it was read, and which version of it that was."""

    scenario: str
    domain: str
    within: tuple[Cuts, ...]  # cuts of leaf dimensions joined by AND, and these by OR
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What a report was cut to, and what it names."""

    books: str
    domains: tuple[str, ...]
    scenarios: tuple[str, ...]
    nodes: Cuts  # those that stand in its lines
    granted: tuple[Granted, ...]  # without scenarios of domains of which nothing could be seen


def permission_of(domains: Iterable[str], scenarios: Iterable[str], nodes: Cuts, reader: Reader) -> Permission:
    """Return what a report of some scenarios of some domains is cut to."""
    domains, scenarios = tuple(dict.fromkeys(domains)), tuple(dict.fromkeys(scenarios))
    return Permission(
        books=reader.catalogue.name,
        domains=domains,
        scenarios=scenarios,
        nodes=nodes,
        granted=tuple(
            Granted(
                scenario=scenario,
                domain=domain,
                within=cuts_of(reader.cell(scenario, domain), reader),
                version=reader.version(domain, scenario),
            )
            for domain in domains
            for scenario in scenarios
            if not reader.cell(scenario, domain).is_nothing
        ),
    )


def cuts_of(cell: Cell, reader: Reader) -> tuple[Cuts, ...]:
    """Return a cell in ids."""
    size = sum(len(known.codes) for part in cell for _, known in part.by_dimension)
    return reader.worked_out(("in ids", cell), lambda: tuple(cuts_of_part(part, reader) for part in cell), size)


def cuts_of_part(part: Allowed, reader: Reader) -> Cuts:
    """Return one part of a cell in ids."""
    cuts = []
    for leaf, known in part.by_dimension:
        members = reader.members(leaf)
        ids = members.member_ids if isinstance(members, LeafMembers) else ()
        cuts.append(Cut(leaf, tuple(ids[code] for code in sorted(known.codes)), deny=known.complement))
    return tuple(cuts)
