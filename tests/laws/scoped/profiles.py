"""Profiles as plain values, and which rows they show, by the words of figures.md; nothing of the engine decides it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from hypothesis import strategies as st

NOBODY, NEW = "", "?"  # of a row without a member, and of one whose member is not loaded yet
UNASSIGNED = "(unassigned)"  # how a profile names what has no member; above others, the leaves that no id holds
Members = Mapping[str, str]  # of a row: leaf dimension to member


@dataclass(frozen=True, slots=True)
class Restriction:
    """Some names, or all but some."""

    names: tuple[str, ...]
    deny: bool = False

    def holds(self, name: str) -> bool:
        """Tell whether a name is among them."""
        return (name in self.names) is not self.deny


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantSpec:
    """What a profile grants of the scenarios under one key."""

    domains: Restriction | None = None
    dimensions: Mapping[str, Restriction] = field(default_factory=dict)
    open_domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileSpec:
    """A profile: whether its holder operates feeds, and grants by scenario key."""

    grants: Mapping[str, GrantSpec]
    operations: bool = False
    all_members: bool = False  # whether members that only hidden rows have are no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What profiles can speak of: scenarios, domains, and the leaves that every id of a dimension stands for."""

    kinds: Mapping[str, str]  # of scenarios
    leaves: Mapping[str, tuple[str, ...]]  # of domains
    members: Mapping[str, tuple[str, ...]]  # of leaf dimensions, those of which there are no rows included
    above: Mapping[str, str]  # dimensions over others to the leaf dimension below
    below: Mapping[str, Mapping[str, frozenset[str]]]  # of dimensions over others: id to leaves
    trees: frozenset[str]  # those of them whose loose leaves a deny hides

    def leaf_of(self, dimension: str) -> str:
        """Return the leaf dimension of a dimension."""
        return self.above.get(dimension, dimension)

    def ids(self, dimension: str) -> tuple[str, ...]:
        """Return the ids that a profile can name."""
        return tuple(self.below[dimension]) if dimension in self.above else (*self.members[dimension], UNASSIGNED)

    def holds(self, asked: Restriction, member: str, dimension: str) -> bool:
        """Tell whether a leaf is inside one restriction; a deny of what does not exist leaves nothing."""
        if asked.deny and not set(asked.names) <= set(self.ids(dimension)):
            return False
        if dimension not in self.above or member == NEW:
            return asked.holds(UNASSIGNED if member == NOBODY else member)
        inside = any(member in self.below[dimension].get(name, ()) for name in asked.names)
        if not asked.deny:
            return inside
        return not inside and (dimension not in self.trees or self.is_placed(member, dimension))

    def is_placed(self, member: str, tree: str) -> bool:
        """Tell whether a node of a tree holds a leaf."""
        return member not in self.below[tree][UNASSIGNED]

    def grant_of(self, profile: ProfileSpec, scenario: str) -> GrantSpec | None:
        """Return the grant of the most specific key."""
        keys = (scenario, f"kind:{self.kinds[scenario]}", "*")
        return next((profile.grants[key] for key in keys if key in profile.grants), None)

    def grants(self, grant: GrantSpec, row: Members, domain: str) -> bool:
        """Tell whether a grant alone shows a row."""
        if grant.domains is not None and not grant.domains.holds(domain):
            return False
        lacking = [known for known in grant.dimensions if self.leaf_of(known) not in row]
        return (not lacking or domain in grant.open_domains) and not any(
            self.hides(row, known, asked) for known, asked in grant.dimensions.items()
        )

    def denies(self, grant: GrantSpec, row: Members, domain: str) -> bool:
        """Tell whether a deny of a grant hides a row, whoever else shows it."""
        if grant.domains is not None and grant.domains.deny and not grant.domains.holds(domain):
            return True
        return any(asked.deny and self.hides(row, known, asked) for known, asked in grant.dimensions.items())

    def hides(self, row: Members, dimension: str, asked: Restriction) -> bool:
        """Tell whether a restriction hides a row; one of a dimension that the row lacks does not."""
        leaf = self.leaf_of(dimension)
        return leaf in row and not self.holds(asked, row[leaf], dimension)

    def every_row(self, domain: str) -> Iterator[dict[str, str]]:
        """Yield every row that a domain can have."""
        leaves = self.leaves[domain]
        for members in product(*((*self.members[leaf], NOBODY, NEW) for leaf in leaves)):
            yield dict(zip(leaves, members, strict=True))

    def members_known(self, profiles: Sequence[ProfileSpec], scenario: str, domain: str, leaf: str) -> frozenset[str]:
        """Return the members of a leaf dimension that profiles show of a scenario of a domain, rows or no rows.

        A grant that restricts another dimension of the domain shows none of them, unless its profile shows all. A deny
        of any grant restricts what the others show.
        """
        held = [(profile, grant) for profile in profiles if (grant := self.grant_of(profile, scenario))]
        denied = {self.leaf_of(key) for _, grant in held for key, asked in grant.dimensions.items() if asked.deny}
        known: set[str] = set()
        for profile, grant in held:
            restricted = {*denied, *map(self.leaf_of, grant.dimensions)} & {*self.leaves[domain]}
            if profile.all_members or restricted <= {leaf}:
                known.update(
                    row[leaf]
                    for row in self.every_row(domain)
                    if self.grants(grant, row, domain) and not any(self.denies(other, row, domain) for _, other in held)
                )
        return frozenset(known)

    def rows_seen(self, profiles: Sequence[ProfileSpec], scenario: str, domain: str) -> list[dict[str, str]]:
        """Return the rows that profiles show of those that a scenario of a domain can have."""
        held = [grant for profile in profiles if (grant := self.grant_of(profile, scenario))]
        return [
            row
            for row in self.every_row(domain)
            if any(self.grants(grant, row, domain) for grant in held)
            and not any(self.denies(grant, row, domain) for grant in held)
        ]


