"""Reshaping: columns from the file's name, rows that are skipped, and columns that become rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Final

import polars as pl

from server.feeds.extract_formats import ColumnChoice, ExtractFormat, FillDown, RowSkip
from server.files.columns import EXTRACT, to_text
from server.files.dates import month_number
from server.files.files import PIECE
from server.files.rejects import FILE, ROW, LoadFailed

PLACEHOLDERS: Final = {"year": r"\d{4}", "month": r"\d{1,2}", "day": r"\d{1,2}"}  # others take any text
NAME_PART = re.compile(r"{([a-z_][a-z0-9_]*)}|\*")
YEAR = re.compile(r"\d{4}")


@dataclass(slots=True)
class UnloadedRows:
    """Rows of an extract that are neither loaded nor rejected."""

    skipped: int = 0  # by the key skip
    without_figure: int = 0  # with no amount, where that is no fault
    heading: tuple[str, str | None] = ("", None)  # the file, and the last heading in it
    piece: pl.DataFrame | None = None  # the rows of the last piece that were skipped, as its other rows are reshaped

    def __str__(self) -> str:
        """Return the counts in words; empty if there are none."""
        said = ((self.skipped, "skipped"), (self.without_figure, "without a figure"))
        return ", ".join(f"{count:,} {words}" for count, words in said if count)


def reshape(piece: pl.DataFrame, format_: ExtractFormat, name: str, counts: UnloadedRows) -> Iterator[pl.DataFrame]:
    """Yield the rows of a piece as a feed wants them, some at a time; `name` is that of the file.

    Raises LoadFailed if the file has another name, or lacks a column.
    """
    piece = with_name_parts(piece, format_, name)
    out = pl.repeat(value=False, n=piece.height, dtype=pl.Boolean, eager=True)
    if format_.skip != RowSkip():
        out = skipped(piece, format_.skip, name)
    if format_.fill_down is not None:
        headings = headings_in(piece, format_, name)
        piece, out = filled_down(piece, format_.fill_down, headings, name, counts), out | headings
    whole, counts.piece = piece, None
    if out.any():
        piece, counts.piece = whole.filter(~out), whole.filter(out)
        counts.skipped += counts.piece.height
    if format_.unpivot is None:
        yield piece
        return
    columns = chosen_columns(format_.unpivot.columns, columns_of_file(piece), name)
    if counts.piece is not None:
        counts.piece = unpivoted(counts.piece, format_, columns, name)
    rows = max(PIECE // len(columns), 1)
    for first in range(0, max(piece.height, 1), rows):
        yield unpivoted(piece[first : first + rows], format_, columns, name)


def with_name_parts(piece: pl.DataFrame, format_: ExtractFormat, name: str) -> pl.DataFrame:
    """Return rows with the columns that the name of their file makes. Raises LoadFailed if it has another name."""
    if format_.from_name is None:
        return piece
    texts = name_parts(format_.from_name, name)
    return piece.with_columns(pl.lit(text, pl.String).alias(column) for column, text in texts.items())


def name_parts(pattern: str, name: str) -> dict[str, str]:
    """Return the texts in a file's name at the placeholders of a pattern. Raises LoadFailed if it does not fit."""
    for text in (name, PurePath(name).stem):
        found = name_pattern(pattern).fullmatch(text)
        if found:
            return found.groupdict()
    raise LoadFailed(EXTRACT, f"{name} does not have the name that from_name: {{pattern: '{pattern}'}} says")


