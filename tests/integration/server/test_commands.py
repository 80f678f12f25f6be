"""`tieout load`, `tieout loads` and `tieout provision` as an operator meets them."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from engine.facts.manifest import current_version
from server.feeds.feeds import LoadStatus
from server.ingest.load import BindingFailed
from server.run.cli import main
from tests.support.books.loads import load_feeds
from tests.support.service.daemons import attempts, books_with, platform_of, running
from tests.support.service.forks import tieout
from tests.support.service.servers import SERVE, wait_for

pytestmark = pytest.mark.usefixtures("history")
BY_PERIOD = {"load": "replace_periods", "file": "gl_{period}.csv"}


@pytest.fixture
def monthly(tmp_path: Path) -> Path:
    """Books whose ledger is a file for each month, of three months."""
    instance = books_with(tmp_path, gl=BY_PERIOD)
    for month in (1, 2, 3):
        rows = f"date,scenario,account,amount\n2021-{month:02}-05,actual,10,{month}\n"
        (instance / "data" / f"gl_2021-{month:02}.csv").write_text(rows)
    return instance


def brought(instance: Path, *feeds: str, periods: str = "") -> None:
    """Load some feeds, and remember it."""
    with platform_of(instance, instance / ".tieout") as opened:
        load_feeds(instance, instance / ".tieout", *feeds, loads=opened.loads, periods=periods)


def test_a_load_asks_for_the_periods_that_are_named(monthly: Path) -> None:
    brought(monthly, "account")
    first = tieout("load", "gl", "--period", "2021-Q1", "--due", "2021-04-01T05:15:00+02:00", "--instance", monthly)
    assert (first.returncode, first.stdout.split(" (")[0]) == (0, "gl: 3 of 3 rows")
    again = tieout("load", "gl", "--period", "2021-02", "--instance", monthly)
    assert (again.returncode, again.stdout.split(" (")[0]) == (0, "gl: 1 of 1 rows")
    missing = tieout("load", "gl", "--period", "2021-03..2021-04", "--instance", monthly)
    assert missing.returncode == 1
    assert (
        "Nothing was published. gl: no file of source files matches gl_2021-04.csv (failed_extract)" in missing.stderr
    )
    assert "Mend the query or the file, or what integrations.yaml says of it, then load again." in missing.stderr
    listed = tieout("loads", "--binding", "gl", "--instance", monthly).stdout.splitlines()
    assert listed[0].split()[:4] == ["started", "(UTC)", "feed", "status"]
    assert [line.split()[3:5] for line in listed[1:] if not line.startswith(" ")] == [
        ["failed_extract", "2021-03..2021-04"],
        ["success", "2021-02"],
        ["success", "2021-01..2021-03"],
    ]
    assert listed[2] == "    no file of source files matches gl_2021-04.csv"
    assert listed[-1].endswith("2021-04-01 03:15:00")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--period", "2021-02"], "with load: replace_periods, unlike account; name gl alone."),
        (["account", "--period", "2021-02"], "with load: replace_periods, unlike account; leave it out."),
        (["gl", "--period", "2021-2"], "--period '2021-2' is no period code. It is "),
        (["gl", "--period", "2021-13"], "there is no such month from 1900-01 to 2199-12"),
        (["gl", "--period", "2021-03..2021-01"], "comes after period_end '2021-01'. Exchange them."),
        (["gl", "--period", "2021-01..2021-Q2"], "Give both bounds at one grain."),
        (["gll"], "There is no feed gll; known: account, gl"),
    ],
)
def test_a_load_that_cannot_be_says_which_could(
    monthly: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["load", *arguments, "--instance", str(monthly)]) == 1
    assert says in capsys.readouterr().err
    assert attempts(monthly, monthly / ".tieout") == []


def test_rejected_rows_are_on_the_screen_and_in_a_file_that_the_history_names(monthly: Path) -> None:
    (monthly / "data" / "gl_2021-01.csv").write_text("date,scenario,account,amount\n2021-01-05,actual,10,x\n")
    failed = tieout("load", "account", "gl", "--instance", monthly)
    assert failed.returncode == 1  # no month is named: the recent ones have no file
    failed = tieout("load", "gl", "--period", "2021-01", "--instance", monthly)
    assert "gl: 1 of 1 rows rejected, 0 allowed: 1 amount is no number" in failed.stderr
    assert "Mend the rows at their source" in failed.stderr
    (report,) = [line for line in failed.stderr.splitlines() if "all that were read: " in line]
    path = Path(report.partition(": ")[2])
    assert path.read_text().splitlines()[2] == "gl_2021-01.csv,2,amount,x,is no number,"
    assert f"rejected rows: {path}" in tieout("loads", "--status", "failed_validate", "--instance", monthly).stdout
    assert len(attempts(monthly, monthly / ".tieout")) == 3


def test_a_load_that_the_daemon_starts_prints_counts_and_no_amounts(monthly: Path) -> None:
    rows = "2021-01-05,actual,10,7391.17\n2021-01-05,actual,77,8264.25\n"
    (monthly / "data" / "gl_2021-01.csv").write_text(f"date,scenario,account,amount\n{rows}")
    due = ("--period", "2021-01", "--due", "2021-04-01T05:15:00+02:00", "--instance", monthly)
    allowed = monthly / "integrations.yaml"
    brought(monthly, "account")
    failed = tieout("load", "gl", *due)
    known = yaml.safe_load(allowed.read_text())
    known["bindings"]["gl"] |= {"unknown_members": "reject", "rejects": {"allow": {"member": 1}}}
    allowed.write_text(yaml.safe_dump(known))
    told, whole = tieout("load", "gl", *due), tieout("load", "gl", "--period", "2021-01", "--instance", monthly)
    assert (failed.returncode, told.returncode, whole.returncode) == (0, 0, 0)
    assert "control gl_2021-01.csv: 2 rows; amount 2 = 1 loaded + 1 rejected\n" in told.stdout
    assert "1: account is no member of account" in told.stderr
    assert "Σ 15,655.42 = 7,391.17 loaded + 8,264.25 rejected" in whole.stdout
    for printed in (failed, told):
        assert not re.search(r"7,?391|8,?264|15,?655", printed.stdout + printed.stderr)


def test_the_history_is_filtered_and_cut(monthly: Path) -> None:
    none = tieout("loads", "--instance", monthly)
    assert (none.returncode, none.stdout) == (0, "No such load is on record.\n")
    brought(monthly, "gl", periods="2021-01")
    with pytest.raises(BindingFailed):
        brought(monthly, "gl", periods="2021-04")
    brought(monthly, "gl", periods="2021-02")
    failed = tieout("loads", "--status", "failed", "--instance", monthly).stdout.splitlines()
    assert [line.split()[4] for line in failed[1::2]] == ["2021-04"]
    latest = tieout("loads", "--limit", "1", "--instance", monthly).stdout.splitlines()
    assert [line.split()[4] for line in latest[1:]] == ["2021-02"]
    unknown = tieout("loads", "--binding", "gll", "--instance", monthly)
    assert (unknown.returncode, unknown.stderr) == (1, "There is no feed gll; known: account, gl\n")


def test_a_load_without_its_history_loads_nothing_and_tells_no_secret(monthly: Path, tmp_path: Path) -> None:
    nowhere = f"postgresql://tieout:hidden@/platform?host={tmp_path}"
    failed = tieout("load", "gl", "--period", "2021-01", "--instance", monthly, DATABASE_URL=nowhere)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "database" in failed.stderr
    assert "hidden" not in failed.stderr
    assert current_version(monthly / ".tieout" / "store") == 0


def test_a_second_load_of_a_table_says_that_one_is_under_way(
    monthly: Path, monkeypatch: pytest.MonkeyPatch, embedded_server: str
) -> None:
    monkeypatch.setenv("ERP_DATABASE_URI", embedded_server)
    slow_ledger(monthly)
    with running(monthly, monthly / ".tieout", "load", "gl") as first:
        lock = monthly / ".tieout" / "loading" / "live.gl.lock"
        wait_for(lambda: lock.exists() and lock.read_text() == str(first.process.pid))
        second = tieout("load", "gl", "--instance", monthly)
        busy = f"another load of live.gl is under way (process {first.process.pid}). Load again when it has ended."
        assert (second.returncode, second.stderr) == (1, f"Nothing was published: {busy}\n")
        assert first.end(signal.SIGINT) == 130


def slow_ledger(instance: Path) -> None:
    """Let the ledger come from a query that takes ten minutes."""
    path = instance / "integrations.yaml"
    known = yaml.safe_load(path.read_text())
    known["sources"]["erp"] = {"kind": "postgresql", "uri_env": "ERP_DATABASE_URI"}
    extract = "select date '2021-01-05' as date, 'actual' as scenario, '10' as account, 7 as amount from pg_sleep(600)"
    known["bindings"]["gl"] = {"source": "erp", "target": "live.gl", "extract": extract}
    path.write_text(yaml.safe_dump(known))


# -------------------------------------------------------------------------------------------------- provision


def test_provision_tells_what_the_books_hold_and_what_they_lack(monthly: Path) -> None:
    empty = tieout("provision", "--instance", monthly)
    assert (empty.returncode, empty.stdout.splitlines()[0]) == (1, "gl: nothing is loaded")
    assert "live.gl (gl) is not loaded" in empty.stderr
    brought(monthly, "account")
    brought(monthly, "gl", periods="2021-01..2021-03")
    done = tieout("provision", "--instance", monthly)
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    assert told[0].startswith("gl: 3 rows, 3 months from 2021-01 to 2021-03, 1 loads, 1 members, 0.0 MB")
    assert told[1] == "interrupted loads settled: 0; rollups built: 0; unused files deleted: 0"
    assert told[2].endswith("A running server takes changed files at SIGHUP or a restart.")


def test_provision_names_damaged_files_and_the_feed_that_brings_them_again(monthly: Path) -> None:
    with (monthly / "domains" / "gl.yaml").open("a") as domain:
        domain.write("rollups: [[account]]\n")
    brought(monthly, "account")
    brought(monthly, "gl", periods="2021-01..2021-02")
    store = monthly / ".tieout" / "store"
    first, second = sorted((store / "facts" / "gl" / "actual").iterdir())
    (rollup, _) = sorted((store / "rollups" / "gl" / "actual").iterdir())
    rollup.unlink()
    content = bytearray(first.read_bytes())
    content[len(content) // 2] ^= 1
    first.write_bytes(content)
    second.unlink()
    damaged = tieout("provision", "--instance", monthly)
    assert damaged.returncode == 1
    assert f"facts/gl/actual/{first.name} is damaged; load gl again" in damaged.stderr
    assert f"facts/gl/actual/{second.name} is missing; load gl again" in damaged.stderr
    assert f"rollups/gl/actual/{rollup.name} is missing; load gl again" in damaged.stderr
    brought(monthly, "gl", periods="2021-01..2021-02")
    whole = tieout("provision", "--instance", monthly)
    assert whole.returncode == 0
    assert "\n  sums by account: 2 rows for 2\n" in whole.stdout


def test_provision_settles_and_sweeps_what_a_killed_load_left(
    monthly: Path, monkeypatch: pytest.MonkeyPatch, embedded_server: str
) -> None:
    monkeypatch.setenv("ERP_DATABASE_URI", embedded_server)
    state = monthly / ".tieout"
    brought(monthly, "account")
    brought(monthly, "gl", periods="2021-01")
    slow_ledger(monthly)
    with running(monthly, state, "load", "gl") as load:
        wait_for(lambda: any(one.status is LoadStatus.RUNNING for one in attempts(monthly, state)))
        assert load.end(signal.SIGKILL) == -signal.SIGKILL
    (state / "store" / "facts" / "gl" / "actual" / "2021-01.arrow.new").write_text("half")
    (state / "spool" / "live.gl" / "gl").mkdir(parents=True, exist_ok=True)
    (state / "spool" / "live.gl" / "gl" / "000000.arrow").write_text("on its way")
    done = tieout("provision", "--instance", monthly)
    assert (done.returncode, done.stderr) == (0, "")
    assert "interrupted loads settled: 1; rollups built: 0; unused files deleted: 2" in done.stdout
    assert next(one.status for one in attempts(monthly, state)) is LoadStatus.FAILED_INTERRUPTED


def test_rows_of_a_feed_that_was_renamed_are_named_and_can_be_taken_out(monthly: Path) -> None:
    brought(monthly, "account")
    brought(monthly, "gl", periods="2021-01..2021-03")
    path = monthly / "integrations.yaml"
    integrations = yaml.safe_load(path.read_text())
    integrations["bindings"]["ledger"] = integrations["bindings"].pop("gl")
    path.write_text(yaml.safe_dump(integrations))
    brought(monthly, "ledger", periods="2021-01")
    checked = tieout("check", "--data", monthly)
    assert checked.returncode == 1
    assert "live.gl (gl) holds rows of the feed 'gl', which integrations.yaml lacks; they still count" in (
        checked.stderr
    )
    assert "take them out with tieout provision --forget gl" in checked.stderr
    kept = tieout("provision", "--forget", "ledger", "--instance", monthly)
    assert (kept.returncode, kept.stderr.strip()) == (
        1,
        "ledger is a feed of integrations.yaml: remove it there first",
    )
    done = tieout("provision", "--forget", "gl", "--instance", monthly)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "gl: 3 rows removed")
    assert "gl: 1 rows" in done.stdout
    assert tieout("check", "--data", monthly).returncode == 0


def test_a_check_of_the_data_prints_control_tables_and_loads_nothing(monthly: Path) -> None:
    path = monthly / "integrations.yaml"
    known = yaml.safe_load(path.read_text())
    known["bindings"]["gl"] |= {"load": "full", "file": "gl_*.csv", "skip": {"equals": {"account": "Sum"}}}
    known["bindings"]["gl"]["control_totals"] = {"totals": True}
    path.write_text(yaml.safe_dump(known))
    with (monthly / "data" / "gl_2021-02.csv").open("a") as rows:
        rows.write("2021-02-07,actual,77,8264.25\n2021-02-07,actual,Sum,8266.26\n")
    said = tieout("check", "--data", monthly).stdout
    assert "control gl_2021-01.csv: 1 row; amount 1, all loaded, Σ 1.00; 0 of 0 totals agree\n" in said
    assert "          left out      1   8,266.26\n" in said
    assert "    2 of 3 totals" not in said
    assert "    row 4 differs by 0.01\n" in said
    assert current_version(monthly / ".tieout" / "store") == 0
    report = monthly / ".tieout" / "controls" / "check.txt"
    assert "row 4 differs by 0.01" in report.read_text()
    known["bindings"]["gl"]["control_totals"]["on_fail"] = "refuse"
    path.write_text(yaml.safe_dump(known))
    assert "gl: a load would fail: gl_2021-02.csv: 0 of 1 totals agree (not row 4)" in (
        tieout("check", "--data", monthly).stdout
    )


def test_provision_builds_the_rollups_that_were_declared_after_the_load(monthly: Path) -> None:
    brought(monthly, "account")
    brought(monthly, "gl", periods="2021-01..2021-03")
    domain = monthly / "domains" / "gl.yaml"
    domain.write_text(f"{domain.read_text()}\nrollups: [[account]]\n")
    assert "rollups built: 3;" in tieout("provision", "--instance", monthly).stdout
    assert "rollups built: 0;" in tieout("provision", "--instance", monthly).stdout


def test_an_instance_may_be_named_from_where_one_is(own: tuple[Path, Path]) -> None:
    instance, _ = own
    command: list[str | Path] = ["env", "-u", "DATABASE_URL", SERVE[0], "load", "--instance", instance.name]
    ran = subprocess.run(command, cwd=instance.parent, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr  # with the stores that it embeds below that folder
    assert (instance / ".tieout" / "postgres" / "data" / "PG_VERSION").exists()


def test_a_terminal_shows_two_hundred_lines_of_control_tables(monthly: Path) -> None:
    path = monthly / "integrations.yaml"
    known = yaml.safe_load(path.read_text())
    known["bindings"]["gl"] |= {"load": "full", "file": "gl_*.csv"}
    path.write_text(yaml.safe_dump(known))
    for number in range(203):
        (monthly / "data" / f"gl_{number:03}.csv").write_text("date,scenario,account,amount\n2021-01-05,actual,10,1\n")
    said = tieout("load", "--instance", monthly).stdout.splitlines()
    assert len([line for line in said if line.startswith("  control gl_")]) == 200
    (report,) = [line.partition("lines; ")[2] for line in said if "control tables: 6 more lines; " in line]
    assert len(re.findall(r"^gl_", Path(report).read_text(), re.MULTILINE)) == 206


@pytest.mark.parametrize("named", [False, True])
def test_a_command_takes_the_instance_that_it_stands_in_unless_another_is_named(tmp_path: Path, named: bool) -> None:
    here, other = books_with(tmp_path / "here"), books_with(tmp_path / "other")
    environment = {key: value for key, value in os.environ.items() if key not in ("SVC_INSTANCE", "SVC_STATE_DIR")}
    environment |= {"SVC_INSTANCE": str(other)} if named else {}
    for command in (["load"], ["loads"], ["provision"], ["check"]):
        ran = subprocess.run(
            [SERVE[0], *command], cwd=here, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
    assert (here / ".tieout" / "store" / "CURRENT").exists() is not named
    assert (other / ".tieout" / "store" / "CURRENT").exists() is named
    assert str(other if named else here) in ran.stdout
