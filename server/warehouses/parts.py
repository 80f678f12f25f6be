"""The parts of a warehouse as loads write them: one for the rows of each partition."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import polars as pl

from engine.model.errors import Unavailable
from engine.model.warehouses import PartTotals
from server.base.interfaces import StoreDown
from server.warehouses.dialects import ColumnKind
from server.warehouses.tables import PART, WarehouseTable, plain_name, stored_kinds, warehouse_table
from server.warehouses.warehouse import SqlStatement, Warehouse


class WarehouseParts:
    """The parts of one warehouse, with the login of loads. Implements PartStore."""

    def __init__(self, warehouse: Warehouse, schema: str | None = None) -> None:
        self._warehouse = warehouse
        self._schema = schema
        self._made: set[WarehouseTable] = set()

    def table(self, domain: str) -> str:
        """Return the name of the table of a domain."""
        return ".".join(self._table(domain, {}).name)

    def put(self, domain: str, number: int, rows: pl.DataFrame) -> None:
        """Store the rows of a part; see PartStore."""
        table = self._table(domain, stored_kinds(rows))
        with self._failures(domain):
            if table not in self._made:
                self._warehouse.create([table])
                self._made.add(table)
            self._warehouse.put(table, number, table.batches(number, rows))

    def totals(self, domain: str, measures: Sequence[str], numbers: Collection[int]) -> Mapping[int, PartTotals]:
        """Return what some parts hold; see PartStore."""
        table = self._table(domain, dict.fromkeys(measures, ColumnKind.AMOUNT))
        with self._failures(domain):
            return self._warehouse.totals(table, numbers) if self._warehouse.has(table) else {}

    def numbers(self, domain: str) -> frozenset[int]:
        """Return the numbers of all parts of a domain; see PartStore."""
        table = self._table(domain, {})
        with self._failures(domain):
            return self._warehouse.parts(table) if self._warehouse.has(table) else frozenset()

    def rows(self, domain: str, number: int, columns: Sequence[str]) -> pl.DataFrame:
        """Return the rows of a part; see PartStore."""
        dialect, table = self._warehouse.dialect, self._table(domain, {})
        listed = ", ".join(dialect.name_of(plain_name(column)) for column in columns)
        text = f"select {listed} from {dialect.table_of(*table.name)} where {dialect.name_of(PART)} = {number}"
        with self._failures(domain):
            found = self._warehouse.read(SqlStatement(text))
        frame = pl.DataFrame(found)
        frame.columns = list(columns)
        return frame.cast({pl.UInt32: pl.Int64})

    def drop(self, domain: str, numbers: Collection[int]) -> None:
        """Delete some parts; see PartStore."""
        table = self._table(domain, {})
        with self._failures(domain):
            if self._warehouse.has(table):
                self._warehouse.drop(table, numbers)

    def remove(self, domain: str) -> None:
        """Drop the table of a domain, as far as the engine can; see Warehouse."""
        table = self._table(domain, {})
        with self._failures(domain):
            self._warehouse.remove(table)
        self._made = {other for other in self._made if other.name != table.name}

    def _table(self, domain: str, kinds: Mapping[str, ColumnKind]) -> WarehouseTable:
        return warehouse_table(domain, kinds, self._schema)

    @contextmanager
    def _failures(self, domain: str) -> Iterator[None]:
        try:
            yield
        except StoreDown as down:
            raise Unavailable(f"{self.table(domain)}: {down}") from down
