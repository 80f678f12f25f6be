"""tieout serve: serve an instance to MCP clients."""

import argparse
import json
import sys
from contextlib import suppress
from dataclasses import replace

from server.commands.console import out, takes_instance
from server.listening import listen, listen_to_operators
from server.settings import Settings
from server.telemetry.logs import log_to
from server.tokens.dev import dev_key
from server.workers.folder import run_folder
from server.workers.supervisor import WORKERS, Supervisor


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    takes_instance(parser)
    parser.add_argument("--workers", type=int, help="processes that answer calls (default: SVC_WORKERS, else 1)")


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Serve until told to stop."""
    return preside(replace(settings, workers=asked.workers or settings.workers))


def preside(settings: Settings, program: str = WORKERS) -> int:
    """Have workers serve until told to stop; `program` is the module that they run."""
    key = dev_key(settings.dev_key, settings.state_folder)
    log_to(sys.stderr, settings.log_format, [key.key, settings.database_url or ""])
    if settings.user_data is None:
        with suppress(OSError):  # readiness says what is wrong with it
            settings.files.mkdir(parents=True, exist_ok=True)
    with (
        listen(settings) as for_clients,
        listen_to_operators(settings) as for_operators,
        run_folder() as folder,
        Supervisor(settings, for_clients, folder, program) as supervisor,
    ):
        supervisor.begin()
        from server.parent import Parent  # noqa: PLC0415 - it takes a second, in which the first worker starts

        parent = Parent(settings, folder, supervisor)
        told: list[str] = []

        def announce() -> None:
            if not told:
                told.append(announcement(settings, parent.name, key.key))
                out.print(told[0], markup=False)

        return parent.run(for_operators, announce)


def announcement(settings: Settings, name: str, key: str) -> str:
    """Return where the server is and a client entry that reaches it."""
    url = f"{settings.base_url}/mcp"
    entry = {"tieout": {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {key}"}}}
    written = json.dumps({"mcpServers": entry}, indent=2)
    return f"{name} on {url}\nkey: {key}\n\nmcp.json entry:\n{written}"
