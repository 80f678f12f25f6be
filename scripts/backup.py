"""Backs a deployment up: `backup.py --instance FOLDER BUNDLE.tar`, with the settings of the server that runs it."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from server.base.interfaces import StoreDown
from server.base.settings import BadSetting, read_settings
from server.run.backup import BundleFault, back_up
from server.run.embedded.binaries import StartFailure


def main() -> int:
    """Write a bundle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="file to write, such as tieout-2025-09-30.tar")
    parser.add_argument("--instance", type=Path, help="folder of the instance (default: SVC_INSTANCE)")
    parser.add_argument("--with-keys", action="store_true", help="put the keys in as well: whoever has them is trusted")
    asked = parser.parse_args()
    try:
        settings = read_settings()
        settings = settings if asked.instance is None else replace(settings, instance=asked.instance)
        contents = back_up(settings, asked.bundle, with_keys=asked.with_keys)
    except (BundleFault, BadSetting, StartFailure, StoreDown) as fault:
        print(f"Nothing was backed up: {fault}", file=sys.stderr)
        return 1
    size = sum(part.bytes for part in contents.parts.values())
    print(f"{asked.bundle}: {len(contents.parts)} files, {size:,} bytes, books of version {contents.store_version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
