"""The first minutes of a newcomer: from nothing to the rows behind a variance, each step with its time.

The last commit of this checkout is cloned into a folder of its own and `make serve` run there as the README says, in a
home without anything that was downloaded before; whatever else tells pip and npm where packages come from is left as it
is. The address that is printed is opened in Chromium.

Before that, a newcomer with a file of their own: `tieout init` of a mean ledger in this checkout, `tieout serve`, and
the first statement through the SDK's client. This part takes no program.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.support.books.loads import ROOT
from tests.support.books.mean_files import semicolons
from tests.support.machine.browsers import browsing, driven
from tests.support.machine.programs import find_program
from tests.support.service.servers import DEADLINE, SERVE, connected, free_port, serving

RUNS = 3
STEPS = {  # of make serve, each with the line at which the next one begins
    "Python packages installed": re.compile(r"/generate\.py"),
    "the books of the demo generated": re.compile(r"tieout load"),
    "the books loaded": re.compile(r"^installing the packages of widgets"),
    "Node packages installed": re.compile(r"^building the views"),
    "the views built": re.compile(r"tieout serve"),
    "the server ready, its address printed": re.compile(r"^playground: (?P<server>\S+)#key=KEY$"),
}
OURS = re.compile(r"SVC_|MCP_|PYTHON|VIRTUAL_ENV$|XDG_|MAKE|MFLAGS$|(PIP|NPM_CONFIG)_CACHE", re.IGNORECASE)
Seconds = dict[str, float]


def main(_rows: int, runs: int = RUNS) -> None:
    """Walk, and print the medians."""
    own = [own_file() for _ in range(runs)]
    tell("from a file of one's own to its first statement", own)
    node, chromium = find_program("node"), find_program("chromium")
    if node is None or chromium is None or not find_program("npm"):
        print("takes node, npm and chromium")
        return
    print(f"{runs} runs, load average {os.getloadavg()[0]:.1f} before the first", flush=True)
    with browsing(node, chromium) as browser:
        walks = [walked(node, browser) for _ in range(runs)]
    tell("from nothing to the rows behind a figure", walks)


def tell(whole: str, walks: Sequence[Seconds]) -> None:
    """Print the median of each step of some walks, and of the whole."""
    print("\n| step | seconds |\n|---|--:|")
    for step in walks[0]:
        print(f"| {step} | {median(walk[step] for walk in walks):.1f} |")
    print(f"| **{whole}** | **{median(sum(walk.values()) for walk in walks):.0f}** |")


def own_file() -> Seconds:
    """Return how many seconds each step from a mean file to its first statement took."""
    with TemporaryDirectory() as folder:
        file = semicolons(Path(folder))
        books, state = Path(folder, "books"), Path(folder, "state")
        begun = perf_counter()
        command = [str(part) for part in (SERVE[0], "init", books, "--from", *file.files)]
        subprocess.run(command, check=True, env=os.environ | {"SVC_STATE_DIR": str(state)}, stdout=subprocess.DEVNULL)
        written = perf_counter()
        with serving(books, state, command=SERVE) as server:
            ready = perf_counter()
            with connected(server.url, "auto") as client:
                client.ask("run_statement_data")
                answered = perf_counter()
    return {
        "`tieout init`: proposed, written and loaded": written - begun,
        "`tieout serve`: healthy": ready - written,
        "the first statement, with the client's connection": answered - ready,
    }


def walked(node: str, browser: Mapping[str, str]) -> Seconds:
    """Return how many seconds each step took, and leave nothing behind."""
    with TemporaryDirectory() as folder:
        clone, home = Path(folder, "tieout"), Path(folder, "home")
        home.mkdir()
        begun = perf_counter()
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        cloned = {"the repository cloned": perf_counter() - begun}
        with made(clone, home) as (address, served):
            key = (clone / "instances" / "demo" / ".tieout" / "dev.key").read_text(encoding="ascii").strip()
            ran = driven(node, "walk.bench.ts", browser, address["server"], key)
    if ran.returncode:
        sys.exit(ran.stdout + ran.stderr)
    seen: Seconds
    (seen,) = (json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{"))
    return cloned | served | seen


@contextmanager
def made(clone: Path, home: Path) -> Iterator[tuple[Mapping[str, str], Seconds]]:
    """Run `make serve` until the block ends; yields the address that it printed and how long its steps took."""
    places = {"SVC_PORT": str(free_port()), "SVC_OPS_BIND": f"127.0.0.1:{free_port()}"}
    with subprocess.Popen(
        ["make", "serve"],
        cwd=clone,
        env=fresh(home) | places,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield printed(process)
        finally:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise


def fresh(home: Path) -> dict[str, str]:
    """Return an environment with a home that is empty, in which nothing is set of this run's or of this checkout's."""
    kept = {name: value for name, value in os.environ.items() if not OURS.match(name)}
    told = Path.home() / ".npmrc"
    return kept | {"HOME": str(home)} | ({"NPM_CONFIG_USERCONFIG": str(told)} if told.is_file() else {})


def printed(process: "subprocess.Popen[str]") -> tuple[Mapping[str, str], Seconds]:
    """Read what `make serve` prints up to the address."""
    seconds: Seconds = {}
    said: list[str] = []
    steps = iter(STEPS.items())
    step, ends = next(steps)
    before = perf_counter()
    for line in process.stdout or ():
        said.append(line)
        if not (found := ends.search(line)):
            continue
        seconds[step] = perf_counter() - before
        before = perf_counter()
        if address := found.groupdict():
            return address, seconds
        step, ends = next(steps)
    sys.exit("".join(said))
