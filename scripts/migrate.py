"""Applies the numbered migrations to the platform database: `migrate.py --scope open [--status]`, as tieout migrate."""

import sys

from server.run.cli import main

if __name__ == "__main__":
    sys.exit(main(["migrate", *sys.argv[1:]]))
