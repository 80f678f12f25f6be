"""Attempts: how many tokens of an address were refused of late, and whether more are answered.

Each address has a bucket that refusals empty and time fills. An IPv6 address stands for its network, of which one
caller has all.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from time import monotonic

AT_ONCE, EVERY_SECONDS = 20, 3.0  # refusals of an address in a burst, and how long one takes to be forgotten
MOST_ADDRESSES = 10_000
NETWORK = 64  # bits of an IPv6 address that are one caller's
NOWHERE = "?"  # of a request whose address is none


@dataclass(slots=True)
class Bucket:
    """What an address has left, when that was, and whether it was told of as a burst."""

    left: float
    at: float
    told: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """A refusal that was counted: how long its address should wait, and whether that begins a burst."""

    wait: float
    begins: bool


class Attempts:
    """The refused tokens of one process, by address."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def count(self, address: str) -> Counted:
        """Take note of a refusal at an address."""
        now = self._clock()
        bucket = self._buckets.pop(address, None) or Bucket(AT_ONCE, now)
        bucket.left = min(AT_ONCE, bucket.left + (now - bucket.at) / EVERY_SECONDS)
        bucket.at = now
        self._buckets[address] = bucket  # the latest one last, so that the first was away longest
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        if bucket.left >= 1:
            bucket.left -= 1
            bucket.told = bucket.told and bucket.left < AT_ONCE - 1
            return Counted(0, begins=False)
        begins, bucket.told = not bucket.told, True
        return Counted((1 - bucket.left) * EVERY_SECONDS, begins)


def place_of(host: str | None) -> str:
    """Return what an address is counted as: itself, or the network of an IPv6 address."""
    try:
        address = ip_address(host or "")
    except ValueError:
        return NOWHERE
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return f"{IPv6Address(int(address) >> NETWORK << NETWORK)}/{NETWORK}"
    return str(address)
