"""Loading: files and databases to the same books, rejected rows named, nothing published when a load fails."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter
import yaml
from adbc_driver_postgresql import dbapi

from engine.books.books import Shelf
from engine.books.checks import data_faults
from engine.door import open_books
from engine.facts.manifest import current_version, pin_current
from engine.instance.documents import InstanceFaults
from engine.model.errors import Unavailable
from server.feeds.feeds import LoadStatus
from server.feeds.instance import read_instance
from server.files.rejects import format_rejects
from server.ingest.load import BindingFailed, LoadResult
from tests.support.books.loads import load_feeds
from tests.support.books.small import csv, figures, write_instance
from tests.support.engines.postgres import postgres

A = {"A": "actual"}
DOMAIN = """
    time: {column: date}
    dimensions: {account: account}
    measures: {amount: {places: 2}}
    inspect_columns: [text]
    metrics:
      revenue: {measure: amount}
"""
ROWS = [
    (date(2021, 1, 5), "actual", "0010", Decimal("1234.56"), "first"),
    (date(2021, 2, 6), "actual", "20", Decimal("-0.10"), "second"),
]
COLUMNS = ("date", "scenario", "account", "amount", "text")


def instance_of(folder: Path, facts: str = "date scenario account amount text", **parts: Any) -> Path:
    """Write an instance of one ledger whose accounts have a member table."""
    parts.setdefault("tables", {"account": "id name\n0010 Ten\n20 Twenty"})
    parts.setdefault("dimensions", "account: {kind: leaf, members: live.account}")
    return write_instance(folder / "small", facts={"gl": facts}, domains={"gl": DOMAIN}, **parts)


def run(instance: Path, state: Path, *bindings: str) -> list[LoadResult]:
    """Load some feeds of an instance, or all."""
    return load_feeds(instance, state, *bindings)


def by_account(instance: Path, state: Path) -> dict[Any, Decimal | None]:
    """Return what was loaded, by account."""
    books = open_books(instance, state=state)
    return figures(books.metric("revenue", scenarios=A, period="2021", dimensions=["account"]), "account")


ONE_ROW = "date scenario account amount text\n2021-01-05 actual 0010 1 x"
LOADED = {"0010": Decimal("1234.56"), "20": Decimal("-0.1"), None: Decimal("1234.46")}


def write_xlsx(path: Path) -> None:
    """Write the rows as a workbook whose ids are text and whose dates are dates."""
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("Ledger")
        sheet.write_row(0, 0, COLUMNS)
        for at, (day, scenario, account, amount, text) in enumerate(ROWS, 1):
            sheet.write_datetime(at, 0, day, book.add_format({"num_format": "yyyy-mm-dd"}))
            sheet.write_string(at, 1, scenario)
            sheet.write_string(at, 2, account)
            sheet.write_number(at, 3, float(amount))
            sheet.write_string(at, 4, text)


def frame(amount: pl.DataType) -> pl.DataFrame:
    """Return the rows as a typed frame."""
    return pl.DataFrame(ROWS, schema=COLUMNS, orient="row").with_columns(pl.col("amount").cast(amount))


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet-decimal", "parquet-float", "arrow"])
def test_every_kind_of_file_brings_the_same_figures(tmp_path: Path, kind: str) -> None:
    suffix = kind.partition("-")[0]
    instance = instance_of(tmp_path, bindings={"gl": {"file": f"ledger*.{suffix}", "unknown_members": "reject"}})
    path = instance / "data" / f"ledger_1.{suffix}"
    if kind == "csv":
        frame(pl.String()).write_csv(path)
    elif kind == "xlsx":
        write_xlsx(path)
    elif suffix == "parquet":
        frame(pl.Float64() if kind.endswith("float") else pl.Decimal(18, 4)).write_parquet(path)
    else:
        frame(pl.Decimal(18, 2)).write_ipc(path)
    run(instance, tmp_path / "state")
    assert by_account(instance, tmp_path / "state") == LOADED


def test_lines_without_any_value_are_no_rows_and_keep_the_numbers_of_the_others(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, ONE_ROW, bindings={"gl": {"rejects": {"allow": 1}}})
    path = instance / "data" / "gl.csv"
    with path.open("a") as file:
        file.write("\n,,,,\n2021-01-06,actual,0010,few,y\n\n")
    loaded = {done.binding: done for done in run(instance, tmp_path / "state")}
    assert (loaded["gl"].rows_read, loaded["gl"].rows_landed) == (2, 1)
    assert list(format_rejects(loaded["gl"].rejects)) == ["gl.csv row 5, amount: 'few' is no number"]


def test_a_database_brings_the_same_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extract = "select posted as date, 'actual' as scenario, account, amount, note as text from ledger order by account"
    sources = {"erp": {"kind": "postgresql", "uri_env": "ERP_DATABASE_URI"}}
    with postgres(tmp_path) as uri:
        with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.executescript(
                "create table ledger (posted date, account text, amount numeric(18,2), note text);"
                "insert into ledger values ('2021-01-05','0010',1234.56,'first'),('2021-02-06','20',-0.10,'second');"
            )
        monkeypatch.setenv("ERP_DATABASE_URI", uri)
        instance = instance_of(tmp_path)
        text = (instance / "integrations.yaml").read_text()
        assert "file: gl.csv" in text
        feed = {"source": "erp", "target": "live.gl", "extract": extract}
        rewrite(instance, sources=sources, gl=feed)
        run(instance, tmp_path / "state")
        assert by_account(instance, tmp_path / "state") == LOADED
        rewrite(instance, sources=sources, gl={**feed, "extract": "select nothing from nowhere"})
        with pytest.raises(BindingFailed, match="the query failed: there is no table 'nowhere'"):
            run(instance, tmp_path / "state", "gl")
    with pytest.raises(BindingFailed, match="source erp cannot be reached") as failed:
        run(instance, tmp_path / "state", "gl")
    assert uri not in str(failed.value)
    assert by_account(instance, tmp_path / "state") == LOADED


def rewrite(instance: Path, *, sources: dict[str, Any], **feeds: dict[str, Any]) -> None:
    """Replace feeds of an instance's integrations.yaml."""
    path = instance / "integrations.yaml"
    known = yaml.safe_load(path.read_text())
    known["sources"] |= sources
    known["bindings"] |= feeds
    path.write_text(yaml.safe_dump(known))


