"""Tieout under newer releases of Python: `python -m tests.support.machine.other_pythons [PROGRAM …]`.

Each program gets a clone and an environment of its own: `make serve` starts as a newcomer starts it, its statement is
asked for, and then the chosen tests run. Without arguments it takes each `python3.N` newer than this one on the PATH,
or that PYTHONS names, separated by colons, and says which releases it did not find.
"""

import os
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.books.loads import ROOT
from tests.support.machine.programs import find_program
from tests.support.service.servers import connected, free_ports, start, wait_until_healthy

NEWEST = 14  # the minor release of Python that the project names
CHOSEN = (
    "tests/unit/sandbox",
    "tests/unit/instances/test_demo.py",
    "tests/spec",
    "tests/integration/server/test_cli.py",
    "tests/integration/installed/test_installed.py",
)
STATEMENT = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2026-09"}


def others() -> dict[str, str | None]:
    """Return the newer releases with a program that runs each, None where there is none."""
    releases = [f"3.{minor}" for minor in range(sys.version_info.minor + 1, NEWEST + 1)]
    on_path = [find_program(f"python{release}") for release in releases]
    named = os.environ.get("PYTHONS", "").split(":")
    found = {release_of(program): program for program in (*on_path, *named) if program}
    return {release: found.get(release) for release in releases}


def release_of(program: str) -> str:
    """Return the release of a program of Python, such as 3.13; nothing where it does not run."""
    said = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([program, "-c", said], capture_output=True, text=True, check=False).stdout.strip()


def serve_and_ask(clone: Path, program: str) -> int:
    """Start `make serve` in a clone and return the number of rows of a statement."""
    ports, log = free_ports(), clone.parent / "serve.log"
    command = ["env", "-C", str(clone), "make", "serve", f"PYTHON={program}"]
    process = start(command, {**os.environ, **ports}, clone.parent / "serve.out", log, forks=False)
    try:
        wait_until_healthy(f"http://127.0.0.1:{ports['SVC_PORT']}/health", process, log)
        key = (clone / "instances" / "demo" / ".tieout" / "dev.key").read_text()
        with connected(f"http://127.0.0.1:{ports['SVC_PORT']}/mcp", "auto", key) as books:
            return len(books.ask("run_statement", **STATEMENT)["rows"])
    finally:
        process.terminate()
        process.wait(timeout=60)


def tried(program: str) -> bool:
    """Serve the demo and run the chosen tests with one program of Python; return whether all passed."""
    with TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        made = (
            ".venv/dev.done",
            "instances/demo/.tieout/store/CURRENT",
        )  # beforehand, so that the server starts at once
        subprocess.run(["make", "--silent", f"PYTHON={program}", *made], cwd=clone, check=True)
        sys.stdout.write(f"{program}: make serve answers {serve_and_ask(clone, program)} rows\n")
        run = [".venv/bin/python", "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *CHOSEN]
        return subprocess.run(run, cwd=clone, check=False).returncode == 0


def main() -> int:
    """Try each program; 0 if all passed."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="programs of Python; without them, newer ones that are here")
    programs = parser.parse_args().programs
    for release, program in ({} if programs else others()).items():
        if program is None:
            sys.stdout.write(f"Python {release} is not here\n")
        else:
            programs.append(program)
    results = {program: tried(program) for program in programs}
    sys.stdout.write(f"{results}\n")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
