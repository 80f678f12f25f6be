"""Leases in the cache store: limits on concurrent calls that hold across workers and hosts.

The last quarter of the cap of all callers is kept for those with fewer than two calls in flight. One sorted set holds
all leases and one each caller's; the score is when a lease expires by the store's clock. A process renews its leases;
those of a dead process expire. The keys have no expiry of their own, because the store evicts keys that have one.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from hashlib import sha1, sha256
from secrets import token_hex
from typing import Any, cast

import hiredis

from server.base.interfaces import CapReached, StoreDown
from server.stores.circuit_breaker import CircuitBreaker
from server.stores.memory import FEW_CALLS, KEPT_SHARE, MemoryLeases
from server.stores.valkey import connection_options

ALL, OF = "{sem}:all", "{sem}:of:"
SECONDS = 10.0  # lifetime of a lease without renewal
BEATS = 3  # renewals in that time
LIMIT = 0.5  # seconds for a whole operation
NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function of(lease) return ARGV[1] .. string.match(lease, '^%x+') end
"""
TAKE = f"""{NOW}
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  redis.call('ZREM', KEYS[1], ended)
  redis.call('ZREM', of(ended), ended)
end
local mine = of(ARGV[3])
redis.call('ZREMRANGEBYSCORE', mine, '-inf', now)
local held, cap = redis.call('ZCARD', mine), tonumber(ARGV[5])
if held >= tonumber(ARGV[4]) then return 'caller' end
if held >= {FEW_CALLS} then cap = cap - math.floor(cap / {KEPT_SHARE}) end
if redis.call('ZCARD', KEYS[1]) >= cap then return 'all' end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('ZADD', mine, now + ARGV[2], ARGV[3])
return ''
"""
RENEW = f"""{NOW}
for held = 3, #ARGV do
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[held])
  redis.call('ZADD', of(ARGV[held]), now + ARGV[2], ARGV[held])
end
"""
GIVE_BACK = f"""{NOW}
for held = 3, #ARGV do
  redis.call('ZREM', KEYS[1], ARGV[held])
  redis.call('ZREM', of(ARGV[held]), ARGV[held])
end
"""

SCRIPTS = (TAKE, RENEW, GIVE_BACK)


def packed(*command: str | int) -> bytes:
    """Return a command as the store reads it."""
    made: bytes = hiredis.pack_command(command)  # type: ignore[arg-type]  # typed for one part alone
    return made


Waiting = asyncio.Future[Any] | Callable[[Any], None]  # what takes a reply