def name_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern of file names."""
    parts, done = [], 0
    for part in NAME_PART.finditer(pattern):
        key = part[1]
        parts.append(re.escape(pattern[done : part.start()]))
        parts.append(f"(?P<{key}>{PLACEHOLDERS.get(key, '.+?')})" if key else ".*?")
        done = part.end()
    return re.compile("".join((*parts, re.escape(pattern[done:]))))


def skipped(piece: pl.DataFrame, skip: RowSkip, name: str) -> pl.Series:
    """Tell for each row whether it is skipped."""
    out = pl.repeat(value=False, n=piece.height, dtype=pl.Boolean, eager=True)
    for column in skip.blank:
        texts = text_of(piece, column, name, "skip")
        out |= (texts.is_null() | (texts == "")).fill_null(value=True)
    for column, listed in skip.equals.items():
        out |= text_of(piece, column, name, "skip").is_in(list(listed)).fill_null(value=False)
    return out


def headings_in(piece: pl.DataFrame, format_: ExtractFormat, name: str) -> pl.Series:
    """Tell for each row whether it is a heading for those below: a text beside which some columns are empty.

    A text whose rows `skip` leaves out is none.
    """
    rule = format_.fill_down
    assert rule is not None  # noqa: S101 - it says where headings stand
    texts = text_of(piece, rule.column, name, "fill_down")
    found = (texts != "").fill_null(value=False)
    for column in rule.blank:
        cells = text_of(piece, column, name, "fill_down")
        found &= (cells.is_null() | (cells == "")).fill_null(value=True)
    return found & ~texts.is_in(list(format_.skip.equals.get(rule.column, ()))).fill_null(value=False)


def filled_down(
    piece: pl.DataFrame, rule: FillDown, headings: pl.Series, name: str, counts: UnloadedRows
) -> pl.DataFrame:
    """Return rows with the heading above each; the first ones have the last heading of the piece before."""
    file, last = counts.heading
    above = to_text(piece[rule.column]).str.strip_chars().set(~headings, None).forward_fill()
    above = above.fill_null(last) if file == name and last is not None else above
    counts.heading = name, above[-1] if piece.height else last
    return piece.with_columns(above.alias(rule.into))


def text_of(piece: pl.DataFrame, column: str, name: str, key: str) -> pl.Series:
    """Return a column of an extract as text without spaces around it. Raises LoadFailed if there is none."""
    if column not in piece.columns:
        known = ", ".join(columns_of_file(piece))
        raise LoadFailed(EXTRACT, f"{name} has no column '{column}', which {key} names; it has {known}")
    return to_text(piece[column]).str.strip_chars()


def columns_of_file(piece: pl.DataFrame) -> list[str]:
    """Return the columns of an extract, without those that locate its rows."""
    return [column for column in piece.columns if column not in (FILE, ROW)]


def chosen_columns(choice: ColumnChoice, there: Sequence[str], name: str) -> Sequence[str]:
    """Return those of the columns of a file that become rows. Raises LoadFailed if one of them is not there."""
    named = [column for column in (*choice.names, choice.first, choice.last) if column is not None]
    lost = [column for column in named if column not in there]
    if lost:
        raise LoadFailed(EXTRACT, f"{name} has no column '{lost[0]}', which unpivot names; it has {', '.join(there)}")
    if choice.pattern is not None:
        found = [column for column in there if fnmatchcase(column, choice.pattern)]
        if not found:
            says = f"{name} has no column like '{choice.pattern}', which unpivot asks for; it has {', '.join(there)}"
            raise LoadFailed(EXTRACT, says)
        return found
    if choice.first is None or choice.last is None:
        return choice.names
    first, last = there.index(choice.first), there.index(choice.last)
    if last < first:
        raise LoadFailed(EXTRACT, f"'{choice.last}' stands before '{choice.first}' in {name}; name the first one first")
    return there[first : last + 1]


def months_named(columns: Sequence[str], format_: ExtractFormat, name: str) -> Mapping[str, str]:
    """Return the month of each column. Raises LoadFailed if one names anything else, or two name the same month."""
    months = {column: month_number(column, format_.dates.months) for column in columns}
    known = {column: month for column, month in months.items() if month is not None}
    wrong = [column for column in columns if column not in known]
    if wrong:
        says = f"{quoted_columns(wrong)} of {name} {'names' if len(wrong) == 1 else 'name'} no month"
        left = f"[{', '.join(known)}]" if known else "…"
        mend = f"leave {'it' if len(wrong) == 1 else 'them'} out with unpivot: {{columns: {left}}}"
        more = "" if format_.dates.months else ", or set dates: {months: […]} if its months are not English"
        if any(YEAR.search(column) for column in wrong):
            more = ", or leave year out of unpivot if its names have one"
        raise LoadFailed(EXTRACT, f"{says}, and unpivot gives its names a year; {mend}{more}")
    for column, month in known.items():
        same = [other for other in columns if known[other] == month]
        if len(same) > 1:
            says = f"{quoted_columns(same)} of {name} name the same month"
            raise LoadFailed(EXTRACT, f"{says}; leave all but '{column}' out of unpivot: {{columns: …}}")
    return known


def quoted_columns(columns: Sequence[str]) -> str:
    """Return columns in words: `column 'Q1'`, `columns 'Q1', 'Q2'`."""
    return f"column{'s' if len(columns) > 1 else ''} " + ", ".join(f"'{column}'" for column in columns)


def unpivoted(piece: pl.DataFrame, format_: ExtractFormat, columns: Sequence[str], name: str) -> pl.DataFrame:
    """Return rows whose columns have become rows. With a year, their names become codes such as 2026-01."""
    unpivot = format_.unpivot
    assert unpivot is not None  # noqa: S101 - it names the columns
    months = {} if unpivot.year is None else months_named(columns, format_, name)
    others = [column for column in piece.columns if column not in columns]
    long = piece.unpivot(list(columns), index=others, variable_name=unpivot.into, value_name=unpivot.value)
    if unpivot.year is None:
        return long
    month = pl.col(unpivot.into).replace_strict(months, return_dtype=pl.String)
    if YEAR.fullmatch(unpivot.year):
        year = pl.lit(unpivot.year)
    else:
        text_of(piece, unpivot.year, name, "unpivot")
        year = pl.col(unpivot.year).cast(pl.String).str.strip_chars()
    return long.with_columns(pl.concat_str(year, month, separator="-").alias(unpivot.into))
