"""Cuts and cells: a restriction as files and requests write it, and the codes of leaf members that it resolves to."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

# Cuts: restrictions of one dimension, as files and requests write them.


UNASSIGNED = "(unassigned)"
OWN = "/(own)"
ALL = "(all)"


@dataclass(frozen=True, slots=True)
class Cut:
    """Members or nodes of one dimension, allowed (OR inside one cut) or denied.

    The null member is `(unassigned)`; the postings of a node itself, without what lies below it, are `NODE/(own)`; all
    members together, as the total of a breakdown counts them, are `(all)`.
    """

    dimension: str
    ids: tuple[str, ...]
    deny: bool = False
    location: str = field(default="", compare=False)  # in the files of an instance: the file and the line


Cuts = tuple[Cut, ...]  # joined by AND


# Cells: restrictions resolved to the codes of leaf members; a permission is one, a filter is one.
#
# A cell is a set of leaves, written as OR of ANDs of codes per leaf dimension. `&` narrows, `|` widens, `contains`
# compares; nothing else is ever needed to keep a caller inside what is theirs.


@dataclass(frozen=True, slots=True)
class CodeSet:
    """Some codes of one leaf dimension, or all but some."""

    codes: frozenset[int]
    complement: bool = False

    def __and__(self, other: "CodeSet") -> "CodeSet":
        if self.complement and other.complement:
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
        """Tell whether no code is in it, whatever codes there are."""
        return not self.codes and not self.complement

    @property
    def is_all(self) -> bool:
        """Tell whether every code is in it, whatever codes there are."""
        return not self.codes and self.complement

    def named(self) -> int:
        """Return how many codes are named, as those that are in it or those that are not."""
        return len(self.codes)

    def among(self, count: int) -> frozenset[int]:
        """Return the codes that are in it when there are so many."""
        return frozenset(range(count)) - self.codes if self.complement else self.codes

    def contains(self, other: "CodeSet") -> bool:
        """Tell whether every code of another set is in this one."""
        if other.complement:
            return self.complement and self.codes <= other.codes
        return self.codes.isdisjoint(other.codes) if self.complement else other.codes <= self.codes


ALL_CODES = CodeSet(frozenset(), complement=True)


@dataclass(frozen=True)
class Conjunction:
    """One AND of code sets: what a store translates into a predicate. A dimension not named is not restricted."""

    by_dimension: tuple[tuple[str, CodeSet], ...] = ()  # sorted by dimension

    @classmethod
    def of(cls, codes: Mapping[str, CodeSet]) -> "Conjunction":
        """Make one of code sets by leaf dimension."""
        return cls(tuple(sorted((dimension, known) for dimension, known in codes.items() if not known.is_all)))

    @cached_property
    def codes(self) -> Mapping[str, CodeSet]:
        """The code set of each restricted dimension."""
        return dict(self.by_dimension)

    def __and__(self, other: "Conjunction") -> "Conjunction":
        joined = dict(self.codes)
        for dimension, codes in other.by_dimension:
            joined[dimension] = joined.get(dimension, ALL_CODES) & codes
        return Conjunction.of(joined)

    def sort_key(self) -> list[tuple[str, bool, list[int]]]:
        """Return a key that puts equal cells' parts in the same order."""
        return [(dimension, known.complement, sorted(known.codes)) for dimension, known in self.by_dimension]

    @property
    def is_empty(self) -> bool:
        """Tell whether no leaf can be inside."""
        return any(codes.is_empty for _, codes in self.by_dimension)

    def contains(self, other: "Conjunction") -> bool:
        """Tell whether every leaf of another is in this one."""
        return all(codes.contains(other.codes.get(dimension, ALL_CODES)) for dimension, codes in self.by_dimension)


@dataclass(frozen=True)
class Cell:
    """A set of leaves: inside it lies what any one of its parts allows."""

    parts: tuple[Conjunction, ...]

    @classmethod
    def of(cls, parts: Iterable[Conjunction]) -> "Cell":
        """Make a cell of parts, leaving out the empty ones and those that another part holds."""
        kept: list[Conjunction] = []
        for part in parts:
            if not part.is_empty and not any(other.contains(part) for other in kept):
                kept = [other for other in kept if not part.contains(other)] + [part]
        return cls(tuple(sorted(kept, key=Conjunction.sort_key)))

    @classmethod
    def where(cls, dimension: str, codes: CodeSet) -> "Cell":
        """Make the cell of one restriction."""
        return cls.of([Conjunction.of({dimension: codes})])

    def __and__(self, other: "Cell") -> "Cell":
        if self is other or other.is_everything:
            return self
        if self.is_everything:
            return other
        return Cell.of(mine & theirs for mine in self.parts for theirs in other.parts)

    def __or__(self, other: "Cell") -> "Cell":
        return Cell.of([*self.parts, *other.parts])

    def __iter__(self) -> Iterator[Conjunction]:
        return iter(self.parts)

    @property
    def dimensions(self) -> frozenset[str]:
        """The leaf dimensions that some part of it restricts."""
        return frozenset(dimension for part in self.parts for dimension, _ in part.by_dimension)

    @property
    def is_everything(self) -> bool:
        """Tell whether nothing is cut off."""
        return len(self.parts) == 1 and not self.parts[0].by_dimension

    @property
    def is_nothing(self) -> bool:
        """Tell whether no leaf is inside."""
        return not self.parts

    def contains(self, other: "Cell") -> bool:
        """Tell whether another cell surely lies inside: each of its parts within one part of this."""
        return all(any(mine.contains(theirs) for mine in self.parts) for theirs in other.parts)

    def holds(self, dimension: str, code: int) -> bool:
        """Tell whether some leaf with this code may be inside."""
        return any(code in part.codes.get(dimension, ALL_CODES) for part in self.parts)


EVERYTHING = Cell((Conjunction(),))
NOTHING = Cell(())


def named_by(cells: Mapping[tuple[str, str], Cell]) -> int:
    """Return how many codes some cells name."""
    return sum(codes.named() for cell in cells.values() for part in cell for _, codes in part.by_dimension)
