"""tieout init: from files of one's own to an instance that loads; nothing where they can be read in two ways."""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from time import sleep

import polars as pl
import pytest
import xlsxwriter

from server.base.settings import Settings
from server.feeds.instance import read_instance
from server.files.findings import SampleFault
from server.files.sampling import sample_file
from server.run.commands import init
from server.setup.answers import Answers
from tests.support.books.newcomer import first_statement, initialised
from tests.support.service.pauses import without_callbacks

LEDGER = """date,scenario,account,account_name,cost_centre,amount,memo
2026-01-05,actual,4000,Sales,CC1,-1000.00,Invoice 1
2026-01-06,actual,5000,Materials,CC1,400.50,Steel
2026-02-06,budget,4000,Sales,CC2,-900.00,
2026-02-06,actual,6000,Rent,CC2,300.00,Rent
"""
CHART = "account,name,class,group\n4000,Sales,Result,Revenue\n5000,Materials,Result,Costs\n6000,Rent,Result,Costs\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A ledger and its chart of accounts."""
    ledger, chart = tmp_path / "ledger.csv", tmp_path / "accounts.csv"
    ledger.write_text(LEDGER)
    chart.write_text(CHART)
    return ledger, chart


def test_a_ledger_and_its_chart_become_a_statement(tmp_path: Path, files: tuple[Path, Path]) -> None:
    assert initialised(tmp_path / "books", *files) == 0
    figures = first_statement(tmp_path / "books", tmp_path / "state")
    assert figures == {
        "Revenue": Decimal(-1000),
        "Sales": Decimal(-1000),
        "Costs": Decimal("700.5"),
        "Materials": Decimal("400.5"),
        "Rent": Decimal(300),
        "Amount": Decimal("-299.5"),
    }


def test_what_was_guessed_is_printed_with_its_reason(
    tmp_path: Path, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    initialised(tmp_path / "books", *files)
    told = capsys.readouterr().out
    assert "  date: time — '2026-01-05' is a date\n" in told
    assert "  account: members from accounts.csv — 100% of the ids in account are in account of accounts.csv\n" in told
    assert "  currency XXX — no file names one; XXX means none: set currency in instance.yaml\n" in told


def test_nothing_is_overwritten(tmp_path: Path, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    books = tmp_path / "books"
    books.mkdir()
    (books / "instance.yaml").write_text("name: Mine\n")
    assert initialised(books, *files) == 1
    assert "exists and is not empty; init overwrites nothing: name a new folder" in capsys.readouterr().err
    assert [path.name for path in books.iterdir()] == ["instance.yaml"]


def test_a_text_with_two_readings_writes_nothing_and_shows_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "ledger.csv"
    ledger.write_text("date,account,amount\n01/02/2026,4000,1.50\n03/02/2026,5000,2.50\n")
    assert initialised(tmp_path / "books", ledger) == 3
    told = capsys.readouterr().err
    assert "  ledger.csv:\n  # date, row 2: '01/02/2026' can be read in 2 ways\n" in told
    assert '  #- {dates: {format: "%d/%m/%Y"}}   # 1 February 2026\n' in told
    assert '  #- {dates: {format: "%m/%d/%Y"}}   # 2 January 2026\n' in told
    assert not (tmp_path / "books").exists()


def test_an_answer_decides_between_two_readings(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.csv"
    ledger.write_text("date,account,amount\n01/02/2026,4000,1.50\n03/02/2026,5000,2.50\n")
    for number, (format_, month) in enumerate({"%d/%m/%Y": "2026-02", "%m/%d/%Y": "2026-03"}.items()):
        books = tmp_path / f"books{number}"
        answers = (
            f'files: {{ledger.csv: {{dates: {{format: "{format_}"}}, columns: {{account: account}}}}}}\ncurrency: GBP\n'
        )
        assert initialised(books, ledger, answers=answers) == 0
        catalogue = read_instance(books).catalogue
        assert catalogue.currency == "GBP"
        assert catalogue.default.period_end == month


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("curency: EUR\n", "says 'curency', which is no key; did you mean currency?"),
        ("files: {ledger.csv: {columns: {date: day}}}\n", "column date of ledger.csv is 'day'; it takes time, year"),
        ("files: {ledger.csv: {is: fact}}\n", "ledger.csv is 'fact'; it takes facts, members, unused"),
        ("files: {ledger: {is: facts}}\n", "there is no file 'ledger'"),
        (
            "files: {accounts.csv: {columns: {Konto: account}}}\n",
            "of accounts.csv, and there is no column 'Konto'; there are account, name, class, group",
        ),
    ],
)
def test_an_answer_that_is_none_is_refused(
    tmp_path: Path, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], answers: str, message: str
) -> None:
    assert initialised(tmp_path / "books", *files, answers=answers) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "books").exists()


def test_a_limit_of_time_that_was_swallowed_once_is_told_again() -> None:
    with pytest.raises(SampleFault, match="it takes too long to read"), init.bounded("gl.csv", 1):
        with suppress(SampleFault):
            sleep(30)
        sleep(30)


