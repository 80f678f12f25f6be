"""Snowflake as a source of attached tables: its SQL, and how its driver is asked."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import ceil
from typing import Any, Final

import pyarrow as pa

from server.base.interfaces import StoreDown
from server.warehouses.dialects import Bindings, ColumnKind, SqlDialect, element_type
from server.warehouses.engines.adbc import AdbcWarehouse, options_of
from server.warehouses.warehouse import (
    SESSIONS,
    TIMEOUT,
    SqlStatement,
    StatementRefused,
    VersionGone,
    WarehouseDown,
)

CLIENT: Final = "adbc.snowflake.sql.client_option."
LOGIN: Final = "10s"  # that a login may take at most
REQUEST: Final = "60s"  # and a request: the service answers one that waits for rows within 45 s
SESSION: Final = (  # of every session; rights of other roles than the first would not be those that are looked at
    "alter session set statement_timeout_in_seconds = {seconds}",
    "alter session set quoted_identifiers_ignore_case = false",
    "use secondary roles none",
)
CODE: Final = re.compile(r"\b(?P<number>\d{6})(?: \(\w{5}\))?:")  # of an error
LOGIN_CODES: Final = "390"
ENDED: Final = {"000604": "was told to end a statement", "000630": "ended a statement that took too long; {quicken}"}
REFUSALS: Final = {  # number of an error -> what to do
    "002003": "it finds no such table, or the role of its user may not SELECT from it: {mend}",
    "002043": "it finds no such table, or the role of its user may not SELECT from it: {mend}",
    "000904": "a table lacks a column: {mend}",
    "000606": "its user has no warehouse to run it: name one in the address, and grant its role USAGE of it",
    "003001": "the role of its user lacks a right: grant it USAGE of the warehouse, the database and the schema",
    "090073": "its warehouse is suspended and does not resume by itself: set AUTO_RESUME",
}
GONE: Final = "000707"


def listed_as_json(bindings: Bindings, columns: Sequence[Sequence[Any]], names: Sequence[str]) -> str:
    """Return columns of integers or texts as a table: one bound text holds the rows as JSON."""
    rows = bindings.bind(json.dumps(list(zip(*columns, strict=True)), ensure_ascii=False))
    known = enumerate(zip(columns, names, strict=True))
    listed = (f"cast(value[{at}] as {element_type(column, 'varchar')}) as {name}" for at, (column, name) in known)
    return f"(select {', '.join(listed)} from table(flatten(input => parse_json({rows}))))"


SNOWFLAKE: Final = SqlDialect(
    name="snowflake",
    types={
        ColumnKind.PART: "number(38, 0)",
        ColumnKind.DAY: "date",
        ColumnKind.CODE: "number(10, 0)",
        ColumnKind.AMOUNT: "number(38, 0)",
        ColumnKind.TEXT: "varchar",
    },
    escapes={"'": "''", "\\": "\\\\"},
    wide="cast({} as number(38, 0))",
    exact="cast({} as number(38, {}))",
    string="collate(cast({} as varchar), 'utf8')",  # whatever the collation of the column
    parameter=":{}",
    listed=listed_as_json,
    digest="hash_agg({})",
    version="select to_varchar(sysdate(), 'YYYY-MM-DD HH24:MI:SS.FF3') as tieout_version",
    at_version="{table} at (timestamp => cast({version} as timestamp_ntz)) as {alias}",
    columns="select table_schema, table_name, column_name, iff(numeric_scale = 0, 'integer', lower(data_type)) "
    "from information_schema.columns where {schema} and lower(table_name) = {table} order by ordinal_position",
    may_change="select count(*) as tieout_found from information_schema.table_privileges where table_schema = {} "
    "and table_name = {} and privilege_type in ('OWNERSHIP', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') "
    "and grantee in (select role_name from information_schema.enabled_roles)",
)
KEPT: Final = (
    "select table_type, cast(retention_time as bigint) as tieout_days from information_schema.tables "
    "where table_schema = {} and table_name = {}"
)


class SnowflakeWarehouse(AdbcWarehouse):
    """Tables of somebody else in Snowflake."""

    engine = "Snowflake"
    dialect = SNOWFLAKE

    def __init__(self, address: str, timeout: float = TIMEOUT, sessions: int = SESSIONS) -> None:
        """`address` is the driver's DSN, or a JSON object of its options. Raises StatementRefused."""
        super().__init__(import_module("adbc_driver_snowflake.dbapi"), timeout, sessions)
        self._options = driver_options(address)

    def put(self, *_: object) -> None:
        """Refuse: the tables are somebody else's."""
        raise StatementRefused("Snowflake takes no rows of loads: `facts` of instance.yaml names another engine")

    def version(self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]) -> str:
        """Return the instant at which a survey begins; see Warehouse."""
        found = read(SqlStatement(KEPT.format(*map(self.dialect.quote_text, name))))
        for kind, days in zip(*(column.to_pylist() for column in found.columns), strict=True):
            if kind != "BASE TABLE":
                raise StatementRefused(f"it is a {kind}, which nobody can read as it was: attach a table, or pin: rows")
            if not days:
                raise StatementRefused(
                    "Snowflake keeps no past rows of it: set its DATA_RETENTION_TIME_IN_DAYS, or pin: rows"
                )
        return super().version(read, name)

    def _connect(self) -> Any:
        connection = self._driver.connect(db_kwargs=dict(self._options), autocommit=True)
        with connection.cursor() as cursor:
            for statement in SESSION:
                cursor.execute(statement.format(seconds=ceil(self.timeout)))
        return connection

    def _refusal(self, status: str, message: str) -> StoreDown:
        found = CODE.search(message)
        code = found["number"] if found else ""
        words = {"mend": self.mend, "quicken": self.quicken}
        if code == GONE:
            return VersionGone("Snowflake keeps its past rows no longer, or it was made anew since")
        if code in ENDED:
            return WarehouseDown(f"Snowflake {ENDED[code].format(**words)}")
        if code.startswith(LOGIN_CODES) or status in {"UNAUTHENTICATED", "UNAUTHORIZED"}:
            return WarehouseDown(f"Snowflake refuses the login of {self.holds}; see its user, secret and role")
        if status == "INVALID_ARGUMENT":
            return StatementRefused(f"the driver of Snowflake refuses an option of {self.holds}; see its address")
        if not code:
            return WarehouseDown(f"Snowflake of {self.holds} cannot be reached; see its address, and the network")
        known = REFUSALS.get(code, "see QUERY_HISTORY").format(**words)
        return StatementRefused(f"Snowflake refused a statement about the facts (error {code}): {known}")


def driver_options(address: str) -> Mapping[str, str]:
    """Return the options of the driver. Raises StatementRefused if they are no JSON object of texts."""
    given = {"uri": address} if not address.startswith("{") else options_of(address)
    limits = {f"{CLIENT}login_timeout": LOGIN, f"{CLIENT}client_timeout": REQUEST}
    return {**limits, **given, f"{CLIENT}use_high_precision": "false"}
