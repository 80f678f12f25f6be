"""Readers: the books as one profile sees them, the only door to the facts."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from hashlib import sha256
from operator import and_, or_
from typing import TypeVar

import polars as pl
from msgspec import Struct

from engine.books.books import Books, Size
from engine.model.caching import LazyTable
from engine.model.catalogue import Base, Catalogue, Dimension, Domain, Metric, Statement
from engine.model.errors import Refusal
from engine.model.exact import ONE
from engine.model.fact_store import Asked, FactLoad, Presence, Question, unchanged
from engine.model.members.member_sets import NULL_CODE, Leaves, MemberSet, leaves_of_cut
from engine.model.members.trees import HierarchyFault
from engine.model.metric_names import NamesSeen, as_seen
from engine.model.profiles import Profile, permissions
from engine.model.scenarios import Scenario
from engine.model.scope import (
    ALL,
    ALL_CODES,
    EVERYTHING,
    NO_CODES,
    NOTHING,
    OWN,
    UNASSIGNED,
    AmountRange,
    Cell,
    CodeSet,
    Cut,
    Cuts,
    named_by,
)
from engine.model.stopping import Stop, watched
from engine.model.visible_loads import visible_loads

# Everything that a caller sees comes from a Reader: scenarios, metrics, statements, members, sums. A Reader adds its
# permission to every question, so whatever lies outside does not exist for the caller.


Value = TypeVar("Value")
SCENARIOS = "scenarios"  # key of the memo of those with a visible cell
Cells = Mapping[tuple[str, str], Cell]  # (scenario, domain) -> its visible cell


class FactRead(Struct, frozen=True, eq=False):
    """A slice to read within a cut and within the cell visible in all `sides`, and what to compute from the answer."""

    asked: Asked
    cut: Cell
    sides: frozenset[str] = frozenset()
    then: Callable[[pl.LazyFrame], pl.LazyFrame] = unchanged

    def pipe(self, step: Callable[[pl.LazyFrame], pl.LazyFrame]) -> "FactRead":
        """Return the read with one more step at its end."""
        return FactRead(self.asked, self.cut, self.sides, lambda frame: step(self.then(frame)))

    def within(self, cell: Cell) -> "FactRead":
        """Return the read inside one more cell."""
        return FactRead(self.asked, self.cut & cell, self.sides, self.then)


class Reader:
    """One version of the books through the profiles of one caller."""

    def __init__(self, books: Books, profiles: Sequence[Profile]) -> None:
        self._books = books
        self._store = books.facts
        self.memo = books.memo_for_all  # of values that no visibility changes; it holds nothing of this caller
        self.loaded = books.loaded  # all members, visible or not, as tables
        self.profiles = tuple(profiles)
        self._members: LazyTable[str, MemberSet] = LazyTable()  # a call names hundreds of their ids

    @cached_property
    def catalogue(self) -> Catalogue:
        """The catalogue, with the keys of metrics that the visible domains give."""
        return self.memo_as_seen("catalogue", lambda: as_seen(self._books.catalogue, self._names))

    @cached_property
    def _cells(self) -> Cells:
        return self._books.memo(("cells", self.profiles), self._resolve_cells, named_by)

    @cached_property
    def _cells_of_all_members(self) -> Cells:
        """The cells that profiles show which show all members of them."""
        shown = partial(self._resolve_cells, lambda profile: profile.all_members)
        return self._books.memo(("cells of all members", self.profiles), shown, named_by)

    def _resolve_cells(self, granting: Callable[[Profile], bool] = lambda _: True) -> Cells:
        scenarios, domains = self._books.catalogue.scenarios, self._books.catalogue.domains
        return permissions(self.profiles, scenarios.values(), domains.values(), self._cell_of, granting)

    def _cell_of(self, cut: Cut, domain: Domain) -> Cell | None:
        dimension = self._books.catalogue.dimensions.get(cut.dimension)
        if dimension is None:
            return NOTHING
        if dimension.leaf not in domain.dimensions:
            return None
        codes = self._books.codes(cut)
        return NOTHING if codes is None else Cell.where(dimension.leaf, codes)

    def loads(self, domain: str, scenario: str) -> Sequence[FactLoad]:
        """Return the loads that brought visible rows of a scenario of a domain in publishing order, with their days."""
        loads, within = self._books.loads(domain, scenario), self.cell(scenario, domain)

        def make() -> Sequence[FactLoad]:
            seen, ask = self.presence(domain, scenario, EVERYTHING), self._store.presence_of_loads
            return list(visible_loads(loads, seen, partial(ask, domain, scenario, within)))

        return loads if within.is_everything or not loads else self.memo_as_seen(("loads", domain, scenario), make, len)

    def load_of(self, table: str) -> str | None:
        """Return the id of the load of a table of members, nodes or rates."""
        return self._books.load_of(table)

    def version(self, domain: str, scenario: str) -> str:
        """Return a digest of the facts of a scenario of a domain and of the members of its dimensions."""
        return self._books.data_version(domain, scenario)

    @property
    def data_version(self) -> str:
        """A digest of everything visible. It changes when any of it changes."""
        each = (self.version(place[1], place[0]) for place, cell in self._cells.items() if not cell.is_nothing)
        return self.memo_as_seen(("data version",), lambda: sha256("\n".join(each).encode()).hexdigest()[:12])

    def cell(self, scenario: str, domain: str) -> Cell:
        """Return the visible cell of a scenario of a domain."""
        return self._cells.get((scenario, domain), NOTHING)

    def shared_cell(self, scenarios: Iterable[str], domain: str) -> Cell:
        """Return the cell of a domain that is visible in all given scenarios."""
        return reduce(and_, (self.cell(scenario, domain) for scenario in scenarios), EVERYTHING)

    @cached_property
    def scenarios(self) -> Mapping[str, Scenario]:
        """The scenarios with a visible cell."""
        return self.memo_as_seen(SCENARIOS, lambda: self._visible(self._books.catalogue.scenarios, 0), len)

    @cached_property
    def domains(self) -> Mapping[str, Domain]:
        """The domains with a visible cell."""
        return self.memo_as_seen("domains", lambda: self._visible(self._books.catalogue.domains, 1), len)

    def _visible(self, known: Mapping[str, Value], place: int) -> Mapping[str, Value]:
        seen = {key[place] for key, cell in self._cells.items() if not cell.is_nothing}
        return {key: value for key, value in known.items() if key in seen}

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics of whose formulas everything named is visible."""
        return self.memo_as_seen("metrics", lambda: self._names.metrics(self.catalogue), len)

    @cached_property
    def statements(self) -> Mapping[str, Statement]:
        """The statements, without lines that are hidden and without empty headers."""
        return self.memo_as_seen("statements", lambda: self._names.statements(self.catalogue), len)

    @property
    def _names(self) -> NamesSeen:
        return NamesSeen(self.domains, self.scenarios, self.dimensions, self._sees_named)

    def _sees_named(self, dimension: str, member: str) -> bool:
        """Tell whether a member that a formula of the catalogue names is visible; what cannot be read is not."""
        try:
            return member == ALL or self.sees(dimension, member)
        except (Refusal, HierarchyFault):
            return False

    @cached_property
    def dimensions(self) -> Mapping[str, Dimension]:
        """The dimensions of the visible domains, and those of time."""
        return self.memo_as_seen("dimensions", self._find_dimensions, len)

    def _find_dimensions(self) -> Mapping[str, Dimension]:
        leaves = {leaf for domain in self.domains.values() for leaf in domain.dimensions}
        return {key: dim for key, dim in self._books.catalogue.dimensions.items() if dim.grain or dim.leaf in leaves}

    def members(self, dimension: str) -> MemberSet:
        """Return all members of a dimension, visible or not. `sees` tells which are visible."""
        return self._members.get(dimension, lambda: self._books.members(dimension))

    def leaf_count(self, leaf: str) -> int:
        """Return the number of codes of a leaf dimension."""
        return self.loaded.count(leaf)

    def ranges_of(self, base: Base) -> tuple[AmountRange, ...]:
        """Return the ranges in which the amounts of a base's rows lie. Rows without an amount are only counted."""
        if base.over_members.counts or base.measure.key not in self._books.blanks(base.domain):
            return base.amounts
        return (*base.amounts, AmountRange.any_of(base.measure.key))

    def id_ranks(self, leaf: str) -> pl.Series | None:
        """Return the rank of the id of each code of a leaf dimension, None where codes ascend as ids do."""
        return self._books.id_ranks(leaf)

    def memo_as_seen(self, key: Hashable, make: Callable[[], Value], size: Size[Value] = 1) -> Value:
        """Return the memo of a key for this version and these profiles. Makes and keeps it first if there is none."""
        return self._books.memo(("as seen", self.profiles, key), make, size)

    def kept_as_seen(self, key: Hashable) -> object | None:
        """Return the memo of a key for this version and these profiles, None if there is none. Waits for nothing."""
        return self._books.kept(("as seen", self.profiles, key))

    def sees(self, dimension: str, member: str) -> bool:
        """Tell whether a readable scenario shows a leaf of an id. `(unassigned)` is always there, `(all)` in trees."""
        members = self.members(dimension)
        if member == UNASSIGNED or (member == ALL and members.top() is not None):
            return True
        if not members.has(member):
            return False
        is_seen = self._sees_every_id(dimension) and not member.endswith(OWN)
        return is_seen or any(map(self.sees_leaf(dimension), members.each_below(member)))

    def visible_ids(self, dimension: str) -> Iterator[str]:
        """Yield the visible ids of a dimension in display order, `(unassigned)` last if there is any."""
        members = self.members(dimension)
        visible = self.visible_codes(members.leaf)
        codes = visible.among(self.leaf_count(members.leaf)) - {NULL_CODE}
        if self._sees_every_id(dimension):
            yield from members.ids() if visible.is_all else filter(partial(self.sees, dimension), members.ids())
        else:
            yield from members.among(codes)
        unassigned = members.below(UNASSIGNED)
        if not codes.isdisjoint(unassigned) or (NULL_CODE in unassigned and self.shows_unassigned(members.leaf)):
            yield UNASSIGNED

    def visible(self, dimension: str) -> frozenset[str]:
        """Return the visible ids of a dimension."""
        return self.memo_as_seen(("visible", dimension), lambda: frozenset(self.visible_ids(dimension)), len)

    def weighs(self, dimension: str, leaves: Leaves) -> bool:
        """Tell whether any visible leaf of a dimension has a weight other than 1 in `leaves`."""
        sees = self.sees_leaf(dimension)
        return any(weight != ONE and sees(code) for code, weight in watched(leaves.items()))

    def counts_all(self, dimension: str, leaves: Leaves) -> bool:
        """Tell whether every visible leaf of a dimension has weight 1 in `leaves`."""
        codes = self.visible_codes(leaf := self.members(dimension).leaf).among(self.leaf_count(leaf))
        return codes <= leaves.keys() and not self.weighs(dimension, leaves)

    def sees_leaf(self, dimension: str) -> Callable[[int], bool]:
        """Return a function that tells whether a readable scenario shows a leaf code below a dimension."""
        return self.visible_codes(self._books.catalogue.dimensions[dimension].leaf).__contains__

    def sees_all(self, dimension: str) -> bool:
        """Tell whether every id that its table may bring to a dimension is visible, including ids of later loads."""
        return self.granted_codes(self._books.catalogue.dimensions[dimension].leaf).is_all

    def _sees_every_id(self, dimension: str) -> bool:
        """Tell whether every id of a dimension is visible, those without leaves included: no id holds a hidden leaf.

        A leaf that only hidden rows bring does not exist: a node that names it is one without postings of its own.
        """
        members = self.members(dimension)
        codes = (self.visible_codes if members.leaf == dimension else self.granted_codes)(members.leaf)
        return codes.complement and codes.codes <= members.below(UNASSIGNED)

    def visible_codes(self, leaf: str) -> CodeSet:
        """Return the leaf codes that any readable scenario shows: those granted and described, or in visible rows."""
        return self.memo_as_seen(("visible codes", leaf), lambda: self._find_visible_codes(leaf), CodeSet.named)

    def _find_visible_codes(self, leaf: str) -> CodeSet:
        if all(self._cells[place].is_everything for place in self._having(leaf)):
            return ALL_CODES
        visible, from_facts = self.granted_codes(leaf), self._books.undescribed(leaf)
        return visible & ~CodeSet(from_facts - self._find_codes_with_rows(leaf)) if from_facts else visible

    def _having(self, leaf: str) -> list[tuple[str, str]]:
        """Return the scenarios of the domains that have a leaf dimension."""
        return [place for place in self._cells if leaf in self._books.catalogue.domains[place[1]].dimensions]

    def granted_codes(self, leaf: str) -> CodeSet:
        """Return the leaf codes that are granted as such or have visible rows."""
        return self.memo_as_seen(("granted codes", leaf), lambda: self._find_granted_codes(leaf), CodeSet.named)

    def _find_granted_codes(self, leaf: str) -> CodeSet:
        having = self._having(leaf)
        alone = (cell.granted_alone(leaf) for cell in {self._cells[place] for place in having})
        all_members = (cell.granted(leaf) for cell in {self._cells_of_all_members[place] for place in having})
        visible = reduce(or_, (*alone, *all_members), NO_CODES)
        granted = {cell: cell.granted(leaf) for cell in {self._cells[place] for place in having}}
        beyond = {cell for cell, codes in granted.items() if not visible.contains(codes)}
        for scenario, domain in having:
            cell = self.cell(scenario, domain)
            if cell in beyond and not visible.contains(granted[cell]):
                visible |= CodeSet(self.codes_with_rows(domain, scenario, leaf))
        return visible

    def shows_unassigned(self, leaf: str) -> bool:
        """Tell whether some visible row has no member of a leaf dimension."""
        return leaf in self.memo_as_seen("unassigned", self._find_unassigned)

    def _find_unassigned(self) -> frozenset[str]:
        leaves = {dimension.leaf for dimension in self.dimensions.values() if not dimension.axis_only}
        found = frozenset[str]()
        for (scenario, domain), cell in self._cells.items():
            if not cell.is_nothing:
                having = [leaf for leaf in self._books.catalogue.domains[domain].dimensions if leaf in leaves]
                found |= self._store.unassigned(domain, scenario, having, cell)
        return found

    def _find_codes_with_rows(self, leaf: str) -> frozenset[int]:
        """Return the codes of a leaf dimension in the visible rows of all scenarios and domains."""
        having = self._having(leaf)
        return frozenset().union(*(self.codes_with_rows(domain, scenario, leaf) for scenario, domain in having))

    def codes_with_rows(
        self, domain: str, scenario: str, leaf: str, sides: frozenset[str] = frozenset()
    ) -> frozenset[int]:
        """Return the codes of a leaf dimension in the rows of a scenario that are visible in it and in all `sides`."""
        within = self.shared_cell({scenario, *sides}, domain)
        if within.is_nothing:
            return frozenset()
        make = partial(self._store.codes, domain, scenario, leaf, within)
        return self._books.memo_of_rows(("codes with rows", leaf), (domain, scenario), within, make, len)

    def cut_cell(self, cuts: Cuts) -> Cell:
        """Return the cell that restrictions of the catalogue select. Ids that are not loaded select nothing."""
        return self._books.memo(("cut", cuts), lambda: self._cut_cell(cuts))

    def _cut_cell(self, cuts: Cuts) -> Cell:
        cells = (Cell.where(self.members(cut.dimension).leaf, CodeSet(self.cut_codes(cut))) for cut in cuts)
        return reduce(and_, cells, EVERYTHING)

    def cut_codes(self, cut: Cut) -> frozenset[int]:
        """Return the leaf codes that one restriction of the catalogue selects."""
        return frozenset(self.cut_leaves(cut))

    def cut_leaves(self, cut: Cut) -> Leaves:
        """Return the leaves that one restriction of the catalogue selects, with their weights."""
        members = self.members(cut.dimension)
        return leaves_of_cut(cut, members, self.leaf_count(members.leaf))

    def collect(self, reads: Sequence[FactRead], stop: Stop) -> list[pl.DataFrame]:
        """Return the frames of some reads, in order; see FactStore.collect."""
        return self._store.collect([self._question(read) for read in reads], stop)

    def collect_each(self, reads: Sequence[Sequence[FactRead]], stop: Stop) -> list[list[pl.DataFrame]]:
        """Return the frames of some lists of reads, list by list, from one collect."""
        frames = iter(self.collect([read for listed in reads for read in listed], stop))
        return [[next(frames) for _ in listed] for listed in reads]

    def _question(self, read: FactRead) -> Question:
        within = self.shared_cell({read.asked.scenario, *read.sides}, read.asked.domain) & read.cut
        return Question(read.asked, within, read.then)

    def presence(self, domain: str, scenario: str, cut: Cell, sides: Iterable[str] = ()) -> Presence:
        """Return FactStore.presence within `cut` and the cell visible in the scenario and in all `sides`."""
        within = self.shared_cell({scenario, *sides}, domain) & cut
        make = partial(self._store.presence, domain, scenario, within)
        if not cut.is_everything:
            return self._books.memo(("presence of filter", domain, scenario, within), make, days_of)
        return self._books.memo_of_rows(("presence",), (domain, scenario), within, make, days_of)


def days_of(presence: Presence) -> int:
    """Return how many days a presence lists."""
    return len(presence.dates)


# Labels. An inner node can take its name and code from its posting leaf. If the reader may not see that leaf, the node
# shows its own name, else its id.


def label_of(dimension: str, member: str, reader: Reader) -> str:
    """Return the name of a member or node that the reader may know."""
    members = reader.members(dimension)
    return members.label(member) if sees_lender(members, member, reader) else members.bare_label(member)


def code_of(dimension: str, member: str, reader: Reader) -> str | None:
    """Return the external code of a member or node, None if it has none that the reader may know."""
    members = reader.members(dimension)
    return members.code(member) if sees_lender(members, member, reader) else None


def path_of(dimension: str, member: str, reader: Reader) -> tuple[str, ...]:
    """Return the names of the ancestors of a member or node, from the top down."""
    return tuple(label_of(dimension, above, reader) for above in reader.members(dimension).path(member))


def sees_lender(members: MemberSet, member: str, reader: Reader) -> bool:
    """Tell whether the reader may see the leaf that lends an id its name and code."""
    lender = members.posting_leaf(member)
    return lender is None or reader.sees(members.leaf, lender)
