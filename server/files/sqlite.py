"""SQLite: the rows of a query on a file that is only read, each value by the class that it is stored in."""

import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from server.feeds.feeds import LoadStatus
from server.feeds.query_parameters import number_parameters
from server.files.columns import CONNECT, EXTRACT, ExtractRequest, with_location
from server.files.fault_words import REACHING, REFUSALS, UNREACHED, UNREFUSED, in_words
from server.files.rejects import LoadFailed

ROWS: Final = 100_000  # of a frame
OBJECTS: Final = 500  # rows at once as objects: with more, the collector of Python looks through them again and again
STEPS: Final = 100_000  # of a query between two looks at signals
LARGEST: Final = 2**53  # whole number below which a double holds each
BUSY_SECONDS: Final = 10.0
READING: Final = frozenset(
    [sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE]
)
TYPES: Final[Mapping[type, type[pl.DataType]]] = {str: pl.String, int: pl.Int64, float: pl.Float64}  # by class
INTERRUPTED: Final = "interrupted"


def sqlite_rows(asked: ExtractRequest, file: Path, parameters: Mapping[str, object]) -> Generator[pl.DataFrame]:
    """Yield the located rows of a query. Raises LoadFailed where it fails or a value is no text or number."""
    source = asked.binding.source
    query = number_parameters(asked.binding.extract, source.paramstyle)
    bound = [value if isinstance(value, str) else str(value) for value in map(parameters.__getitem__, query.names)]
    with faults(CONNECT, f"source {source.key} cannot be reached"):
        uri = f"{file.as_uri()}?mode=ro"
        database = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
    with closing(database):
        database.set_authorizer(allowed)
        database.set_progress_handler(
            lambda: 0, STEPS
        )  # Python takes its signals there, and an interrupt ends the query
        with faults(EXTRACT, "the query failed"):
            cursor = database.execute(query.text, bound)
        if cursor.description is None:
            raise LoadFailed(EXTRACT, "the query failed: it has no rows; this source is read-only")
        yield from batches(cursor, source.key)


def allowed(action: int, *_: object) -> int:
    """Allow what reads: another file, a setting and every change are refused."""
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def batches(cursor: sqlite3.Cursor, name: str) -> Iterator[pl.DataFrame]:
    """Yield the located rows of a cursor, at least one frame."""
    names = [column[0] for column in cursor.description]
    if len(set(names)) < len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise LoadFailed(EXTRACT, f"the query has two columns '{twice}'; give each a name of its own: select … as …")
    rows, first = column_parts(cursor, names), 0
    parts = list(islice(rows, ROWS // OBJECTS)) or [[pl.Series(column, [], dtype=pl.Null) for column in names]]
    while parts:
        frame = pl.DataFrame([whole_column(part) for part in zip(*parts, strict=True)])
        yield with_location(frame, name, first)
        first += frame.height
        parts = list(islice(rows, ROWS // OBJECTS))


def column_parts(cursor: sqlite3.Cursor, names: Sequence[str]) -> Iterator[list[pl.Series]]:
    """Yield the columns of the next rows of a cursor, as few as a processor keeps at hand."""
    while True:
        with faults(EXTRACT, "the query failed"):
            rows = cursor.fetchmany(OBJECTS)
        if not rows:
            return
        yield [typed(column, values) for column, values in zip(names, zip(*rows, strict=True), strict=True)]


def typed(name: str, values: Sequence[Any]) -> pl.Series:
    """Return values as texts, whole numbers or doubles; as objects where no such type holds all of them."""
    kinds = set(map(type, values)) - {type(None)}
    if bytes in kinds:
        raise LoadFailed(EXTRACT, f"column {name} holds a BLOB; select cast({name} as text), or leave it out")
    if not kinds:
        return pl.Series(name, values, dtype=pl.Null)
    if len(kinds) == 1:
        return pl.Series(name, values, dtype=TYPES[kinds.pop()])
    if str not in kinds:
        doubles = pl.Series(name, values, dtype=pl.Float64, strict=False)
        if are_doubles(doubles):
            return doubles
    return pl.Series(name, values, dtype=pl.Object)


def whole_column(parts: Sequence[pl.Series]) -> pl.Series:
    """Return the parts of a column as one: as texts where their types differ, each number as its shortest text."""
    types = {part.dtype for part in parts} - {pl.Null}
    if types == {pl.Int64, pl.Float64} and all(are_doubles(part) for part in parts if part.dtype == pl.Int64):
        types = {pl.Float64()}
    if len(types) > 1 or pl.Object in types:
        values = [value if value is None else text_of(value) for part in parts for value in part.to_list()]
        return pl.Series(parts[0].name, values, dtype=pl.String)
    dtype = types.pop() if types else pl.String
    return pl.concat([part.cast(dtype) for part in parts], rechunk=True)


def are_doubles(numbers: pl.Series) -> bool:
    """Return whether a double holds each of some whole numbers, and each of those beside it."""
    extremes: Sequence[Any] = (numbers.min(), numbers.max())
    return all(abs(number) < LARGEST for number in extremes if number is not None)


def text_of(value: str | float) -> str:
    """Return a value as a text, a number as the shortest one that gives it back."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) <= LARGEST else repr(value)
    return str(value)


@contextmanager
def faults(status: LoadStatus, what: str) -> Iterator[None]:
    """Turn what SQLite says into a failed load, in words of our own."""
    try:
        yield
    except (sqlite3.Error, OverflowError, UnicodeError) as fault:
        if str(fault) == INTERRUPTED:
            raise KeyboardInterrupt from None
        known, otherwise = (REACHING, UNREACHED) if status is CONNECT else (REFUSALS, UNREFUSED)
        raise LoadFailed(status, f"{what}: {in_words(fault, known, otherwise)}") from None
