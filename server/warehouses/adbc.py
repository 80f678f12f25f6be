"""Sessions of warehouses through ADBC drivers: calls that block run in a thread, and end with the call that waits."""

import json
from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any

import pyarrow as pa

from engine.model.stopping import Stop
from server.base.interfaces import StoreDown
from server.warehouses.warehouse import GLANCE, SESSIONS, TIMEOUT, SqlStatement, StatementRefused, Warehouse


@dataclass(slots=True)
class AdbcSession:
    """A connection, if it is made already, and the statement that runs in it."""

    connection: Any = None
    cursor: Any = None
    ended: bool = False


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
        """Close a session. A server that is stopped holds the thread until the timeout, and no call."""
        session.ended = True
        connection, session.connection = session.connection, None
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
            while session.cursor is not None and not running.done():
                session.cursor.adbc_cancel()  # which waits for no server
                wait([running], GLANCE)
        return running.result()

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
