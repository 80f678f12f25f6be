"""Writes docs/agents.md: questions that people ask, the calls that answer them on the demo books, and the answers.

The figures of an answer are read from what the calls return, so that the page says what the service says.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from benches.books import demo_books
from scripts.conversations import CONVERSATIONS, Conversation
from scripts.spoken_answers import Json
from scripts.tools_page import LEFT_OUT, block, masked, shortened
from tests.support.books.demo import ROWS
from tests.support.service.servers import Called, connected, serving

PAGE = Path(__file__).parents[1] / "docs" / "agents.md"
HEAD = """# Worked conversations

Questions that people ask of their books, each with the calls that a model makes on the demo, the tokens
(o200k) that it reads of each answer, and what it can say then. `…` stands for what this page leaves out of a long
answer. `make docs` writes this page from a server of the demo, figures included.

The prompts `month_end_review`, `variance_commentary`, `tie_out` and `board_summary` lead a model along such paths;
[connecting clients](connect.md) says where hosts show them.
"""
Ask = Callable[[str, Json], Called]  # a tool and its arguments to its answer
REFERENCE = "ds_k7q2m4x6w3n5z2r7t4y6u3v5b2c7d4f6"  # is as long as any other


def page(ask: Ask) -> str:
    """Return the page, of a server of the demo."""
    return "\n".join([HEAD, *("\n".join(section(conversation, ask)) for conversation in CONVERSATIONS)])


def section(conversation: Conversation, ask: Ask) -> Iterator[str]:
    """Yield the lines of one conversation."""
    told: list[Json] = []
    yield f"## {conversation.question}\n"
    for call in conversation.calls:
        arguments = call.arguments(told)
        called = ask(call.tool, arguments)
        told.append(called.result)
        yield f"{call.why} `{call.tool}`:\n"
        yield from block(masked(arguments))
        yield f"{tokens(told[-1]):,} tokens:\n"
        yield from block(shortened(masked(told[-1])))
        yield from ("And image content: the chart as a PNG.\n" for _ in called.pictures)
    yield f"> {conversation.answer(told)}\n"


def tokens(answer: Json) -> int:
    """Return about how many o200k tokens an answer has, to the next ten, whatever its references are."""
    from bpe_openai import get_encoding  # noqa: PLC0415 - it reads every vocabulary, which others are spared

    text = json.dumps(masked(answer), separators=(",", ":"), ensure_ascii=False).replace(LEFT_OUT, REFERENCE)
    return -(-len(get_encoding("o200k_base").encode(text)) // 10) * 10


def main() -> None:
    """Write the page, of a server of the demo as the tests load it."""
    books = demo_books(ROWS)
    with serving(books.instance, books.state) as server, connected(server.url, "auto") as client:
        PAGE.write_text(page(lambda tool, asked: client.call(tool, **asked)), encoding="utf-8")


if __name__ == "__main__":
    main()
