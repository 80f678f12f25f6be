"""The tables of facts in a warehouse: their names and columns, and rows as they take them.

Names are small ASCII letters, digits and underscores, because engines fold cases and cut long names differently. None
begins with `tieout_` except those that statements give, so no alias equals a column.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

import polars as pl
import pyarrow as pa
from msgspec import Struct

from engine.model.catalogue import Domain
from engine.model.fact_store import DATE
from engine.model.members.member_sets import NULL_CODE
from server.warehouses.dialects import ColumnKind, SqlDialect

ORDER: Final = (  # of the names that statements give, as they stand in answers
    "span", "window", "period", "group", "least", "j", "d", "r", "total", "count", "amount", "rows", "value"
)  # fmt: skip
GIVEN: Final = re.compile(rf"tieout_({'|'.join(ORDER)})(\d*)")
PART: Final = "tieout_part"  # column of every table: the number of the partition of a row
PREFIX: Final = "tieout_"
PLAIN = re.compile(r"(?!tieout_)[a-z][a-z0-9_]{0,47}")
ARROW: Final[Mapping[ColumnKind, pl.DataType]] = {
    ColumnKind.PART: pl.Int64(),
    ColumnKind.DAY: pl.Date(),
    ColumnKind.CODE: pl.Int64(),
    ColumnKind.AMOUNT: pl.Int64(),
    ColumnKind.TEXT: pl.String(),
}
BATCH = 100_000  # rows of a record batch


class WarehouseColumn(Struct, frozen=True, kw_only=True):
    """A column of a table of facts."""

    key: str  # as slices name it
    name: str  # in the table
    kind: ColumnKind


class WarehouseTable(Struct, frozen=True, kw_only=True):
    """The table of the facts of a domain. PART is its first column, and stands not among the others."""

    domain: str
    name: tuple[str, ...]  # after its schema, if it has one
    columns: tuple[WarehouseColumn, ...]

    @property
    def measures(self) -> tuple[WarehouseColumn, ...]:
        """The columns of amounts."""
        return tuple(column for column in self.columns if column.kind is ColumnKind.AMOUNT)

    def named(self, key: str) -> str | None:
        """Return the name of the column of a key, None if the table has none."""
        return next((column.name for column in self.columns if column.key == key), None)

    def source(self, dialect: SqlDialect) -> str:
        """Return what stands after `from`."""
        return dialect.table_of(*self.name)

    def values(self, _dimension: str, codes: Iterable[int]) -> Sequence[int]:
        """Return how the rows write some members: by their codes."""
        return list(codes)

    def ranks(self, _keys: Iterable[str]) -> Mapping[str, pl.Series]:
        """Return no ranks: codes are the values."""
        return {}

    def batches(self, part: int, rows: pl.DataFrame) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition as the table has them: PART, then its columns, in its order.

        A dimension that the load lacks is the null member's; any other column that it lacks is null.
        """
        lacking = {ColumnKind.CODE: NULL_CODE}
        columns = [
            (pl.col(known.key) if known.key in rows.columns else pl.lit(lacking.get(known.kind)))
            .cast(ARROW[known.kind])
            .alias(known.name)
            for known in self.columns
        ]
        for piece in rows.iter_slices(BATCH):
            frame = piece.select(pl.lit(part, pl.Int64).alias(PART), *columns)
            yield from frame.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()


def warehouse_table(domain: str, kinds: Mapping[str, ColumnKind], schema: str | None = None) -> WarehouseTable:
    """Return the table of a domain with some columns, by key."""
    columns = (WarehouseColumn(key=key, name=plain_name(key), kind=kind) for key, kind in kinds.items())
    name = f"{PREFIX}facts_{plain_name(domain)}"
    return WarehouseTable(domain=domain, name=(schema, name) if schema else (name,), columns=tuple(columns))


def declared_kinds(domain: Domain) -> Mapping[str, ColumnKind]:
    """Return the columns that a domain declares."""
    return {
        DATE: ColumnKind.DAY,
        **dict.fromkeys(domain.dimensions, ColumnKind.CODE),
        **dict.fromkeys(domain.measures, ColumnKind.AMOUNT),
        **dict.fromkeys(domain.texts, ColumnKind.TEXT),
    }


def stored_kinds(rows: pl.DataFrame) -> Mapping[str, ColumnKind]:
    """Return the columns of the rows of a partition."""
    known = {pl.Date: ColumnKind.DAY, pl.Int64: ColumnKind.AMOUNT, pl.String: ColumnKind.TEXT}
    return {key: known.get(dtype.base_type(), ColumnKind.CODE) for key, dtype in rows.schema.items()}


def misplaced(found: Sequence[str], asked: Sequence[str]) -> str | None:
    """Return the name of a column of an answer that stands elsewhere than it was asked for; None if none does.

    Engines fold cases, put tables in front, and name what has no alias as they like: only a name that was asked for at
    another place, and names that statements give in another order, are misplaced.
    """
    names = [name.rpartition(".")[2].strip('"`').casefold() for name in found]
    keys = [plain_name(key) for key in asked]
    for at, name in enumerate(names):
        if name in keys and keys[at : at + 1] != [name]:
            return name
    given = [(ORDER.index(one[1]), int(one[2] or 0), name) for name in names if (one := GIVEN.fullmatch(name))]
    return next((name for (*_, name), (*_, other) in zip(given, sorted(given), strict=True) if name != other), None)


def plain_name(key: str) -> str:
    """Return a name that every engine takes and tells from the others: the key itself, or its letters and a digest."""
    if PLAIN.fullmatch(key):
        return key
    letters = re.sub(r"[^a-z0-9]+", "_", key.lower())[:40].strip("_")
    return f"x_{letters}_{sha256(key.encode()).hexdigest()[:8]}"
