"""A shim that gives `tieout stdio` an address, because the conformance runner knows servers by addresses alone.

Prints its port, then writes the body of each POST to the bridge as a line, and answers with the line of the same id.
What only HTTP has (statuses, hosts, headers) is lost; the scenarios that judge those are not asked of it.
"""

import asyncio
import json
import sys
from contextlib import suppress
from itertools import count

BLANK = b"\r\n\r\n"
LARGEST = 1 << 22
ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
NO_MESSAGE = b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"


class StdioShim:
    """Passes messages of all connections to one bridge."""

    def __init__(self, bridge: asyncio.subprocess.Process) -> None:
        self._bridge = bridge
        self._awaited: dict[int, asyncio.Future[bytes]] = {}
        self._ids = count(1)

    async def serve(self) -> None:
        """Listen on a free port until told to stop."""
        listening = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=LARGEST)
        sys.stdout.write(f"{listening.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        reading = asyncio.create_task(self._read())
        await asyncio.wait({reading, asyncio.create_task(listening.serve_forever())})

    async def _read(self) -> None:
        assert self._bridge.stdout is not None
        while line := await self._bridge.stdout.readline():
            awaited = self._awaited.pop(json.loads(line)["id"], None)
            if awaited is not None:
                awaited.set_result(line)

    async def _connection(self, asked: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # the client is gone
            while True:
                head = (await asked.readuntil(BLANK)).lower().split(b"\r\n")
                length = sum(int(line.split(b":")[1]) for line in head if line.startswith(b"content-length:"))
                body = await asked.readexactly(length)
                is_message = head[0].startswith(b"post ") and body.startswith(b"{")
                back.write(await self._answer(json.loads(body)) if is_message else NO_MESSAGE)
                await back.drain()
        back.close()

    async def _answer(self, message: dict[str, object]) -> bytes:
        """Return the response to a message. The bridge gets an id of ours: clients of two connections share theirs."""
        assert self._bridge.stdin is not None
        own = {**message, "id": next(self._ids)} if "id" in message else message
        self._bridge.stdin.write(json.dumps(own).encode() + b"\n")
        await self._bridge.stdin.drain()
        if "id" not in message or "method" not in message:
            return ACCEPTED
        awaited = self._awaited[own["id"]] = asyncio.get_running_loop().create_future()  # type: ignore[index]  # a number
        told = json.loads(await awaited)
        body = json.dumps({**told, "id": message["id"]}).encode()
        return ANSWER % (len(body), body)


async def main() -> None:
    """Start the bridge that the arguments name, and serve."""
    pipe = asyncio.subprocess.PIPE
    bridge = await asyncio.create_subprocess_exec(*sys.argv[1:], stdin=pipe, stdout=pipe, limit=LARGEST)
    await StdioShim(bridge).serve()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
