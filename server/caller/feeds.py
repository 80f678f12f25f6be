"""Feeds as callers see them: without secrets, and only those into tables that the caller may read."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.calendar.periods import Span
from engine.model.errors import Unavailable
from server.base.credentials import redact, redact_value, secrets_of
from server.base.interfaces import LoadHistory, LoadQuery, StoreDown
from server.feeds.feeds import Binding, ColumnMapping, LoadAttempt, LoadStatus
from server.feeds.visible_feeds import VisibleFeed, feeds_seen

SUCCESS = (LoadStatus.SUCCESS,)
STILL_WORKING = (
    "The history of loads cannot be read just now. Call again shortly. list_bindings and get_binding tell the feeds "
    "and their schedules meanwhile, the freshness of any result when its figures were loaded."
)
RETRY_AFTER_MS = 2000
log = logging.getLogger("tieout")


@dataclass(frozen=True, slots=True, eq=False)
class Feeds:
    """The feeds of an instance, without secrets, and their load history; compared by identity."""

    bindings: Mapping[str, Binding]
    loads: LoadHistory
    secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, bindings: Mapping[str, Binding], loads: LoadHistory, environment: Mapping[str, str]) -> "Feeds":
        """Return feeds with their sources' secrets from the environment redacted."""
        secrets = secrets_of((binding.source for binding in bindings.values()), environment)
        return cls({key: without_secrets(binding, secrets) for key, binding in bindings.items()}, loads, secrets)


def without_secrets(binding: Binding, secrets: Collection[str]) -> Binding:
    """Return a feed with every secret in its configuration redacted."""

    def plain(name: str, filling: ColumnMapping) -> ColumnMapping:
        values = {
            redact(found, secrets): redact_value(name, to, secrets) for found, to in (filling.values or {}).items()
        }
        constant = None if filling.constant is None else redact_value(name, filling.constant, secrets)
        return replace(filling, values=values or None, constant=constant)

    return replace(
        binding,
        extract=redact(binding.extract, secrets),
        sheet=binding.sheet and redact(binding.sheet, secrets),
        parameters={name: redact_value(name, value, secrets) for name, value in binding.parameters.items()},
        fillings={column: plain(column, filling) for column, filling in binding.fillings.items()},
    )


class LastLoads(Struct, frozen=True):
    """The last load attempt of a feed, and its last successful one."""

    attempt: LoadAttempt | None = None
    success: LoadAttempt | None = None


class CallerFeeds(Struct, frozen=True):
    """The feeds that one caller may see, and their loads."""

    feeds: Feeds
    reader: Reader
    operates: bool

    @property
    def seen(self) -> Mapping[str, VisibleFeed]:
        """The feeds into tables that the caller may read."""
        return self.reader.memo_as_seen(
            ("feeds", self.feeds), lambda: feeds_seen(self.feeds.bindings, self.reader, operates=self.operates)
        )

    def find(
        self,
        bindings: Collection[str],
        *,
        span: Span | None = None,
        statuses: Collection[LoadStatus] = tuple(LoadStatus),
        limit: int,
    ) -> Sequence[LoadAttempt]:
        """Return load attempts of these feeds, latest first; raises Unavailable if the history cannot be read."""
        seen = self.seen
        cut = [key for key in bindings if not seen[key].whole]
        asked = LoadQuery(bindings=list(bindings), cut=cut, span=span, statuses=statuses, limit=limit)
        with history():
            return [shown for attempt in self.feeds.loads.find(asked) if (shown := self._shown(attempt))]

    def get(self, load_id: str) -> LoadAttempt | None:
        """Return one attempt, None if the caller sees none; raises Unavailable if the history cannot be read."""
        with history():
            attempt = self.feeds.loads.get(load_id)
        return attempt and self._shown(attempt)

    def last(self, bindings: Collection[str]) -> Mapping[str, LastLoads] | None:
        """Return the last loads of these feeds; None if the history cannot be read."""
        try:
            with history():
                attempts = self.feeds.loads.latest(bindings, tuple(LoadStatus))
                successes = self.feeds.loads.latest(bindings, SUCCESS)
        except Unavailable:
            return None
        by_feed = [
            {attempt.binding: shown for attempt in found if (shown := self._shown(attempt))}
            for found in (attempts, successes)
        ]
        return {key: LastLoads(*(found.get(key) for found in by_feed)) for key in bindings}

    def _shown(self, attempt: LoadAttempt) -> LoadAttempt | None:
        """Return an attempt as the caller may see it; None if its feed no longer fills that table."""
        feed = self.seen.get(attempt.binding)
        if feed is None or feed.binding.target != attempt.target:
            return None
        shown = feed.attempt(attempt)
        rejected = {redact(words, self.feeds.secrets): rows for words, rows in shown.rejected.items()}
        shown = replace(shown, rejected=rejected)
        return replace(shown, message=shown.message and redact(shown.message, self.feeds.secrets))


@contextmanager
def history() -> Iterator[None]:
    """Raise Unavailable if the block cannot read the load history."""
    try:
        yield
    except StoreDown as down:
        log.warning("the history of loads is unavailable: %s", down)
        raise Unavailable(STILL_WORKING, retry_after_ms=RETRY_AFTER_MS) from down
