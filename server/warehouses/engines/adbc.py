"""Sessions of warehouses through ADBC drivers: calls that block run in a thread, and end with the call that waits."""

import json
from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any, Final

import pyarrow as pa

from engine.model.stopping import Stop
from server.base.interfaces import StoreDown
from server.warehouses.warehouse import GLANCE, SESSIONS, TIMEOUT, SqlStatement, StatementRefused, Warehouse

CANCELLING: Final = 1.0  # seconds that a cancelled statement may take to end; afterwards no call waits for it


@dataclass(slots=True)
class AdbcSession:
    """A connection, if it is made already, and the statement that runs in it."""

    connection: Any = None
    cursor: Any = None
    ended: bool = False
    lock: Any = field(default_factory=Lock)

    def given_up(self) -> Any | None:
        """Return the connection, once, of a session that has ended and runs no statement."""
        with self.lock:
            if not self.ended or self.cursor is not None:
                return None
            connection, self.connection = self.connection, None
            return connection


class AdbcWarehouse(Warehouse):
    """An engine that an ADBC driver reads. An adapter implements `_connect` and `_refusal`."""

    def __init__(self, driver: Any, timeout: float = TIMEOUT, sessions: int = SESSIONS) -> None:
        """`driver` is the module of the driver's dbapi."""
        super().__init__(timeout, sessions)
        self._driver = driver
        self._runs = ThreadPoolExecutor(sessions, thread_name_prefix="adbc")

    def close(self) -> None:
        """Close every session."""
        super().close()
        self._runs.shutdown(wait=False, cancel_futures=True)

    @abstractmethod
    def _connect(self) -> Any:
        """Return a new connection, in the thread of its first statement. Raises what the driver raises."""

    @abstractmethod
    def _refusal(self, status: str, message: str) -> StoreDown:
        """Return what to say of a failure by its status in ADBC, without anything that the address holds."""

    def _open(self) -> AdbcSession:
        return AdbcSession()

    def _close(self, session: AdbcSession) -> None:
        """Close a session. A server that is stopped holds threads until their timeout, and no call.

        A statement that still runs keeps its connection, which no other thread may close, until it ends.
        """
        session.ended = True
        connection = session.given_up()
        if connection is not None:
            Thread(target=self._close_quietly, args=[connection], name="close of a session", daemon=True).start()

    def _close_quietly(self, connection: Any) -> None:
        with suppress(self._driver.Error):
            connection.close()

    def _run(self, session: AdbcSession, statement: SqlStatement, watch: Stop) -> pa.Table:
        running = self._runs.submit(self._fetch, session, statement)
        try:
            while not wait([running], GLANCE).done:
                watch()
        finally:
            if not running.done():
                Thread(target=self._cancel, args=[session, running], name="cancel", daemon=True).start()
                wait([running], CANCELLING)
        return running.result()

    def _cancel(self, session: AdbcSession, running: Future[pa.Table]) -> None:
        """End a statement. Some drivers wait until the server has heard of it."""
        while (cursor := session.cursor) is not None and not running.done():
            with suppress(self._driver.Error):  # of a cursor that was closed meanwhile
                cursor.adbc_cancel()
            wait([running], GLANCE)

    def _fetch(self, session: AdbcSession, statement: SqlStatement) -> pa.Table:
        with self._refusals():
            if session.connection is None:
                session.connection = self._connect()
            if session.ended:
                self._close(session)
                return pa.table({})
            session.cursor = session.connection.cursor()
            try:
                session.cursor.execute(statement.text, list(statement.parameters) or None)
                rows = session.cursor.fetch_arrow_table()
                session.cursor.close()
            finally:
                session.cursor = None
                if session.ended:
                    self._close(session)
            return rows

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except self._driver.Error as fault:
            status = getattr(getattr(fault, "status_code", None), "name", "UNKNOWN")
            raise self._refusal(status, str(fault)) from None


def options_of(text: str) -> dict[str, str]:
    """Return the options in a text. Raises StatementRefused, without them, if they are no JSON object of texts."""
    try:
        options = dict(json.loads(text).items())
    except (ValueError, AttributeError):
        options = {"": None}
    if not all(isinstance(value, str) for value in options.values()):
        raise StatementRefused("its options are no JSON object of texts: see `options_env`")
    return options
