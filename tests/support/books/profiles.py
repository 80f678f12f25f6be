"""Profiles written where a server reads them: into profiles.yaml, or row by row into the platform database."""

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psycopg
import yaml

from server.base.interfaces import ProfileSource
from server.stores.postgres import Database
from server.stores.profiles import FileProfiles, PostgresProfiles


class ProfilePlace(Protocol):
    """A place of profiles."""

    def write(self, text: str) -> None:
        """Make it say what a text of profiles.yaml says."""

    def source(self) -> ProfileSource:
        """Return what a server reads it with."""


@dataclass
class WrittenFile:
    """profiles.yaml in a folder."""

    folder: Path

    def write(self, text: str) -> None:
        """Write it in place."""
        (self.folder / "profiles.yaml").write_text(text)

    def source(self) -> ProfileSource:
        """Return a source of its own."""
        return FileProfiles(self.folder)


@dataclass
class WrittenTables:
    """The tables of a database."""

    uri: str
    database: Database

    def write(self, text: str) -> None:
        """Write the rows that a text would be, in one transaction."""
        tree: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader) or {}  # noqa: S506 - every scalar a text
        with closing(psycopg.connect(self.uri)) as connection, connection.transaction():
            connection.execute("delete from profiles")
            assigned = tree.pop("assign", [])
            for name, profile in tree.items():
                row = name, profile.get("operations") == "true", profile.get("members", "visible")
                connection.execute("insert into profiles values (%s, %s, %s)", row)
                for scenario, grant in profile["scenarios"].items():
                    connection.execute(
                        "insert into profile_grants values (%s, %s, %s, %s, %s)",
                        (
                            name,
                            scenario,
                            json.dumps(grant["domains"]) if "domains" in grant else None,
                            json.dumps(grant.get("dimensions", {})),
                            grant.get("open_domains", []),
                        ),
                    )
            for part in assigned:
                holder = part["profile"], part.get("subject"), json.dumps(part.get("claim", {}))
                connection.execute("insert into profile_assignments values (%s, %s, %s)", holder)

    def source(self) -> ProfileSource:
        """Return a source of its own."""
        return PostgresProfiles(self.database)
