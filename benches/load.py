r"""Loading: `tieout load` of one CSV file beside DuckDB's insert from read_csv and psql's \copy of the same file.

The file is the general ledger of the demo. DuckDB and PostgreSQL take it into an empty native table of the same types
and judge nothing. Neither does a script of Polars, which reads texts, types them, numbers ids, and writes each
scenario's months, sorted: the bare work of a load; it runs once more after the packages are imported that a load
needs. Tieout also holds every row to the members of its dimensions, codes, sorts and sums it, and publishes a version.
Each run is a process of its own, from its start to its end, so that its peak memory is its own; of PostgreSQL, which
runs as it comes, the backend counts, too. All that is loaded is on disk when a run ends.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree
from signal import SIGINT
from statistics import median
from tempfile import TemporaryDirectory

import duckdb

from benches.books import DEMO, ROOT
from benches.page import README, write_block
from benches.wide_rows import write_wide
from server.run.embedded.binaries import known_binaries
from server.run.embedded.users import hand_over, server_user
from tests.support.engines.postgres import run_unprivileged
from tests.support.service.servers import DEADLINE, wait_for

FEED = "gl: {source: files, target: live.gl, file: gl/*.parquet}"
TYPES = {
    "date": "date",
    "scenario": "varchar",
    "journal": "varchar",
    "account": "varchar",
    "cost_centre": "varchar",
    "entity": "varchar",
    "amount": "decimal(18, 2)",
    "text": "varchar",
}
COLUMNS = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
INSERT = """
import sys, duckdb
database, file = sys.argv[1:]
connection = duckdb.connect(database)
connection.execute("set enable_progress_bar = false")
connection.execute("create table gl ({columns})")
connection.execute("insert into gl from read_csv('" + file + "', header = true, columns = {types})")
print(connection.execute("select count(*) from gl").fetchone()[0])
connection.close()
"""
SCRIPT = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
import polars as pl
folder, file = sys.argv[1:]
ids = pl.col("scenario", "journal", "account", "cost_centre", "entity").cast(pl.Categorical)
typed = pl.col("date").str.to_date("%Y-%m-%d"), pl.col("amount").cast(pl.Decimal(18, 2)), ids
rows = pl.read_csv(file, infer_schema=False).with_columns(*typed)
months = rows.with_columns(month=pl.col("date").dt.truncate("1mo")).partition_by("scenario", "month")
def write(at):
    with open(f"{folder}/{at}.arrow", "wb") as target:
        month = months[at].drop("scenario", "month")
        month.sort("account", "cost_centre", "date", "entity", "journal", "amount", "text").write_ipc(target)
        target.flush()
        os.fsync(target.fileno())
with ThreadPoolExecutor() as pool:
    list(pool.map(write, range(len(months))))
print(rows.height)
"""
PACKAGES = "import fastexcel, psycopg, psycopg_pool, pyarrow.ipc, pydantic, rich.progress, yaml"  # that a load imports
MEASURE = """
import os, subprocess, sys, time
begun = time.perf_counter()
process = subprocess.Popen(sys.argv[1:])
_, status, used = os.wait4(process.pid, 0)
print(time.perf_counter() - begun, used.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""  # a small process: what is started begins with the memory that its parent has, as the kernel counts its peak
BACKEND = "select substring(pg_read_file('/proc/self/status') from 'VmHWM:\\s+(\\d+)')"
KILOBYTES = 1024
EVERY = 10  # the smaller size is a tenth of the larger
ROUNDS = {"small": 5, "large": 3}


@dataclass(frozen=True, slots=True)
class Run:
    """One load: how long it took and how much memory it held at its peak, in seconds and MB."""

    seconds: float
    peak: float
    said: str


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """The general ledger as one CSV file, in an instance whose members are loaded and whose facts are not."""

    home: Path
    rows: int

    @property
    def file(self) -> Path:
        """The file."""
        return self.home / "instance" / "data" / "gl.csv"


Load = Callable[[LedgerFile], Run]


def ledger(rows: int) -> LedgerFile:
    """Return the ledger at a size, made once and kept in out/."""
    made = LedgerFile(ROOT / "out" / "benches" / f"load-{rows}", rows)
    if not (made.home / "members" / "store" / "CURRENT").exists():
        print(f"generating {rows:,} rows …")
        instance = made.home / "instance"
        copytree(DEMO, instance, ignore=ignore_patterns("data", ".tieout", "__pycache__"), dirs_exist_ok=True)
        subprocess.run([sys.executable, instance / "generate.py", "--rows", str(rows)], check=True)
        parquet = instance / "data" / "gl"
        duckdb.execute(f"copy (from read_parquet('{parquet}/*.parquet')) to '{made.file}' (header true)")
        feeds = instance / "integrations.yaml"
        text = feeds.read_text(encoding="utf-8")
        feeds.write_text(text.replace(FEED, FEED.replace("gl/*.parquet", "gl.csv")), encoding="utf-8")
        facts = {"gl", "people", "sales"}
        members = [key for key in re.findall(r"^  (\w+): \{source", text, re.MULTILINE) if key not in facts]
        ran(tieout(made, made.home / "members", members))
    return made


def wide_file(rows: int) -> LedgerFile:
    """Return facts with twenty columns at a size, made once and kept in out/."""
    made = LedgerFile(ROOT / "out" / "benches" / f"load-wide-{rows}", rows)
    if not (made.home / "members").exists():
        print(f"generating {rows:,} rows of twenty columns …")
        write_wide(made.home, rows)
    return made


def tieout(of: LedgerFile, state: Path, feeds: Sequence[str]) -> list[str | Path]:
    """Return the command that loads some feeds into a state folder."""
    command = Path(sys.executable).with_name("tieout")
    return ["env", f"SVC_STATE_DIR={state}", command, "load", "--instance", of.home / "instance", *feeds]


def ran(command: Sequence[str | Path]) -> Run:
    """Run a process to its end and return its time and memory; stop the bench if it fails."""
    measured = subprocess.run(
        [sys.executable, "-S", "-c", MEASURE, *command], capture_output=True, text=True, check=False
    )
    *told, numbers = measured.stderr.splitlines() or [""]
    if measured.returncode != 0:
        raise SystemExit("\n".join([f"{command[0]} failed", *told]))
    seconds, kilobytes = map(float, numbers.split())
    return Run(seconds, kilobytes / KILOBYTES, measured.stdout.strip())


def into_tieout(of: LedgerFile) -> Run:
    """Load the ledger beside its members."""
    state = of.home / "state"
    rmtree(state, ignore_errors=True)
    copytree(of.home / "members", state)
    run = ran(tieout(of, state, ["gl"]))
    agree(of, re.findall(r"gl: ([\d,]+) of", run.said), run)
    return run


def into_duckdb(of: LedgerFile) -> Run:
    """Insert the ledger into a new database."""
    database = of.home / "duckdb"
    for path in of.home.glob("duckdb*"):
        path.unlink()
    script = INSERT.format(columns=COLUMNS, types=TYPES)
    run = ran([sys.executable, "-c", script, database, of.file])
    agree(of, [run.said], run)
    return run


def into_months(packages: str, of: LedgerFile) -> Run:
    """Write the ledger's months into files by a script of Polars, which may import more."""
    folder = of.home / "months"
    rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run = ran([sys.executable, "-c", packages + SCRIPT, folder, of.file])
    agree(of, [run.said], run)
    return run


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """Run a PostgreSQL as it comes, on disk, until the block ends; yield its URI."""
    programs = next(known_binaries())
    home = folder / "postgres"
    rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    data = home / "data"
    made = run_unprivileged(home, [programs.program("initdb"), "-D", data, "-U", "bench", "--auth=trust", "--locale=C"])
    with TemporaryDirectory() as sockets:  # a path short enough for one
        if made.wait(DEADLINE) != 0:
            raise SystemExit("initdb failed")
        hand_over(Path(sockets), server_user(home))
        where = ("-c", "listen_addresses=", "-c", f"unix_socket_directories={sockets}")
        server = run_unprivileged(home, [programs.program("postgres"), "-D", data, *where])
        uri = f"postgresql://bench@/postgres?host={sockets}"
        try:
            ready: list[str | Path] = [programs.program("pg_isready"), "--quiet", "--dbname", uri]
            wait_for(lambda: subprocess.run(ready, check=False).returncode == 0)
            yield uri
        finally:
            server.send_signal(SIGINT)
            server.wait(DEADLINE)


