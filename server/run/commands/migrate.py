"""tieout migrate: make the tables of the platform database, or tell how it stands."""

import argparse

from server.base.settings import Settings
from server.run.commands.console import DONE, out, refuse_no_instance, takes_instance
from server.run.embedded.platform import platform
from server.stores.migrations import SCOPE, MigrationState, migrate, pending_names, read_migrations, read_statuses

PENDING = 2
WIDEST = max(len(known.value) for known in MigrationState)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--scope", choices=(SCOPE,), default=SCOPE, help=f"which migrations (default: {SCOPE})")
    parser.add_argument("--status", action="store_true", help="list the migrations and how the database stands to each")
    parser.add_argument("--check", action="store_true", help=f"the same; status {PENDING} where some are pending")
    takes_instance(parser)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Apply what is pending, or list every migration. A database of its own needs no instance, but none misspelt."""
    if asked.instance is not None or (settings.database_url is None and settings.state is None):
        refuse_no_instance(settings)
    with platform(settings) as opened:
        uri = opened.reach()
        if not (asked.status or asked.check):
            migrate(uri, read_migrations(), lambda name: out.print(f"applied {name}", markup=False))
            out.print("The platform database is up to date.")
            return DONE
        found = read_statuses(uri)
    for known in found:
        out.print(f"{known.standing.value:<{WIDEST}}  {known.name}", markup=False)
    return PENDING if asked.check and pending_names(found) else DONE
