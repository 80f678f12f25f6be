"""The demo of an installed release: its files and generated books in the user's data folder, made when first asked for.

A checkout has them in instances/demo. Nothing is written beside the package.
"""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from server.base.locks import FileLock
from server.base.settings import BadSetting, Settings, variable_of
from server.run.commands.console import err

SOURCE = Path(__file__).parents[2] / "instances" / "demo"
ROWS = 150_000
RELEASE = "release.txt"  # which release made it
NOT_COPIED = shutil.ignore_patterns("generator", "generate.py", "data", ".tieout", "__pycache__")
MAC_DATA, DATA = Path("Library", "Application Support"), Path(".local", "share")


def takes_demo(parser: argparse.ArgumentParser) -> None:
    """Let a command serve the demo."""
    parser.add_argument("--demo", action="store_true", help="serve made-up books, kept in your data folder")


def chosen_instance(settings: Settings, *, demo: bool, named: Path | None = None) -> Settings:
    """Return the settings with the demo if it is asked for.

    `named` is the folder of --instance. Raises BadSetting if there is no instance to serve, or one too many.
    """
    if demo and named is not None:
        raise BadSetting(
            f"--demo serves made-up books and --instance those of {named}; leave one of the two out. Nothing is served"
        )
    if demo:
        return replace(settings, instance=made_demo(demo_folder()))
    if not settings.instance.is_dir():  # before its state folder makes it
        raise BadSetting(
            f"{variable_of('instance')} is '{settings.instance}'; there is no such folder. Name the folder of your "
            "instance with --instance, or serve made-up books with --demo"
        )
    return settings


def demo_folder() -> Path:
    """Return the folder of the demo in the user's data folder."""
    usual = Path.home() / (MAC_DATA if sys.platform == "darwin" else DATA)
    return Path(os.environ.get("XDG_DATA_HOME") or usual) / "tieout" / "demo"


def made_demo(folder: Path) -> Path:
    """Return the demo, made by this release if it is not there yet. Raises BadSetting if it cannot be made."""
    release = version("tieout")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")) as lock:
            lock.wait()  # for another program that makes it
            if not is_made(folder, release):
                err.print(f"making the books of the demo in {folder}, once", markup=False)
                make_demo(folder)
                (folder / RELEASE).write_text(release, encoding="utf-8")
    except OSError as fault:
        raise BadSetting(
            f"the demo cannot be made in {folder} ({fault.strerror}); set XDG_DATA_HOME to a folder that can be written"
        ) from fault
    return folder


def is_made(folder: Path, release: str) -> bool:
    """Tell whether a release made the demo in a folder, to the end."""
    made = folder / RELEASE
    return made.is_file() and made.read_text(encoding="utf-8") == release


def make_demo(folder: Path) -> None:
    """Write the files of the demo, generate its books and load them. Raises BadSetting with what a step printed."""
    shutil.copytree(SOURCE, folder, ignore=NOT_COPIED, dirs_exist_ok=True)
    generate: list[str | Path] = [SOURCE / "generate.py", "--rows", str(ROWS), "--into", folder / "data"]
    for command in (generate, ["-P", "-m", "server", "load", "--instance", folder]):
        done = subprocess.run(  # noqa: S603 - our own commands; -B: nothing is written beside the package
            [sys.executable, "-B", *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env={key: value for key, value in os.environ.items() if key not in ("SVC_STATE_DIR", "SVC_INSTANCE")},
        )
        if done.returncode != 0:
            raise BadSetting(f"the demo cannot be made in {folder}: {done.stderr.strip() or done.stdout.strip()}")
