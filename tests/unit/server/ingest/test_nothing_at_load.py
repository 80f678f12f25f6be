"""Texts that are no figure, remarks below the rows and factors in titles: found by a load, or refused in doubt."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from engine.door import open_books
from server.files import files
from server.ingest.load import BindingFailed
from tests.support.books.guessed_loads import load_by_guess
from tests.support.books.inspected import rows_of
from tests.support.books.loads import load_feeds
from tests.support.books.small import figures, write_instance
from tests.unit.server.files.test_formats import instance_of, loaded, refused
from tests.unit.server.ingest.test_detection_at_load import HEAD, proposed, rewrite, written


def test_texts_that_stand_for_no_figure_are_proposed_and_counted_once_they_are_written(tmp_path: Path) -> None:
    text = f"{HEAD}2026-01-31,1,5\n2026-01-31,1, - \n2026-01-31,2,#Missing\n2026-01-31,3,-\n2026-01-31,3,7.50\n"
    instance = instance_of(tmp_path, text)
    lines = proposed(instance)
    assert lines == ['numbers: {none: ["-", "#Missing"]}']
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, tmp_path / "fourth")
    assert "Missing" not in failed.value.recorded, "the history holds no text of a row"
    written(instance, lines)
    assert loaded(instance) == {"1": 5, "3": Decimal("7.5")}
    (done,) = load_feeds(instance, tmp_path / "third")
    assert done.not_loaded == "3 without a figure"


def test_a_feed_goes_on_by_the_texts_of_its_last_load_and_by_no_others(tmp_path: Path) -> None:
    instance, state = instance_of(tmp_path, f"{HEAD}2026-01-31,1,5\n2026-01-31,1,-\n"), tmp_path / "state"
    load_by_guess(instance, state)
    rewrite(instance, f"{HEAD}2026-01-31,1,5\n")
    load_feeds(instance, state)
    rewrite(instance, f"{HEAD}2026-01-31,1,5\n2026-01-31,1,-\n")
    (done,) = load_feeds(instance, state)
    assert [says[:60] for says in done.warnings] == ["gl is read as its last load was, with numbers: {none: […]}; "]
    rewrite(instance, f"{HEAD}2026-01-31,1,5\n2026-01-31,1,n/a\n")
    with pytest.raises(BindingFailed, match=r"amount is no number"):
        load_feeds(instance, state)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "is missing; set numbers: {blank: none} if it means no figure, {blank: zero} if it means 0"),
        ("#REF!", "is no number; set numbers: {none: […]} if it means no figure"),
    ],
)
def test_an_empty_amount_and_a_formula_that_failed_may_be_figures_that_are_lost(
    tmp_path: Path, written: str, says: str
) -> None:
    said = refused(instance_of(tmp_path, f"{HEAD}2026-01-31,1,5\n2026-01-31,1,{written}\n"))
    assert says in "\n".join(said)


@pytest.mark.parametrize("end", ["Exported on 2026-05-01,,\n", "\nReport of May\n", ",,\n,Page 1,\n\n"])
def test_remarks_below_the_rows_are_rejected_with_the_key_that_leaves_them_out(tmp_path: Path, end: str) -> None:
    instance = instance_of(tmp_path, f"{HEAD}2026-01-31,1,5\n2026-01-31,2,7\n{end}")
    (line,) = proposed(instance)
    assert line.startswith("csv: {skip_footer: ")
    written(instance, [line])
    assert loaded(instance) == {"1": 5, "2": 7}


@pytest.mark.parametrize("end", ['2026-02-01,3,"1\nReport"\n', "Sum,,12\n"])
def test_what_may_be_a_row_is_no_remark(tmp_path: Path, end: str) -> None:
    with pytest.raises(BindingFailed):
        load_feeds(instance_of(tmp_path, f"{HEAD}2026-01-31,1,5\n{end}"), tmp_path / "state")


@pytest.mark.parametrize(
    ("text", "evidence", "factor"),
    [
        (f"Group,,\nEUR m,,\n{HEAD}2026-01-31,1,5\n", "row 2: 'EUR m'", "1000000"),
        ("date,account,amount,amount kEUR\n2026-01-31,1,5,1\n", "row 1: 'amount kEUR'", "1000"),
    ],
)
def test_a_factor_in_a_title_or_a_name_is_refused_until_the_key_decides(
    tmp_path: Path, text: str, evidence: str, factor: str
) -> None:
    keys: dict[str, Any] = {"map": {"amount": "amount kEUR", "text": {"constant": "x"}}}
    keys = keys if "kEUR" in text else {"csv": {"header_row": 3}}
    instance = instance_of(tmp_path, text, **keys)
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, tmp_path / "state")
    ways = f'as they stand with numbers: {{factor: "1"}}, or amounts times that with numbers: {{factor: "{factor}"}}'
    assert str(failed.value) == (
        f"gl: gl.csv: {evidence} can be read in 2 ways: amounts {ways}; write one of them under gl in integrations.yaml"
    )
    amount = 1 if "kEUR" in text else 5
    for said in (factor, "1"):
        rewrite(instance, text, numbers={"factor": said})
        assert loaded(instance) == {"1": amount * int(said)}


@pytest.mark.parametrize("keys", [{"header_row": 3}, {"header_row": [2, 3]}, {"header_row": 3, "sheet": "Plan"}])
def test_a_factor_above_the_names_of_a_workbook_is_refused_wherever_the_names_are(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    rows = [("in Tsd. EUR",), (), ("date", "account", "amount"), ("2026-01-31", "1", "5")]
    instance = workbook_of(tmp_path, rows, **keys)
    (said,) = refused(instance)
    assert "row 1: 'in Tsd. EUR' can be read in 2 ways" in said
    keys["numbers"] = {"factor": "1000"}
    assert loaded(workbook_of(tmp_path / "mended", rows, **keys)) == {"1": 5000}


@pytest.mark.parametrize("columns", ["Umsatz TEUR..Kosten", "*TEUR", ["Umsatz TEUR", "Kosten"]])
def test_a_factor_in_the_name_of_a_column_that_becomes_rows_is_refused(tmp_path: Path, columns: Any) -> None:
    unpivot = {"columns": columns, "into": "account", "value": "amount"}
    text = "date,Umsatz TEUR,Kosten\n2026-01-31,5,2\n"
    (said,) = refused(instance_of(tmp_path, text, unpivot=unpivot))
    assert said.startswith("gl.csv: row 1: 'Umsatz TEUR' can be read in 2 ways")


def test_columns_that_a_statement_makes_and_unpivot_names_need_not_be_in_the_file(tmp_path: Path) -> None:
    unpivot = {"columns": ["4000", "5000"], "into": "account", "value": "amount"}
    sql = 'select date, sales as "4000", costs as "5000" from file'
    instance = instance_of(tmp_path, "date,sales,costs\n2026-01-31,5,2\n", unpivot=unpivot, sql=sql)
    assert loaded(instance) == {"4000": 5, "5000": 2}


def workbook_of(folder: Path, rows: Sequence[Sequence[Any]], **keys: Any) -> Path:
    """Write an instance whose ledger is a workbook; a text that begins with = is a formula with that error."""
    instance = instance_of(folder, "", file="gl.xlsx", **keys)
    with xlsxwriter.Workbook(instance / "data" / "gl.xlsx") as book:
        sheet = book.add_worksheet("Plan")
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                if str(cell).startswith("="):
                    sheet.write_formula(row, column, "=A1", None, cell[1:])
                else:
                    sheet.write(row, column, cell)
    return instance


@pytest.mark.parametrize("fault", ["#REF!", "#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#VALUE!"])
@pytest.mark.parametrize("numbers", [{}, {"blank": "none"}, {"blank": "zero"}])
def test_a_formula_that_failed_in_a_workbook_is_rejected_and_not_empty(
    tmp_path: Path, fault: str, numbers: dict[str, str]
) -> None:
    rows = [(), ("date", "account", "amount"), ("2026-01-31", "1", 5), ("2026-01-31", "2", f"={fault}")]
    instance = workbook_of(tmp_path, rows, numbers=numbers)
    assert refused(instance) == [
        f"gl.xlsx row 4, amount: '{fault}' is no number; set numbers: {{none: […]}} if it means no figure"
    ]
    instance = workbook_of(tmp_path / "allowed", rows, numbers=numbers, rejects={"allow": {"number": 1}})
    assert loaded(instance) == {"1": 5}


@pytest.mark.parametrize("column", ["date", "account"])
def test_a_formula_that_failed_is_no_day_and_no_id(tmp_path: Path, column: str) -> None:
    row = {"date": "2026-01-31", "account": "1", "amount": 5} | {column: "=#REF!"}
    (said,) = refused(workbook_of(tmp_path, [tuple(row), tuple(row.values())]))
    assert said.startswith(f"gl.xlsx row 2, {column}: '#REF!' is ")


@pytest.mark.parametrize(
    ("rows", "expected", "keys"),
    [
        (("01/02/2026,1,5", "13/02/2026,1,7"), {"2026-02": 12}, ['dates: {format: "%d/%m/%Y"}']),
        (("01/02/2026,1,5", "02/13/2026,1,7"), {"2026-01": 5, "2026-02": 7}, ['dates: {format: "%m/%d/%Y"}']),
        (("2026-01-31,1,1.230", "2026-01-31,1,12.5"), {"2026-01": Decimal("13.73")}, []),
        (
            ('2026-01-31,1,"1,230"', '2026-01-31,1,"1,5"'),
            {"2026-01": Decimal("2.73")},
            ['numbers: {decimal: ","}'],
        ),
    ],
)
@pytest.mark.parametrize("piece", [1, 2])
def test_what_a_text_means_does_not_depend_on_where_a_batch_ends(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: tuple[str, ...],
    expected: dict[str, Decimal],
    keys: list[str],
    piece: int,
) -> None:
    monkeypatch.setattr(files, "PIECE", piece)
    instance = instance_of(tmp_path, HEAD + "\n".join(rows) + "\n")
    if keys:
        assert proposed(instance) == keys
        written(instance, keys)
    for period, amount in expected.items():
        assert loaded(instance, period) == {"1": amount}


@pytest.mark.parametrize("piece", [1, 3])
def test_a_file_that_stays_open_to_its_end_is_refused_however_it_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(files, "PIECE", piece)
    (said,) = refused(instance_of(tmp_path, f"{HEAD}01/02/2026,1,5\n03/04/2026,1,7\n"))
    assert said.startswith("gl.csv: date, row 2: '01/02/2026' can be read in 2 ways")


def test_a_row_with_a_blank_in_one_of_its_measures_is_loaded_with_the_others(tmp_path: Path) -> None:
    domain = """
        time: {column: date}
        dimensions: {account: account}
        inspect_enabled: true
        measures: {amount: {places: 2}, hours: {type: number, places: 1}}
        metrics:
          revenue: {measure: amount}
          hours: {measure: hours}
          least: {measure: hours, over_members: min}
          mean: {measure: hours, over_members: average}
          rows: {over_members: count}
    """
    instance = write_instance(
        tmp_path / "small",
        facts={"gl": "a"},
        domains={"gl": domain},
        dimensions="account: {kind: leaf}",
        bindings={"gl": {"scenario": "actual", "numbers": {"blank": "none"}}},
    )
    rows = ("2026-01-31,1,5,2.5", "2026-01-31,1,7,", "2026-01-31,2,,4", "2026-01-31,3,,")
    (instance / "data" / "gl.csv").write_text("date,account,amount,hours\n" + "\n".join(rows) + "\n")
    (done,) = load_feeds(instance, tmp_path / "state")
    assert (done.rows_landed, done.not_loaded) == (3, "1 without a figure")
    books = open_books(instance, state=tmp_path / "state")
    asked: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2026-01", "dimensions": ["account"]}
    assert figures(books.metric("revenue", **asked), "account") == {"1": 12, None: 12}
    assert figures(books.metric("mean", **asked), "account") == {"1": Decimal("2.5"), "2": 4, None: Decimal("3.25")}
    assert figures(books.metric("least", **asked), "account") == {"1": Decimal("2.5"), "2": 4, None: Decimal("2.5")}
    assert figures(books.metric("rows", **asked), "account") == {"1": 2, "2": 1, None: 3}
    for metric, total, contributed in (("revenue", 12, [5, 7]), ("hours", Decimal("6.5"), [Decimal("2.5"), 4])):
        shown = rows_of(books, period_start="2026-01", filters={"metric": metric})
        assert shown["contribution_total"] == total
        assert [row[-1] for row in shown["rows"]] == contributed
    assert [row[2:4] for row in shown["rows"]] == [[5, 2.5], [None, 4]]
