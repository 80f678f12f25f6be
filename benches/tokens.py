"""How long answers are, tool by tool: typical calls and the largest, on a server with the default budget.

Tokens are the estimate that the budget is kept by. Where the packages bpe-openai and anthropic-tokenizer are installed
(they carry their vocabularies), real tokenizers count beside it. `whole` is the estimate for the same answer with
nothing left out.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.books import demo_books
from engine.present.answers.budget import tokens_of
from server.base.settings import Settings
from tests.support import asking
from tests.support.books import ADVENTUREWORKS, ROOT, load_instance
from tests.support.serving import Called, McpBooks, connected, serving
from tests.support.wide import DIMENSIONS, METRICS, wide_instance

SMALL = 150_000
TOKENIZERS = ("bpe_openai", "anthropic_tokenizer")
WHOLE = {"SVC_ANSWER_TOKENS": "1000000000"}
HEAD = "| call | tool | characters | tokens | o200k | Claude 2 | drill | whole | left out |"


def counted(text: str) -> str:
    """Return how many tokens a text has for real tokenizers, where they are installed."""
    real = [import_module(package) for package in TOKENIZERS if find_spec(package)]
    if len(real) < len(TOKENIZERS):
        return "— | —"
    openai, claude = real
    return f"{len(openai.get_encoding('o200k_base').encode(text)):,} | {claude.count_tokens(text):,}"


def drilled(result: Mapping[str, Any]) -> int:
    """Return how many characters of a report are drill parts."""
    if "dataset" not in result:
        return 0
    parts = [part["drill"] for part in (*result["columns"], *result["rows"]) if "drill" in part]
    return sum(len(json.dumps(part, separators=(",", ":"), ensure_ascii=False)) + len('"drill":,') for part in parts)


def left_out(called: Called) -> str:
    """Return what an answer says it leaves out."""
    if called.is_error:
        return "refused: " + called.result["field"]
    cut = called.result.get("agent_truncated")
    if isinstance(cut, Mapping):
        return ", ".join(f"{count:,} {axis.replace('_', ' ')}" for axis, count in cut.items())
    rows = called.result.get("row_count", 0) - len(called.result.get("rows", ()))
    return f"{rows:,} rows" if cut else ""


def line(name: str, tool: str, called: Called, whole: Called) -> str:
    """Return one line of the table."""
    share = f"{drilled(called.result) / len(called.text):.0%}" if drilled(called.result) else ""
    words = [name, tool, f"{len(called.text):,}", f"{tokens_of(called.text.encode()):,}", counted(called.text), share]
    return f"| {' | '.join([*words, f'{tokens_of(whole.text.encode()):,}', left_out(called)])} |"


@contextmanager
def served(instance: Path, state: Path) -> Iterator[tuple[McpBooks, McpBooks]]:
    """Serve books at the default budget and with nothing left out."""
    with (
        serving(instance, state) as server,
        serving(instance, state, **WHOLE) as uncut,
        connected(server.url, "auto") as books,
        connected(uncut.url, "auto") as whole,
    ):
        yield books, whole


def measure(words: str, instance: Path, state: Path, calls: Mapping[str, asking.Call]) -> None:
    """Print the table of one set of books."""
    print(f"\n### {words}\n\n{HEAD}\n|---|---|--:|--:|--:|--:|--:|--:|---|")
    with served(instance, state) as (books, whole):
        tools = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in books.tools()])
        words = [
            "the tools themselves",
            "tools/list",
            f"{len(tools):,}",
            f"{tokens_of(tools.encode()):,}",
            counted(tools),
        ]
        print(f"| {' | '.join(words)} | | | |")
        for name, (tool, asked) in {**calls, **last_load(books)}.items():
            print(line(name, f"`{tool}`", books.call(tool, **asked), whole.call(tool, **asked)))


def last_load(books: McpBooks) -> dict[str, asking.Call]:
    """Return the call that describes the last load, where any is remembered: its id is of these books alone."""
    loads = books.ask("list_load_history", limit=1)["loads"]
    return {"the last load": ("get_load_status", {"load_id": loads[0]["load_id"]})} if loads else {}


def main(_: int) -> None:
    """Run the bench, on books of fixed sizes."""
    demo = demo_books(SMALL)
    print(f"Budget: {Settings().answer_tokens:,} tokens.")
    largest = {"sales × 2,000 customers × 34 months": asking.LARGEST}
    measure(f"Demo, {SMALL:,} rows, as `make serve` generates it", demo.instance, demo.state, asking.DEMO | largest)
    with TemporaryDirectory() as folder:
        if ADVENTUREWORKS.is_dir():
            os.environ["ADVENTUREWORKS"] = str(ADVENTUREWORKS)
            instance, state = ROOT / "instances" / "adventureworks", Path(folder, "adventureworks")
            load_instance(instance, state)
            measure("AdventureWorks, 39,409 rows", instance, state, asking.ADVENTUREWORKS)
        wide = wide_instance(Path(folder))
        measure(f"{METRICS} metrics, {DIMENSIONS} dimensions, two rows", wide, wide / ".tieout", asking.WIDE)
