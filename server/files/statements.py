"""Statements: SQL over the files of a feed by Polars' SQLContext, which sees these files alone."""

import re
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import polars as pl

from server.feeds.extract_formats import SqlQuery
from server.files.columns import EXTRACT, FormatDetector, to_text, with_location
from server.files.fault_words import REFUSALS, in_words
from server.files.files import TYPED, scan_batches, scan_file, unchanged
from server.files.rejects import LoadFailed

TOKEN = re.compile(
    r"""
      '(?:[^']|'')*'                              # text
    | --[^\n]*
    | /\*.*?\*/
    | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$             # text
    | "(?P<quoted>(?:[^"]|"")*)"
    | `(?P<ticked>(?:[^`]|``)*)`
    | (?P<word>[^\W\d]\w*)
    | (?P<other>\S)
    """,
    re.VERBOSE | re.DOTALL,
)
BEGINNINGS = ("select", "with")
TABLE_FUNCTION = re.compile(r"read_\w*|scan_\w*", re.IGNORECASE)
SCAN = re.compile(r" SCAN \[([^\]\n]*)")  # of a file, in a plan
PLACE = re.compile(r" at Line: (\d+), Column: (\d+)$")
NAMED = re.compile(r"""["'`]([^"'`]+)["'`]""")
# What a plan says of floating-point numbers and decimals, which lose digits or round.
INEXACT: Final = re.compile(
    r"Float(?:16|32|64)|Decimal|decimal_\w+|dyn float"
    r"|\.(?:mean|median|quantile|std|var|sqrt|cbrt|exp|log\w*|pow|round|sin|cos|tan)\(| / "
)
QUOTED = re.compile(r'"[^"]*"')  # columns and texts in a plan
UNREAD = (
    "it is no statement that is read here; write it with select, where, group by, union all and joins by on or using"
)
WAYS = "amounts pass through as text or integers; numbers: {factor: …} and map: {…: {product: […]}} calculate exactly"


def query_files(
    query: SqlQuery,
    files: Mapping[str, list[Path]],
    formats: FormatDetector,
    sheet: str | None,
    name: str,
) -> Generator[pl.DataFrame]:
    """Yield the located rows of a statement over files; `files` has those of each table. Raises LoadFailed."""
    refuse_statement(query)
    first = 0
    with ExitStack() as opened:
        tables = {}
        for table, paths in files.items():
            scans = [scan_table(path, formats, sheet, opened) for path in paths]
            tables[table] = pl.concat(scans, how="vertical") if len(scans) > 1 else scans[0]
        try:
            refuse_other_files(query, tables)
            result = pl.SQLContext(tables).execute(query.text, eager=False)
            refuse_inexact(result)
            for piece in scan_batches(result):
                yield with_location(piece, name, first)
                first += piece.height
        except pl.exceptions.PolarsError as fault:
            raise LoadFailed(EXTRACT, statement_fault(query.text, fault)) from fault


def scan_table(path: Path, formats: FormatDetector, sheet: str | None, opened: ExitStack) -> pl.LazyFrame:
    """Return the rows of a file that hold a value, as text, whole numbers and days; exact decimals are text."""
    opened.enter_context(unchanged(path))
    scan = opened.enter_context(scan_file(path, formats, sheet)).rows
    kinds = scan.collect_schema()
    texts = [column for column, kind in kinds.items() if kind.is_float() or kind.is_decimal()]
    exact = (
        scan.with_columns(pl.col(column).map_batches(to_text, return_dtype=pl.String) for column in texts)
        if texts
        else scan
    )
    return exact if path.suffix.lower() in TYPED else exact.filter(pl.any_horizontal(pl.all().is_not_null()))


def refuse_statement(query: SqlQuery) -> None:
    """Raise LoadFailed if a statement is no SELECT, or calls a function that reads a file, before one is opened."""
    words: list[tuple[str, int]] = []
    for token in TOKEN.finditer(query.text):
        text = token["quoted"] or token["ticked"] or token["word"] or token["other"]
        if text is not None:
            words.append((text, query.text.count("\n", 0, token.start()) + 1))
    if not words or words[0][0].casefold() not in BEGINNINGS:
        raise LoadFailed(EXTRACT, "sql line 1: the statement begins with neither select nor with")
    for (word, line), (after, _) in zip(words, [*words[1:], ("", 0)], strict=True):
        if after == "(" and TABLE_FUNCTION.fullmatch(word):
            says = f"sql line {line}: {word}(…) would read another file; the tables are {', '.join(query.tables)}"
            raise LoadFailed(EXTRACT, f"{says}: name its pattern under file")


def refuse_other_files(query: SqlQuery, tables: Mapping[str, pl.LazyFrame]) -> None:
    """Raise LoadFailed if the plan of a statement scans a file where its own tables have none."""
    without_files = {name: pl.LazyFrame(schema=table.collect_schema()) for name, table in tables.items()}
    try:
        plan = pl.SQLContext(without_files).execute(query.text, eager=False).explain(optimized=False)
    except pl.exceptions.PolarsError as fault:  # which may quote the columns of another file
        plan = str(fault)
    except OSError:  # another file is not there
        plan = " SCAN [another file"
    if found := SCAN.search(plan):
        says = f"sql would read {found[1]}; the tables are {', '.join(query.tables)}"
        raise LoadFailed(EXTRACT, f"{says}: name its pattern under file")


def refuse_inexact(result: pl.LazyFrame) -> None:
    """Raise LoadFailed if a plan computes with floating-point numbers or decimals, or reads what is no table."""
    found = INEXACT.search(QUOTED.sub('""', result.explain(optimized=False)))
    kinds = [column for column, kind in result.collect_schema().items() if kind.is_float() or kind.is_decimal()]
    if kinds:
        raise LoadFailed(EXTRACT, f"sql: '{kinds[0]}' is a {result.collect_schema()[kinds[0]]}; {WAYS}")
    if found:
        raise LoadFailed(EXTRACT, f"sql calculates with {found[0].strip('.( ')}, which is not exact; {WAYS}")


def statement_fault(text: str, fault: Exception) -> str:
    """Return what is wrong with a statement, with its line."""
    said = str(fault).strip().splitlines()[0]
    named, place = NAMED.search(said), PLACE.search(said)
    at = text.find(named[1]) if named else -1
    line = place[1] if place else text.strip().count("\n") + 1 if "EOF" in said else None
    if line is None and at >= 0:
        line = str(text.count("\n", 0, at) + 1)
    return f"sql{f' line {line}' if line else ''}: {in_words(fault, REFUSALS, UNREAD)}"
