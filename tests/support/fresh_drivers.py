"""Install the drivers of Snowflake and BigQuery, and run their tests; a script without arguments.

A deep check (`make test-deep PARTS=drivers`). It stands alone because the drivers take 200 MB that no other test needs.
"""

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from tests.support.books import ROOT
from tests.support.installing import UV

PINNED = ROOT / "constraints" / "sources.txt"
TESTS = "tests/unit/server/ingest/deep_cloud_drivers.py"
SKIPPED = "skipped"


def main() -> int:
    """Install the drivers of every kind of source as they are pinned, and run the tests with them; 0 if all ran."""
    with TemporaryDirectory() as folder:
        into = ("--target", folder, "--python", sys.executable)
        subprocess.run([UV, "pip", "install", "--quiet", "--require-hashes", *into, "-r", PINNED], check=True)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((folder, str(ROOT)))}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-rs", "-p", "no:cacheprovider", TESTS]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    return 1 if done.returncode or SKIPPED in done.stdout else 0


if __name__ == "__main__":
    sys.exit(main())
