"""Callers: what one principal can reach, as capabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.books import Shelf
from engine.instance.read import Instance
from engine.profiles import Profile
from engine.reader import Reader
from server.feeds import CallerFeeds, Feeds
from server.principal import Principal


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

    def __init__(self, instance: Instance, shelf: Shelf, feeds: Feeds, answer_tokens: int, row_cap: int) -> None:
        self._standing = Standing(instance, shelf, feeds)
        self._answer_tokens = answer_tokens
        self._row_cap = row_cap

    @property
    def instance(self) -> Instance:
        """The files that the next call goes by."""
        return self._standing.instance

    def take(self, instance: Instance, shelf: Shelf, feeds: Feeds) -> None:
        """Go by other files from the next call on; a call in flight ends by those that it began with."""
        self._standing = Standing(instance, shelf, feeds)

    def of(self, principal: Principal, stop: Callable[[], None]) -> Caller:
        """Return the caller that a principal is."""
        standing = self._standing
        held = profiles_of(principal, standing.instance)
        reader = Reader(standing.shelf.current(), held)
        feeds = CallerFeeds(standing.feeds, reader, operates=any(profile.operations for profile in held))
        return Caller(reader, feeds, self._answer_tokens, self._row_cap, stop)


def profiles_of(principal: Principal, instance: Instance) -> Sequence[Profile]:
    """Return the profiles assigned to a principal; none sees nothing."""
    return instance.profiles.held_by(principal.subject, principal.claims)
