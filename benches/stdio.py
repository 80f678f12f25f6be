"""tieout stdio: the time from its start to the first answer on loaded books, and what the bridge adds to a call.

The first answer is timed without a server: the bridge starts one, which starts its stores and opens the books. The
processor time of the bridge is its own alone, of calls whose answers are small and of one that is large.
"""

import os
from pathlib import Path
from statistics import median
from time import perf_counter

from benches.books import demo_books
from benches.page import README, write_block
from tests.support.service.keeper import alive, children
from tests.support.service.servers import wait_for
from tests.support.service.stdio import hosting

SMALL = 150_000
STARTS, CALLS = 7, 500
ASKED = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2026-01", "period_end": "2026-09"}
LARGE = {**ASKED, "dimensions": ["entity"]}
GOAL_SECONDS, GOAL_MILLISECONDS = 3.0, 1.0
TICK = os.sysconf("SC_CLK_TCK")


def processor_of(process: int) -> float:
    """Return the processor seconds of a process, without its children."""
    parts = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICK


def first_answer(instance: Path, state: Path) -> tuple[float, float]:
    """Return the seconds until a statement is answered by a bridge without a server, and those of all processors."""
    begun = perf_counter()
    with hosting(instance, state) as host:
        host.shake_hands()
        if not host.call("run_statement", **ASKED)["rows"]:
            raise SystemExit("the statement has no rows")
        waited = perf_counter() - begun
        (server,) = host.servers
        processes = [host.process.pid, server, *children(server)]
        taken = sum(map(processor_of, processes))
    wait_for(lambda: not alive(server))
    return waited, taken


def bridge_times(instance: Path, state: Path) -> dict[str, float]:
    """Return the processor milliseconds that the bridge takes for each kind of call."""
    found = {}
    with hosting(instance, state) as host:
        host.shake_hands()
        for name, tool, asked in (
            ("list_dimensions", "list_dimensions", {}),
            ("run_statement", "run_statement", ASKED),
            ("run_statement by entity", "run_statement", LARGE),
        ):
            host.call(tool, **asked)
            before = processor_of(host.process.pid)
            for _ in range(CALLS):
                host.call(tool, **asked)
            found[name] = (processor_of(host.process.pid) - before) * 1000 / CALLS
    return found


def main(_: int) -> None:
    """Run the bench; fails above its goals."""
    books = demo_books(SMALL)
    first_answer(books.instance, books.state)  # which makes the database
    starts = [first_answer(books.instance, books.state) for _ in range(STARTS)]
    waited, taken = (median(times) for times in zip(*starts, strict=True))
    added = bridge_times(books.instance, books.state)
    lines = [
        f"{SMALL:,} rows; the first answer is the median of {STARTS} starts, a call the mean of {CALLS}.",
        "",
        "| | measured | goal |",
        "|---|--:|--:|",
        f"| seconds to the first answer where no server runs | {waited:.2f} s | {GOAL_SECONDS:g} s |",
        f"| processor time of the bridge, the server, its worker and its stores until then | {taken:.2f} s | – |",
        *(
            f"| processor time of the bridge a call, {name} | {milliseconds:.2f} ms | {GOAL_MILLISECONDS:g} ms |"
            for name, milliseconds in added.items()
        ),
    ]
    print("\n".join(lines))
    write_block(README, "stdio", lines)
    if waited > GOAL_SECONDS or max(added.values()) > GOAL_MILLISECONDS:
        raise SystemExit(f"above the goals: {GOAL_SECONDS} s, {GOAL_MILLISECONDS} ms")
