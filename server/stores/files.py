"""Files, uploads and principals in the platform database."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from msgspec.structs import asdict
from psycopg.rows import dict_row, scalar_row
from psycopg.types.json import Jsonb

from server.base.interfaces import ClaimsRecord, File, Upload, UploadState
from server.stores.postgres import ConnectionProvider

# lock per owner: two concurrent requests could otherwise both find room
LOCK: LiteralString = "select pg_advisory_xact_lock(hashtextextended(%(owner)s, 8))"
BYTES: LiteralString = """
(
    select coalesce(sum(size_bytes), 0) from files where owner = %(owner)s and state = 'available'
) + (
    select coalesce(sum(size_bytes), 0) from uploads
    where owner = %(owner)s and state in ('reserved', 'received') and expires_at > %(created_at)s
)
"""
ROOM: LiteralString = f"where %(size_bytes)s + {BYTES} <= %(quota)s"
BYTES_OF: LiteralString = f"select {BYTES}"
ADD: LiteralString = f"""
insert into files (file_id, owner, purpose, name, mime_type, size_bytes, sha256, cell, created_at, expires_at)
select %(file_id)s, %(owner)s, %(purpose)s, %(name)s, %(mime_type)s, %(size_bytes)s, %(sha256)s, %(cell)s,
    %(created_at)s, %(expires_at)s
{ROOM}
"""
GET: LiteralString = (
    "select file_id, owner, purpose, name, mime_type, size_bytes, sha256, cell, created_at, expires_at "
    "from files where file_id = %(file_id)s and state = 'available' and expires_at > %(now)s"
)
EXPIRE: LiteralString = """
update files set state = 'expired' where state = 'available' and expires_at <= %(now)s returning file_id
"""
KNOWN: LiteralString = "select file_id from files where file_id = any(%(file_ids)s) and state = 'available'"
RESERVE: LiteralString = f"""
insert into uploads (upload_id, owner, name, mime_type, size_bytes, created_at, expires_at)
select %(upload_id)s, %(owner)s, %(name)s, %(mime_type)s, %(size_bytes)s, %(created_at)s, %(expires_at)s
{ROOM}
"""
FIND: LiteralString = """
select upload_id, owner, name, mime_type, size_bytes, state, sha256, created_at, expires_at from uploads
where upload_id = %(upload_id)s and (state = 'registered' or state <> 'expired' and expires_at > %(now)s)
"""
RECEIVE: LiteralString = """
update uploads
set state = 'received', size_bytes = %(size_bytes)s, sha256 = %(sha256)s, expires_at = %(expires_at)s
where upload_id = %(upload_id)s and state = 'reserved' and expires_at > %(now)s
"""
# a concurrent second call waits for the row, and then finds it filed
FILE: LiteralString = """
insert into files (file_id, owner, purpose, name, mime_type, size_bytes, sha256, created_at, expires_at)
select upload_id, owner, %(purpose)s, name, mime_type, size_bytes, sha256, %(now)s, %(expires_at)s
from uploads where upload_id = %(upload_id)s and state = 'received' and expires_at > %(now)s
for update
"""
FILED: LiteralString = "update uploads set state = 'registered', file_id = upload_id where upload_id = %(upload_id)s"
RELEASE: LiteralString = """
update uploads set state = 'expired' where upload_id = %(upload_id)s and state in ('reserved', 'received')
"""
EXPIRE_UPLOADS: LiteralString = """
update uploads set state = 'expired' where state in ('reserved', 'received') and expires_at <= %(now)s
returning upload_id
"""
KNOWN_UPLOADS: LiteralString = """
select upload_id from uploads where upload_id = any(%(upload_ids)s) and state in ('reserved', 'received')
"""
RECORD: LiteralString = """
insert into principals (subject, claims, seen_at) values (%(subject)s, %(claims)s, %(at)s)
on conflict (subject) do update set claims = excluded.claims, seen_at = excluded.seen_at
where principals.seen_at <= excluded.seen_at
"""
LAST: LiteralString = "select claims, seen_at from principals where subject = %(subject)s"


class PostgresFiles:
    """The records of files, shared by every server with the same database."""

    def __init__(self, database: ConnectionProvider) -> None:
        self._database = database

    def add(self, file: File, quota: int) -> bool:
        """Record a file; False if its owner's files and reservations would exceed the quota; raises StoreDown."""
        values = {**asdict(file), "cell": None if file.cell is None else Jsonb(file.cell), "quota": quota}
        with self._database.transaction() as connection:
            connection.execute(LOCK, {"owner": file.owner})
            return connection.execute(ADD, values).rowcount == 1

    def bytes_of(self, owner: str, now: datetime) -> int:
        """Return the bytes of an owner's files and reservations, as `add` counts them; raises StoreDown."""
        with self._database.transaction() as connection, connection.cursor(row_factory=scalar_row) as cursor:
            found = cursor.execute(BYTES_OF, {"owner": owner, "created_at": now}).fetchone()
        return int(found or 0)

    def get(self, file_id: str, now: datetime) -> File | None:
        """Return a file that has not expired, None if there is none; raises StoreDown."""
        with self._database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            found = cursor.execute(GET, {"file_id": file_id, "now": now}).fetchone()
        return None if found is None else File(**found)

    def expire(self, now: datetime) -> Sequence[str]:
        """Mark expired files and return their ids, each only once; raises StoreDown."""
        with self._database.transaction() as connection, connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(EXPIRE, {"now": now}).fetchall()

    def known(self, file_ids: Collection[str]) -> Collection[str]:
        """Return the ids, among those given, of available files; raises StoreDown."""
        with self._database.transaction() as connection, connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(KNOWN, {"file_ids": list(file_ids)}).fetchall()


