"""The commands where a home is read-only, a umask is 077, a path has spaces, and no user has the id 1000."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.books.small import write_ledger
from tests.support.engines.disks import disk
from tests.support.service.servers import SERVE, connected, serving

PASSWD = Path("/etc/passwd")
LEAVES_OUT = 'mount --bind "$0" /etc/passwd && exec "$@"'
PLACES = ("read-only home", "umask 077", "path with spaces", "no user 1000")


@dataclass(frozen=True)
class Surroundings:
    """Where a command runs: the folder of instance and state, what starts it, and its environment."""

    folder: Path
    before: tuple[str | Path, ...] = ()
    environment: dict[str, Any] = field(default_factory=dict)


def without_user_1000(folder: Path) -> Surroundings:
    """Return surroundings whose list of users has no id 1000; skip where this process may not make them."""
    others = folder / "passwd"
    others.write_text(
        "\n".join(line for line in PASSWD.read_text().splitlines() if line.split(":")[2] != "1000") + "\n"
    )
    before = ("unshare", "--mount", "sh", "-c", LEAVES_OUT, others)
    tried = subprocess.run([*before, "id", "1000"], capture_output=True, text=True, check=False)
    if "no such user" not in tried.stderr:
        pytest.skip(f"no mount namespace: {tried.stderr.strip()}")
    return Surroundings(folder, before)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Surroundings]:
    """Each of the surroundings."""
    with ExitStack() as until_end:
        if request.param == "read-only home":
            home = until_end.enter_context(disk(tmp_path / "home", 1, "ro"))
            with pytest.raises(OSError, match="Read-only"):
                (home / "file").touch()
            yield Surroundings(tmp_path, environment={"HOME": str(home)})
        elif request.param == "umask 077":
            yield Surroundings(tmp_path, ("sh", "-c", 'umask 077 && exec "$@"', "sh"))
        elif request.param == "path with spaces":
            folder = tmp_path / "Finance, 50% of 2021"
            folder.mkdir()
            yield Surroundings(folder)
        else:
            yield without_user_1000(tmp_path)


def test_books_are_loaded_and_served_wherever_people_run_them(place: Surroundings) -> None:
    instance = write_ledger(place.folder, "2021-01-05 actual 10\n2021-01-06 actual 32")
    state = place.folder / "state"
    state.mkdir()
    own = {"SVC_INSTANCE": str(instance), "SVC_STATE_DIR": str(state), **place.environment}
    load = [*place.before, SERVE[0], "load"]
    subprocess.run(load, env={**os.environ, **own}, check=True, stdout=subprocess.DEVNULL)
    with (
        serving(instance, state, command=(*place.before, *SERVE), **place.environment) as server,
        connected(server.url, "auto") as books,
    ):
        told = books.ask(
            "run_metric_data",
            metrics=["revenue"],
            scenarios=[{"scenario": "actual", "alias": "A"}],
            period_start="2021-01",
        )
        ready = httpx2.get(f"{server.ops}/readyz").json()
        history = books.ask("list_load_history")
    assert [row["values"] for row in told["rows"]] == [[42]]
    assert {part["status"] for part in ready["checks"].values()} == {"ok"}
    assert len(history["loads"]) == 1
