"""Attached tables in a lake: statements name a folder and a version, and are held to their cell; ids are texts in them.

`make test-deep PARTS=warehouses` asks Sail.
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from msgspec.structs import replace
from sqlglot import exp

from engine.model.calendar.periods import Span
from engine.model.fact_store import Aggregate
from engine.model.scope import EVERYTHING, Cell, CodeSet
from server.feeds.feeds import FeedSource, SourceKind
from server.warehouses.attached.rows import SCENARIO, AttachedColumn, AttachedRows, AttachedTable, month_of, name_parts
from server.warehouses.attached.survey import SurveyText
from server.warehouses.dialects import SPARK, Bindings, ColumnKind, LakeVersion, NotWritable
from server.warehouses.engines.flightsql import FlightSqlWarehouse, words_of_type
from server.warehouses.opening import WarehouseUnnamed, open_source
from server.warehouses.statements import MOST_LISTED, PartSpans, StatementText
from server.warehouses.warehouse import SqlStatement, StatementRefused, WarehouseDown
from tests.support.checks.statements import hold_to_lock

FOLDER = "s3://bucket/the`lake/lines"
VERSION = str(LakeVersion(12, "0" * 64, "delta", FOLDER))
ODD_IDS = ("it's", 'a"b', "back\\slash", "a\nb", " padded ", "", "数", "🙂", "--", ",", "a,b")
IDS = ("", *(known for known in ODD_IDS if known), *(f"m{at}" for at in range(2 * MOST_LISTED)))
FEW, MANY = (Cell.where("account", CodeSet(frozenset(range(1, most)))) for most in (12, MOST_LISTED + 20))
OTHERS = Cell.where("account", ~CodeSet(frozenset({1, 2})))
TABLE = AttachedTable(
    binding="gl",
    domain="gl",
    name=(FOLDER,),
    scenario=AttachedColumn(key=SCENARIO, kind=ColumnKind.CODE, sources=("Szenario",)),
    columns=(
        AttachedColumn(key="date", kind=ColumnKind.DAY, sources=("Tag",)),
        AttachedColumn(key="account", kind=ColumnKind.CODE, sources=("Konto",)),
        AttachedColumn(key="amount", kind=ColumnKind.AMOUNT, sources=("Betrag",), places=2),
    ),
    blank="reject",
    change=None,
    version=VERSION,
)
MONTHS = {month_of("2021-01"), month_of("2021-02")}


def sums(within: Cell) -> SqlStatement:
    """Return the sums of a whole month and of some days of another."""
    rows = AttachedRows(table=TABLE, scenario="actual", months=MONTHS, ids={"account": IDS})
    whole, cut = sorted(MONTHS)
    touched = PartSpans({whole: 0}, [cut], [(0, Span(date(2021, 2, 1), date(2021, 2, 5)))])
    return StatementText(SPARK, rows, within).sums(touched, ("account",), (Aggregate("amount"),), ())


def tables_in(text: str) -> list[exp.Table]:
    """Return the tables that a statement reads."""
    return [found for found in sqlglot.parse_one(text, dialect="spark").find_all(exp.Table) if found.name]


@pytest.mark.parametrize("within", [FEW, MANY, OTHERS], ids=["few", "many", "all others"])
def test_every_select_reads_the_folder_at_its_version_inside_the_cell(within: Cell) -> None:
    made = sums(within)
    for table in (found := tables_in(made.text)):
        assert (table.db, table.name) == ("delta", FOLDER)
        assert "version as of 12" in table.sql(dialect="spark").lower()
    assert len(found) == 2
    known: dict[str, Any] = {"ids": {"account": IDS}, "scenario": "actual"}
    hold_to_lock(made, "spark", FOLDER, frozenset(MONTHS), within, **known)
    with pytest.raises(AssertionError):
        hold_to_lock(sums(EVERYTHING), "spark", FOLDER, frozenset(MONTHS), within, **known)
    assert not made.parameters  # Sail binds none


def test_a_survey_reads_the_folder_at_its_version() -> None:
    text = SurveyText(TABLE, SPARK, ["account"])
    days = Span(date(2020, 1, 1), date(2030, 12, 31))
    for made in (
        text.judged(days),
        text.members("account"),
        text.days(["account"]),
        text.tokens(),
        text.rollup(["account"]),
    ):
        (table,) = tables_in(made.text)
        assert table.name == FOLDER
        assert "version as of 12" in made.text


def test_versions_are_found_in_the_log_of_a_table() -> None:
    with closing(FlightSqlWarehouse("grpc://127.0.0.1:1", attaches=True)) as reader:

        def version(name: tuple[str, ...], *answers: Sequence[str | None]) -> str:
            left = iter(answers)
            return reader.version(lambda _: pa.table({"found": pa.array(next(left), pa.string())}), name)

        delta, iceberg = ("/lake/lines",), name_parts("iceberg.s3://bucket/lines")
        commit = "lake/lines/_delta_log/00000000000000000012.json"
        assert version(delta, [commit], ["abc"]) == "12 abc delta /lake/lines"
        with pytest.raises(
            StatementRefused, match="is no Delta table, so nobody can read it as it was; say `pin: rows`"
        ):
            version(delta, [None])
        files = ["m/v9.metadata.json", "m/v10.metadata.json", "m/v11.gz.metadata.json"]
        found = version(iceberg, files, ['{"current-snapshot-id": 77}'])
        assert found == "77 - iceberg s3://bucket/lines"
        named = SPARK.table_at(iceberg, found, "tieout_base")
        assert named == "iceberg.`s3://bucket/lines` version as of 77 as tieout_base"
        assert reader.has_version(found)  # without a question: its id is random
        for files, says in (
            ([], "has 0 newest files"),
            (["m/2-a.metadata.json", "m/2-b.metadata.json"], "has 2 newest"),
        ):
            with pytest.raises(StatementRefused, match=f"{says}.* of Iceberg metadata, not one; say `pin: rows`"):
                version(iceberg, files)
        with pytest.raises(StatementRefused, match="has no snapshot yet: write its first rows"):
            version(iceberg, ["m/v1.metadata.json"], ['{"current-snapshot-id": -1}'])


def test_ids_stand_in_a_statement_as_one_text_whatever_they_hold() -> None:
    text = SPARK.listed(Bindings(), [list(ODD_IDS), list(range(len(ODD_IDS)))], ("tieout_id", "tieout_code"))
    parsed = sqlglot.parse_one(f"select * from {text} as t", dialect="spark")
    of_ids, of_codes = (found.this.name.split(found.expression.name) for found in parsed.find_all(exp.RegexpSplit))
    assert tuple(of_ids) == ODD_IDS
    assert of_codes == [str(at) for at in range(len(ODD_IDS))]
    with pytest.raises(NotWritable):
        SPARK.listed(Bindings(), [["".join(map(chr, range(1, 32)))]], ("tieout_id",))


def test_types_of_arrow_are_said_as_sql_says_them() -> None:
    known = (pa.decimal128(18, 2), pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.int32(), pa.string())
    assert [words_of_type(type_) for type_ in known] == [
        "decimal(18,2)",
        "double",
        "timestamp",
        "timestamp with time zone",
        "integer",
        "varchar",
    ]


def test_a_source_that_cannot_be_opened_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = FeedSource(key="lake", kind=SourceKind.FLIGHTSQL, path=None, environment="LAKE_URL")
    known: dict[str, Any] = {"LAKE_URL": "grpc://127.0.0.1:1"}
    with pytest.raises(WarehouseUnnamed, match="source lake needs the environment variable LAKE_URL"):
        open_source(source, tmp_path, {})
    with pytest.raises(StatementRefused, match="source lake has options_env; a source of attached tables has uri_env"):
        open_source(replace(source, has_options=True), tmp_path, known)
    with closing(open_source(source, tmp_path, known)) as reader, pytest.raises(WarehouseDown) as down:
        reader.ping()
    assert str(down.value).startswith("Flight SQL of source lake cannot be reached; see that it runs")
    monkeypatch.setitem(sys.modules, "adbc_driver_flightsql.dbapi", None)
    with pytest.raises(StatementRefused, match=r"is not installed: .* install 'adbc-driver-flightsql"):
        open_source(source, tmp_path, known)
