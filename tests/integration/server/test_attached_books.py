"""Books whose rows stay in a table of somebody else: surveyed, asked and proven in DuckDB and PostgreSQL."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import yaml
from psycopg.conninfo import make_conninfo

from engine.facts import partition_writer, rollups
from engine.facts.manifest import pin_current
from engine.model.errors import Unavailable
from server.base.interfaces import StoreDown
from server.feeds.feeds import LoadStatus
from server.feeds.instance import read_instance
from server.warehouses import statements
from server.warehouses.attached import survey
from server.warehouses.attached.facts import AttachedFacts
from server.warehouses.opening import open_source
from server.warehouses.warehouse import SqlStatement
from tests.support.books.attached import BOTH, COLUMNS, DOMAIN, INSERT, AttachedBooks
from tests.support.books.loads import ROOT, load_feeds
from tests.support.books.small import figures, write_instance
from tests.support.service.forks import tieout
from tests.support.service.operations import until_ready
from tests.support.service.servers import connected, server_environment, serving


def test_a_statement_rows_and_counts_come_from_a_table_that_nobody_loaded(
    attached: AttachedBooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert attached.survey() == 4
    assert not list((attached.folder / "state" / "store" / "facts").rglob("*.arrow"))
    door, some = attached.door(), attached.door("some")
    by_account = door.metric("revenue", dimensions=["account"], **BOTH)
    assert figures(by_account, "alias", "account") == {
        ("A", "A"): 10, ("A", "B"): Decimal("37.25"), ("A", None): Decimal("47.25"),
        ("B", "A"): 5, ("B", "B"): None, ("B", None): 5,
    }  # fmt: skip
    by_centre = figures(some.metric("revenue", dimensions=["centre"], **BOTH), "alias", "centre")
    assert by_centre["A", "2"] == 32
    assert by_centre["A", "(unassigned)"] == Decimal("5.25")
    assert by_centre["B", None] is None
    assert figures(door.metric("customers", **BOTH), "alias") == {"A": 2, "B": 1}
    assert figures(some.metric("stock", **BOTH), "alias")["A"] == Decimal("37.25")  # each leaf's own last
    rows = door.rows("gl", scenario="actual", limit=9).rows
    assert [row[1] for row in rows] == ["A", "B", "B"]
    assert [row[-1] for row in rows] == ["x", None, "it's"]
    assert len(some.rows("gl", scenario="actual", limit=9).rows) == 2
    monkeypatch.setattr(statements, "MOST_LISTED", 0)  # so that ids are bound, as long lists of them are
    bound = attached.door("some").metric("revenue", dimensions=["centre"], **BOTH)
    assert figures(bound, "alias", "centre") == by_centre


def test_a_month_that_changed_gives_no_figure_until_it_is_surveyed_again(attached: AttachedBooks) -> None:
    attached.survey()
    door = attached.door()
    first = door.metric("revenue", dimensions=["account"], **BOTH)
    attached.run("update FINANCE_LINES set KONTO = 'A' where KST = 2")  # counts and sums stay as they are
    for dimensions in (["account"], ["centre"], []):  # from rollups and from rows
        with pytest.raises(Unavailable) as refused:
            door.metric("revenue", dimensions=dimensions, **BOTH)
        assert "FINANCE_LINES has changed since it was surveyed at 20" in str(refused.value).replace(
            "finance_lines", "FINANCE_LINES"
        )
        assert "(actual 2021-02), so no figure is given: run `tieout load gl`, then ask again." in str(refused.value)
    with pytest.raises(Unavailable, match="has changed"):
        door.rows("gl", scenario="actual", limit=9)
    january: dict[str, Any] = {**BOTH, "period": ("2021-01", "2021-01")}
    assert figures(door.metric("revenue", **january), "alias")["A"] == Decimal("15.25")
    attached.survey()
    again = figures(door.metric("revenue", dimensions=["account"], **BOTH), "alias", "account")
    assert again["A", "A"] == 42
    assert figures(first, "alias", "account")["A", "A"] == 10


def test_a_named_column_tells_what_changed(attached: AttachedBooks) -> None:
    (attached.instance / "integrations.yaml").write_text(
        yaml.safe_dump(
            {
                "sources": {"dwh": dict(attached.source)},
                "bindings": {"gl": {**attached.binding, "pin": {"column": "CHANGED"}}},
            }
        )
    )
    attached.survey()
    door = attached.door()
    attached.run("update FINANCE_LINES set MEMO = 'y' where KST = 2")  # the column says that nothing changed
    assert figures(door.metric("revenue", **BOTH), "alias")["A"] == Decimal("47.25")
    attached.run("update FINANCE_LINES set BETRAG = 33, CHANGED = 2 where KST = 2")
    with pytest.raises(Unavailable, match="has changed since it was surveyed"):
        door.metric("revenue", **BOTH)


WIDE = """
time: {column: day, missing: keep}
dimensions: {account: account, centre: centre}
measures: {amount: {places: 2}, units: {places: 0, type: number}}
metrics: {revenue: {measure: amount}, sold: {measure: units}}
"""


def test_debits_credits_constants_blanks_and_rows_without_a_day_are_those_of_a_load(unattached: AttachedBooks) -> None:
    unattached.run(
        "create table FINANCE_LINES (DAY date, account text, SOLL numeric(12,3), HABEN integer, units bigint)"
    )
    unattached.run(
        "insert into FINANCE_LINES values ('2021-01-05', 'A', 10.500, null, 3), ('2021-01-06', 'A', 1, 4, null), "
        "(null, 'B', null, 7, 2), ('2021-01-07', 'A', null, null, 5), ('2021-01-08', 'A', null, null, null)"
    )
    unattached.write(
        WIDE,
        map={},
        scenario="actual",
        constant={"centre": "C'1"},
        amount={"measure": "amount", "debit": "SOLL", "credit": "HABEN"},
        numbers={"blank": "none"},
    )
    assert unattached.survey() == 4  # a row without a figure is none
    door = unattached.door()
    january: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2021-01"}
    known = figures(door.metric("revenue", "sold", dimensions=["centre"], **january), "metric", "centre")
    assert known == {
        ("revenue", "C'1"): Decimal("7.5"), ("revenue", None): Decimal("7.5"), ("sold", "C'1"): 8, ("sold", None): 8,
    }  # fmt: skip
    undated = door.metric("revenue", scenarios={"A": "actual"}, period="(undated)")
    assert figures(undated)[()] == -7


LARGE = """
insert into FINANCE_LINES select date '2021-03-01' + cast(i % 28 as integer), 'A' || cast(i % 5 as varchar),
i % 700, 'actual', i % 100, null, 1 from generate_series(0, 5999) as numbers(i)
"""


def test_a_survey_chooses_the_rollups_that_a_load_of_the_rows_would(
    unattached: AttachedBooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rollups, survey, partition_writer):
        monkeypatch.setattr(module, "LEAST_ROWS", 5_000)
    chosen_by_data = DOMAIN.replace("rollups: [[account]]\n", "")
    unattached.run(f"create table FINANCE_LINES ({COLUMNS})")
    unattached.run(INSERT)
    unattached.run(LARGE)
    unattached.write(chosen_by_data)
    assert unattached.survey() == 6_004
    rows = [f"2021-03-{1 + i % 28:02}  actual A{i % 5} {i % 700} {i % 100}" for i in range(6_000)]
    loaded = write_instance(
        tmp_path / "loaded",
        facts={"gl": "\n".join(["date scenario account centre amount", *rows])},
        domains={"gl": chosen_by_data.replace(", memo", "")},
        dimensions="account: {kind: leaf}\ncentre: {kind: leaf}",
    )
    load_feeds(loaded, tmp_path / "other")

    def kept(state: Path) -> dict[str, set[tuple[str, ...]]]:
        parts = pin_current(state / "store").manifest.facts["gl"]
        return {part.bucket: {rollup.dimensions for rollup in part.rollups} for part in parts if part.rollups}

    assert kept(tmp_path / "state") == kept(tmp_path / "other") != {}
    monkeypatch.setattr(AttachedFacts, "_text", None)  # which reads no row
    march: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2021-03"}
    by_account = figures(unattached.door().metric("revenue", dimensions=["account"], **march), "account")
    assert by_account == {f"A{at}": sum(range(at, 100, 5)) * 60 for at in range(5)} | {None: 297_000}


def test_a_report_sees_one_state_of_a_table_that_changes_meanwhile(attached: AttachedBooks) -> None:
    attached.survey()
    known = read_instance(attached.instance).bindings["gl"]
    counted = SqlStatement("select sum(BETRAG * 100)::bigint as tieout_sum from FINANCE_LINES")

    def look(read: Callable[[SqlStatement], pa.Table]) -> list[int]:
        first = read(counted).column(0)[0].as_py()
        if attached.source["kind"] == "postgresql":  # nobody writes a file of DuckDB that another process reads
            attached.run("update FINANCE_LINES set BETRAG = BETRAG + 1")
        return [first, read(counted).column(0)[0].as_py()]

    with closing(open_source(known.source, attached.instance)) as reader:
        assert reader.together(look) == [5225, 5225]
        with pytest.raises(StoreDown):
            reader.together(lambda read: read(SqlStatement("delete from FINANCE_LINES")))


LINES = "alter table FINANCE_LINES"
REFUSED = (
    (f"{LINES} drop column KST", "extract", "has no column KST: "),
    (f"{LINES} alter column BETRAG type double precision", "extract", "holds no exact amounts: make it NUMERIC"),
    (f"{LINES} alter column KONTO type double precision using 1", "extract", "an id is a text or a whole number"),
    (f"{LINES} alter column POSTED type text using 'x'", "extract", "a day is a DATE or a TIMESTAMP"),
    (f"{LINES} alter column POSTED type timestamptz", "extract", "without a time zone: change it there, or attach a"),
    (f"{LINES} alter column KST type interval using null", "extract", "an id is a text or a whole number"),
    (
        f"{LINES} alter column BETRAG type numeric(18,4) using BETRAG + 0.001",
        "validate",
        "4 rows: BETRAG has more than 2 decimal places, amount 52.254",
    ),
    ("update FINANCE_LINES set BETRAG = null where KST = 2", "validate", "1 row: BETRAG is missing"),
    ("update FINANCE_LINES set POSTED = null where KST = 2", "validate", "1 row: POSTED is missing"),
    ("update FINANCE_LINES set SZENARIO = 'plan' where KST = 2", "validate", "1 row: SZENARIO 'plan' is no scenario"),
    ("delete from FINANCE_LINES", "validate", "has no rows; allow_empty: true takes it at its word"),
    ("drop table FINANCE_LINES", "extract", "there is no table FINANCE_LINES, or the user of the source may not"),
)


def test_a_survey_refuses_what_no_exact_figure_can_be_made_of(unattached: AttachedBooks) -> None:
    unattached.write()
    for change, status, says in REFUSED:
        unattached.run(f"create table FINANCE_LINES ({COLUMNS})")
        unattached.run(INSERT)
        unattached.run(change)
        found, message = unattached.refusal()
        assert found is LoadStatus(f"failed_{status}")
        assert says.lower() in message.lower()
        unattached.run("drop table if exists FINANCE_LINES")


def test_ids_that_are_no_members_are_refused_with_their_rows_and_amounts(attached: AttachedBooks) -> None:
    dimensions = "account: {kind: leaf, members: live.account}\ncentre: {kind: leaf}\n"
    (attached.instance / "dimensions.yaml").write_text(dimensions)
    (attached.instance / "data" / "account.csv").write_text("id,name\nA,Sales\n")
    files = {"account": {"source": "files", "target": "live.account", "file": "account.csv"}}
    sources = {"dwh": dict(attached.source), "files": {"kind": "folder", "path": "data"}}
    known = {**attached.binding, "unknown_members": "reject"}
    written = {"sources": sources, "bindings": {**files, "gl": known}}
    (attached.instance / "integrations.yaml").write_text(yaml.safe_dump(written))
    load_feeds(attached.instance, attached.folder / "state", "account")
    status, message = attached.refusal()
    assert status is LoadStatus.FAILED_VALIDATE
    assert "2 rows: 1 id is no member of account ('B'), amount 37.25" in message
    (attached.instance / "data" / "account.csv").write_text("id,name\nA,Sales\nB,Costs\n")
    load_feeds(attached.instance, attached.folder / "state", "account")
    assert attached.survey() == 4


PAGE = ROOT / "docs" / "operations" / "warehouse.md"
LEDGER = """
create schema finance;
create table finance.gl_lines (posting_date date, konto text, kst text, szenario text, betrag numeric(18,2));
insert into finance.gl_lines values ('2026-03-05', '4000', 'CC1', 'actual', -1000);
insert into finance.gl_lines values ('2026-03-09', '5000', 'CC2', 'actual', 450);
create role finance_reader login password 'x';
grant usage on schema finance to finance_reader;
grant select on finance.gl_lines to finance_reader;
"""
GONE = "drop schema if exists finance cascade; drop role if exists finance_reader"
OF_PAGE = """
time: {column: date}
dimensions: {account: account, centre: centre}
measures: {amount: {places: 2}}
metrics: {profit: {measure: amount, sign: negate}}
"""


@pytest.fixture
def ledger(tmp_path: Path, embedded_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection]:
    """The owner of the table of the page, which an instance in `books` attaches as the page says."""
    block = PAGE.read_text(encoding="utf-8").partition("\n## Books that stay")[2].partition("```yaml\n")[2]
    with closing(psycopg.connect(embedded_server, autocommit=True)) as owner:
        owner.execute(LEDGER.encode())
        monkeypatch.setenv("DWH_URL", make_conninfo(embedded_server, user="finance_reader"))
        folder = write_instance(
            tmp_path / "books",
            facts={},
            domains={"gl": OF_PAGE},
            statements={"pnl": "- {metric: profit}\n"},
            dimensions="account: {kind: leaf}\ncentre: {kind: leaf}",
            profiles="everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n",
        )
        (folder / "integrations.yaml").write_text(block.partition("```")[0])
        yield owner
        owner.execute(GONE.encode())


@pytest.mark.usefixtures("history")
def test_the_page_leads_from_a_table_to_a_statement_and_a_model_reads_what_to_do_when_it_changes(
    tmp_path: Path, ledger: psycopg.Connection
) -> None:
    folder, state = tmp_path / "books", tmp_path / "state"
    loaded = tieout("load", "gl", "--instance", folder, SVC_STATE_DIR=str(state))
    assert loaded.returncode == 0, loaded.stderr
    assert "gl: 2 of 2 rows" in loaded.stdout
    assert tieout("check", "--data", folder, SVC_STATE_DIR=str(state)).returncode == 0
    moved = tieout("provision", "--instance", folder, SVC_STATE_DIR=str(state))
    assert moved.returncode == 0, moved.stderr
    asked = {"scenarios": [{"scenario": "actual", "alias": "A"}], "period_start": "2026-03"}
    with serving(folder, state) as server, connected(server.url, "auto") as books:
        assert "attached" in until_ready(server)
        answer = books.call("run_statement", statement="pnl", **asked)
        assert not answer.is_error, answer.result
        assert "550" in answer.text
        assert books.ask("get_binding", binding_id="gl")["attach"] == "finance.gl_lines"
        ledger.execute(b"update finance.gl_lines set betrag = 451 where konto = '5000'")
        refused = books.call("run_statement", statement="pnl", **asked)
    assert refused.is_error
    assert refused.result["error_type"] == "unavailable"
    assert refused.result["error"].startswith("finance.gl_lines has changed since it was surveyed at ")
    assert refused.result["error"].endswith("so no figure is given: run `tieout load gl`, then ask again.")


@pytest.mark.usefixtures("history")
def test_a_user_who_may_write_and_a_source_that_is_away_are_named(tmp_path: Path, ledger: psycopg.Connection) -> None:
    folder, state = tmp_path / "books", tmp_path / "state"
    ledger.execute(b"grant insert on finance.gl_lines to finance_reader")
    writes = "its user is a user who may write finance.gl_lines: name one that has SELECT on the table and nothing else"
    for command in (("load", "gl", "--instance", folder), ("check", folder), ("serve",)):
        refused = tieout(*command, **server_environment(folder, state))
        assert refused.returncode == 1
        assert writes in " ".join(refused.stderr.split())
        assert "Traceback" not in refused.stderr
    away = make_conninfo(os.environ["DWH_URL"], host="/none")  # the path of a socket has at most 107 bytes
    refused = tieout("check", folder, **server_environment(folder, state, DWH_URL=away))
    says = "gl: finance.gl_lines cannot be surveyed: PostgreSQL of source dwh cannot be reached: nothing listens at its"
    assert says in " ".join(refused.stderr.split())
