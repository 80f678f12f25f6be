"""The stack where memory is short."""

import re
from functools import partial
from pathlib import Path

from tests.integration.stack.containers.checks import COMING_BACK
from tests.integration.stack.containers.deployment import InstalledStack
from tests.integration.stack.containers.engine import CGROUPS
from tests.integration.stack.containers.install import UP, unhealthy
from tests.integration.stack.containers.traffic import traffic
from tests.support.service.servers import wait_for

LITTLE = 512  # MB
RELOADS = 2
LEFT = re.compile(r"worker (\d+) left")
BY_CUSTOMER = {
    "metrics": ["revenue"],
    "scenarios": [{"scenario": "actual"}, {"scenario": "budget"}],
    "dimensions": ["customer"],
    "period_start": "2026-01",
    "period_end": "2026-09",
}
NOT_NOW = {"200", "busy"}  # what a caller may be told; a status of the proxy is none of it


def told_by(container: str, name: str) -> str:
    """Return a file of the control group of memory that a container is in."""
    for pattern in (f"memory/{CGROUPS}/{container}/{name}", f"{CGROUPS}/{container}/{name}"):
        for path in Path("/sys/fs/cgroup").glob(pattern):
            return path.read_text(encoding="ascii")
    return ""


def kills(container: str) -> int:
    """Return how many processes of a container were killed for want of memory."""
    told = told_by(container, "memory.oom_control") + told_by(container, "memory.events")
    (count,) = re.findall(r"^oom_kill (\d+)", told, re.MULTILINE)
    return int(count)


def little_memory(stack: InstalledStack) -> str:
    """A server of 512 MB: reports of 20,000 members, the instance read anew twice; nobody dies, no 502."""
    stack.fill_in(SERVER_MEMORY=f"{LITTLE}m")
    stack.page(UP)
    wait_for(lambda: not unhealthy(stack), COMING_BACK)
    (container,) = stack.containers("server")
    limit = int(stack.state(container)["HostConfig"]["Memory"])
    assert limit == LITTLE << 20
    with traffic() as small, traffic(2, BY_CUSTOMER, "run_metric_data") as large:
        for reload in range(1, RELOADS + 1):
            stack.shell("docker compose kill --signal HUP server")
            wait_for(partial(has_left, stack, reload), COMING_BACK)
            large.wait_for_more(2)
        small.wait_for_more(10)
    held = told_by(container, "memory.stat")
    stack.fill_in(SERVER_MEMORY="4g")
    assert kills(container) == 0, said(stack)[-3000:]
    assert small.answers.keys() <= NOT_NOW, small.answers
    assert large.answers.keys() <= NOT_NOW, large.answers
    assert stack.state(container)["RestartCount"] == 0
    (rss,) = re.findall(r"^(?:total_rss|anon) (\d+)", held, re.MULTILINE)
    stack.page(UP)
    wait_for(lambda: not unhealthy(stack), COMING_BACK)
    return f"{small.answers.total()} statements, {large.answers.total()} reports, {int(rss) >> 20} MB held at the end"


def has_left(stack: InstalledStack, count: int) -> bool:
    """Tell whether so many workers have left for a new one."""
    return len(set(LEFT.findall(said(stack)))) >= count


def said(stack: InstalledStack) -> str:
    """Return the log of the server."""
    return stack.shell("docker compose logs --no-color server").told
