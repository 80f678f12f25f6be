"""The laws of figures: what the engine says of random small books is what an oracle of plain fractions says.

The oracle (tests/laws/oracle) reads the rows one by one by the words of the rules; nothing of the engine decides what
a figure is.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from itertools import product, takewhile

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.door import Door
from engine.model.exact import Exact
from engine.report.data import ReportLine
from engine.report.report import Report
from tests.laws.oracle.asking import (
    Behind,
    PlacedFigure,
    Where,
    ask,
    behind,
    figures_of,
    is_well_written,
    place_of,
    told,
)
from tests.laws.oracle.books import AXIS, OracleBooks
from tests.laws.oracle.calendar import GRAINS, MONTH, QUARTER, YEAR, Range, period_of
from tests.laws.oracle.expressions import PERIODS_HELD
from tests.laws.oracle.figures import (
    MISSING,
    UNAVAILABLE,
    Figure,
    bases_of,
    divided,
    figure,
    line_is_additive,
    plain,
    uses_length,
)
from tests.laws.oracle.references import OracleCell, OracleSide, OracleVariance, Part, Reference
from tests.laws.oracle.requests import BREAKDOWNS, PARTS, OracleRequest, cells, line_of, narrowed, ranges, requests
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import STATEMENT, opened
from tests.support.answers.drills import figure_behind
from tests.support.books.inspected import rows_of
from tests.support.books.loads import ROOT
from tests.support.checks.depth import SHORT

FILTERABLE = tuple(keys for keys in BREAKDOWNS if keys and AXIS not in keys)


def by_cell(report: Report) -> dict[Where, PlacedFigure]:
    """Return the figures of a report by line, column and place."""
    return {(found.line, found.column, found.place): found for found in figures_of(report)}


REQUESTS = (2, 3) if SHORT else (4, 6)  # of each book
ACTUAL = OracleSide((Part("actual"),))
TERMS = tuple(OracleSide((part,)) for part in PARTS)  # columns of one scenario or variant
UNTIMED = tuple(keys for keys in BREAKDOWNS if not {"period", *GRAINS}.intersection(keys))
DRILLED = 5 if SHORT else 10  # cells of each report


@given(data=st.data(), books=random_books())
def test_every_cell_and_every_total_is_what_the_oracle_says(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for request in data.draw(st.lists(requests(books), min_size=REQUESTS[0], max_size=REQUESTS[1])):
            compare(books, request, by_cell(ask(door, books, request)))


def compare(books: OracleBooks, request: OracleRequest, found: Mapping[Where, PlacedFigure]) -> None:
    """Hold every figure of a report against the oracle; places that it does not show must have none."""
    lines = list(dict.fromkeys(line for line, _, _ in found))
    shown = {place for _, _, place in found}
    repeating = {told.line for told in found.values() if told.repeats}
    expected_places = set()
    for cell in cells(books, request):
        place = place_of(request, cell)
        expected_places.add(place)
        for key, column in product(lines, request.columns):
            line = line_of(books, key)
            expected = figure(books, line, column, cell)
            if place in shown:
                told = found[key, column.text, place]
                assert told.figure == expected, (request, key, column.text, place)
                by_division = divided(books, line.metric) or (isinstance(column, OracleVariance) and column.relative)
                by_division = by_division or "@avg" in column.text
                assert is_well_written(told.digits, expected, divided=by_division), (request, key, column.text, place)
            elif key not in repeating:
                assert not isinstance(expected, Fraction), (request, key, column.text, place)
    assert shown <= expected_places, request


@settings(max_examples=max(2, settings().max_examples // 3))
@given(data=st.data(), books=random_books())
def test_rows_without_a_date_have_the_figures_of_a_month_that_holds_them_alone(
    data: st.DataObject, books: OracleBooks
) -> None:
    day = date(2020, 6, 15)
    rows = tuple(replace(row, day=day) for row in books.rows if row.day is None)
    month, alone = period_of(day, MONTH, books.fiscal), replace(books, rows=rows)
    with opened(books) as door:
        for _ in range(REQUESTS[0]):
            drawn = data.draw(requests(books, breakdowns=UNTIMED))
            columns = data.draw(st.lists(st.sampled_from(TERMS), min_size=1, unique_by=lambda side: side.text))
            request = replace(drawn, asked=Range(month, month), columns=tuple(columns))
            found = by_cell(ask(door, books, request, undated=True))
            repeating = {told.line for told in found.values() if told.repeats}
            lines = [(key, line_of(books, key)) for key in dict.fromkeys(line for line, _, _ in found)]
            for (key, line), column, cell in product(lines, columns, cells(alone, request)):
                if uses_length(alone, line.metric):
                    continue  # these rows lie in no period
                is_flow = all(base.over_time.rule == "sum" for base in bases_of(books, line.metric))
                expected = figure(alone, line, column, cell) if is_flow else UNAVAILABLE
                told = found.get((key, column.text, place_of(request, cell)))
                if told is not None:
                    assert told.figure == expected, (request, key, column.text, cell)
                elif key not in repeating:
                    assert not isinstance(expected, Fraction), (request, key, column.text, cell)


@given(data=st.data(), books=random_books())
def test_a_range_of_quarters_or_years_is_that_of_its_months(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for _ in range(REQUESTS[0]):
            asked = data.draw(ranges(books, data.draw(st.sampled_from((QUARTER, YEAR)))))
            drawn = data.draw(requests(books, breakdowns=((), ("tree",), ("region",))))
            # these are of the grain that is asked for
            of_grain = ("@pp", "@last", "@pm", "@pq", "@pw", "@mtd", "@avg")
            columns = tuple(column for column in drawn.columns if not any(step in column.text for step in of_grain))
            columns = columns or (ACTUAL,)
            grains = dict.fromkeys((asked.grain, QUARTER, MONTH))
            first, *others = (
                {
                    where: told
                    for where, told in by_cell(
                        ask(door, books, replace(drawn, asked=at_grain(asked, grain, books), columns=columns))
                    ).items()
                    if not counts_periods(books, where[0])
                }
                for grain in grains
            )
            assert all(other == first for other in others), (drawn, asked)


def counts_periods(books: OracleBooks, line: str) -> bool:
    """Tell whether a line depends on the grain of the range."""
    return uses_length(books, line_of(books, line).metric, (PERIODS_HELD,))


def at_grain(asked: Range, grain: str, books: OracleBooks) -> Range:
    """Return the same days as a range of another grain."""
    first, last = asked.days.first, asked.days.last
    return Range(period_of(first, grain, books.fiscal), period_of(last, grain, books.fiscal))


@given(data=st.data(), books=random_books())
def test_a_breakdown_is_the_queries_by_its_members_and_periods(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for _ in range(3):
            drawn = data.draw(requests(books, breakdowns=FILTERABLE))
            kept = {key: ids for key, ids in drawn.filters.items() if key not in drawn.dimensions}
            request = replace(drawn, filters=kept)
            found = by_cell(ask(door, books, request))
            for place in sorted({place for _, _, place in found if place is not None})[:6]:
                within = narrowed(books, request, dict(place))
                alone = by_cell(ask(door, books, within))
                alike = within.asked.grain == request.asked.grain  # else a side may count as 0 in one of them alone
                for (line, column, at), told in found.items():
                    compared = at == place and (alike or not (column.startswith("var") or counts_periods(books, line)))
                    if compared and not told.repeats and told.figure is not UNAVAILABLE:
                        other = alone.get((line, column, None))  # own postings of a node: no line where there are none
                        assert told.figure == (other.figure if other else MISSING), (request, line, column, place)


@given(data=st.data(), books=random_books())
def test_a_rollup_foots_at_every_depth(data: st.DataObject, books: OracleBooks) -> None:
    edges = books.trees["tree"]
    single = tuple({edge.node: edge for edge in edges}.values())  # a leaf below one node twice counts once
    books = replace(books, trees={**books.trees, "tree": single})
    with opened(books) as door:
        for _ in range(REQUESTS[0]):
            drawn = data.draw(requests(books, breakdowns=((), ("region",), ("period",))))
            columns = tuple(column for column in drawn.columns if isinstance(column, OracleSide)) or (ACTUAL,)
            report = ask(door, books, replace(drawn, metrics=(), columns=columns))
            found = by_cell(report)
            for parent, children in rolled_up(report):
                for column, place in {(column, place) for _, column, place in found}:
                    parts = [(found[line.key, column, place].figure, line.into_parent) for line in children]
                    total = found[parent.key, column, place].figure
                    if total is not UNAVAILABLE:
                        assert amount(total) == sum(amount(part) * fraction(weight) for part, weight in parts)


def rolled_up(report: Report) -> Iterator[tuple[ReportLine, list[ReportLine]]]:
    """Yield every line of a rollup that has lines below it, with those one level below."""
    lines = [line for line in report.lines if line.kind in ("node", "own", "memo")]
    for at, parent in enumerate(lines):
        below = list(takewhile(partial(is_below, parent), lines[at + 1 :]))
        if below:
            yield parent, [line for line in below if line.level == parent.level + 1]


def is_below(parent: ReportLine, line: ReportLine) -> bool:
    """Tell whether a line is indented more than another."""
    return line.level > parent.level


def amount(figure: Figure) -> Fraction:
    """Return a figure with nothing as 0."""
    return figure if isinstance(figure, Fraction) else Fraction(0)


def fraction(weight: Exact | None) -> Fraction:
    """Return the weight of a line in the one above."""
    assert weight is not None
    return Fraction(weight.numerator, weight.denominator)


@given(data=st.data(), books=random_books())
def test_the_rows_behind_a_cell_make_it(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for _ in range(2):
            request = data.draw(requests(books))
            by_place = {place_of(request, cell): cell for cell in cells(books, request)}
            columns = {column.text: column for column in request.columns}
            known = [cell for cell in behind(ask(door, books, request)) if cell.figure is not UNAVAILABLE]
            for cell in data.draw(st.randoms()).sample(known, min(len(known), DRILLED)):
                drill(books, door, cell, columns[cell.where[1]], by_place[cell.where[2]])


def drill(books: OracleBooks, door: Door, known: Behind, reference: Reference, cell: OracleCell) -> None:
    """Hold the rows behind a cell, side by side and operand by operand, against the oracle's figures."""
    sides = reference.sides if isinstance(reference, OracleVariance) else ((reference, frozenset()),)
    for sign, (side, scope) in zip("+-", sides, strict=False):
        for operand in {name for _, name, _ in known.calls}:
            line = line_of(books, operand.removeprefix(f"{STATEMENT}."))
            asked = [call for at, name, call in known.calls if (at, name) == (sign, operand)]
            if len(asked) > 1 and not line_is_additive(books, line.metric):
                continue  # means, extremes and counts of members of two scenarios do not add up
            found = [figure_behind(call, lambda call: rows_of(door, **call)) for call in asked]
            expected = plain(books, line, side, cell, scope)
            made = sum((Fraction(figure) for figure in found if figure is not None), Fraction(0))
            assert (expected is MISSING) is all(figure is None for figure in found), (known, operand, expected)
            assert abs(made - amount(expected)) <= abs(amount(expected)) / 10**14, (known, operand, expected)


