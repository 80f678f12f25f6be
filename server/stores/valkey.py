"""The cache store: Redis or Valkey through a small connection pool, and the snapshots kept in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from secrets import token_hex
from typing import Any

import redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.retry import Retry

from server.base.interfaces import StoreDown, StoreFull
from server.base.settings import BadSetting, variable_of
from server.stores.circuit_breaker import CircuitBreaker
from server.stores.memory import is_reference, new_reference

CONNECTIONS = 16
BORROWING, CONNECTING, ANSWERING = 0.25, 0.25, 0.5  # seconds
ANSWERING_WITH_BYTES = 2.0  # seconds for a request or reply of many megabytes
PROBE = "{probe}:"  # prefix of the keys that `ping` writes
PROBE_MS = 5000
TOLD = (
    (redis.TimeoutError, "does not answer in time"),
    (redis.AuthenticationError, "wants a password; it must take those who can reach it without one"),
    (redis.ConnectionError, "cannot be reached"),
)
EXPECTED = tuple(kind for kind, _ in TOLD)


class Cache:
    """The cache store, connected to when it is first used."""

    def __init__(
        self, address: str, prepare: Callable[[], None] = lambda: None, answering: float = ANSWERING, again: int = 1
    ) -> None:
        """`address` is `host:port` or the path of a socket; `prepare` raises StoreDown if the store is not up yet.

        `answering` is the timeout of a whole reply in seconds. `again` is the number of retries after a connection
        failure.
        """
        self._prepare = prepare
        self._pool: Any = redis.BlockingConnectionPool(  # type: ignore[no-untyped-call]  # redis-py leaves it untyped
            **connection_options(address),
            max_connections=CONNECTIONS,
            timeout=BORROWING,
            socket_connect_timeout=CONNECTING,
            socket_timeout=answering,
            # retry after a reset connection, never after a timeout
            retry=Retry(ExponentialWithJitterBackoff(base=0.02, cap=0.1), again, (redis.ConnectionError,)),
            protocol=3,
        )
        self._client = redis.Redis(connection_pool=self._pool)  # once: it costs as much as two commands

    @contextmanager
    def client(self) -> Iterator[redis.Redis]:
        """Lend a client; raises StoreDown if the store does not answer in time, StoreFull if it has no room."""
        self._prepare()
        try:
            yield self._client
        except redis.exceptions.OutOfMemoryError:
            raise StoreFull("the cache store is full") from None
        except EXPECTED as fault:
            raise StoreDown(f"the cache store {next(told for kind, told in TOLD if isinstance(fault, kind))}") from None

    @contextmanager
    def sent(self, *command: str | bytes | int) -> Iterator[None]:
        """Send a command, run a block, and then read the reply; raises StoreDown and StoreFull as `client` does."""
        with self.client():
            connection, is_read = self._pool.get_connection(), False
            try:
                connection.send_command(*command)
                yield
                connection.read_response()
                is_read = True
            finally:
                if not is_read:  # the reply would be taken for that to the next command
                    connection.disconnect()
                self._pool.release(connection)

    def ping(self) -> None:
        """Write a value and read it back; raises StoreDown if that fails."""
        key, value = f"{PROBE}{token_hex(4)}", token_hex(8).encode()
        with self.client() as client:
            client.set(key, value, px=PROBE_MS)
            if client.getdel(key) != value:
                raise StoreDown("the cache store does not give back what it was given")

    def evicted(self) -> int:
        """Return how many keys the store dropped for want of room since it started; raises StoreDown."""
        with self.client() as client:
            stats: Any = client.info("stats")
        return int(stats["evicted_keys"])

    def close(self) -> None:
        """Close every connection."""
        self._pool.disconnect()


def connection_options(address: str) -> dict[str, Any]:
    """Return the connection options of an address; raises BadSetting if it is none."""
    if address.startswith("/"):
        return {"connection_class": redis.UnixDomainSocketConnection, "path": address}
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit():
        raise BadSetting(
            f"{variable_of('cache_host')} is '{address}'; it takes an address and a port, as 127.0.0.1:6379, "
            "or the path of a socket"
        )
    return {"host": host.strip("[]"), "port": int(port)}


# Snapshots in the cache store. Each has two keys, so that its owner is checked before its bytes are read. A script
# checks owner and expiry, by the store's clock, and renews the idle time in one step.


LARGE = 1 << 20  # bytes from which a transfer needs the longer timeout
KEEP = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = string.format('%.0f', now + ARGV[3])
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'ends', ends)
redis.call('SET', KEYS[2], ARGV[4])
local idle = string.format('%.0f', math.min(now + ARGV[2], tonumber(ends)))
redis.call('PEXPIREAT', KEYS[1], idle)
redis.call('PEXPIREAT', KEYS[2], idle)
"""
TOUCH = """
local known = redis.call('HMGET', KEYS[1], 'owner', 'ends')
if known[1] ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local idle = string.format('%.0f', math.min(now + ARGV[2], tonumber(known[2])))
redis.call('PEXPIREAT', KEYS[1], idle)
redis.call('PEXPIREAT', KEYS[2], idle)
return 1
"""


class CacheSnapshots:
    """Snapshots that every worker and host with the same cache store can open."""

    def __init__(self, cache: Cache, blobs: Cache, idle_seconds: float, seconds: float) -> None:
        """`cache` has a short timeout; `blobs` is the same store with time for many megabytes."""
        self._cache = cache
        self._blobs = blobs
        self._idle = int(idle_seconds * 1000)
        self._longest = int(seconds * 1000)
        self._breaker = CircuitBreaker("the cache store is not asked for a moment: it did not answer")

    @contextmanager
    def keeping(self, owner: str, data: bytes) -> Iterator[str]:
        """Keep bytes while a block runs, which is given their reference; raises StoreDown if they cannot be kept now.

        The block runs while the store works. Its own errors are raised as they are.
        """
        reference = new_reference()
        cache = self._blobs if len(data) > LARGE else self._cache
        script = ("EVAL", KEEP, 2, *keys_of(reference), owner_of(owner), self._idle, self._longest, data)
        with self._breaker.watched(), cache.sent(*script):
            yield reference

    def open(self, owner: str, reference: str) -> bytes | None:
        """Return an owner's bytes under a reference, None if there are none; raises StoreDown."""
        if not is_reference(reference):
            return None
        head, body = keys_of(reference)
        with self._breaker.watched():
            with self._cache.client() as client:
                touched: Any = client.eval(TOUCH, 2, head, body, owner_of(owner), self._idle)
            if not touched:
                return None
            with self._blobs.client() as client:
                data: Any = client.get(body)
        return None if data is None else bytes(data)


def keys_of(reference: str) -> tuple[str, str]:
    """Return the two keys of a snapshot, its record and its bytes, in one slot of a cluster."""
    return f"{{ds:{reference}}}:head", f"{{ds:{reference}}}:body"


def owner_of(subject: str) -> str:
    """Return the form in which the store holds an owner."""
    return sha256(subject.encode()).hexdigest()
