"""The tidy frame of a report: one row for each figure, with everything that tells which one it is.

Columns: `line` or `metric`, `label`, `line_order`, `level`, `kind`, `scenario`, `alias`, a column of ids and one of
labels for each breakdown dimension (null in totals), `value` (Float64, for charts), `exact` (its digits as text) and
`unit`. Figures are unscaled.
"""

from collections.abc import Iterator

import polars as pl

from engine.catalogue import LABEL
from engine.exact import Exact
from engine.report.data import Column, Line, ReportData

HEAD = ("label", "line_order", "level", "kind", "scenario", "alias", "unit")


def schema_of(report: ReportData) -> dict[str, type[pl.DataType]]:
    """Return the columns of a report's tidy frame and their types."""
    members = {column: pl.String for dimension in report.breakdown for column in (dimension, dimension + LABEL)}
    return {
        "metric" if report.statement is None else "line": pl.String,
        "label": pl.String,
        "line_order": pl.UInt32,
        "level": pl.UInt32,
        "kind": pl.String,
        "scenario": pl.String,
        "alias": pl.String,
        **members,
        "value": pl.Float64,
        "exact": pl.String,
        "unit": pl.String,
    }


def height_of(report: ReportData) -> int:
    """Return how many rows a report's tidy frame has."""
    return sum(line.type is not None for line in report.lines) * len(report.columns) * len(report.places)


def frame_of(report: ReportData) -> pl.DataFrame:
    """Return the figures of a report as a frame; headers have none."""
    schema = schema_of(report)
    exact = [text for order, _, at, _ in blocks(report) for text in digits_of(report, order, at)]
    heads = [
        (line.key, line.label, order, line.level, line.kind, column.scenario, column.heading, unit)
        for order, line, _, column in blocks(report)
        for unit in [report.unit(line, column.comparison, scaled=False)]
    ]
    names = (next(iter(schema)), *HEAD)
    described = pl.DataFrame(heads, {name: schema[name] for name in names}, orient="row")
    columns = described[each_times(len(heads), len(report.places))].get_columns()
    columns += places_of(report)[all_times(len(report.places), len(heads))].get_columns()
    columns.append(pl.Series("value", [None if text is None else float(text) for text in exact], pl.Float64))
    columns.append(pl.Series("exact", exact, pl.String))
    known = {column.name: column for column in columns}
    return pl.DataFrame([known[name] for name in schema])


def each_times(rows: int, times: int) -> list[int]:
    """Return the positions of rows, each so many times before the next."""
    return [at for at in range(rows) for _ in range(times)]


def all_times(rows: int, times: int) -> list[int]:
    """Return the positions of rows, all of them so many times."""
    return list(range(rows)) * times


def blocks(report: ReportData) -> Iterator[tuple[int, Line, int, Column]]:
    """Yield every line that has figures with every column, each with its position."""
    for order, line in enumerate(report.lines):
        if line.type is not None:
            for at, column in enumerate(report.columns):
                yield order, line, at, column


def digits_of(report: ReportData, order: int, at: int) -> list[str | None]:
    """Return the digits of one line in one column, by place; None where there is no figure."""
    quotient = report.is_quotient(report.lines[order], report.columns[at].comparison)
    figures = report.figures[order][at]
    return [figure.digits(quotient=quotient) if isinstance(figure, Exact) else None for figure in figures]


def places_of(report: ReportData) -> pl.DataFrame:
    """Return the ids and labels of the members of every place; null in the total."""
    members: dict[str, list[str | None]] = {}
    for dimension in report.breakdown:
        found = [
            next((known for known in place.members if known.dimension == dimension), None) for place in report.places
        ]
        members[dimension] = [None if member is None else member.id for member in found]
        members[dimension + LABEL] = [None if member is None else member.label for member in found]
    return pl.DataFrame(members or None, height=len(report.places)).cast(pl.String)
