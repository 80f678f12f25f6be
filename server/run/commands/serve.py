"""tieout serve: serve an instance to MCP clients."""

import argparse
import json
import logging
import os
import socket
import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from urllib.parse import quote

from server.auth.bearer import DevKey, own_key, place_of_key, secrets_of
from server.base.memory_ceiling import container_memory
from server.base.settings import BadSetting, Settings
from server.base.sockets import listen, listen_to_operators
from server.run.commands.console import out, takes_instance, whole_number
from server.run.demo import chosen_instance, takes_demo
from server.run.embedded.binaries import StartFailure
from server.run.stdio.private_socket import (
    HANDED,
    SERVED,
    PrivateSocket,
    bind_private,
    bound,
    ended_without_bridges,
    folder_of,
)
from server.run.workers.process import run_folder
from server.run.workers.supervisor import WORKERS, Supervisor
from server.telemetry.logs import log_to
from server.tools.tool import DIST, PLAYGROUND, way_to_build

log = logging.getLogger("tieout")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    takes_instance(parser)
    takes_demo(parser)
    parser.add_argument(
        "--workers", type=whole_number, help="processes that answer calls (default: SVC_WORKERS, else 1)"
    )
    parser.add_argument(HANDED, type=handed, help=argparse.SUPPRESS)  # how a bridge starts it


def handed(text: str) -> PrivateSocket:
    """Return the lock and the private socket whose descriptors a bridge hands over."""
    lock, listening = map(int, text.split(","))
    return PrivateSocket(os.fdopen(lock, "a"), socket.socket(fileno=listening))


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Serve until told to stop."""
    chosen = chosen_instance(settings, demo=asked.demo, named=asked.instance)
    return preside(replace(chosen, workers=asked.workers or settings.workers), private=asked.for_bridges)


def preside(settings: Settings, program: str = WORKERS, private: PrivateSocket | None = None) -> int:
    """Have workers serve until told to stop; `program` is the module that they run.

    Given a private socket they serve bridges alone, on no port, until no bridge is left.
    """
    key = own_key(settings)
    log_to(sys.stderr, settings.log_format, secrets_of(settings))
    if settings.user_data is None:
        with suppress(OSError):  # readiness says what is wrong with it
            settings.files.mkdir(parents=True, exist_ok=True)
    with ExitStack() as opened:
        if private is None:
            for_clients, for_operators = [opened.enter_context(listen(settings))], listen_to_operators(settings)
            folder = opened.enter_context(run_folder())
            for_clients += [] if key is None else socket_for_bridges(settings, opened)
        else:
            folder = opened.enter_context(run_folder())
            for_clients, for_operators = [private.listening], bind_private(folder / "operators.sock")
            opened.enter_context(ended_without_bridges(settings))
        opened.enter_context(for_operators)
        supervisor = opened.enter_context(Supervisor(settings, for_clients, folder, program, container_memory()))
        supervisor.begin()
        from server.run.parent import Parent  # noqa: PLC0415 - it takes a second, in which the first worker starts

        parent = Parent(settings, folder, supervisor)
        told: list[str] = []

        def announce() -> None:
            if not told and private is None:
                told.append(announcement(settings, parent.name, key, printed=sys.stdout.isatty()))
                out.print(told[0], markup=False)

        return parent.run(for_operators, announce)


def socket_for_bridges(settings: Settings, opened: ExitStack) -> list[socket.socket]:
    """Return the private socket of this server; none if another server has it or it cannot be made."""
    try:
        own = opened.enter_context(bound(folder_of(settings), SERVED))
    except (BadSetting, StartFailure, OSError) as fault:
        log.warning("tieout stdio will not find this server: %s", fault)
        return []
    return [] if own is None else [own.listening]


def announcement(settings: Settings, name: str, key: DevKey | None, *, printed: bool = True) -> str:
    """Return where the server is and a client entry that reaches it; clients of many users log in by themselves.

    Unless `printed`, as in the log of a service, it says where the key is, and KEY stands for the key.
    """
    url, shown = settings.resource, key if printed or key is None else DevKey("KEY")
    headers = {"headers": {"Authorization": f"Bearer {shown.key}"}} if shown else {}
    written = json.dumps({"mcpServers": {"tieout": {"type": "http", "url": url, **headers}}}, indent=2)
    opens = f"tokens: {settings.oidc_issuer}"
    if shown:
        opens = f"key: {shown.key}" if printed else f"key: {place_of_key(settings)}; KEY stands for it here"
    page = playground_of(settings, shown) if shown else ""
    return f"{name} on {url}\n{page}{opens}\n\nmcp.json entry:\n{written}"


def playground_of(settings: Settings, key: DevKey) -> str:
    """Return where the playground is, with the key in the part of the address that browsers send nowhere."""
    if not (DIST / PLAYGROUND).is_file():
        return f"playground: not built: {way_to_build()}\n"
    return f"playground: {settings.base_url}/#key={quote(key.key, safe='')}\n"
