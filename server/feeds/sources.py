"""SOURCES: the keys that each kind of source and its feeds take, and their checks; one entry adds one kind.

Feeds are checked without files, drivers and environment, so how a kind is read stands in `SOURCE_READERS` of
`server/files/sources.py`, by the same SourceKind. A test holds that both tables have the same kinds.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Final

from msgspec import Struct

from engine.facts.load_modes import LoadMode
from engine.instance.documents import Location, known
from server.feeds.feeds import SourceKind
from server.feeds.formats import database_format_faults
from server.feeds.integrations import BindingPart
from server.feeds.query_parameters import PERIOD_PARAMETERS, PERIOD_PLACE, ParamStyle, number_parameters

REPLACES = LoadMode.REPLACE_PERIODS.value
FeedFault = tuple[Location, str, str]  # location within the feed, fault, and what would be valid


def file_faults(part: BindingPart) -> Iterator[FeedFault]:
    """Yield keys that a feed of files does not support."""
    if part.parameters:
        valid = f"with load: {REPLACES}, file may hold {PERIOD_PLACE}"
        yield ["parameters"], "parameters are those of a query, and a folder has none", valid
    if PERIOD_PLACE in "".join(part.files.values()) and part.load != REPLACES:
        fault = f"file holds {PERIOD_PLACE}, and load: {part.load} asks for no periods"
        yield ["file"], fault, f"load: {REPLACES}"
    for pattern in part.files.values():
        if not is_file_pattern(pattern):
            valid = "a name or a pattern within the folder of the source, such as gl.csv, gl-*.csv or **/*.csv"
            yield ["file"], f"'{pattern}' is no pattern of files", valid
    if isinstance(part.file, dict) and part.sql is None:
        yield ["file"], "file names tables, and there is no sql that reads them", "name one pattern, or give sql"
    if part.sql is not None and part.from_name is not None:
        yield ["from_name"], "the rows of sql have no file, so from_name says nothing", "leave from_name out"


def is_file_pattern(pattern: str) -> bool:
    """Tell whether files can be looked for by a pattern: it is relative, and ** stands alone between slashes."""
    path = PurePath(pattern)
    return bool(path.parts) and not path.is_absolute() and all(name == "**" or "**" not in name for name in path.parts)


def database_faults(part: BindingPart) -> Iterator[FeedFault]:
    """Yield keys that a feed of a query does not support, and each mismatch of the query and its parameters."""
    if part.sheet is not None:
        yield ["sheet"], "a database has no sheets", "leave sheet out"
    yield from database_format_faults(part)
    yield from query_faults(part)


QUERY_BEGINS = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:select|with)\b", re.IGNORECASE | re.DOTALL)


def sqlite_faults(part: BindingPart) -> Iterator[FeedFault]:
    """Yield what database_faults yields, and a query that could attach another file."""
    yield from database_faults(part)
    if part.extract and not QUERY_BEGINS.match(part.extract):
        yield ["extract"], "the query of a file of SQLite begins with select or with", "select * from a_table"


def query_faults(part: BindingPart) -> Iterator[FeedFault]:
    """Yield each mismatch of a query and its parameters: location, fault, and what would be valid."""
    query = number_parameters(part.extract or "")
    replaces = part.load == REPLACES
    there = [*part.parameters, *(PERIOD_PARAMETERS if replaces else ())]
    for number in query.numbers:
        valid = "name it, as :company, and give company under parameters"
        yield ["extract"], f"the query has {number}, a parameter without a name", valid
    for name in query.names:
        if name in PERIOD_PARAMETERS and not replaces:
            fault = f"the query asks for :{name}, and load: {part.load} asks for no periods"
            yield ["extract"], fault, f"load: {REPLACES}"
        elif name not in there:
            yield ["extract"], f"the query names :{name}, and there is no such parameter", known(name, there)
    for name in part.parameters:
        if name in PERIOD_PARAMETERS:
            fault = f"'{name}' is taken: a load of periods fills it with those it asks for"
            yield ["parameters", name], fault, "give the parameter another name"
        elif name not in query.names:
            yield ["parameters", name], f"the query does not name :{name}", known(name, query.names)
    if replaces and part.extract and not set(PERIOD_PARAMETERS).intersection(query.names):
        fault = "the query names no period, so it would read all of them and have the others rejected"
        yield ["extract"], fault, "where day >= :period_start and day < :period_end_exclusive"


class SourceRules(Struct, frozen=True, kw_only=True):
    """The keys that say where a kind of source is and what a feed reads of it, and the checks of its feeds."""

    noun: str
    located_by: tuple[str, ...]  # keys of the source; it has one of them
    valid: str  # what to do about a source that has another number of them, or another key
    extract: str  # key of the feed
    faults: Callable[[BindingPart], Iterator[FeedFault]]
    paramstyle: ParamStyle = ParamStyle.DOLLAR
    drivers: bool = False  # whether the source names its driver


PATHS = ("path", "path_env")
ONE_PATH = "give path or path_env, one of both"
URI = "give uri_env, the environment variable with its URI"
URI_OR_OPTIONS = f"{URI}, or options_env, the one with its options as JSON, one of both"
OPTIONS = "give options_env, the environment variable with its options as JSON"


def database(
    noun: str,
    located_by: tuple[str, ...],
    valid: str,
    style: ParamStyle,
    *,
    drivers: bool = False,
    faults: Callable[[BindingPart], Iterator[FeedFault]] = database_faults,
) -> SourceRules:
    """Return the rules of a kind of database."""
    return SourceRules(
        noun=noun,
        located_by=located_by,
        valid=valid,
        extract="extract",
        faults=faults,
        paramstyle=style,
        drivers=drivers,
    )


SOURCES: Final[Mapping[SourceKind, SourceRules]] = {
    SourceKind.FOLDER: SourceRules(noun="folder", located_by=PATHS, valid=ONE_PATH, extract="file", faults=file_faults),
    SourceKind.POSTGRESQL: database("database", ("uri_env",), URI, ParamStyle.DOLLAR),
    SourceKind.SQLITE: database("file of SQLite", PATHS, ONE_PATH, ParamStyle.NUMBERED, faults=sqlite_faults),
    SourceKind.DUCKDB: database("file of DuckDB", PATHS, ONE_PATH, ParamStyle.DOLLAR),
    SourceKind.FLIGHTSQL: database(
        "server of Flight SQL", ("uri_env", "options_env"), URI_OR_OPTIONS, ParamStyle.QMARK
    ),
    SourceKind.SNOWFLAKE: database("Snowflake account", ("uri_env", "options_env"), URI_OR_OPTIONS, ParamStyle.QMARK),
    SourceKind.BIGQUERY: database("BigQuery project", ("options_env",), OPTIONS, ParamStyle.QMARK),
    SourceKind.ADBC: database(
        "database with a driver of its own", ("options_env",), OPTIONS, ParamStyle.QMARK, drivers=True
    ),
}
LOCATED_BY = tuple(dict.fromkeys(key for rules in SOURCES.values() for key in rules.located_by))
EXTRACTS = tuple(dict.fromkeys(rules.extract for rules in SOURCES.values()))