@given(data=st.data(), books=random_books())
def test_the_order_of_rows_files_and_filters_changes_nothing(data: st.DataObject, books: OracleBooks) -> None:
    shuffled = replace(books, rows=tuple(data.draw(st.randoms()).sample(books.rows, len(books.rows))))
    with opened(books) as door, opened(shuffled, parts=data.draw(st.sampled_from((1, 2, 3)))) as other:
        for request in data.draw(st.lists(requests(books), min_size=REQUESTS[0], max_size=REQUESTS[1])):
            report, again = ask(door, books, request), ask(other, shuffled, request)
            assert told(again) == told(report), request
            turned = replace(request, filters=dict(reversed(list(request.filters.items()))))
            assert by_cell(ask(other, shuffled, turned)) == by_cell(report), request


BOOKS = min(settings().max_examples, 8)  # each in three interpreters


def test_threads_and_engine_change_nothing() -> None:
    surroundings: tuple[dict[str, str], ...] = (
        {"POLARS_MAX_THREADS": "4"},
        {"POLARS_MAX_THREADS": "1"},
        {"POLARS_MAX_THREADS": "4", "POLARS_ENGINE_AFFINITY": "streaming"},
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.laws.oracle.replay", "1", str(BOOKS)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, **more},
            text=True,
        )
        for more in surroundings
    ]
    first, *others = (process.communicate()[0] for process in running)
    assert [process.returncode for process in running] == [0] * len(surroundings)
    assert first.count("\n") > 3 * BOOKS
    assert all(other == first for other in others)
