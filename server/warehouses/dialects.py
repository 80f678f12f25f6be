"""The dialects of SQL: a row for each engine says how it writes what the engines write differently.

Statements are text. Numbers and days stand in them; every text is bound, or passes `quote_text` of its dialect.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, auto
from hashlib import sha256
from typing import Any

from msgspec import Struct


class NotWritable(ValueError):
    """A name or text that an engine cannot take: it holds the character NUL, or half a surrogate pair."""


class ColumnKind(Enum):
    """What a column of a table of facts holds."""

    PART = auto()  # number of a partition, 60 bits
    DAY = auto()  # null where a row has no date
    CODE = auto()  # of a member, 32 bits
    AMOUNT = auto()  # 64 bits, null where a load has none
    TEXT = auto()  # sorts by its bytes; null where a load has none


@dataclass(slots=True)
class Bindings:
    """What stands beside the text of a statement: its parameters, and tables of integers that travel with it."""

    parameter: str = "?"
    parameters: list[Any] = field(default_factory=list)
    sets: dict[str, Sequence[Sequence[int]]] = field(default_factory=dict)

    def bind(self, value: object) -> str:
        """Return the placeholder of a value: a text, or a list of integers."""
        self.parameters.append(value)
        return self.parameter.format(len(self.parameters))

    def keep(self, columns: Sequence[Sequence[int]]) -> str:
        """Return the name of an immutable table of columns of integers, which is a digest of them."""
        name = f"tieout_set_{sha256(repr([list(column) for column in columns]).encode()).hexdigest()[:32]}"
        self.sets[name] = columns
        return name


ListedRows = Callable[[Bindings, Sequence[Sequence[Any]], Sequence[str]], str]


class SqlDialect(Struct, frozen=True, kw_only=True):
    """How an engine writes SQL. `{}` stands for what a template is about."""

    name: str  # as sqlglot calls it
    types: Mapping[ColumnKind, str]
    quote: str = '"'  # around names; doubled within them
    name_escapes: Mapping[str, str] = {}  # other characters of names
    escapes: Mapping[str, str]  # characters of texts, and how they are written
    text: str = "'{}'"
    day: str = "date '{}'"
    whole: str = "cast({} as bigint)"
    wide: str  # an amount that is summed past 63 bits
    widest: int = 10**38  # such sums are exact below it
    as_text: str = "cast({} as varchar)"  # of a sum past 63 bits, which Arrow has no integer for
    count: str = "count(*)"  # of rows, to be summed
    month: str = "date_trunc('month', {})"
    month_number: str = "extract(year from {0}) * 12 + extract(month from {0})"  # of a day, from the year 0
    schema: str = "current_schema()"  # of a table that is named without one
    parameter: str = "?"  # `{}` is its number, from 1
    listed: ListedRows  # columns of integers under some names as a table: bound, or kept as a set table
    exact: str = "cast({} as decimal(38, {}))"  # an amount, and its decimal places
    row: str = "{}"  # the columns of a subselect that some columns are compared with
    string: str = "cast({} as varchar)"  # that sorts and compares by its bytes
    digest: str = ""  # the sum of a hash of each row, of some columns; empty: there is none
    hashed: str = "{0}"  # a column in such a hash
    begin: str = ""  # begins a transaction that sees one state and writes nothing; empty: there is none
    columns: str = ""  # asks for schema, table, column and type of the columns of a table, by its name in small letters
    catalogue_schema: str = "table_schema"  # the schema in that statement
    version: str = ""  # asks for the version of a `{table}` as a text; empty: nobody can read it as it was
    at_version: str = ""  # `{table}` as it was at a `{version}`, under an `{alias}`
    may_change: str = ""  # counts rights to change the table of a schema `{}` and a name `{}`; empty: nobody has any
    lake: str = ""  # the folder of the tables, where statements name them by their folder
    lake_format: str = "delta"  # of the tables in that folder

    def name_of(self, *parts: str) -> str:
        """Return a name as the engine writes it: a column, or a table after its schema."""
        escapes = {self.quote: 2 * self.quote, **self.name_escapes}
        escaped = ("".join(escapes.get(letter, letter) for letter in writable(part)) for part in parts)
        return ".".join(f"{self.quote}{part}{self.quote}" for part in escaped)

    def table_of(self, *parts: str) -> str:
        """Return a table as statements name it: after its schema, or by its folder in a lake."""
        return f"{self.lake_format}.{self.name_of(f'{self.lake}/{parts[-1]}')}" if self.lake else self.name_of(*parts)

    def table_at(self, name: Sequence[str], version: str | None, alias: str) -> str:
        """Return a table under an alias, as it was at a version if one is given."""
        table = self.table_of(*name)
        if version is None:
            return f"{table} as {alias}"
        return self.at_version.format(table=table, version=self.quote_text(version), alias=alias)

    def quote_text(self, text: str) -> str:
        """Return a text as a literal. Raises NotWritable."""
        return self.text.format("".join(self.escapes.get(letter, letter) for letter in writable(text)))

    def day_of(self, day: date) -> str:
        """Return a day as a literal."""
        return self.day.format(day.isoformat())


class LakeDialect(SqlDialect, frozen=True, kw_only=True):
    """How an engine writes SQL that reads the tables of a lake by their folder, at a version if one is given."""

    def table_of(self, *parts: str) -> str:
        """Return a table as statements name it: a name with a slash is a folder, of Delta unless its format is said."""
        if "/" not in parts[-1]:
            return SqlDialect.table_of(self, *parts)
        return f"{parts[-2] if len(parts) > 1 else DELTA}.{self.name_of(parts[-1])}"

    def table_at(self, name: Sequence[str], version: str | None, alias: str) -> str:
        """Return a table under an alias, as it was at a version if one is given."""
        if version is None:
            return SqlDialect.table_at(self, name, version, alias)
        known = LakeVersion.parse(version)
        return f"{self.table_of(known.form, known.folder)} version as of {known.number} as {alias}"


DELTA, ICEBERG = "delta", "iceberg"  # formats of tables in a lake


class LakeVersion(Struct, frozen=True):
    """A version of a table in a lake, and its folder.

    Of Delta, its number and a digest of the commit that made it; of Iceberg, the id of the snapshot, which is random.
    """

    number: int
    commit: str
    form: str
    folder: str

    def __str__(self) -> str:
        """Return the version as the manifest keeps it."""
        return f"{self.number} {self.commit} {self.form} {self.folder}"

    @classmethod
    def parse(cls, text: str) -> "LakeVersion":
        """Return the version that a text stands for."""
        number, commit, form, folder = text.split(" ", 3)
        return cls(int(number), commit, form, folder)


def writable(text: str) -> str:
    """Return a text unchanged. Raises NotWritable if an engine would cut or refuse it."""
    if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text):
        raise NotWritable("a name or text for a warehouse holds NUL or half a surrogate pair")
    return text


def element_type(column: Sequence[Any], of_texts: str) -> str:
    """Return the type of the elements of a column: whole numbers, unless it begins with a text."""
    return of_texts if isinstance(next(iter(column), None), str) else "bigint"


def bound_in_duckdb(bindings: Bindings, columns: Sequence[Sequence[Any]], names: Sequence[str]) -> str:
    """Return columns of integers or texts as a table, each a bound list."""
    lists = (f"unnest({bindings.bind(list(column))}::{element_type(column, 'varchar')}[])" for column in columns)
    return f"(select {', '.join(f'{known} as {name}' for known, name in zip(lists, names, strict=True))})"


def bound_in_postgresql(bindings: Bindings, columns: Sequence[Sequence[Any]], names: Sequence[str]) -> str:
    """Return columns of integers or texts as a table, each a bound array."""
    lists = ", ".join(f"{bindings.bind(list(column))}::{element_type(column, 'text')}[]" for column in columns)
    return f"(select * from unnest({lists}) as listed({', '.join(names)}))"


def kept_in_clickhouse(bindings: Bindings, columns: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """Return columns of integers as a table that stands beside the statement."""
    listed = ", ".join(f"tieout_c{at} as {name}" for at, name in enumerate(names))
    return f"(select {listed} from {bindings.keep(columns)})"


def written_in_spark(_: Bindings, columns: Sequence[Sequence[Any]], names: Sequence[str]) -> str:
    """Return columns of integers or texts as a table, each one text: Sail reads as many literals ten times slower."""
    if not columns[0]:
        return f"(select {', '.join(f'cast(null as bigint) as {name}' for name in names)} where 1 = 0)"
    lists, types = [], []
    for column in columns:
        of_texts = element_type(column, "string") == "string"
        mark = unused_mark(column) if of_texts else ","
        lists.append(f"split({SPARK.quote_text(mark.join(map(str, column)))}, '{mark}')")
        types.append("string" if of_texts else "bigint")
    listed = (f"cast(`{at}` as {type_}) as {name}" for at, (type_, name) in enumerate(zip(types, names, strict=True)))
    return f"(select {', '.join(listed)} from (select inline(arrays_zip({', '.join(lists)}))) as tieout_zipped)"


def unused_mark(texts: Sequence[str]) -> str:
    """Return a control character that none of some texts has. Raises NotWritable."""
    for mark in map(chr, range(1, 9)):
        if not any(mark in text for text in texts):
            return mark
    raise NotWritable("the ids of a warehouse hold every control character")


DUCKDB = SqlDialect(
    name="duckdb",
    types={
        ColumnKind.PART: "bigint",
        ColumnKind.DAY: "date",
        ColumnKind.CODE: "uinteger",
        ColumnKind.AMOUNT: "bigint",
        ColumnKind.TEXT: "varchar",
    },
    escapes={"'": "''"},
    wide="cast({} as hugeint)",
    widest=2**127,
    parameter="${}",
    listed=bound_in_duckdb,
    digest="sum(cast(hash({}) as hugeint))",
    begin="begin transaction",
    columns="select table_schema, table_name, column_name, lower(data_type) from information_schema.columns "
    "where table_catalog = current_database() and {schema} and lower(table_name) = {table} order by ordinal_position",
)
POSTGRESQL = SqlDialect(
    name="postgres",
    types={
        ColumnKind.PART: "bigint",
        ColumnKind.DAY: "date",
        ColumnKind.CODE: "bigint",
        ColumnKind.AMOUNT: "bigint",
        ColumnKind.TEXT: 'text collate "C"',
    },
    escapes={"'": "''", "\\": "\\\\"},
    text="E'{}'",  # a backslash is one whatever standard_conforming_strings says
    wide="cast({} as numeric)",
    widest=2**127,  # past which figures have no type
    parameter="${}",
    listed=bound_in_postgresql,
    string='cast({} as text) collate "C"',
    month_number="date_part('year', {0}) * 12 + date_part('month', {0})",  # extract computes numerics
    digest="sum(hash_record_extended(row({}), 0))",  # in 128 bits
    begin="begin isolation level repeatable read read only",
    columns="select cast(n.nspname as text), cast(c.relname as text), cast(a.attname as text), "
    "format_type(a.atttypid, a.atttypmod) from pg_attribute as a join pg_class as c on c.oid = a.attrelid "
    "join pg_namespace as n on n.oid = c.relnamespace where a.attnum > 0 and not a.attisdropped "
    "and {schema} and lower(c.relname) = {table} order by a.attnum",
    catalogue_schema="n.nspname",
    may_change="select count(*) as tieout_found from pg_class as c join pg_namespace as n on n.oid = c.relnamespace "
    "where n.nspname = {} and c.relname = {} and has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')",
)
CLICKHOUSE = SqlDialect(
    name="clickhouse",
    types={
        ColumnKind.PART: "Int64",
        ColumnKind.DAY: "Nullable(Date32)",
        ColumnKind.CODE: "UInt32",
        ColumnKind.AMOUNT: "Nullable(Int64)",
        ColumnKind.TEXT: "Nullable(String)",
    },
    name_escapes={"\\": "\\\\"},
    escapes={"'": "\\'", "\\": "\\\\"},
    day="toDate32('{}')",
    whole="cast({} as Nullable(Int64))",
    wide="cast({} as Nullable(Decimal(38, 0)))",  # sums of integers wrap
    as_text="cast({} as Nullable(String))",
    month="toYYYYMM({})",
    schema="currentDatabase()",
    parameter="{{p{}:String}}",
    listed=kept_in_clickhouse,
)
SPARK = LakeDialect(  # Sail, over Flight SQL, which binds no parameters
    name="spark",
    types={},  # a loader writes the tables into the lake
    quote="`",
    escapes={"'": "\\'", "\\": "\\\\"},
    wide="cast({} as decimal(38, 0))",
    as_text="cast({} as string)",
    count="sum(1)",  # Sail 0.7 fails on sums of count(*)
    schema="current_database()",
    parameter="",
    listed=written_in_spark,
    string="cast({} as string)",
    digest="sum(cast(xxhash64({}) as decimal(38, 0)))",
    hashed="{0} is null, {0}",  # xxhash64 passes over nulls
)
