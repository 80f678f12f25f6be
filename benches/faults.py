"""What each call of a session answers while something that the server stands on fails, and how long that takes.

Each fault is caused for real, on a server with a cache store and a database of its own and a disk of 32 MB for files;
the tests of tests/integration/faults/test_sessions.py hold what is answered. docs/operations/faults.md ends with what
this prints.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from benches.books import ROOT, BenchBooks, demo_books
from benches.page import write_block
from tests.support.machine.programs import find_program
from tests.support.service.clocks import clock_in
from tests.support.service.faults import FAULTS, NORMAL, caused
from tests.support.service.scenes import FaultScene, SessionStep, made, scene, session, words
from tests.support.service.servers import wait_for

SMALL = 150_000  # rows of the general ledger: the waits are those of stores, not of figures
ROUNDS = 6
ASKED = {
    "statement": "full_pnl",
    "scenarios": [{"scenario": "actual", "alias": "A"}, {"scenario": "budget", "alias": "B"}],
    "period_start": "2026-01",
    "period_end": "2026-09",
}
STEPS = ("run_statement", "export json", "export xlsx", "get_file_download", "GET of the link")
HEAD = f"""## What each call of a session answers

A session reads a statement, then exports, renews and downloads what was made before the fault. Each cell has the answer
and two times in milliseconds: of the first call in the fault, and the median of the {ROUNDS - 1} that follow.
`kept` means that the result has a `data_ref`. The limits of the stores bound the waits (half a second; three to five
seconds of the database). The rest is the machine that the bench ran on.
"""
PAGE = ROOT / "docs" / "operations" / "faults.md"


def main(_: int) -> None:
    """Cause every fault and write the table below the marker of the page."""
    books = demo_books(SMALL)
    with (
        tempfile.TemporaryDirectory(prefix="tieout-faults-") as folder,
        scene(books.instance, books.state, Path(folder) / "served", ASKED) as on,
    ):
        lines = []
        for found in table(on):
            print(found, flush=True)
            lines.append(found)
    if find_program("faketime"):
        lines.append(a_day_ahead(books))
        print(lines[-1])
    write_block(PAGE, "faults", [HEAD, *lines])


def table(on: FaultScene) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| Fault | {' | '.join(STEPS)} |"
    yield "|---" * (len(STEPS) + 1) + "|"
    before = made(on)
    session(on, before)
    yield line("none", [session(on, before) for _ in range(ROUNDS)])
    tampered = replace(before, url=before.url[:-1] + ("0" if before.url[-1] != "0" else "1"))  # the signature ends it
    yield line("link changed by one digit", [session(on, tampered) for _ in range(ROUNDS)])
    for name, fault in FAULTS.items():
        before = made(on)
        with caused(fault, on):
            found = [session(on, before) for _ in range(ROUNDS)]
        yield line(name, found)
        wait_for(lambda: words(session(on, made(on))) == NORMAL)


def a_day_ahead(books: BenchBooks) -> str:
    """Return the line of a server whose clock jumps while those of its stores go right."""
    with tempfile.TemporaryDirectory(prefix="tieout-faults-") as folder:
        clock = clock_in(Path(folder))
        with scene(books.instance, books.state, Path(folder) / "served", ASKED, clock) as on:
            before = made(on)
            clock.jump("+25h")
            return line("clock a day ahead", [session(on, before) for _ in range(ROUNDS)])


def line(name: str, sessions: Sequence[Mapping[str, SessionStep]]) -> str:
    """Return the line of a fault."""
    cells = []
    for step in STEPS:
        first, *later = (found[step] for found in sessions)
        cells.append(f"{later[-1].answered}: {first.ms:,.0f} / {median(one.ms for one in later):,.0f}")
    return f"| {name} | {' | '.join(cells)} |"
