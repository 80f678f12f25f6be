"""Books: one immutable version of catalogue and data. The Shelf opens the next version.

Books memoise everything derived from their version (members, cells, presence). The memos die with the Books, so nothing
is ever invalidated: the Shelf empties them once calls read the next version, because some of them hold the Books. Those
made of members alone are named by the tables of these members: the next Books take them over where they have the same
tables, as most loads bring facts.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from math import inf
from pathlib import Path
from threading import Lock, local
from typing import NamedTuple, TypeVar
from weakref import ref

import polars as pl

from engine.books import node_codes
from engine.books.loaded_members import LoadedMembers
from engine.facts.backend import ArrowVersions
from engine.model.catalogue import Catalogue, Dimension, DimensionKind
from engine.model.errors import Unavailable
from engine.model.fact_store import Backend, FactLoad, FactStore, Versions
from engine.model.freezes import with_freezes
from engine.model.members.member_sets import DerivedMembers, LeafMembers, MemberSet
from engine.model.members.trees import leaf_members, ragged_nodes
from engine.model.scope import Cell, CodeSet, Cut
from engine.model.stopping import locked

Value = TypeVar("Value")
Size = int | Callable[[Value], int]  # approximate size in members, or a function that computes it
Memo = tuple[object, int]  # a value and its size in members
MEMBER_BYTES = 128  # at most, of a member or amount in a memo
MEMO_BYTES = 512 << 20  # total size of the memos of one Books; beyond it the least recently used go
MEMO_MEMBERS = MEMO_BYTES // MEMBER_BYTES
READS = 100  # more than calls run at once


class ThreadState(local):
    """What a thread does."""

    is_making = False  # whether it is making a memo


THREAD = ThreadState()


class OfMembers(NamedTuple):
    """The key of a memo that is made of members alone, and the identities of their codes and tables."""

    key: Hashable
    identities: frozenset[str]


class OfRows(NamedTuple):
    """The key of a memo that is made of a cell of the rows of one scenario of one domain, and the identities of these.

    They are those of the rows, and of the codes and tables of the dimensions that the cell restricts.
    """

    name: tuple[Hashable, ...]
    within: Cell
    rows: str
    identities: frozenset[str]


class Books:
    """One version of the books: a catalogue and the data of a backend."""

    def __init__(self, catalogue: Catalogue, backend: Backend, before: "Books | None" = None) -> None:
        """`before` is another version of the same books."""
        self.catalogue = with_freezes(catalogue, backend.freezes)
        self.version = backend.version
        self.facts: FactStore = backend.facts
        self._backend = backend
        self.loaded = LoadedMembers(self.catalogue, backend)
        self._rows = backend.row_identities()
        self._turns: dict[Hashable, Lock] = {}  # held while a memo is made
        identities = frozenset(self._rows.values()).union(*self.loaded.identities.values())
        self._memos = {} if before is None else before.memos_of(identities)
        self._memo_members = sum(size for _, size in self._memos.values())
        self._lock = Lock()

    @property
    def files(self) -> Sequence[Path]:
        """The local files that this version needs."""
        return self._backend.files

    @property
    def published_at(self) -> datetime | None:
        """The time of the latest load of this version, None if there is none."""
        return self._backend.published_at

    @property
    def memo_bytes(self) -> int:
        """The size of all memos, an upper estimate."""
        return self._memo_members * MEMBER_BYTES

    def memo(self, key: Hashable, make: Callable[[], Value], size: Size[Value] = 1, of: Collection[str] = ()) -> Value:
        """Return the memo of a key. Makes and keeps it first if there is none.

        `of` names dimensions, where the value is made of their members alone: versions with the same members share it.

        If another thread is making the value, this one waits and looks at `stop`, unless it is making a value itself:
        then it waits for members alone, which are made of nothing but members. So no two threads wait for each other.
        """
        if of:
            key = OfMembers(key, self.loaded.identities_of(of))
        memo = self._kept(key)
        if memo is None:
            memo = self._make_in_turn(key, make, size) if of or not THREAD.is_making else self._make(key, make, size)
        return memo[0]  # type: ignore[return-value]  # a key determines the type of its value

    def memo_for_all(
        self, key: Hashable, make: Callable[[], Value], size: Size[Value] = 1, of: Collection[str] = ()
    ) -> Value:
        """Return the memo of a key: a value that no visibility changes."""
        return self.memo(("for all", key), make, size, of)

    def kept(self, key: Hashable) -> object | None:
        """Return the memo of a key, None if there is none. Waits for nobody who makes it."""
        memo = self._kept(key)
        return memo and memo[0]

    def _kept(self, key: Hashable) -> Memo | None:
        with self._lock:
            memo = self._memos.pop(key, None)
            if memo is not None:
                self._memos[key] = memo
            return memo

    def _make_in_turn(self, key: Hashable, make: Callable[[], Value], size: Size[Value]) -> Memo:
        with self._lock:
            turn = self._turns.setdefault(key, Lock())
        try:
            with locked(turn):
                return self._kept(key) or self._make(key, make, size)
        finally:
            self._turns.pop(key, None)

    def _make(self, key: Hashable, make: Callable[[], Value], size: Size[Value]) -> Memo:
        was_making, THREAD.is_making = THREAD.is_making, True
        try:
            made = make()
        finally:
            THREAD.is_making = was_making
        memo = made, size if isinstance(size, int) else 1 + size(made)
        with self._lock:
            self._memo_members += memo[1] - self._memos.pop(key, (None, 0))[1]
            while self._memo_members > MEMO_MEMBERS and self._memos:
                _, freed = self._memos.pop(next(iter(self._memos)))
                self._memo_members -= freed
            self._memos[key] = memo
        return memo

    def forget(self) -> None:
        """Empty the memos. Some of them hold this version, which would outlive those who read it."""
        with self._lock:
            self._memos, self._memo_members = {}, 0

    def memos_of(self, held: frozenset[str]) -> dict[Hashable, Memo]:
        """Return the memos that are made alone of members and rows with some of these identities."""
        with self._lock:
            known = list(self._memos.items())
        return {key: memo for key, memo in known if isinstance(key, OfMembers | OfRows) and key.identities <= held}

    def memo_of_rows(
        self,
        name: tuple[Hashable, ...],
        place: tuple[str, str],
        within: Cell,
        make: Callable[[], Value],
        size: Size[Value],
    ) -> Value:
        """Return a memo made of the rows of a scenario of a domain within a permission: versions with them share it."""
        rows = self._rows.get(place)
        if rows is None:
            return self.memo((*name, *place, within), make, size)
        of = (self.loaded.identities.get(dimension, frozenset[str]()) for dimension in within.dimensions)
        return self.memo(OfRows(name, within, rows, frozenset({rows}).union(*of)), make, size)

    def members(self, key: str) -> MemberSet:
        """Return the members of a dimension. Raises Unavailable if its table was never loaded."""
        dimension = self.catalogue.dimensions[key]

        def size(_: MemberSet) -> int:
            return len(self.leaf(dimension.leaf).member_ids)

        return self.memo(("members", key), lambda: self._members(dimension), size, of=(key,))

    def leaf(self, key: str) -> LeafMembers:
        """Return the members of a leaf dimension."""
        count = self.loaded.count(key)
        return self.memo(("leaf", key), lambda: leaf_members(key, *self.loaded.tables(key)[:2]), count, of=(key,))

    def id_ranks(self, key: str) -> pl.Series | None:
        """Return the rank of the id of each code of a leaf dimension, None where codes ascend as ids do.

        A load gives new ids the next codes. So codes tell which members rows brought first, hidden rows included.
        """
        count = self.loaded.count(key)
        return self.memo(("id ranks", key), lambda: ranks_of(self.leaf(key).member_ids), count, of=(key,))

    def codes(self, cut: Cut) -> CodeSet | None:
        """Return the leaf codes that a cut selects. None if a deny names an unknown member or no member is loaded.

        An allow-list ignores unknown members. A deny by nodes also removes the leaves that belong to no node.
        """

        def size(codes: CodeSet | None) -> int:
            return len(cut.ids) + (codes.named() if codes else 0)

        return self.memo(("codes", cut), lambda: codes_of(cut, self), size, of=(cut.dimension,))

    def feeds(self, domain: str) -> set[str]:
        """Return the feeds that loaded the facts of a domain; none where it has no facts."""
        return self._backend.feeds(domain)

    def places(self, domain: str) -> Mapping[str, set[int]]:
        """Return the decimal places at which the amounts of each measure of a domain are stored."""
        return self._backend.places(domain)

    def blanks(self, domain: str) -> frozenset[str]:
        """Return the measures of a domain that some row has no amount of."""
        return self.memo(("blanks", domain), lambda: self._backend.blanks(domain))

    def columns(self, domain: str) -> Mapping[str, set[str]]:
        """Return the columns of each load of a domain."""
        return self._backend.columns(domain)

    def loads(self, domain: str, scenario: str) -> Sequence[FactLoad]:
        """Return the loads of a scenario of a domain in publishing order."""
        return self.memo(("loads", domain, scenario), lambda: self._backend.loads(domain, scenario))

    def load_of(self, table: str) -> str | None:
        """Return the id of the load of a table of members, nodes or rates."""
        return self._backend.load_of(table)

    def data_version(self, domain: str, scenario: str) -> str:
        """Return a digest of the facts of a scenario of a domain and of the members of its dimensions."""
        return self.memo(("version", domain, scenario), lambda: self._data_version(domain, scenario))

    def _data_version(self, domain: str, scenario: str) -> str:
        leaves = self.catalogue.domains[domain].dimensions
        tables = {
            name
            for dim in self.catalogue.dimensions.values()
            if dim.leaf in leaves
            for name in (dim.members, dim.nodes)
            if name
        }
        identities = self._backend.identities(domain, scenario, tables)
        return sha256("\n".join(sorted(identities)).encode()).hexdigest()

    def undescribed(self, key: str) -> frozenset[int]:
        """Return the codes of a leaf dimension that its table of members lacks, without the null member."""
        return self.memo(("undescribed", key), lambda: self.loaded.tables(key).undescribed, len, of=(key,))

    def _members(self, dimension: Dimension) -> MemberSet:
        tables = self.loaded.tables(dimension.key)
        of = self.leaf(dimension.leaf)
        if dimension.kind is DimensionKind.DERIVED:
            return DerivedMembers(dimension.key, of, dimension.attribute or "")
        if tables.nodes is not None:
            return ragged_nodes(dimension.key, of, tables.nodes, adds_paths=dimension.adds_paths)
        return of


def codes_of(cut: Cut, books: Books) -> CodeSet | None:
    """Return the leaf codes that a cut selects in some books."""
    dimension = books.catalogue.dimensions[cut.dimension]
    try:
        if dimension.nodes and books.loaded.count(dimension.leaf) > node_codes.MAX_OPENED:
            codes = node_codes.codes_below(cut, books.loaded.tables(cut.dimension))
            if codes is not None:
                return codes.selected(cut)
        members = books.members(cut.dimension)
    except Unavailable:
        return None
    loaded = [member for member in cut.ids if members.has(member)]
    named = frozenset[int]().union(*(members.below(member) for member in loaded))
    if not cut.deny:
        return CodeSet(named)
    if len(loaded) < len(cut.ids):
        return None
    return CodeSet(named | members.unassigned(), complement=True)


def ranks_of(member_ids: Sequence[str]) -> pl.Series | None:
    """Return the rank of each id, the null member's first; None if they ascend."""
    ids = pl.Series(member_ids[1:], dtype=pl.String)
    return None if ids.is_sorted() else pl.concat([pl.Series([0], dtype=pl.UInt32), ids.rank("ordinal")])


