"""The console: where commands print, and what they take and return."""

import argparse
import gc
from pathlib import Path

from rich.console import Console

from server.base.settings import BadSetting, Settings, variable_of

DONE, FAULTY, INTERRUPTED, TERMINATED = 0, 1, 130, 143
INSTANCE = "folder of the instance (default: SVC_INSTANCE, else instances/demo)"
out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)


def takes_instance(parser: argparse.ArgumentParser) -> None:
    """Let a command name the folder of its instance."""
    parser.add_argument("--instance", type=Path, help=INSTANCE)


def refuse_no_instance(settings: Settings) -> None:
    """Raise BadSetting if the folder of the instance holds none, before a state folder is made in it."""
    if not (settings.instance / "instance.yaml").is_file():
        raise BadSetting(
            f"{settings.instance} is the folder of no instance: it has no instance.yaml. Name that of yours with "
            f"--instance, or set {variable_of('instance')}. Nothing was written"
        )


def whole_number(text: str) -> int:
    """Return how many of something an argument asks for."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number above 0")
    return int(text)


def end_imports() -> None:
    """Begin collections of garbage in a process of its own, whose imports went without them."""
    if not gc.isenabled():
        gc.freeze()  # collections pass over what is imported, which stays; the last one of the process, too
        gc.enable()
