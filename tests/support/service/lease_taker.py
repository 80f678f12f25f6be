"""A process that takes leases as fast as it can; its arguments are ADDRESS CALLERS CAP ALL SECONDS.

It prints a line for each lease when it is taken and before it is given back, by the machine's clock; its leases outlive
a pause of the machine. With SECONDS 0 it takes what it gets, says how many, and holds them until it is killed.
"""

import asyncio
import random
import sys
import time

from server.base.interfaces import CapReached
from server.stores.leases import CacheLeases, SharedLeases
from server.stores.memory import MemoryLeases

LEASE = 2.0
LONG_LEASE = 20.0


async def take(leases: SharedLeases, subject: str, until: float) -> None:
    """Take and give back until a time comes."""
    while time.monotonic() < until:
        try:
            lease = await leases.take(subject)
        except CapReached:
            await asyncio.sleep(0.001)
            continue
        print(f"{time.monotonic():.6f} +1 {subject}")  # noqa: T201 - what the test reads
        await asyncio.sleep(random.random() / 200)
        print(f"{time.monotonic():.6f} -1 {subject}")  # noqa: T201 - as above
        await leases.give_back(lease)


async def hold(leases: SharedLeases, callers: int) -> None:
    """Take all there are and keep them."""
    held = 0
    for number in range(1000):
        try:
            await leases.take(f"caller {number % callers}")
        except CapReached:
            continue
        held += 1
    print(held, flush=True)  # noqa: T201 - what the test waits for
    await asyncio.Event().wait()


async def main(address: str, callers: int, cap: int, every: int, seconds: float) -> None:
    """Take leases of some callers."""
    store = CacheLeases(address, cap, every, LONG_LEASE if seconds else LEASE)
    leases = SharedLeases(store, MemoryLeases(0, 0), beat=LEASE / 3)
    keeping = asyncio.create_task(leases.keep())
    if not seconds:
        await hold(leases, callers)
    until = time.monotonic() + seconds
    await asyncio.gather(*(take(leases, f"caller {number % callers}", until) for number in range(4 * callers)))
    keeping.cancel()
    await asyncio.wait({keeping})


if __name__ == "__main__":
    address, *numbers = sys.argv[1:]
    callers, cap, every = map(int, numbers[:3])
    asyncio.run(main(address, callers, cap, every, float(numbers[3])))
