"""search_hierarchy over 100,000 customers, a derived dimension and two trees of 10,000 nodes above them.

Beside it stands what a user would pick instead, over the same members with texts folded beforehand: a DuckDB table
asked with LIKE, and SQLite's full-text index of trigrams. Both rank by exact, beginning and part and return as many
records and nodes; neither knows close spelling, so that they find nothing where a word is misspelled. What a profile
shows is a column there, worked out beforehand; the engine resolves it from the profile.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import TypeVar

import duckdb
import polars as pl

from benches.books import BenchBooks
from benches.customers import customer_books
from benches.timing import Times, Work, in_turns, memory
from engine.books.books import Shelf
from engine.books.folding import fold
from engine.books.search import SearchResult, search
from engine.door import Door
from engine.instance.read import STORE
from engine.model.profiles import EVERYONE
from engine.model.requests import SearchRequest
from server.feeds.instance import read_instance
from tests.support.books.loads import load_feeds

CUSTOMERS = 100_000
ROUNDS = 41
AT_ONCE = 8  # light calls that a worker answers at once
SECTIONS = ((("customer", "segment"), 51, 201), (("territory", "channel"), 21, 101))  # found and listed, one more each
PROFILES = ("everything", "part", "rest")
ENGINE, DUCKDB, SQLITE = "Tieout", "DuckDB, LIKE", "SQLite, trigrams"
RANKED = """
select dimension, id, code, name from {table}
where {words} and section = {section} and {profile}
order by case when parts like '%|{whole}|%' then 0 when parts like '%|{whole}%' then 1 else 2 end, place limit {limit}
"""
Made = TypeVar("Made")
Ask = Callable[[str | None, str], object]  # of a query and a profile
TableAsk = Callable[[str | None, str], Sequence[Sequence[object]]]  # one that answers with two lists


def queries_of(doors: Mapping[str, Door]) -> dict[str, str | None]:
    """Return the mix: one query of each kind, about a customer in the middle."""
    members = doors["everything"].reader.members("customer")
    ids = list(members.ids())
    middle = ids[len(ids) // 2]
    code = members.code(middle) or ""
    return {
        "an id": middle,
        "a code": code,
        "the beginning of a code": code[:3],
        "the beginning of a name": "mull",
        "the beginning of a word": "robotics",
        "two words": "muller optics",
        "a whole name": members.label(middle).upper(),
        "a common part": "ogi",
        "one letter": "a",
        "a rare part": code[1:7],
        "a misspelled name": "Petorvic",
        "a misspelled code": f"{code[:5]}O{code[6:]}",
        "two words, one misspelled": "Dvorak Texitles",
        "no hit": "zzyzx",
        "the first page of everything": None,
    }


def doors_of(books: BenchBooks) -> dict[str, Door]:
    """Open the books once for all profiles."""
    instance = read_instance(books.instance)
    shelf = Shelf(instance.catalogue, books.state / STORE)
    return {key: Door(shelf, instance.profiles.by_key.get(key, EVERYONE)) for key in PROFILES}


def found(doors: Mapping[str, Door], query: str | None, profile: str) -> SearchResult:
    """Ask the engine, through a reader made for the call."""
    return search(SearchRequest(query=query), doors[profile].reader)


def table_of(doors: Mapping[str, Door]) -> pl.DataFrame:
    """Return every member and node, its folded parts, and which profiles show it."""
    rows: list[dict[str, object]] = []
    for section, (dimensions, *_) in enumerate(SECTIONS):
        for dimension in dimensions:
            members = doors["everything"].reader.members(dimension)
            shown = {key: frozenset(door.reader.visible_ids(dimension)) for key, door in doors.items()}
            for member in members.ids():
                code, name = members.code(member), members.label(member)
                parts = "|".join(("", fold(member), fold(code or ""), fold(name), ""))
                known = {"dimension": dimension, "id": member, "code": code, "name": name, "parts": parts}
                rows.append({"section": section, **known, **{key: member in ids for key, ids in shown.items()}})
    return pl.DataFrame(rows, infer_schema_length=None).with_row_index("place")


def asked(table: str, query: str | None, profile: str, words: Callable[[str], str]) -> Iterator[str]:
    """Yield the two questions of one search, records and nodes."""
    whole = fold(query or "").replace("'", "''")
    for section, (_, most_found, most_listed) in enumerate(SECTIONS):
        where = " and ".join(words(word) for word in whole.split()) or "true"
        limit = most_found if query else most_listed
        yield RANKED.format(table=table, words=where, section=section, profile=profile, whole=whole, limit=limit)


def duckdb_ask(table: pl.DataFrame) -> TableAsk:
    """Load a table of DuckDB and return how it is searched."""
    connection = duckdb.connect()
    connection.register("source", table.to_arrow())
    connection.execute("create table members as from source")
    return lambda query, profile: [
        connection.execute(text).fetchall() for text in asked("members", query, profile, "parts like '%{}%'".format)
    ]


def sqlite_ask(table: pl.DataFrame) -> TableAsk:
    """Fill a full-text index of SQLite and return how it is searched; words too short for it are scanned for."""
    connection = sqlite3.connect(":memory:")
    marks = ", ".join("?" * table.width)
    connection.execute(f"create table members ({', '.join(table.columns)})")
    connection.executemany(f"insert into members values ({marks})", table.iter_rows())
    connection.execute("create virtual table texts using fts5(parts, content=members, tokenize='trigram')")
    connection.execute("insert into texts (rowid, parts) select rowid, parts from members")

    def has(word: str) -> str:
        if len(word) < 3:
            return f"parts like '%{word}%'"
        return f"members.rowid in (select rowid from texts where texts match '\"{word}\"')"

    return lambda query, profile: [
        connection.execute(text).fetchall() for text in asked("members", query, profile, has)
    ]


def main(_: int) -> None:
    """Run the bench; the number of rows does not matter to it."""
    books = customer_books(CUSTOMERS)
    doors = doors_of(books)
    reader = doors["everything"].reader
    firsts: dict[str, Work] = {
        "members and trees from the store": lambda: [reader.members(key) for keys, *_ in SECTIONS for key in keys],
        "the first query: the index": lambda: found(doors, "K000001", "everything"),
        "the first misspelled one: the lexicon": lambda: found(doors, "Petorvic", "everything"),
        "the first query of another profile": lambda: found(doors, "K000001", "part"),
        "its first misspelled one": lambda: found(doors, "Petorvic", "part"),
    }
    for name, work in firsts.items():
        once(name, work)
    load_feeds(books.instance, books.state, "sales")  # facts alone: members stay as they are
    once("the first query after a load of facts", lambda: found(doors, "K000001", "everything"))
    once("eight first queries at once", lambda: at_once(doors_of(books), "everything"))
    table = table_of(doors)
    peers: dict[str, TableAsk] = {
        DUCKDB: once("DuckDB's table", lambda: duckdb_ask(table)),
        SQLITE: once("SQLite's table and index", lambda: sqlite_ask(table)),
    }
    asks: dict[str, Ask] = {ENGINE: partial(found, doors), **peers}
    queries = queries_of(doors)
    print(f"{table.height:,} members and nodes of 4 dimensions; ms, medians of {ROUNDS} rounds")
    for profile in PROFILES:
        agree(doors, peers, queries, profile)
        works: dict[str, Work] = {
            f"{name}: {kind}": partial(ask, query, profile)
            for name, ask in asks.items()
            for kind, query in queries.items()
        }
        print(f"profile {profile}: {int(table[profile].sum()):,} of them may be seen")
        tell(in_turns(works, ROUNDS), list(queries), list(asks))


def at_once(doors: Mapping[str, Door], profile: str) -> list[SearchResult]:
    """Ask one query of each kind in a thread of its own."""
    queries = [query for query in queries_of(doors).values() if query][:AT_ONCE]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda query: found(doors, query, profile), queries))


def once(name: str, work: Callable[[], Made]) -> Made:
    """Run work once; print its time and the memory that stays in use."""
    held, begun = memory("VmRSS"), perf_counter()
    made = work()
    print(f"{name:40} {(perf_counter() - begun) * 1000:8.0f} ms {memory('VmRSS') - held:6} MB")
    return made


def agree(
    doors: Mapping[str, Door], peers: Mapping[str, TableAsk], queries: Mapping[str, str | None], profile: str
) -> None:
    """Stop unless all find the same number of records and nodes, close spellings aside."""
    for kind, query in queries.items():
        hits = found(doors, query, profile)
        spelled = any(hit.why == "close spelling" for hit in (*hits.records, *hits.hierarchy_nodes))
        sizes = [] if spelled else [len(hits.records) + hits.more_records, len(hits.hierarchy_nodes) + hits.more_nodes]
        for name, ask in peers.items():
            theirs = [len(rows) for rows in ask(query, profile)]
            if theirs != (sizes or [0, 0]):
                raise SystemExit(f"{kind}: the engine finds {sizes} and {name} {theirs}")


def tell(times: Mapping[str, Times], kinds: list[str], names: list[str]) -> None:
    """Print the median of each kind of query, and median and 95th percentile of the mix."""
    print(f"{'':30}" + "".join(f"{name:>24}" for name in names))
    for kind in kinds:
        print(f"{kind:30}" + "".join(f"{times[f'{name}: {kind}'].median:24.2f}" for name in names))
    mixes = [Times(tuple(run for kind in kinds for run in times[f"{name}: {kind}"].runs)) for name in names]
    print(f"{'the mix, p50':30}" + "".join(f"{mix.median:24.2f}" for mix in mixes))
    print(f"{'the mix, p95':30}" + "".join(f"{mix.p95:24.2f}" for mix in mixes))
