"""Drivers that are not installed: the command that a message names runs, here and for what is on no index."""

import re
import sys
import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path
from subprocess import run

import pytest

from server.base import drivers
from server.base.drivers import install_command, packages_of
from server.feeds.feeds import FeedSource, SourceKind
from server.feeds.placements import FactsPlacement, WarehouseKind
from server.ingest.load import BindingFailed
from server.warehouses.opening import ADAPTERS, SOURCES, DriverMissing, open_source, open_warehouse
from server.warehouses.warehouse import Warehouse
from tests.support.books.ledgers import ledger
from tests.support.books.loads import ROOT, load_feeds
from tests.support.checks.tracked import tracked

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
KINDS = ("bigquery", "clickhouse", "duckdb", "flightsql", "snowflake")
MODULES = {
    "bigquery": "google.cloud.bigquery",
    "clickhouse": "clickhouse_connect",
    "duckdb": "duckdb",
    "flightsql": "adbc_driver_flightsql.dbapi",
    "snowflake": "adbc_driver_snowflake.dbapi",
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_packages_of_a_kind_are_those_that_the_project_lists(kind: str) -> None:
    def parts(requirement: str) -> set[str]:
        return set(re.findall(r"[<>=]+[\d.]+|[a-z][a-z-]+", requirement))

    assert [parts(named) for named in packages_of(kind)] == [parts(listed) for listed in EXTRAS[kind]]


def test_an_extra_whose_name_only_begins_alike_brings_nothing() -> None:
    assert packages_of("snow") == []
    assert packages_of("postgresql") == []


def test_a_command_names_this_interpreter_and_quotes_what_a_shell_would_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install_command(["duckdb<3,>=2"]) == f"{sys.executable} -m pip install 'duckdb<3,>=2'"
    monkeypatch.setattr(sys, "executable", "/opt/o'neil x/bin/python")
    monkeypatch.setattr(drivers, "find_spec", lambda _: None)
    command = install_command(["a<3", "b"])
    assert command == """uv pip install --python '/opt/o'"'"'neil x/bin/python' 'a<3' b"""


def says_what_installs(message: str, kind: str) -> bool:
    """Tell whether a message has the command that installs the packages of a kind."""
    return message.endswith(f"is not installed: {install_command(packages_of(kind))}") and "tieout[" not in message


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "clickhouse"])
def test_a_source_names_what_installs_its_driver(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULES[kind], None)
    source = FeedSource(key="dwh", kind=SourceKind(kind), environment="DWH", has_options=kind == "bigquery")
    with pytest.raises(DriverMissing) as missing:
        open_source(source, Path(), {"DWH": "{}"})
    assert says_what_installs(str(missing.value), kind)
    assert sys.executable not in missing.value.recorded


@pytest.mark.parametrize("kind", ["clickhouse", "duckdb", "flightsql"])
def test_an_engine_of_facts_names_what_installs_its_driver(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULES[kind], None)
    placement = FactsPlacement(kind=WarehouseKind(kind), reader="READER", loader="LOADER")
    with pytest.raises(DriverMissing) as missing:
        open_warehouse(placement, {"READER": "grpc://127.0.0.1:1?lake=/lake"})
    assert says_what_installs(str(missing.value), kind)


def test_a_load_names_what_installs_its_driver_and_its_history_no_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERP_URI", "x")
    monkeypatch.setitem(sys.modules, "adbc_driver_snowflake", None)
    with pytest.raises(BindingFailed) as failed:
        load_feeds(ledger(tmp_path, {"kind": "snowflake", "uri_env": "ERP_URI"}), tmp_path / "state")
    assert says_what_installs(failed.value.message, "snowflake")
    assert failed.value.recorded.endswith(
        "needs the driver adbc_driver_snowflake, which is not installed on the server"
    )


def test_no_page_installs_an_extra_of_a_distribution_that_is_on_no_index() -> None:
    pages = tracked("**/*.md", "**/*.py")
    assert [str(page) for page in pages if re.search(r"install\s+'tieout\[", page.read_text(encoding="utf-8"))] == []


def test_the_pages_name_the_packages_of_each_kind() -> None:
    pages = "".join((ROOT / "docs" / "operations" / name).read_text("utf-8") for name in ("feeds.md", "warehouse.md"))
    packages = {re.split(r"[<>=]", listed)[0] for kind in KINDS for listed in EXTRAS[kind]}
    assert {name for name in packages if f"`{name}`" not in pages} == set()


def test_no_adapter_is_imported_before_an_instance_names_its_engine() -> None:
    modules = "server.ingest.load, server.run.parent, server.warehouses.lacks"
    shown = "[name for name in sys.modules if name.startswith('server.warehouses.engines.')]"
    ran = run(
        [sys.executable, "-c", f"import sys, {modules}; print({shown})"], cwd=ROOT, capture_output=True, check=True
    )
    assert ran.stdout.decode().strip() == "[]"


@pytest.mark.parametrize("opens", [*ADAPTERS.values(), *SOURCES.values()])
def test_each_kind_of_engine_has_an_adapter(opens: "partial[Warehouse]") -> None:
    module, name, *_ = opens.args
    assert issubclass(getattr(import_module(f"server.warehouses.engines.{module}"), name), Warehouse)
