"""tieout serve: serve an instance to MCP clients."""

import argparse
import json
import logging
import sys
from contextlib import suppress

from engine.books import Shelf
from engine.checks import data_faults
from engine.instance.read import Instance, read_instance
from server.app import listen, listen_to_operators, serve
from server.commands.console import DONE, out, takes_instance
from server.embedded.platform import platform
from server.ops.checks import NO_BOOKS
from server.settings import Settings
from server.telemetry.logs import log_to
from server.telemetry.traces import traced
from server.tokens.bearer import Bearer
from server.tokens.dev import DevKey, dev_key

log = logging.getLogger("tieout")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    takes_instance(parser)


def run(_: argparse.Namespace, settings: Settings) -> int:
    """Serve until told to stop."""
    instance = read_instance(settings.instance)
    key = None if settings.many_users else dev_key(settings.dev_key, settings.state_folder)
    authority = key or Bearer.by(settings)
    secrets = [key.key if key else "", settings.signing_key or "", settings.database_url or ""]
    log_to(sys.stderr, settings.log_format, secrets)
    if settings.user_data is None:
        with suppress(OSError):  # readiness says what is wrong with it
            settings.files.mkdir(parents=True, exist_ok=True)
    with (
        listen(settings) as for_clients,
        listen_to_operators(settings) as for_operators,
        traced(),
        platform(settings) as opened,
    ):
        opened.start()  # beside opening the books
        books = Shelf(instance.catalogue, settings.store).current()
        for fault in data_faults(books, instance.bindings) if books.version else [NO_BOOKS]:
            log.warning(fault)
        announce(settings, instance, key)
        serve(settings, instance, authority, opened, for_clients, for_operators)
    return DONE


def announce(settings: Settings, instance: Instance, key: DevKey | None) -> None:
    """Print where the server is and a client entry that reaches it; clients of many users log in by themselves."""
    url = settings.resource
    headers = {"headers": {"Authorization": f"Bearer {key.key}"}} if key else {}
    entry = {"tieout": {"type": "http", "url": url, **headers}}
    opens = f"key: {key.key}" if key else f"tokens: {settings.oidc_issuer}"
    out.print(f"{instance.catalogue.name} on {url}\n{opens}\n", markup=False)
    out.print("mcp.json entry:", markup=False)
    out.print(json.dumps({"mcpServers": entry}, indent=2), markup=False)
