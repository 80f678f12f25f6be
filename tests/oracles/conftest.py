"""Oxford's payments, loaded by the command that a user types; AdventureWorks as its rows are looked at."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.books.loads import OXFORD, ROOT, UserLoad, edited_copy, load_as_user, needs
from tests.support.service.servers import ERAS, McpBooks, Server, connected, serving

INSTANCE = ROOT / "instances" / "oxford"
AW = ROOT / "instances" / "adventureworks"
UNCUT = "1000000"  # an answer budget that nothing in these tests exceeds


@pytest.fixture(scope="session")
def oxford_load(tmp_path_factory: pytest.TempPathFactory) -> UserLoad:
    """Oxford's payments, loaded."""
    needs(OXFORD)
    return load_as_user(INSTANCE, tmp_path_factory.mktemp("oxford"), OXFORD_SPEND=str(OXFORD))


@pytest.fixture(scope="session")
def oxford_server(oxford_load: UserLoad) -> Iterator[Server]:
    """A server of Oxford's payments as committed."""
    with serving(INSTANCE, oxford_load.state, SVC_ANSWER_TOKENS=UNCUT) as server:
        yield server


@pytest.fixture(scope="session", params=ERAS)
def oxford(request: pytest.FixtureRequest, oxford_server: Server) -> Iterator[McpBooks]:
    """A client of Oxford's payments, in each era."""
    with connected(oxford_server.url, request.param) as books:
        yield books


@pytest.fixture(scope="session")
def suspense_hidden_server(oxford_load: UserLoad, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of Oxford's payments whose caller may not see Suspense."""
    assigned = ("{subject: dev, profile: controller}", "{subject: dev, profile: without_suspense}")
    copy = edited_copy(INSTANCE, tmp_path_factory.mktemp("without_suspense"), {"profiles.yaml": assigned})
    with serving(copy, oxford_load.state, SVC_ANSWER_TOKENS=UNCUT) as server:
        yield server


@pytest.fixture(scope="session", params=ERAS)
def suspense_hidden(request: pytest.FixtureRequest, suspense_hidden_server: Server) -> Iterator[McpBooks]:
    """A client that may not see Suspense, in each era."""
    with connected(suspense_hidden_server.url, request.param) as books:
        yield books


@pytest.fixture(scope="session")
def last_known(adventureworks_state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """AdventureWorks with each leaf cell's own last balance in a range, by day."""
    file = "domains/finance.yaml"
    by_day = edited_copy(AW, tmp_path_factory.mktemp("known_by_day"), {file: ("grain: month}", "grain: day}")})
    carried = {file: ("over_time: closing", "over_time: {last_known: range}")}
    copy = edited_copy(by_day, tmp_path_factory.mktemp("last_known"), carried)
    with (
        serving(copy, adventureworks_state, SVC_ANSWER_TOKENS=UNCUT) as server,
        connected(server.url, "auto") as books,
    ):
        yield books


@pytest.fixture(scope="session")
def every_row(adventureworks_state: Path) -> Iterator[McpBooks]:
    """AdventureWorks where an inspection shows every row there is."""
    with (
        serving(AW, adventureworks_state, SVC_ANSWER_TOKENS=UNCUT, INSPECTION_ROW_CAP="40000") as server,
        connected(server.url, "auto") as books,
    ):
        yield books