BAD = """
    date       scenario account amount   text
    2021-01-05 actual   0010    10       good
    2021-02-30 actual   0010    10       no~such~day
    05/01/2021 actual   0010    10       no~iso~day
    -          actual   0010    10       no~day
    2021-01-05 actuals  0010    10       no~such~scenario
    2021-01-05 -        0010    10       no~scenario
    2021-01-05 actual   0999    10       no~such~account
    2021-01-05 actual   0010    ten      text~in~an~amount
    2021-01-05 actual   0010    1.234    too~fine
    2021-01-05 actual   0010    NaN      not~a~number
    2021-01-05 actual   0010    -        no~amount
    2021-01-05 actual   0010    1e30     too~large
    1066-10-14 actual   0010    10       too~early
"""
POINTS = {"numbers": {"decimal": "."}}  # 1.234 may be 1234 otherwise
REASONS = [
    (3, "date", "'2021-02-30' is no day that exists"),
    (4, "date", "'05/01/2021' is no day (YYYY-MM-DD); set dates: {format: '%d/%m/%Y'} or {format: '%m/%d/%Y'}"),
    (5, "date", "is missing"),
    (6, "scenario", "'actuals' is no scenario of scenarios.yaml"),
    (7, "scenario", "is missing"),
    (8, "account", "'0999' is no member of account"),
    (9, "amount", "'ten' is no number"),
    (10, "amount", "'1.234' has more than 2 decimal places"),
    (11, "amount", "'NaN' is no number; set numbers: {none: […]} if it means no figure"),
    (12, "amount", "is missing; set numbers: {blank: none} if it means no figure, {blank: zero} if it means 0"),
    (13, "amount", "'1e30' is too large"),
    (14, "date", "'1066-10-14' is outside the calendar, which runs from 1900-01-01 to 2199-12-31"),
]


def test_rejected_rows_are_named_and_nothing_is_published(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, BAD, bindings={"gl": {"unknown_members": "reject", **POINTS}})
    with pytest.raises(BindingFailed, match="12 of 13 rows rejected, 0 allowed") as failed:
        run(instance, tmp_path / "state")
    said = sorted(format_rejects(failed.value.rejects, 100), key=lambda line: int(line.split(" row ")[1].split(",")[0]))
    assert said == [f"gl.csv row {row}, {column}: {reason}" for row, column, reason in REASONS]
    assert failed.value.status is LoadStatus.FAILED_VALIDATE
    assert current_version(tmp_path / "state" / "store") == 0