class StoreConnection(asyncio.Protocol):
    """One connection to the cache store: commands are answered in their order.

    redis-py's client takes four times the processor time for a command, and a call makes two.
    """

    def __init__(self) -> None:
        self._reader = hiredis.Reader()
        self._waiting: deque[Waiting] = deque()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None

    @property
    def is_open(self) -> bool:
        """Whether a command may be answered."""
        return self._transport is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its class

    def data_received(self, data: bytes) -> None:
        """Answer the commands whose replies are whole."""
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not False:
                waiting = self._waiting.popleft()
                if not isinstance(waiting, asyncio.Future):
                    waiting(reply)
                elif not waiting.done():  # else nobody waits for it any more
                    waiting.set_result(reply)
        except (hiredis.ProtocolError, IndexError):
            self.end(ConnectionError("its replies cannot be read"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the commands that have no reply."""
        self.end(ConnectionError(str(exc or "it closed the connection")))

    def end(self, fault: Exception) -> None:
        """Close the connection, and fail the commands that have no reply."""
        if self._transport is not None:
            self._transport.abort()
        self._transport = None
        while self._waiting:
            waiting = self._waiting.popleft()
            if isinstance(waiting, asyncio.Future) and not waiting.done():
                waiting.set_exception(fault)

    async def ask(self, command: bytes, until: float) -> Any:  # noqa: ANN401 - a reply
        """Send a command and return its reply; raises OSError, or TimeoutError, which ends the connection.

        `until` is a time of the loop's clock.
        """
        if self._transport is None:
            raise ConnectionError("it closed the connection")
        answered = self._loop.create_future()
        self._waiting.append(answered)
        self._transport.write(command)
        late = self._loop.call_at(until, self.end, TimeoutError())
        try:
            return await answered
        finally:
            late.cancel()

    def post(self, command: bytes, answered: Callable[[Any], None]) -> None:
        """Send a command that nobody waits for; `answered` is called with its reply, if there is one.

        Raises ConnectionError.
        """
        if self._transport is None:
            raise ConnectionError("it closed the connection")
        self._waiting.append(answered)
        self._transport.write(command)


class CacheLeases:
    """Leases in the cache store, one script per operation; StoreDown if it fails or does not answer in time."""

    def __init__(self, address: str, calls_per_caller: int, calls: int, seconds: float = SECONDS) -> None:
        self._place = connection_options(address)
        self._connection: StoreConnection | None = None  # one: scripts take microseconds
        self._connecting = asyncio.Lock()
        self._digests = {script: sha1(script.encode(), usedforsecurity=False).hexdigest() for script in SCRIPTS}
        self.calls_per_caller = calls_per_caller
        self._caps = (calls_per_caller, calls)
        self._milliseconds = int(seconds * 1000)

    async def take(self, lease: str) -> str:
        """Take a lease; return the limit that is reached, empty if none is."""
        cap: bytes = await self._run(TAKE, lease, *self._caps)
        return cap.decode()

    async def renew(self, leases: Collection[str]) -> None:
        """Renew leases; take expired ones again."""
        await self._run(RENEW, *leases)

    async def give_back(self, leases: Collection[str]) -> None:
        """Release leases. No-op for expired leases."""
        await self._run(GIVE_BACK, *leases)

    def post_back(self, lease: str, failed: Callable[[], None]) -> bool:
        """Release a lease before the next command, and do not wait for it; tell whether the store was asked.

        `failed` is called if the store then says that it did not release it.
        """
        if self._connection is None or not self._connection.is_open:
            return False

        def answered(reply: object) -> None:
            if isinstance(reply, hiredis.ReplyError):
                failed()

        self._connection.post(packed(*self._command(GIVE_BACK, lease)), answered)
        return True

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.end(ConnectionError("it is closed"))

    async def _run(self, script: str, *arguments: str | int) -> Any:  # noqa: ANN401 - a reply
        """Run a script and return its reply; raises StoreDown if the store fails or takes too long."""
        command = self._command(script, *arguments)
        try:
            reply = await self._ask(*command)
            if isinstance(reply, hiredis.ReplyError) and str(reply).startswith("NOSCRIPT"):
                reply = await self._ask("EVAL", script, *command[2:])
        except (OSError, TimeoutError) as fault:
            raise StoreDown(f"the cache store does not count calls ({type(fault).__name__})") from None
        if isinstance(reply, hiredis.ReplyError):
            raise StoreDown(f"the cache store does not count calls ({reply})")
        return reply

    def _command(self, script: str, *arguments: str | int) -> tuple[str | int, ...]:
        """Return the command that runs a script which the store knows."""
        return "EVALSHA", self._digests[script], 1, ALL, OF, self._milliseconds, *arguments

    async def _ask(self, *command: str | int) -> Any:  # noqa: ANN401 - a reply
        """Send a command and return its reply, on a new connection where the last one was closed."""
        sent = packed(*command)
        until = asyncio.get_running_loop().time() + LIMIT
        if self._connection is not None and self._connection.is_open:
            with suppress(ConnectionError):
                return await self._connection.ask(sent, until)
        async with asyncio.timeout_at(until):
            connection = await self._connected()
        return await connection.ask(sent, until)

    async def _connected(self) -> StoreConnection:
        async with self._connecting:
            if self._connection is None or not self._connection.is_open:
                loop = asyncio.get_running_loop()
                if "path" in self._place:
                    made = await loop.create_unix_connection(StoreConnection, self._place["path"])
                else:
                    made = await loop.create_connection(StoreConnection, self._place["host"], self._place["port"])
                self._connection = made[1]
                for script in SCRIPTS:  # before any of them runs, so that one which nobody waits for is known
                    self._connection.post(packed("SCRIPT", "LOAD", script), lambda _: None)
            return self._connection


class SharedLeases:
    """Leases in the cache store while it answers; otherwise in memory, against this process's share of the limits.

    Leases are always counted in memory too, and are added to the store when it answers again.
    """

    def __init__(
        self,
        store: CacheLeases,
        share: MemoryLeases,
        beat: float = SECONDS / BEATS,
        tell: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """`tell` is called when this process starts or stops counting on its own."""
        self._store = store
        self._share = share
        self._beat = beat
        self._tell = tell
        self._breaker = CircuitBreaker("the cache store is not asked for a moment: it did not answer")
        self._alone = False
        self._uncounted: set[str] = set()  # leases that the store probably does not count
        self._returning: set[asyncio.Task[None]] = set()

    async def take(self, subject: str) -> str:
        """Return a new lease; CapReached immediately if a limit is reached."""
        if self.is_full(subject):
            raise CapReached("caller")  # without asking the store: who calls on regardless costs little
        lease = f"{sha256(subject.encode()).hexdigest()[:32]}:{token_hex(8)}"
        try:
            cap = await self._take(lease)
        except StoreDown:
            self._share.need_room(subject)
            self._uncounted.add(lease)
        else:
            if cap:
                raise CapReached(cap)
        self._share.hold(lease, subject)
        return lease

    def is_full(self, subject: str) -> bool:
        """Tell whether this process alone holds all leases that a caller may hold."""
        return self._share.count(subject) >= self._store.calls_per_caller

    async def give_back(self, lease: str) -> None:
        """Release a lease; the store knows it before it counts the next one of this process."""
        await self._share.give_back(lease)
        self._uncounted.discard(lease)
        if not self._store.post_back(lease, partial(self._return_soon, lease)):
            self._return_soon(lease)

    async def keep(self) -> None:
        """Renew leases and test a store that is down, until cancelled; then release every lease."""
        me = asyncio.current_task()
        try:
            while not (me and me.cancelling()):  # the client can swallow a cancellation
                await asyncio.sleep(self._beat)
                await self._renew()
                if self._breaker.is_open != self._alone:
                    self._alone = self._breaker.is_open
                    self._tell(self._alone)
        finally:
            await self._return(self._share.held)
            await self._store.close()

    async def _take(self, lease: str) -> str:
        if self._breaker.is_open:  # no call waits for the test of the store
            raise StoreDown
        try:
            with self._breaker.watched():
                return await self._store.take(lease)
        except asyncio.CancelledError:
            self._return_soon(lease)  # the store may have taken it despite the failure
            raise

    async def _renew(self) -> None:
        held = self._share.held
        with suppress(StoreDown):
            with self._breaker.watched():
                await self._store.renew(held)
            self._uncounted.difference_update(held)
            if gone := set(held) - set(self._share.held):  # released during the renewal, so renewed after their release
                await self._return(gone)

    def _return_soon(self, lease: str) -> None:
        returning = asyncio.create_task(self._return([lease]))
        self._returning.add(returning)
        returning.add_done_callback(self._returning.discard)

    async def _return(self, leases: Collection[str]) -> None:
        if not self._breaker.is_open:
            with suppress(StoreDown), self._breaker.watched():
                await self._store.give_back(leases)
