"""The load history in the platform database."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import dict_row, scalar_row
from psycopg.sql import SQL, Composed, Identifier, Placeholder
from psycopg.types.json import Jsonb

from engine.facts.load_modes import LoadMode
from engine.model.calendar.periods import Span
from server.base.interfaces import LoadCount, LoadQuery
from server.feeds.feeds import LoadAttempt, LoadStatus
from server.stores.postgres import ConnectionProvider

TEXTS = ("load_id", "binding", "source", "target", "periods", "message", "rejects_file")
VALUES = ("started_at", "finished_at", "due_at", "rows_read", "rows_landed", "rows_rejected")
COLUMNS = (*TEXTS, *VALUES, "mode", "status", "first_day", "last_day", "rejected")
NAMED = {
    "names": SQL(", ").join(map(Identifier, COLUMNS)),
    "values": SQL(", ").join(map(Placeholder, COLUMNS)),
}

BEGIN = SQL("insert into load_attempts ({names}) values ({values}) on conflict (load_id) do nothing").format(**NAMED)
FINISH = SQL(
    "update load_attempts set ({names}) = ({values}) where load_id = %(load_id)s and status = 'running'"
).format(**NAMED)
# reads the latest loads of each feed and status from the end of a covering index
FIND: LiteralString = """
select load_attempts.*
from (
    select latest.ordinal
    from unnest(%(bindings)s::text[]) as asked (feed)
    cross join unnest(%(statuses)s::text[]) as standing (so)
    cross join lateral (
        select ordinal
        from load_attempts
        where binding = asked.feed
        and status = standing.so
        and (%(target)s::text is null or target = %(target)s)
        and (
            %(last)s::date is null or first_day is null or (first_day <= %(last)s and last_day >= %(first)s)
            or (periods is null and binding = any(%(cut)s))
        )
        order by ordinal desc
        limit %(limit)s
    ) as latest
    order by ordinal desc
    limit %(limit)s
) as found
join load_attempts using (ordinal)
order by ordinal desc
"""
LATEST: LiteralString = """
select distinct on (latest.binding) latest.*
from unnest(%(bindings)s::text[]) as asked (feed)
cross join unnest(%(statuses)s::text[]) as standing (so)
cross join lateral (
    select * from load_attempts where binding = asked.feed and status = standing.so order by ordinal desc limit 1
) as latest
order by latest.binding, latest.ordinal desc
"""
GET: LiteralString = "select * from load_attempts where load_id = %(load_id)s"
RUNNING: LiteralString = "select * from load_attempts where status = 'running' order by ordinal"
TALLY = "select binding, status, count(*), max(finished_at) from load_attempts group by binding, status"
LAST_DUE = "select max(due_at) from load_attempts where binding = %s"


class PostgresLoadHistory:
    """The load history in the platform database; every method raises StoreDown if the database is unreachable."""

    def __init__(self, database: ConnectionProvider) -> None:
        self._database = database

    def begin(self, attempt: LoadAttempt) -> None:
        """Record an attempt that starts."""
        self._write(BEGIN, attempt)

    def finish(self, attempt: LoadAttempt) -> None:
        """Record the end of an attempt, once."""
        self._write(FINISH, attempt)

    def find(self, asked: LoadQuery) -> Sequence[LoadAttempt]:
        """Return attempts, the latest first."""
        parameters = {
            "bindings": storables(asked.bindings),
            "cut": storables(asked.cut),
            "target": storable(asked.target),
            "first": asked.span and asked.span.first,
            "last": asked.span and asked.span.last,
            "statuses": [status.value for status in set(asked.statuses)],
            "limit": asked.limit,
        }
        return self._read(FIND, parameters)

    def get(self, load_id: str) -> LoadAttempt | None:
        """Return one attempt, None if there is none."""
        return next(iter(self._read(GET, {"load_id": storable(load_id)})), None)

    def latest(self, bindings: Collection[str], statuses: Collection[LoadStatus]) -> Sequence[LoadAttempt]:
        """Return, for each feed, the latest-started attempt with one of the statuses."""
        parameters = {"bindings": storables(bindings), "statuses": [status.value for status in set(statuses)]}
        return self._read(LATEST, parameters)

    def running(self) -> Sequence[LoadAttempt]:
        """Return the attempts that have not ended."""
        return self._read(RUNNING, {})

    def tally(self) -> Sequence[LoadCount]:
        """Count the attempts of every feed by status."""
        with self._database.transaction() as connection:
            return [
                LoadCount(binding=binding, status=LoadStatus(status), attempts=attempts, latest=latest)
                for binding, status, attempts, latest in connection.execute(TALLY)
            ]

    def last_due(self, binding: str) -> datetime | None:
        """Return the latest slot of a feed's schedule that has an attempt."""
        with self._database.transaction() as connection:
            cursor = connection.cursor(row_factory=scalar_row)
            slot: datetime | None = cursor.execute(LAST_DUE, (storable(binding),)).fetchone()
            return slot

    def _write(self, statement: Composed, attempt: LoadAttempt) -> None:
        with self._database.transaction() as connection:
            connection.execute(statement, row_of(attempt))

    def _read(self, query: LiteralString, parameters: Mapping[str, object]) -> Sequence[LoadAttempt]:
        with self._database.transaction() as connection:
            cursor = connection.cursor(row_factory=dict_row)
            return [attempt_of(row) for row in cursor.execute(query, parameters)]


def row_of(attempt: LoadAttempt) -> dict[str, object]:
    """Return an attempt as the columns of its row."""
    return {
        **{column: storable(getattr(attempt, column)) for column in TEXTS},
        **{column: getattr(attempt, column) for column in VALUES},
        "mode": attempt.mode.value,
        "status": attempt.status.value,
        "first_day": attempt.span and attempt.span.first,
        "last_day": attempt.span and attempt.span.last,
        "rejected": Jsonb({storable(words): rows for words, rows in attempt.rejected.items()}),
    }


def attempt_of(row: Mapping[str, Any]) -> LoadAttempt:
    """Return the attempt of a row."""
    return LoadAttempt(
        **{column: row[column] for column in (*TEXTS, *VALUES)},
        mode=LoadMode(row["mode"]),
        status=LoadStatus(row["status"]),
        span=None if row["first_day"] is None else Span(row["first_day"], row["last_day"]),
        rejected=row["rejected"],
    )


def storables(texts: Collection[str]) -> list[str | None]:
    """Return distinct texts in a form that PostgreSQL can store."""
    return [storable(text) for text in set(texts)]


def storable(text: str | None) -> str | None:
    """Return a text without characters that PostgreSQL cannot store: a message may quote any data of a feed."""
    if text is None:
        return None
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\N{REPLACEMENT CHARACTER}")