@pytest.mark.parametrize("rows", ["", "2021-13-01 actual 0010 1 x"])
def test_an_extract_without_a_row_empties_nothing_unless_it_may(tmp_path: Path, rows: str) -> None:
    bindings = {"gl": {"rejects": {"allow": 1}, "allow_empty": False}}
    instance = instance_of(tmp_path, ONE_ROW, bindings=bindings)
    run(instance, tmp_path / "state")
    published = current_version(tmp_path / "state" / "store")
    (instance / "data" / "gl.csv").write_text(csv(f"date scenario account amount text\n{rows}"))
    with pytest.raises(BindingFailed, match=r"not one row came back.*allow_empty: true") as failed:
        run(instance, tmp_path / "state", "gl")
    assert failed.value.status is LoadStatus.FAILED_VALIDATE
    assert current_version(tmp_path / "state" / "store") == published
    integrations = yaml.safe_load((instance / "integrations.yaml").read_text())
    integrations["bindings"]["gl"]["allow_empty"] = True
    (instance / "integrations.yaml").write_text(yaml.safe_dump(integrations))
    run(instance, tmp_path / "state", "gl")
    assert by_account(instance, tmp_path / "state") == {None: None}


def test_a_feed_may_allow_some_rejected_rows(tmp_path: Path) -> None:
    reasons = {"day": 3, "blank": 3, "member": 2, "number": 2, "decimals": 1, "size": 1}
    feed = {"unknown_members": "reject", "rejects": {"allow": reasons}, **POINTS}
    instance = instance_of(tmp_path, BAD, bindings={"gl": feed})
    loaded = {done.binding: done for done in run(instance, tmp_path / "state")}
    assert (loaded["gl"].rows_read, loaded["gl"].rows_landed, loaded["gl"].rejects.height) == (13, 1, 12)
    assert by_account(instance, tmp_path / "state") == {"0010": 10, None: 10}


UNEVEN = """
    date       scenario account amount     text
    2021-01-05 actual   0010    10         good
    2021-01-05 actual   0010    #REF!      -
    2021-01-05 actual   0010    #REF!      -
    2021-01-05 actual   0010    few        -
    2021-01-05 actual   0999    1250.10    -
    2021-01-05 actual   0998    -0.1       -
    2021-01-05 actual   0010    3330307.04125 -
"""


def test_rejected_rows_are_summed_up_by_reason_with_their_amounts(tmp_path: Path) -> None:
    allowed = {"number": 3, "member": 2, "decimals": 1}
    feed = {"unknown_members": "reject", "rejects": {"allow": allowed}}
    instance, state = instance_of(tmp_path, UNEVEN, bindings={"gl": feed}), tmp_path / "state"
    (loaded,) = (done for done in run(instance, state) if done.binding == "gl")
    assert list(map(str, loaded.sums)) == [
        "3 rows: amount is no number ('#REF!' 2, 'few' 1)",
        "2 rows: account is no member of account, amount 1,250",
        "1 row: amount has more than 2 decimal places, amount 3,330,307.04125",
    ]
    report = pl.read_csv(state / "rejects" / f"{loaded.load}.csv", infer_schema=False)
    assert report.head(3).select("file", "column", "rows", "sum of amount").rows() == [
        (None, "amount", "3", None),
        (None, "account", "2", "1250"),
        (None, "amount", "1", "3330307.04125"),
    ]
    assert report.height == 3 + 6


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        (
            {"number": 2, "member": 2, "decimals": 1},
            r"6 of 7 rows rejected, \{decimals: 1, member: 2, number: 2\} allowed",
        ),
        ({"number": 100, "blank": 100, "member": 9}, "1 amount has more than 2 decimal places"),
        (100, r"6 of 7 rows rejected, 100 allowed: .*rejects: \{allow: \{number: 3, decimals: 1, member: 2\}\} would"),
    ],
)
def test_an_allowance_is_of_its_reason_and_none_sweeps_up_an_amount_too_fine(
    tmp_path: Path, allowed: Any, refused: str
) -> None:
    feed = {"unknown_members": "reject", "rejects": {"allow": allowed}}
    instance = instance_of(tmp_path, UNEVEN, bindings={"gl": feed})
    with pytest.raises(BindingFailed, match=refused) as failed:
        run(instance, tmp_path / "state")
    assert "3330307" not in failed.value.message, "the ingestion tools show the message, and carry no figures"
    assert current_version(tmp_path / "state" / "store") == 0


