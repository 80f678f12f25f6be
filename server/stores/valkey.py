"""The cache store: Redis or Valkey through a small pool of connections that give up soon."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

import redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.retry import Retry

from server.ports import StoreDown, StoreFull
from server.settings import BadSetting, variable_of

CONNECTIONS = 16
BORROWING, CONNECTING, ANSWERING = 0.25, 0.25, 0.5  # seconds
ANSWERING_WITH_BYTES = 2.0  # seconds for a whole answer or question of many megabytes
PROBE = "{probe}:"  # keys of the round trip
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
        """`address` is `host:port` or the path of a socket; `prepare` raises StoreDown where it is not up yet.

        `answering` is how many seconds a whole answer may take, `again` how often a question is put once more where
        the connection fails.
        """
        self._prepare = prepare
        self._pool = redis.BlockingConnectionPool(  # type: ignore[no-untyped-call]  # redis-py leaves it untyped
            **reached(address),
            max_connections=CONNECTIONS,
            timeout=BORROWING,
            socket_connect_timeout=CONNECTING,
            socket_timeout=answering,
            # heals a connection that was reset; a store that says nothing is not waited for twice
            retry=Retry(ExponentialWithJitterBackoff(base=0.02, cap=0.1), again, (redis.ConnectionError,)),
            protocol=3,
        )

    @contextmanager
    def client(self) -> Iterator[redis.Redis]:
        """Lend a client; StoreDown where the store does not answer in time, StoreFull where it has no room."""
        self._prepare()
        try:
            yield redis.Redis(connection_pool=self._pool)
        except redis.exceptions.OutOfMemoryError:
            raise StoreFull("the cache store is full") from None
        except EXPECTED as fault:
            raise StoreDown(f"the cache store {next(told for kind, told in TOLD if isinstance(fault, kind))}") from None

    def ping(self) -> None:
        """Return where a value that is written comes back; StoreDown where it does not."""
        key, value = f"{PROBE}{token_hex(4)}", token_hex(8).encode()
        with self.client() as client:
            client.set(key, value, px=PROBE_MS)
            if client.getdel(key) != value:
                raise StoreDown("the cache store does not give back what it was given")

    def close(self) -> None:
        """Close every connection."""
        self._pool.disconnect()


def reached(address: str) -> dict[str, Any]:
    """Return how to connect to an address; BadSetting where it is none."""
    if address.startswith("/"):
        return {"connection_class": redis.UnixDomainSocketConnection, "path": address}
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit():
        raise BadSetting(
            f"{variable_of('cache_host')} is '{address}'; it takes an address and a port, as 127.0.0.1:6379, "
            "or the path of a socket"
        )
    return {"host": host.strip("[]"), "port": int(port)}
