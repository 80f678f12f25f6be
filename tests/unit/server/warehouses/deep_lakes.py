"""Attached Delta tables that change while Sail reads them at a version, or proves their rows.

`make test-deep PARTS=warehouses` runs it.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import pytest

from engine.door import Door
from engine.model.errors import Unavailable
from server.feeds.feeds import LoadStatus
from server.warehouses.engines.flightsql import FlightSqlWarehouse
from server.warehouses.warehouse import SqlStatement
from tests.support.books.attached import BOTH, COLUMNS, INSERT, AttachedBooks, in_lake
from tests.support.books.small import figures
from tests.support.engines.sail import SailServer, shared_sail
from tests.support.engines.warehouses import SAIL_WORKERS

AGAIN = "so no figure is given: run `tieout load gl`, then ask again."


@pytest.fixture
def sail() -> Iterator[SailServer]:
    """Run Sail with two workers."""
    with shared_sail(SAIL_WORKERS) as running:
        yield running


@pytest.fixture
def lake(tmp_path: Path, sail: SailServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[AttachedBooks]:
    """A Delta table of four rows, and an instance that attaches it at a version."""
    with in_lake(tmp_path, sail, monkeypatch) as books, books.opened:
        books.fill()
        yield books


def actual(door: Door, *dimensions: str) -> Decimal | None:
    """Return the revenue of the actuals: without dimensions a rollup answers."""
    found = figures(door.metric("revenue", dimensions=list(dimensions), **BOTH), "alias", *dimensions)
    return found["A", None] if dimensions else found["A"]


def test_answers_are_those_of_the_version_surveyed_whatever_changes(lake: AttachedBooks) -> None:
    assert lake.survey() == 4
    door = lake.door()
    lake.run("update FINANCE_LINES set BETRAG = 33 where KST = 2")
    lake.run("insert into FINANCE_LINES values ('2021-02-11', 'new', 9, 'actual', 100, 'later', 2)")
    assert (actual(door), actual(door, "centre")) == (Decimal("47.25"), Decimal("47.25"))
    assert [row[-1] for row in door.rows("gl", scenario="actual", limit=9).rows] == ["x", None, "it's"]
    assert figures(lake.door("some").metric("customers", **BOTH), "alias")["A"] == 1
    assert lake.survey() == 5
    again = lake.door()
    assert (actual(again), actual(again, "centre")) == (Decimal("148.25"), Decimal("148.25"))


def test_a_version_that_sail_reads_no_longer_says_so_and_what_to_do(lake: AttachedBooks) -> None:
    for _ in range(2):  # Sail 0.7 reads the first two versions in spite of checkpoints
        lake.run("update FINANCE_LINES set CHANGED = CHANGED + 1")
    lake.survey()
    door = lake.door()
    lake.run("update FINANCE_LINES set BETRAG = 33 where KST = 2")
    import_module("deltalake").DeltaTable(lake.table).create_checkpoint()
    with pytest.raises(Unavailable) as refused:
        actual(door, "centre")
    assert "lines cannot be read any more as it was surveyed at " in str(refused.value)
    assert str(refused.value).endswith(f"(Sail reads no version from before the last checkpoint of a table), {AGAIN}")
    assert lake.folder.name not in str(refused.value)
    assert actual(door) == Decimal("47.25")  # a rollup needs no row
    lake.survey()
    assert actual(lake.door(), "centre") == Decimal("48.25")


def test_another_table_in_the_same_folder_is_not_taken_for_the_one_surveyed(lake: AttachedBooks) -> None:
    lake.survey()
    door = lake.door()
    shutil.rmtree(lake.table)
    lake.run("update FINANCE_LINES set BETRAG = 33 where KST = 2")
    lake.run("update FINANCE_LINES set BETRAG = 34 where KST = 2")  # which is a version of the same number
    with pytest.raises(Unavailable) as refused:
        actual(door, "centre")
    assert str(refused.value).endswith(f"(another table has its place, or its log has been cut off since), {AGAIN}")


def test_files_that_were_deleted_fail_a_question_and_never_shrink_it(lake: AttachedBooks) -> None:
    lake.survey()
    door = lake.door()
    lake.run("update FINANCE_LINES set BETRAG = 33 where KST = 2")
    table = import_module("deltalake").DeltaTable(lake.table)
    assert table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(Unavailable, match=r"files of that version have been deleted|broke off a statement"):
        actual(door, "centre")


def test_rows_that_are_proven_answer_only_while_they_are_those_surveyed(lake: AttachedBooks, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "books")
    lake.write(pin="rows")
    assert lake.survey() == 4
    door = lake.door()
    assert actual(door, "centre") == Decimal("47.25")
    lake.run("update FINANCE_LINES set MEMO = KONTO, KONTO = MEMO where KST = 2")  # values change places
    with pytest.raises(Unavailable, match="lines has changed since it was surveyed at "):
        actual(door, "centre")
    lake.run("update FINANCE_LINES set MEMO = KONTO, KONTO = MEMO where KST = 2")
    assert actual(door, "centre") == Decimal("47.25")


def test_tables_of_the_catalogue_are_pinned_by_their_folder_and_views_by_their_rows(
    lake: AttachedBooks, sail: SailServer, tmp_path: Path
) -> None:
    with closing(FlightSqlWarehouse(sail.url(), timeout=60)) as owner:
        for text in (
            "create schema finance",
            f"create table finance.lines using delta location '{lake.table}'",
            "create view finance_view as select * from finance.lines",
        ):
            owner.read(SqlStatement(text))
    for attach, pin in (("finance.lines", "time_travel"), ("finance_view", "rows")):
        shutil.rmtree(tmp_path / "books")
        lake.write(attach=attach, pin=pin)
        assert lake.survey() == 4
        assert actual(lake.door(), "centre") == Decimal("47.25")
    shutil.rmtree(tmp_path / "books")
    lake.write(attach="finance_view")
    status, message = lake.refusal()
    assert status is LoadStatus.FAILED_EXTRACT
    assert "finance_view is no Delta table, so nobody can read it as it was; say `pin: rows`" in message
    shutil.rmtree(tmp_path / "books")
    lake.write(attach="finance.nothing")
    assert "it has no table of this name; load the feed again" in lake.refusal()[1]


ICE_ROWS = """
(date '2021-01-05', 'A', 1, 'actual', 10, 'x', 1), (date '2021-01-07', 'B', null, 'actual', 5.25, null, 1),
(date '2021-02-05', 'B', 2, 'actual', 32, 'y', 1), (date '2021-02-09', 'A', 1, 'budget', 5, '', 1)
"""


def test_an_iceberg_table_is_read_at_its_snapshot(lake: AttachedBooks, sail: SailServer, tmp_path: Path) -> None:
    folder = tmp_path / "ice"
    with closing(FlightSqlWarehouse(sail.url(), timeout=60)) as owner:
        columns = COLUMNS.replace("varchar(20)", "string").replace("text", "string").replace("numeric", "decimal")
        owner.read(SqlStatement(f"create table ICE ({columns}) using iceberg location '{folder}'"))
        owner.read(SqlStatement(f"insert into ICE values {ICE_ROWS}"))
        for pin in ("time_travel", "rows"):
            shutil.rmtree(tmp_path / "books")
            lake.write(attach=f"iceberg.{folder}", pin=pin)
            rows = lake.survey()
            door = lake.door()
            surveyed = actual(door, "centre")
            assert (rows, surveyed) == ((4, Decimal("47.25")) if pin == "time_travel" else (5, Decimal("147.25")))
            more = "insert into ICE values (date '2021-02-11', 'new', 9, 'actual', 100, 'later', 2)"
            owner.read(SqlStatement(more))
            if pin == "time_travel":
                assert len(door.rows("gl", scenario="actual", limit=9).rows) == 3
            else:
                with pytest.raises(Unavailable, match="ice has changed since it was surveyed at "):
                    actual(door, "centre")


REFUSED = (
    ("numeric(18,2)", "double", "40", "lines.BETRAG is double, which holds no exact amounts: make it NUMERIC"),
    ("numeric(18,2)", "numeric(18,4)", "40.125", "1 row: BETRAG has more than 2 decimal places, amount 40.125"),
    ("numeric(18,2)", "numeric(38,2)", "1e17", "1 row: BETRAG is too large, amount 100,000,000,000,000,000"),
    ("numeric(18,2)", "numeric(38,0)", "1e37", "an amount has more digits than 38"),
    ("POSTED date", "POSTED timestamptz", "40", "lines.POSTED is timestamp with time zone, and a day is a DATE or a"),
)


def test_a_survey_refuses_what_no_exact_figure_can_be_made_of(lake: AttachedBooks) -> None:
    for known, changed, amount, says in REFUSED:
        shutil.rmtree(lake.table)
        lake.run(f"create or replace table FINANCE_LINES ({COLUMNS.replace(known, changed)})")
        lake.run(f"{INSERT.rstrip()}, ('2021-02-11', 'C', 1, 'actual', {amount}, null, 1)")
        assert says in lake.refusal()[1]


def test_days_with_a_time_lie_in_their_month(lake: AttachedBooks) -> None:
    shutil.rmtree(lake.table)
    lake.run(f"create or replace table FINANCE_LINES ({COLUMNS.replace('POSTED date', 'POSTED timestamp')})")
    lake.run(INSERT)
    lake.run("update FINANCE_LINES set POSTED = '2021-01-31 23:59:59' where KST = 2")
    lake.survey()
    january = lake.door().metric("revenue", dimensions=["centre"], **{**BOTH, "period": ("2021-01", "2021-01")})
    assert figures(january, "alias", "centre")["A", None] == Decimal("47.25")
