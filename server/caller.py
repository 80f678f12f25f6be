"""Callers: what one principal can reach, as capabilities."""

from collections.abc import Callable, Mapping, Sequence
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
class Callers:
    """Makes the caller of each call, pinned to the current version of the books."""

    instance: Instance
    shelf: Shelf
    feeds: Feeds
    answer_tokens: int
    row_cap: int

    def of(self, principal: Principal, stop: Callable[[], None]) -> Caller:
        """Return the caller that a principal is."""
        held = profiles_of(principal, self.instance)
        reader = Reader(self.shelf.current(), held)
        feeds = CallerFeeds(self.feeds, reader, operates=any(profile.operations for profile in held))
        return Caller(reader, feeds, self.answer_tokens, self.row_cap, stop)


def profiles_of(principal: Principal, instance: Instance) -> Sequence[Profile]:
    """Return the profiles assigned to a principal; none sees nothing."""
    claims: Mapping[str, Sequence[str]] = principal.claims
    names = {known.profile for known in instance.assignments if known.holds(principal.subject, claims)}
    return [profile for name, profile in instance.profiles.items() if name in names]
