"""What an operator reads of a server: its log and its operators' port."""

import json
from typing import Any

import httpx2

from tests.support.service.servers import DEADLINE, Server, wait_for


def events(server: Server) -> list[dict[str, Any]]:
    """Return what a server logged in JSON; every line must be an event."""
    return [json.loads(line) for line in server.log.read_text().splitlines()]


def calls(server: Server) -> list[dict[str, Any]]:
    """Return the audit lines of a server, without those of lists of tools, which clients ask for by themselves."""
    lines = [event for event in events(server) if event["logger"] == "tieout.calls"]
    return [line for line in lines if line["tool"] != "tools/list"]


def metric(server: Server, name: str, **labels: str) -> float:
    """Return the value of a metric, 0 where there is no such series yet."""
    page = httpx2.get(f"{server.ops}/metrics", timeout=DEADLINE).raise_for_status().text
    wanted = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    series = f"{name}{{{wanted}}} " if wanted else f"{name} "
    return next((float(line.removeprefix(series)) for line in page.splitlines() if line.startswith(series)), 0.0)


def readyz(server: Server) -> tuple[int, dict[str, Any]]:
    """Return whether a server is ready, by status and checks."""
    answer = httpx2.get(f"{server.ops}/readyz", timeout=DEADLINE)
    found = answer.json()
    assert {"status", "checks"} <= set(found) <= {"status", "checks", "identity_provider"}
    return answer.status_code, found["checks"]


def until_ready(server: Server) -> dict[str, Any]:
    """Poll until a server is ready, and return its checks."""
    wait_for(lambda: readyz(server)[0] == 200)
    return readyz(server)[1]


def until_unready(server: Server, check: str) -> str:
    """Poll until one check of a server does not hold and the others do, and return why."""

    def found() -> set[str]:
        return {name for name, finding in readyz(server)[1].items() if finding["status"] != "ok"}

    wait_for(lambda: found() == {check})
    status, checks = readyz(server)
    assert status == 503
    return str(checks[check]["reason"])
