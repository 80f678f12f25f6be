"""How long answers are: an agent's calls with their goals, and typical calls and the largest of every tool.

Tokens are those of o200k, by bpe-openai, which carries its vocabulary; the estimate is what the budget is kept by.
`whole` is the estimate for the same answer with nothing left out. The bench fails where a call is above its goal.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from benches.books import demo_books
from engine.present.answers.budget import tokens_of
from server.base.settings import Settings
from server.stores.memory import REFERENCE
from server.tools.toolbox import TOOLS
from tests.support.answers import calls
from tests.support.books.loads import ADVENTUREWORKS, ROOT, load_instance
from tests.support.books.wide import DIMENSIONS, METRICS, wide_instance
from tests.support.service.servers import SERVE, Called, McpBooks, connected, serving

SMALL = 150_000
WHOLE = "1000000000"  # tokens
HEAD = "| call | tool | characters | estimate | o200k | whole | left out |\n|---|---|--:|--:|--:|--:|---|"
TOOLS_GOAL, SETUP_GOAL, WIRE_GOAL = 5_500, 6_500, 6_300
VARIED = 200
TYPICAL = "ds_46pm2hfpgwresyxqvhqjlt7xmylvgnim"  # costs as many tokens as the median of 3,000; others 5 more or less


def counted(text: str) -> int:
    """Return how many o200k tokens a text has."""
    from bpe_openai import get_encoding  # noqa: PLC0415 - it reads three vocabularies, which takes seconds

    return len(get_encoding("o200k_base").encode(text))


def advertised(books: McpBooks) -> str:
    """Return what a model reads of all tools: name, description and inputSchema as compact JSON."""
    examples = books.examples()
    read = [
        {"name": name, "description": tool.described(examples.get(name, {})), "inputSchema": tool.schema}
        for name, tool in TOOLS.items()
    ]
    return json.dumps(read, separators=(",", ":"), ensure_ascii=False)


def on_the_wire(books: McpBooks) -> str:
    """Return all of what a host receives of the tools: titles, annotations and `_meta` too."""
    sent = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in books.tools()]
    return json.dumps(sent, separators=(",", ":"), ensure_ascii=False)


def goals(books: McpBooks) -> bool:
    """Print the calls of an agent with their goals; return whether all are met."""
    print("\n### What an agent pays\n\n| call | o200k | goal |\n|---|--:|--:|")
    listed, orientation = counted(advertised(books)), length_of(books.call("svc_orientation"))
    met = [held(f"tools/list, all {len(TOOLS)} tools", listed, TOOLS_GOAL)]
    met.append(held("tools/list and svc_orientation", listed + orientation, SETUP_GOAL))
    met.append(held("tools/list on the wire, with annotations and `_meta`", counted(on_the_wire(books)), WIRE_GOAL))
    for name, (goal, (tool, asked)) in calls.GOALS.items():
        met.append(held(name, length_of(books.call(tool, **asked)), goal))
    return all(met)


def length_of(called: Called) -> int:
    """Return how many tokens an answer has with a typical reference; a refusal is none."""
    if called.is_error:
        raise ValueError(called.text)
    return counted(REFERENCE.sub(TYPICAL, called.text))


def held(name: str, count: int, goal: int) -> bool:
    """Print one call beside its goal; return whether it is met."""
    print(f"| {name} | {count:,} | {goal:,} |" + ("" if count <= goal else " above |"))
    return count <= goal


def share_cut(books: McpBooks) -> None:
    """Print how many of many varied calls of reports are cut, and how many tokens they have."""
    lengths, cut, refused = [], 0, 0
    for tool, asked in calls.varied(Random(23), VARIED):
        called = books.call(tool, **asked)
        refused += called.is_error
        cut += bool(called.result.get("agent_truncated"))
        lengths.append(counted(called.text))
    half = sorted(lengths)[len(lengths) // 2]
    print(f"\nOf {VARIED} varied calls {cut} are cut and {refused} refused; half have at most {half:,} tokens.")


def left_out(called: Called) -> str:
    """Return what an answer says it leaves out."""
    if called.is_error:
        return f"refused: {called.result['field']}"
    cut = called.result.get("agent_truncated")
    if isinstance(cut, Mapping):
        return ", ".join(f"{count:,} {axis.replace('_', ' ')}" for axis, count in cut.items())
    rows = called.result.get("row_count", 0) - len(called.result.get("rows", ()))
    return f"{rows:,} rows" if cut else ""


def line(name: str, tool: str, called: Called, whole: Called) -> str:
    """Return one line of the table."""
    estimate, uncut = tokens_of(called.text.encode()), tokens_of(whole.text.encode())
    words = [name, tool, f"{len(called.text):,}", f"{estimate:,}", f"{counted(called.text):,}", f"{uncut:,}"]
    return f"| {' | '.join(words)} | {left_out(called)} |"


@contextmanager
def served(instance: Path, state: Path) -> Iterator[tuple[McpBooks, McpBooks]]:
    """Serve books at the default budget and with nothing left out."""
    with (
        serving(instance, state, command=SERVE) as server,
        serving(instance, state, command=SERVE, SVC_ANSWER_TOKENS=WHOLE) as uncut,
        connected(server.url, "auto") as books,
        connected(uncut.url, "auto") as whole,
    ):
        yield books, whole


def measure(words: str, instance: Path, state: Path, calls: Mapping[str, calls.Call]) -> None:
    """Print the table of one set of books."""
    print(f"\n### {words}\n\n{HEAD}")
    with served(instance, state) as (books, whole):
        for name, (tool, asked) in {**calls, **last_load(books)}.items():
            print(line(name, f"`{tool}`", books.call(tool, **asked), whole.call(tool, **asked)))


def last_load(books: McpBooks) -> dict[str, calls.Call]:
    """Return the call that describes the last load, where any is remembered: its id is of these books alone."""
    loads = books.ask("list_load_history", limit=1)["loads"]
    return {"the last load": ("get_load_status", {"load_id": loads[0]["load_id"]})} if loads else {}


def main(_: int) -> None:
    """Run the bench, on books of fixed sizes."""
    demo = demo_books(SMALL)
    with serving(demo.instance, demo.state, command=SERVE) as server, connected(server.url, "auto") as books:
        is_met = goals(books)
        share_cut(books)
    print(f"Budget: {Settings().answer_tokens:,} tokens.")
    largest = {"sales × 2,000 customers × 34 months": calls.LARGEST}
    measure(f"Demo, {SMALL:,} rows, as `make serve` generates it", demo.instance, demo.state, calls.DEMO | largest)
    with TemporaryDirectory() as folder:
        if ADVENTUREWORKS.is_dir():
            os.environ["ADVENTUREWORKS"] = str(ADVENTUREWORKS)
            instance, state = ROOT / "instances" / "adventureworks", Path(folder, "adventureworks")
            load_instance(instance, state)
            measure("AdventureWorks, 39,409 rows", instance, state, calls.ADVENTUREWORKS)
        wide = wide_instance(Path(folder))
        measure(f"{METRICS} metrics, {DIMENSIONS} dimensions, two rows", wide, wide / ".tieout", calls.WIDE)
    if not is_met:
        sys.exit("an answer is above its goal")
