"""tieout serve: serve an instance to MCP clients."""

import argparse
import json
import logging

from engine.books import Shelf
from engine.instance.read import Instance, read_instance
from server.app import listen, serve
from server.commands.console import DONE, err, out, takes_instance, tell_data_faults
from server.embedded.platform import platform
from server.settings import Settings
from server.stores.memory import MemoryLoads
from server.tokens import DevKey, dev_key


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    takes_instance(parser)


def run(_: argparse.Namespace, settings: Settings) -> int:
    """Serve until told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("mcp").setLevel(logging.WARNING)  # it tells of every request
    instance = read_instance(settings.instance)
    key = dev_key(settings.dev_key, settings.state_folder)
    with listen(settings) as listening, platform(settings) as opened:
        opened.start()  # beside opening the books
        books = Shelf(instance.catalogue, settings.store).current()
        if books.version == 0:
            err.print("No books are loaded yet; run: tieout load", markup=False)
        else:
            tell_data_faults(books)
        announce(settings, instance, key)
        serve(settings, instance, key, listening, MemoryLoads())
    return DONE


def announce(settings: Settings, instance: Instance, key: DevKey) -> None:
    """Print where the server is and a client entry that reaches it."""
    url = f"{settings.base_url}/mcp"
    entry = {"tieout": {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {key.key}"}}}
    out.print(f"{instance.catalogue.name} on {url}\nkey: {key.key}\n", markup=False)
    out.print("mcp.json entry:", markup=False)
    out.print(json.dumps({"mcpServers": entry}, indent=2), markup=False)
