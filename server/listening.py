"""Listening sockets: bound before anything else is done, so that a place that is taken is told at once."""

import socket

from server.settings import BadSetting, Settings

BACKLOG = 2048


class PortTaken(BadSetting):
    """Somebody else listens where this server should."""


def listen(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say for clients; PortTaken where that is not free."""
    return socket_at(settings.host, settings.port, "SVC_PORT")


def listen_to_operators(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say for operators; PortTaken where that is not free."""
    return socket_at(*settings.ops_address, "SVC_OPS_BIND")


def socket_at(host: str, port: int, variable: str) -> socket.socket:
    """Return a socket that listens; PortTaken names the setting that takes another place."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where a socket names TCP; with it on, answers wait 40 ms for an ACK
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen(BACKLOG)  # at once: until then another could bind to the same place
    except OSError as fault:
        opened.close()
        words = f"cannot listen on {host}:{port} ({fault.strerror}); choose another port with {variable}"
        raise PortTaken(words) from fault
    return opened
