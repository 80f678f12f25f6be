"""The layout of a report in rows and columns, and figures as text."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from engine.model.catalogue import Format
from engine.model.exact import Exact, told_fraction
from engine.model.formulas import FigureKind, Nothing
from engine.model.stopping import watched
from engine.report.data import Comparison, MemberTuple, ReportColumn, ReportData, ReportLine

# Figures as text: scaled, rounded once, and signed.


PLACES = {Format.CURRENCY: 0, Format.NUMBER: 0, Format.PERCENT: 1}
FINE_KINDS = (FigureKind.PRICE, FigureKind.RATIO, FigureKind.RATE)  # which are shown with two decimal places
MINUS = "\N{MINUS SIGN}"
ZERO = "\N{EN DASH}"


class TextForm(Struct, frozen=True):
    """How figures of one line and kind of column are shown as text: scaled, rounded once, and signed."""

    divisor: int  # of the scale
    units: int  # in a figure of one, at the last decimal place shown
    places: int
    around_positive: tuple[str, str]
    around_negative: tuple[str, str]
    is_quotient: bool = False

    def text(self, numerator: int, denominator: int) -> str:
        """Return a figure as text, an en dash for zero. Rounding is half away from zero, of the digits that it has."""
        numerator, denominator = told_fraction(numerator, denominator * self.divisor, quotient=self.is_quotient)
        units = (2 * abs(numerator) * self.units + denominator) // (2 * denominator)
        if not units:
            return ZERO
        before, after = self.around_negative if numerator < 0 else self.around_positive
        return f"{before}{grouped(units, self.places)}{after}"


def text_form(report: ReportData, line: ReportLine, comparison: Comparison) -> TextForm:
    """Return the form of the figures of a line: parentheses around negative amounts, signs of variances and percents.

    Percents and percentage points are multiplied by 100.
    """
    is_percent, places = is_in_hundredths(line, comparison), places_shown(report, line, comparison)
    after = "" if not is_percent else " pp" if comparison.is_in_points else "%"
    plus = "+" if comparison.differs else ""
    return TextForm(
        divisor=10**report.scale if report.is_scaled(line, comparison) else 1,
        units=(100 if is_percent else 1) * 10**places,
        places=places,
        around_positive=(plus, after),
        around_negative=(MINUS, after) if is_percent or comparison.differs else ("(", ")"),
        is_quotient=report.is_quotient(line, comparison),
    )


def display(report: ReportData, line: ReportLine, comparison: Comparison, figure: Exact | None) -> str:
    """Return a figure as text: "" for none."""
    return "" if figure is None else text_form(report, line, comparison).text(figure.numerator, figure.denominator)


def is_in_hundredths(line: ReportLine, comparison: Comparison) -> bool:
    """Tell whether a figure is multiplied by 100 when shown."""
    return comparison.is_fraction or (comparison.keeps_unit and line.format is Format.PERCENT)


def places_shown(report: ReportData, line: ReportLine, comparison: Comparison) -> int:
    """Return the decimal places of a figure: those requested, else the default of its kind."""
    if comparison is Comparison.RANK:
        return 0
    if report.decimals is not None:
        return report.decimals
    if is_in_hundredths(line, comparison):
        return 1
    return 2 if line.type is not None and line.type.kind in FINE_KINDS else default(report, line)


def default(report: ReportData, line: ReportLine) -> int:
    """Return the default decimal places of a figure: 1 at a scale of millions and above."""
    return 1 if report.scale >= 6 and line.format is Format.CURRENCY else PLACES[line.format]


def grouped(units: int, places: int) -> str:
    """Return a number of units of the last decimal place as text, with thousands separators."""
    if not places:
        return f"{units:,}"
    whole, decimals = divmod(units, 10**places)
    return f"{whole:,}.{decimals:0{places}}"


# Layout of a report. A statement has lines as rows, and scenarios and members as columns; the total of each scenario is
# last. Metrics have members as rows, the total last, and metrics and scenarios as columns.


class LayoutColumn(NamedTuple):
    """One column of the sheet: a scenario, and a place of a statement or a metric."""

    column: int
    place: int | None
    line: int | None


class LayoutRow(NamedTuple):
    """One row of the sheet: a line of a statement, or a place of metrics."""

    line: int | None
    place: int | None


class TableCell(Struct, frozen=True):
    """One figure with its line, column and place; the figure is None if it is missing or unavailable."""

    line: ReportLine
    column: ReportColumn
    place: MemberTuple
    figure: Exact | None
    is_unavailable: bool


FigureForm = tuple[int, int, bool]  # how far it stands from the first, what divides it, and whether it is a quotient
FiguresOfRow = tuple[int, Sequence[FigureForm]]  # where the first stands among those of the report, and each form


class Layout(Struct, frozen=True, dict=True):
    """A report as rows and columns."""

    report: ReportData
    down: tuple[LayoutRow, ...]
    across: tuple[LayoutColumn, ...]

    def cell(self, down: LayoutRow, across: LayoutColumn) -> TableCell:
        """Return the cell where a row and a column meet."""
        line, place = meeting(down, across)
        report = self.report
        figure = report.figures[line][across.column][place]
        return TableCell(
            report.lines[line],
            report.columns[across.column],
            report.places[place],
            figure if isinstance(figure, Exact) else None,
            figure is Nothing.UNAVAILABLE,
        )

    def cells(self, down: LayoutRow) -> Iterator[TableCell]:
        """Yield the cells of one row."""
        return (self.cell(down, across) for across in watched(self.across))

    def figures(self) -> Iterator[tuple[LayoutRow, FiguresOfRow]]:
        """Yield each row with its figures."""
        width, lines = self.report.figures.width, self.report.lines
        for down in self.down:
            if down.line is None:
                yield down, (down.place or 0, self._forms_of(None))
            else:
                yield down, (down.line * width, self._forms_of(lines[down.line]))

    def _forms_of(self, line: ReportLine | None) -> Sequence[FigureForm]:
        """Return the forms of the figures of a line, or of those of all columns."""
        key = None if line is None else line.figure_class
        known = self._forms.get(key)
        if known is None:
            report, figures = self.report, self.report.figures
            known = self._forms[key] = []
            for across in watched(self.across):
                of, comparison = line or report.lines[across.line or 0], report.columns[across.column].comparison
                beyond = (across.line or 0) * figures.width + across.column * figures.places + (across.place or 0)
                divisor = 10**report.scale if report.is_scaled(of, comparison) else 1
                known.append((beyond, divisor, report.is_quotient(of, comparison)))
        return known

    def texts(self, line: ReportLine | None) -> Sequence[TextForm]:
        """Return the text forms of the figures of a line, or of those of all columns, as `figures` has them."""
        key = None if line is None else line.figure_class
        known = self._texts.get(key)
        if known is None:
            report = self.report
            known = self._texts[key] = [
                text_form(report, line or report.lines[across.line or 0], report.columns[across.column].comparison)
                for across in watched(self.across)
            ]
        return known

    @cached_property
    def _texts(self) -> dict[tuple[str, bool, bool, str] | None, list[TextForm]]:
        return {}

    @cached_property
    def _forms(self) -> dict[tuple[str, bool, bool, str] | None, list[FigureForm]]:
        return {}


def meeting(down: LayoutRow, across: LayoutColumn) -> tuple[int, int]:
    """Return the line and the place where a row and a column meet."""
    line = down.line if across.line is None else across.line
    place = down.place if across.place is None else across.place
    if line is None or place is None:
        raise IndexError("a row and a column of different layouts")
    return line, place


def layout(report: ReportData, lines: Sequence[int] | None = None, places: Sequence[int] | None = None) -> Layout:
    """Return the layout of a report, or of some of its lines and places."""
    columns = range(len(report.columns))
    lines = range(len(report.lines)) if lines is None else lines
    places = range(len(report.places)) if places is None else places
    if report.statement is not None:
        across = tuple(LayoutColumn(column, place, None) for column in columns for place in watched(places))
        return Layout(report, tuple(LayoutRow(line, None) for line in lines), across)
    across = tuple(LayoutColumn(column, None, line) for line in lines for column in columns)
    return Layout(report, tuple(LayoutRow(None, place) for place in watched(places)), across)
