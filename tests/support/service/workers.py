"""The workers of a real server: which processes run, and which of them serve."""

from contextlib import suppress
from pathlib import Path

from tests.support.service.keeper import alive, children
from tests.support.service.servers import Server


def serving_once(server: Server) -> set[int]:
    """Return the workers that serve, or did."""
    serves = [line for line in server.log.read_text().splitlines() if line.endswith(" serves")]
    return {int(line.split()[-2]) for line in serves}


def workers(server: Server) -> list[int]:
    """Return the processes of the workers that run, the oldest first; forked ones once they serve."""
    found = {worker for worker in serving_once(server) if alive(worker)}
    for child in children(server.process.pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if alive(child) and b"server.run.workers" in command:
                found.add(child)
    return sorted(found)


def serve(server: Server, count: int) -> bool:
    """Tell whether so many workers serve, and no other process of theirs runs."""
    return len(workers(server)) == count and set(workers(server)) <= serving_once(server)
