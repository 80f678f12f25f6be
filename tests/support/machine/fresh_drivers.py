"""Install the drivers of Snowflake and BigQuery, and run their tests; a script without arguments.

A deep check (`make test-deep PARTS=drivers`). It stands alone because the drivers take 250 MB that no other test needs.
Books that attach tables of both services are held to the contract, the laws and the questions of other engines.
"""

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from tests.support.books.loads import ROOT
from tests.support.machine.installs import UV

PINNED = ROOT / "constraints" / "sources.txt"
CLOUDS = "snowflake bigquery"  # whose tables tests attach
TESTS = (
    "tests/unit/server/files/deep_cloud_drivers.py",
    "tests/unit/server/warehouses/deep_clouds.py",
    "tests/integration/server/test_attached_books.py",
    "tests/integration/server/test_attached_changes.py",
    "tests/laws/test_warehouses.py",
    "tests/oracles/test_differences.py",
)
CHOSEN = "deep or laws or ((snowflake or bigquery) and not one_state and not may_write_since)"  # of transactions, roles
SKIPPED = "skipped"


def main() -> int:
    """Install the drivers of every kind of source as they are pinned, and run the tests with them; 0 if all ran."""
    with TemporaryDirectory() as folder:
        into = ("--target", folder, "--python", sys.executable)
        subprocess.run([UV, "pip", "install", "--quiet", "--require-hashes", *into, "-r", PINNED], check=True)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((folder, str(ROOT))), "CLOUDS": CLOUDS}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "0",
            "-rs",
            "-p",
            "no:cacheprovider",
            "-k",
            CHOSEN,
            *TESTS,
        ]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    return 1 if done.returncode or SKIPPED in done.stdout else 0


if __name__ == "__main__":
    sys.exit(main())
