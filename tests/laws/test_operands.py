"""The law of operands with members or a side of their own: a formula is what the oracle makes of plain figures."""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

from hypothesis import assume, given, reject
from hypothesis import strategies as st

from engine.door import Door
from engine.model.errors import BadArguments, UnknownName
from engine.report.report import Report
from tests.laws.oracle.asking import PlacedFigure, Where, ask, behind, figures_of, is_well_written, place_of
from tests.laws.oracle.books import OracleBooks
from tests.laws.oracle.expressions import LENGTHS, names, text
from tests.laws.oracle.figures import MISSING, OracleLine, line_is_additive, metric_of, plain
from tests.laws.oracle.operands import OwnFormula, own_figure, own_formulas
from tests.laws.oracle.references import OracleSide
from tests.laws.oracle.requests import OF_METRICS, OracleRequest, cells, requests
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import opened
from tests.support.answers.drills import figure_behind
from tests.support.books.inspected import rows_of
from tests.support.checks.depth import SHORT

ALIAS = "x of its own"
LONGEST = 500  # characters of a formula
ASKED = 2 if SHORT else 4  # of each book


@given(data=st.data(), books=random_books())
def test_a_formula_of_operands_with_sides_of_their_own_is_what_the_oracle_says(
    data: st.DataObject, books: OracleBooks
) -> None:
    with opened(books) as door:
        for _ in range(ASKED):
            request = data.draw(requests(books, domains=OF_METRICS))
            formula = data.draw(own_formulas(books, request))
            assume(formula.own)  # other formulas have a law of their own
            written = text(formula.expression)
            assume(len(written) <= LONGEST and not set(names(formula.expression)) <= set(LENGTHS))
            report = asked(door, books, request, written)
            found = {(told.line, told.column, told.place): told for told in figures_of(report) if told.line == ALIAS}
            compare(books, request, formula, found)


def asked(door: Door, books: OracleBooks, request: OracleRequest, formula: str) -> Report:
    """Return the report of a request with a formula; one of members without rows, or of steps that fail, is none."""
    try:
        return ask(door, books, request, formulas={ALIAS: formula})
    except (UnknownName, BadArguments) as refusal:  # BadArguments: of a metric that has no such step
        if refusal.field != f"formulas.{ALIAS}":
            raise
        reject()


def compare(
    books: OracleBooks, request: OracleRequest, formula: OwnFormula, found: Mapping[Where, PlacedFigure]
) -> None:
    """Hold the figures of a formula against the oracle; places that the report does not show must have none.

    Members without rows are not shown, though operands with members of their own would have a figure there.
    """
    for cell, column in product(cells(books, request), request.columns):
        expected, where = own_figure(books, formula, column, cell), (ALIAS, column.text, place_of(request, cell))
        if where in found:
            assert found[where].figure == expected, (request, text(formula.expression), column.text, cell)
            assert is_well_written(found[where].digits, expected, divided=True)
        elif not any(told.repeats for told in found.values()) and not any(own.cuts for own in formula.own.values()):
            assert not isinstance(expected, Fraction), (request, text(formula.expression), cell)


@given(data=st.data(), books=random_books())
def test_the_rows_behind_operands_with_sides_of_their_own_make_them(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        request = data.draw(requests(books, domains=OF_METRICS))
        (column, *_) = request.columns
        if not isinstance(column, OracleSide):
            reject()
        request = OracleRequest(
            metrics=request.metrics,
            columns=(column,),
            asked=request.asked,
            filters=request.filters,
            dimensions=(),
        )
        formula = data.draw(own_formulas(books, request))
        assume(formula.own)
        used = set(names(formula.expression)) - set(LENGTHS)
        read = {(own.key, own.under(column)) if (own := formula.own.get(key)) else (key, column) for key in used}
        assume(len(read) == len(used))  # rows are told apart by what they are of
        report = asked(door, books, request, text(formula.expression))
        (cell,) = cells(books, request)
        scope = formula.scope(column, frozenset())
        for known in (each for each in behind(report) if each.where[0] == ALIAS):
            made: dict[tuple[str, str], list[Fraction | None]] = defaultdict(list)
            for _, metric, call in known.calls:
                read = call["filters"].get("scenario", call["scenario_id"])
                amount = figure_behind(call, lambda given: rows_of(door, **given))
                made[metric, read].append(None if amount is None else Fraction(amount))
            for key in used:
                own = formula.own.get(key)
                side, metric = (own.under(column), own.key) if own else (column, key)
                amounts, line = made[metric, side.text], OracleLine(metric_of(books, metric))
                if len(amounts) > 1 and not line_is_additive(books, line.metric):
                    continue  # means, extremes and counts of members of two scenarios do not add up
                expected = plain(books, line, side, own.within(cell) if own else cell, scope)
                total = sum((amount for amount in amounts if amount is not None), Fraction(0))
                assert (expected is MISSING) is all(amount is None for amount in amounts), (known, key)
                wanted = expected if isinstance(expected, Fraction) else Fraction(0)
                assert abs(total - wanted) <= abs(wanted) / 10**14, (known, key)
