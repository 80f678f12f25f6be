"""Callers: what one principal can reach, as capabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.books import Shelf
from engine.instance.read import Instance
from engine.profiles import Profile
from engine.reader import Reader
from server.datasets import CallerDatasets
from server.feeds import CallerFeeds, Feeds
from server.files import Archive, CallerFiles
from server.ports import Snapshots
from server.principal import Principal
from server.profiles import LiveProfiles
from server.recording import Recorder


@dataclass(frozen=True, slots=True)
class Caller:
    """One call's capabilities: books and feeds as its principal sees them, what it keeps, its budget, when to stop."""

    reader: Reader
    feeds: CallerFeeds
    datasets: CallerDatasets
    files: CallerFiles
    answer_tokens: int
    row_cap: int
    stop: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Standing:
    """The files of an instance as they were read, and the books that they describe."""

    instance: Instance
    shelf: Shelf
    feeds: Feeds


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where callers keep results for a while, and files; and where it is kept who called."""

    snapshots: Snapshots
    archive: Archive
    callers: Recorder


class Callers:
    """Makes the caller of each call, pinned to the current version of the books."""

    def __init__(
        self,
        instance: Instance,
        shelf: Shelf,
        feeds: Feeds,
        keeping: Keeping,
        answer_tokens: int,
        row_cap: int,
        profiles: LiveProfiles | None = None,
    ) -> None:
        """`profiles` are followed; left out, they are those of the instance as it was read."""
        self._standing = Standing(instance, shelf, feeds)
        self._keeping = keeping
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
        self._keeping.callers.note(principal)
        standing = self._standing
        held = self._held_by(principal, standing)
        reader = Reader(standing.shelf.current(), held)
        feeds = CallerFeeds(standing.feeds, reader, operates=any(profile.operations for profile in held))
        datasets = CallerDatasets(principal.subject, self._keeping.snapshots, reader)
        files = CallerFiles(principal, self._keeping.archive, reader)
        return Caller(reader, feeds, datasets, files, self._answer_tokens, self._row_cap, stop)

    def reader_of(self, principal: Principal) -> Reader:
        """Return the books as a principal sees them who does not call just now: a link carries no token."""
        standing = self._standing
        return Reader(standing.shelf.current(), self._held_by(principal, standing))

    def _held_by(self, principal: Principal, standing: Standing) -> Sequence[Profile]:
        catalogue = standing.instance.catalogue
        profiles = self._profiles.of(catalogue) if self._profiles else standing.instance.profiles
        return profiles.held_by(principal.subject, principal.claims)
