"""Books of tests whose rows stay in a table of somebody else: four rows in a file of DuckDB or in PostgreSQL."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from engine.books.books import Shelf
from engine.door import Door
from engine.model.profiles import EVERYONE
from server.feeds.feeds import LoadStatus
from server.feeds.instance import read_instance
from server.ingest.load import BindingFailed
from server.warehouses.opening import AttachedSources, versions_in
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance
from tests.support.engines.clouds import CLOUDS, cloud
from tests.support.engines.postgres import schema_in, schema_of
from tests.support.engines.sail import SailServer

DOMAIN = """
time: {column: date}
dimensions: {account: account, centre: centre}
measures: {amount: {places: 2}}
metrics:
  revenue: {measure: amount}
  customers: {over_members: {count_distinct: centre}}
  stock: {measure: amount, over_time: {last_known: always}}
inspect_enabled: true
inspect_columns: [date, account, centre, amount, memo]
rollups: [[account]]
"""
PROFILES = """
everyone: {scenarios: {'*': {}}}
some: {scenarios: {'*': {dimensions: {account: {allow: [B]}}}}}
assign: [{subject: dev, profile: everyone}]
"""
COLUMNS = "POSTED date, KONTO varchar(20), KST integer, SZENARIO text, BETRAG numeric(18,2), MEMO text, CHANGED integer"
INSERT = """
insert into FINANCE_LINES values
('2021-01-05', 'A', 1, 'actual', 10, 'x', 1),
('2021-01-07', 'B', null, 'actual', 5.25, null, 1),
('2021-02-05', 'B', 2, 'actual', 32, 'it''s', 1),
('2021-02-09', 'A', 1, 'budget', 5, '', 1)
"""
MAPPED = {"date": "POSTED", "account": "KONTO", "centre": "KST", "scenario": "SZENARIO", "amount": "BETRAG"}
BOTH: dict[str, Any] = {"scenarios": {"A": "actual", "B": "budget"}, "period": ("2021-01", "2021-02")}


@dataclass
class AttachedBooks:
    """A table of somebody else, and an instance that attaches it."""

    folder: Path
    run: Callable[[str], object]  # a statement, as the owner of the table
    source: Mapping[str, str]
    table: str = "FINANCE_LINES"
    pin: Any = None  # where it is not what the feed would have
    binding: dict[str, Any] = field(default_factory=dict)
    opened: ExitStack = field(default_factory=ExitStack)

    def write(self, domain: str = DOMAIN, **binding: Any) -> None:
        """Write the instance; `binding` has further keys of the feed."""
        self.binding = {
            "source": "dwh",
            "target": "live.gl",
            "attach": self.table,
            "map": MAPPED,
            "unknown_members": "extend",
            **({"pin": self.pin} if self.pin else {}),
            **binding,
        }
        write_instance(
            self.instance,
            facts={},
            domains={"gl": domain},
            dimensions="account: {kind: leaf}\ncentre: {kind: leaf}",
            profiles=PROFILES,
            tables={},
            sources={"dwh": self.source},
            bindings={"gl": self.binding},
        )

    @property
    def instance(self) -> Path:
        """The folder of the instance."""
        return self.folder / "books"

    def survey(self) -> int:
        """Load the feed, and return the number of rows that it surveyed."""
        (loaded,) = load_feeds(self.instance, self.folder / "state", "gl")
        return loaded.rows_landed

    def refusal(self) -> tuple[LoadStatus, str]:
        """Return at what step a survey fails, and what it says."""
        with pytest.raises(BindingFailed) as failed:
            self.survey()
        return failed.value.status, failed.value.message

    def fill(self, **binding: Any) -> None:
        """Make the table, and an instance that attaches it; `binding` has further keys of the feed."""
        self.run(f"create table FINANCE_LINES ({COLUMNS})")
        self.run(INSERT)
        self.write(**binding)

    def door(self, profile: str | None = None, state: Path | None = None) -> Door:
        """Open the books as a server does."""
        known = read_instance(self.instance)
        sources = self.opened.enter_context(closing(AttachedSources(known.bindings, self.instance)))
        shelf = Shelf(known.catalogue, (state or self.folder / "state") / "store", versions_in(None, sources))
        return Door(shelf, known.profiles.by_key[profile] if profile else EVERYONE)


@contextmanager
def in_duckdb(folder: Path) -> Iterator[AttachedBooks]:
    """Yield a table in a file of DuckDB."""
    file = folder / "warehouse.duckdb"

    def run(statement: str) -> None:
        with closing(duckdb.connect(str(file))) as owner:
            owner.execute(statement)

    yield AttachedBooks(folder, run, {"kind": "duckdb", "path": str(file)})


@contextmanager
def in_postgresql(folder: Path, uri: str, patch: pytest.MonkeyPatch) -> Iterator[AttachedBooks]:
    """Yield a table in PostgreSQL, and a user who may select from what its owner makes."""
    with schema_of(uri) as owned, closing(psycopg.connect(owned, autocommit=True)) as owner:
        schema = schema_in(owned)
        owner.execute(f"create role {schema}_reader login password 'x'".encode())
        owner.execute(f"grant usage on schema {schema} to {schema}_reader".encode())
        owner.execute(f"alter default privileges in schema {schema} grant select on tables to {schema}_reader".encode())
        patch.setenv("DWH_URL", make_conninfo(owned, user=f"{schema}_reader"))
        yield AttachedBooks(
            folder, lambda statement: [owner.execute(statement.encode())], {"kind": "postgresql", "uri_env": "DWH_URL"}
        )
        owner.execute(f"drop owned by {schema}_reader cascade".encode())
        owner.execute(f"drop role {schema}_reader".encode())


@contextmanager
def in_lake(folder: Path, server: SailServer, patch: pytest.MonkeyPatch) -> Iterator[AttachedBooks]:
    """Yield a Delta table, written anew after each statement, that Sail reads."""
    delta, lines = import_module("deltalake"), folder / "lake" / "lines"
    patch.setenv("DWH_URL", server.url().partition("?")[0])
    with closing(duckdb.connect()) as owner:

        def run(statement: str) -> None:
            owner.execute(statement)
            delta.write_deltalake(lines, owner.sql("select * from FINANCE_LINES").to_arrow_table(), mode="overwrite")

        yield AttachedBooks(folder, run, {"kind": "flightsql", "uri_env": "DWH_URL"}, table=str(lines))


@contextmanager
def in_cloud(folder: Path, kind: str, patch: pytest.MonkeyPatch) -> Iterator[AttachedBooks]:
    """Yield a table in a stand-in for a service, whose rows are proven as those of other engines."""
    with cloud(kind) as known:
        for name, value in known.environment.items():
            patch.setenv(name, value)
        yield AttachedBooks(folder, known.tables.run, known.source, pin="rows")


@pytest.fixture(params=CLOUDS or ["duckdb", "postgresql"])
def unattached(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AttachedBooks]:
    """A warehouse without a table."""
    if request.param == "postgresql":
        opened = in_postgresql(tmp_path, request.getfixturevalue("embedded_server"), monkeypatch)
    elif request.param == "duckdb":
        opened = in_duckdb(tmp_path)
    else:
        opened = in_cloud(tmp_path, request.param, monkeypatch)
    with opened as books, books.opened:
        yield books


@pytest.fixture
def attached(unattached: AttachedBooks) -> AttachedBooks:
    """A table of four rows, and an instance that attaches it."""
    unattached.fill()
    return unattached
