"""Attached tables: rows of facts that stay in a table of somebody else, read as the binding of a feed describes it.

Their members are texts. Statements name members by ids, and what they find becomes codes on this machine, so members,
trees and permissions stay here. The calendar month of a row stands for PART.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from hashlib import sha256
from typing import Final

import polars as pl
import pyarrow as pa
from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from engine.facts.manifest import UNDATED
from engine.model.catalogue import Domain
from engine.model.fact_store import DATE
from server.feeds.extract_formats import BlankRule, DebitCredit
from server.feeds.feeds import Binding
from server.warehouses.dialects import ICEBERG, ColumnKind, SqlDialect
from server.warehouses.tables import PART, declared_kinds, plain_name

SCENARIO: Final = "tieout_scenario"  # columns beside those of keys: the scenario of a row
CHANGE: Final = "tieout_change"  # and the day or number of its last change
NULL_ID: Final = ""  # of rows without a member
UNDATED_MONTH: Final = 0


class AttachedColumn(Struct, frozen=True, kw_only=True):
    """A column of facts: the columns of the table that it is made of, or one text in every row."""

    key: str  # as slices name it
    kind: ColumnKind
    sources: tuple[str, ...] = ()  # one; a debit and a credit
    constant: str | None = None
    places: int = 0  # of an amount


class AttachedTable(Struct, frozen=True, kw_only=True):
    """A table of somebody else, and how its rows are facts of a domain."""

    binding: str
    domain: str
    name: tuple[str, ...]  # after its schema, if it has one
    scenario: AttachedColumn
    columns: tuple[AttachedColumn, ...]  # DATE first
    blank: str  # what an amount without a number is: reject, none or zero
    change: str | None  # column that grows with every change; None: the rows tell
    version: str | None = None  # at which statements read the table; None: as it is

    @property
    def words(self) -> str:
        """The name of the table in messages; of a folder, its last part."""
        return self.name[-1].rstrip("/").rpartition("/")[2] if is_folder(self.name[-1]) else ".".join(self.name)

    @property
    def digest(self) -> str:
        """A digest of what the files of the instance say about the table."""
        return sha256(encode(replace(self, version=None))).hexdigest()[:32]

    @property
    def written(self) -> Iterator[tuple[AttachedColumn | None, str]]:
        """The columns of the table that are read, each with what it fills."""
        for column in (self.scenario, *self.columns):
            for source in column.sources:
                yield column, source
        if self.change is not None:
            yield None, self.change

    def of(self, kind: ColumnKind) -> tuple[AttachedColumn, ...]:
        """Return the columns of a kind."""
        return tuple(column for column in self.columns if column.kind is kind)

    def resolved(self, name: Sequence[str], columns: Mapping[str, str]) -> "AttachedTable":
        """Return the table under the names that the engine gives it and its columns."""

        def known(column: AttachedColumn) -> AttachedColumn:
            return replace(column, sources=tuple(columns[source] for source in column.sources))

        return replace(
            self,
            name=tuple(name),
            scenario=known(self.scenario),
            columns=tuple(map(known, self.columns)),
            change=None if self.change is None else columns[self.change],
        )


def is_folder(table: str) -> bool:
    """Tell whether an attached table is named by its folder in a lake."""
    return "/" in table


def name_parts(table: str) -> tuple[str, ...]:
    """Return the schema and the name of a table; of a folder, its format if it is said, and the folder."""
    if not is_folder(table):
        return tuple(table.split("."))
    return (ICEBERG, table.removeprefix(f"{ICEBERG}.")) if table.startswith(f"{ICEBERG}.") else (table,)


def attached_table(binding: Binding, domain: Domain) -> AttachedTable:
    """Return the table that a binding attaches to a domain, under the names that the binding writes."""
    assert binding.attach is not None  # noqa: S101 - its callers have looked

    def filled(key: str, column: str, kind: ColumnKind, places: int = 0) -> AttachedColumn:
        rule, filling = binding.format.amount, binding.fillings.get(column)
        if isinstance(rule, DebitCredit) and rule.column == column:
            return AttachedColumn(key=key, kind=kind, sources=(rule.debit, rule.credit), places=places)
        if filling is not None and filling.constant is not None:
            return AttachedColumn(key=key, kind=kind, constant=filling.constant)
        source = (filling.column if filling else None) or column
        return AttachedColumn(key=key, kind=kind, sources=(source,), places=places)

    scenario = filled(SCENARIO, domain.scenario_column, ColumnKind.CODE)
    if binding.scenario is not None:
        scenario = AttachedColumn(key=SCENARIO, kind=ColumnKind.CODE, constant=binding.scenario)
    measures = domain.measures.values()
    return AttachedTable(
        binding=binding.key,
        domain=domain.key,
        name=name_parts(binding.attach.table),
        scenario=scenario,
        columns=(
            filled(DATE, domain.time_column, ColumnKind.DAY),
            *(filled(key, column, ColumnKind.CODE) for key, column in domain.dimensions.items()),
            *(filled(known.key, known.column, ColumnKind.AMOUNT, known.places) for known in measures),
            *(filled(column, column, ColumnKind.TEXT) for column in domain.texts),
        ),
        blank=(binding.format.numbers.blank or BlankRule.REJECT).value,
        change=binding.attach.change,
    )


def lost_table(binding: str, domain: Domain, name: Sequence[str]) -> AttachedTable:
    """Return a table that was surveyed and that no binding describes any more."""
    known = declared_kinds(domain).items()
    columns = (AttachedColumn(key=key, kind=kind, sources=(key,)) for key, kind in known)
    scenario = AttachedColumn(key=SCENARIO, kind=ColumnKind.CODE, sources=(domain.scenario_column,))
    return AttachedTable(
        binding=binding,
        domain=domain.key,
        name=tuple(name),
        scenario=scenario,
        columns=tuple(columns),
        blank=BlankRule.REJECT.value,
        change=None,
    )


class AttachedRows(Struct, frozen=True, kw_only=True):
    """The rows of an attached table as statements read them. Implements StatementSource."""

    table: AttachedTable
    scenario: str | None = None  # None: of every scenario, with the column SCENARIO
    months: Collection[int] = ()  # none: rows of every month
    always: Collection[str] = ()  # dimensions whose rows all have a member, as the survey found
    ids: Mapping[str, Sequence[str]]  # of each dimension, in code order, NULL_ID first

    @property
    def name(self) -> tuple[str, ...]:
        """The name of the table."""
        return self.table.name

    def named(self, key: str) -> str | None:
        """Return the name of the column of a key."""
        return plain_name(key) if any(column.key == key for column in self.table.columns) else None

    def values(self, dimension: str, codes: Iterable[int]) -> Sequence[str]:
        """Return the ids of some members."""
        ids = self.ids.get(dimension, (NULL_ID,))
        return [ids[code] for code in codes if code < len(ids)]

    def ranks(self, keys: Iterable[str]) -> Mapping[str, pl.Series]:
        """Return the codes of the members of the dimensions among some columns: ids do not ascend as codes do."""
        return {key: pl.Series(range(len(self.ids[key])), dtype=pl.UInt32) for key in keys if key in self.ids}

    def source(self, dialect: SqlDialect) -> str:
        """Return the rows as a table: PART, then the columns under their keys."""
        name = dialect.name_of
        columns = [f"{self.part(dialect)} as {name(PART)}"]
        if self.scenario is None:
            columns.append(f"{self.value(self.table.scenario, dialect)} as {name(SCENARIO)}")
        if self.table.change is not None:
            columns.append(f"{column_of(self.table.change, dialect)} as {name(CHANGE)}")
        columns += [f"{self.value(column, dialect)} as {name(plain_name(column.key))}" for column in self.table.columns]
        return f"(select {', '.join(columns)} {self.base(dialect)}) as tieout_table"

    def base(self, dialect: SqlDialect) -> str:
        """Return what stands after the columns of a select of the table itself."""
        tests = [*self._of_scenario(dialect), *self._of_months(dialect), *self._with_amounts(dialect)]
        where = f" where {' and '.join(tests)}" if tests else ""
        return f"from {dialect.table_at(self.name, self.table.version, 'tieout_base')}{where}"

    def part(self, dialect: SqlDialect) -> str:
        """Return the month of a row, counted from the year 0."""
        month = dialect.month_number.format(self.day(dialect))
        return dialect.whole.format(f"coalesce({month}, {UNDATED_MONTH})")

    def day(self, dialect: SqlDialect) -> str:
        """Return the day of a row."""
        return self.value(self.table.columns[0], dialect)

    def value(self, column: AttachedColumn, dialect: SqlDialect) -> str:
        """Return a column as facts have it: a day, an id, a whole number in units of the last place, or a text."""
        if column.constant is not None:
            return dialect.string.format(dialect.quote_text(column.constant))
        source = column_of(column.sources[0], dialect)
        match column.kind:
            case ColumnKind.DAY:
                return f"cast({source} as date)"
            case ColumnKind.AMOUNT:
                units = dialect.whole.format(f"{self.amount(column, dialect)} * {10**column.places}")
                return f"coalesce({units}, 0)" if self.table.blank == BlankRule.ZERO.value else units
            case ColumnKind.CODE if column.key in self.always:
                return dialect.string.format(source)
            case ColumnKind.CODE:
                return f"coalesce({dialect.string.format(source)}, '')"
        return f"nullif({dialect.string.format(source)}, '')"

    def amount(self, column: AttachedColumn, dialect: SqlDialect, *, exact: bool = True) -> str:
        """Return an amount as a decimal: with the places of its measure, or as the table has it."""
        known = [column_of(source, dialect) for source in column.sources]
        known = [dialect.exact.format(source, column.places) if exact else source for source in known]
        if len(known) == 1:
            return known[0]
        debit, credit = known
        return (
            f"case when {debit} is not null or {credit} is not null "
            f"then coalesce({debit}, 0) - coalesce({credit}, 0) end"
        )

    def proof(self, dialect: SqlDialect) -> str:
        """Return what tells whether some rows have changed: the latest change, else the sum of a hash of each row."""
        if self.table.change is not None:
            return f"max({dialect.name_of(CHANGE)})"
        columns = (dialect.name_of(plain_name(column.key)) for column in self.table.columns)
        return dialect.digest.format(", ".join(map(dialect.hashed.format, columns)))

    def _of_scenario(self, dialect: SqlDialect) -> Iterator[str]:
        if self.scenario is not None and self.table.scenario.constant is None:
            value = self.value(self.table.scenario, dialect)
            yield f"{value} = {dialect.quote_text(self.scenario)}"

    def _of_months(self, dialect: SqlDialect) -> Iterator[str]:
        """Yield tests that let an engine leave out rows of other months without reading them."""
        if self.months and UNDATED_MONTH not in self.months:
            source = column_of(self.table.columns[0].sources[0], dialect)
            first, after = first_of(min(self.months)), first_of(max(self.months) + 1)
            yield f"{source} >= {dialect.day_of(first)} and {source} < {dialect.day_of(after)}"

    def _with_amounts(self, dialect: SqlDialect) -> Iterator[str]:
        measures = self.table.of(ColumnKind.AMOUNT)
        if self.table.blank == BlankRule.NONE.value and measures:
            sources = (source for column in measures for source in column.sources)
            yield f"({' or '.join(f'{column_of(source, dialect)} is not null' for source in sources)})"


def column_of(source: str, dialect: SqlDialect) -> str:
    """Return a column of the table, which no alias can be taken for."""
    return f"tieout_base.{dialect.name_of(source)}"


def month_of(bucket: str) -> int:
    """Return the month of a partition, counted from the year 0."""
    if bucket == UNDATED:
        return UNDATED_MONTH
    year, _, month = bucket.partition("-")
    return int(year) * 12 + int(month)


def bucket_of(month: int) -> str:
    """Return the bucket of a month."""
    return UNDATED if month == UNDATED_MONTH else first_of(month).isoformat()[:7]


def first_of(month: int) -> date:
    """Return the first day of a month that is counted from the year 0."""
    year, month = divmod(month - 1, 12)
    return date(year, month + 1, 1)


def tokens_text(rows: AttachedRows, dialect: SqlDialect) -> str:
    """Return the columns that tell whether the rows of a month changed: the month, their number and their proof."""
    proof = dialect.as_text.format(rows.proof(dialect))
    return f"{dialect.name_of(PART)}, {dialect.whole.format('count(*)')} as tieout_count, {proof} as tieout_proof"


def tokens_in(found: pa.Table) -> Iterator[tuple[int, str]]:
    """Yield the months and tokens of an answer whose last columns are those of `tokens_text`."""
    for month, rows, proof in zip(*(column.to_pylist() for column in found.columns[-3:]), strict=True):
        yield month, f"{rows}:{proof}"
