"""The services of the clouds that tests ask through their real clients: make test-deep names them in CLOUDS."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.engines.bigquery import DATASET, BigQueryServer, bigquery
from tests.support.engines.cloud_services import TableServer, snowflake_tables
from tests.support.engines.cloud_tables import CloudTables

CLOUDS = tuple(os.environ.get("CLOUDS", "").split())  # snowflake, bigquery
SCHEMA = DATASET  # of the tables
PASSWORD = "hunter4"  # noqa: S105 - of a stand-in


@dataclass(frozen=True, slots=True)
class Cloud:
    """A service on this machine: its tables, how a source names it, and what the environment holds."""

    tables: CloudTables
    server: TableServer | BigQueryServer
    source: Mapping[str, str]
    environment: Mapping[str, str]

    @property
    def address(self) -> str:
        """What the variable of the source holds."""
        return self.environment["DWH_URL"]

    def let_write(self, name: str) -> None:
        """Give the user of the source the right to change a table."""
        if isinstance(self.server, BigQueryServer):
            self.server.rights.append("bigquery.tables.updateData")
        else:
            self.tables.run("insert into kept.roles values ('READER')")
            self.tables.owner.execute("insert into kept.privileges values ($1, $2, 'INSERT', 'READER')", [SCHEMA, name])


@contextmanager
def cloud(kind: str) -> Iterator[Cloud]:
    """Yield a service without tables."""
    tables = CloudTables()
    with ExitStack() as opened:
        opened.callback(tables.owner.close)
        if kind == "bigquery":
            google = opened.enter_context(bigquery(tables))
            known = {"DWH_URL": json.dumps(google.options), "BIGQUERY_EMULATOR_HOST": google.address}
            yield Cloud(tables, google, {"kind": kind, "options_env": "DWH_URL"}, known)
        else:
            server: Any = opened.enter_context(snowflake_tables(tables, PASSWORD))
            address = f"reader:{PASSWORD}@127.0.0.1:{server.server_port}/ERP/{SCHEMA}?account=a&protocol=http"
            yield Cloud(tables, server, {"kind": kind, "uri_env": "DWH_URL"}, {"DWH_URL": address})
