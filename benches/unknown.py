"""A name that is hidden beside one that nothing has: whether the time of an answer tells them apart.

One caller sees a part of the demo books. Every pair asks the same call in turns, once with a name that exists and is
not theirs, once with one as long that nothing has; the books and everything worked out from them are the same.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from benches.books import BenchBooks, demo_books
from benches.timing import Work, in_turns
from engine.model.profiles import Grant, NameSet, Profile
from engine.model.scope import Cut
from server.feeds.instance import read_instance
from tests.support.books.fed import Fed, attempt_of

ROUNDS = 301
SEEN = Profile(
    key="seen",
    grants=(
        (
            "actual",
            Grant(domains=NameSet(("gl", "people"), deny=False), dimensions=(Cut("entity", ("DE02",), deny=True),)),
        ),
    ),
)
YEAR = {"period_start": "2025-01", "period_end": "2025-12"}
ACTUAL = {**YEAR, "scenarios": [{"scenario": "actual"}]}
LINES = {**ACTUAL, "statement": "full_pnl"}
ROWS = {"source_key": "gl", "scenario_id": "actual", "limit": 20, **YEAR}
Call = tuple[str, dict[str, Any]]
PAIRS: Mapping[str, tuple[Call, Call]] = {
    "a scenario": (
        ("run_statement", {**LINES, "scenarios": [{"scenario": "budget"}]}),
        ("run_statement", {**LINES, "scenarios": [{"scenario": "bugdet"}]}),
    ),
    "a side of a variance": (
        ("run_statement", {**LINES, "scenarios": [{"scenario": "var(actual,budget)"}]}),
        ("run_statement", {**LINES, "scenarios": [{"scenario": "var(actual,bugdet)"}]}),
    ),
    "a member": (
        ("run_statement", {**LINES, "filters": {"entity": "DE02"}}),
        ("run_statement", {**LINES, "filters": {"entity": "DE92"}}),
    ),
    "a member of rows": (
        ("inspect_rows", {**ROWS, "filters": {"entity": "DE02"}}),
        ("inspect_rows", {**ROWS, "filters": {"entity": "DE92"}}),
    ),
    "a metric": (
        ("run_metric", {**ACTUAL, "metrics": ["sales_amount"]}),
        ("run_metric", {**ACTUAL, "metrics": ["sales_amuont"]}),
    ),
    "a dimension": (
        ("run_metric", {**ACTUAL, "metrics": ["revenue"], "dimensions": ["customer"]}),
        ("run_metric", {**ACTUAL, "metrics": ["revenue"], "dimensions": ["cusotmer"]}),
    ),
    "a query": (
        ("search_hierarchy", {"query": "Corvane Service GmbH"}),
        ("search_hierarchy", {"query": "Corvane Sevrice GmbH"}),
    ),
    "a source": (
        ("get_inspection_schema", {"source_key": "sales"}),
        ("get_inspection_schema", {"source_key": "slaes"}),
    ),
    "a load": (("get_load_status", {"load_id": "load-sales-1"}), ("get_load_status", {"load_id": "load-slaes-1"})),
    "a feed": (("get_binding", {"binding_id": "sales"}), ("get_binding", {"binding_id": "slaes"})),
}


def asker(books: BenchBooks) -> Fed:
    """Return the tools as whoever sees a part meets them, with a load of everything in the history."""
    fed = Fed(books.instance, books.state, SEEN)
    for key, binding in read_instance(books.instance).bindings.items():
        fed.remember(attempt_of(f"load-{key}-1", key, source=binding.source.key, target=binding.target))
    return fed


def main(rows: int) -> None:
    """Run the bench."""
    fed = asker(demo_books(rows))
    print(f"{'':24}{'hidden':>12}{'unknown':>12}   (medians of {ROUNDS}, ms)")
    for name, (hidden, unknown) in PAIRS.items():
        asked: dict[str, Work] = {
            which: partial(fed.call, tool, **arguments)
            for which, (tool, arguments) in (("hidden", hidden), ("unknown", unknown))
        }
        times = in_turns(asked, ROUNDS)
        print(f"{name:24}{times['hidden'].median:12.3f}{times['unknown'].median:12.3f}")
