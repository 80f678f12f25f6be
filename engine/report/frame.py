"""The tidy frame of a report: one row for each figure, with everything that tells which one it is.

Columns: `line` or `metric`, `label`, `line_order`, `level`, `kind`, `scenario`, `alias`, a column of ids and one of
labels for each breakdown dimension (null in totals), `value` (Float64, for charts), `exact` (its digits as text) and
`unit`. Figures are unscaled.
"""

from collections.abc import Iterator

import polars as pl

from engine.catalogue import LABEL
from engine.exact import Exact
from engine.report.data import ReportData


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
    return pl.DataFrame(list(records(report)), schema=schema_of(report), orient="row")


def records(report: ReportData) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the tidy frame."""
    for order, line in enumerate(report.lines):
        if line.type is None:
            continue
        head = (line.key, line.label, order, line.level, line.kind)
        for at, column in enumerate(report.columns):
            unit = report.unit(line, column.comparison, scaled=False)
            quotient = report.is_quotient(line, column.comparison)
            for place, figure in zip(report.places, report.figures[order][at], strict=True):
                by_dimension = {member.dimension: member for member in place.members}
                found = [by_dimension.get(dimension) for dimension in report.breakdown]
                members = [part for member in found for part in ((member.id, member.label) if member else (None, None))]
                exact = figure.decimal(quotient=quotient) if isinstance(figure, Exact) else None
                yield (
                    *head,
                    column.scenario,
                    column.heading,
                    *members,
                    None if exact is None else float(exact),
                    figure.digits(quotient=quotient) if isinstance(figure, Exact) else None,
                    unit,
                )
