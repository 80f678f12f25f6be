"""Requests asked of the engine, and its reports as plain values that the oracle can be held against."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import product
from typing import Any

from engine.door import Door
from engine.model.exact import Exact
from engine.model.formulas import Nothing as EngineNothing
from engine.report.data import ReportData, filter_json
from engine.report.report import Report
from tests.laws.oracle.books import OracleBooks
from tests.laws.oracle.figures import MISSING, UNAVAILABLE, Figure
from tests.laws.oracle.references import OracleCell
from tests.laws.oracle.requests import OracleRequest
from tests.laws.oracle.writing import STATEMENT
from tests.support.answers.drills import Json, calls
from tests.support.answers.reader import answer

Place = tuple[tuple[str, str], ...] | None  # dimensions and members; none: the total
Where = tuple[str, str, Place]  # line, column, place
UNCUT = 10_000_000
QUOTIENT = Context(prec=15, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True)
class PlacedFigure:
    """A figure of a report, and where it stands."""

    line: str
    column: str
    place: Place
    figure: Figure
    digits: str | None
    repeats: bool


def ask(door: Door, books: OracleBooks, request: OracleRequest, *, undated: bool = False, **ranking: Any) -> Report:
    """Ask a request, perhaps of the rows without a date, perhaps with a ranking of its members."""
    scenarios = {column.text: column.text for column in request.columns}
    period = "(undated)" if undated else (request.asked.start.code(books.fiscal), request.asked.end.code(books.fiscal))
    if request.metrics:
        return door.metric(
            *request.metrics,
            scenarios=scenarios,
            period=period,
            filters=request.as_filters,
            dimensions=request.dimensions,
            subtotals=request.subtotals,
            **ranking,
        )
    return door.statement(
        STATEMENT,
        scenarios=scenarios,
        period=period,
        filters=request.as_filters,
        dimensions=request.dimensions,
        subtotals=request.subtotals,
    )


def told(report: Report) -> dict[str, Any]:
    """Return the whole result object."""
    return answer(report, UNCUT)


def places_of(report: ReportData) -> list[Place]:
    """Return the places of a report."""
    return [
        None if place.is_total else tuple(sorted((member.dimension, member.id) for member in place.members))
        for place in report.places
    ]


def figures_of(report: ReportData) -> Iterator[PlacedFigure]:
    """Yield every figure of a report."""
    places = places_of(report)
    for at, line in enumerate(report.lines):
        for column, by_place in zip(report.columns, report.figures[at], strict=True):
            quotient = report.is_quotient(line, column.comparison)
            for place, found in zip(places, by_place, strict=True):
                digits = found.digits(quotient=quotient) if isinstance(found, Exact) else None
                if line.type is not None:
                    yield PlacedFigure(line.key, column.heading, place, exactly(found), digits, bool(line.repeats_over))


@dataclass(frozen=True, slots=True)
class Behind:
    """A cell, and what a model would ask to see the rows behind it: sign of the side, operand, call."""

    where: Where
    figure: Figure
    calls: tuple[tuple[str, str, Json], ...]


def behind(report: Report) -> Iterator[Behind]:
    """Yield the cells of a report that rows can be shown of."""
    result = answer(report, UNCUT)
    figures = {(known.line, known.column, known.place): known.figure for known in figures_of(report)}
    lines = [line.key for line in report.lines]
    headings = [column.heading for column in report.columns]
    places = places_of(report)
    if report.statement is None:
        sheet = [[(line, heading, place) for line, heading in product(lines, headings)] for place in places]
    else:
        sheet = [[(line, heading, place) for heading, place in product(headings, places)] for line in lines]
    for row, across in zip(result["rows"], sheet, strict=True):
        for column, where in zip(result["columns"], across, strict=True):
            parts = tuple(with_long_filters(found, report) for found in calls(row, column))
            if where in figures and parts:
                yield Behind(where, figures[where], parts)


def with_long_filters(found: tuple[str, str, dict[str, Any]], report: Report) -> tuple[str, str, dict[str, Any]]:
    """Return a call with the filters that its template names without their members, as a caller adds them."""
    sign, operand, call = found
    for key in call.pop("add_filters_of_this_call", ()):
        call["filters"].setdefault(key, filter_json(report.filters[key]))
    return sign, operand, call


def exactly(found: Exact | EngineNothing) -> Figure:
    """Return a figure of the engine as the oracle writes it."""
    if isinstance(found, Exact):
        return Fraction(found.numerator, found.denominator)
    return UNAVAILABLE if found is EngineNothing.UNAVAILABLE else MISSING


def place_of(request: OracleRequest, cell: OracleCell) -> Place:
    """Return where a cell stands in a report."""
    if cell.place is None:
        return None
    times = [key for key in request.dimensions if key not in cell.breakdown]
    return tuple(sorted([*cell.place.items(), *zip(times, cell.codes, strict=False)]))


def is_well_written(digits: str | None, figure: Figure, *, divided: bool) -> bool:
    """Tell whether digits are a figure's: all of them, or 15 of what was divided."""
    if isinstance(figure, Fraction) != (digits is not None) or digits is None:
        return digits is None
    if not isinstance(figure, Fraction) or Fraction(digits) == figure:
        return not digits.startswith("-0") or digits.startswith("-0.")
    return divided and Decimal(digits) == QUOTIENT.divide(Decimal(figure.numerator), Decimal(figure.denominator))
