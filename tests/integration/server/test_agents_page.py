"""docs/agents.md is what a model is answered on the demo, and what it can say then."""

from scripts.agents_page import PAGE, page
from tests.support.serving import Server, connected


def test_the_page_of_conversations_is_current(demo_server: Server) -> None:
    with connected(demo_server.url, "auto") as books:
        assert PAGE.read_text(encoding="utf-8") == page(lambda tool, called: books.call(tool, **called).result), (
            "run: make docs"
        )
