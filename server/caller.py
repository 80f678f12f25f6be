"""Callers: what one principal can reach, as capabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine.books import Shelf
from engine.instance.read import Instance
from engine.profiles import Profile
from engine.reader import Reader
from server.datasets import CallerDatasets
from server.feeds import CallerFeeds, Feeds
from server.files import Archive, CallerFiles
from server.importing.importer import Importer
from server.imports import CallerImports
from server.ports import Snapshots
from server.principal import Principal
from server.profiles import LiveProfiles
from server.recording import Recorder
from server.scripts import CallerScripts, Workshop
from server.uploads import CallerUploads


@dataclass(frozen=True, slots=True)
class Caller:
    """One call's capabilities: books and feeds as its principal sees them, what it keeps and has made, its budget."""

    reader: Reader
    feeds: CallerFeeds
    datasets: CallerDatasets
    files: CallerFiles
    scripts: CallerScripts
    uploads: CallerUploads
    imports: CallerImports
    answer_tokens: int
    row_cap: int
    stop: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where callers keep results for a while, and files, and get them from; and where it is kept who called."""

    snapshots: Snapshots
    archive: Archive
    callers: Recorder
    importer: Importer


@dataclass(frozen=True, slots=True)
class Callers:
    """Makes the caller of each call, pinned to the current version of the books."""

    instance: Instance
    shelf: Shelf
    feeds: Feeds
    keeping: Keeping
    answer_tokens: int
    row_cap: int
    profiles: LiveProfiles | None = None  # followed; left out, they are those of the instance as it was read
    workshop: Workshop = field(default_factory=Workshop)

    def of(self, principal: Principal, stop: Callable[[], None]) -> Caller:
        """Return the caller that a principal is; Unavailable where nobody can say what they may see."""
        self.keeping.callers.note(principal)
        held = self._held_by(principal)
        reader = Reader(self.shelf.current(), held)
        feeds = CallerFeeds(self.feeds, reader, operates=any(profile.operations for profile in held))
        datasets = CallerDatasets(principal.subject, self.keeping.snapshots, reader)
        files = CallerFiles(principal, self.keeping.archive, reader, stop)
        scripts = CallerScripts(principal.subject, self.workshop, stop)
        uploads = CallerUploads(principal, self.keeping.archive)
        imports = CallerImports(uploads, self.keeping.importer, stop)
        return Caller(reader, feeds, datasets, files, scripts, uploads, imports, self.answer_tokens, self.row_cap, stop)

    def reader_of(self, principal: Principal) -> Reader:
        """Return the books as a principal sees them who does not call just now: a link carries no token."""
        return Reader(self.shelf.current(), self._held_by(principal))

    def _held_by(self, principal: Principal) -> Sequence[Profile]:
        profiles = self.profiles.of(self.instance.catalogue) if self.profiles else self.instance.profiles
        return profiles.held_by(principal.subject, principal.claims)
