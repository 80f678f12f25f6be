"""`make test` in a container, as an ordinary user of a machine with git, make and Python."""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

from tests.conftest import SKIPS
from tests.integration.stack.containers.deployment import InstalledStack
from tests.integration.stack.containers.images import debian_image, digest
from tests.support.books.loads import ROOT

DOCKERFILE = Path(__file__).with_name("suite.Dockerfile")
NEWCOMER = 4242  # the user id of the Dockerfile
BARE = "TIEOUT_BARE=1 .ci/bare"  # which hides no program where none is installed
COMMAND = f"git clone --quiet /source tieout && cd tieout && {SKIPS}=/skipped/tests.json make test && {BARE}"
IN_MEMORY = "--tmpfs=/tmp:exec,size=10g"  # where the folders of tests are; on a disk they take a third longer
PASSED_ON = ("HYPOTHESIS_PROFILE", "PYTEST_ADDOPTS")


def run_suite(stack: InstalledStack) -> str:
    """`make test` passes in a container, as an ordinary user without Node; what lacks a program skips and says so."""
    image = f"tieout-suite:{digest()}"
    with DOCKERFILE.open() as lines:
        stack.docker("build", "--quiet", f"--build-arg=DEBIAN={debian_image()}", f"--tag={image}", "-", stdin=lines)
    source, results = stack.work / "source", stack.skipped.parent
    subprocess.run(["git", "clone", "--quiet", ROOT, source], check=True)
    results.mkdir()
    subprocess.run(["chown", "--recursive", str(NEWCOMER), source, results], check=True)
    folders = (f"--volume={source}:/source:ro", f"--volume={results}:/skipped")
    variables = [f"--env={name}={os.environ[name]}" for name in PASSED_ON if name in os.environ]
    command = ["env", "docker", "run", "--rm", IN_MEMORY, *folders, *variables, image, "bash", "-c", COMMAND]
    ran = subprocess.run(command, env=stack.environment, stdin=subprocess.DEVNULL, check=False)
    assert ran.returncode == 0, f"make test ends with status {ran.returncode}"
    reasons: dict[str, str] = json.loads((results / "tests.json").read_text(encoding="utf-8"))
    stack.skipped.write_text("".join(f"{test}\n" for test in reasons), encoding="utf-8")
    counts = Counter(reason.removeprefix("Skipped: ").split(";")[0] for reason in reasons.values())
    return ", ".join(f"{count} skipped: {reason}" for reason, count in counts.most_common())
