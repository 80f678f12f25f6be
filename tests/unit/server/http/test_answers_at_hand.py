"""Answers at hand: what the books memoise is sent without a thread, to those alone who may see it, while it is true."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.books.books import Shelf
from server.base.interfaces import Principal
from server.base.settings import Settings
from server.feeds.instance import read_instance
from server.http.dispatch import LIGHT_THREADS, Dispatcher
from server.tools.tool import Deployment
from server.tools.toolbox import TOOLS
from tests.support.books.holders import WORKSHOP
from tests.support.books.loads import load_feeds, load_instance
from tests.support.books.small import LEDGER, csv, write_instance
from tests.unit.server.http.test_dispatch import Gate, dispatch_of, tool, until

ALL, PART, NOBODY = map(Principal, ("all", "part", "nobody"))
MEMOISED = [key for key, known in TOOLS.items() if known.is_memoised]
ARGUMENTS: dict[str, dict[str, Any]] = {"list_variants": {"scenario_id": "actual"}}


@pytest.fixture
def books(tmp_path: Path) -> tuple[Path, Path]:
    """Load books of two domains, of which one profile sees one."""
    folder = write_instance(
        tmp_path / "small",
        facts={
            "gl": "date scenario amount\n2021-01-05 actual 1",
            "hr": "date scenario amount\n2021-01-05 actual 7\n2021-01-05 budget 7",
        },
        domains={"gl": LEDGER, "hr": LEDGER.replace("revenue", "payroll")},
        profiles="""
        all: {scenarios: {'*': {}}}
        part: {scenarios: {actual: {domains: [gl]}}}
        assign: [{subject: all, profile: all}, {subject: part, profile: part}]
        """,
    )
    load_instance(folder, tmp_path / "state")
    return folder, tmp_path / "state"


def answers(dispatch: Dispatcher, *callers: Principal) -> list[list[object]]:
    """Return the answers of every memoised tool to some callers, one after another."""

    async def scene() -> list[list[object]]:
        return [
            [(await dispatch.call(key, ARGUMENTS.get(key, {}), caller)).result for key in MEMOISED]
            for caller in callers
        ]

    return asyncio.run(scene())


def test_an_answer_at_hand_is_sent_while_every_thread_is_taken(books: tuple[Path, Path]) -> None:
    gate = Gate()
    dispatch = dispatch_of(books, {"gate": tool(gate.run), **TOOLS}, calls_per_caller=LIGHT_THREADS + 1)

    async def scene() -> tuple[Any, Any, Any]:
        made = await dispatch.call("list_kpis", {}, ALL)
        taken = [asyncio.create_task(dispatch.call("gate", {}, ALL)) for _ in range(LIGHT_THREADS)]
        await until(gate.entered)
        sent = await asyncio.wait_for(dispatch.call("list_kpis", {}, ALL), 10)
        taken.append(asyncio.create_task(dispatch.call("gate", {}, ALL)))
        await asyncio.sleep(0)
        busy = await dispatch.call("list_kpis", {}, ALL)  # over the cap it is refused as any other
        gate.open.set()
        await asyncio.gather(*taken)
        return made, sent, busy

    made, sent, busy = asyncio.run(scene())
    assert not sent.is_error
    assert sent.json == made.json
    assert busy.result["error_type"] == "busy"


def test_an_answer_at_hand_goes_to_those_alone_who_would_be_given_it(books: tuple[Path, Path]) -> None:
    """Whoever asked before, a caller gets what a dispatch gives them that nobody else has asked."""
    callers = (ALL, PART, NOBODY)
    alone = [answers(dispatch_of(books, TOOLS), caller)[0] for caller in callers]
    assert answers(dispatch_of(books, TOOLS), *callers, *callers) == [*alone, *alone]
    assert ["payroll" in str(answer) for answer in alone] == [True, False, False]


def test_an_answer_at_hand_is_of_the_books_that_were_published_last(books: tuple[Path, Path]) -> None:
    folder, state = books
    dispatch = dispatch_of(books, TOOLS)
    before = answers(dispatch, ALL, ALL)
    assert before[0] == before[1]
    (folder / "data" / "gl.csv").write_text(csv("date scenario amount\n2021-01-05 actual 1\n2022-08-05 budget 3"))
    load_feeds(folder, state, "gl")
    after = answers(dispatch, ALL, ALL)
    assert after[0] == after[1] == answers(dispatch_of(books, TOOLS), ALL)[0]
    assert after[0] != before[0]


def test_a_call_that_is_no_call_of_a_tool_is_refused_alike_before_and_after(books: tuple[Path, Path]) -> None:
    dispatch = dispatch_of(books, TOOLS)

    async def scene() -> list[object]:
        wrong = {"domain": 7}
        first = await dispatch.call("list_kpis", wrong, ALL)
        await dispatch.call("list_kpis", {}, ALL)
        return [first.result, (await dispatch.call("list_kpis", wrong, ALL)).result]

    first, second = asyncio.run(scene())
    assert first == second
    assert "domain" in str(first)


def test_what_is_memoised_is_offered_to_everyone(books: tuple[Path, Path]) -> None:
    """So dispatch need not ask whether it is, which may take time that the event loop does not have."""
    folder, state = books
    deployment = Deployment(settings=Settings(instance=folder, state=state), workshop=WORKSHOP)
    default = type(TOOLS["list_kpis"]).__dataclass_fields__["withheld"].default
    for key in MEMOISED:
        assert TOOLS[key].withheld is default, key
        assert TOOLS[key].withheld(deployment) is None
        assert not TOOLS[key].takes_files, key


def test_a_shelf_has_no_books_at_hand_while_others_are_current(books: tuple[Path, Path]) -> None:
    folder, state = books
    shelf = Shelf(read_instance(folder).catalogue, state / "store")
    assert shelf.at_hand is shelf.current()
    load_feeds(folder, state, "hr")
    assert shelf.at_hand is None
    assert shelf.current() is shelf.at_hand
