"""Cuts and cells: a restriction by names, and the set of leaves that it resolves to.

A permission is a cell, a filter is a cell, and `permission & filter` is a cell.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

UNASSIGNED = "(unassigned)"
OWN = "/(own)"
ALL = "(all)"
OWN_WORDS = frozenset(  # ids of the product: a load rejects them, and `NODE/(own)`, as ids of members
    {UNASSIGNED, ALL, "(others)", "(shared)", "(undated)", "(total)", "(members)", "(volume)", "(without_volume)"}
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A restriction of one dimension by names: keeps the members listed, or denies them.

    `(unassigned)` is the null member. `NODE/(own)` are the postings on a node itself, without those below it. `(all)`
    are all members, weighted as the total of a breakdown weighs them.
    """

    dimension: str
    ids: tuple[str, ...]
    deny: bool = False
    location: str = field(default="", compare=False)  # file and line in the instance


Cuts = tuple[Cut, ...]  # joined by AND


class OwnCut(Struct, frozen=True):
    """The members of an operand of a formula: they replace those of filters and rows on every dimension of the leaf."""

    dimension: str
    leaf: str
    ids: tuple[str, ...]


# Cells in disjunctive form: a cell is an OR of conjunctions, a conjunction is an AND of code sets.


class CodeSet(Struct, frozen=True):
    """A set of codes of one leaf dimension: the codes listed, or all others."""

    codes: frozenset[int]
    complement: bool = False

    @classmethod
    def union(cls, sets: Iterable["CodeSet"]) -> "CodeSet":
        """Unite sets. One pass over the codes, however many sets there are."""
        every = list(sets)
        listed = frozenset[int]().union(*(each.codes for each in every if not each.complement))
        excluded = [each.codes for each in every if each.complement]
        if not excluded:
            return CodeSet(listed)
        return CodeSet(min(excluded, key=len).intersection(*excluded) - listed, complement=True)

    def __and__(self, other: "CodeSet") -> "CodeSet":
        if self.complement and other.complement:
            if self.codes <= other.codes:
                return other
            return CodeSet(self.codes | other.codes, complement=True)
        if self.complement:
            return CodeSet(other.codes - self.codes)
        if other.complement:
            return CodeSet(self.codes - other.codes)
        return CodeSet(self.codes & other.codes)

    def __invert__(self) -> "CodeSet":
        return CodeSet(self.codes, complement=not self.complement)

    def __or__(self, other: "CodeSet") -> "CodeSet":
        return ~(~self & ~other)

    def __contains__(self, code: int) -> bool:
        return (code in self.codes) is not self.complement

    @property
    def is_empty(self) -> bool:
        """Tell whether the set is empty for every possible domain of codes."""
        return not self.codes and not self.complement

    @property
    def is_all(self) -> bool:
        """Tell whether the set holds every possible code."""
        return not self.codes and self.complement

    def named(self) -> int:
        """Return how many codes the set lists, as included or as excluded."""
        return len(self.codes)

    def among(self, count: int) -> frozenset[int]:
        """Return the codes below `count` that are in the set."""
        return frozenset(range(count)) - self.codes if self.complement else self.codes

    def contains(self, other: "CodeSet") -> bool:
        """Tell whether this set contains every code of another."""
        if other.complement:
            return self.complement and self.codes <= other.codes
        return self.codes.isdisjoint(other.codes) if self.complement else other.codes <= self.codes


ALL_CODES = CodeSet(frozenset(), complement=True)
NO_CODES = CodeSet(frozenset())


LEAST_AMOUNT, MOST_AMOUNT = -(2**63), 2**63 - 1  # units of the last place that are stored


@dataclass(frozen=True, slots=True, order=True)
class AmountRange:
    """The rows whose amount of a measure lies between two bounds, both included, or all others that have an amount.

    Amounts are in units of the last place of the measure, and the bounds fit 64 bits.
    """

    measure: str
    least: int
    most: int
    complement: bool = False
    written: str = field(default="", compare=False)  # in the file of a metric

    @classmethod
    def any_of(cls, measure: str) -> "AmountRange":
        """Return the range of all amounts, which a row without one is not in."""
        return cls(measure, LEAST_AMOUNT, MOST_AMOUNT)

    def holds(self, amount: int | None) -> bool:
        """Tell whether an amount lies in the range; none lies in no range."""
        return amount is not None and (self.least <= amount <= self.most) is not self.complement


