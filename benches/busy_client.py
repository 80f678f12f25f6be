"""A client of the bench of `busy`: some calls on one connection, with the standard library alone."""

import json
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

REPORT: Mapping[str, Any] = {
    "statement": "pnl",
    "scenarios": [{"scenario": "actual", "alias": "A"}],
    "period_start": "2026-06",
}
CALL: Mapping[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "run_statement", "arguments": REPORT},
}


def ask(url: str, calls: str, content_type: str, key: str) -> None:
    """Make some calls on one connection, and print the last answer."""
    place, body = urlsplit(url), json.dumps(CALL).encode()
    head = (
        f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: {content_type}\r\nAccept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: 2025-11-25\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    answer = b""
    with socket.create_connection((place.hostname or "", place.port or 0)) as sent, sent.makefile("rb") as read:
        sent.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(int(calls)):
            sent.sendall(head.encode() + body)
            lines = dict(line.partition(b":")[::2] for line in iter(read.readline, b"\r\n"))
            answer = read.read(int({name.lower(): value for name, value in lines.items()}[b"content-length"]))
    print(answer[:2_000].decode(errors="replace"))
