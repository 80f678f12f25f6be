"""Recording who called: what each caller's token said last, written down beside the calls and never holding one up."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Condition, Thread
from time import monotonic

from server.ports import Principals, Seen, StoreDown
from server.principal import Principal

AGAIN = 60.0  # seconds after which a caller who says the same is written down again
MOST = 10_000  # callers remembered
log = logging.getLogger("tieout")


class Recorder:
    """Writes callers down in a thread of its own: at once where their claims changed, else now and then."""

    def __init__(self, principals: Principals) -> None:
        self._principals = principals
        self._noted: dict[str, tuple[Principal, float]] = {}
        self._due: dict[str, tuple[Principal, datetime]] = {}
        self._changed = Condition()
        self._ends = False

    def note(self, principal: Principal) -> None:
        """Take note of a call."""
        known, at = self._noted.get(principal.subject, (None, 0.0))
        if known is not None and known.claims == principal.claims and monotonic() - at < AGAIN:
            return
        with self._changed:
            if len(self._noted) >= MOST:
                self._noted.clear()
            self._noted[principal.subject] = (principal, monotonic())
            self._due[principal.subject] = (principal, datetime.now(UTC))
            self._changed.notify()

    def write(self) -> None:
        """Write down who is due, as they come, until closed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due or self._ends)
                due, self._due = self._due, {}
                if not due:
                    return
            for subject, (principal, at) in due.items():
                try:
                    self._principals.record(subject, Seen(claims=principal.claims, at=at))
                except StoreDown as down:
                    self._noted.pop(subject, None)  # so that the next call is written down
                    log.info("a caller was not written down: %s", down)

    def close(self) -> None:
        """End once everybody due is written down."""
        with self._changed:
            self._ends = True
            self._changed.notify()


@contextmanager
def recorded(recorder: Recorder) -> Iterator[None]:
    """Write callers down while the block runs."""
    thread = Thread(target=recorder.write, name="recording of callers", daemon=True)
    thread.start()
    try:
        yield
    finally:
        recorder.close()
        thread.join(5.0)
