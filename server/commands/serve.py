"""tieout serve: serve an instance to MCP clients."""

import argparse
import json
import signal
import sys
from typing import NoReturn

from engine.books import Shelf
from engine.instance.read import Instance, read_instance
from server.app import listen, listen_to_operators, serve
from server.commands.console import DONE, err, out, takes_instance, tell_data_faults
from server.settings import Settings
from server.telemetry.logs import log_to
from server.telemetry.redaction import password_of
from server.tokens import DevKey, dev_key


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    takes_instance(parser)


def run(_: argparse.Namespace, settings: Settings) -> int:
    """Serve until told to stop."""
    signal.signal(signal.SIGTERM, stop)
    instance = read_instance(settings.instance)
    key = dev_key(settings.dev_key, settings.state_folder)
    log_to(sys.stderr, settings.log_format, [key.key, *password_of(settings.database_url)])
    books = Shelf(instance.catalogue, settings.store).current()
    if books.version == 0:
        err.print("No books are loaded yet; run: tieout load", markup=False)
    else:
        tell_data_faults(books)
    if settings.user_data is None:
        settings.files.mkdir(exist_ok=True)
    with listen(settings) as for_clients, listen_to_operators(settings) as for_operators:
        announce(settings, instance, key)
        serve(settings, instance, key, for_clients, for_operators)
    return DONE


def stop(*_: object) -> NoReturn:
    """End as asked; uvicorn raises the signal again once it has drained, and what was started must be stopped too."""
    raise SystemExit(DONE)


def announce(settings: Settings, instance: Instance, key: DevKey) -> None:
    """Print where the server is and a client entry that reaches it."""
    url = f"{settings.base_url}/mcp"
    entry = {"tieout": {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {key.key}"}}}
    out.print(f"{instance.catalogue.name} on {url}\nkey: {key.key}\n", markup=False)
    out.print("mcp.json entry:", markup=False)
    out.print(json.dumps({"mcpServers": entry}, indent=2), markup=False)
