"""The place of some books: their catalogue, where their files are, and where what is loaded is kept."""

from dataclasses import dataclass
from pathlib import Path

from engine.catalogue import Catalogue
from engine.door import STORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where some books are loaded from and to."""

    catalogue: Catalogue
    folder: Path  # of the instance, which relative paths start from
    state: Path  # folder of what is not written by hand

    @property
    def store(self) -> Path:
        """The folder of the fact store."""
        return self.state / STORE

    @property
    def rejects(self) -> Path:
        """The folder of the reports of rejected rows."""
        return self.state / "rejects"

    @property
    def spool(self) -> Path:
        """The folder of rows that are on their way."""
        return self.state / "spool"
