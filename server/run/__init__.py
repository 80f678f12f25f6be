"""Processes: the command line, workers, embedded servers and backups."""

import os
import sys

SYSTEMS = ("linux", "darwin")
ELSEWHERE = (
    "Tieout runs on Linux, and on macOS without scripts. On Windows, run it inside WSL2, or as the container image for "
    "many users."
)
if sys.platform not in SYSTEMS:  # before anything is imported that such a system does not have
    sys.exit(ELSEWHERE)

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else every installed distribution is searched for some
