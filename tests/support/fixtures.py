"""A server of small books, for what a caller can do to it; and the log of this process."""

import io
import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from server.stores.migrations import migrate, read_migrations
from server.telemetry.logs import log_to
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.engines.attached_tables import ATTACHED, AttachedStores
from tests.support.engines.postgres import SeparateServer, postgres, schema_of, separate_server
from tests.support.engines.warehouses import SHARED, StoresInWarehouses
from tests.support.service.issuers import Issuer, issuing
from tests.support.service.servers import McpBooks, Server, connected, serving

Lines = Callable[[], list[str]]
LOGGED_KEY = "k3y-of-the-developer-0123456789abcdef"
LOGGED_PASSWORD = "sw0rd/f@sh two"  # noqa: S105 - planted, to be looked for
PROFILES = """
everyone: {operations: true, scenarios: {'*': {}}}
assign: [{subject: dev, profile: everyone}]
"""


@pytest.fixture(scope="session")
def small_instance(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An instance of one ledger, and its state folder."""
    folder = tmp_path_factory.mktemp("served")
    instance = write_instance(
        folder / "small",
        facts={
            "gl": """
            date       scenario product region amount
            2021-01-05 actual   P       EU     1234567.89
            2021-01-06 actual   Q       EU     -0.10
            2021-02-05 actual   P       US     90071992547409.93
            2021-01-05 budget   P       EU     1000000.00
            """,
            "people": "date scenario region heads\n2021-01 actual EU 6",
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product, region: region}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount, favourable: up}
              third: {formula: revenue / 3}
              margin: {formula: third / revenue, format: percent}
            """,
            "people": """
            time: {column: date, grain: month}
            dimensions: {region: region}
            measures: {heads: {type: number, places: 0}}
            metrics:
              headcount: {measure: heads, over_time: closing}
            """,
        },
        dimensions="""
            product: {kind: leaf, label: Product, members: live.product}
            region: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={
            "product": "id code name\nP 100 Prégnant~Écrou\nQ 200 Quick~bolt",
            "tree": "node parent weight\nAll - 1\nP All 1\nQ All -1",
        },
        statements={
            "pnl": "  - {metric: revenue}\n  - {metric: margin}\n",
            "full_pnl": "  - {rollup: {metric: revenue, dimension: tree, node: All}}\n  - {metric: headcount}\n",
        },
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    return instance, folder / "state"


@pytest.fixture(scope="session")
def small_server(small_instance: tuple[Path, Path]) -> Iterator[Server]:
    """The small books, served."""
    with serving(*small_instance) as server:
        yield server


@pytest.fixture(scope="session")
def books(small_server: Server) -> Iterator[McpBooks]:
    """A client of the small books."""
    with connected(small_server.url, "auto") as client:
        yield client


@pytest.fixture(params=["text", "json"])
def lines(request: pytest.FixtureRequest) -> Iterator[Lines]:
    """What this process logs, in either format; it logs as before afterwards."""
    root, hook = logging.getLogger(), threading.excepthook
    before = (root.level, root.handlers[:])
    said = io.StringIO()
    log_to(said, request.param, [LOGGED_KEY, LOGGED_PASSWORD])
    yield lambda: said.getvalue().splitlines()
    logging.captureWarnings(capture=False)
    threading.excepthook = hook
    root.level, root.handlers[:] = before


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    """An issuer of tokens that answers."""
    with issuing() as running:
        yield running


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of an embedded PostgreSQL."""
    with postgres(tmp_path_factory.mktemp("pg")) as uri:
        yield uri


@pytest.fixture(scope="session")
def stores_in_warehouses(embedded_server: str) -> Iterator[None]:
    """Let tests put facts into engines."""
    with closing(StoresInWarehouses(embedded_server)) as shared:
        SHARED.append(shared)
        yield
        SHARED.clear()


@pytest.fixture(scope="session")
def attached_stores(embedded_server: str) -> Iterator[None]:
    """Let tests put rows into tables that are attached."""
    with closing(AttachedStores(embedded_server)) as shared:
        ATTACHED.append(shared)
        yield
        ATTACHED.clear()


@pytest.fixture(scope="session")
def database_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateServer]:
    """A separate PostgreSQL that wants a password."""
    with separate_server(tmp_path_factory.mktemp("separate")) as server:
        yield server


@pytest.fixture(params=["embedded", "server"])
def empty_database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URI of a schema without tables, in each PostgreSQL."""
    uri = (
        request.getfixturevalue("embedded_server")
        if request.param == "embedded"
        else request.getfixturevalue("database_server").uri()
    )
    with schema_of(uri) as schema:
        yield schema


@pytest.fixture
def history(embedded_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URI of an empty history of loads, which is that of every command of the test."""
    with schema_of(embedded_server) as schema:
        migrate(schema, read_migrations(), lambda _: None)
        monkeypatch.setenv("DATABASE_URL", schema)
        yield schema


@pytest.fixture
def own(small_instance: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """The small books, in an instance and a state folder that no other test uses."""
    instance, state = small_instance
    shutil.copytree(instance, tmp_path / "small")
    shutil.copytree(state / "store", tmp_path / "state" / "store")
    return tmp_path / "small", tmp_path / "state"
