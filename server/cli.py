"""The command line: tieout COMMAND."""

import argparse
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace

from engine.instance.documents import InstanceFaults
from server.app import PortTaken
from server.commands import check, load, migrate, serve
from server.commands.console import FAULTY, INTERRUPTED, TERMINATED, err
from server.ports import StoreDown
from server.settings import BadSetting, read_settings

COMMANDS = {
    "serve": (serve, "serve an instance to MCP clients on this machine"),
    "check": (check, "print every fault of an instance's files"),
    "load": (load, "load feeds into the books, all of them or nothing"),
    "migrate": (migrate, "make the tables of the platform database, or tell how it stands"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    asked = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that whatever is open is closed
    try:
        settings = read_settings()
        if asked.instance is not None:
            settings = replace(settings, instance=asked.instance)
        return int(asked.run(asked, settings))
    except (InstanceFaults, BadSetting, PortTaken, StoreDown) as faults:
        err.print(str(faults), markup=False)
        return FAULTY
    except KeyboardInterrupt:
        err.print("Interrupted; nothing was published.")
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="tieout", description="Financial reporting for MCP clients: every figure ties out."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name, (command, help_) in COMMANDS.items():
        subparser = commands.add_parser(name, help=help_)
        command.add(subparser)
        subparser.set_defaults(run=command.run)
    return top
