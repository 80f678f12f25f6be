"""Database samples: some rows of a table of a database as text, read as a feed reads them."""

import re
from pathlib import Path
from typing import Final

import polars as pl
from msgspec import Struct

from engine.model.calendar.fiscal import FiscalYear, fiscal_calendar
from server.feeds.feeds import Binding, FeedSource, RejectAllowance, SourceKind
from server.feeds.sources import SOURCES
from server.files.columns import joined
from server.files.findings import SampleFault
from server.files.rejects import FILE, ROW, LoadFailed
from server.files.sources import extract

SAMPLE_ROWS: Final = 50_000
TABLE = re.compile(r"[\w$]+(\.[\w$]+){0,2}")
DATABASES: Final = {
    kind.value: kind
    for kind, rules in SOURCES.items()
    if kind is not SourceKind.FOLDER and {"path", "uri_env"} & set(rules.located_by)
}
WRITTEN_SO = "KIND:PLACE:TABLE, where PLACE is a file, or the environment variable with the URI"


class DatabaseTable(Struct, frozen=True, kw_only=True):
    """A table of a database: the kind of its source, and the file or the environment variable that leads to it."""

    kind: SourceKind
    place: str
    table: str
    statement: str = ""  # that makes the rows; the whole table if it is empty

    @property
    def located_by(self) -> str:
        """The key of a source that says where it is."""
        return "path" if "path" in SOURCES[self.kind].located_by else "uri_env"

    @property
    def query(self) -> str:
        """The query of a feed of its rows."""
        return self.statement or f"select * from {self.table}"  # noqa: S608 - a name that TABLE holds, in a session that reads only

    @property
    def relation(self) -> str:
        """What a query selects its rows from."""
        return f"({self.statement}) as made" if self.statement else self.table

    def rows(self, query: str) -> pl.DataFrame:
        """Return the rows of a query, moments as days. Raises SampleFault."""
        is_file = self.located_by == "path"
        source = FeedSource(
            key=self.table,
            kind=self.kind,
            path=str(Path(self.place).resolve()) if is_file else None,
            environment=None if is_file else self.place,
        )
        binding = Binding(
            key=self.table,
            source=source,
            target="live.sample",
            extract=query,
            sheet=None,
            scenario=None,
            fillings={},
            rejects=RejectAllowance(),
            extends_members=False,
            allows_empty=True,
        )
        try:
            parts = extract(binding, Path(), fiscal_calendar(FiscalYear()), None)
            frame = joined([rows for part in parts for rows in part.pieces])
        except LoadFailed as failed:
            raise SampleFault(f"{self.kind.value}:{self.place}:{self.table} cannot be read: {failed}") from failed
        moments = [name for name, dtype in frame.schema.items() if dtype == pl.Datetime]
        return frame.drop(FILE, ROW).with_columns(pl.col(moments).cast(pl.Date))

    def sample(self) -> pl.DataFrame:
        """Return the first rows of the table. Raises SampleFault."""
        return self.rows(f"{self.query} limit {SAMPLE_ROWS}")


def parse_database_table(text: str) -> DatabaseTable | None:
    """Return the table that KIND:PLACE:TABLE names; None if it begins with no kind of database. Raises SampleFault."""
    kind, _, rest = text.partition(":")
    if kind not in DATABASES:
        return None
    place, _, table = rest.rpartition(":")
    if not place or not TABLE.fullmatch(table):
        raise SampleFault(f"'{text}' names no table; write {WRITTEN_SO}")
    return DatabaseTable(kind=DATABASES[kind], place=place, table=table)