class Earlier(NamedTuple):
    """A version that another has followed, while something holds it, and when that one was opened."""

    books: "ref[Books]"
    since: int  # how often the Shelf had been read


class Shelf:
    """Opens the current version of the books and keeps it until the next one is published.

    The memos of an earlier version are emptied when the next one was read `reads` times: few calls run so long. Those
    that a longer call makes go with the version after it.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        root: Path,
        versions: Callable[[Path], Versions] = ArrowVersions,
        reads: int = READS,
    ) -> None:
        self._catalogue = catalogue
        self._versions = versions(root)
        self._books: Books | None = None
        self._earlier: list[Earlier] = []
        self._between, self._reads, self._forgets_at = reads, 0, inf
        self._lock = Lock()
        with suppress(Unavailable):  # the next call tries again, and says why
            self._open()

    def current(self) -> Books:
        """Return the current Books. The next call sees a newly published version. Raises Unavailable."""
        books = self._books
        if books is None or self._versions.current() != books.version:
            with self._lock:
                books = self._books
                if books is None or self._versions.current() != books.version:
                    books = self._open()
        self._reads += 1  # threads may lose some
        if self._reads >= self._forgets_at:
            self._forget_earlier()
        return books

    def stamp(self) -> Hashable:
        """Return a value that changes whenever the next `current` may read something else. Raises Unavailable."""
        return self._versions.stamp()

    def release(self) -> None:
        """Let go of the Books, so that a later publish can delete their files. The next `current` opens them anew."""
        books, self._books = self._books, None
        if books is not None:
            books.forget()

    def _open(self) -> Books:
        before = self._books
        self._books = Books(self._catalogue, self._versions.open(self._catalogue.domains), before)
        if before is not None:
            self._earlier.append(Earlier(ref(before), self._reads))
            self._forgets_at = min(self._forgets_at, self._reads + self._between)
        return self._books

    def _forget_earlier(self) -> None:
        """Empty the memos of the versions that calls no longer read, however often calls filled them again."""
        with self._lock:
            due = self._reads - self._between
            self._earlier = [each for each in self._earlier if each.books() is not None]
            for each in self._earlier:
                if each.since <= due and (books := each.books()) is not None:
                    books.forget()
            waiting = [each.since for each in self._earlier if each.since > due]
            self._forgets_at = min(waiting, default=inf) + self._between

    @property
    def at_hand(self) -> Books | None:
        """The current Books, None if they must be opened first."""
        books = self._books
        return books if books is not None and self._versions.current() == books.version else None

    @property
    def memo_bytes(self) -> int:
        """The size of all memos of the version that was read last."""
        return 0 if self._books is None else self._books.memo_bytes