def restriction_part(asked: Restriction) -> dict[str, list[str]]:
    """Return a restriction as profiles.yaml writes it."""
    return {"deny" if asked.deny else "allow": list(asked.names)}


def profile_part(profile: ProfileSpec) -> dict[str, Any]:
    """Return a profile as profiles.yaml writes it."""
    grants: dict[str, Any] = {}
    for key, grant in profile.grants.items():
        grants[key] = {
            "dimensions": {known: restriction_part(asked) for known, asked in grant.dimensions.items()},
            "open_domains": list(grant.open_domains),
            **({} if grant.domains is None else {"domains": restriction_part(grant.domains)}),
        }
    members = {"members": "all"} if profile.all_members else {}
    return {"operations": profile.operations, **members, "scenarios": grants}


@st.composite
def restrictions(draw: st.DrawFn, names: Sequence[str]) -> Restriction:
    """Draw some names, allowed or denied; at times one that nothing has."""
    some = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    stranger = ["nobody"] if draw(st.integers(0, 19)) == 1 else []
    return Restriction((*some, *stranger), deny=draw(st.booleans()))


@st.composite
def grants_asked(draw: st.DrawFn, world: World) -> GrantSpec:
    """Draw what a profile grants of some scenarios."""
    domains = sorted(world.leaves)
    known = [key for key in (*world.members, *world.above) if world.ids(key)]
    named = draw(st.lists(st.sampled_from(known), max_size=2, unique=True))
    some = st.lists(st.sampled_from(domains), min_size=1, max_size=2, unique=True).map(tuple)
    return GrantSpec(
        domains=draw(st.none() | st.builds(Restriction, some, st.booleans())),
        dimensions={key: draw(restrictions(world.ids(key))) for key in named},
        open_domains=draw(st.lists(st.sampled_from(domains), max_size=3, unique=True).map(tuple)),
    )


@st.composite
def profiles_asked(draw: st.DrawFn, world: World) -> tuple[ProfileSpec, ...]:
    """Draw the profiles of one caller."""
    keys = [*world.kinds, *(f"kind:{kind}" for kind in dict.fromkeys(world.kinds.values())), "*", "*"]
    grants = st.dictionaries(st.sampled_from(keys), grants_asked(world), min_size=1, max_size=3)
    seldom = st.integers(0, 4).map(lambda drawn: drawn == 0)
    return tuple(draw(st.lists(st.builds(ProfileSpec, grants, seldom, seldom), min_size=1, max_size=2)))
