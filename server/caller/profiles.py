"""Live profiles: read from their source twice a second, and used for a minute while the source is down."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic

from msgspec import Struct

from engine.instance.documents import Document
from engine.instance.profiles import profiles_of
from engine.model.catalogue import Catalogue
from engine.model.errors import Unavailable
from engine.model.profiles import Profiles
from server.base.interfaces import ProfileSource, StoreDown

EVERY_SECONDS = 0.5
AGAIN_SECONDS = 5.0  # pause before a failed thread is restarted
FIRST_SECONDS = 2.0  # that startup waits for the first read; afterwards calls fail until profiles are read
KEPT_SECONDS = 60.0
RETRY_AFTER_MS = 2000
MOST_FAULTS = 100  # lines in the log at once
NOBODY_KNOWS = "Who may see what cannot be read just now, so nothing is shown. Call again shortly."
log = logging.getLogger("tieout.profiles")


class BuiltProfiles(Struct, frozen=True):
    """The profiles built from one document for one catalogue."""

    document: Document
    catalogue: Catalogue
    profiles: Profiles


class LiveProfiles:
    """The current profiles of one process."""

    def __init__(self, source: ProfileSource, catalogue: Catalogue, clock: Callable[[], float] = monotonic) -> None:
        self._source = source
        self._catalogue = catalogue  # of the latest call
        self._clock = clock
        self._built: BuiltProfiles | None = None
        self._asked_at = 0.0  # when the source last answered
        self._down: str | None = None
        self._lock = Lock()

    def of(self, catalogue: Catalogue) -> Profiles:
        """Return the profiles for a catalogue; raises Unavailable if the source has been down for too long."""
        built = self._serving
        if built is None:
            raise Unavailable(NOBODY_KNOWS, retry_after_ms=RETRY_AFTER_MS)
        if built.catalogue is not catalogue:
            with self._lock:
                self._catalogue = catalogue
                built = self._build((self._built or built).document)
        return built.profiles

    def at_hand(self, catalogue: Catalogue) -> Profiles | None:
        """Return the profiles for a catalogue if `of` would return them without building any, else None."""
        built = self._serving
        return built.profiles if built is not None and built.catalogue is catalogue else None

    @property
    def _serving(self) -> BuiltProfiles | None:
        """The profiles that were built last, None if the source has been down for too long."""
        built = self._built
        return None if built is None or self.age > KEPT_SECONDS else built

    def fit(self, catalogue: Catalogue) -> None:
        """Rebuild the profiles for another catalogue."""
        with self._lock:
            self._catalogue = catalogue
            if self._built is not None:
                self._build(self._built.document)

    @property
    def age(self) -> float:
        """Seconds since the source last answered."""
        return self._clock() - self._asked_at

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults in the profiles; each closes a profile or everything."""
        return self._built.profiles.faults if self._built else ()

    def look(self) -> None:
        """Read the source; keep the last profiles if it is down."""
        begun = self._clock()
        try:
            document = self._source.read()
        except StoreDown as down:
            if self._down is None:
                log.warning("profiles cannot be read, those known serve for %.0f s: %s", KEPT_SECONDS, down)
            self._down = str(down)
            return
        if self._built is None or document is not self._built.document:
            with self._lock:
                self._build(document)
        if self._down is not None:
            log.info("profiles can be read again")
        self._asked_at, self._down = begun, None

    def follow(self, looked: Event, ended: Event) -> None:
        """Read the source now and then twice a second until `ended` is set."""
        self.look()
        looked.set()
        while not ended.wait(EVERY_SECONDS):
            self.look()

    def _build(self, document: Document) -> BuiltProfiles:
        known = self._built
        if known is not None and known.document is document and known.catalogue is self._catalogue:
            return known
        profiles = profiles_of(document, self._catalogue)
        self._built = built = BuiltProfiles(document, self._catalogue, profiles)
        if known is None or known.profiles.faults != profiles.faults or known.document is not document:
            tell(profiles)
        return built


def tell(profiles: Profiles) -> None:
    """Log how many profiles were read, and their faults."""
    for fault in profiles.faults[:MOST_FAULTS]:
        log.error("%s", fault)
    if len(profiles.faults) > MOST_FAULTS:
        log.error("and %d faults more", len(profiles.faults) - MOST_FAULTS)
    if profiles.shut:
        log.error("nobody sees anything until this is mended: who holds which profile cannot be told")
    if not profiles.by_key:
        log.warning("there are no profiles, and nobody sees anything without one: assign one in profiles.yaml")
    log.info("%d profiles were read, %d faults", len(profiles.by_key), len(profiles.faults))


@contextmanager
def followed(profiles: LiveProfiles, again: float = AGAIN_SECONDS) -> Iterator[None]:
    """Follow the source of profiles in the background while the block runs; wait briefly for the first read."""
    looked, ended = Event(), Event()

    def keep_following() -> None:
        while not ended.is_set():
            following = Thread(target=profiles.follow, args=(looked, ended), name="profiles", daemon=True)
            following.start()
            following.join()  # it ends early only after an unexpected error, which the log shows
            ended.wait(again)

    Thread(target=keep_following, name="profiles kept", daemon=True).start()
    looked.wait(FIRST_SECONDS)
    try:
        yield
    finally:
        ended.set()
