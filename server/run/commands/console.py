"""The console: where commands print, and what they take and return."""

import argparse
import gc
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from engine.model.errors import escape_controls
from server.base.settings import BadSetting, Settings, variable_of

DONE, FAULTY, ASKED, INTERRUPTED, TERMINATED = 0, 1, 3, 130, 143  # ASKED: questions are open, nothing was written
INSTANCE = "folder of the instance (default: SVC_INSTANCE, else the one that you stand in, else instances/demo)"


class SafeConsole(Console):
    """A console that writes control characters of texts, which may come from files, so that no terminal obeys them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object; its texts hold no control characters but ends of lines and tabs."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escape_controls(segment.text, spared="\n\t"))


out = SafeConsole(highlight=False, soft_wrap=True)
err = SafeConsole(stderr=True, highlight=False, soft_wrap=True)


def takes_instance(parser: argparse.ArgumentParser) -> None:
    """Let a command name the folder of its instance."""
    parser.add_argument("--instance", type=Path, help=INSTANCE)


def with_instance(settings: Settings, named: Path | None) -> Settings:
    """Return settings with the instance that a command names, else the folder that it stands in, if that is one.

    A folder that the environment names goes before the latter.
    """
    if named is not None:
        return replace(settings, instance=named)
    here = Path.cwd()
    if not os.environ.get(variable_of("instance"), "").strip() and (here / "instance.yaml").is_file():
        return replace(settings, instance=here)
    return settings


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
