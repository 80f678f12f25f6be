"""Statements of more lines than an answer holds: cut like any other, kept and exported whole."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from engine.books.books import Shelf
from server.base.interfaces import Principal
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.feeds.instance import read_instance
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.engines.memory import MemoryLoads

LINES, SUBTOTALS = 500, 20
STYLED = {**{f"l{at}": "subtotal" for at in range(19, LINES, SUBTOTALS)}, f"l{LINES - 1}": "total"}
SCENARIOS = ("actual", "budget", "forecast")
DOMAIN = """
time: {column: date}
dimensions: {account: account}
measures: {amount: {places: 2}}
metrics:
  revenue: {measure: amount}
"""
DIMENSIONS = """
account: {kind: leaf}
accounts: {kind: ragged, leaf_dimension: account, nodes: live.accounts}
"""
PROFILES = "everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n"


@pytest.fixture(scope="module")
def callers(tmp_path_factory: pytest.TempPathFactory) -> Callers:
    """Books whose statement has 500 lines, and a rollup of two accounts above them."""
    folder = tmp_path_factory.mktemp("long")
    rollup = "  - {rollup: {metric: revenue, dimension: accounts, node: ALL}, key: all}\n"
    lines = (
        f"  - {{formula: {{key: l{at}, is: revenue * {at + 1}, label: Line {at}}}, style: {style}}}\n"
        for at, style in ((at, STYLED.get(f"l{at}", "plain")) for at in range(LINES))
    )
    facts = "date scenario account amount\n" + "\n".join(
        f"2026-01-05 {key} {account} {amount}" for key in SCENARIOS for account, amount in (("A", 1), ("B", 2))
    )
    instance = write_instance(
        folder / "instance",
        facts={"gl": facts},
        domains={"gl": DOMAIN},
        dimensions=DIMENSIONS,
        tables={"accounts": "node parent name\nALL - All\nA ALL -\nB ALL -"},
        statements={"pnl": rollup + "".join(lines)},
        profiles=PROFILES,
    )
    read = read_instance(instance)
    load_instance(instance, folder / "state", read)
    shelf = Shelf(read.catalogue, folder / "state" / "store")
    feeds = Feeds.of({}, MemoryLoads(), {})
    return Callers(read, shelf, feeds, keeping_in(folder / "files"), WORKSHOP, answer_tokens=10_000, row_cap=10_000)


def asked(callers: Callers, budget: int) -> dict[str, Any]:
    """Return the answer of the statement within a budget."""
    tool = TOOLS["run_statement"]
    columns = [{"scenario": key, "alias": key} for key in SCENARIOS]
    sent = {"statement": "pnl", "scenarios": columns, "period_start": "2026-01", "period_end": "2026-01"}
    limited = replace(callers, answer_tokens=budget)
    answer = tool.answer(limited.of(Principal("dev"), lambda: None), read_request(tool.shape, sent))
    return dict(json.loads(json.dumps(answer.result)))


def test_a_statement_that_fits_is_answered_whole(callers: Callers) -> None:
    result = asked(callers, 40_000)
    assert len(result["rows"]) == LINES + 3
    assert "agent_truncated" not in result


@pytest.mark.parametrize("budget", [2_000, 3_000, 5_000, 8_000, 10_000])
def test_lines_without_a_style_go_first_from_the_end_and_subtotals_last(callers: Callers, budget: int) -> None:
    result = asked(callers, budget)
    shown = [row["key"] for row in result["rows"]]
    order = ["all", *(f"l{at}" for at in range(LINES))]
    plain = [key for key in order if key not in STYLED]
    assert shown == [key for key in order if key in shown]
    assert result["agent_truncated"] == {"lines": LINES + 3 - len(shown)}
    kept = [key for key in shown if key not in STYLED]
    assert kept == plain[: len(kept)]
    assert not kept or STYLED.keys() <= set(shown)
    assert f"l{LINES - 1}" in shown
    assert all(row["values"] == [3 * (int(row["key"][1:]) + 1)] * 3 for row in result["rows"] if row["key"] != "all")


def test_the_reference_of_a_statement_that_is_cut_holds_every_line(callers: Callers) -> None:
    reference = asked(callers, 5_000)["data_ref"]
    caller = callers.of(Principal("dev"), lambda: None)
    tool = TOOLS["export_dataset"]
    made = tool.answer(caller, read_request(tool.shape, {"data_ref": reference, "format": "json"}))
    exported = json.loads(callers.keeping.archive.volume.path(dict(made.result)["file_id"]).read_text())
    assert {f"l{at}" for at in range(LINES)} <= {row["key"] for row in exported["rows"]}
