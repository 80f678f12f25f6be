"""A server whose clock jumps: links and files end by it, kept results by the cache store's, and nothing breaks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.books.loads import load_instance
from tests.support.books.small import write_ledger
from tests.support.service.clocks import FalseClock, clock_in
from tests.support.service.scenes import GIVEN, KEPT, MADE, RENEWED, get, word
from tests.support.service.servers import McpBooks, connected, serving, wait_for

ASKED = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}
pytestmark = pytest.mark.program("faketime")


@pytest.fixture
def clock(tmp_path: Path) -> FalseClock:
    """A clock that can be set off."""
    return clock_in(tmp_path)


@pytest.fixture
def books(tmp_path: Path, clock: FalseClock) -> Iterator[McpBooks]:
    """A client of a small ledger whose server goes by that clock."""
    instance = write_ledger(tmp_path, "2021-01-05 actual 10", statements={"pnl": "  - {metric: revenue}\n"})
    load_instance(instance, tmp_path / "state")
    state = tmp_path / "state"
    with serving(instance, state, **clock.environment) as server, connected(server.url, "auto") as books:
        yield books


def test_a_clock_that_jumps(books: McpBooks, clock: FalseClock) -> None:
    jump = clock.jump
    reference = books.ask("run_statement", **ASKED)["data_ref"]
    file = books.ask("export_dataset", data_ref=reference, format="json")
    url, file_id = file["download_url"], file["file_id"]
    assert get(url) == GIVEN
    jump("-1h")
    assert get(url) == GIVEN
    assert word(books, "run_statement", **ASKED) == KEPT
    jump("+20m")
    wait_for(lambda: get(url) == "410")
    assert get(books.ask("get_file_download", file_id=file_id)["download_url"]) == GIVEN
    assert word(books, "export_dataset", data_ref=reference, format="xlsx") == MADE
    jump("+25h")
    wait_for(lambda: word(books, "get_file_download", file_id=file_id) == "unknown_file")
    assert get(url) == "410"
    assert word(books, "export_dataset", data_ref=reference, format="xlsx") == MADE  # the store's clock did not jump
    jump("+0")
    assert word(books, "get_file_download", file_id=file_id) == RENEWED
    assert get(url) == GIVEN
