"""Journals: lines with amounts and headers with days, in two tables that a document number joins."""

from collections.abc import Sequence

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.files.findings import Finding, SampleTable
from server.files.sampling import SourceTable
from server.setup.column_profiles import ColumnRole
from server.setup.roles import TableProfile
from server.setup.trees import match_members

LINES, HEADERS = "lines", "headers"  # the tables of the statement


class Journal(Struct, frozen=True):
    """A table of lines and that of their headers, with the column of each that joins them."""

    lines: TableProfile
    headers: TableProfile
    line_key: str
    header_key: str

    @property
    def time(self) -> str | None:
        """The column of the headers with the day."""
        return self.headers.first(ColumnRole.TIME) or self.headers.first(ColumnRole.YEAR)

    @property
    def fault(self) -> str | None:
        """Why one feed cannot read both tables; None if it can: they are files of one folder, written alike."""
        lines, headers = self.lines.table, self.headers.table
        says = f"{lines.name} has amounts and no days; {headers.name} has the {self.time} of each {self.line_key}"
        again = f"bring both as one table, a row for each line with the {self.time} of its {self.header_key}"
        if lines.path is None or headers.path is None or lines.file[0] != headers.file[0]:
            return f"{says}, and they are no files of one folder: put them into one, or {again}"
        if lines.findings.keys != headers.findings.keys or lines.sheet or headers.sheet:
            return f"{says}, and their files are not written alike: save them alike, or {again}"
        return None

    def table(self) -> SourceTable:
        """Return the lines with the columns of their headers, as one statement reads them."""
        lines, headers = self.lines.table, self.headers.table
        assert lines.path is not None and headers.path is not None  # noqa: S101, PT018 - they have no fault
        added = [column for column in headers.columns if column not in {self.header_key, *lines.columns}]
        known = headers.sample.frame.select(self.header_key, *added).unique(self.header_key, keep="first")
        frame = lines.sample.frame.join(
            known, left_on=self.line_key, right_on=self.header_key, how="left", maintain_order="left"
        )
        columns = ", ".join([f"{LINES}.*", *(f"{HEADERS}.{quoted(column)}" for column in added)])
        on = f"{LINES}.{quoted(self.line_key)} = {HEADERS}.{quoted(self.header_key)}"
        evidence = f"every {self.line_key} of {lines.name} is in {self.header_key} of {headers.name}"
        query = f"select {columns} from {LINES} left join {HEADERS} on {on}"  # noqa: S608 - columns of these files, quoted
        files = {LINES: lines.file[1], HEADERS: headers.file[1]}
        keys = (Finding("file", files, evidence), Finding("sql", query, ""))
        return replace(
            lines,
            sample=SampleTable(name=lines.name, frame=frame.select(*lines.columns, *added), rows=lines.sample.rows),
            findings=replace(lines.findings, decided=(*keys, *lines.findings.decided)),
            is_joined=True,
            temporal=lines.temporal | headers.temporal,
        )


def quoted(column: str) -> str:
    """Return the name of a column as SQL writes it."""
    return '"' + column.replace('"', '""') + '"'


def find_journal(profiles: Sequence[TableProfile]) -> Journal | None:
    """Return the first table of lines whose days stand in a table of headers; None if there is none."""
    for lines in profiles:
        if not lines.has_amounts or lines.has_time:
            continue
        headers = [found for found in profiles if found.has_time and not found.has_amounts]
        for column, one in lines.columns.items():
            match = match_members(column, one.values, headers) if one.values and one.number is None else None
            if match is not None and pl.Series(one.values).is_in(match.found.columns[match.key].values).all():
                return Journal(lines, match.found, column, match.key)
    return None
