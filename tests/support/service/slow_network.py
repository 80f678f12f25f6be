"""A slow network: a relay between clients and a server that holds every answer up for as long as it is told."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread

LONGEST_WAIT = 0.2  # seconds until a relay that has nothing to do looks whether it is over


@dataclass
class Relay:
    """A relay to a port of this machine, and how many seconds it holds each piece of an answer up."""

    port: int
    to: int
    seconds: float = 0.0


@contextmanager
def relaying(to: int) -> Iterator[Relay]:
    """Run a relay until the block ends."""
    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        relay = Relay(listening.getsockname()[1], to)
        listening.settimeout(LONGEST_WAIT)
        accepting = Thread(target=accept, args=(listening, relay, over), daemon=True)
        accepting.start()
        try:
            yield relay
        finally:
            over.set()
            accepting.join()


def accept(listening: socket.socket, relay: Relay, over: Event) -> None:
    """Relay every connection in threads of its own; hang up at once where nobody listens behind."""
    while not over.is_set():
        with suppress(TimeoutError):
            client, _ = listening.accept()
            try:
                server = socket.create_connection(("127.0.0.1", relay.to))
            except OSError:
                client.close()
                continue
            for source, sink, answers in ((client, server, False), (server, client, True)):
                Thread(target=pump, args=(source, sink, relay, over, answers), daemon=True).start()


def pump(source: socket.socket, sink: socket.socket, relay: Relay, over: Event, answers: bool) -> None:
    """Pass on what comes from one side, until either hangs up."""
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            if answers and relay.seconds:
                over.wait(relay.seconds)
            sink.sendall(piece)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
