"""Snowflake and BigQuery through their real clients: time travel, limits, a call that ends, and what they refuse.

`make test-deep PARTS=drivers` installs the clients and runs this.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml

from engine.model.errors import Unavailable
from server.base.interfaces import StoreDown
from server.feeds.feeds import LoadStatus, SourceKind
from server.feeds.instance import read_instance
from server.ingest.surveys import attached_faults
from server.warehouses.lacks import ReaderMayWrite
from server.warehouses.opening import SOURCES
from server.warehouses.tables import WarehouseTable
from server.warehouses.warehouse import SqlStatement, StatementRefused, Warehouse
from tests.support.books.attached import BOTH, AttachedBooks
from tests.support.books.small import figures
from tests.support.engines.bigquery import BigQueryServer
from tests.support.engines.clouds import CLOUDS, PASSWORD, Cloud, cloud
from tests.support.service.servers import wait_for

LINES = SqlStatement("select 1 as tieout_one from FINANCE_LINES as tieout_base")
Books = tuple[Cloud, AttachedBooks]


@pytest.fixture(params=CLOUDS)
def books(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Books]:
    """A service with a table of four rows, and books that attach it as they do by themselves."""
    with cloud(request.param) as service:
        for name, value in service.environment.items():
            monkeypatch.setenv(name, value)
        made = AttachedBooks(tmp_path, service.tables.run, service.source)
        with made.opened:
            made.fill()
            yield service, made


def asked(service: Cloud) -> list[str]:
    """Return the statements about rows that the service has run."""
    server = service.server
    if isinstance(server, BigQueryServer):
        texts = [job["configuration"]["query"]["query"] for job in server.jobs.values()]
    else:
        texts = [known["sqlText"] for known in server.statements]
    return [text for text in texts if "tieout_base" in text]


def reader(service: Cloud, **limits: Any) -> Warehouse:
    """Return the service as the server reads it."""
    return SOURCES[SourceKind(service.source["kind"])](service.address, **limits)


def rebind(made: AttachedBooks, **binding: Any) -> None:
    """Write what the feed attaches anew."""
    written = {"sources": {"dwh": dict(made.source)}, "bindings": {"gl": {**made.binding, **binding}}}
    (made.instance / "integrations.yaml").write_text(yaml.safe_dump(written))


def test_every_answer_is_of_the_instant_of_the_survey(books: Books) -> None:
    service, made = books
    assert made.survey() == 4
    door = made.door()
    first = figures(door.metric("revenue", dimensions=["centre"], **BOTH), "alias", "centre")
    made.run("update FINANCE_LINES set BETRAG = BETRAG + 1000")
    made.run("insert into FINANCE_LINES values ('2021-01-09', 'C', 9, 'actual', 1, 'new', 2)")
    before = len(asked(service))
    assert figures(door.metric("revenue", dimensions=["account"], **BOTH), "alias", "account")["A", None] == 47.25
    assert len(asked(service)) == before  # a rollup answers, and nothing is proven
    assert figures(made.door().metric("revenue", dimensions=["centre"], **BOTH), "alias", "centre") == first
    assert len(made.door().rows("gl", scenario="actual", limit=9).rows) == 3
    clause = "for system_time as of" if service.source["kind"] == "bigquery" else "at (timestamp =>"
    assert all(clause in text for text in asked(service))
    made.survey()
    assert len(made.door().rows("gl", scenario="actual", limit=9).rows) == 4


def test_beyond_the_retention_rows_are_unavailable_and_the_feed_is_named(books: Books) -> None:
    service, made = books
    made.survey()
    service.tables.kept.clear()
    with pytest.raises(Unavailable) as refused:
        made.door().rows("gl", scenario="actual", limit=9)
    said = str(refused.value)
    assert "FINANCE_LINES cannot be read any more as it was surveyed at 20" in said
    assert (
        "keeps its past rows no longer, or it was made anew since), so no figure is given: run `tieout load gl`" in said
    )
    made.run("update FINANCE_LINES set BETRAG = 1 where KST = 2")
    made.survey()
    assert len(made.door().rows("gl", scenario="actual", limit=9).rows) == 3


def test_a_view_is_no_table_as_it_was_and_its_rows_are_proven_instead(books: Books) -> None:
    _, made = books
    made.run("create view LINES_TO_READ as select * from FINANCE_LINES")
    rebind(made, attach="LINES_TO_READ")
    status, message = made.refusal()
    assert status is LoadStatus.FAILED_EXTRACT
    assert (
        "LINES_TO_READ cannot be surveyed: it is a VIEW, which nobody can read as it was: attach a table, or" in message
    )
    rebind(made, attach="LINES_TO_READ", pin="rows")
    assert made.survey() == 4
    assert figures(made.door().metric("revenue", **BOTH), "alias")["A"] == 47.25
    made.run("update FINANCE_LINES set BETRAG = 33 where KST = 2")
    with pytest.raises(Unavailable, match=r"has changed since it was surveyed at .* \(actual 2021-02\)"):
        made.door().metric("revenue", **BOTH)


def test_a_user_who_may_write_is_refused(books: Books) -> None:
    service, made = books
    service.let_write("FINANCE_LINES")
    says = "its user is a user who may write main.FINANCE_LINES: name one that has SELECT on the table and nothing"
    status, message = made.refusal()
    assert status is LoadStatus.FAILED_CONNECT
    assert says in message
    known = read_instance(made.instance)
    with pytest.raises(ReaderMayWrite, match="a user who may write"):
        list(attached_faults(known.bindings, known.catalogue, made.instance))


def test_a_call_that_ends_ends_its_statement_in_the_service(books: Books) -> None:
    service, _ = books
    looks = iter(range(5))

    def stop() -> None:
        if next(looks, None) is None:
            raise KeyError("the call has ended")

    with closing(reader(service)) as known:
        assert known.read(SqlStatement("select 1 as tieout_one")).num_rows == 1
        service.server.held.set()
        with pytest.raises(KeyError, match="the call has ended"):
            known.read(LINES, stop)
        ended = service.server.cancelled if isinstance(service.server, BigQueryServer) else service.server.aborted
        wait_for(lambda: len(ended) == 1)
        service.server.held.clear()


def test_a_service_that_hangs_holds_no_call(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    service, _ = books
    released, waited = Event(), list[bool]()
    looks = iter(range(5))

    def stop() -> None:
        if next(looks, None) is None:
            raise KeyError("the call has ended")

    def hang(*_: Any) -> Any:
        waited.append(released.wait(60))
        raise ConnectionResetError

    with closing(reader(service)) as known:
        known.ping()
        monkeypatch.setattr(service.server, "answer", hang)
        with pytest.raises(KeyError, match="the call has ended"):
            known.read(LINES, stop)
    assert not waited  # it hangs still
    released.set()


def test_the_service_is_told_what_a_statement_may_take(books: Books) -> None:
    service, _ = books
    with closing(reader(service, timeout=7.0)) as known:
        known.read(SqlStatement("select 1 as tieout_one"))
    if isinstance(service.server, BigQueryServer):
        (job,) = service.server.jobs.values()
        assert job["configuration"]["jobTimeoutMs"] == "7000"
        assert job["configuration"]["query"]["maximumBytesBilled"] == "1000000000"
        assert job["configuration"]["labels"] == {"application": "tieout"}
    else:
        begun = [known["sqlText"] for known in service.server.statements]
        assert begun[0] == "alter session set statement_timeout_in_seconds = 7"
        assert "use secondary roles none" in begun


def test_what_a_service_refuses_names_the_next_step_and_no_secret(books: Books) -> None:
    service, made = books
    made.survey()
    made.run("drop table FINANCE_LINES")
    status, message = made.refusal()
    assert (status, "there is no table FINANCE_LINES, or the user" in message) == (LoadStatus.FAILED_EXTRACT, True)
    with closing(reader(service)) as known:
        known.mend = "load the feed again"
        with pytest.raises(StatementRefused, match=r"it finds no such table.*: load the feed again"):
            known.read(SqlStatement("select 1 from NO_SUCH"))
        with pytest.raises(StatementRefused, match="takes no rows of loads"):
            known.put(WarehouseTable(domain="gl", name=("lines",), columns=()), 1, [])
    service.server.shutdown()
    service.server.server_close()
    with closing(reader(service, timeout=3.0)) as known, pytest.raises(StoreDown) as away:
        known.ping()
    assert PASSWORD not in str(away.value)
    assert "PRIVATE" not in str(away.value)