def into_postgresql(uri: str, of: LedgerFile) -> Run:
    """Copy the ledger into an empty table."""
    psql: list[str | Path] = [
        next(known_binaries()).program("psql"),
        "--no-psqlrc",
        "--quiet",
        "--tuples-only",
        "--no-align",
        uri,
    ]
    set_up = f"set client_min_messages = error; drop table if exists gl; create table gl ({COLUMNS})"
    ran([*psql, "--command", set_up, "--command", "checkpoint"])
    run = ran([*psql, "--command", f"\\copy gl from '{of.file}' with (format csv, header)", "--command", BACKEND])
    agree(of, [ran([*psql, "--command", "select count(*) from gl"]).said], run)
    return Run(run.seconds, run.peak + int(run.said) / KILOBYTES, run.said)


def agree(of: LedgerFile, counted: Sequence[str], run: Run) -> None:
    """Stop the bench unless every row is loaded."""
    if [int(count.replace(",", "")) for count in counted] != [of.rows]:
        raise SystemExit(f"{of.rows:,} rows were to be loaded: {run.said}")


def wide_row(rows: int) -> str:
    """Load facts with twenty columns once, print it, and return its row of the table."""
    run, name = into_tieout(wide_file(rows)), "Tieout load, 20 columns"
    print(f"{name:38} {run.seconds:8.2f} s {rows / run.seconds:12,.0f} rows/s   peak {run.peak:8,.0f} MB")
    return f"| {rows:,} | {name} | {run.seconds:.2f} | {rows / run.seconds:,.0f} | {run.peak:,.0f} |"


