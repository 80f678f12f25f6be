"""Feeds of a database: what the query is asked, what may go wrong at its end, and no secret in what is said of it."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from adbc_driver_postgresql import dbapi

from server.feeds.feeds import LoadStatus
from server.ingest.load import BindingFailed
from tests.support.books.ledgers import FEBRUARY, LEDGER, ledger, revenue
from tests.support.books.loads import load_feeds
from tests.support.books.newcomer import first_statement, initialised
from tests.support.engines.postgres import postgres

ERP = {"kind": "postgresql", "uri_env": "ERP_DATABASE_URI"}


def run(uri: str, *statements: str) -> None:
    """Run statements in a database."""
    with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.executescript(statement)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database server."""
    with postgres(tmp_path_factory.mktemp("erp")) as uri:
        yield uri


@pytest.fixture
def erp(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of a ledger that a feed reads."""
    rows = ", ".join(f"('{day}', '{company}', '{account}', {amount})" for day, company, account, amount in LEDGER)
    run(
        server,
        "drop table if exists ledger",
        "create table ledger (posted date, company text, account text, amount numeric(18,2))",
        f"insert into ledger values {rows}",  # noqa: S608 - rows of this test
    )
    monkeypatch.setenv("ERP_DATABASE_URI", server)
    return server


@pytest.mark.usefixtures("erp")
def test_init_makes_an_instance_of_a_table(tmp_path: Path) -> None:
    assert initialised(tmp_path / "books", "postgresql:ERP_DATABASE_URI:ledger") == 0
    figures = first_statement(tmp_path / "books", tmp_path / "state")
    assert (figures["A"], figures["B"]) == (Decimal("51.3"), Decimal("-0.3"))


@pytest.mark.usefixtures("erp")
@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("ERP_DATABASE_URI:ledgers", "the query failed: "),
        ("ERP_URI:ledger", "needs the environment variable ERP_URI"),
        ("ledger", "names no table; write KIND:PLACE:TABLE"),
        ("ERP_DATABASE_URI:(select 1)", "names no table; write KIND:PLACE:TABLE"),
    ],
)
def test_init_says_why_a_table_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], table: str, message: str
) -> None:
    assert initialised(tmp_path / "books", f"postgresql:{table}") == 1
    assert message in capsys.readouterr().err


def test_the_bounds_of_the_periods_and_the_parameters_are_bound(erp: str, tmp_path: Path) -> None:
    instance = ledger(tmp_path, ERP)
    load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert revenue(instance, tmp_path) == FEBRUARY
    run(
        erp,
        "update ledger set amount = 5 where posted = '2021-02-01'",
        "delete from ledger where posted < '2021-02-01'",
    )
    load_feeds(instance, tmp_path / "state", periods="2021-01..2021-02")
    assert revenue(instance, tmp_path)["A"] == 5


def test_a_query_of_one_period_runs_once_for_each(erp: str, tmp_path: Path) -> None:
    columns = "posted as date, 'actual' as scenario, account, amount"
    query = f"select {columns} from ledger where to_char(posted, 'YYYY-MM') = :period"  # noqa: S608 - as an instance has
    instance = ledger(tmp_path, ERP, extract=query, parameters={})
    (done,) = load_feeds(instance, tmp_path / "state", periods="2021-01..2021-02")
    assert (done.rows_read, erp != "") == (4, True)
    assert revenue(instance, tmp_path)[None] == Decimal("43.00")


def test_a_parameter_is_a_value_and_never_a_part_of_the_query(erp: str, tmp_path: Path) -> None:
    instance = ledger(tmp_path, ERP, parameters={"company": "01' or '1' = '1"}, allow_empty=True)
    (done,) = load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert (done.rows_read, erp != "") == (0, True)


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("select nothing from nowhere where :period_start < now()", "extract", "there is no table 'nowhere'"),
        (
            "select 1 / (amount - amount) as amount from ledger where posted >= :period_start",
            "extract",
            "it divides by zero",
        ),
        ("delete from ledger where posted >= :period_start returning *", "extract", "this source is read-only"),
        (
            "select posted as day, amount from ledger where posted >= :period_start",
            "validate",
            "no column 'scenario'; it has day, amount",
        ),
    ],
)
def test_a_query_that_fails_says_why_and_nothing_changes(
    erp: str, tmp_path: Path, query: str, status: str, says: str
) -> None:
    load_feeds(ledger(tmp_path / "before", ERP), tmp_path / "state", periods="2021-02")
    instance = ledger(tmp_path, ERP, extract=query, parameters={})
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert failed.value.status is LoadStatus(f"failed_{status}")
    assert says in str(failed.value)
    assert erp not in str(failed.value)
    assert revenue(instance, tmp_path)["A"] == Decimal("2.20")


def test_a_column_that_changes_its_type_is_read_or_its_rows_are_named(erp: str, tmp_path: Path) -> None:
    instance, state = ledger(tmp_path, ERP), tmp_path / "state"
    for drifted in ("text", "double precision", "numeric"):
        run(erp, f"alter table ledger alter column amount type {drifted} using amount::{drifted}")
        load_feeds(instance, state, periods="2021-02")
        assert revenue(instance, tmp_path)["A"] == Decimal("2.20")
    run(erp, "alter table ledger alter column amount type text", "update ledger set amount = 'n/a' where account = 'B'")
    with pytest.raises(BindingFailed, match="1 of 2 rows rejected, 0 allowed") as failed:
        load_feeds(instance, state, periods="2021-02")
    assert failed.value.rejects.rows()[0][2:] == (
        "amount",
        "n/a",
        "is no number; set numbers: {none: […]} if it means no figure",
    )
    assert revenue(instance, tmp_path)["A"] == Decimal("2.20")


def test_a_source_that_is_down_and_one_that_does_not_take_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance, secret = ledger(tmp_path, ERP), "correct horse/battery"
    with postgres(tmp_path / "password") as uri:
        run(uri, f"alter role current_user password '{secret}'")
        with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            (rules,) = (tmp_path / "password").rglob("pg_hba.conf")
            rules.write_text("local all all scram-sha-256\n")
            cursor.execute("select pg_reload_conf()")
            cursor.fetchall()
        with_password = uri.replace("@", ":wrong%2Fsecret@", 1)
        monkeypatch.setenv("ERP_DATABASE_URI", with_password)
        with pytest.raises(
            BindingFailed, match="source erp cannot be reached: it refuses the user or the password"
        ) as failed:
            load_feeds(instance, tmp_path / "state", periods="2021-02")
        assert failed.value.status is LoadStatus.FAILED_CONNECT
        assert not any(part in str(failed.value) for part in ("wrong", "secret", uri))
    with pytest.raises(BindingFailed, match="source erp cannot be reached") as failed:
        load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert failed.value.status is LoadStatus.FAILED_CONNECT
    assert not any(part in str(failed.value) for part in ("wrong", "secret", uri))
