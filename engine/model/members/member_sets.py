"""Member sets: the leaves and weights behind each id of a dimension, and the members of leaf and derived dimensions.

Facts carry codes of leaf members; code 0 is the null member.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from engine.model.exact import ONE, Exact
from engine.model.scope import UNASSIGNED, Cut
from engine.model.stopping import watched

Leaves = Mapping[int, Exact]  # leaf code -> weight
Visible = Callable[[str], bool]  # whether the caller may see an id
Texts = tuple[str, str | None, str, str | None]  # id, code, label; bare label if a posting leaf lends code and label

NULL_CODE = 0
BUSINESS_CODE = "code"  # the attribute with the code that other systems use


def every_leaf(_: int) -> bool:
    """Tell of every leaf that it counts."""
    return True


class MemberSet(Protocol):
    """The ids of one dimension, each with its leaves and weights."""

    @property
    def dimension(self) -> str:
        """The dimension's key."""

    @property
    def leaf(self) -> str:
        """The key of the leaf dimension whose codes `leaves` returns."""

    def ids(self) -> Iterator[str]:
        """Yield every id in display order, without the null member."""

    def has(self, member: str) -> bool:
        """Tell whether there is such an id; `(unassigned)` always is one."""

    def label(self, member: str) -> str:
        """Return the name shown for an id."""

    def code(self, member: str) -> str | None:
        """Return the code of an id in other systems."""

    def texts(self) -> Iterator[Texts]:
        """Yield what a search finds each id by, in display order."""

    def leaves(self, member: str) -> Leaves:
        """Return the leaf codes of an id, each with its weight."""

    def below(self, member: str) -> frozenset[int]:
        """Return every leaf code below an id, whatever its weight. A permission by the id selects these."""

    def each_below(self, member: str) -> Iterator[int]:
        """Yield the same codes one by one, so that a caller can stop early."""

    def among(self, codes: AbstractSet[int]) -> Iterator[str]:
        """Yield the ids that have some of these leaf codes below them, in display order."""

    def unassigned(self) -> frozenset[int]:
        """Return the leaf codes that only `(unassigned)` holds."""

    def shown(self, under: Sequence[str], visible: Visible) -> list[str]:
        """Return the ids that a breakdown shows, in order, below the ids of a filter, if any."""

    def top(self) -> Leaves | None:
        """Return the weight of each leaf in the total of a breakdown; None if every leaf weighs 1."""

    def joined(self, ids: Iterable[str], counts: Callable[[int], bool] = ...) -> Leaves:
        """Return the leaves of several ids; AmbiguousWeight if a leaf that `counts` has no single weight in them."""

    def path(self, member: str) -> tuple[str, ...]:
        """Return the ids from the top down to an id's parent."""

    def posting_leaf(self, member: str) -> str | None:
        """Return the posting leaf of a node with children. It gives the node its code, and its name if needed."""

    def bare_label(self, member: str) -> str:
        """Return the name of an id without that of its posting leaf."""


def leaves_of_cut(cut: Cut, members: MemberSet, count: int) -> Leaves:
    """Return the leaves of `count` that a restriction of the catalogue selects. Ids that are not loaded have none.

    An exclusion does not weigh: it selects every leaf that its ids lack, each with the weight 1.
    """
    leaves = {code: weight for id_ in cut.ids if members.has(id_) for code, weight in members.leaves(id_).items()}
    return {code: ONE for code in watched(range(count)) if code not in leaves} if cut.deny else leaves