class Conjunction(Struct, frozen=True, dict=True):
    """An AND of code sets, one for each restricted dimension, and of ranges of amounts.

    A store translates it into a predicate. Only the rows of metrics are restricted by amounts, never a permission.
    """

    by_dimension: tuple[tuple[str, CodeSet], ...] = ()  # sorted by dimension
    amounts: tuple[AmountRange, ...] = ()  # sorted

    @classmethod
    def of(cls, codes: Mapping[str, CodeSet], amounts: Iterable[AmountRange] = ()) -> "Conjunction":
        """Make a conjunction of code sets by leaf dimension, and of ranges of amounts."""
        by_dimension = sorted((dimension, known) for dimension, known in codes.items() if not known.is_all)
        return cls(tuple(by_dimension), tuple(sorted(set(amounts))))

    @cached_property
    def codes(self) -> Mapping[str, CodeSet]:
        """The code set of each restricted dimension."""
        return dict(self.by_dimension)

    def __and__(self, other: "Conjunction") -> "Conjunction":
        joined = dict(self.codes)
        for dimension, codes in other.by_dimension:
            joined[dimension] = joined.get(dimension, ALL_CODES) & codes
        return Conjunction.of(joined, (*self.amounts, *other.amounts))

    def sort_key(self) -> tuple[list[tuple[str, bool, list[int]]], tuple[AmountRange, ...]]:
        """Return a key that orders the conjunctions of equal cells in the same way."""
        codes = [(dimension, known.complement, sorted(known.codes)) for dimension, known in self.by_dimension]
        return codes, self.amounts

    @property
    def is_empty(self) -> bool:
        """Tell whether it contains no leaf."""
        return any(codes.is_empty for _, codes in self.by_dimension)

    def contains(self, other: "Conjunction") -> bool:
        """Tell whether it contains every leaf, and every row, of another conjunction."""
        if not set(self.amounts) <= set(other.amounts):
            return False
        return all(codes.contains(other.codes.get(dimension, ALL_CODES)) for dimension, codes in self.by_dimension)


class Cell(Struct, frozen=True, cache_hash=True):
    """A set of leaves: the union of its conjunctions. `&` intersects, `|` unites, `contains` compares."""

    parts: tuple[Conjunction, ...]

    @classmethod
    def of(cls, parts: Iterable[Conjunction]) -> "Cell":
        """Make a cell of conjunctions; unite those of one dimension, drop the empty ones and those within another."""
        conjunctions = [part for part in parts if not part.is_empty]
        if len(conjunctions) > 1:
            conjunctions = widest(united(conjunctions))
        return cls(tuple(sorted(conjunctions, key=Conjunction.sort_key) if len(conjunctions) > 1 else conjunctions))

    @classmethod
    def union(cls, cells: Iterable["Cell"]) -> "Cell":
        """Unite cells. Linear in their conjunctions, which uniting two cells after another is not."""
        different = dict.fromkeys(cells)
        return next(iter(different)) if len(different) == 1 else cls.of(part for cell in different for part in cell)

    @classmethod
    def where(cls, dimension: str, codes: CodeSet) -> "Cell":
        """Make the cell that restricts one dimension."""
        return cls.of([Conjunction.of({dimension: codes})])

    @classmethod
    def intersection(cls, cells: Iterable["Cell"]) -> "Cell":
        """Intersect cells that have one conjunction each, or none, and restrict no amounts. Linear in their codes."""
        excluded: dict[str, list[CodeSet]] = {}
        for cell in dict.fromkeys(cells):
            if cell.is_nothing:
                return cell
            for dimension, codes in cell.parts[0].by_dimension:
                excluded.setdefault(dimension, []).append(~codes)
        return cls.of([Conjunction.of({dimension: ~CodeSet.union(sets) for dimension, sets in excluded.items()})])

    def __and__(self, other: "Cell") -> "Cell":
        if self is other or other.is_everything:
            return self
        if self.is_everything:
            return other
        return Cell.of(mine & theirs for mine in self.parts for theirs in other.parts)

    def __or__(self, other: "Cell") -> "Cell":
        if self is other or other.is_nothing:
            return self
        if self.is_nothing:
            return other
        return Cell.union((self, other))

    def __iter__(self) -> Iterator[Conjunction]:
        return iter(self.parts)

    @property
    def dimensions(self) -> frozenset[str]:
        """The columns that any of its conjunctions restricts: leaf dimensions, and measures restricted by amounts."""
        codes = frozenset(dimension for part in self.parts for dimension, _ in part.by_dimension)
        return codes | {known.measure for part in self.parts for known in part.amounts}

    @property
    def is_everything(self) -> bool:
        """Tell whether the cell contains every leaf."""
        return len(self.parts) == 1 and self.parts[0] == Conjunction()

    @property
    def is_nothing(self) -> bool:
        """Tell whether the cell contains no leaf."""
        return not self.parts

    def contains(self, other: "Cell") -> bool:
        """Tell whether each conjunction of another cell lies in one conjunction of this.

        True is certain. False may also mean that several conjunctions together contain it.
        """
        return all(any(mine.contains(theirs) for mine in self.parts) for theirs in other.parts)

    def granted(self, dimension: str) -> CodeSet:
        """Return the codes of a dimension that the cell contains at some leaf."""
        return CodeSet.union(part.codes.get(dimension, ALL_CODES) for part in self.parts)

    def granted_alone(self, dimension: str) -> CodeSet:
        """Return the codes of a dimension that conjunctions contain which restrict no other dimension."""
        parts = (part for part in self.parts if part.codes.keys() <= {dimension})
        return CodeSet.union(part.codes.get(dimension, ALL_CODES) for part in parts)

    def holds(self, dimension: str, code: int) -> bool:
        """Tell whether the cell may contain a leaf with this code."""
        return any(code in part.codes.get(dimension, ALL_CODES) for part in self.parts)


