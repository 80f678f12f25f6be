"""Attached tables that change, and books of them that are exported, backed up and restored."""

import os
import signal
import tarfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pytest
import yaml

from engine.door import Door
from engine.model.errors import Unavailable
from engine.model.stopping import Stop
from server.base.settings import Settings
from server.feeds.feeds import LoadStatus, SourceKind
from server.run.backup import back_up, restore
from server.run.data_check import find_faults
from server.run.parent import Parent
from server.run.workers.supervisor import Supervisor
from server.warehouses import opening
from server.warehouses.engines.duckdb import DuckDbWarehouse
from server.warehouses.engines.postgresql import PostgresWarehouse
from server.warehouses.warehouse import SqlStatement
from tests.support.books.attached import BOTH, AttachedBooks, in_duckdb
from tests.support.books.small import figures
from tests.support.service.forks import tieout
from tests.support.service.operations import readyz, until_ready
from tests.support.service.servers import connected, server_environment, serving, wait_for

JANUARY = {**BOTH, "period": ("2021-01", "2021-01")}
ASKED: dict[str, Any] = {"scenarios": [{"scenario": "actual", "alias": "A"}], "period_start": "2021-01"}


def actual(door: Door, **asked: Any) -> Decimal | None:
    """Return the revenue of the actuals."""
    return figures(door.metric("revenue", **{**BOTH, **asked}), "alias")["A"]


