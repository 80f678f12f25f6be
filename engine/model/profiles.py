"""Profiles: which scenarios, domains and members a caller is granted.

A profile grants by scenario. Only the most specific matching key applies: id, then `kind:KIND`, then `*`; of a freeze
its id, then `BASE#*`, then what applies to the scenario that was frozen. A caller with several profiles sees the union
of their grants, minus every deny of every matching grant. A name that the books do not have narrows a grant and never
widens it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from engine.model.catalogue import Domain
from engine.model.scenarios import FROZEN, Scenario
from engine.model.scope import EVERYTHING, NOTHING, Cell, Cut, Cuts
from engine.model.stopping import watched

ELSEWHERE = "_claim_names."  # begins the mark of a claim that a caller has and did not bring
Claim = tuple[str, str]  # a claim and one of its values
Resolve = Callable[[Cut, Domain], Cell | None]  # the cell of a cut; None if the domain lacks the dimension


class NameSet(Struct, frozen=True):
    """A set of names, or the complement of one."""

    names: tuple[str, ...]
    deny: bool

    def hold(self, name: str) -> bool:
        """Tell whether the set contains a name."""
        return (name in self.names) is not self.deny


class Grant(Struct, frozen=True, kw_only=True):
    """What a profile shows of the scenarios that one key matches."""

    domains: NameSet = NameSet((), deny=True)
    dimensions: Cuts = ()
    open_domains: tuple[str, ...] = ()

    def cell(self, domain: Domain, resolve: Resolve) -> Cell:
        """Return the cell of a domain that this grant alone shows."""
        if not self.domains.hold(domain.key):
            return NOTHING
        cell = EVERYTHING
        for cut in self.dimensions:
            narrower = resolve(cut, domain)
            if narrower is not None:
                cell &= narrower
            elif domain.key not in self.open_domains:
                return NOTHING
        return cell

    def left(self, domain: Domain, resolve: Resolve) -> Iterator[Cell]:
        """Yield the cells of a domain that each denial of this grant leaves, to this grant and to others."""
        if self.domains.deny and not self.domains.hold(domain.key):
            yield NOTHING
        for cut in self.dimensions:
            if cut.deny and (narrower := resolve(cut, domain)) is not None:
                yield narrower


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Grants by scenario key.

    A grant that restricts a dimension of a domain shows of the other dimensions only members of visible rows, or every
    member with `all_members`.
    """

    key: str
    grants: tuple[tuple[str, Grant], ...] = field(hash=False)  # long lists; memos hash a profile at every use
    operations: bool = False
    all_members: bool = False

    def grant(self, scenario: Scenario) -> Grant | None:
        """Return the grant of the most specific key that matches a scenario, None if no key matches."""
        grants = dict(self.grants)
        of_freezes = (f"{scenario.base}{FROZEN}*", scenario.base) if scenario.base else ()
        keys = (scenario.id, *of_freezes, f"kind:{scenario.kind}", "*")
        return next((grants[key] for key in keys if key in grants), None)