def united(parts: Iterable[Conjunction]) -> Iterator[Conjunction]:
    """Yield conjunctions. Those that restrict one dimension, and the same, become one."""
    by_dimension: dict[str, list[CodeSet]] = {}
    for part in dict.fromkeys(parts):
        if len(part.by_dimension) == 1 and not part.amounts:
            by_dimension.setdefault(part.by_dimension[0][0], []).append(part.by_dimension[0][1])
        else:
            yield part
    for dimension, sets in by_dimension.items():
        yield Conjunction.of({dimension: sets[0] if len(sets) == 1 else CodeSet.union(sets)})


def widest(parts: Iterable[Conjunction]) -> list[Conjunction]:
    """Return those of some conjunctions that no other contains, each once.

    Whatever contains a conjunction lists each of its codes, or no codes: one code tells the few to compare it with.
    """
    every = list(dict.fromkeys(parts))
    often = Counter(known for part in every for known in listed_by(part))
    containers: dict[ListedCode | None, list[Conjunction]] = {}
    for part in every:
        for known in rarest(part, often):
            containers.setdefault(known, []).append(part)
    return [
        part
        for part in every
        if not any(
            other is not part and other.contains(part)
            for known in (None, *fewest_of_each(part, containers))
            for other in containers.get(known, ())
        )
    ]


ListedCode = tuple[str, int]  # a dimension and a code that a conjunction lists of it


def listed_by(part: Conjunction) -> Iterator[ListedCode]:
    """Yield the codes that a conjunction lists, of all dimensions."""
    for dimension, codes in part.by_dimension:
        if not codes.complement:
            yield from ((dimension, code) for code in codes.codes)


def rarest(part: Conjunction, often: Mapping[ListedCode, int]) -> Iterable[ListedCode | None]:
    """Return the codes that a conjunction lists of one dimension, that of its rarest code; None if it lists none."""
    listing = [
        [(dimension, code) for code in codes.codes] for dimension, codes in part.by_dimension if not codes.complement
    ]
    return min(listing, key=lambda codes: min(often[known] for known in codes), default=(None,))


def fewest_of_each(
    part: Conjunction, containers: Mapping[ListedCode | None, Sequence[Conjunction]]
) -> Iterator[ListedCode]:
    """Yield a code of each dimension of which a conjunction lists codes, the one that the fewest containers list."""
    for dimension, codes in part.by_dimension:
        if not codes.complement:
            yield min(((dimension, code) for code in codes.codes), key=lambda known: len(containers.get(known, ())))


EVERYTHING = Cell((Conjunction(),))
NOTHING = Cell(())


def named_by(cells: Mapping[tuple[str, str], Cell]) -> int:
    """Return how many codes the cells list; a measure of their size in memory."""
    return sum(codes.named() for cell in set(cells.values()) for part in cell for _, codes in part.by_dimension)
