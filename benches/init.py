"""What `tieout init` takes for large files: seconds and memory for a CSV of 2 GB and a workbook of 1,000,000 rows.

Both hold a ledger of five columns, and nothing is loaded. `--rows 10000000` (the default) makes these sizes, fewer rows
smaller files. Each run is a process of its own. Goals, above which it fails at full size: 120 s and 1.5 GB for the CSV,
60 s and 2 GB for the workbook.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import xlsxwriter

FULL = 10_000_000  # rows that make the full sizes
CSV_BYTES, SHEET_ROWS = 2_000_000_000, 1_000_000
HEADING = ("posting_date", "document", "account", "amount", "text")
BLOCK = 20_000  # rows that are written at once
TEXT = "posting of the month, as the ledger has it"


@dataclass(frozen=True)
class Goal:
    """What a run may take at full size."""

    seconds: float
    gigabytes: float


GOALS = {"CSV": Goal(120, 1.5), "workbook": Goal(60, 2)}


def main(rows: int) -> None:
    """Write both files, run init on each, and print what it took."""
    share = rows / FULL
    print("| file | size | seconds | peak memory |\n|---|--:|--:|--:|")
    late = []
    with TemporaryDirectory(prefix="tieout-init-") as folder:
        files = {
            "CSV": write_csv(Path(folder, "ledger.csv"), int(CSV_BYTES * share)),
            "workbook": write_workbook(Path(folder, "ledger.xlsx"), int(SHEET_ROWS * share)),
        }
        for kind, path in files.items():
            seconds, gigabytes = measured(path, Path(folder, f"books {kind}"))
            print(f"| {kind} | {path.stat().st_size / 1e9:.2f} GB | {seconds:.1f} | {gigabytes:.2f} GB |", flush=True)
            goal = GOALS[kind]
            if share >= 1 and (seconds > goal.seconds or gigabytes > goal.gigabytes):
                late.append(f"{kind}: goal {goal.seconds:.0f} s and {goal.gigabytes} GB")
    if late:
        sys.exit("; ".join(late))


def ledger_rows() -> Iterator[tuple[str, str, str, float, str]]:
    """Yield rows of a ledger without end."""
    at = 0
    while True:
        day = f"2025-{at // 800 % 12 + 1:02}-{at // 30 % 28 + 1:02}"
        yield day, f"D{at:09}", str(4000 + at % 97), at % 100_003 / 100 - 500, TEXT
        at += 1


def write_csv(path: Path, size: int) -> Path:
    """Write a CSV of about a size."""
    rows = ledger_rows()
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(HEADING) + "\n")
        while file.tell() < size:
            for day, document, account, amount, text in (next(rows) for _ in range(BLOCK)):
                file.write(f'{day},{document},{account},{amount:.2f},"{text}"\n')
    return path


def write_workbook(path: Path, count: int) -> Path:
    """Write a workbook of so many rows."""
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, HEADING)
        for at, row in zip(range(1, count + 1), ledger_rows(), strict=False):
            sheet.write_row(at, 0, row)
    return path


def measured(path: Path, books: Path) -> tuple[float, float]:
    """Run init on a file, and return its seconds and its peak memory in GB."""
    begun = perf_counter()
    command = [str(Path(sys.executable).with_name("tieout")), "init", str(books), "--from", str(path), "--no-load"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"init of {path.name} ended with status {process.returncode}")
    return perf_counter() - begun, used.ru_maxrss * 1024 / 1e9
