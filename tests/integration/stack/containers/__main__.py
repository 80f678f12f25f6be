"""Run the stack in containers: `python -m tests.integration.stack.containers [CHECK …]`.

It starts Docker Engine in namespaces of its own, installs the stack as docs/operations/install.md says, and prints a
table: what is held, the result, the seconds. Images stay in the user's cache folder. Names of checks leave out the
others, but for the installation. `--skipped FILE` runs `make test` in a container first and writes the tests that are
skipped there. Where no engine can start, it says why in one line, which is no failure.
"""

import fcntl
import os
import shutil
import sys
import time
import traceback
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp

from tests.integration.stack.containers import checks, install, limits, operators, playground
from tests.integration.stack.containers.deployment import CACHE, HOST, InstalledStack
from tests.integration.stack.containers.engine import (
    GATE,
    NoEngine,
    docker_engine,
    lay_out_machine,
    run_inside,
    wait_at_gate,
)
from tests.integration.stack.containers.suite import run_suite
from tests.support.service.hosts import Authority

MODULE = "tests.integration.stack.containers"
Step = Callable[[InstalledStack], str]
CHECKS: Sequence[Step] = (
    checks.hardening,
    checks.proxy_paths,
    checks.exports,
    checks.jail,
    checks.killed,
    checks.certificate,
    operators.restored,
    operators.scheduled_backup,
    checks.uploads,
    operators.upgraded,
    checks.two_servers,
    limits.little_memory,
    playground.playground,
    checks.logs,
)


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tried(step: Step, stack: InstalledStack) -> bool:
    """Run a step and print its row of the table."""
    began, (what, *_) = time.monotonic(), (step.__doc__ or step.__name__).splitlines()
    try:
        result, told = "ok", step(stack)
    except Exception as fault:  # noqa: BLE001 - the table has every row, and the next checks run
        result, told = "FAILED", "".join(traceback.format_exception(fault))
    say(f"{result:<7}{time.monotonic() - began:6.1f} s  {what} [{told}]")
    return result == "ok"


def run_steps(stack: InstalledStack, asked: Namespace) -> int:
    """Install and check; return 1 where a row failed."""
    steps = [install.standins, *([run_suite] if asked.skipped else []), *install.STEPS]
    if not all(tried(step, stack) for step in steps):
        return 1
    checks = [check for check in CHECKS if not asked.checks or check.__name__ in asked.checks]
    results = [tried(check, stack) for check in checks]
    if asked.skipped:
        shutil.copy(stack.skipped, asked.skipped)
    say(f"{len(steps) + sum(results)} of {len(steps) + len(checks)} hold")
    return 0 if all(results) else 1


def inside(asked: Namespace) -> int:
    """Run the stack in these namespaces."""
    work: Path = asked.work
    wait_at_gate()
    lay_out_machine(work, [HOST])
    (work / "tls").mkdir()
    stack = InstalledStack(work, Authority(work / "tls"))
    os.environ["SSL_CERT_FILE"] = str(stack.authority.file)
    stack.lay_out_client()
    with docker_engine(work, CACHE / "docker"):
        say(f"Docker Engine {stack.docker('version', '--format={{.Server.Version}}')}, {work}")
        stack.clear()
        try:
            status = run_steps(stack, asked)
            if status:
                logs = stack.shell("docker compose logs --no-color", check=False) if stack.folder.exists() else None
                (work / "stack.log").write_text(logs.told if logs else "")
            return status
        finally:
            stack.clear()


def outside(asked: Namespace) -> int:
    """Run this module in new namespaces, one run of the machine at a time."""
    work = Path(mkdtemp(prefix="tieout-stack-", dir="/var/tmp"))
    work.chmod(0o755)
    skipped = ["--skipped", str(asked.skipped.resolve())] if asked.skipped else []
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status = run_inside(MODULE, ["--work", str(work), *skipped, *asked.checks])
    if status == 0:
        shutil.rmtree(work)
    return status


def main() -> int:
    """Run all; 1 where a check fails, 0 also where no engine can start, which the last line says."""
    parser = ArgumentParser(prog=f"python -m {MODULE}")
    parser.add_argument("checks", nargs="*", choices=[*(check.__name__ for check in CHECKS), []])
    parser.add_argument("--skipped", type=Path, metavar="FILE")
    parser.add_argument("--work", type=Path, help=SUPPRESS)
    asked = parser.parse_args()
    try:
        return (inside if GATE in os.environ else outside)(asked)
    except NoEngine as refused:
        say(f"no container engine can start: {refused}")
        return 0


if __name__ == "__main__":
    sys.exit(main())
