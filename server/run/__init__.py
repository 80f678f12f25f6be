"""Processes: the command line, workers, embedded servers and backups."""

import os

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else every installed distribution is searched for some
