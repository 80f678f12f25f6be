"""The command line: tieout COMMAND."""

import argparse
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from engine.instance.documents import InstanceFaults
from engine.model.errors import Unavailable
from server.base.folders import private_umask, restrict
from server.base.interfaces import StoreDown
from server.base.settings import BadSetting, read_settings, unknown_settings
from server.run.commands.console import FAULTY, INTERRUPTED, TERMINATED, end_imports, err, with_instance

COMMANDS = {  # each a module of server.run.commands, imported where it is asked for: a load needs no web server
    "init": "write a first instance from files of your own, and load it",
    "serve": "serve an instance to MCP clients on this machine",
    "stdio": "speak MCP over standard input and output, for hosts that start their servers themselves",
    "check": "print every fault of an instance's files",
    "provision": "put the books in order for what the files say, and tell what they hold",
    "load": "load feeds into the books, all of them or nothing",
    "daemon": "load every feed that has a schedule, in its turn, and take the scheduled backups",
    "freeze": "keep a scenario as it stands under a name, list what is kept so, or give it up",
    "loads": "print the history of loads",
    "token": "say what a server wants of tokens, and what it makes of one",
    "backup": "write what a deployment needs into one file",
    "migrate": "make the tables of the platform database, or tell how it stands",
    "bench": "run the benches of this checkout, or those that are named",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    asked = parser(given).parse_args(given)
    if not asked.imports_more:
        end_imports()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that whatever is open is closed
    try:
        settings = read_settings()
        for remark in unknown_settings():
            err.print(remark, markup=False)
        settings = with_instance(settings, asked.instance)
        with private_umask():
            for folder in settings.private_folders:
                restrict(folder)
            return int(asked.run(asked, settings))
    except (InstanceFaults, BadSetting, StoreDown, Unavailable) as faults:
        err.print(str(faults), markup=False)
        return FAULTY
    except KeyboardInterrupt:
        err.print("Interrupted; nothing was published.")
        return INTERRUPTED


def parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a command line."""
    top = argparse.ArgumentParser(
        prog="tieout", description="Financial reporting for MCP clients: every figure ties out."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name, help_ in COMMANDS.items():
        subparser = commands.add_parser(name, help=help_)
        if name in given[:1]:
            command = import_module(f"server.run.commands.{name}")
            subparser.set_defaults(run=command.run, imports_more=False)
            command.add(subparser)
    return top
