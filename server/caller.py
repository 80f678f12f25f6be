"""Callers: what one principal can reach, as capabilities."""

from collections.abc import Callable
from dataclasses import dataclass

from engine.books import Shelf
from engine.instance.read import Instance
from engine.reader import Reader
from server.feeds import CallerFeeds, Feeds
from server.principal import Principal
from server.profiles import LiveProfiles


@dataclass(frozen=True, slots=True)
class Caller:
    """One call's capabilities: the books and feeds as its principal sees them, its budget, and when to stop."""

    reader: Reader
    feeds: CallerFeeds
    answer_tokens: int
    row_cap: int
    stop: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Standing:
    """The files of an instance as they were read, and the books that they describe."""

    instance: Instance
    shelf: Shelf
    feeds: Feeds


class Callers:
    """Makes the caller of each call, pinned to the current version of the books."""

    def __init__(
        self,
        instance: Instance,
        shelf: Shelf,
        feeds: Feeds,
        answer_tokens: int,
        row_cap: int,
        profiles: LiveProfiles | None = None,
    ) -> None:
        """`profiles` are followed; left out, they are those of the instance as it was read."""
        self._standing = Standing(instance, shelf, feeds)
        self._profiles = profiles
        self._answer_tokens = answer_tokens
        self._row_cap = row_cap

    @property
    def instance(self) -> Instance:
        """The files that the next call goes by."""
        return self._standing.instance

    def take(self, instance: Instance, shelf: Shelf, feeds: Feeds) -> None:
        """Go by other files from the next call on; a call in flight ends by those that it began with."""
        if self._profiles:
            self._profiles.fit(instance.catalogue)
        self._standing = Standing(instance, shelf, feeds)

    def of(self, principal: Principal, stop: Callable[[], None]) -> Caller:
        """Return the caller that a principal is; Unavailable where nobody can say what they may see."""
        standing = self._standing
        instance = standing.instance
        profiles = self._profiles.of(instance.catalogue) if self._profiles else instance.profiles
        held = profiles.held_by(principal.subject, principal.claims)
        reader = Reader(standing.shelf.current(), held)
        feeds = CallerFeeds(standing.feeds, reader, operates=any(profile.operations for profile in held))
        return Caller(reader, feeds, self._answer_tokens, self._row_cap, stop)