class Assignment(Struct, frozen=True, kw_only=True):
    """Who has a profile: a subject, every caller with all of some claims, or a subject with those claims."""

    profile: str
    subject: str | None = None
    claims: tuple[Claim, ...] = ()

    def holds(self, subject: str, claims: Mapping[str, Sequence[str]]) -> bool:
        """Tell whether a caller has the profile."""
        if self.subject is None and not self.claims:
            return False
        return self.subject in (None, subject) and all(value in claims.get(name, ()) for name, value in self.claims)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """The valid profiles and their assignments. A fault denies access.

    A caller who is assigned a faulty or unknown profile has no profile at all, because the denies of that profile would
    have narrowed the others.
    """

    by_key: Mapping[str, Profile]
    assigned: Mapping[str | Claim, Sequence[Assignment]] = field(repr=False)  # by subject, or by one claim of each
    shut: bool = False  # to everybody: the assignments cannot be read
    faults: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        profiles: Iterable[Profile] = (),
        assignments: Sequence[Assignment] = (),
        *,
        shut: bool = False,
        faults: Sequence[str] = (),
    ) -> "Profiles":
        """Index profiles by key and assignments by subject or claim."""
        carried = Counter(claim for known in assignments for claim in known.claims)
        assigned = defaultdict[str | Claim, list[Assignment]](list)
        for known in assignments:
            if known.subject is not None:
                assigned[known.subject].append(known)
            elif known.claims:
                assigned[min(known.claims, key=carried.__getitem__)].append(known)
        by_key = {profile.key: profile for profile in profiles}
        return cls(by_key=by_key, assigned=dict(assigned), shut=shut, faults=tuple(faults))

    @property
    def restricted(self) -> frozenset[str]:
        """The dimensions that any profile restricts."""
        grants = (grant for profile in self.by_key.values() for _, grant in profile.grants)
        return frozenset(cut.dimension for grant in grants for cut in grant.dimensions)

    @property
    def claims_asked(self) -> Sequence[str]:
        """The names of the claims that assignments test."""
        return sorted({name for name, _ in self.values_asked})

    @property
    def values_asked(self) -> frozenset[Claim]:
        """The claims that assignments test, each with the value that it must have."""
        return frozenset(claim for each in self.assigned.values() for known in each for claim in known.claims)

    def held_by(self, subject: str, claims: Mapping[str, Sequence[str]]) -> tuple[Profile, ...]:
        """Return the profiles of a caller. A caller without profiles sees nothing.

        Nor does one who did not bring a claim that assignments test: its values could assign a profile that denies.
        """
        assigned = self.assigned_to(subject, claims)
        if self.shut or self.undecided(claims) or not self.by_key.keys() >= set(assigned):
            return ()
        return tuple(self.by_key[key] for key in assigned)

    def undecided(self, claims: Mapping[str, Sequence[str]]) -> Sequence[str]:
        """Return the claims that assignments test and that a caller has elsewhere."""
        elsewhere = {name.removeprefix(ELSEWHERE) for name in claims if name.startswith(ELSEWHERE)}
        return sorted(elsewhere.intersection(self.claims_asked)) if elsewhere else ()

    def assigned_to(self, subject: str, claims: Mapping[str, Sequence[str]]) -> Sequence[str]:
        """Return the names of the profiles assigned to a caller, including names of unknown or faulty profiles."""
        carried = {(name, value) for name, values in claims.items() for value in values}
        keys: Iterable[str | Claim] = (subject, *carried)
        candidates = (known for key in keys for known in self.assigned.get(key, ()))
        return sorted({known.profile for known in candidates if known.holds(subject, claims)})


def permissions(
    profiles: Sequence[Profile],
    scenarios: Iterable[Scenario],
    domains: Collection[Domain],
    resolve: Resolve,
    granting: Callable[[Profile], bool] = lambda _: True,
) -> dict[tuple[str, str], Cell]:
    """Return the cell of each scenario and domain that the given profiles show, or those of them that are `granting`.

    The denies of every profile apply. Equal grants are resolved once, and equal cells are one.
    """
    by_grants: dict[tuple[tuple[bool, Grant], ...], Mapping[str, Cell]] = {}
    equal: dict[Cell, Cell] = {}
    cells: dict[tuple[str, str], Cell] = {}
    for scenario in scenarios:
        grants = tuple((granting(each), grant) for each in profiles if (grant := each.grant(scenario)))
        if grants not in by_grants:
            shown = ((domain.key, permission(grants, domain, resolve)) for domain in watched(domains))
            by_grants[grants] = {key: equal.setdefault(cell, cell) for key, cell in shown}
        cells |= {(scenario.id, key): cell for key, cell in by_grants[grants].items()}
    return cells


def permission(grants: Sequence[tuple[bool, Grant]], domain: Domain, resolve: Resolve) -> Cell:
    """Return the cell of a domain that grants of one scenario show, each told whether it widens the cell.

    The denies of every grant apply.
    """
    narrowed = Cell.intersection(left for _, grant in grants for left in grant.left(domain, resolve))
    return Cell.union(grant.cell(domain, resolve) & narrowed for widens, grant in grants if widens)


# An administrator is a profile without cuts.
EVERYONE = Profile(key="everyone", grants=(("*", Grant()),), operations=True)