def test_a_report_reads_one_state_though_the_table_changes_after_each_of_its_statements(
    attached: AttachedBooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    if attached.source["kind"] == "duckdb":  # which lets nobody write a file that is read
        return
    attached.survey()
    begun: list[str] = []

    class ChangingWarehouse(PostgresWarehouse):
        """Somebody changes the table after every statement about it."""

        def _run(self, session: Any, statement: SqlStatement, watch: Stop) -> pa.Table:
            found = super()._run(session, statement, watch)
            if "tieout_base" in statement.text:
                begun.append(statement.text)
                attached.run("update FINANCE_LINES set BETRAG = BETRAG + 1")
            return found

    monkeypatch.setitem(opening.SOURCES, SourceKind.POSTGRESQL, ChangingWarehouse)
    door = attached.door()
    found = door.metric("revenue", "customers", dimensions=["centre"], **BOTH)
    assert len(begun) >= 4  # the proofs of both scenarios, and the rows of each
    assert figures(found, "metric", "alias", "centre")["revenue", "A", None] == Decimal("47.25")
    assert figures(found, "metric", "alias", "centre")["revenue", "A", "2"] == 32
    with pytest.raises(Unavailable, match="has changed since it was surveyed"):
        door.metric("revenue", **BOTH)


def test_values_that_change_places_in_a_row_are_a_change(attached: AttachedBooks) -> None:
    attached.run("alter table FINANCE_LINES alter column MEMO type varchar(20)")
    attached.survey()
    door = attached.door()
    for change in (
        "update FINANCE_LINES set MEMO = KONTO, KONTO = MEMO where KST = 2",
        "update FINANCE_LINES set MEMO = null, KONTO = null where KST = 2",
    ):
        attached.run(change)
        with pytest.raises(Unavailable, match=r"has changed since it was surveyed at .* \(actual 2021-02\)"):
            actual(door)
    attached.run("update FINANCE_LINES set MEMO = 'it''s', KONTO = 'B' where KST = 2")
    assert actual(door) == Decimal("47.25")


def test_a_column_that_is_dropped_after_the_survey_leads_to_the_feed_which_names_it(attached: AttachedBooks) -> None:
    attached.survey()
    door = attached.door()
    attached.run("alter table FINANCE_LINES drop column KST")
    with pytest.raises(Unavailable) as refused:
        actual(door)
    words = str(refused.value).lower()
    assert "finance_lines, which the feed gl attaches, cannot be read now: " in words
    assert "load the feed again, which names what is lacking." in words
    status, message = attached.refusal()
    assert status is LoadStatus.FAILED_EXTRACT
    assert "has no column KST: it has POSTED, " in message.replace("posted", "POSTED")
    assert "name it under `map`" in message


@pytest.mark.usefixtures("history")
def test_a_user_who_may_write_since_the_survey_is_refused_by_the_next_one(attached: AttachedBooks) -> None:
    if attached.source["kind"] == "duckdb":  # which has no users: its file is opened for reading
        return
    attached.survey()
    door = attached.door()
    user = os.environ["DWH_URL"].partition("user=")[2].split()[0]
    attached.run(f"grant insert on FINANCE_LINES to {user}")
    assert actual(door) == Decimal("47.25")  # what the rows are is proven all the same
    status, message = attached.refusal()
    assert status is LoadStatus.FAILED_CONNECT
    assert "its user is a user who may write" in message
    assert "name one that has SELECT on the table and nothing else" in message
    told = tieout("check", attached.instance, **server_environment(attached.instance, attached.folder / "state"))
    assert told.returncode == 1
    assert "is a user who may write" in " ".join(told.stderr.split())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[AttachedBooks]:
    """A table in a file of DuckDB that a server can attach."""
    with in_duckdb(tmp_path) as books, books.opened:
        books.fill()
        yield books


def test_who_looks_at_the_books_before_it_serves_closes_their_sources(
    served: AttachedBooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.survey()
    opened: list[DuckDbWarehouse] = []
    closed: list[DuckDbWarehouse] = []

    class CountedWarehouse(DuckDbWarehouse):
        """Counts what is opened and closed."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            opened.append(self)

        def close(self) -> None:
            super().close()
            closed.append(self)

    monkeypatch.setitem(opening.SOURCES, SourceKind.DUCKDB, CountedWarehouse)
    settings = Settings(instance=served.instance, state=tmp_path / "state")
    parent = Parent(settings, tmp_path / "run", Supervisor(settings, [], tmp_path))
    parent._look_at_sources()
    assert find_faults(served.instance, served.instance, settings.store) == []
    assert len(opened) == len(closed) == 2  # one to look at the table, one of the books


@pytest.mark.usefixtures("history")
def test_a_report_and_rows_over_attached_books_are_exported_as_they_were_answered(
    served: AttachedBooks, tmp_path: Path
) -> None:
    served.survey()
    state = tmp_path / "state"
    with serving(served.instance, state) as server, connected(server.url, "auto") as books:
        report = books.ask("run_metric", metrics=["revenue"], dimensions=["account"], **ASKED)
        rows = books.ask("inspect_rows", source_key="gl", scenario_id="actual", period_start="2021-01", limit=9)
        served.run("update FINANCE_LINES set BETRAG = 1")  # what was answered stays what it was
        documents = []
        for known in (report, rows):
            made = books.ask("export_dataset", data_ref=known["data_ref"], format="json")
            documents.append(httpx2.get(made["download_url"]).raise_for_status().json())
    of_report, of_rows = documents
    assert [(row["key"], row["values"]) for row in of_report["rows"]] == [
        ("A", [10]),
        ("B", [5.25]),
        ("total", [15.25]),
    ]
    assert of_rows["rows"] == [["2021-01-05", "A", "1", 10, "x"], ["2021-01-07", "B", None, 5.25, None]]


@pytest.mark.usefixtures("history")
def test_a_backup_holds_no_row_and_a_restore_answers_what_has_not_changed_since(
    attached: AttachedBooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL")
    attached.survey()
    bundle = tmp_path / "backup.tar"
    back_up(Settings(instance=attached.instance, state=attached.folder / "state"), bundle, with_keys=False)
    with tarfile.open(bundle) as held:
        names = held.getnames()
    assert not [name for name in names if name.startswith("store/facts/")]
    assert [name for name in names if name.startswith("store/rollups/gl/")]
    attached.run("update FINANCE_LINES set BETRAG = 33 where KST = 2")
    attached.survey()  # so that the running books have moved on
    restore(Settings(instance=attached.instance, state=tmp_path / "new"), bundle, tmp_path / "new")
    restored = attached.door(state=tmp_path / "new")
    assert actual(restored, **JANUARY) == Decimal("15.25")
    with pytest.raises(Unavailable) as refused:
        actual(restored)
    words = str(refused.value).lower()
    assert "finance_lines has changed since it was surveyed at " in words
    assert "(actual 2021-02), so no figure is given: run `tieout load gl`, then ask again." in words
    assert actual(attached.door()) == Decimal("48.25")


@pytest.mark.usefixtures("history")
def test_checks_of_engine_and_sources_follow_the_files_at_sighup(served: AttachedBooks, tmp_path: Path) -> None:
    served.survey()
    written, facts = served.instance / "integrations.yaml", served.instance / "instance.yaml"
    attaching, plain = written.read_text(), facts.read_text()
    with serving(served.instance, tmp_path / "state", FACTS_URL=str(tmp_path / "facts.duckdb")) as server:

        def checked(reload: Callable[[], object], *names: str) -> None:
            reload()
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: {"attached", "facts"} & readyz(server)[1].keys() == {*names})

        assert "attached" in until_ready(server)
        assert "facts" not in until_ready(server)
        checked(lambda: written.write_text(yaml.safe_dump({"sources": {}, "bindings": {}})))
        checked(lambda: facts.write_text(f"{plain}facts: {{engine: duckdb, url_env: FACTS_URL}}\n"), "facts")
        (tmp_path / "warehouse.duckdb").rename(tmp_path / "away.duckdb")
        checked(lambda: written.write_text(attaching), "attached", "facts")
        wait_for(lambda: readyz(server)[1]["attached"]["status"] != "ok")
        assert "source dwh" in readyz(server)[1]["attached"]["reason"]
