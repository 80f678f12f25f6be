"""Profiles: which scenarios, domains and members a caller is granted.

A profile grants by scenario; the most specific key alone applies (id, then `kind:KIND`, then `*`). Several profiles of
one caller widen each other as whole grants, and every deny of any matching grant narrows all of them. What a profile
names and the books do not have closes, never opens.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.model.catalogue import Domain
from engine.model.scenarios import Scenario
from engine.model.scope import EVERYTHING, NOTHING, Cell, Cut, Cuts

Claim = tuple[str, str]  # a claim and one value of it
Resolve = Callable[[Cut, Domain], Cell | None]  # the cell of a cut; None where the domain lacks the dimension


@dataclass(frozen=True, slots=True)
class NameSet:
    """Some names, or all but some."""

    names: tuple[str, ...]
    deny: bool

    def hold(self, name: str) -> bool:
        """Tell whether a name is among them."""
        return (name in self.names) is not self.deny


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a profile shows of the scenarios under one key."""

    domains: NameSet = field(default=NameSet((), deny=True))
    dimensions: Cuts = ()
    open_domains: tuple[str, ...] = ()

    def cell(self, domain: Domain, resolve: Resolve) -> Cell:
        """Return what this grant alone shows of a domain."""
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

    def narrowed(self, cell: Cell, domain: Domain, resolve: Resolve) -> Cell:
        """Return what is left of another grant's cell under the denies of this one."""
        if self.domains.deny and not self.domains.hold(domain.key):
            return NOTHING
        for cut in self.dimensions:
            if cut.deny and (narrower := resolve(cut, domain)) is not None:
                cell &= narrower
        return cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Grants by scenario key."""

    key: str
    grants: tuple[tuple[str, Grant], ...] = field(hash=False)  # long lists of names; memos hash a profile at every use
    operations: bool = False

    def grant(self, scenario: Scenario) -> Grant | None:
        """Return the grant of the most specific key that matches a scenario."""
        grants = dict(self.grants)
        keys = (scenario.id, f"kind:{scenario.kind}", "*")
        return next((grants[key] for key in keys if key in grants), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Who has a profile: a subject, whoever carries every one of some claims, or a subject who does."""

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
    """The profiles without fault, and who holds which; what has a fault closes.

    Whoever holds a profile that is not among them, because of a fault or because it does not exist, holds none at all:
    its denies would have narrowed the others.
    """

    by_key: Mapping[str, Profile]
    assigned: Mapping[str | Claim, Sequence[Assignment]] = field(repr=False)  # by subject, or by one claim of each
    shut: bool = False  # to everybody: who holds what cannot be told
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
        """Return profiles as they are assigned."""
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
    def claims_asked(self) -> Sequence[str]:
        """The names of the claims that assignments ask for."""
        return sorted({name for each in self.assigned.values() for known in each for name, _ in known.claims})

    def held_by(self, subject: str, claims: Mapping[str, Sequence[str]]) -> tuple[Profile, ...]:
        """Return the profiles of a caller; without any, nothing may be seen."""
        assigned = self.assigned_to(subject, claims)
        if self.shut or not self.by_key.keys() >= set(assigned):
            return ()
        return tuple(self.by_key[key] for key in assigned)

    def assigned_to(self, subject: str, claims: Mapping[str, Sequence[str]]) -> Sequence[str]:
        """Return the names of what is assigned to a caller, whether there are such profiles or not."""
        carried = {(name, value) for name, values in claims.items() for value in values}
        keys: Iterable[str | Claim] = (subject, *carried)
        candidates = (known for key in keys for known in self.assigned.get(key, ()))
        return sorted({known.profile for known in candidates if known.holds(subject, claims)})


def permission(profiles: Sequence[Profile], scenario: Scenario, domain: Domain, resolve: Resolve) -> Cell:
    """Return the cell of a scenario and domain that a caller holding some profiles may see."""
    grants = [grant for profile in profiles if (grant := profile.grant(scenario))]
    widened = NOTHING
    for grant in grants:
        widened |= grant.cell(domain, resolve)
    for grant in grants:
        widened = grant.narrowed(widened, domain, resolve)
    return widened


EVERYONE = Profile(key="everyone", grants=(("*", Grant()),), operations=True)  # no cuts: what an administrator is
