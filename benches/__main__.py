"""Runs the benches: all of them, or those named: tieout bench [BENCH …] [--rows N]."""

import argparse
import sys
from functools import partial

from benches import (
    busy,
    callers,
    calls,
    charts,
    crowd,
    explain,
    exports,
    faults,
    frozen,
    growth,
    init,
    load,
    overhead,
    peers,
    sandbox,
    search,
    soak,
    stages,
    statement,
    stdio,
    tokens,
    unknown,
    walkthrough,
    warehouse,
    wide,
    widgets,
    windows,
)

BENCHES = {
    "statement": statement.main,
    "stages": stages.main,
    "explain": explain.main,
    "init": init.main,
    "load": load.main,
    "search": search.main,
    "overhead": overhead.main,
    "stdio": stdio.main,
    "tokens": tokens.main,
    "unknown": unknown.main,
    "sandbox": sandbox.main,
    "charts": charts.main,
    "wide": wide.main,
    "windows": windows.main,
    "widgets": widgets.main,
    "walkthrough": walkthrough.main,
    "faults": faults.main,
    "exports": exports.main,
    "frozen": frozen.main,
    "growth": growth.main,
    "callers": callers.main,
    "calls": calls.main,
    "soak": soak.main,
    "crowd": crowd.main,
    "busy": busy.main,
    "peers": peers.main,
    "warehouse": warehouse.main,
}


def main() -> int:
    """Run the requested benches."""
    parser = argparse.ArgumentParser(prog="tieout bench", description=__doc__)
    parser.add_argument("bench", nargs="*", metavar="BENCH", help=f"any of {', '.join(BENCHES)} (default: all)")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the general ledger (default: 10 million)")
    parser.add_argument("--seconds", type=int, default=callers.SECONDS, help="how long callers call (default: 120)")
    parser.add_argument("--runs", type=int, default=walkthrough.RUNS, help="how often a newcomer comes (default: 3)")
    parser.add_argument("--minutes", type=float, default=soak.MINUTES, help="how long the soak takes (default: 30)")
    asked = parser.parse_args()
    BENCHES["callers"] = partial(callers.main, seconds=asked.seconds)
    BENCHES["soak"] = partial(soak.main, minutes=asked.minutes)
    BENCHES["walkthrough"] = partial(walkthrough.main, runs=asked.runs)
    if unknown := set(asked.bench) - set(BENCHES):
        parser.error(f"there is no bench {', '.join(sorted(unknown))}")
    for name in asked.bench or BENCHES:
        print(f"## {name}")
        BENCHES[name](asked.rows)
    return 0


sys.exit(main())
