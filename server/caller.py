"""Callers: what one principal can reach, as capabilities."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.books import Shelf
from engine.instance.read import Instance
from engine.profiles import Profile
from engine.reader import Reader
from server.datasets import CallerDatasets
from server.feeds import CallerFeeds, Feeds
from server.ports import Snapshots
from server.principal import Principal


@dataclass(frozen=True, slots=True)
class Caller:
    """One call's capabilities: books and feeds as its principal sees them, what it keeps, its budget, when to stop."""

    reader: Reader
    feeds: CallerFeeds
    datasets: CallerDatasets
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
        snapshots: Snapshots,
        answer_tokens: int,
        row_cap: int,
    ) -> None:
        self._standing = Standing(instance, shelf, feeds)
        self._snapshots = snapshots
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
        datasets = CallerDatasets(principal.subject, self._snapshots, reader)
        return Caller(reader, feeds, datasets, self._answer_tokens, self._row_cap, stop)


def profiles_of(principal: Principal, instance: Instance) -> Sequence[Profile]:
    """Return the profiles assigned to a principal; none sees nothing."""
    claims: Mapping[str, Sequence[str]] = principal.claims
    names = {known.profile for known in instance.assignments if known.holds(principal.subject, claims)}
    return [profile for name, profile in instance.profiles.items() if name in names]