class PostgresUploads:
    """The records of uploads, shared by every server with the same database."""

    def __init__(self, database: ConnectionProvider) -> None:
        self._database = database

    def reserve(self, upload: Upload, quota: int) -> bool:
        """Reserve room; False if its owner's files and reservations would exceed the quota; raises StoreDown."""
        values = {**asdict(upload), "quota": quota}
        del values["arrived"]
        with self._database.transaction() as connection:
            connection.execute(LOCK, {"owner": upload.owner})
            return connection.execute(RESERVE, values).rowcount == 1

    def get(self, upload_id: str, now: datetime) -> Upload | None:
        """Return an upload that is filed or has not expired, None if there is none; raises StoreDown."""
        with self._database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            found = cursor.execute(FIND, {"upload_id": upload_id, "now": now}).fetchone()
        return None if found is None else Upload(arrived=UploadState(found.pop("state")), **found)

    def receive(self, upload_id: str, size_bytes: int, sha256: str, now: datetime, expires_at: datetime) -> bool:
        """Record received bytes; False if the upload does not await any; raises StoreDown."""
        values = {
            "upload_id": upload_id,
            "size_bytes": size_bytes,
            "sha256": sha256,
            "now": now,
            "expires_at": expires_at,
        }
        with self._database.transaction() as connection:
            return connection.execute(RECEIVE, values).rowcount == 1

    def file(self, upload_id: str, purpose: str, now: datetime, expires_at: datetime) -> bool:
        """Turn a received upload into a file, once; False if there is none to turn; raises StoreDown."""
        values = {"upload_id": upload_id, "purpose": purpose, "now": now, "expires_at": expires_at}
        with self._database.transaction() as connection:
            if connection.execute(FILE, values).rowcount == 0:
                return False
            connection.execute(FILED, values)
        return True

    def release(self, upload_id: str) -> bool:
        """Release the room of an upload; False if it is filed or gone; raises StoreDown."""
        with self._database.transaction() as connection:
            return connection.execute(RELEASE, {"upload_id": upload_id}).rowcount == 1

    def expire(self, now: datetime) -> Sequence[str]:
        """Mark expired uploads and return their ids, each only once; raises StoreDown."""
        with self._database.transaction() as connection, connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(EXPIRE_UPLOADS, {"now": now}).fetchall()

    def known(self, upload_ids: Collection[str]) -> Collection[str]:
        """Return the ids, among those given, of reserved or received uploads; raises StoreDown."""
        with self._database.transaction() as connection, connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(KNOWN_UPLOADS, {"upload_ids": list(upload_ids)}).fetchall()


class PostgresPrincipals:
    """The latest claims of each caller, shared by every server with the same database."""

    def __init__(self, database: ConnectionProvider) -> None:
        self._database = database

    def record(self, subject: str, seen: ClaimsRecord) -> None:
        """Record the claims of a token, unless later ones are recorded; raises StoreDown."""
        claims = Jsonb({name: list(values) for name, values in seen.claims.items()})
        with self._database.transaction() as connection:
            connection.execute(RECORD, {"subject": subject, "claims": claims, "at": seen.at})

    def last(self, subject: str) -> ClaimsRecord | None:
        """Return a caller's latest claims, None if there are none; raises StoreDown."""
        with self._database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            found = cursor.execute(LAST, {"subject": subject}).fetchone()
        return None if found is None else ClaimsRecord(claims=claims_of(found["claims"]), at=found["seen_at"])


def claims_of(stored: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return stored claims in the form that principals use."""
    return {name: tuple(values) for name, values in stored.items()}
