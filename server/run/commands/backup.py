"""tieout backup: write what a deployment needs into one file."""

import argparse
from pathlib import Path

from server.base.interfaces import StoreDown
from server.base.settings import BadSetting, Settings
from server.run.backup import BundleFault, back_up
from server.run.commands.console import DONE, FAULTY, err, out, refuse_no_instance, takes_instance
from server.run.embedded.binaries import StartFailure


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="file to write, such as tieout-2025-09-30.tar")
    parser.add_argument("--with-keys", action="store_true", help="put the keys in as well: whoever has them is trusted")
    takes_instance(parser)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Write a bundle."""
    refuse_no_instance(settings)
    try:
        contents = back_up(settings, asked.bundle, with_keys=asked.with_keys)
    except (BundleFault, BadSetting, StartFailure, StoreDown) as fault:
        err.print(f"Nothing was backed up: {fault}", markup=False)
        return FAULTY
    size = sum(part.bytes for part in contents.parts.values())
    words = f"{len(contents.parts)} files, {size:,} bytes, books of version {contents.store_version}"
    out.print(f"{asked.bundle}: {words}", markup=False)
    return DONE
