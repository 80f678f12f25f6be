"""Weights: how much a leaf counts in each base and in each member of a breakdown.

Leaves of a dimension with the same weights everywhere form a *class*. The store sums per class, which leaves little to
do in exact arithmetic. A hierarchy weighs a leaf once: if the restriction of a base uses its weights, a filter or a
breakdown by the same hierarchy only selects. The nodes of that restriction, or of a filter, are the top of a breakdown:
edges above them do not weigh in its total.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import lcm, prod
from typing import overload

import polars as pl
from msgspec import Struct

from engine.books.reader import Reader
from engine.model.caching import cached_method
from engine.model.catalogue import Base, Domain
from engine.model.exact import ONE, ZERO, Exact
from engine.model.members.member_sets import LeafMembers, Leaves, MemberSet
from engine.model.members.trees import RaggedNodes
from engine.model.scenarios import Variant
from engine.model.scope import ALL, OWN
from engine.model.stopping import watched
from engine.queries.values import Filter

Members = tuple[str | None, ...]  # a member of each breakdown dimension; None is the total
Pair = tuple[int, int]  # numerator, denominator


class AxisLeaves(Mapping[str, Leaves]):
    """The leaves of each member of an axis, looked up when they are asked for."""

    def __init__(self, ids: Sequence[str], members: MemberSet) -> None:
        self._ids, self._members = ids, members

    def __getitem__(self, member: str) -> Leaves:
        return self._members.leaves(member)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


class Axis(Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """A breakdown by one dimension: the members that each leaf counts in, and the weight of the leaf in the total."""

    place: int  # among the dimensions of the breakdown
    key: str
    leaf: str
    ids: tuple[str, ...]
    members: Mapping[str, Leaves]
    total: Leaves | None  # None: every leaf weighs 1
    kept: frozenset[int] | None  # leaves of a filter by the same dimension; None without one, or by all members
    codes: Sequence[int] | None = None  # the only leaf of each member, of weight 1; None if members may have others

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The position of each member in display order."""
        return {member: at for at, member in enumerate(watched(self.ids))}

    @cached_property
    def denominator(self) -> int:
        """A common denominator of the weights of all members and of the total."""
        if self.codes is not None and self.total is None:
            return 1
        return common_denominator([*self.members.values(), self.total or {}])

    @cached_method
    def unrestricted_classes(self, count: int) -> "LeafClasses":
        """Return the classes of `count` codes if no base and no factor restricts the leaf dimension."""
        if self.codes is not None and self.total is None:
            return LeafClasses.of_members(self, count, self.codes)
        return LeafClasses.sorted(self.leaf, count, (), [self])


def common_denominator(weighed: Sequence[Leaves]) -> int:
    """Return a common denominator of all weights."""
    return lcm(*{weight.denominator for leaves in weighed for weight in watched(leaves.values())})


def axis_of(place: int, key: str, reader: Reader, filters: Sequence[Filter]) -> Axis:
    """Return the axis of a breakdown, one level below a filter by the same dimension. The reader memoises it."""
    same = next((known for known in filters if known.dimension.key == key), None)
    size = 4 * reader.leaf_count(reader.members(key).leaf)  # an axis takes 340 to 500 bytes a leaf
    return reader.memo_as_seen(
        ("axis", place, key, same and same.value), lambda: make_axis(place, key, reader, same), size
    )


def axis_of_leaves(leaf: str, count: int) -> Axis:
    """Return the axis of a leaf dimension whose members are its codes, without a total."""
    ids = tuple(map(str, range(count)))
    return Axis(
        place=0,
        key=f"codes of {leaf}",
        leaf=leaf,
        ids=ids,
        members={code: {at: ONE} for at, code in enumerate(watched(ids))},
        total={},
        kept=None,
    )


def make_axis(place: int, key: str, reader: Reader, same: Filter | None) -> Axis:
    """Return a new axis."""
    members = reader.members(key)
    nowhere = same is not None and not same.leaves
    visible = reader.visible(key)
    ids = () if nowhere else tuple(members.shown(same.members if same else (), visible.__contains__))
    return Axis(
        place=place,
        key=key,
        leaf=members.leaf,
        ids=ids,
        members=AxisLeaves(ids, members),
        codes=tuple([members.codes[member] for member in watched(ids)]) if isinstance(members, LeafMembers) else None,
        total=same.leaves if same else members.top(),
        kept=frozenset(same.leaves) if same and (same.excluded or ALL not in same.members) else None,
    )


