"""docs/agents.md is what a model is answered on the demo, and what it can say then."""

from scripts.agents_page import PAGE, page
from tests.support.service.servers import Server, connected


def test_the_page_of_conversations_is_current(demo_server: Server) -> None:
    with connected(demo_server.url, "auto") as books:
        made = page(lambda tool, asked: books.call(tool, **asked))
    assert PAGE.read_text(encoding="utf-8") == made, "run: make docs"
    assert made.count("\n## ") == 16  # conversations
    assert made.count("And image content: the chart as a PNG.") == 1
