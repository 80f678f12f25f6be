"""Landings: the rows of one extract on their way into partitions, in memory up to a bound and beyond it in files.

Rows arrive in any number of pieces and in any order; equal rows give equal partitions. A landing numbers ids as they
arrive and maps the numbers to codes at the end.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

import polars as pl
from msgspec import Struct

from engine.facts.files import mapped, spool, spooled
from engine.facts.manifest import UNDATED
from engine.facts.sorting import SORTED_BYTES, sorted_ranges, sorted_whole
from engine.model.catalogue import Domain
from engine.model.fact_store import DATE

SCENARIO, BUCKET = "scenario", "_bucket"
NUMBER = pl.UInt32
HELD_BYTES = 128 << 20  # of rows that stay in memory
MONTHS = 2**32  # more than the months that one scenario can have
MONTH = pl.col(DATE).dt.year().cast(pl.Int64) * 100 + pl.col(DATE).dt.month()
Piece = Callable[[], pl.DataFrame]  # consecutive rows of one scenario and month


class MemberNumbers:
    """The ids of one dimension, numbered from 1 in order of arrival. 0 is the null member."""

    def __init__(self) -> None:
        self._known = pl.DataFrame(schema={"id": pl.String, "number": NUMBER})

    @property
    def ids(self) -> pl.Series:
        """The ids in the order of their numbers."""
        return self._known["id"]

    def number(self, column: pl.Series) -> pl.Series:
        """Return the numbers of a column of ids."""
        if self._known.is_empty():
            self._learn(column)
        numbers = self._look_up(column)
        unknown = column.filter(numbers.is_null() & column.is_not_null())
        if not unknown.is_empty():
            self._learn(unknown)
            numbers = self._look_up(column)
        return numbers.fill_null(0)

    def _learn(self, column: pl.Series) -> None:
        ids = column.drop_nulls().unique(maintain_order=True).alias("id").to_frame()
        numbered = ids.with_row_index("number", offset=self._known.height + 1)
        self._known = self._known.vstack(numbered.select("id", pl.col("number").cast(NUMBER)))

    def _look_up(self, column: pl.Series) -> pl.Series:
        found = column.alias("id").to_frame().join(self._known, on="id", how="left", maintain_order="left")
        return found["number"].alias(column.name)

    def codes(self, coded: pl.DataFrame) -> pl.Series:
        """Return the code of each number, the null member first. `coded` has columns id and code for every id."""
        found = self._known.join(coded, on="id", how="left", maintain_order="left")["code"]
        return pl.concat([pl.Series("code", [0], dtype=found.dtype), found])


class Landing:
    """The rows of an extract until they are merged into partitions: the first in memory, the others spooled."""

    def __init__(self, folder: Path, domain: Domain) -> None:
        self._folder = folder
        self._domain = domain
        self._numbered = {column: MemberNumbers() for column in (SCENARIO, *domain.dimensions)}
        self._pieces: dict[tuple[str, str], list[Piece]] = defaultdict(list)
        self._files = self._bytes = 0
        self.rows = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows.

        Columns: SCENARIO (text), DATE (date, null if undated), the domain's dimensions by key (ids as text), its
        measures by key (Int64, in units of the last decimal place), and text columns for inspection.
        """
        if frame.is_empty():
            return
        numbers = [numbered.number(frame[column]) for column, numbered in self._numbered.items()]
        bucket = pl.col(SCENARIO).cast(pl.Int64) * MONTHS + MONTH.fill_null(0)
        ordered = frame.with_columns(numbers).with_columns(bucket.alias(BUCKET)).drop(SCENARIO).sort(BUCKET)
        slice_of = self._held(ordered.drop(BUCKET))
        first, scenarios = 0, self.ids(SCENARIO)
        for rows, run in ordered[BUCKET].rle().struct.unnest().iter_rows():
            scenario, month = divmod(run, MONTHS)
            code = f"{month // 100:04}-{month % 100:02}" if month else UNDATED
            self._pieces[scenarios[scenario - 1], code].append(partial(slice_of, first, rows))
            first += rows
        self.rows += frame.height

    def _held(self, rows: pl.DataFrame) -> Callable[[int, int], pl.DataFrame]:
        """Keep rows in memory, or in a file if enough are there; return what gives a slice of them."""
        self._bytes += int(rows.estimated_size())
        if self._bytes <= HELD_BYTES:
            return rows.slice
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / f"{self._files:06}.arrow"
        self._files += 1
        spool(file, rows)
        return lambda first, count: mapped(file).slice(first, count)  # unmapped again once a month is written

    def ids(self, dimension: str) -> pl.Series:
        """Return the ids of a dimension that occur in the rows."""
        return self._numbered[dimension].ids

    def months(self, coded: Mapping[str, pl.DataFrame]) -> Iterator["LandedMonth"]:
        """Yield the months in order of scenario and month. `coded` maps the ids of each dimension to codes."""
        order = (*self._domain.sort, DATE)
        codes = {key: self._numbered[key].codes(coded[key]) for key in self._domain.dimensions}
        for (scenario, month), pieces in sorted(self._pieces.items()):
            yield LandedMonth(scenario, month, pieces, codes, order, self._folder)


