"""Tables as Snowflake and BigQuery keep them: DuckDB runs their statements, as sqlglot writes them for it.

A table is kept as it was after every change, so that a statement reads it as of an instant.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from threading import Lock
from time import sleep
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

CATALOGUE = """
create schema kept;
create view kept.columns as
    select table_schema, table_name, column_name, ordinal_position,
        case when data_type like 'DECIMAL%' or data_type in ('INTEGER', 'BIGINT') then 'NUMBER'
            when data_type = 'VARCHAR' then 'TEXT' when data_type = 'DOUBLE' then 'FLOAT'
            when data_type = 'TIMESTAMP' then 'TIMESTAMP_NTZ'
            when data_type = 'TIMESTAMP WITH TIME ZONE' then 'TIMESTAMP_TZ' else data_type end as data_type,
        case when data_type not in ('DOUBLE', 'FLOAT') then numeric_scale end as numeric_scale
    from information_schema.columns;
create table kept.privileges (table_schema varchar, table_name varchar, privilege_type varchar, grantee varchar);
create table kept.roles (role_name varchar);
create view kept.tables as
    select table_schema, table_name, table_type, 1 as retention_time from information_schema.tables;
"""
NESTED = 3  # parts of a statement that are translated may stand within each other, which one pass leaves out
NOW = "strftime(now() at time zone 'UTC', '%Y-%m-%d %H:%M:%S.%g')"
TYPES: Mapping[str, str] = {  # of Snowflake -> of BigQuery
    "TEXT": "string",
    "NUMBER": "numeric",
    "TIMESTAMP_NTZ": "datetime",
    "TIMESTAMP_TZ": "timestamp",
}
INFORMATION: Mapping[str, str] = {
    "columns": "columns",
    "tables": "tables",
    "table_privileges": "privileges",
    "enabled_roles": "roles",
}


class CloudRefusal(Exception):
    """A statement that the service refuses."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class CloudTables:
    """The tables of one account."""

    owner: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)
    kept: dict[str, list[tuple[datetime, str]]] = field(default_factory=dict)  # by table, the earliest first
    numbers: Iterator[int] = field(default_factory=count)
    lock: Any = field(default_factory=Lock)

    def __post_init__(self) -> None:
        """Make what the catalogue of a service has and that of DuckDB has not."""
        self.owner.execute(CATALOGUE)

    def run(self, statement: str) -> None:
        """Run a statement as the owner of the tables, and keep each as it is now."""
        with self.changing() as owner:
            owner.execute(statement)

    @contextmanager
    def changing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Hand out the owner's connection, and keep each table as it is afterwards."""
        with self.lock:
            yield self.owner
            self.keep()

    def keep(self) -> None:
        """Keep each table as it is now."""
        names = "select table_name from information_schema.tables where table_schema = 'main' and table_type <> 'VIEW'"
        sleep(0.002)  # instants have milliseconds
        for (name,) in self.owner.execute(names).fetchall():
            versions = self.kept.setdefault(name, [])
            of = f"v{next(self.numbers)} {name}"
            self.owner.execute(f"create table kept.{quoted(of)} as from main.{quoted(name)}")
            versions.append((datetime.now(UTC), of))
        sleep(0.002)

    def ask(self, text: str, dialect: str, bound: Sequence[Any] = ()) -> pa.Table:
        """Return the rows of a statement of a service. Raises CloudRefusal."""
        tree = sqlglot.parse_one(text, read=dialect)
        for _ in range(NESTED):
            tree = tree.transform(self.translated)
        with self.lock, closing(self.owner.cursor()) as cursor:
            try:
                return cursor.sql(tree.sql(dialect="duckdb"), params=list(bound)).to_arrow_table()
            except duckdb.Error as fault:
                code = "000904" if isinstance(fault, duckdb.BinderException) else "002003"
                raise CloudRefusal(code, f"{fault} in {tree.sql(dialect='duckdb')}") from fault

    def columns(self, name: str) -> list[tuple[str, str]]:
        """Return the columns of a table, letter by letter, and their types as BigQuery calls them."""
        text = (
            "select column_name, data_type, numeric_scale from kept.columns "
            "where table_schema = 'main' and table_name = $1 order by ordinal_position"
        )
        with self.lock:
            found = self.owner.execute(text, [name]).fetchall()
        return [
            (column, "integer" if scale == 0 else TYPES.get(type_, type_.lower())) for column, type_, scale in found
        ]

    def kind(self, name: str) -> str:
        """Return whether a name is that of a table or of a view."""
        text = "select table_type from information_schema.tables where table_schema = 'main' and table_name = $1"
        with self.lock:
            ((found,),) = self.owner.execute(text, [name]).fetchall()
        return "VIEW" if found == "VIEW" else "TABLE"

    def translated(self, node: exp.Expr) -> exp.Expr:
        """Return what DuckDB has in the place of a part of a statement."""
        match node:
            case exp.Table() if node.name.lower() in INFORMATION and node.db.lower() == "information_schema":
                return exp.table_(INFORMATION[node.name.lower()], db="kept")
            case exp.Table() if node.args.get("when") or node.args.get("version"):
                return self.as_it_was(node)
        translate = TRANSLATED.get(type(node))
        return node if translate is None else translate(node)

    def as_it_was(self, table: exp.Table) -> exp.Expr:
        """Return the table that is kept of an instant."""
        instant = next(table.args.get("when", table).find_all(exp.Literal), None) or next(
            table.args["version"].find_all(exp.Literal)
        )
        at = datetime.fromisoformat(instant.name).replace(tzinfo=UTC)
        found = [name for when, name in self.kept.get(table.name, ()) if when <= at]
        if not found:
            raise CloudRefusal("000707", f"Time travel data is not available for table {table.name}.")
        return exp.alias_(exp.table_(found[-1], db="kept", quoted=True), table.alias, table=True)


