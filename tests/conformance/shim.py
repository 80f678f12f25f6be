"""A forwarding shim: adds the bearer token, for which the conformance runner has no option.

Prints its port, then forwards to the server at SHIM_TO_PORT until it is told to stop. It adds an Authorization line
with SHIM_KEY to each request and writes the server's authority where its own stood in Host or Origin, as a reverse
proxy does. Every other byte passes as it came, a foreign Host or Origin and the white space around header
values included: the server is who judges them.
"""

import asyncio
import os
import sys
from contextlib import suppress

BLANK = b"\r\n\r\n"
LARGEST_HEAD = 1 << 20


class Shim:
    """Forwards connections to one server."""

    def __init__(self, server_port: int, key: str) -> None:
        self._server_port = server_port
        self._own_port = 0
        self._key = key

    async def serve(self) -> None:
        """Listen on a free port and forward."""
        listening = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=LARGEST_HEAD)
        self._own_port = listening.sockets[0].getsockname()[1]
        sys.stdout.write(f"{self._own_port}\n")
        sys.stdout.flush()
        await listening.serve_forever()

    async def _connection(self, asked: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        answered, on = await asyncio.open_connection("127.0.0.1", self._server_port)
        ways = {asyncio.create_task(self._requests(asked, on)), asyncio.create_task(answers(answered, back))}
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in done:
                way.result()
        finally:
            for way in ways:
                way.cancel()
            on.close()
            back.close()

    async def _requests(self, asked: asyncio.StreamReader, on: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # the client is gone
            while True:
                head = await asked.readuntil(BLANK)
                on.write(self._with_key(head))
                on.write(await asked.readexactly(body_length(head)))
                await on.drain()

    def _with_key(self, head: bytes) -> bytes:
        request, *headers = head.removesuffix(BLANK).split(b"\r\n")
        key = b"Authorization: Bearer " + self._key.encode()
        return b"\r\n".join([request, key, *map(self._outward, headers)]) + BLANK

    def _outward(self, header: bytes) -> bytes:
        name, colon, value = header.partition(b":")
        own, server = (b"127.0.0.1:%d" % port for port in (self._own_port, self._server_port))
        meant = {b"host": own, b"origin": b"http://" + own}.get(name.lower())
        return name + colon + value.replace(own, server) if value.strip() == meant else header


async def answers(answered: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
    """Pass bytes back until there are no more."""
    with suppress(ConnectionError):  # the client is gone
        while part := await answered.read(1 << 16):
            back.write(part)
            await back.drain()


def body_length(head: bytes) -> int:
    """Return how long the body after a head is."""
    headers = dict(line.lower().split(b":", 1) for line in head.removesuffix(BLANK).split(b"\r\n")[1:])
    if b"transfer-encoding" in headers:
        raise ValueError("the shim forwards bodies of a stated length only")
    return int(headers.get(b"content-length", b"0"))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(Shim(int(os.environ["SHIM_TO_PORT"]), os.environ["SHIM_KEY"]).serve())
