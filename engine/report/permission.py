"""The permission of a report: the scope it was cut to, in names and ids that outlive the books.

A report depends on everything its reader could see, not only on what its filters kept. Anchors, coverage and the zero
of a missing side ignore filters.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.members.member_sets import LeafMembers
from engine.model.scope import Cell, Conjunction, Cut, Cuts
from engine.model.stopping import watched

Counted = tuple[int, str]  # number of members, and a digest of their ids
UNTOLD = ""  # digest of an unknown list of members


class DomainGrant(Struct, frozen=True, kw_only=True):
    """What a reader could see of a domain's scenario, and the version that was read."""

    scenario: str
    domain: str
    cell: int  # index in `cells`
    version: str


class Permission(Struct, frozen=True, kw_only=True):
    """The scope a report was cut to, and the members it names."""

    books: str
    domains: tuple[str, ...]
    scenarios: tuple[str, ...]
    nodes: Cuts  # nodes of its lines
    granted: tuple[DomainGrant, ...]  # only scenarios of which something was visible
    cells: tuple[tuple[Cuts, ...], ...]  # each cell is an OR of cuts of leaf dimensions joined by AND
    members: Mapping[str, Counted]  # of the leaf dimensions in `cells`


def permission_of(domains: Iterable[str], scenarios: Iterable[str], nodes: Cuts, reader: Reader) -> Permission:
    """Return the permission of a report on these scenarios and domains, memoised by the books."""
    asked = (tuple(dict.fromkeys(domains)), tuple(dict.fromkeys(scenarios)), nodes)
    return reader.memo_as_seen(("permission", asked), lambda: new_permission(*asked, reader), size_of)


def size_of(permission: Permission) -> int:
    """Return the number of names in a permission."""
    return len(permission.nodes) + sum(len(cut.ids) for cell in permission.cells for cuts in cell for cut in cuts)


def new_permission(domains: tuple[str, ...], scenarios: tuple[str, ...], nodes: Cuts, reader: Reader) -> Permission:
    """Return a new permission."""
    seen = {(scenario, domain): reader.cell(scenario, domain) for domain in domains for scenario in scenarios}
    cells = list(dict.fromkeys(cell for cell in seen.values() if not cell.is_nothing))
    return Permission(
        books=reader.catalogue.name,
        domains=domains,
        scenarios=scenarios,
        nodes=tuple(Cut(cut.dimension, cut.ids, deny=cut.deny) for cut in nodes),  # without lines of the instance
        granted=tuple(
            DomainGrant(
                scenario=scenario,
                domain=domain,
                cell=cells.index(cell),
                version=reader.version(domain, scenario),
            )
            for (scenario, domain), cell in seen.items()
            if not cell.is_nothing
        ),
        cells=tuple(cuts_of(cell, reader) for cell in cells),
        members={
            leaf: counted(leaf, reader.leaf_count(leaf), reader)
            for leaf in sorted({leaf for cell in cells for part in cell for leaf in part.codes})
        },
    )


def joined(permissions: Sequence[Permission]) -> Permission:
    """Return the permission of a result made of several. Whoever holds it may open each of them."""
    cells = list(dict.fromkeys(cell for one in permissions for cell in one.cells))
    members: dict[str, Counted] = {}
    for one in permissions:
        for leaf, known in one.members.items():
            members[leaf] = more(members.get(leaf, known), known)
    return Permission(
        books=permissions[0].books,
        domains=tuple(dict.fromkeys(domain for one in permissions for domain in one.domains)),
        scenarios=tuple(dict.fromkeys(scenario for one in permissions for scenario in one.scenarios)),
        nodes=tuple(dict.fromkeys(cut for one in permissions for cut in one.nodes)),
        granted=tuple(
            dict.fromkeys(
                replace(granted, cell=cells.index(one.cells[granted.cell]))
                for one in permissions
                for granted in one.granted
            )
        ),
        cells=tuple(cells),
        members=members,
    )


def more(one: Counted, other: Counted) -> Counted:
    """Return the larger of two counts. Equal counts of different members match no books.

    A deny rule leaves more of a longer list. A list with an unknown digest leaves the most.
    """
    if one[0] == other[0] and one != other:
        return one[0], UNTOLD
    return max(one, other)


def counted(leaf: str, count: int, reader: Reader) -> Counted:
    """Return the count and digest of the first `count` members of a leaf dimension, in code order."""
    return reader.memo(("counted", leaf, count), lambda: count_and_digest(ids_of(leaf, reader)[:count]))


def count_and_digest(ids: Sequence[str]) -> Counted:
    """Return the number of ids, and their digest."""
    return len(ids), sha256("\n".join(ids).encode()).hexdigest()


def ids_of(leaf: str, reader: Reader) -> Sequence[str]:
    """Return the ids of a leaf dimension, in code order."""
    members = reader.members(leaf)
    return members.member_ids if isinstance(members, LeafMembers) else ()


def cuts_of(cell: Cell, reader: Reader) -> tuple[Cuts, ...]:
    """Return a cell as ids."""
    size = sum(len(known.codes) for part in cell for _, known in part.by_dimension)
    return reader.memo(("in ids", cell), lambda: tuple(cuts_of_part(part, reader) for part in cell), size)


def cuts_of_part(part: Conjunction, reader: Reader) -> Cuts:
    """Return one conjunction of a cell as ids."""
    cuts = []
    for leaf, known in part.by_dimension:
        ids = ids_of(leaf, reader)
        cuts.append(Cut(leaf, tuple(ids[code] for code in watched(sorted(known.codes))), deny=known.complement))
    return tuple(cuts)
