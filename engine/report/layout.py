"""The layout of a report: what stands down and what across.

A statement has its lines down, scenarios and members across, each scenario's total last. Metrics have members down,
the total last, metrics and scenarios across.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.exact import Exact
from engine.formulas.figures import Nothing
from engine.report.data import Column, Line, Place, ReportData


@dataclass(frozen=True, slots=True)
class Across:
    """What one column of the sheet shows: a scenario, and a place of a statement or a metric."""

    column: int
    place: int | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Down:
    """What one row of the sheet shows: a line of a statement, or a place of metrics."""

    line: int | None
    place: int | None


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a sheet with what it belongs to; None where there is none, for whatever reason."""

    line: Line
    column: Column
    place: Place
    figure: Exact | None
    is_unavailable: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """A report as rows and columns."""

    report: ReportData
    down: tuple[Down, ...]
    across: tuple[Across, ...]

    def cell(self, down: Down, across: Across) -> Cell:
        """Return the cell where a row and a column meet."""
        line = down.line if across.line is None else across.line
        place = down.place if across.place is None else across.place
        if line is None or place is None:
            raise IndexError("a row and a column of different layouts")
        report = self.report
        figure = report.figures[line][across.column][place]
        return Cell(
            report.lines[line],
            report.columns[across.column],
            report.places[place],
            figure if isinstance(figure, Exact) else None,
            figure is Nothing.UNAVAILABLE,
        )

    def cells(self, down: Down) -> Iterator[Cell]:
        """Yield the cells of one row."""
        return (self.cell(down, across) for across in self.across)


def layout(report: ReportData) -> Layout:
    """Return the layout of a report."""
    lines, columns, places = range(len(report.lines)), range(len(report.columns)), range(len(report.places))
    if report.statement is not None:
        across = tuple(Across(column, place, None) for column in columns for place in places)
        return Layout(report, tuple(Down(line, None) for line in lines), across)
    across = tuple(Across(column, None, line) for line in lines for column in columns)
    return Layout(report, tuple(Down(None, place) for place in places), across)
