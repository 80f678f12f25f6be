"""Flight SQL: how statements name a lake, what ends a call that nobody answers, and what failures say.

`make test-deep PARTS=warehouses` asks Sail the questions of the contract, with its workers as processes.
"""

import socket
from collections.abc import Iterator
from contextlib import closing
from threading import Event, Timer
from time import monotonic

import pytest
import sqlglot
from sqlglot import exp

from server.base.interfaces import StoreDown
from server.feeds.placements import FactsPlacement, WarehouseKind
from server.warehouses.dialects import SPARK, Bindings
from server.warehouses.engines.flightsql import BROKEN, DOWN, GONE, REFUSALS, FlightSqlWarehouse, call_options, refusal
from server.warehouses.lacks import trial_faults
from server.warehouses.warehouse import SqlStatement, StatementRefused, VersionGone, Warehouse, WarehouseDown

ONE = SqlStatement("select 1 as n")
GIVEN_UP = 30.0  # seconds: no call takes as long, however slow the machine


class CallEnd(Exception):
    """The caller has left."""


@pytest.fixture
def silent() -> Iterator[str]:
    """Yield the address of a server that takes connections and answers nothing, as one does that is stopped."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield f"grpc://somebody:s3cret@127.0.0.1:{listening.getsockname()[1]}?lake=/lake"


def test_a_server_that_does_not_answer_holds_no_call_past_its_timeout(silent: str) -> None:
    with closing(FlightSqlWarehouse(silent, timeout=0.5)) as reader, pytest.raises(WarehouseDown) as told:
        reader.read(ONE)
    assert "Flight SQL" in str(told.value)
    assert "timeout" in str(told.value)
    assert "s3cret" not in str(told.value)


def test_a_call_that_ends_leaves_a_server_that_does_not_answer_at_once(silent: str) -> None:
    left = Event()

    def stop() -> None:
        if left.is_set():
            raise CallEnd

    began = monotonic()
    with closing(FlightSqlWarehouse(silent, timeout=2 * GIVEN_UP)) as reader:
        Timer(0.1, left.set).start()
        with pytest.raises(CallEnd):
            reader.read(ONE, stop)
    assert monotonic() - began < GIVEN_UP  # and `close` waits for no thread of the call


def test_a_server_that_is_not_there_is_said_to_be_so() -> None:
    with (
        closing(FlightSqlWarehouse("grpc://127.0.0.1:1?lake=/lake")) as reader,
        pytest.raises(WarehouseDown, match="cannot be reached; see that it runs and that its address is right"),
    ):
        reader.ping()


def test_an_address_names_the_folder_of_its_lake() -> None:
    placement = FactsPlacement(kind=WarehouseKind.FLIGHTSQL, reader="READER", loader="LOADER")
    environment = dict.fromkeys(("READER", "LOADER"), "grpc://127.0.0.1:1")
    says = "the trial failed: the address of `facts` names no lake: end it with ?lake=FOLDER"
    assert list(trial_faults(placement, environment)) == [says]


def test_a_login_goes_with_every_call_and_nothing_is_sent_without_one() -> None:
    assert call_options(2.5, "ann", "b:c")["adbc.flight.sql.authorization_header"] == "Basic YW5uOmI6Yw=="
    assert not any("authorization" in key for key in call_options(2.5, "", ""))


def test_statements_name_tables_by_their_folder_and_readers_write_nothing() -> None:
    with closing(FlightSqlWarehouse("grpc://127.0.0.1:1?lake=/mnt/the`lake/")) as reader:
        named = reader.dialect.table_of("tieout_facts_gl")
        assert named == "delta.`/mnt/the``lake/tieout_facts_gl`"
        (table,) = sqlglot.parse_one(f"select * from {named}", dialect="spark").find_all(exp.Table)
        assert table.name == "/mnt/the`lake/tieout_facts_gl"
        with pytest.raises(StatementRefused, match="the user who reads a lake of `facts` writes nothing into it"):
            reader.drop(None, [1])  # type: ignore[arg-type]  # it does not come to the table


@pytest.mark.parametrize(("columns", "rows"), [([[1, 20], [3, 4]], 2), ([[], []], 0)])
def test_lists_stand_in_a_statement_as_one_text_a_column(columns: list[list[int]], rows: int) -> None:
    text = SPARK.listed(Bindings(), columns, ("tieout_a", "tieout_b"))
    parsed = sqlglot.parse_one(f"select * from {text} as t", dialect="spark")
    texts = [found.name for found in parsed.find_all(exp.Literal) if "," in found.name and found.name != ","]
    assert texts == (["1,20", "3,4"] if rows else [])


def test_failures_say_what_was_found_and_what_to_do() -> None:
    with closing(FlightSqlWarehouse("grpc://127.0.0.1:1", attaches=True)) as source:
        source.holds, source.mend, source.quicken = "source dwh", "load the feed again", "ask about fewer months"
        for of in (Warehouse, source):
            filled = {"holds": of.holds, "mend": of.mend, "quicken": of.quicken}
            for status, words in DOWN.items():
                assert isinstance(refusal(status, "", of), WarehouseDown)
                assert str(refusal(status, "", of)) == f"Flight SQL of {of.holds} {words.format(**filled)}"
            for text, words in REFUSALS:
                made: StoreDown = refusal("INTERNAL", f"encoding error: {text} /mnt/lake", of)
                says = f"Flight SQL refused a statement about the facts (INTERNAL): {words.format(**filled)}"
                assert isinstance(made, VersionGone) or str(made) == says
            for words in BROKEN:
                broken = str(refusal("INTERNAL", f"{words}: connection refused", of))
                assert broken.endswith("see that its workers run, and its log")
            assert str(refusal("INVALID_ARGUMENT", "parse error", of)).endswith("(INVALID_ARGUMENT): see its log")
        for text, why in GONE:
            assert not isinstance(refusal("INTERNAL", text), VersionGone)
            assert isinstance(refusal("INTERNAL", text, source), VersionGone)
            assert str(refusal("INTERNAL", text, source)) == why
