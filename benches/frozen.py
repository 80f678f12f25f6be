"""Freezes: what it costs to make one, how large its file is, and a statement of it beside that of the live scenario.

Both statements have the same rows, and take turns. Each call reads another pair of cost centres, so that no sums are
kept; those of the freeze come in the opposite order, so that neither finds what the other has just read in a cache.
The bench fails above its goals: 1 s and 1 MB for the freeze, 1.2 times the live statement.
"""

from collections.abc import Callable
from itertools import combinations
from shutil import copytree, rmtree
from time import perf_counter

from benches.books import demo_books
from benches.page import README, write_block
from benches.timing import in_turns
from engine.door import Door, open_books
from engine.instance.read import STORE
from server.feeds.instance import read_instance
from server.ingest.folder import BooksFolder
from server.ingest.freezes import make_freeze

ROUNDS = 41
MAX_SECONDS, MAX_BYTES, MAX_TIMES = 1.0, 10**6, 1.2
NAME = "bench"
PERIOD = ("2025-01", "2025-12")


def statement(door: Door, scenario: str, centres: list[str]) -> Callable[[], object]:
    """Return what asks for a year by month, each time of another pair of cost centres."""
    pairs = combinations(centres, 2)

    def ask() -> object:
        filters = {"cost_centre": next(pairs)}
        return door.statement("pnl", scenarios={"A": scenario}, period=PERIOD, dimensions=("month",), filters=filters)

    return ask


def main(rows: int) -> None:
    """Measure on a copy of the store, print, write the table into the README, and fail above a goal."""
    books = demo_books(rows)
    state = books.state.with_name("frozen-state")
    rmtree(state, ignore_errors=True)
    copytree(books.state / STORE, state / STORE)
    catalogue = read_instance(books.instance).catalogue
    place = BooksFolder(catalogue=catalogue, folder=books.instance, state=state)
    begun = perf_counter()
    freeze = make_freeze(place, catalogue.scenarios["actual"], NAME, None).freeze
    seconds = perf_counter() - begun
    size = (state / STORE / freeze.file).stat().st_size
    door = open_books(books.instance, state=state)
    centres = sorted(door.reader.visible("cost_centre") - {"(unassigned)"})
    asked = {"actual": centres, freeze.id: centres[::-1]}
    times = in_turns({key: statement(door, key, own) for key, own in asked.items()}, ROUNDS)
    live, frozen = (times[key].median for key in ("actual", freeze.id))
    lines = [
        f"{freeze.rows:,} rows of actuals; medians of {ROUNDS} calls in turns; `pnl` by month, two cost centres.",
        "",
        "| freeze, s | its file, KB | statement of `actual`, ms | of the freeze, ms | times |",
        "|--:|--:|--:|--:|--:|",
        f"| {seconds:.2f} | {size / 1000:.0f} | {live:.1f} | {frozen:.1f} | {frozen / live:.2f} |",
    ]
    print("\n".join(lines))
    write_block(README, "frozen", lines)
    if seconds > MAX_SECONDS or size > MAX_BYTES or frozen > MAX_TIMES * live:
        raise SystemExit(f"above a goal: {MAX_SECONDS:g} s, {MAX_BYTES:,} bytes, {MAX_TIMES:g} times")
