"""Rejected cells of months across: each takes away its own month and no other one of its row."""

import csv
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import yaml

from engine.door import open_books
from server.files.rejects import FILE, ROW, Rejects, report_file, write_report
from server.ingest.load import BindingFailed
from tests.support.books.loads import load_feeds
from tests.support.books.small import figures, write_instance
from tests.unit.server.files.test_formats import instance_of, loaded

ACROSS = {"unpivot": {"columns": "Jan..Mar", "into": "date", "value": "amount", "year": "2025"}}


def test_a_rejected_cell_leaves_the_other_months_of_its_row(tmp_path: Path) -> None:
    text = "account,Jan,Feb,Mar\n4000,1,#REF!,4\n5000,8,16,32\n"
    with pytest.raises(BindingFailed, match=r"1 of 6 rows rejected, .* \{number: 1\}\} would load the others"):
        load_feeds(instance_of(tmp_path / "refused", text, "month", **ACROSS), tmp_path / "state")
    instance = instance_of(tmp_path, text, "month", **ACROSS, rejects={"allow": {"number": 1}})
    assert loaded(instance, "2025-01") == {"4000": 1, "5000": 8}
    assert loaded(instance, "2025-02") == {"5000": 16}
    assert loaded(instance, "2025") == {"4000": 1 + 4, "5000": 8 + 16 + 32}
    (done,) = load_feeds(instance, tmp_path / "third")
    assert (done.rows_read, done.rows_landed, done.rejects.height) == (6, 5, 1)
    assert [str(each) for each in done.sums] == ["1 row: amount is no number ('#REF!' 1)"]


def test_amounts_of_rejected_cells_are_theirs_alone(tmp_path: Path) -> None:
    text = "account,Jan,Feb,Mar\n4000,1,2.125,4\n4000,8,16.5,6.875\n"
    instance = instance_of(tmp_path, text, "month", **ACROSS, rejects={"allow": {"decimals": 2}})
    assert loaded(instance, "2025") == {"4000": Decimal(1) + 4 + 8 + Decimal("16.5")}
    state = tmp_path / "third"
    (done,) = load_feeds(instance, state)
    assert [str(each) for each in done.sums] == ["2 rows: amount has more than 2 decimal places, amount 9"]
    report = pl.read_csv(state / "rejects" / f"{done.load}.csv", infer_schema=False)
    assert report.filter(pl.col("row").is_not_null()).select("row", "found").rows() == [("2", "2.125"), ("3", "6.875")]
    assert report.filter(pl.col("row").is_null())["sum of amount"].to_list() == ["9"]


def test_a_cell_of_the_report_that_a_spreadsheet_would_calculate_has_an_apostrophe(tmp_path: Path) -> None:
    texts = ["=1+1", "+A1", "-A1", "@x", "\tx", "\rx", "-1,234.50", "+7", "plain", "-12.5%", "-1+1"]
    rejects = Rejects()
    rejects.begin(pl.DataFrame({FILE: "=a.csv", ROW: range(len(texts))}))
    every = pl.repeat(value=True, n=len(texts), dtype=pl.Boolean, eager=True)
    rejects.where(every, "account", pl.Series(texts), "is no member")
    path = write_report(rejects, tmp_path, "load")
    assert path is not None
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["row"]]
    quoted = {"=1+1", "+A1", "-A1", "@x", "\tx", "\rx", "-1+1"}
    assert [row["found"] for row in rows] == [f"'{text}" if text in quoted else text for text in texts]
    assert {row["file"] for row in rows} == {"'=a.csv"}


ODD = ["=1+1", "+A1", "-A1", "@x", "-12", "'=9", "''+x", "O'Neil", "'quoted'"]


def test_a_feed_that_loads_a_report_of_rejects_has_the_texts_of_the_cells(tmp_path: Path) -> None:
    facts = "date scenario account amount\n" + "\n".join(f"2021-01-05 actual {name} 1" for name in ODD)
    instance = write_instance(
        tmp_path / "small",
        facts={"gl": facts},
        tables={"account": "id name\nA Known"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {places: 2}}
            metrics: {revenue: {measure: amount}}
            """
        },
        dimensions="account: {kind: leaf, members: live.account}",
        bindings={"gl": {"unknown_members": "reject"}},
    )
    state = tmp_path / "state"
    load_feeds(instance, state, "account")
    with pytest.raises(BindingFailed) as refused:
        load_feeds(instance, state, "gl")
    with report_file(state / "rejects", refused.value.load_id).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["row"]]
    with (instance / "data" / "account.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))  # without the sums: somebody corrected it
        writer.writeheader()
        writer.writerows(rows)
    feeds = yaml.safe_load((instance / "integrations.yaml").read_text())
    feeds["bindings"]["account"]["map"] = {"id": "found", "name": "reason"}
    (instance / "integrations.yaml").write_text(yaml.safe_dump(feeds))
    load_feeds(instance, state)
    report = open_books(instance, state=state).metric(
        "revenue", scenarios={"A": "actual"}, period="2021", dimensions=["account"]
    )
    assert figures(report, "account") == dict.fromkeys(ODD, 1) | {None: len(ODD)}