def into_total(axis: Axis, reader: Reader, filters: Sequence[Filter]) -> Mapping[str, Exact]:
    """Return what each shown member of a tree counts for in the total, if that is not 1: the edges above it."""
    members = reader.members(axis.key)
    if not isinstance(members, RaggedNodes):
        return {}
    visible, shown = reader.visible(axis.key), axis.ids
    filtered = next((known.members for known in filters if known.dimension.key == axis.key), ())
    under = [member for member in dict.fromkeys(filtered) if member != ALL]
    roots = {} if under else {node: weight for node, weight in members.roots if node in visible}
    top = under or list(roots)
    edges = dict(roots)
    if len(top) == 1 and top[0] in members.names and top[0] not in shown:
        root = roots.get(top[0], ONE)
        edges = {child: edge * root for child, edge in watched(members.edges.get(top[0], ()))} | {top[0] + OWN: root}
    return {member: edges[member] for member in watched(shown) if edges.get(member, ONE) != ONE}


class Factor(Struct, frozen=True, eq=False):
    """An adjustment of a variant: a factor on the rows whose code is listed in every dimension of `leaves`."""

    leaves: Mapping[str, frozenset[int]]
    factor: Exact


def factors_of(variant: Variant | None, domain: Domain, reader: Reader) -> dict[Factor, tuple[str, ...]]:
    """Return the factors of a variant that apply to a domain, each with its measures."""
    leaves = {key: dimension.leaf for key, dimension in reader.catalogue.dimensions.items()}
    return {
        Factor({leaves[cut.dimension]: reader.cut_codes(cut) for cut in adjustment.where}, adjustment.factor): (
            adjustment.measures or tuple(domain.measures)
        )
        for adjustment in (variant.adjustments if variant else ())
        if all(leaves[cut.dimension] in domain.dimensions for cut in adjustment.where)
    }


NO_FACTORS: frozenset[Factor] = frozenset()


class BaseWeights(Struct, frozen=True):
    """The weights of leaves in one base, filters included. Leaves of a dimension that is not listed weigh 1."""

    by_leaf: Mapping[str, Leaves]
    hierarchies: frozenset[str]  # dimensions whose weights the base already includes
    factors: tuple[Factor, ...]

    @property
    def denominator(self) -> int:
        """A common denominator of every product of these weights."""
        factors = (factor.factor.denominator for factor in self.factors)
        return prod(common_denominator([leaves]) for leaves in self.by_leaf.values()) * prod(factors)


def base_weights(
    base: Base,
    reader: Reader,
    filters: Sequence[Filter],
    axes: Sequence[Axis],
    factors: Mapping[Factor, tuple[str, ...]],
) -> BaseWeights:
    """Return the weights of leaves in a base: its restriction times the filters, and the factors that apply.

    Ids of the catalogue that no load has brought match nothing; `tieout check` lists them.
    """
    weights: dict[str, Leaves] = {}
    last_cuts = {cut.dimension: cut for cut in base.kept}
    for cut in base.where:
        members = reader.members(cut.dimension)
        leaves = reader.cut_leaves(cut) if cut.deny else members.joined(filter(members.has, cut.ids))
        weighs = last_cuts.get(cut.dimension) is cut
        multiply(weights, members.leaf, leaves if weighs else dict.fromkeys(leaves, ONE))
    hierarchies = frozenset(last_cuts)
    broken_down = {axis.key for axis in axes}
    for known in filters:
        if known.dimension.key in hierarchies and ALL in known.members and not known.excluded:
            continue  # the nodes of the restriction are the top: no edge above them takes a leaf away
        if known.dimension.key in hierarchies or known.dimension.key in broken_down:
            multiply(weights, known.dimension.leaf, dict.fromkeys(known.leaves, ONE))
        else:
            weighed = {code: weight for code, weight in watched(known.leaves.items()) if weight}
            multiply(weights, known.dimension.leaf, weighed)
    touching = tuple(factor for factor, measures in factors.items() if base.measure.key in measures)
    return BaseWeights(weights, hierarchies, touching)


