"""The reply of a child to its parent: bounded JSON, which the parent parses as hostile input."""

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any, NoReturn, cast, get_args

from sandbox.job import (
    MESSAGE,
    MOST_CELLS,
    MOST_CHARACTERS,
    MOST_COLUMNS,
    MOST_PRINTED,
    MOST_ROWS,
    CellValue,
    ColumnKind,
    Failure,
    FailureKind,
    JobResult,
    OutputColumn,
    is_scalar,
    naive_instant,
    name_fault,
)

FRAMING = 64 << 10  # bytes of a reply besides its table: printed text and JSON syntax


class ForgedReply(Exception):
    """A reply that no genuine worker writes."""


def encode(outcome: JobResult) -> bytes:
    """Return a result as the bytes of a reply."""
    content: dict[str, Any] = {"printed": outcome.printed}
    if outcome.failure is not None:
        content |= {"kind": outcome.failure.kind, "message": outcome.failure.message}
    else:
        columns = [[column.name, column.kind, column.not_finite] for column in outcome.columns]
        content |= {"columns": columns, "rows": outcome.rows}
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def decode(reply: bytes) -> JobResult:
    """Return the result in a reply. Raises ForgedReply if a part has a wrong shape, type or length."""
    try:
        content = json.loads(reply.decode("ascii"), parse_constant=refuse_constant, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as fault:
        raise ForgedReply("no JSON") from fault
    if type(content) is not dict:
        raise ForgedReply("no object")
    if set(content) == {"printed", "kind", "message"}:
        kind, message = content["kind"], read_text(content["message"], MESSAGE)
        if kind not in get_args(FailureKind):
            raise ForgedReply("no kind of failure")
        return JobResult(printed=read_text(content["printed"], MOST_PRINTED), failure=Failure.of(kind, message))
    if set(content) == {"printed", "columns", "rows"}:
        columns = read_columns(content["columns"])
        rows = read_rows(content["rows"], columns)
        return JobResult(columns=columns, rows=rows, printed=read_text(content["printed"], MOST_PRINTED))
    raise ForgedReply("other keys")


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, which JSON lacks."""
    raise ForgedReply(name)


def unique_keys(pairs: list[tuple[str, object]]) -> Mapping[str, object]:
    """Return pairs as an object. Raises ForgedReply if a key is repeated."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ForgedReply("a key twice")
    return members


def read_text(value: object, most: int) -> str:
    """Return a text of at most `most` characters that UTF-8 can encode."""
    if type(value) is not str or len(value) > most:
        raise ForgedReply("no text, or a long one")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as fault:
        raise ForgedReply("half a character") from fault
    return value


def read_list(value: object, most: int) -> list[object]:
    """Return a list of at most `most` items."""
    if type(value) is not list or len(value) > most:
        raise ForgedReply("no list, or a long one")
    return value


def read_columns(lists: object) -> tuple[OutputColumn, ...]:
    """Return the columns, each with a unique name, a known kind and a count of cells."""
    columns = []
    for listed in read_list(lists, MOST_COLUMNS):
        name, kind, count = parts if len(parts := read_list(listed, 3)) == 3 else (None, None, None)
        if type(kind) is not str or kind not in KINDS:
            raise ForgedReply("no kind of column")
        if type(count) is not int or not 0 <= count <= MOST_ROWS:
            raise ForgedReply("no count of cells")
        if fault := name_fault(named := read_text(name, MOST_CHARACTERS)):
            raise ForgedReply(fault)
        columns.append(OutputColumn(named, cast("ColumnKind", kind), count))
    if len({column.name for column in columns}) != len(columns):
        raise ForgedReply("a column twice")
    return tuple(columns)


def read_rows(lists: object, columns: tuple[OutputColumn, ...]) -> tuple[tuple[CellValue, ...], ...]:
    """Return the rows, each with one cell per column, of the column's kind."""
    rows, cells = [], 0
    for listed in read_list(lists, MOST_ROWS):
        row = read_list(listed, MOST_COLUMNS)
        if len(row) != len(columns):
            raise ForgedReply("a row of another width")
        read = tuple(read_cell(value, column.kind) for value, column in zip(row, columns, strict=True))
        cells += sum(len(cell) if isinstance(cell, tuple) else 1 for cell in read)
        if cells > MOST_CELLS:
            raise ForgedReply("too many cells")
        rows.append(read)
    return tuple(rows)


def read_cell(value: object, kind: ColumnKind) -> CellValue:
    """Return one cell of a kind."""
    if value is None:
        return None
    if kind == "list":
        return tuple(read_scalar(item) for item in read_list(value, MOST_CELLS))
    cell = read_scalar(value)
    if type(cell) not in KINDS[kind]:
        raise ForgedReply(f"no {kind}")
    if kind in INSTANTS and isinstance(cell, str):
        try:
            INSTANTS[kind](cell)
        except (ValueError, OverflowError) as fault:
            raise ForgedReply(f"no {kind}") from fault
    return cell


def read_scalar(value: object) -> str | int | float | bool | None:
    """Return a scalar that a result may hold."""
    if not is_scalar(value):
        raise ForgedReply("no plain scalar")
    return read_text(value, MOST_CHARACTERS) if isinstance(value, str) else value  # type: ignore[return-value]  # is_scalar() says so


KINDS: Mapping[object, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "text": (str,),
    "boolean": (bool,),
    "date": (str,),
    "datetime": (str,),
    "time": (str,),
    "list": (tuple,),
}
INSTANTS: Mapping[str, Callable[[str], object]] = {
    "date": date.fromisoformat,
    "datetime": lambda text: naive_instant(datetime.fromisoformat(text)),
    "time": time.fromisoformat,
}
