"""The budget of an answer: nothing is longer, what is left out is counted, and what goes first is what matters least.

Every call is made of a server with the default budget and of one whose answers are never cut.
"""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from benches import tokens
from server.base.settings import SHORTEST_ANSWER, Settings
from tests.support.answers import calls
from tests.support.answers.left_out import missing, rows_held, size
from tests.support.books.loads import ROOT
from tests.support.books.wide import DIMENSIONS, METRICS, STATEMENTS, wide_instance
from tests.support.service.servers import McpBooks, Server, connected, serving

Json = dict[str, Any]
BUDGET = Settings().answer_tokens
UNCUT: dict[str, Any] = {"SVC_ANSWER_TOKENS": "1000000000"}


@pytest.fixture(scope="module")
def uncut_demo(demo_folder: Path) -> Iterator[McpBooks]:
    """A client of the demo whose answers are never cut."""
    with serving(demo_folder, demo_folder / ".tieout", **UNCUT) as server, connected(server.url, "auto") as books:
        yield books


@pytest.fixture(scope="module")
def adventureworks_pair(
    adventureworks_server: Server, adventureworks_state: Path
) -> Iterator[tuple[McpBooks, McpBooks]]:
    """Clients of AdventureWorks: at the default budget, and never cut."""
    with (
        serving(ROOT / "instances" / "adventureworks", adventureworks_state) as server,
        connected(server.url, "auto") as cut,
        connected(adventureworks_server.url, "auto") as uncut,
    ):
        yield cut, uncut