def main(rows: int) -> None:
    """Run the bench at a tenth of a size and at that size, and write its table."""
    table = ["| rows of one CSV file | by | seconds | rows a second | peak memory, MB |", "|--:|---|--:|--:|--:|"]
    for size, rounds in ((rows // EVERY, ROUNDS["small"]), (rows, ROUNDS["large"])):
        of = ledger(size)
        with postgresql(of.home) as uri:
            loads: dict[str, Load] = {
                "DuckDB insert from read_csv": into_duckdb,
                "PostgreSQL, `\\copy` of psql": partial(into_postgresql, uri),
                "Polars script, months to files": partial(into_months, ""),
                "the same, with the packages of a load": partial(into_months, PACKAGES),
                "Tieout load": into_tieout,
            }
            runs: dict[str, list[Run]] = {name: [] for name in loads}
            for _ in range(rounds):
                for name, load in loads.items():
                    runs[name].append(load(of))
        print(f"{size:,} rows, {of.file.stat().st_size / 1e6:,.0f} MB of CSV, medians of {rounds} runs in turns")
        for name, found in runs.items():
            seconds, peak = median(run.seconds for run in found), max(run.peak for run in found)
            rate = size / seconds
            print(f"{name:38} {seconds:8.2f} s {rate:12,.0f} rows/s   peak {peak:8,.0f} MB")
            table.append(f"| {size:,} | {name} | {seconds:.2f} | {rate:,.0f} | {peak:,.0f} |")
        table.append(wide_row(size))
    write_block(README, "load", table)
