"""Attached tables: odd ids, engines without transactions, and what the files of an instance refuse or say no longer."""

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
import pytest
from msgspec.structs import replace

from engine.books.books import Shelf
from engine.door import Door
from engine.instance.documents import InstanceFaults
from engine.model.errors import Unavailable
from engine.model.profiles import EVERYONE
from engine.model.stopping import Stop, never
from server.base.interfaces import StoreDown
from server.feeds import attachments
from server.feeds.feeds import SourceKind
from server.feeds.instance import read_instance
from server.ingest.load import BindingFailed
from server.ops.health_checks import check_attached
from server.warehouses import opening
from server.warehouses.dialects import DUCKDB
from server.warehouses.engines.duckdb import DuckDbWarehouse
from server.warehouses.opening import AttachedSources, versions_in
from server.warehouses.warehouse import SqlStatement, VersionGone
from server.wire.feeds import binding_answer
from tests.support.books.loads import load_feeds
from tests.support.books.small import figures, write_instance
from tests.support.service.servers import wait_for

ODD_IDS = ("it's", '"quoted"', "back\\slash", "a\nb", " padded ", "%_", "0010", "数", "🙂", "$1", "?", "--", "E'x'")
DOMAIN = """
time: {column: day}
dimensions: {account: account}
measures: {amount: {places: 2}}
metrics: {revenue: {measure: amount}}
"""
GL = {"source": "dwh", "target": "live.gl", "attach": "lines", "scenario": "actual", "unknown_members": "extend"}
ASKED: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2021-01"}


class LaterWarehouse(DuckDbWarehouse):
    """DuckDB without transactions; somebody changes the table after so many statements."""

    dialect = replace(DUCKDB, begin="")
    changes: Mapping[int, str]  # statements of somebody else, after so many of the reader
    asked: list[str]

    def _run(self, session: Any, statement: SqlStatement, watch: Stop) -> pa.Table:
        found = super()._run(session, statement, watch)
        self.asked.append(statement.text)
        if len(self.asked) in self.changes:
            session.execute(self.changes[len(self.asked)])
        return found


class KeptWarehouse(DuckDbWarehouse):
    """DuckDB with a table that keeps the number of the load that brought each row, as services keep past versions."""

    dialect = replace(
        DUCKDB,
        begin="",
        version="select max(load) from {table}",
        at_version="(select * from {table} where load <= {version}::integer) as {alias}",
    )
    kept = True
    asked: ClassVar[list[str]] = []

    def _run(self, session: Any, statement: SqlStatement, watch: Stop) -> pa.Table:
        self.asked.append(statement.text)
        if "tieout_base" in statement.text and not self.kept:
            raise VersionGone("it keeps a day")
        return super()._run(session, statement, watch)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The owner's connection to a table without rows."""
    with closing(duckdb.connect(str(tmp_path / "dwh.duckdb"))) as owner:
        owner.execute("create table lines (day date, account text, amount numeric(18,2))")
        yield owner


def attach(folder: Path, **binding: Any) -> Path:
    """Write an instance that attaches the table; `binding` has other keys of its feed."""
    return write_instance(
        folder / "books",
        facts={},
        domains={"gl": DOMAIN},
        dimensions="account: {kind: leaf}",
        sources={
            "dwh": {"kind": "duckdb", "path": str(folder / "dwh.duckdb")},
            "lake": {"kind": "flightsql", "uri_env": "LAKE_URL"},
        },
        bindings={"gl": {**GL, **binding}},
    )


def door(instance: Path, state: Path, *, bindings: Path | None = None) -> Door:
    """Open surveyed books, by the bindings of the instance or of another one."""
    known = read_instance(bindings or instance)
    sources = AttachedSources(known.bindings, instance, {})
    return Door(Shelf(known.catalogue, state / "store", versions_in(None, sources)), EVERYONE)


