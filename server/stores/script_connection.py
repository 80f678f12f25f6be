"""Scripts in the cache store over one connection, for an event loop: commands are pipelined, replies come in order."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha1
from typing import Any

import redis
from hiredis import Reader, pack_command

from server.stores.valkey import connection_options

Argument = str | bytes | int
NO_SCRIPT = "NOSCRIPT"
CLOSED = "the connection is closed"


class Script:
    """A script, and the digest that a store knows it by."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = sha1(text.encode(), usedforsecurity=False).hexdigest()


class ScriptConnection:
    """Runs scripts over one connection, made when it is first used and again after it was lost."""

    def __init__(self, address: str) -> None:
        """`address` is `host:port` or the path of a socket."""
        self._place = connection_options(address)
        self._replies: ReplyReader | None = None
        self._connecting = asyncio.Lock()
        self._is_closed = False

    async def run(self, script: Script, key: str, arguments: Sequence[Argument]) -> Any:  # noqa: ANN401 - a reply
        """Run a script on one key and return its reply. Raises RedisError, OSError; a lost connection is made again."""
        command = ("EVALSHA", script.digest, 1, key, *arguments)
        try:
            return await self._send(command)
        except ConnectionError:
            return await self._send(command)
        except redis.ResponseError as refused:
            if not str(refused).startswith(NO_SCRIPT):
                raise
        await self._send(("SCRIPT", "LOAD", script.text))
        return await self._send(command)

    def drop(self) -> None:
        """Close the connection; waiting commands fail with ConnectionError, the next one makes it again."""
        if self._replies is not None:
            self._replies.close()
            self._replies = None

    def close(self) -> None:
        """Close the connection for good."""
        self._is_closed = True
        self.drop()

    async def _send(self, command: tuple[Argument, ...]) -> Any:  # noqa: ANN401 - a reply
        replies = self._replies
        if replies is None or replies.is_closed:
            async with self._connecting:
                replies = self._replies
                if replies is None or replies.is_closed:
                    replies = self._replies = await self._connect()
        return await replies.ask(command)

    async def _connect(self) -> "ReplyReader":
        if self._is_closed:
            raise ConnectionResetError(CLOSED)
        loop = asyncio.get_running_loop()
        if "path" in self._place:
            _, replies = await loop.create_unix_connection(ReplyReader, self._place["path"])
        else:
            _, replies = await loop.create_connection(ReplyReader, self._place["host"], self._place["port"])
        if self._is_closed:
            replies.close()
        return replies


class ReplyReader(asyncio.Protocol):
    """Sends commands, and gives each its reply."""

    def __init__(self) -> None:
        self._reader = Reader(protocolError=redis.InvalidResponse, replyError=redis.ResponseError)
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._transport: asyncio.Transport | None = None

    @property
    def is_closed(self) -> bool:
        """Whether no command can be sent."""
        return self._transport is None or self._transport.is_closing()

    def ask(self, command: tuple[Argument, ...]) -> asyncio.Future[Any]:
        """Send a command; return its reply to come."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError(CLOSED)
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(reply)
        self._transport.write(pack_command(command))  # type: ignore[arg-type]  # its stub has a tuple of one
        return reply

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - of a stream
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Give replies to those who wait; one that was cancelled takes none."""
        self._reader.feed(data)
        with suppress(IndexError):  # a reply without a command
            while (found := self._reader.gets()) is not False:
                reply = self._waiting.popleft()
                if not reply.done():
                    reply.set_exception(found) if isinstance(found, Exception) else reply.set_result(found)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail every command that waits."""
        self._transport = None
        for reply in self._waiting:
            if not reply.done():
                reply.set_exception(ConnectionResetError(str(exc or CLOSED)))
        self._waiting.clear()
