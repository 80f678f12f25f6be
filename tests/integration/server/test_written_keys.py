"""The way over to written keys, as an operator goes it: a refused load, `check --data --write`, a load, a server."""

from pathlib import Path

import pytest
import yaml

from tests.support.books.guessed_loads import load_by_guess
from tests.support.books.newcomer import initialised
from tests.support.service.daemons import books_with
from tests.support.service.forks import tieout
from tests.support.service.servers import connected, serving

pytestmark = pytest.mark.usefixtures("history")
LEDGER = (
    "Journal der Müller AG\n\ndate;scenario;account;amount\n31.01.2021;actual;10;1.234,50\n01.02.2021;actual;10;7,25-\n"
    "01.02.2021;actual;10;-\nErstellt am 1.3.2021;;;\n"
)
LINES = [
    '    csv: {separator: ";", encoding: "windows-1252", header_row: 3, skip_footer: 1}',
    '    numbers: {decimal: ",", thousands: ".", negative: "trailing", none: ["-"]}',
    '    dates: {format: "%d.%m.%Y"}',
]
COLUMN = [{"scenario": "actual", "alias": "A"}]


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """Books whose ledger is written as a German program exports it, and whose feeds say nothing of it."""
    instance = books_with(tmp_path)
    (instance / "profiles.yaml").unlink()  # the one user sees everything
    (instance / "data" / "gl.csv").write_bytes(LEDGER.encode("windows-1252"))
    return instance


def served_figure(instance: Path, period: str) -> object:
    """Return the revenue that a server of the instance answers."""
    with serving(instance, instance / ".tieout") as server, connected(server.url, "auto") as client:
        told = client.ask("run_metric_data", metrics=["revenue"], scenarios=COLUMN, period_start=period)
    ((row),) = told["rows"]
    return row["values"][0]


def test_keys_are_proposed_written_after_the_control_table_and_loaded(books: Path) -> None:
    before = yaml.safe_load((books / "integrations.yaml").read_text())
    failed = tieout("load", "--instance", books)
    assert failed.returncode == 1
    said = failed.stderr.splitlines()
    first = next(at for at, line in enumerate(said) if line.startswith("Nothing was published. gl: gl.csv shows csv: "))
    assert [line.partition(" (failed")[0] for line in said[first + 1 : first + 4]] == LINES
    assert not (books / ".tieout" / "store" / "CURRENT").exists()
    checked = tieout("check", "--data", books)
    assert [checked.stdout.splitlines().count(line) for line in LINES] == [1, 1, 1]
    assert "gl: a load would fail without the keys above" in checked.stdout.splitlines()
    assert yaml.safe_load((books / "integrations.yaml").read_text()) == before, "a check writes nothing unasked"
    written = tieout("check", "--data", "--write", books).stdout.splitlines()
    table = "  control gl.csv: 3 rows; amount 3 = 2 loaded + 1 blank; Σ 1,227.25 = 1,227.25 loaded"
    assert written.index(table) < written.index("integrations.yaml: written under gl:")
    assert written[-3:] == LINES
    after = yaml.safe_load((books / "integrations.yaml").read_text())
    assert after["bindings"]["gl"].pop("csv") == {
        "encoding": "windows-1252", "separator": ";", "header_row": 3, "skip_footer": 1
    }  # fmt: skip
    assert after["bindings"]["gl"].pop("dates") == {"format": "%d.%m.%Y"}
    assert after["bindings"]["gl"].pop("numbers")["none"] == ["-"]
    assert after == before
    loaded = tieout("load", "--instance", books)
    assert loaded.returncode == 0, loaded.stderr
    assert "read with" not in loaded.stdout
    assert table in loaded.stdout.splitlines()
    assert served_figure(books, "2021") == 1227.25
    again = tieout("check", "--data", "--write", books)
    assert again.returncode == 0, again.stderr
    assert "integrations.yaml: nothing was written" in again.stdout


