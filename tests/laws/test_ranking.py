"""The law of rankings: members stand by the oracle's figures, and the oracle computes what the others come to.

`(others)` is what the oracle says of the same request without the first dimension, with the members shown left out. Of
periods it is what the oracle says of the days of the others where these are one run of days.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.requests import Condition
from engine.report.data import OTHERS
from engine.report.report import Report
from tests.laws.oracle.asking import Place, ask, behind, figures_of
from tests.laws.oracle.books import GL, LEAF_OF, TREES, OracleBooks, OracleFormula
from tests.laws.oracle.calendar import Range
from tests.laws.oracle.expressions import text
from tests.laws.oracle.figures import UNAVAILABLE, Figure, bases_of, figure
from tests.laws.oracle.formulas import MADE, MONEY, NUMBER, PRICE, RATIO, kinds_of, part
from tests.laws.oracle.members import joined, shown, weights
from tests.laws.oracle.references import OracleCell, OracleVariance, Reference
from tests.laws.oracle.requests import BREAKDOWNS, OF_METRICS, OracleRequest, line_of, requests, time_columns
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import opened
from tests.laws.test_figures import by_cell, compare, drill

RANKABLE = tuple(keys for keys in BREAKDOWNS if keys and keys[0] in LEAF_OF)
OF_PERIODS = tuple(keys for keys in BREAKDOWNS if keys and keys[0] not in LEAF_OF and {*keys[1:]} <= {*LEAF_OF})
DRILLED = 3  # cells of the others of each report


@given(data=st.data(), books=random_books())
def test_a_ranking_is_by_the_oracles_figures_and_its_others_are_what_it_says(
    data: st.DataObject, books: OracleBooks
) -> None:
    with opened(books) as door:
        for _ in range(3):
            request = replace(data.draw(requests(books, RANKABLE, OF_METRICS)), subtotals=False)
            metric, column = data.draw(st.sampled_from(request.metrics)), data.draw(st.sampled_from(request.columns))
            asc, top = data.draw(st.booleans()), data.draw(st.integers(1, 3))
            first = request.dimensions[0]
            shown = members_of(ask(door, books, request), first)
            ranked = members_of(ask(door, books, request, order_by=f"{metric}@{column.text}"), first)
            named = [member for member in shown if member not in ranked]  # by a filter, without rows
            members = [member for member in shown if member in ranked]
            assert not any(
                isinstance(of_member(books, request, key, known, member), Fraction)
                for key, known, member in product(request.metrics, request.columns, named)
            )
            figures = {member: of_member(books, request, metric, column, member) for member in members}
            ordered = in_order(figures, asc=asc)
            ranking: dict[str, Any] = {"order_by": f"{metric}@{column.text}", "asc": asc, "top": top}
            if len(ordered) > top and shares(books, request):
                refused(door, books, request, ranking)
                continue
            report = ask(door, books, request, **ranking)
            of_places = [place.members[0].id for place in report.places[:-1]]
            expected = [*ordered[:top], *([OTHERS] if len(ordered) > top else [])]
            assert list(dict.fromkeys(of_places)) == expected, (request, ranking)
            held = {place.holds for place in report.places if place.members and place.members[0].id == OTHERS}
            assert held <= {len(ordered) - top}, (request, ranking)
            cells = others_cells(books, request, ordered[:top])
            for told in figures_of(report):
                if told.place and dict(told.place)[first] == OTHERS:
                    reference = next(known for known in request.columns if known.text == told.column)
                    found = of_others(books, request, told.line, reference, cells[told.place])
                    assert told.figure == found, (request, ranking, told)
            known = [
                cell
                for cell in behind(report)
                if cell.figure is not UNAVAILABLE and cell.where[2] and dict(cell.where[2])[first] == OTHERS
            ]
            for cell in data.draw(st.randoms()).sample(known, min(len(known), DRILLED)):
                reference = next(column for column in request.columns if column.text == cell.where[1])
                drill(books, door, cell, reference, cells[cell.where[2]])


@given(data=st.data(), books=random_books())
def test_the_others_of_periods_are_what_the_oracle_says_of_their_days(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for _ in range(3):
            request = replace(data.draw(requests(books, OF_PERIODS, OF_METRICS)), subtotals=False)
            metric, column = data.draw(st.sampled_from(request.metrics)), data.draw(st.sampled_from(request.columns))
            days = {codes[0]: span for codes, span in time_columns(books, request) if span}
            figures = {code: of_days(books, request, metric, column, span) for code, span in days.items()}
            bound = data.draw(st.sampled_from([Fraction(0), *bounds_of(figures.values())]))
            top = data.draw(st.integers(1, 3))
            ordered = in_order(figures, asc=False)
            meeting = [code for code in ordered if isinstance(each := figures[code], Fraction) and each >= bound]
            name = f"{metric}@{column.text}"
            report = ask(
                door,
                books,
                request,
                order_by=name,
                top=top,
                having=(Condition(column=name, min=float(bound)),),
            )
            others = [code for code in days if code not in meeting[:top]]
            if len(report.places) == 1:
                continue  # no member of the other dimensions has a row
            codes = list(dict.fromkeys(place.members[0].id for place in report.places[:-1]))
            assert codes == [*meeting[:top], *([OTHERS] if others else [])], (request, name, bound)
            row = next((place for place in report.places if place.members and place.members[0].id == OTHERS), None)
            if row is None:
                continue
            assert (row.holds, row.unmet) == (len(others), len(days) - len(meeting)), (request, name, bound)
            positions = [list(days).index(code) for code in others]
            run = Range(days[others[0]].start, days[others[-1]].end)
            cells = others_in_time(books, request, run)
            for told in figures_of(report):
                if not told.place or OTHERS not in dict(told.place).values():
                    continue
                reference = next(known for known in request.columns if known.text == told.column)
                if told.place not in cells or not adds_over_time(books, told.line, reference):
                    assert not isinstance(told.figure, Fraction), (request, told)  # no member has a row in the others
                elif positions == list(range(positions[0], positions[-1] + 1)):
                    expected = figure(books, line_of(books, told.line), reference, cells[told.place])
                    assert told.figure == expected, (request, name, bound, told)


@given(data=st.data(), books=random_books())
def test_a_formula_of_a_request_is_what_the_oracle_makes_of_its_operands(
    data: st.DataObject, books: OracleBooks
) -> None:
    with opened(books) as door:
        known = {
            **{key: kind for key, kind in kinds_of(books.bases).items() if kind[1] == GL},
            **{key: kind for key, kind in MADE.items() if kind[1] == GL},
        }
        for _ in range(3):
            drawn = data.draw(requests(books, domains=(GL,)))
            kind = data.draw(st.sampled_from((MONEY, NUMBER, PRICE, RATIO)))
            made = OracleFormula(key="made", domain=GL, expression=data.draw(part(kind, GL, known, 2)))
            report = ask(door, books, drawn, formulas={"made": text(made.expression)})
            compare(replace(books, formulas={**books.formulas, "made": made}), drawn, by_cell(report))


def refused(door: Door, books: OracleBooks, request: OracleRequest, ranking: Mapping[str, Any]) -> None:
    """Hold a ranking of members that share leaves to its refusal."""
    with pytest.raises(BadArguments) as refusal:
        ask(door, books, request, **ranking)
    assert refusal.value.as_data()["field"] == "top"


def members_of(report: Report, dimension: str) -> Sequence[str]:
    """Return the members of a dimension that a report shows."""
    return list(dict.fromkeys(dict(told.place)[dimension] for told in figures_of(report) if told.place))


def of_member(books: OracleBooks, request: OracleRequest, metric: str, column: Reference, member: str) -> Figure:
    """Return the figure that ranks a member of the first dimension."""
    first = request.dimensions[0]
    cell = OracleCell(
        asked=request.asked,
        filters=request.filters,
        excluded=request.excluded,
        breakdown=(first,),
        place={first: member},
    )
    return figure(books, line_of(books, metric), column, cell)


def of_days(books: OracleBooks, request: OracleRequest, metric: str, column: Reference, days: Range) -> Figure:
    """Return the figure that ranks a period: that of all members."""
    cell = OracleCell(
        asked=request.asked,
        filters=request.filters,
        excluded=request.excluded,
        breakdown=request.by_member,
        place={},
        time=request.time,
        column=days,
        grains=request.times,
    )
    return figure(books, line_of(books, metric), column, cell)


def bounds_of(found: Iterable[Figure]) -> Iterator[Fraction]:
    """Yield the figures that are doubles, so that a condition can name them."""
    for each in found:
        if isinstance(each, Fraction) and Fraction(repr(float(each))) == each:
            yield each


def adds_over_time(books: OracleBooks, line: str, column: Reference) -> bool:
    """Tell whether a line is made of sums over time, in a column that reads the days of each period alone."""
    sides = [side for side, _ in column.sides] if isinstance(column, OracleVariance) else [column]
    bases = bases_of(books, line_of(books, line).metric)
    return not any(side.step for side in sides) and all(base.over_time.rule == "sum" for base in bases)


def others_in_time(books: OracleBooks, request: OracleRequest, days: Range) -> dict[Place, OracleCell]:
    """Return the cell of some days together by where it stands in the report."""
    first, *rest = request.dimensions
    members = [shown(books, key, request.filters.get(key, ())) for key in rest]
    found: dict[Place, OracleCell] = {}
    for combination in product(*members):
        place = dict(zip(rest, combination, strict=True))
        cell = OracleCell(
            asked=request.asked,
            filters=request.filters,
            excluded=request.excluded,
            breakdown=tuple(rest),
            place=place,
            time=request.time,
            column=days,
            grains=request.times,
        )
        found[tuple(sorted({first: OTHERS, **place}.items()))] = cell
    return found


def in_order(figures: Mapping[str, Figure], *, asc: bool) -> list[str]:
    """Return members by their figures: equal ones by id, those without one last."""
    sign = 1 if asc else -1

    def key(member: str) -> tuple[bool, Fraction, str]:
        found = figures[member]
        return (False, sign * found, member) if isinstance(found, Fraction) else (True, Fraction(0), member)

    return sorted(figures, key=key)


def shares(books: OracleBooks, request: OracleRequest) -> bool:
    """Tell whether two members of the first dimension have a leaf in common that the filters keep."""
    first = request.dimensions[0]
    if first not in TREES:
        return False
    kept = set(joined(books, first, request.filters[first])) if first in request.filters else None
    without = {leaf for member in request.excluded.get(first, ()) for leaf in weights(books, first, member)}
    seen: set[str] = set()
    for member in shown(books, first, request.filters.get(first, ())):
        leaves = {leaf for leaf in weights(books, first, member) if kept is None or leaf in kept} - without
        if seen & leaves:
            return True
        seen |= leaves
    return False


def others_cells(books: OracleBooks, request: OracleRequest, top: list[str]) -> dict[Place, OracleCell]:
    """Return the cell of the others by where it stands in the report."""
    first, *rest = request.by_member
    left = {**request.excluded, first: (*request.excluded.get(first, ()), *top)}
    members = [shown(books, key, request.filters.get(key, ())) for key in rest]
    times = [key for key in request.dimensions if key not in request.by_member]
    found: dict[Place, OracleCell] = {}
    for combination, (codes, column) in product(product(*members), list(time_columns(books, request))):
        place = dict(zip(rest, combination, strict=True))
        cell = OracleCell(
            asked=request.asked,
            filters=request.filters,
            excluded=left,
            breakdown=tuple(rest),
            place=place if rest or column else None,
            time=request.time,
            column=column,
            codes=codes,
            grains=request.times,
        )
        found[tuple(sorted({first: OTHERS, **place, **dict(zip(times, codes, strict=True))}.items()))] = cell
    return found


def of_others(books: OracleBooks, request: OracleRequest, key: str, column: Reference, cell: OracleCell) -> Figure:
    """Return the figure of the others; what cannot be told of any member cannot be told of them."""
    line, first = line_of(books, key), request.dimensions[0]
    whole = replace(cell, excluded=request.excluded, breakdown=(first, *cell.breakdown))
    member = shown(books, first, request.filters.get(first, ()))[0]
    anyone = replace(whole, place={**(cell.place or {}), first: member})
    if figure(books, line, column, anyone) is UNAVAILABLE:
        return UNAVAILABLE
    return figure(books, line, column, cell)
