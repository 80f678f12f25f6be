"""Snapshots in the cache store: two keys each, so that their owner is looked at before their bytes are read.

Times are the store's own, and touching a snapshot checks its owner, its end and its idleness in one step.
"""

from hashlib import sha256
from typing import Any

from server.stores.breaker import Breaker
from server.stores.references import is_reference, new_reference
from server.stores.valkey import Cache

LARGE = 1 << 20  # bytes that take longer than an answer may
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
        """`cache` soon gives up, `blobs` is the same store with time for many megabytes."""
        self._cache = cache
        self._blobs = blobs
        self._idle = int(idle_seconds * 1000)
        self._longest = int(seconds * 1000)
        self._breaker = Breaker("the cache store is not asked for a moment: it did not answer")

    def keep(self, owner: str, data: bytes) -> str:
        """Keep bytes and return the reference to them; StoreDown where they cannot be kept now."""
        reference = new_reference()
        cache = self._blobs if len(data) > LARGE else self._cache
        with self._breaker.watched(), cache.client() as client:
            client.eval(KEEP, 2, *keys_of(reference), owner_of(owner), self._idle, self._longest, data)
        return reference

    def open(self, owner: str, reference: str) -> bytes | None:
        """Return what an owner keeps under a reference, None where nothing is there for them; StoreDown."""
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
    """Return the keys of a snapshot: what is known of it, and its bytes; in one slot of a cluster."""
    return f"{{ds:{reference}}}:head", f"{{ds:{reference}}}:body"


def owner_of(subject: str) -> str:
    """Return what stands for an owner in the store."""
    return sha256(subject.encode()).hexdigest()
