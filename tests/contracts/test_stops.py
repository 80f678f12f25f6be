"""Every loop whose length a caller decides looks at `stop`: no line runs ever more often between two looks.

The largest calls run twice, on books and requests of two sizes, while every line of the engine is counted between two
looks at `stop`. A line that runs more often in the larger call stands in a loop that does not look; the failure names
it. So a loop that is new is found without being listed anywhere.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from engine.books.books import Shelf
from engine.model import stopping
from engine.report import ranking
from server.base.interfaces import Principal
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.feeds.instance import read_instance
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.loads import ROOT, load_instance
from tests.support.books.small import write_instance
from tests.support.engines.memory import MemoryLoads

SIZES = SMALL, LARGE = 12, 72
BOUNDED = 32  # runs that a line may have more: no list of names in a note is longer than 30
Line = tuple[str, str, int]  # file, function, line; line 0 counts the calls of the function
Call = tuple[str, dict[str, Any]]
ENGINE = f"{ROOT / 'engine'}/"
BUILT_ONCE = (f"{ENGINE}model/members/", f"{ENGINE}model/stopping.py")  # trees: for a version of the books, not a call
DOMAIN = """
time: {column: date}
dimensions: {customer: customer, product: product}
measures: {amount: {places: 2}, stock: {type: number, places: 0}}
balances: {all: {where: {product: [P0, P1, P2]}, grain: month}}
inspect_enabled: true
metrics:
  revenue: {measure: amount, favourable: up}
  closing: {measure: stock, over_time: closing}
  known: {measure: stock, over_time: {last_known: always}}
  buyers: {over_members: {count_distinct: customer}}
  mean: {measure: amount, over_members: average}
  most: {measure: amount, over_members: max}
  share: {formula: revenue / closing}
  ratio: {formula: revenue / pieces}
  pieces: {measure: stock}
"""
DIMENSIONS = """
customer: {kind: leaf, members: live.customer}
segment: {kind: derived, from: customer, attribute: segment}
territory: {kind: ragged, leaf_dimension: customer, nodes: live.territory}
product: {kind: leaf}
kinds: {kind: ragged, leaf_dimension: product, nodes: live.kinds}
date: {kind: leaf, grain: date}
period: {kind: leaf, grain: month}
"""
PROFILES = """
everyone: {scenarios: {'*': {}}}
assign: [{subject: dev, profile: everyone}]
"""
STATEMENT = """
  - {metric: revenue}
  - {metric: closing}
  - {rollup: {metric: revenue, dimension: kinds, node: K}, key: kinds}
"""
METRICS = ["revenue", "closing", "known", "buyers", "mean", "most", "share"]
THREE = [{"scenario": key, "alias": key} for key in ("actual", "budget", "var(actual,budget)")]
EXPLAINED = {"scenarios": ["actual", "budget"], "period_start": "2026-01", "period_end": "2026-02"}
MONTHS = {"period_start": "2026-01", "period_end": "2026-02"}


def customers(count: int) -> list[str]:
    """Return the ids of some customers."""
    return [f"C{at:03}" for at in range(count)]


def facts(count: int) -> Iterator[str]:
    """Yield rows of each customer, on more days, the more customers there are."""
    yield "date scenario customer product amount stock"
    for at, customer in enumerate(customers(count)):
        for month, day in product((1, 2, 3, 4) if count > SMALL else (1, 2), (3, 4 + at % 20)):
            yield f"2026-{month:02}-{day:02} actual {customer} P{at % 3} {10 + at}.50 {at + 1}"
        yield f"2026-01-09 budget {customer} P{at % 3} {7 + at}.00 {at}"


def territories(count: int) -> Iterator[str]:
    """Yield a tree with two customers below each node."""
    yield from ("node parent name", "ALL - All")
    yield from (f"T{at:03} ALL T{at}" for at in range(count // 2))
    yield from (f"{customer} T{at // 2:03} -" for at, customer in enumerate(customers(count)))


def books_of(folder: Path, count: int) -> Path:
    """Write and load books of some customers; return the instance."""
    described = (f"{customer} {1000 + at} Name{at} S{at}" for at, customer in enumerate(customers(count)))
    instance = write_instance(
        folder / "books",
        facts={"sales": "\n".join(facts(count))},
        domains={"sales": DOMAIN},
        dimensions=DIMENSIONS,
        tables={
            "customer": "\n".join(("id code name segment", *described)),
            "territory": "\n".join(territories(count)),
            "kinds": "node parent weight\nK - 1\nP0 K 1\nP1 K -1\nP2 K 1",
        },
        statements={"pnl": STATEMENT},
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    return instance


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Folders with books of each size."""
    made = {count: tmp_path_factory.mktemp(f"of{count}") for count in SIZES}
    for count, folder in made.items():
        books_of(folder, count)
    return made


def metric(**asked: Any) -> Call:
    """Return a call of all metrics in three scenarios."""
    return "run_metric", {"metrics": METRICS, "scenarios": THREE, **MONTHS, **asked}


def rows(count: int, **filters: Any) -> Call:
    """Return a call for the rows behind a figure."""
    asked = {"source_key": "sales", "scenario_id": "actual", "limit": 3 * count, **MONTHS}
    return "inspect_rows", {**asked, **({"filters": filters} if filters else {})}