def test_a_value_without_a_meaning_is_told_once_and_not_as_missing_too(tmp_path: Path) -> None:
    rows = f"{ONE_ROW}\n2021-01-05 actuel 0010 1 x\n2021-01-05 - 0010 1 x"
    meaning = {"scenario": {"column": "scenario", "values": {"actual": "actual"}}}
    instance = instance_of(tmp_path, rows, bindings={"gl": {"map": meaning}})
    with pytest.raises(BindingFailed) as failed:
        run(instance, tmp_path / "state")
    assert list(format_rejects(failed.value.rejects)) == [
        "gl.csv row 3, scenario: 'actuel' is none of actual",
        "gl.csv row 4, scenario: is missing",
    ]


def test_a_reason_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, ONE_ROW, bindings={"gl": {"rejects": {"allow": {"blanks": 1}}}})
    with pytest.raises(InstanceFaults) as faults:
        read_instance(instance)
    assert "blank" in str(faults.value)


def test_a_column_that_the_extract_lacks(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, "day scenario account amount text\n2021-01-05 actual 0010 1 x")
    with pytest.raises(BindingFailed, match="has no column 'date'; it has day, scenario, account, amount, text"):
        run(instance, tmp_path / "state")


def test_unknown_ids_extend_a_dimension_where_the_feed_says_so(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, "date scenario account amount text\n2021-01-05 actual 0999 1 x")
    run(instance, tmp_path / "state")
    assert by_account(instance, tmp_path / "state") == {"0999": 1, None: 1}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("id name\n0010 Ten\n0010 Zehn", "1 of 2 rows rejected"),
        ("id name\n- Ten", "1 of 1 rows rejected"),
    ],
)
def test_members_without_an_id_or_with_one_twice(tmp_path: Path, table: str, says: str) -> None:
    instance = instance_of(tmp_path, ONE_ROW, tables={"account": table})
    with pytest.raises(BindingFailed, match=says) as failed:
        run(instance, tmp_path / "state")
    assert failed.value.binding == "account"
    assert current_version(tmp_path / "state" / "store") == 0


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ("node parent\nA B\nB C\nC A", "the nodes of tree go round in a circle: A → "),
        ("node parent\nA -\nB Z", "the parent 'Z' of 'B' is no node"),
        ("node parent weight\nA - 1\n0010 A half", "1 of 2 rows rejected"),
        ("node parent weight\nA - 1\n0010 A 1e-999999999", "1 of 2 rows rejected"),
        ("node parent weight\nA - 1\nB A 1\n0010 A 1\n0010 B 2", "'0010' reaches A by two paths with weights"),
        ("node parent weight\nA - 1\nB A 0.5\n0010 A 0.5\n0010 B 1", "'0010' reaches A by several paths with weights"),
    ],
)
def test_trees_that_cannot_hold(tmp_path: Path, nodes: str, says: str) -> None:
    instance = instance_of(
        tmp_path,
        ONE_ROW,
        tables={"account": "id\n0010", "tree": nodes},
        dimensions="""
            account: {kind: leaf, members: live.account}
            tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
        """,
    )
    with pytest.raises(BindingFailed, match=says) as failed:
        run(instance, tmp_path / "state")
    assert failed.value.binding == "tree"