def quoted(name: str) -> str:
    """Return a name as DuckDB writes it."""
    return '"' + name.replace('"', '""') + '"'


def hashes(node: exp.HashAgg) -> exp.Expr:
    """Return a sum of hashes."""
    known = exp.Anonymous(this="hash", expressions=[node.this, *node.expressions])
    return exp.Sum(this=exp.cast(known, "hugeint"))


def number_of(node: exp.Placeholder | exp.Parameter) -> exp.Expr:
    """Return a bound value by its number."""
    return exp.Parameter(this=exp.Literal.number(node.name.removeprefix("p")))


def of_json(bound: exp.Expr, name: str) -> exp.Expr:
    """Return the elements of a text of JSON as a table."""
    listed = exp.Anonymous(this="unnest", expressions=[exp.cast(bound.copy(), "json[]")])
    return exp.select(exp.alias_(listed, name)).subquery("tieout_listed")


def flattened(node: exp.TableFromRows) -> exp.Expr:
    """Return the rows of a flattened text of JSON."""
    return of_json(next(node.find_all(exp.ParseJSON)).this, "value")


def unnested(node: exp.Unnest) -> exp.Expr:
    """Return the rows of a text of JSON."""
    found = node.find(exp.JSONExtractArray)
    return node if found is None else of_json(found.this, node.args["alias"].columns[0].name)


def element(node: exp.Bracket | exp.JSONExtractScalar) -> exp.Expr:
    """Return an element of a list of JSON as text."""
    place = next(node.find_all(exp.JSONPathSubscript, exp.Literal)).this
    return exp.Anonymous(this="json_extract_string", expressions=[node.this, exp.Literal.string(f"$[{place}]")])


def wide(node: exp.DataType) -> exp.Expr:
    """Return a type of 76 digits as one that DuckDB has: for whole numbers, or for what is rounded."""
    if node.this is not exp.DType.BIGDECIMAL:
        return node
    is_rounded = isinstance(node.find_ancestor(exp.Round, exp.Sum), exp.Round)
    return exp.DataType.build("decimal(38, 8)" if is_rounded else "hugeint", dialect="duckdb")


TRANSLATED: Mapping[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.HashAgg: hashes,
    exp.Collate: lambda node: node.this,
    exp.FarmFingerprint: lambda node: exp.Anonymous(this="hash", expressions=node.expressions),
    exp.TimeToStr: lambda _: sqlglot.parse_one(NOW, read="duckdb"),
    exp.TableFromRows: flattened,
    exp.Unnest: unnested,
    exp.Bracket: element,
    exp.JSONExtractScalar: element,
    exp.Placeholder: number_of,
    exp.Parameter: number_of,
    exp.DataType: wide,
}
