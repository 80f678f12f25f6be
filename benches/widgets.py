"""Views in a browser: from a large result to its paint, frames while scrolling, and folding all lines."""

import json
import sys
from statistics import median

from benches.books import demo_books
from tests.support.machine.browsers import browsing, driven
from tests.support.machine.programs import find_program
from tests.support.service.servers import SERVE, serving

ROWS = 60_000
KINDS = {"paint": "until it is painted", "frame": "a frame while scrolling", "fold": "folding all lines"}


def main(_rows: int) -> None:
    """Measure and print."""
    node, chromium = find_program("node"), find_program("chromium")
    if node is None or chromium is None:
        print("takes node and chromium")
        return
    books = demo_books(ROWS)
    with serving(books.instance, books.state, command=SERVE) as server, browsing(node, chromium) as browser:
        ran = driven(node, "paint.bench.ts", browser, server.url)
    if ran.returncode:
        sys.exit(ran.stdout + ran.stderr)
    rounds = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    for name in dict.fromkeys(known["name"] for known in rounds):
        for kind, words in KINDS.items():
            times = sorted(
                time for known in rounds if known["name"] == name for time in known[kind] if time is not None
            )
            if times:
                p95 = times[int(0.95 * (len(times) - 1))]
                print(f"{name:24} {words:26} median {median(times):7.1f} ms   p95 {p95:7.1f} ms")
