"""Starts tieout stdio as the settings of a desktop host say: the folder of an instance, or the demo."""

import os
import sys

from server.run.cli import main

NEITHER = (
    "Tieout has nothing to serve: name the folder of your instance in the settings of this extension, or turn on Demo"
)


def arguments(instance: str, demo: str) -> list[str] | None:
    """Return the command for two settings; None if they name nothing. A host may leave `${…}` for one that is unset."""
    if instance.strip() and "${" not in instance:
        return ["stdio", "--instance", instance.strip()]
    return ["stdio", "--demo"] if demo.strip().lower() == "true" else None


if __name__ == "__main__":
    command = arguments(os.environ.get("TIEOUT_INSTANCE", ""), os.environ.get("TIEOUT_DEMO", ""))
    if command is None:
        sys.stderr.write(f"{NEITHER}\n")
        sys.exit(1)
    sys.exit(main(command))