@pytest.fixture(scope="module")
def wide_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Books with more of everything than an answer can hold."""
    return wide_instance(tmp_path_factory.mktemp("wide"))


@pytest.fixture(scope="module")
def wide(wide_folder: Path) -> Iterator[McpBooks]:
    """A client of the wide books."""
    with serving(wide_folder, wide_folder / ".tieout") as server, connected(server.url, "auto") as books:
        yield books


@pytest.fixture(scope="module")
def uncut_wide(wide_folder: Path) -> Iterator[McpBooks]:
    """A client of the wide books whose answers are never cut."""
    with serving(wide_folder, wide_folder / ".tieout", **UNCUT) as server, connected(server.url, "auto") as books:
        yield books


def held(cut: McpBooks, uncut: McpBooks, call: calls.Call, budget: int = BUDGET) -> bool:
    """Hold one answer against its budget and the whole answer; return whether something was left out of it."""
    tool, asked = call
    called = cut.call(tool, **asked)
    assert size(called) <= budget
    whole = uncut.call(tool, **asked)
    if called.is_error:
        assert called.result["error_type"] == "bad_arguments"
        assert size(whole) > budget
        return True
    if "source_key" in asked and "rows" in called.result:
        return rows_held(called.result, whole.result)
    left_out = called.result.get("agent_truncated", {})
    assert left_out == missing(called.result, whole.result)
    assert bool(left_out) is (size(whole) > budget)
    if not left_out:
        assert called.told == whole.told
    return bool(left_out)


CUT_IN_DEMO = {
    "search: 2,000 of a listing",
    "search: 2,000 hits",
    "full_pnl × 3 scenarios × 12 months",
    "full_pnl × 3 scenarios × 200 cost centres",
    "pnl × 100 columns",
    "full_pnl × 50 scenarios",
    "full_pnl × 50 scenarios × 8 companies",
    "sales × 3 scenarios × 2,000 customers",
    "expenses × 200 cost centres × 34 months",
    "inspect: 10,000 rows",
    "inspect: 10,000 rows of a figure",
    "inspect: every other day of two years",
}


@pytest.mark.parametrize("name", calls.DEMO)
def test_an_answer_of_the_demo_fits_and_counts_what_it_leaves_out(
    demo: McpBooks, uncut_demo: McpBooks, name: str
) -> None:
    assert held(demo, uncut_demo, calls.DEMO[name]) is (name in CUT_IN_DEMO)


@pytest.mark.parametrize("name", calls.ADVENTUREWORKS)
def test_an_answer_of_adventureworks_fits_and_counts_what_it_leaves_out(
    adventureworks_pair: tuple[McpBooks, McpBooks], name: str
) -> None:
    held(*adventureworks_pair, calls.ADVENTUREWORKS[name])


@pytest.mark.parametrize("name", calls.WIDE)
def test_an_answer_of_wide_books_fits_and_counts_what_it_leaves_out(
    wide: McpBooks, uncut_wide: McpBooks, name: str
) -> None:
    held(wide, uncut_wide, calls.WIDE[name])


def test_what_an_agent_reads_of_the_tools_and_pays_for_its_calls_is_within_the_goals(demo: McpBooks) -> None:
    paid = {name: tokens.length_of(demo.call(*call[:1], **call[1])) for name, (_, call) in calls.GOALS.items()}
    assert {name: paid[name] for name, (goal, _) in calls.GOALS.items() if paid[name] > goal} == {}
    assert tokens.counted(tokens.advertised(demo)) <= tokens.TOOLS_GOAL
    assert tokens.counted(tokens.on_the_wire(demo)) <= tokens.WIRE_GOAL
    orientation = tokens.length_of(demo.call("svc_orientation"))
    assert tokens.counted(tokens.advertised(demo)) + orientation <= tokens.SETUP_GOAL


TOO_LONG = ("orientation", "scenarios", "metrics", "dimensions", "variants", "inspection schema")


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_list_cut_short_says_how_to_ask_for_the_rest(wide: McpBooks, name: str) -> None:
    tool, asked = calls.WIDE[name]
    result = wide.ask(tool, **asked)
    (note,) = result["notes"]
    assert note["code"] == "shortened"
    assert all(
        f"{count} {axis.replace('_', ' ')}" in note["message"] for axis, count in result["agent_truncated"].items()
    )
    assert any(works in note["message"] for works in ("works by its key", "works by its id", "works by its name"))


def test_the_smallest_budget_there_is_holds_too(wide_folder: Path, uncut_wide: McpBooks) -> None:
    state, budget = wide_folder / ".tieout", str(SHORTEST_ANSWER)
    with serving(wide_folder, state, SVC_ANSWER_TOKENS=budget) as server, connected(server.url, "auto") as books:
        for name in TOO_LONG:
            assert held(books, uncut_wide, calls.WIDE[name], SHORTEST_ANSWER), name


def figures(result: Json) -> dict[tuple[str, ...], Any]:
    """Return the figures of a report by row, scenario, metric and members."""
    return {
        (row["key"], column["scenario"], column.get("metric", ""), *column.get("members", {}).values()): value
        for row in result["rows"]
        for column, value in zip(result["columns"], row["values"], strict=True)
    }


def largest(places: list[list[str]], amounts: list[Any], count: int) -> list[list[str]]:
    """Return the places of the members with the largest sum of amounts, as many as fit, in the order of all."""
    sums: dict[str, Decimal] = {}
    for place, amount in zip(places, amounts, strict=True):
        sums[place[0]] = sums.get(place[0], Decimal(0)) + Decimal(str(amount or 0))
    members = sorted(sums, key=lambda member: -abs(sums[member]))
    kept = sorted(range(len(places)), key=lambda at: members.index(places[at][0]))[:count]
    return [places[at] for at in sorted(kept)]


STATEMENTS_CUT = [
    "full_pnl × 3 scenarios × 12 months",
    "full_pnl × 3 scenarios × 200 cost centres",
    "pnl × 100 columns",
]


@pytest.mark.parametrize("name", STATEMENTS_CUT)
def test_of_a_statement_the_deepest_lines_go_first_then_the_oldest_periods_or_smallest_members(
    demo: McpBooks, uncut_demo: McpBooks, name: str
) -> None:
    tool, asked = calls.DEMO[name]
    cut, whole = demo.ask(tool, **asked), uncut_demo.ask(tool, **asked)
    shown, known = figures(cut), figures(whole)
    assert shown == {cell: known[cell] for cell in shown}
    level = max(row["level"] for row in cut["rows"])
    assert [row["key"] for row in cut["rows"]] == [row["key"] for row in whole["rows"] if row["level"] <= level]
    gone = [row for row in whole["rows"] if row["level"] > level]
    assert all(row["level"] > 0 for row in gone)
    members = [list(column["members"].values()) for column in cut["columns"] if column["scenario"] == "actual"]
    every = [list(column["members"].values()) for column in whole["columns"] if column["scenario"] == "actual"]
    count, codes = len(members) - 1, [note["code"] for note in cut["notes"]]
    if count == len(every) - 1 or asked["dimensions"] == ["period"]:
        assert members == [*every[len(every) - 1 - count : -1], []]  # the total last
        assert ("latest_kept" in codes) is (count < len(every) - 1)
    else:
        (first, *_) = (row for row in whole["rows"] if row["unit"] == "EUR" and "aggregate" not in row)
        pairs = zip(whole["columns"], first["values"], strict=True)
        amounts = [value for column, value in pairs if column["scenario"] == "actual"]
        assert members == [*largest(every[:-1], amounts[:-1], count), []]
        assert "largest_kept" in codes
    assert sum(column.get("is_total", False) for column in cut["columns"]) == len(asked["scenarios"])
    if len(members) < len(every):
        assert level == 0  # lines first


def test_of_metrics_the_smallest_members_go_and_the_total_stays(demo: McpBooks, uncut_demo: McpBooks) -> None:
    for name in ("sales × 3 scenarios × 2,000 customers", "expenses × 200 cost centres × 34 months"):
        tool, asked = calls.DEMO[name]
        cut, whole = demo.ask(tool, **asked), uncut_demo.ask(tool, **asked)
        assert cut["columns"] == whole["columns"]
        places = [list(row["members"].values()) for row in whole["rows"][:-1]]
        kept = largest(places, [row["values"][0] for row in whole["rows"][:-1]], len(cut["rows"]) - 1)
        assert cut["rows"] == [row for row in whole["rows"] if list(row["members"].values()) in [*kept, []]]
        assert [note["line"] for note in cut["notes"] if note["code"] == "largest_kept"] == asked["metrics"]
        assert cut["rows"][-1]["kind"] == "total"


def test_of_the_largest_breakdown_every_member_is_shown_or_counted(demo: McpBooks) -> None:
    tool, asked = calls.LARGEST
    called = demo.call(tool, **asked)
    assert BUDGET * 0.9 < size(called) <= BUDGET  # and little of the budget is left
    shown = len(called.result["rows"])
    assert called.result["agent_truncated"] == {
        "members": called.meta["tieout/details"]["dataset"]["row_count"] - shown
    }
    assert called.result["rows"][-1]["label"] == "Total"


def test_a_statement_too_long_in_totals_keeps_its_subtotals(demo: McpBooks) -> None:
    tool, asked = calls.DEMO["full_pnl × 50 scenarios × 8 companies"]
    result = demo.ask(tool, **asked)
    assert result["agent_truncated"].keys() == {"lines", "members"}
    assert len(result["columns"]) == len(asked["scenarios"])
    styled = {"gross_profit", "ebitda", "operating_result", "net_result"}
    assert styled <= {row["key"] for row in result["rows"]}


def test_metrics_too_long_in_totals_name_the_dimension_to_filter(demo: McpBooks) -> None:
    tool, asked = calls.DEMO["full_pnl × 50 scenarios × 8 companies"]
    ledger = next(known for known in demo.ask("list_kpis")["domains"] if known["domain"] == "gl")
    named = {"metrics": [metric["key"] for metric in ledger["metrics"]]}
    asked = {name: value for name, value in asked.items() if name != "statement"} | named
    refused = demo.call(tool.replace("statement", "metric"), **asked)
    assert (refused.is_error, refused.result["error_type"]) == (True, "bad_arguments")
    assert (refused.result["field"], refused.result["got"]) == ("dimensions", ["entity"])
    assert "filter 'entity'" in refused.result["error"]


def test_metrics_lose_descriptions_first_then_details_and_keep_their_keys(wide: McpBooks) -> None:
    result = wide.ask("list_kpis")
    gone = result["agent_truncated"]
    assert gone.keys() == {"descriptions", "metric_details"}
    assert gone["descriptions"] == METRICS * 4 // 5 + 2  # every one, those of the other domain too
    assert not any("description" in metric for metric in result["domains"][0]["metrics"] if metric.get("description"))
    ledger = result["domains"][0]
    named = [metric["key"] for metric in ledger["metrics"]] + ledger["more_metrics"]
    assert named == [f"m{number:03}" for number in range(METRICS)]
    assert len(ledger["dimension_keys"]) > DIMENSIONS
    asked = {"scenarios": calls.THREE[:1], "period_start": "2021-01"}
    assert wide.ask("run_metric", metrics=named[-1:], **asked)["columns"][0]["label"] == "Measure number 499"
    guessed = wide.call("run_metric", metrics=["m50"], **asked).result
    assert set(guessed["did_you_mean"]) & set(named)


def test_the_example_of_rows_names_columns_where_not_all_fit(wide: McpBooks) -> None:
    example = wide.examples()["inspect_rows"]
    (row,) = wide.ask("inspect_rows", **example)["rows"]
    assert len(example["columns"]) <= len(row) < DIMENSIONS


def test_orientation_names_every_statement_beside_prose_that_is_cut(wide: McpBooks) -> None:
    result = wide.ask("svc_orientation")
    assert len(result["statements"]) + len(result.get("more_statements", ())) == STATEMENTS
    assert "Ask in this order" in result["orientation"]
    assert "These books are described at length" in result["orientation"]