class FlatMembers(ABC):
    """The base of member sets without levels: every leaf weighs 1, and no id has a parent."""

    @abstractmethod
    def ids(self) -> Iterator[str]:
        """Yield every id in display order; the null member is none of them."""

    @abstractmethod
    def leaves(self, member: str) -> Leaves:
        """Return the leaf codes an id stands for, each with its weight."""

    @abstractmethod
    def label(self, member: str) -> str:
        """Return the name shown for an id."""

    def texts(self) -> Iterator[Texts]:
        """Yield id, code and label of each id."""
        return ((member, self.code(member), self.label(member), None) for member in self.ids())

    def below(self, member: str) -> frozenset[int]:
        """Return the leaf codes an id stands for."""
        return frozenset(self.leaves(member))

    def each_below(self, member: str) -> Iterator[int]:
        """Yield the leaf codes an id stands for."""
        return iter(self.leaves(member))

    def unassigned(self) -> frozenset[int]:
        """No leaf: the null member and those without a value can be named in a list."""
        return frozenset()

    def shown(self, under: Sequence[str], visible: Visible) -> list[str]:
        """Return the filtered ids, or all and the unassigned."""
        return list(dict.fromkeys(under)) or [*filter(visible, self.ids()), UNASSIGNED]

    def joined(self, ids: Iterable[str], counts: Callable[[int], bool] = every_leaf) -> Leaves:  # noqa: ARG002 - all weigh 1
        """Return the leaves of several ids, each once."""
        found = [self.leaves(member) for member in ids]
        return found[0] if len(found) == 1 else {code: weight for leaves in found for code, weight in leaves.items()}

    def top(self) -> None:  # noqa: B027 - what a list has above its members is nothing
        """Every leaf counts once."""

    def code(self, member: str) -> str | None:  # noqa: ARG002 - values of an attribute have none
        """No code."""
        return None

    def path(self, member: str) -> tuple[str, ...]:  # noqa: ARG002 - a list has no levels
        """Nothing lies above an id."""
        return ()

    def posting_leaf(self, member: str) -> None:  # noqa: B027 - nobody lends a member anything
        """A member is called by its own name."""

    def bare_label(self, member: str) -> str:
        """A member has no other name."""
        return self.label(member)


@dataclass(frozen=True)
class LeafMembers(FlatMembers):
    """The members of a leaf dimension, by code; position 0 is the null member."""

    dimension: str
    member_ids: Sequence[str]
    names: Sequence[str]
    attributes: Mapping[str, Sequence[str | None]]
    order: Sequence[int]  # codes in display order, without the null member
    undescribed: frozenset[int]  # codes without a row in the table of members; they exist where rows of facts have them

    @property
    def leaf(self) -> str:
        """Itself."""
        return self.dimension

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """Code by id."""
        return {member: code for code, member in enumerate(self.member_ids)}

    def ids(self) -> Iterator[str]:
        """Yield the ids in display order."""
        return (self.member_ids[code] for code in self.order)

    def has(self, member: str) -> bool:
        """Tell whether a member has this id."""
        return member in self.codes

    def label(self, member: str) -> str:
        """Return the member's name."""
        return self.names[self.codes[member]]

    def code(self, member: str) -> str | None:
        """Return the code that the table of members gives."""
        return self.business_codes[self.codes[member]] if self.business_codes else None

    @property
    def business_codes(self) -> Sequence[str | None]:
        """The codes that the table of members gives, by code; empty where it has none."""
        return self.attributes.get(BUSINESS_CODE, ())

    def texts(self) -> Iterator[Texts]:
        """Yield id, code and name of each member."""
        codes = self.business_codes or (None,) * len(self.names)
        return ((self.member_ids[at], codes[at], self.names[at], None) for at in self.order)

    def leaves(self, member: str) -> Leaves:
        """Return the member's own code."""
        return {self.codes[member]: ONE}

    def among(self, codes: AbstractSet[int]) -> Iterator[str]:
        """Yield the ids of these codes."""
        return (self.member_ids[code] for code in self.order if code in codes)


@dataclass(frozen=True)
class DerivedMembers(FlatMembers):
    """The values of an attribute of leaf members; members without a value are unassigned."""

    dimension: str
    of: LeafMembers
    attribute: str

    @property
    def leaf(self) -> str:
        """The leaf dimension that has the attribute."""
        return self.of.dimension

    @cached_property
    def groups(self) -> Mapping[str, Leaves]:
        """The leaf codes of each value."""
        groups: dict[str, dict[int, Exact]] = defaultdict(dict)
        for code, value in enumerate(self.of.attributes[self.attribute]):
            groups[UNASSIGNED if value is None else value][code] = ONE
        return groups

    def ids(self) -> Iterator[str]:
        """Yield the values in order."""
        return iter(sorted(self.groups.keys() - {UNASSIGNED}))

    def has(self, member: str) -> bool:
        """Tell whether a member carries this value."""
        return member in self.groups or member == UNASSIGNED

    def label(self, member: str) -> str:
        """A value is its own label."""
        return member

    def leaves(self, member: str) -> Leaves:
        """Return the codes of the members that carry the value."""
        return self.groups.get(member, {})

    def among(self, codes: AbstractSet[int]) -> Iterator[str]:
        """Yield the values that members of these codes carry."""
        return (value for value in self.ids() if not self.groups[value].keys().isdisjoint(codes))