def test_a_failed_load_leaves_the_books_as_they_were(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, "date scenario account amount text\n2021-01-05 actual 0010 7 x")
    run(instance, tmp_path / "state")
    before = pin_current(tmp_path / "state" / "store").manifest
    (instance / "data" / "gl.csv").write_text("date,scenario,account,amount,text\n2021-01-05,actual,0010,seven,x\n")
    with pytest.raises(BindingFailed):
        run(instance, tmp_path / "state", "account", "gl")
    assert pin_current(tmp_path / "state" / "store").manifest == before
    assert by_account(instance, tmp_path / "state") == {"0010": 7, None: 7}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"date,scenario\n2021,actual,too,many\n", "gl.csv row 2 has 4 values, and the table has 2 columns; set csv: "),
        (b"", "gl.csv is empty"),
        (b"date,text\n2021-01-05,M\x81ller\n", "row 2 has the byte 0x81, which is no UTF-8 and is 'Müller' in cp850"),
        (b'date,text\n2021-01-05,"cut\n', 'that " has no end: write a quotation mark inside a value twice'),
        (b"date;scenario;amount\n2021-01-05;actual;1\n", "set csv: {separator: ';'}"),
    ],
)
def test_a_file_that_is_no_table(tmp_path: Path, content: bytes, says: str) -> None:
    instance = instance_of(tmp_path)
    (instance / "data" / "gl.csv").write_bytes(content)
    with pytest.raises(BindingFailed, match=says):
        run(instance, tmp_path / "state")


def test_no_file_and_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = instance_of(tmp_path, bindings={"gl": {"file": "ledger_*.csv"}})
    with pytest.raises(BindingFailed, match="no file of source files matches ledger_"):
        run(instance, tmp_path / "state")
    rewrite(instance, sources={"files": {"kind": "folder", "path_env": "DROP_FOLDER"}})
    with pytest.raises(BindingFailed, match="needs the environment variable DROP_FOLDER"):
        run(instance, tmp_path / "state")
    monkeypatch.setenv("DROP_FOLDER", str(tmp_path / "nowhere"))
    with pytest.raises(BindingFailed, match="there is no such folder"):
        run(instance, tmp_path / "state")


def test_what_the_files_name_and_the_books_lack_is_told_with_its_line(tmp_path: Path) -> None:
    instance = instance_of(
        tmp_path,
        ONE_ROW,
        dimensions="""
            account: {kind: leaf, members: live.account}
            tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
        """,
        tables={
            "account": "id name\n0010 Ten\n20 Twenty",
            "tree": "node parent weight name leaf\nTop - 1 - -\n0010 Top 1 - -",
        },
        statements={"pnl": "- {rollup: {dimension: tree, node: Topp}}\n"},
        scenarios="""
            actual: {alias: A, kind: actual, variants: {low: {label: Low, adjust: [
              {where: {account: ["0010", "30"]}, factor: 0.9}]}}}
        """,
    )
    run(instance, tmp_path / "state")
    domain = instance / "domains" / "gl.yaml"
    domain.write_text(
        domain.read_text().replace("[text]", "[amount, text, memo]")
        + "  tens: {measure: amount, where: {account: [001]}}\n"
        + "balances: {cash: {where: {account: [other]}}}\n"
    )
    read = read_instance(instance)
    faults = data_faults(Shelf(read.catalogue, tmp_path / "state" / "store").current(), read.bindings)
    told = [fault.split(": ", 1) for fault in faults]
    assert [says for _, says in told] == [
        "live.gl (gl) has no column 'memo' in any load, so inspect_columns shows nothing of it; load it again",
        "metric tens: account has no '001' — did you mean '0010'?",
        "statement pnl, line tree.Topp: tree has no 'Topp' — did you mean 'Top'?",
        "balances cash of gl: account has no 'other'",
        "variant actual/low: account has no '30'",
    ]
    for (place, _), named in zip(told, ("memo", "[001]", "Topp", "[other]", '"30"'), strict=True):
        file, line = place.split(":")
        assert named in (instance / file).read_text().splitlines()[int(line) - 1]


def test_books_loaded_to_other_places_are_not_read(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, "date scenario account amount text\n2021-01-05 actual 0010 1.25 x")
    run(instance, tmp_path / "state")
    domain = instance / "domains" / "gl.yaml"
    domain.write_text(domain.read_text().replace("places: 2", "places: 4"))
    read = read_instance(instance)
    books = Shelf(read.catalogue, tmp_path / "state" / "store").current()
    (fault,) = data_faults(books, read.bindings)
    assert fault == "domains/gl.yaml:6: live.gl (gl) holds amount to 2 places, not 4; load it again"
    with pytest.raises(Unavailable, match="was loaded to 2 decimal places and the catalogue now says 4"):
        by_account(instance, tmp_path / "state")
    run(instance, tmp_path / "state")
    assert by_account(instance, tmp_path / "state")["0010"] == Decimal("1.25")