class LandedMonth(Struct, frozen=True):
    """The landed rows of one scenario and month."""

    scenario: str
    month: str
    pieces: Sequence[Piece]
    codes: Mapping[str, pl.Series]  # by dimension: the code of each number
    order: Sequence[str]  # columns to sort by first
    folder: Path  # of temporary files

    def sorted_rows(self) -> pl.DataFrame:
        """Return the rows, coded and sorted by all their columns; many are mapped from a file that has no name."""
        pieces = [piece() for piece in self.pieces]  # mapped, where they are many
        size, rows = sum(int(piece.estimated_size()) for piece in pieces), sum(piece.height for piece in pieces)
        if size <= SORTED_BYTES:
            return sorted_whole([self._coded(pl.concat(pieces, rechunk=True))])
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{self.scenario}-{self.month}.arrow"
        coded = [spooled(path, self._coded(piece)) for piece in pieces]
        sorted_in_order = sorted_ranges(coded, max(1, rows * SORTED_BYTES // size))
        return pl.concat([spooled(path, some) for some in sorted_in_order], rechunk=False)

    def _coded(self, rows: pl.DataFrame) -> pl.DataFrame:
        rows = rows.with_columns(codes.gather(rows[key]).alias(key) for key, codes in self.codes.items())
        return rows[list(dict.fromkeys((*self.order, *rows.columns)))]


class Fingerprint:
    """A digest of the rows of an extract. It does not depend on the width of codes."""

    def __init__(self) -> None:
        self._digest = sha256()

    def add(self, scenario: str, month: str, rows: pl.DataFrame) -> None:
        """Add the sorted rows of a month."""
        self._digest.update(f"{scenario}\0{month}\0{rows.height}\0".encode())
        for column in sorted(rows.columns):
            self._digest.update(f"{column}\0".encode())
            for part in plain(rows[column]):
                self._digest.update(part)

    def hexdigest(self) -> str:
        """Return the digest of the added rows."""
        return self._digest.hexdigest()


def plain(column: pl.Series) -> Iterator[bytes]:
    """Yield the nulls, lengths and values of a column as bytes. Different columns give different bytes."""
    yield raw(column.is_null().cast(pl.UInt8))
    if column.dtype == pl.String:
        yield raw(column.str.len_bytes().fill_null(0))
        yield (column.fill_null("").str.join("").item() or "").encode()
    else:
        yield raw(column.to_physical().cast(pl.Int64).fill_null(0))


def raw(column: pl.Series) -> bytes:
    """Return the memory bytes of an integer column without nulls."""
    if column.is_empty():
        return b""
    numbers = column.rechunk().to_arrow()
    width = numbers.type.bit_width // 8
    return bytes(numbers.buffers()[1].slice(numbers.offset * width, len(numbers) * width))
