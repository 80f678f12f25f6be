"""What grows with the instance: one size at a time, the processor time of a first call at three sizes of it.

The largest size is at least 30 times the smallest. The exponent is that of the power of the size which fits the three
times best: 0 is flat, 1 linear, 2 quadratic. The bench fails where an exponent is above 1.1 or the time of the largest
size is above the goal of its row.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import log
from statistics import mean, median
from time import process_time
from typing import NamedTuple

from benches.books import BenchBooks
from benches.customers import customer_books
from benches.growth_books import GrownBooks
from benches.growth_loads import listed_feeds, looked_at_again, restricted_report
from benches.page import README, write_block
from engine.books.books import Shelf
from engine.books.completeness import completeness
from engine.books.reader import Reader
from engine.books.search import keep_index, search
from engine.door import Door
from engine.instance.documents import Document, read_document
from engine.instance.read import STORE
from engine.instance.reading.domains import build_domains
from engine.instance.reading.metrics import MetricBuilder
from engine.instance.schema.books import DomainFile
from engine.model.profiles import EVERYONE, Profile
from engine.model.requests import SearchRequest
from engine.model.scope import EVERYTHING
from engine.present.answers.budget import DataRef
from engine.present.answers.reports import answer
from server.feeds.instance import read_instance
from server.stores.memory import MemorySnapshots
from tests.support.books.loads import load_feeds

ROUNDS = 3
LOOP = 10_000_000
MAX_EXPONENT = 1.1
MILLISECOND = 1000
PERIOD = "2026-01"
BUDGET = 10_000
LOADS = 1_600, 9_000, 50_000
HOUR, KEPT_ONCE, KEPT_BYTES = 3600, 1_000, 4_000
KEPT = DataRef("ds_" + "a" * 32)
Work = Callable[[], object]


class Growth(NamedTuple):
    """One size: its name, three values of it, what makes the work of one value ready, and the goal of the largest."""

    name: str
    sizes: tuple[int, int, int]
    prepare: Callable[[int], Work]
    goal: float  # milliseconds


def profile_of(books: BenchBooks, *keys: str) -> tuple[Shelf, list[Profile]]:
    """Open books anew, with some of their profiles."""
    instance = read_instance(books.instance)
    profiles = instance.profiles.by_key
    return Shelf(instance.catalogue, books.state / STORE), [profiles[key] for key in keys] or [EVERYONE]


def first_report(size: int, *, of: Callable[[int], GrownBooks], profile: str) -> Work:
    """Return the first report of a profile on books that nobody has asked."""
    books = of(size).opened()
    shelf, (shown,) = profile_of(books, profile)
    return partial(Door(shelf, shown).statement, "pnl", scenarios={"S0": "s0"}, period=PERIOD)


def publish(books: BenchBooks, feed: str) -> None:
    """Publish a feed with one more row."""
    file = books.instance / "data" / f"{feed}.csv"
    text = file.read_text()
    file.write_text(text + text.splitlines()[-1] + "\n")
    load_feeds(books.instance, books.state, feed)


def report_after_publish(size: int, *, of: Callable[[int], GrownBooks], profile: str) -> Work:
    """Return the first report after a publish of the last feed, of a caller who asked before."""
    sizes = of(size)
    books = sizes.opened()
    shelf, (shown,) = profile_of(books, profile)
    door = Door(shelf, shown)

    def work() -> object:
        report = door.statement("pnl", scenarios={"S0": "s0"}, period=PERIOD, filters={"d0": "M000000"})
        return report, door.reader.data_version, door.reader.visible("d0")

    work()
    publish(books, f"sales{sizes.domains - 1}")
    return work


def search_after_publish(size: int) -> Work:
    """Return the first search over all dimensions after a publish, of a caller who searched before."""
    books = GrownBooks(dimensions=size, members=2_000).opened()
    shelf, profiles = profile_of(books, "part")

    def work() -> object:
        return search(SearchRequest(query="member 7"), Reader(shelf.current(), profiles))

    work()
    publish(books, "sales0")
    return work


def first_of_profiles(size: int, *, dimensions: int) -> Work:
    """Return what one caller of several profiles needs first: cells, visible members and presence."""
    books = GrownBooks(dimensions=dimensions, members=400, profiles=400).opened()
    shelf, profiles = profile_of(books, *(f"p{at}" for at in range(size)))
    reader = Reader(shelf.current(), profiles)

    def work() -> object:
        return reader.visible("d0"), reader.presence("sales0", "s0", EVERYTHING)

    return work


def built_formulas(size: int) -> Work:
    """Return how metrics are built from a domain file that is read."""
    books = GrownBooks(formulas=size).opened()
    catalogue = read_instance(books.instance).catalogue
    document: Document = read_document(books.instance, "domains/sales0.yaml")
    files = {document: DomainFile.model_validate(document.tree)}
    domains = build_domains(files, dict(catalogue.dimensions), catalogue.calendar)
    return MetricBuilder(files, domains, catalogue.dimensions, catalogue.scenarios).build


def long_statement(size: int) -> Work:
    """Return the answer of a statement of many lines by three scenarios."""
    books = GrownBooks(scenarios=3, lines=size).opened()
    shelf, (shown,) = profile_of(books)
    asked = partial(
        Door(shelf, shown).statement, "pnl", scenarios={f"S{at}": f"s{at}" for at in range(3)}, period=PERIOD
    )
    asked()
    return lambda: answer(asked(), BUDGET, KEPT)


def layered_statement(size: int) -> Work:
    """Return the first report of a statement in layers: each line names both lines of the layer below."""
    shelf, (shown,) = profile_of(GrownBooks(layers=size).opened())
    return lambda: Door(shelf, shown).statement("layered", scenarios={"S": "s0"}, period=PERIOD)


def later_search(size: int) -> Work:
    """Return a search among many members that others have searched."""
    books = customer_books(size)
    shelf, (shown,) = profile_of(books)
    queries: Iterator[str] = iter(("muller optics", "robotics", "zzyzx", "K000123", "ogi"))

    def work() -> object:
        return search(SearchRequest(query=next(queries)), Reader(shelf.current(), [shown]))

    work()
    return work


def first_search(size: int) -> Work:
    """Return the first search of a process among many members, whose tables a load has made."""
    books = customer_books(size)
    keep_index(profile_of(books)[0].current())
    shelf, (shown,) = profile_of(books)
    return lambda: search(SearchRequest(query="robotics"), Reader(shelf.current(), [shown]))


def load_beside_trees(size: int) -> Work:
    """Return what a load does after its publish beside two trees of many members: tables of the search, remarks."""
    books = customer_books(size)
    keep_index(profile_of(books)[0].current())
    shelf, _ = profile_of(books)

    def work() -> object:
        keep_index(shelf.current())
        return list(completeness(shelf.current(), ["sales"]))

    return work


def kept_and_opened(size: int) -> Work:
    """Return how results are kept and opened beside many others."""
    store = MemorySnapshots(HOUR, HOUR)

    def work(count: int = KEPT_ONCE) -> None:
        for _ in range(count):
            with store.keeping("ann", bytes(KEPT_BYTES)) as reference:
                store.open("ann", reference)

    work(size)
    return work


def scenarios(size: int) -> GrownBooks:
    """Return books of many scenarios."""
    return GrownBooks(scenarios=size, dimensions=2)


def domains(size: int) -> GrownBooks:
    """Return books of many domains."""
    return GrownBooks(domains=size, dimensions=2)


def denied_domains(size: int) -> GrownBooks:
    """Return books of many domains and a long deny list."""
    return GrownBooks(domains=size, scenarios=30, members=12_000, denied=10_000)


def denied_members(size: int) -> GrownBooks:
    """Return books of some domains and a deny list."""
    return GrownBooks(domains=10, scenarios=30, members=12_000, denied=size)


ROWS = (
    Growth(
        "a deny list of 10,000 members, 30 scenarios, domains",
        (3, 20, 100),
        partial(first_report, of=denied_domains, profile="denied"),
        300,
    ),
    Growth(
        "members of a deny list, 30 scenarios × 10 domains",
        (300, 2_000, 10_000),
        partial(first_report, of=denied_members, profile="denied"),
        300,
    ),
    Growth(
        "the same domains after a publish",
        (3, 20, 100),
        partial(report_after_publish, of=denied_domains, profile="denied"),
        300,
    ),
    Growth("profiles of one caller, a dimension each", (12, 70, 400), partial(first_of_profiles, dimensions=1), 50),
    Growth("profiles of one caller, two dimensions each", (12, 70, 400), partial(first_of_profiles, dimensions=2), 50),
    Growth("metrics with formulas", (130, 700, 4_000), built_formulas, 100),
    Growth(
        "scenarios, after a publish", (10, 60, 300), partial(report_after_publish, of=scenarios, profile="part"), 100
    ),
    Growth("domains, after a publish", (3, 20, 100), partial(report_after_publish, of=domains, profile="part"), 100),
    Growth("dimensions that are searched, after a publish", (1, 7, 40), search_after_publish, 100),
    Growth("loads of a month, first report of a restricted caller", LOADS, restricted_report, 1_500),
    Growth("loads of a month, 20 later reports", LOADS, partial(restricted_report, calls=20), 100),
    Growth("loads of a month, list_bindings 20 times", LOADS, partial(listed_feeds, calls=20), 400),
    Growth("loads of a month, readiness once more", LOADS, looked_at_again, 5),
    Growth("kept results, 1,000 more kept and opened", (2_000, 10_000, 60_000), kept_and_opened, 100),
    Growth("lines of a statement", (16, 100, 500), long_statement, 1_000),
    Growth("layers of lines that share figures", (4, 20, 120), layered_statement, 150),
    Growth("members that are searched", (30_000, 200_000, 1_000_000), later_search, 10),
    Growth("members that a process searches first", (30_000, 200_000, 1_000_000), first_search, 300),
    Growth("members of two trees beside a load", (3_000, 20_000, 100_000), load_beside_trees, 700),
)


def spent(prepare: Callable[[], Work]) -> float:
    """Return the processor time of some work that is made ready anew each time, in milliseconds: the median."""
    times = []
    for _ in range(ROUNDS):
        work = prepare()
        gc.collect()
        begun = process_time()
        work()
        times.append((process_time() - begun) * MILLISECOND)
    return median(times)


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Return the power of the size that fits the times best, by least squares of logarithms."""
    across, up = [log(size) for size in sizes], [log(time) for time in times]
    middle, height = mean(across), mean(up)
    steps = sum((at - middle) * (time - height) for at, time in zip(across, up, strict=True))
    return steps / sum((at - middle) ** 2 for at in across)


def speed() -> str:
    """Return what tells this machine from another: how long a loop of Python takes."""
    total, begun = 0, process_time()
    for number in range(LOOP):
        total += number * number
    return f"On this machine a loop that adds {LOOP:,} squares takes {process_time() - begun:.2f} s of the processor."


def main(_: int, rows: str = "") -> None:
    """Measure the rows whose name holds a text, print, write the table into the README, and fail above a goal."""
    lines = [speed(), "", "| what grows | sizes | ms | exponent | goal, ms |", "|---|---|---|--:|--:|"]
    above = []
    for row in (row for row in ROWS if rows in row.name):
        times = [spent(partial(row.prepare, size)) for size in row.sizes]
        power = exponent(row.sizes, times)
        shown = " · ".join(f"{time:,.1f}" for time in times)
        sizes = " · ".join(f"{size:,}" for size in row.sizes)
        lines.append(f"| {row.name} | {sizes} | {shown} | {power:.2f} | {row.goal:,.0f} |")
        print(lines[-1])
        if power > MAX_EXPONENT or times[-1] > row.goal:
            above.append(row.name)
    if not rows:
        write_block(README, "growth", lines)
    if above:
        raise SystemExit(f"grows too much: {', '.join(above)}")
