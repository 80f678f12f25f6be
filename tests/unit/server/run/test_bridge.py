"""The bridge: which headers a message gets, where its answer belongs, and what a cancelled request leaves."""

import json
import os
import socket
from threading import Event, Thread

import pytest

from server.run.stdio.bridge import TOO_LONG, Bridge, HostMessage, ServerFailed, answer_line, header_text, lines
from server.run.stdio.exchange import Exchange, Reply
from server.wire.message import MOST_BYTES

LIST = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b"
DEADLINE = 30.0


def piped(*chunks: bytes) -> int:
    """Return a descriptor from which some bytes are read, then its end."""
    reading, writing = os.pipe()

    def feed() -> None:
        for chunk in chunks:
            os.write(writing, chunk)
        os.close(writing)

    Thread(target=feed, daemon=True).start()
    return reading


def told_by(bridge_input: int, *connections: socket.socket) -> list[dict[str, object]]:
    """Return what a bridge tells whose requests go over some connections, one after the other."""
    told: list[dict[str, object]] = []
    left = [Exchange(connection) for connection in connections]

    def connect() -> Exchange:
        if not left:
            raise ServerFailed("no server starts")
        return left.pop(0)

    Bridge(connect, lambda line: told.append(json.loads(line))).run(bridge_input)
    return told


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_lines_are_the_same_however_they_arrive(size: int) -> None:
    whole = b"one\n\ntwo\r\n" + b"x" * 20 + b"\nlast"
    chunks = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert list(lines(piped(*chunks))) == [b"one", b"", b"two\r", b"x" * 20, b"last"]


def test_a_line_that_is_too_long_is_told_once_and_the_next_is_read() -> None:
    sent = piped(b"x" * (MOST_BYTES + 1), b"x" * 10, b"\n", LIST % 1, b"\n", b"y" * (2 * MOST_BYTES))
    told = told_by(sent)
    assert [one["id"] for one in told] == [None, 1, None]
    assert [one["error"]["message"] for one in told] == [TOO_LONG, "no server starts", TOO_LONG]  # type: ignore[index]  # JSON


def test_headers_repeat_what_the_message_says() -> None:
    plain = HostMessage.read(LIST % 1)
    assert plain is not None
    assert list(plain.headers(None)) == []
    assert list(plain.headers("2025-11-25")) == [("mcp-protocol-version", "2025-11-25")]
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, "uri": "tieout://metric/größe"}
    modern = HostMessage.read(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": meta}).encode()
    )
    assert modern is not None
    assert dict(modern.headers("2025-11-25")) == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "resources/read",
        "mcp-name": "=?base64?dGllb3V0Oi8vbWV0cmljL2dyw7bDn2U=?=",
    }


def test_no_text_of_a_message_becomes_a_header_of_its_own() -> None:
    assert header_text("a\r\nAuthorization: b").startswith("=?base64?")
    assert header_text("=?base64?YQ==?=").startswith("=?base64?PT9iYXNl")


def test_an_answer_of_the_edge_gets_the_id_of_its_request() -> None:
    request = HostMessage.read(LIST % 4)
    assert request is not None
    edge = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no"}}'
    assert json.loads(answer_line(request, Reply(400, edge)) or b"")["id"] == 4
    other = json.loads(answer_line(request, Reply(421, b'{"error": "Invalid Host header."}')) or b"")
    assert (other["id"], other["error"]["message"]) == (4, "Invalid Host header.")
    assert answer_line(request, Reply(202, b"")) is None


def test_a_request_whose_connection_ends_is_sent_again() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    again, server = socket.socketpair()
    body = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    server.sendall(ANSWER % (len(body), body))
    assert told_by(piped(LIST % 1 + b"\n"), ours, again) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    assert b"POST /mcp HTTP/1.1" in server.recv(1 << 16)
    server.close()


def test_a_cancelled_request_gets_no_answer_and_its_connection_ends() -> None:
    ours, server = socket.socketpair()
    arrived, reading, writing = Event(), *os.pipe()
    ended: list[bytes] = []

    def serve() -> None:
        server.recv(1 << 16)
        arrived.set()
        ended.append(server.recv(1))

    serving = Thread(target=serve, daemon=True)
    serving.start()

    def host() -> None:
        os.write(writing, LIST % 1 + b"\n")
        assert arrived.wait(DEADLINE)
        os.write(writing, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n')
        os.close(writing)

    Thread(target=host, daemon=True).start()
    assert told_by(reading, ours) == []
    serving.join(DEADLINE)
    assert ended == [b""]
    server.close()
