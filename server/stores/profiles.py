"""The sources of profiles: profiles.yaml of an instance, and the tables of the platform database."""

import logging
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row, scalar_row

from engine.instance.documents import Document, Tree
from engine.instance.profiles import ASSIGN, FILE, profiles_document, read_content
from server.base.interfaces import DEVELOPER, ProfileSource, StoreDown
from server.base.settings import Settings
from server.stores.postgres import Database

RESTING = 1.0  # seconds without an edit before a file is read, so that it is complete
RESTLESS = 3.0  # seconds after which a file is read despite further edits
MOST = 1_000_000  # rows of a table
TABLES = "the tables of profiles"

REVISION: LiteralString = "select coalesce(max(revision), 0) from profile_changes"
PROFILES: LiteralString = "select name, operations, members from profiles order by name limit %s"
GRANTS: LiteralString = """
select profile, scenario, domains, dimensions, open_domains from profile_grants order by profile, scenario limit %s
"""
ASSIGNMENTS: LiteralString = """
select profile, subject, claims from profile_assignments order by profile, subject, claims limit %s
"""


OPEN = (
    "everything: {operations: true, scenarios: {'*': {}}}\n"
    f"assign: [{{subject: {DEVELOPER}, profile: everything}}]\n"
)
OPENED = (
    "there is no profiles.yaml: the one user of this server sees everything until one is written; a server of many "
    "users would show nothing"
)
log = logging.getLogger("tieout.profiles")


def source_of(settings: Settings, database: Database, opening: Path | None = None) -> ProfileSource:
    """Return the source of profiles that the settings name; `opening` is that of FileProfiles."""
    sources: dict[str, Callable[[], ProfileSource]] = {
        "file": lambda: FileProfiles(settings.instance, opening),
        "database": lambda: PostgresProfiles(database),
    }
    return sources[settings.profiles]()


def opened_to_one(settings: Settings, folder: Path) -> Path | None:
    """Return a new file in a folder that opens the books to the one user of a server without profiles; else None."""
    if settings.many_users or settings.profiles != "file" or read_content(settings.instance) is not None:
        return None
    opening = folder / "opened-to-one"
    opening.touch()
    return opening


class FileProfiles:
    """The profiles.yaml of an instance, read when edits pause, so that it is complete.

    While there is a file `opening`, an instance without profiles.yaml shows the one user everything. The first process
    that sees profiles.yaml deletes it, so that a profiles.yaml that disappears closes the books in every process.
    """

    def __init__(self, folder: Path, opening: Path | None = None) -> None:
        self._folder = folder
        self._opening = opening
        self._document: Document | None = None
        self._taken: bytes | str | None = None
        self._seen: bytes | str | None = None
        self._changing_since: float | None = None

    def read(self) -> Document:
        """Return the file as a document; the same object while the file is unchanged."""
        if self._document is None:
            self._wait_while_young()
            return self._take(self._content())
        found = self._content()
        rests, self._seen = found == self._seen, found
        if found == self._taken:
            self._changing_since = None
            return self._document
        self._changing_since = self._changing_since or monotonic()
        return self._take(found) if rests or monotonic() - self._changing_since > RESTLESS else self._document

    def _content(self) -> bytes | str | None:
        found = read_content(self._folder)
        if self._opening is None or not self._opening.exists():
            return found
        if found is None:
            return OPEN.encode()
        self._opening.unlink(missing_ok=True)
        return found

    def _take(self, found: bytes | str | None) -> Document:
        document = profiles_document(found)
        if found is None and self._taken is not None:
            document.fault([], "is not there any more", "an empty one says that nobody sees anything")
        if found == OPEN.encode() and self._opening is not None:
            log.warning(OPENED)
        self._taken = self._seen = found
        self._changing_since = None
        self._document = document
        return document

    def _wait_while_young(self) -> None:
        try:
            age = time() - (self._folder / FILE).stat().st_mtime
        except OSError:
            return
        if 0 <= age < RESTING:
            sleep(RESTING - age)


class PostgresProfiles:
    """The profiles in the platform database, read again when their change number differs."""

    def __init__(self, database: Database, most: int = MOST) -> None:
        """Read at most `most` rows of a table; with more, no caller sees anything."""
        self._database = database
        self._most = most
        self._revision: int | None = None
        self._document = Document(TABLES)

    def read(self) -> Document:
        """Return the tables as a document; the same object while they are unchanged; raises StoreDown."""
        try:
            with self._database.transaction() as connection:
                connection.execute("set transaction isolation level repeatable read, read only")
                revision = connection.cursor(row_factory=scalar_row).execute(REVISION).fetchone()
                if revision != self._revision:
                    self._document = read_tables(connection, self._most)
                    self._revision = revision
        except psycopg.Error as fault:
            raise StoreDown(f"{TABLES} are not as this version made them ({type(fault).__name__})") from None
        return self._document


def read_tables(connection: psycopg.Connection[Any], most: int) -> Document:
    """Return the tables as a document in the shape of profiles.yaml; a table over the row limit is a fault."""
    cursor = connection.cursor(row_factory=dict_row)
    profiles, grants, assignments = (
        cursor.execute(query, (most + 1,)).fetchall() for query in (PROFILES, GRANTS, ASSIGNMENTS)
    )
    document = Document(TABLES, lines={(): 0})
    if max(map(len, (profiles, grants, assignments))) > most:
        document.fault([], f"one of them has more than {most:,} rows")
        return document
    scenarios: dict[str, dict[str, Tree]] = {row["name"]: {} for row in profiles}
    for row in grants:
        grant = {"domains": row["domains"], "dimensions": row["dimensions"], "open_domains": row["open_domains"]}
        scenarios[row["profile"]][row["scenario"]] = {key: part for key, part in grant.items() if part is not None}
    assigned: list[Tree] = [
        {"profile": row["profile"], "subject": row["subject"], "claim": row["claims"]} for row in assignments
    ]
    document.tree = {
        **{
            row["name"]: {
                "operations": str(row["operations"]).lower(),
                "members": row["members"],
                "scenarios": scenarios[row["name"]],
            }
            for row in profiles
        },
        ASSIGN: assigned,  # an unknown profile name: its holders see nothing
    }
    return document
