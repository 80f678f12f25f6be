"""A session while what the server stands on fails: figures are answered throughout, and all of it once it is mended."""

from collections.abc import Iterator

import pytest

from tests.support.books.loads import load_instance
from tests.support.books.small import write_ledger
from tests.support.service.faults import FAULTS, NORMAL, MachineFault, caused
from tests.support.service.scenes import FaultScene, made, scene, session, words
from tests.support.service.servers import wait_for

ASKED = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultScene]:
    """A server of a small ledger, and what it stands on."""
    folder = tmp_path_factory.mktemp("faults")
    statements = {"pnl": "  - {metric: revenue}\n"}
    instance = write_ledger(folder, "2021-01-05 actual 10\n2021-01-05 budget 5", statements=statements)
    load_instance(instance, folder / "state")
    with scene(instance, folder / "state", folder / "served", ASKED) as found:
        yield found


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_session_in_a_fault_and_after_it(on: FaultScene, fault: MachineFault) -> None:
    before = made(on)
    assert words(session(on, before)) == NORMAL
    with caused(fault, on):
        for _ in range(fault.rounds):
            assert words(session(on, before)) == fault.meanwhile
    wait_for(lambda: words(session(on, before)) == fault.afterwards)
    assert words(session(on, made(on))) == NORMAL