def test_keys_of_the_last_load_are_written_where_the_file_alone_would_not_decide(books: Path) -> None:
    ledger = books / "data" / "gl.csv"
    ledger.write_text('date,scenario,account,amount\n31/01/2021,actual,10,"1,5"\n')
    load_by_guess(books, books / ".tieout")
    ledger.write_text("date,scenario,account,amount\n03/02/2021,actual,10,1234\n")
    warned = tieout("load", "--instance", books)
    assert warned.returncode == 0, warned.stderr
    assert (
        'gl is read as its last load was, with numbers: {decimal: ","}, dates: {format: "%d/%m/%Y"}; the next release '
        "reads by written keys alone: tieout check --data --write writes them"
    ) in warned.stdout
    written = tieout("check", "--data", "--write", books)
    assert written.returncode == 0, written.stderr
    lines = written.stdout.splitlines()
    at = lines.index("integrations.yaml: written under gl:")
    assert lines[at + 1 : at + 3] == ['    numbers: {decimal: ","}', '    dates: {format: "%d/%m/%Y"}']
    loaded = tieout("load", "--instance", books)
    assert "as its last load was" not in loaded.stdout
    assert served_figure(books, "2021-02") == 1234


def test_what_the_files_do_not_decide_is_not_written(books: Path) -> None:
    before = (books / "integrations.yaml").read_text()
    (books / "data" / "gl.csv").write_text("date,scenario,account,amount\n01/02/2021,actual,10,5\n")
    checked = tieout("check", "--data", "--write", books)
    assert checked.returncode == 1
    assert "'01/02/2021' can be read in 2 ways" in checked.stdout
    assert "integrations.yaml: nothing was written" in checked.stdout
    assert (books / "integrations.yaml").read_text() == before


def test_keys_for_the_rows_of_a_statement_are_written_too(books: Path) -> None:
    feeds = yaml.safe_load((books / "integrations.yaml").read_text())
    feeds["bindings"]["gl"] |= {"sql": "select date, scenario, account, amount from file", "csv": {"separator": ";"}}
    (books / "integrations.yaml").write_text(yaml.safe_dump(feeds))
    (books / "data" / "gl.csv").write_text("date;scenario;account;amount\n31.01.2021;actual;10;1.234,50\n")
    checked = tieout("check", "--data", books)
    assert "gl: a load would fail: sql shows numbers: " in checked.stdout
    assert "or run tieout check --data --write:" in checked.stdout
    written = tieout("check", "--data", "--write", books)
    assert written.stdout.splitlines()[-2:] == [
        '    numbers: {decimal: ",", thousands: "."}',
        '    dates: {format: "%d.%m.%Y"}',
    ]
    loaded = tieout("load", "--instance", books)
    assert loaded.returncode == 0, loaded.stderr
    assert "Σ 1,234.50" in loaded.stdout


def test_write_belongs_to_data(books: Path) -> None:
    refused = tieout("check", "--write", books)
    assert (refused.returncode, refused.stderr) == (
        1,
        "--write belongs to --data: tieout check --data --write FOLDER\n",
    )


def test_init_writes_the_point_by_which_a_later_file_has_one_meaning(tmp_path: Path) -> None:
    ledger, books = tmp_path / "ledger.csv", tmp_path / "books"
    ledger.write_text("date,account,amount\n2021-01-31,10,12.50\n2021-02-28,20,7.25\n2021-02-28,20,-19.75\n")
    assert initialised(books, ledger) == 0
    assert 'numbers: {decimal: "."}' in (books / "integrations.yaml").read_text()
    ledger.write_text("date,account,amount\n2021-01-31,10,1.230\n2021-02-28,20,2.500\n")
    loaded = tieout("load", "--instance", books)
    assert loaded.returncode == 0, loaded.stderr
    assert "amount 2, all loaded, Σ 3.73" in loaded.stdout
    assert "as its last load was" not in loaded.stdout
