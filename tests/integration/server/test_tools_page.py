"""docs/tools.md is what clients are told, and what came back when each tool was called."""

from scripts.tools_page import PAGE, page
from tests.support.service.servers import Server, connected


def test_the_page_of_tools_is_current(demo_server: Server) -> None:
    with connected(demo_server.url, "auto") as books:
        told = page(lambda tool, called: books.call(tool, **called).result, books.examples())
        assert PAGE.read_text(encoding="utf-8") == told, "run: make docs"
