"""Restores a backup: `restore.py BUNDLE.tar NEW_STATE_FOLDER`, and into the new database that DATABASE_URL names."""

import argparse
import sys
from pathlib import Path

from server.base.interfaces import StoreDown
from server.base.settings import BadSetting, read_settings
from server.run.backup import FILES, INSTANCE, BundleFault, restore
from server.run.embedded.binaries import StartFailure


def main() -> int:
    """Restore a bundle and say what to switch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="file that backup.py wrote")
    parser.add_argument("state", type=Path, metavar="STATE", help="state folder to make; it must not be there yet")
    asked = parser.parse_args()
    try:
        settings = read_settings()
        contents = restore(settings, asked.bundle, asked.state)
    except (BundleFault, BadSetting, StartFailure, StoreDown) as fault:
        print(f"Nothing was restored: {fault}", file=sys.stderr)
        return 1
    print(f"Restored what Tieout {contents.app_version} backed up on {contents.made_at:%Y-%m-%d at %H:%M} UTC.")
    print(f"Stop the server, set SVC_STATE_DIR={asked.state}, and start it again.")
    if settings.user_data is not None:
        print(f"Files made for callers are in {asked.state / FILES}; move them to where USER_DATA_DIR says.")
    print(f"The instance's files are in {asked.state / INSTANCE}; compare them with yours before you use them.")
    for name, known in contents.keys.items():
        print(f"It was made with the key {known} ({name}).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
