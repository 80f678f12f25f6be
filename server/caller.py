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
        self._instance = instance
        self._shelf = shelf
        self._feeds = feeds
        self._keeping = keeping
        self._profiles = profiles
        self._answer_tokens = answer_tokens
        self._row_cap = row_cap

    def of(self, principal: Principal, stop: Callable[[], None]) -> Caller:
        """Return the caller that a principal is; Unavailable where nobody can say what they may see."""
        self._keeping.callers.note(principal)
        held = self._held_by(principal)
        reader = Reader(self._shelf.current(), held)
        feeds = CallerFeeds(self._feeds, reader, operates=any(profile.operations for profile in held))
        datasets = CallerDatasets(principal.subject, self._keeping.snapshots, reader)
        files = CallerFiles(principal, self._keeping.archive, reader, stop)
        return Caller(reader, feeds, datasets, files, self._answer_tokens, self._row_cap, stop)

    def reader_of(self, principal: Principal) -> Reader:
        """Return the books as a principal sees them who does not call just now: a link carries no token."""
        return Reader(self._shelf.current(), self._held_by(principal))

    def _held_by(self, principal: Principal) -> Sequence[Profile]:
        profiles = self._profiles.of(self._instance.catalogue) if self._profiles else self._instance.profiles
        return profiles.held_by(principal.subject, principal.claims)
