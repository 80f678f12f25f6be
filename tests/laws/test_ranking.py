"""The law of rankings: members stand by the oracle's figures, and the oracle computes what the others come to.

`(others)` is what the oracle says of the same request without the first dimension, with the members shown left out.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door
from engine.model.errors import BadArguments
from engine.report.data import OTHERS
from tests.laws.oracle.asking import Place, ask, behind, figures_of
from tests.laws.oracle.books import GL, LEAF_OF, TREES, OracleBooks, OracleFormula
from tests.laws.oracle.expressions import text
from tests.laws.oracle.figures import UNAVAILABLE, Figure, figure
from tests.laws.oracle.formulas import MADE, MONEY, NUMBER, PRICE, RATIO, kinds_of, part
from tests.laws.oracle.members import joined, shown, weights
from tests.laws.oracle.references import OracleCell, Reference
from tests.laws.oracle.requests import BREAKDOWNS, OF_METRICS, OracleRequest, line_of, requests, time_columns
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import opened
from tests.laws.test_figures import by_cell, compare, drill

RANKABLE = tuple(keys for keys in BREAKDOWNS if keys and keys[0] in LEAF_OF)
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
            members = dict.fromkeys(
                dict(told.place)[first] for told in figures_of(ask(door, books, request)) if told.place
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