def multiply(weights: dict[str, Leaves], leaf: str, by: Leaves) -> None:
    """Multiply the weights of one leaf dimension; drop leaves that either side lacks."""
    known = weights.get(leaf)
    if known is None:
        weights[leaf] = by
    else:
        weights[leaf] = {
            code: (weight if other is ONE else other if weight is ONE else weight * other)
            for code, weight in known.items()
            if (other := by.get(code)) is not None
        }


class LeafClass(Struct, frozen=True):
    """Leaves with the same weights in every base, factor, member and total."""

    in_bases: Mapping[int, Exact]  # position of a base that restricts this dimension -> weight
    in_factors: frozenset[Factor]  # factors that apply to these leaves
    in_members: Mapping[str, tuple[tuple[str, Exact], ...]]  # axis -> members with weights
    in_totals: Mapping[str, Exact]  # axis -> weight


NOWHERE, IN_TOTAL, FIRST_MEMBER = 0, 1, 2  # classes: of no leaf, of the leaves of no member, and of the first member


class MemberClasses(Sequence[LeafClass]):
    """The classes of an axis whose members have a leaf each: one for each member. Each is made when it is asked for."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis

    def __len__(self) -> int:
        return FIRST_MEMBER + len(self.axis.ids)

    @overload
    def __getitem__(self, number: int) -> LeafClass: ...

    @overload
    def __getitem__(self, number: slice) -> list[LeafClass]: ...

    def __getitem__(self, number: int | slice) -> LeafClass | list[LeafClass]:
        if isinstance(number, slice):
            return [self[each] for each in watched(range(*number.indices(len(self))))]
        key = self.axis.key
        if range(len(self))[number] == NOWHERE:
            return LeafClass({}, NO_FACTORS, {}, {})
        own = ((self.axis.ids[number - FIRST_MEMBER], ONE),) if number != IN_TOTAL else ()
        return LeafClass({}, NO_FACTORS, {key: own}, {key: ONE})


class LeafClasses(Struct, frozen=True):
    """The classes of one leaf dimension. The leaves of class 0 count nowhere."""

    leaf: str
    of_code: pl.Series
    classes: Sequence[LeafClass]

    @classmethod
    def of(cls, leaf: str, count: int, bases: Sequence[BaseWeights], axes: Sequence[Axis]) -> "LeafClasses":
        """Sort `count` leaf codes into classes."""
        here = [axis for axis in axes if axis.leaf == leaf]
        restricts = any(leaf in base.by_leaf for base in bases)
        adjusts = any(leaf in factor.leaves for factor in factors_in(bases))
        if restricts or adjusts or len(here) != 1:
            return cls.sorted(leaf, count, bases, here)
        return here[0].unrestricted_classes(count)

    @classmethod
    def of_members(cls, axis: Axis, count: int, codes: Sequence[int]) -> "LeafClasses":
        """Return the classes of the members of an axis that have a leaf each."""
        table = [IN_TOTAL] * count
        for number, code in watched(enumerate(codes, FIRST_MEMBER)):
            table[code] = number
        return cls(axis.leaf, pl.Series(table, dtype=pl.UInt32), MemberClasses(axis))

    @classmethod
    def sorted(cls, leaf: str, count: int, bases: Sequence[BaseWeights], here: Sequence[Axis]) -> "LeafClasses":
        """Sort codes by their weights in the bases, factors and axes of their dimension."""
        in_bases: dict[int, list[tuple[int, Exact]]] = defaultdict(list)
        restricting = False
        for position, base in enumerate(bases):
            for code, weight in watched(base.by_leaf.get(leaf, {}).items()):
                in_bases[code].append((position, weight))
            restricting = restricting or leaf in base.by_leaf
        adjusting = [(factor, codes) for factor in factors_in(bases) if (codes := factor.leaves.get(leaf)) is not None]
        in_members = [memberships(axis) for axis in here]
        numbers: dict[object, int] = {}
        classes = [LeafClass({}, frozenset(), {}, {})]
        of_code = []
        for code in watched(in_bases if restricting else range(count)):
            totals = [axis_total(axis, code) for axis in here]
            in_factors = (
                frozenset([factor for factor, codes in adjusting if code in codes]) if adjusting else NO_FACTORS
            )
            alike = (
                tuple((position, pair(weight)) for position, weight in in_bases[code]),
                tuple(tuple((member, pair(weight)) for member, weight in known.get(code, ())) for known in in_members),
                tuple(map(pair, totals)),
                in_factors,
            )
            number = numbers.setdefault(alike, len(classes))
            if number == len(classes):
                classes.append(
                    LeafClass(
                        dict(in_bases[code]),
                        in_factors,
                        {axis.key: tuple(known.get(code, ())) for axis, known in zip(here, in_members, strict=True)},
                        {axis.key: weight for axis, weight in zip(here, totals, strict=True)},
                    )
                )
            of_code.append((code, number))
        table = [0] * count
        for code, number in watched(of_code):
            table[code] = number
        return cls(leaf, pl.Series(table, dtype=pl.UInt32), classes)


def factors_in(bases: Sequence[BaseWeights]) -> list[Factor]:
    """Return the distinct factors of some bases."""
    return list(dict.fromkeys(factor for base in bases for factor in base.factors))


def pair(weight: Exact) -> Pair:
    """Return a weight as a key for fast comparison."""
    return (weight.numerator, weight.denominator)


def axis_total(axis: Axis, code: int) -> Exact:
    """Return the weight of a leaf in the total of an axis."""
    return ONE if axis.total is None else axis.total.get(code, ZERO)


def memberships(axis: Axis) -> Mapping[int, list[tuple[str, Exact]]]:
    """Return the members of an axis that each leaf counts in, with weights."""
    found: dict[int, list[tuple[str, Exact]]] = defaultdict(list)
    for member, leaves in watched(axis.members.items()):
        for code, weight in watched(leaves.items()):
            if axis.kept is None or code in axis.kept:
                found[code].append((member, weight))
    return found


def weights_in_bases(
    found: Mapping[str, LeafClass], bases: Sequence[BaseWeights]
) -> Iterator[tuple[int, Exact, Exact]]:
    """Yield the position of each base that counts rows of some classes, with their weight and factor in it.

    `found` holds the class of each key, and `bases` restrict the same dimensions. Breakdowns weigh besides.
    """
    restricting = [known.in_bases for leaf, known in found.items() if leaf in bases[0].by_leaf]
    for position in restricting[0] if restricting else range(len(bases)):
        base, weight, factor = bases[position], ONE, ONE
        for in_bases in restricting:
            weight *= in_bases.get(position, ZERO)
        if not weight:
            continue
        for known in base.factors:
            if all(known in found[leaf].in_factors for leaf in known.leaves):
                factor *= known.factor
        yield position, weight, factor


def class_contributions(
    found: Mapping[str, LeafClass], bases: Sequence[BaseWeights], axes: Sequence[Axis], places: int, *, subtotals: bool
) -> Iterator[tuple[int, Members, Exact, Exact]]:
    """Yield the base, members, weight and factor of each figure that rows of some classes count in, totals included.

    `found` holds the class of each key, `bases` restrict the same dimensions, and `places` is the number of dimensions
    of the breakdown. A sub-total names the members of the first axes; the total of each axis after them weighs it.
    """
    nowhere: Members = (None,) * places
    for position, weight, factor in weights_in_bases(found, bases):
        base = bases[position]
        totals = [ONE if axis.key in base.hierarchies else found[axis.leaf].in_totals[axis.key] for axis in axes]
        cells = [(nowhere, weight)]
        for depth, axis in enumerate(axes):
            if subtotals or not depth:
                beyond = prod(totals[depth:], start=ONE)
                weighed = ((members, counted * beyond) for members, counted in cells)
                yield from ((position, members, counted, factor) for members, counted in weighed if counted)
            selects = axis.key in base.hierarchies
            cells = [
                ((*members[: axis.place], member, *members[axis.place + 1 :]), so_far if selects else so_far * edge)
                for members, so_far in cells
                for member, edge in found[axis.leaf].in_members[axis.key]
            ]
        yield from ((position, members, counted, factor) for members, counted in cells if counted)
