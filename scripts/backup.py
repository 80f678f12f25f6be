"""Backs a deployment up: `backup.py --instance FOLDER BUNDLE.tar`, as tieout backup."""

import sys

from server.run.cli import main

if __name__ == "__main__":
    sys.exit(main(["backup", *sys.argv[1:]]))