def days_of(count: int) -> dict[str, str]:
    """Return a range of more days, the more customers there are."""
    return {"period_start": "2026-01-01", "period_end": "2026-04-30" if count > SMALL else "2026-01-31"}


CALLS: dict[str, Callable[[int], Call]] = {
    "members": lambda _: metric(dimensions=["customer"]),
    "nodes by months": lambda _: metric(dimensions=["territory", "period"]),
    "top": lambda count: metric(dimensions=["segment"], top=count // 2, order_by="revenue@actual"),
    "top in frames": lambda count: metric(dimensions=["customer"], top=count // 2, order_by="revenue@actual"),
    "days": lambda count: metric(dimensions=["date"], scenarios=THREE[:1], **days_of(count)),
    "filter": lambda count: metric(dimensions=["customer"], filters={"customer": customers(count)}),
    "exclusion": lambda count: metric(filters={"customer": {"exclude": customers(count)[1:]}}),
    "statement": lambda _: (
        "run_statement",
        {"statement": "pnl", "scenarios": THREE, "dimensions": ["customer"], **MONTHS},
    ),
    "explained by members": lambda _: ("explain_variance", {**EXPLAINED, "metric": "revenue", "by": ["customer"]}),
    "explained by nodes": lambda count: (
        "explain_variance",
        {**EXPLAINED, "metric": "revenue", "by": ["territory", "segment"], "top": count // 2},
    ),
    "explained ratio": lambda _: ("explain_variance", {**EXPLAINED, "metric": "ratio", "by": ["segment"], "top": 1}),
    "rows": rows,
    "rows of a balance": lambda count: rows(count, metric="closing", customer=customers(count)),
    "rows of last known values": lambda count: rows(count, metric="known", territory="ALL"),
    "rows of a count": lambda count: rows(count, metric="buyers"),
    "rows of a maximum": lambda count: rows(count, metric="most"),
}


@dataclass
class LineCounts:
    """How often each line of the engine runs between two looks at most."""

    most: Counter[Line] = field(default_factory=Counter)
    now: Counter[Line] = field(default_factory=Counter)

    def look(self) -> None:
        """Begin anew, as a look at `stop` does."""
        counts, self.now = self.now, Counter()  # what is collected meanwhile may run lines of its own
        for line, count in counts.items():
            self.most[line] = max(self.most[line], count)

    def enter(self, frame: FrameType, _event: str, _arg: object) -> Any:
        """Trace a call of a function of the engine."""
        code = frame.f_code
        if not code.co_filename.startswith(ENGINE) or code.co_filename.startswith(BUILT_ONCE):
            return None
        at = frame.f_lineno if code.co_name.startswith("<") else 0  # each item of a generator is a call of it
        self.now[code.co_filename, code.co_qualname, at] += 1
        return self.count

    def count(self, frame: FrameType, event: str, _arg: object) -> Any:
        """Count a line."""
        if event == "line":
            self.now[frame.f_code.co_filename, frame.f_code.co_qualname, frame.f_lineno] += 1
        return self.count


def counted(folder: Path, call: Call, answer_tokens: int) -> Counter[Line]:
    """Return how often each line runs between two looks in a call on books that nothing is known of yet."""
    tool, counts = TOOLS[call[0]], LineCounts()
    instance = read_instance(folder / "books")
    shelf, keeping = Shelf(instance.catalogue, folder / "state" / "store"), keeping_in(folder / "files")
    caller = Callers(instance, shelf, Feeds.of({}, MemoryLoads(), {}), keeping, WORKSHOP, answer_tokens, 10_000).of(
        Principal("dev"), counts.look
    )
    asked, before = read_request(tool.shape, call[1]), sys.gettrace()
    with stopping.stopped_by(counts.look):
        sys.settrace(counts.enter)
        try:
            tool.run(caller, asked).render_block()
        finally:
            sys.settrace(before)
    counts.look()
    return counts.most


def function_of(line: Line) -> Line:
    """Return the function around a line; a comprehension is part of its function."""
    names = line[1].split(".<locals>.")
    while names and names[-1].startswith("<"):
        names.pop()
    return (line[0], ".<locals>.".join(names), 0)


@pytest.mark.parametrize("answer_tokens", [1_500, 1_000_000])
@pytest.mark.parametrize("name", CALLS)
def test_no_line_runs_more_often_between_two_looks_the_more_a_caller_asks_for(
    folders: dict[int, Path], monkeypatch: pytest.MonkeyPatch, name: str, answer_tokens: int
) -> None:
    monkeypatch.setattr(stopping, "STRIDE", 1)
    if name.endswith("in frames"):
        monkeypatch.setattr(ranking, "MAX_SMALL", 0)
    few, many = (counted(folders[count], CALLS[name](count), answer_tokens) for count in SIZES)
    more = {line for line, count in many.items() if count >= 2 * few[line] + BOUNDED}
    loops = {line for line in more if line[2] and "<lambda>" not in line[1] and function_of(line) not in more}
    assert "\n".join(sorted(f"{file.removeprefix(ENGINE)}:{at} {many[file, of, at]}" for file, of, at in loops)) == ""


def test_a_loop_that_does_not_look_is_found(folders: dict[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "STRIDE", 1000)  # so that no loop looks at each item
    few, many = (counted(folders[count], CALLS["members"](count), 1_000_000) for count in SIZES)
    assert any(
        count >= 2 * few[line] + BOUNDED for line, count in many.items() if line[0].endswith("plans/amount_table.py")
    )
