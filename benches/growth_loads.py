"""Books of one month that many loads have appended to, as merges leave them, and the work of those who read them."""

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from msgspec.structs import replace

from benches.books import ROOT, BenchBooks
from engine.books.books import Shelf
from engine.books.reader import Reader
from engine.door import Door
from engine.facts.files import write_durably
from engine.facts.landing import Landing
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import LOAD, Load, LoadedRows, Manifest, manifest_file, pin_current
from engine.facts.partition_writer import PartitionWriter
from engine.facts.writer import stage
from engine.instance.read import STORE
from engine.model.stopping import never
from server.caller.feeds import CallerFeeds, Feeds
from server.feeds.feeds import LoadAttempt, LoadStatus
from server.feeds.instance import read_instance
from server.ops.health_checks import StoredBooks
from server.stores.loads import BEGIN, PostgresLoadHistory, row_of
from server.stores.migrations import migrate, read_migrations
from server.stores.postgres import Database
from server.wire.feeds import bindings_answer
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.engines.postgres import postgres

FIRST, DAYS, MEMBERS = date(2026, 1, 1), 31, 10
ROWS = 2  # of a load
STARTED = datetime(2026, 2, 1, tzinfo=UTC)
PERIOD = "2026-01"
BUDGET = 10_000
Work = Callable[[], object]
DOMAIN = """
time: {column: date}
dimensions: {account: account}
measures: {amount: {places: 2}}
metrics: {amount: {measure: amount}}
"""


def appended_books(loads: int) -> BenchBooks:
    """Return books whose month has the rows of some loads of one feed, written once."""
    home = ROOT / "out" / "benches" / "growth" / f"loads-{loads}"
    books = BenchBooks(home / "instance", home / "state")
    if not (books.state / STORE / "appended").exists():
        print(f"writing {loads:,} loads …")
        write_instance(
            books.instance,
            facts={"sales": "date scenario account amount\n2026-01-31 s0 M0 1"},
            domains={"sales": DOMAIN},
            dimensions="account: {kind: leaf, members: live.account}\n",
            tables={"account": "\n".join(("id name", *(f"M{at} Member~{at}" for at in range(MEMBERS))))},
            scenarios="s0: {alias: S0, kind: forecast}\n",
            statements={"pnl": "  - {metric: amount}\n"},
            profiles="part: {scenarios: {'*': {dimensions: {account: {deny: [M1]}}}}}\n",
        )
        load_instance(books.instance, books.state)
        append_all(books, loads)
        (books.state / STORE / "appended").touch()
    return books


def append_all(books: BenchBooks, count: int) -> None:
    """Replace the rows of the feed by those of some loads, in one merged partition."""
    root, domain = books.state / STORE, read_instance(books.instance).catalogue.domains["sales"]
    numbers = pl.int_range(count * ROWS)
    rows = pl.select(
        scenario=pl.lit("s0"),
        date=pl.lit(FIRST) + pl.duration(days=numbers // ROWS % DAYS),
        account="M" + (numbers % MEMBERS).cast(pl.String),
        amount=numbers,
    )
    with stage(root) as staged, TemporaryDirectory() as folder:
        landing = Landing(Path(folder), domain)
        landing.add(rows)
        staged.facts(domain, landing, Load(id="all", binding="sales", loaded_at=STARTED))
        staged.publish()
    pin = pin_current(root)
    write_durably(manifest_file(root, pin.manifest.version), with_loads(root, pin.manifest, count).as_json())
    pin.drop()


def with_loads(root: Path, manifest: Manifest, count: int) -> Manifest:
    """Return a manifest whose one partition was merged of the rows of some loads."""
    loads = [
        Load(
            id=f"ld_{at:032}",
            binding="sales",
            loaded_at=STARTED + timedelta(minutes=at),
            sequence=manifest.version + at,
            rows_read=ROWS,
        )
        for at in range(count)
    ]
    (whole,) = manifest.facts["sales"]
    writer = PartitionWriter(root, manifest.codes, {}, None)
    rows = writer.rows("sales", whole).with_columns((pl.col("amount") // ROWS).cast(pl.UInt32).alias(LOAD))
    file = writer.write_rows("sales", whole.scenario, whole.bucket, rows)
    brought = tuple(
        LoadedRows(load.id, f"facts/sales/s0/2026-01-{at:032}.arrow", ROWS, (1 + at % DAYS,))
        for at, load in enumerate(loads)
    )
    merged = replace(whole, id=file, file=file, load="", merged=brought, rollups=())
    others = {key: load for key, load in manifest.loads.items() if key != "all"}
    return replace(manifest, facts={"sales": (merged,)}, loads=others | {load.id: load for load in loads})


def restricted_report(loads: int, *, calls: int = 1) -> Work:
    """Return a report of a caller who does not see all rows: the first, or some of those that follow it."""
    books = appended_books(loads)
    instance = read_instance(books.instance)
    door = Door(Shelf(instance.catalogue, books.state / STORE), instance.profiles.by_key["part"])
    ask = partial(door.statement, "pnl", scenarios={"S0": "s0"}, period=PERIOD)
    if calls > 1:
        ask()
    return lambda: [ask() for _ in range(calls)]


def looked_at_again(loads: int) -> Work:
    """Return what readiness does of books that have not changed since it looked last."""
    books = appended_books(loads)
    stored = StoredBooks(read_instance(books.instance).catalogue, books.state / STORE, lambda *_: None)
    stored.use()
    return stored.use


@cache
def history_server() -> Database:
    """Start a database for the history of loads, which ends with this process."""
    ends = ExitStack()
    atexit.register(ends.close)
    uri = ends.enter_context(postgres(Path(ends.enter_context(TemporaryDirectory()))))
    migrate(uri, read_migrations(), lambda _: None)
    database = Database(uri)
    ends.callback(database.close)
    return database


@cache
def history_of(loads: int) -> tuple[BenchBooks, Feeds]:
    """Return books and their feeds, whose history has an attempt for each load."""
    books, database = appended_books(loads), history_server()
    feeds = {f"{key}{loads}": feed for key, feed in read_instance(books.instance).bindings.items()}
    named = {key: replace(feed, key=key) for key, feed in feeds.items()}
    filled = named[f"sales{loads}"]
    attempts = (
        LoadAttempt(
            load_id=f"ld_{loads}_{at}",
            binding=filled.key,
            source=filled.source.key,
            target=filled.target,
            mode=LoadMode.APPEND,
            status=LoadStatus.SUCCESS,
            started_at=STARTED + timedelta(minutes=at),
            finished_at=STARTED + timedelta(minutes=at),
        )
        for at in range(loads)
    )
    with database.transaction() as connection:
        connection.cursor().executemany(BEGIN, [row_of(attempt) for attempt in attempts])
    return books, Feeds.of(named, PostgresLoadHistory(database), {})


def listed_feeds(loads: int, *, calls: int) -> Work:
    """Return what list_bindings does, some times."""
    books, feeds = history_of(loads)
    instance = read_instance(books.instance)
    reader = Reader(Shelf(instance.catalogue, books.state / STORE).current(), [instance.profiles.by_key["part"]])
    seen = CallerFeeds(feeds, reader, operates=False)

    def listed() -> object:
        bindings = [feed.binding for feed in seen.seen.values()]
        return bindings_answer(bindings, seen.last(list(seen.seen)), BUDGET, never)

    listed()
    return lambda: [listed() for _ in range(calls)]
