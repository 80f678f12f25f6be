"""Loads of the release before, which read files by what these showed, and recorded it in the store."""

from pathlib import Path

import pytest

from server.files.detection import FeedFormat
from server.files.rejects import LoadFailed
from server.ingest import delivery
from server.ingest.load import LoadResult
from tests.support.books.loads import load_feeds


class GuessedFormat(FeedFormat):
    """Takes every key that a file shows."""

    def explained(self, failure: LoadFailed) -> LoadFailed:
        """Return a failure as it is."""
        return failure


def load_by_guess(instance: Path, state: Path, *feeds: str) -> list[LoadResult]:
    """Load feeds of an instance as the release before did."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery, "FeedReader", GuessedFormat)
        return load_feeds(instance, state, *feeds)
