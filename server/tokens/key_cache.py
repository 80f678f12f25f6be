"""The key cache: the keys that an identity provider published last, and when they are read anew.

A key that is known is found without waiting for anything. Others share one look at the provider, and none is taken
for a while after it, whether or not it succeeded. What was read serves on while the provider is away, up to a limit.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from server.tokens.authority import CannotVerify
from server.tokens.keys import Key, Keys
from server.tokens.provider import ProviderDown

log = logging.getLogger("tieout.tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds: between two looks, until what was read serves no more, and after a look until the next one."""

    every: float = 300.0
    longest: float = 3600.0
    pause: float = 5.0


class KeyCache:
    """The keys of one identity provider, in one process."""

    def __init__(self, read: Callable[[], Awaitable[Keys]], times: Times = Times()) -> None:
        self._read = read
        self._times = times
        self._keys: Keys = {}
        self._read_at = self._looked_at = float("-inf")
        self._fault: str | None = None
        self._looking: asyncio.Task[None] | None = None

    async def key(self, kid: str, algorithm: str) -> Key | None:
        """Return a key that is published, None where there is no such; CannotVerify where that cannot be known."""
        found = self._known().get((kid, algorithm))
        if found is None:
            await self._look()
            found = self._known().get((kid, algorithm))
        if found is None and self._fault is not None:
            raise CannotVerify
        return found

    async def watch(self) -> None:
        """Look as often as the times say, sooner where the latest look failed, until cancelled."""
        while True:
            await self._look()
            await asyncio.sleep(self._times.pause if self._fault else self._times.every)

    def _known(self) -> Keys:
        return self._keys if monotonic() - self._read_at <= self._times.longest else {}

    async def _look(self) -> None:
        if self._looking is None:
            if monotonic() - self._looked_at < self._times.pause:
                return
            self._looking = asyncio.create_task(self._take())
        await asyncio.shield(self._looking)  # whoever leaves does not end it for the others

    async def _take(self) -> None:
        try:
            self._keys = await self._read()
            self._read_at = monotonic()
            if self._fault is not None:
                log.info("the keys of the identity provider are read again")
            self._fault = None
        except ProviderDown as fault:
            if self._fault is None:
                log.warning("the keys of the identity provider cannot be read", extra={"reason": str(fault)})
            self._fault = str(fault)
        finally:
            self._looked_at, self._looking = monotonic(), None