def test_odd_ids_are_members_like_others(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    for at, known in enumerate(ODD_IDS):
        database.execute("insert into lines values ('2021-01-05', $1, $2)", [known, 1 << at])
    database.close()
    instance = attach(tmp_path)
    load_feeds(instance, tmp_path / "state")
    books = door(instance, tmp_path / "state")
    found = figures(books.metric("revenue", dimensions=["account"], **ASKED), "account")
    assert {known: found[known] for known in ODD_IDS} == {known: 1 << at for at, known in enumerate(ODD_IDS)}
    for at, known in enumerate(ODD_IDS):
        only = books.metric("revenue", filters={"account": [known]}, **ASKED)
        assert figures(only)[()] == 1 << at


def test_an_engine_without_transactions_proves_the_rows_before_and_after(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.execute("insert into lines values ('2021-01-05', 'A', 10)")
    database.close()
    instance = attach(tmp_path)
    load_feeds(instance, tmp_path / "state")
    later = LaterWarehouse(str(tmp_path / "dwh.duckdb"), writes=True)
    monkeypatch.setattr(opening, "open_source", lambda *_: later)
    with closing(later):
        later.asked, later.changes = [], {}
        books = door(instance, tmp_path / "state")
        assert figures(books.metric("revenue", **ASKED))[()] == 10
        proof, rows, again = later.asked
        assert proof == again != rows
        changed, as_before = "update lines set amount = amount + 1", "update lines set amount = amount - 1"
        later.asked, later.changes = [], {2: changed, 3: as_before}  # before the second proof, and after it
        assert figures(books.metric("revenue", **ASKED))[()] == 10
        assert later.asked == [proof, rows, proof] * 2
        later.asked, later.changes = [], {2: changed}
        with pytest.raises(
            Unavailable, match=r"main\.lines has changed since it was surveyed at .* \(actual 2021-01\)"
        ):
            books.metric("revenue", **ASKED)


def test_every_answer_is_of_the_version_that_was_surveyed(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.execute("alter table lines add column load integer")
    database.execute("insert into lines values ('2021-01-05', 'A', 10, 1), ('2021-01-09', 'B', 5, 1)")
    database.close()
    monkeypatch.setattr(attachments, "TRAVELLING", (SourceKind.DUCKDB,))
    monkeypatch.setattr(opening, "SOURCES", {SourceKind.DUCKDB: KeptWarehouse})
    monkeypatch.setattr(KeptWarehouse, "asked", [])
    instance, state = attach(tmp_path), tmp_path / "state"
    with (instance / "domains" / "gl.yaml").open("a") as file:
        file.write("\nrollups: [[account]]\ninspect_enabled: true\ninspect_columns: [day, account, amount]\n")
    load_feeds(instance, state)
    with closing(duckdb.connect(str(tmp_path / "dwh.duckdb"))) as owner:
        owner.execute("insert into lines values ('2021-01-06', 'C', 7, 2)")
    books = door(instance, state)
    first = {"dimensions": ["account"], **ASKED}
    KeptWarehouse.asked.clear()
    assert figures(books.metric("revenue", **first), "account") == {"A": 10, "B": 5, None: 15}
    assert not KeptWarehouse.asked  # the rollup answers, and nothing is proven
    assert [row[1] for row in books.rows("gl", scenario="actual", limit=9).rows] == ["A", "B"]
    assert len(KeptWarehouse.asked) == 1
    monkeypatch.setattr(KeptWarehouse, "kept", False)
    with pytest.raises(Unavailable) as refused:
        books.rows("gl", scenario="actual", limit=9)
    assert "main.lines cannot be read any more as it was surveyed at 20" in str(refused.value)
    assert "(it keeps a day), so no figure is given: run `tieout load gl`, then ask again." in str(refused.value)
    monkeypatch.setattr(KeptWarehouse, "kept", True)
    load_feeds(instance, state)
    assert figures(books.metric("revenue", **first), "account") == {"A": 10, "B": 5, "C": 7, None: 22}


def test_a_source_that_was_away_is_asked_again_once_it_is_back(tmp_path: Path) -> None:
    with closing(DuckDbWarehouse(str(tmp_path / "later.duckdb"))) as reader:
        one = SqlStatement("select 1 as tieout_one")

        def answers() -> bool:
            with suppress(StoreDown):
                return bool(reader.together(lambda read: read(one)).num_rows == 1)
            return False

        assert not any(answers() for _ in range(5))
        duckdb.connect(str(tmp_path / "later.duckdb")).close()
        wait_for(answers)


def test_readiness_has_a_check_of_the_sources(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    database.close()
    instance = attach(tmp_path)
    bindings = read_instance(instance).bindings.values()
    check_attached(bindings, instance)
    (tmp_path / "dwh.duckdb").unlink()
    with pytest.raises(StoreDown, match="DuckDB cannot open the file of source dwh"):
        check_attached(bindings, instance)


def test_what_the_files_describe_no_longer_is_not_answered(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    database.execute("insert into lines values ('2021-01-05', 'A', 10)")
    database.close()
    instance = attach(tmp_path)
    load_feeds(instance, tmp_path / "state")
    for name, says, binding in (
        (
            "changed",
            "describes it otherwise than when it was surveyed; run tieout load gl",
            {"map": {"account": "day"}},
        ),
        ("unset", "source dwh needs the environment variable DWH", {}),
    ):
        (tmp_path / name).mkdir()
        other = attach(tmp_path / name, **binding)
        if name == "unset":
            text = (other / "integrations.yaml").read_text()
            place = f"path: {tmp_path / name / 'dwh.duckdb'}"
            (other / "integrations.yaml").write_text(text.replace(place, "path_env: DWH"))
        with pytest.raises(Unavailable) as refused:
            door(instance, tmp_path / "state", bindings=other).metric("revenue", **ASKED)
        held = "The rows of facts in main.lines, which the feed gl attaches, cannot be read now: "
        assert str(refused.value).startswith(held)
        assert says in str(refused.value)
    (instance / "integrations.yaml").write_text("sources: {}\nbindings: {}\n")
    with pytest.raises(Unavailable, match=r"integrations\.yaml attaches no table as gl any more; load it"):
        door(instance, tmp_path / "state").metric("revenue", **ASKED)


def test_a_scenario_is_attached_or_loaded_and_never_both(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    database.execute("insert into lines values ('2021-01-05', 'A', 10)")
    database.close()
    instance = attach(tmp_path)
    (instance / "data" / "more.csv").write_text("day,account,amount\n2021-01-06,A,5\n")
    text = (instance / "integrations.yaml").read_text()
    more = "\n  more: {source: files, target: live.gl, file: more.csv, unknown_members: extend, scenario: %s}"
    for scenario in ("actual", "budget"):
        (instance / "integrations.yaml").write_text(text.replace("bindings:", "bindings:" + more % scenario))
        if scenario == "actual":
            says = (
                "actual of gl lies in the table that gl attaches, and more brings rows of it as well: give one of them"
            )
            with pytest.raises(BindingFailed, match=says):
                load_feeds(instance, tmp_path / "state")
        else:
            load_feeds(instance, tmp_path / "state")
    both = {**ASKED, "scenarios": {"A": "actual", "B": "budget"}}
    assert figures(door(instance, tmp_path / "state").metric("revenue", **both), "alias") == {"A": 10, "B": 5}


REFUSED: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"load": "replace_periods"}, "load", "an attached table is read as it is, so load says nothing"),
    ({"extract": "select 1"}, "extract", "an attached table is read as it is, so extract says nothing"),
    ({"rejects": {"allow": 3}}, "rejects", "make a view that does so, and attach the view"),
    (
        {"map": {"account": {"column": "a", "values": {"x": "y"}}}},
        "map.account.values",
        "an attached table is read as it is",
    ),
    ({"numbers": {"factor": "1000"}}, "numbers.factor", "the amounts of an attached table are numbers"),
    ({"amount": {"column": "a", "side": "s", "debit": "D"}}, "amount.side", "an attached table is read as it is"),
    (
        {"amount": {"debit": "d", "credit": "c", "credits": "negative"}},
        "amount.credits",
        "an attached table is read as it",
    ),
    ({"constant": {"day": "2021-01-01"}}, "constant.day", "the days of an attached table are a column of it"),
    ({"pin": "time_travel"}, "pin", "a table of a duckdb cannot be read as it was — rows, or {column: …}"),
    ({"attach": "a.b.c"}, "attach", "'a.b.c' is no name of a table — TABLE or SCHEMA.TABLE"),
    ({"source": "files"}, "attach", "this release attaches no table of a folder"),
    ({"source": "lake", "attach": "lake/lines"}, "attach", "'lake/lines' is no folder that Sail finds a table in"),
    ({"source": "lake", "attach": "s3://bucket/my lines"}, "attach", "a whole path or URL of A-Z a-z 0-9 - . _ ~"),
    ({"source": "lake", "attach": "a.b.c"}, "attach", "'a.b.c' is no name of a table — TABLE or SCHEMA.TABLE"),
)


def test_keys_that_an_attached_table_cannot_keep_to_are_faults(tmp_path: Path) -> None:
    for at, (binding, key, says) in enumerate(REFUSED):
        (tmp_path / str(at)).mkdir()
        with pytest.raises(InstanceFaults) as found:
            read_instance(attach(tmp_path / str(at), **binding))
        assert any(key == ".".join(map(str, fault.at[2:])) and says in str(fault) for fault in found.value.faults), str(
            found.value
        )


@pytest.mark.parametrize(
    ("binding", "pin"),
    [
        ({}, "rows"),
        ({"pin": "rows"}, "rows"),
        ({"pin": {"column": "changed"}}, {"column": "changed"}),
        ({"source": "lake"}, "time_travel"),
        ({"source": "lake", "pin": "rows"}, "rows"),
    ],
)
def test_a_feed_says_what_its_rows_are_pinned_by(binding: dict[str, Any], pin: Any, tmp_path: Path) -> None:
    feed = read_instance(attach(tmp_path, **binding)).bindings["gl"]
    assert binding_answer(feed, {}, [], 20_000, never)["pin"] == pin