def test_columns_named_as_what_all_facts_have_are_loaded_under_other_names(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.csv"
    names = "date,period,rows,span,bucket,contribution,value,account,amount"
    ledger.write_text(f"{names}\n2026-01-04,2026-01,r1,s1,b1,c1,3,4000,1.50\n2026-01-05,2026-01,r2,s1,b1,c2,4,5000,2\n")
    assert initialised(tmp_path / "books", ledger) == 0
    assert first_statement(tmp_path / "books", tmp_path / "state")["Amount"] == Decimal("3.5")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("empty.csv", "", "empty.csv is empty"),
        ("numbers.csv", "1,2\n3,4\n", "numbers.csv has no heading"),
        ("ledger.doc", "a,b\n1,2\n", "ledger.doc is none of .csv, .txt, .tsv, .tab, .asc, .xlsx, .xlsm, .xlsb"),
        (
            "names.csv",
            "id,name\n1,Anna\n2,Bert\n",
            "none of the tables holds facts: names.csv has no column of amounts",
        ),
    ],
)
def test_a_file_without_facts_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    assert initialised(tmp_path / "books", tmp_path / name) == 1
    assert message in capsys.readouterr().err


def test_a_parquet_file_needs_no_formats(tmp_path: Path) -> None:
    frame = pl.DataFrame({"day": ["2026-01-05", "2026-03-06"], "account": ["4000", "5000"], "amount": ["1.25", "2.50"]})
    typed = frame.with_columns(pl.col("day").str.to_date(), pl.col("amount").cast(pl.Decimal(12, 2)))
    typed.write_parquet(tmp_path / "ledger.parquet")
    assert initialised(tmp_path / "books", tmp_path / "ledger.parquet") == 0
    figures = first_statement(tmp_path / "books", tmp_path / "state")
    assert figures == {
        "Account (all)": Decimal("3.75"),
        "4000": Decimal("1.25"),
        "5000": Decimal("2.5"),
        "Amount": Decimal("3.75"),
    }


def test_parents_and_operators_become_a_weighted_tree(tmp_path: Path) -> None:
    chart, ledger = tmp_path / "DimAccount.csv", tmp_path / "facts.csv"
    chart.write_text("AccountKey,ParentAccountKey,AccountName,Operator\n1,,Profit,+\n2,1,Income,+\n3,1,Cost,-\n")
    ledger.write_text("date,account_key,scenario_key,amount\n2026-01-05,2,1,10.00\n2026-01-06,3,1,4.00\n")
    names = tmp_path / "DimScenario.csv"
    names.write_text("ScenarioKey,ScenarioName\n1,Actual\n2,Budget\n")
    assert initialised(tmp_path / "books", chart, ledger, names) == 0
    assert first_statement(tmp_path / "books", tmp_path / "state") == {
        "Profit": Decimal(6), "Income": Decimal(10), "Cost": Decimal(4), "Amount": Decimal(14),
    }  # fmt: skip
    assert list(read_instance(tmp_path / "books").catalogue.scenarios) == ["actual"]


def test_months_across_without_a_year_ask_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("account,Jan,Feb,Mar\n4000,1,2,3\n5000,4,5,6\n")
    assert initialised(tmp_path / "books", plan) == 3
    assert "the columns Jan to Mar name no year, and nor does the file" in capsys.readouterr().err
    assert initialised(tmp_path / "books", plan, answers="unpivot: {year: 2026}\n") == 0


def test_lines_and_headers_that_one_feed_cannot_read_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headers, lines = tmp_path / "headers.csv", tmp_path / "lines.csv"
    headers.write_text("Document No;Posting date\nD0001;2026-01-10\nD0002;2026-01-11\n")
    lines.write_text("Document No,Account,Amount\nD0001,4000,1.50\nD0001,5000,-1.50\nD0002,4000,2.50\n")
    assert initialised(tmp_path / "books", headers, lines) == 1
    told = capsys.readouterr().err
    assert "lines.csv has amounts and no days; headers.csv has the Posting date of each Document No" in told
    assert "their files are not written alike: save them alike, or bring both as one table" in told
    assert not (tmp_path / "books").exists()


def test_an_equal_question_of_several_files_is_asked_once_and_all_others_without_limit(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(question: str, choices: Sequence[str]) -> str | None:
        asked.append(question)
        return choices[0] if choices else None

    for number in range(7):
        (tmp_path / f"ledger{number}.csv").write_text(f"date,account{number},amount\n0{number + 1}/02/2026,4000,1.50\n")
        (tmp_path / f"same{number}.csv").write_text(f"date,account{number},amount\n09/02/2026,4000,1.50\n")
    answers = Answers()
    tables = [table for path in sorted(tmp_path.iterdir()) for table in sample_file(path)]
    init.propose_asking(tables, answers, "books", ask)
    assert len(asked) == 8  # those of seven files, and one of seven others
    assert sum(question.startswith("same0.csv, same1.csv, same2.csv") for question in asked) == 1
    assert (answers.open, answers.questions) == ([], [])


@pytest.mark.parametrize("name", ["wide.csv", "wide.xlsx"])
def test_a_file_that_takes_longer_than_its_time_is_refused_by_name(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    columns, path = [f"column {at}" for at in range(12_000)], tmp_path / name
    table = [columns, *([f"{row}.{at}" for at in range(len(columns))] for row in range(40))]
    if name.endswith(".csv"):
        path.write_text("\n".join(map(",".join, table)))
    else:
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            for at, row in enumerate(table):
                sheet.write_row(at, 0, row)
    asked = argparse.Namespace(folder=tmp_path / "books", files=[path], answers=None, no_load=True, yes=False)
    with without_callbacks():
        assert init.run(asked, Settings(init_seconds=1)) != 0
    told = capsys.readouterr().err
    assert f"{name}: it takes too long to read; the limit is 1 s. Mend the file, or raise SVC_INIT_SECONDS" in told
    assert "Nothing was written." in told
    assert not (tmp_path / "books").exists()
