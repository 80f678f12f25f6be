"""The law of blanks: each null of each answer is covered by exactly one note of the list, and that note is true.

The oracle says why a figure is blank. A note covers the nulls where the lines, scenarios and members that it names
meet; `no_rows` without operands covers every null that no other one of the list covers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.notes import Note
from engine.report.data import OTHERS, MemberTuple
from engine.report.report import Report
from tests.laws.oracle.asking import Place, ask, behind, figures_of, place_of, places_of
from tests.laws.oracle.blanks import CAUSES, cause_of
from tests.laws.oracle.books import GL, OracleBooks, OracleFormula
from tests.laws.oracle.expressions import text
from tests.laws.oracle.figures import MISSING, UNAVAILABLE, OracleLine, bases_of, figure
from tests.laws.oracle.formulas import MADE, MONEY, NUMBER, PRICE, RATIO, kinds_of, part
from tests.laws.oracle.members import shown
from tests.laws.oracle.reading import books_of
from tests.laws.oracle.references import OracleCell, OracleSide, Reference, window_of
from tests.laws.oracle.requests import OF_METRICS, OracleRequest, cells, line_of, requests
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import opened
from tests.laws.test_ranking import RANKABLE, others_cells
from tests.support.books.inspected import rows_of
from tests.support.checks.depth import SHORT

REQUESTS = (2, 3) if SHORT else (4, 6)  # of each book


@given(data=st.data(), books=random_books())
def test_each_null_is_covered_by_one_true_note(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for request in data.draw(st.lists(requests(books), min_size=REQUESTS[0], max_size=REQUESTS[1])):
            by_place = {place_of(request, cell): cell for cell in cells(books, request)}
            hold(books, request, ask(door, books, request), by_place)


@given(data=st.data(), books=random_books())
def test_each_null_of_a_formula_of_a_request_is_covered_by_one_true_note(
    data: st.DataObject, books: OracleBooks
) -> None:
    with opened(books) as door:
        known = {
            **{key: kind for key, kind in kinds_of(books.bases).items() if kind[1] == GL},
            **{key: kind for key, kind in MADE.items() if kind[1] == GL},
        }
        for _ in range(REQUESTS[0]):
            request = data.draw(requests(books, domains=(GL,)))
            kind = data.draw(st.sampled_from((MONEY, NUMBER, PRICE, RATIO)))
            made = OracleFormula(key="made", domain=GL, expression=data.draw(part(kind, GL, known, 2)))
            report = ask(door, books, request, formulas={"made": text(made.expression)})
            by_place = {place_of(request, cell): cell for cell in cells(books, request)}
            hold(replace(books, formulas={**books.formulas, "made": made}), request, report, by_place)


@given(data=st.data(), books=random_books())
def test_each_null_of_a_ranking_is_covered_by_one_true_note(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for _ in range(REQUESTS[0]):
            request = replace(data.draw(requests(books, RANKABLE, OF_METRICS)), subtotals=False)
            order = f"{data.draw(st.sampled_from(request.metrics))}@{data.draw(st.sampled_from(request.columns)).text}"
            report = ranked(door, books, request, order, data.draw(st.integers(1, 3)))
            if report is not None:
                top = list(dict.fromkeys(place.members[0].id for place in report.places[:-1]))
                others = others_cells(books, request, [member for member in top if member != OTHERS])
                by_place = {place_of(request, cell): cell for cell in cells(books, request)}
                hold(books, request, report, {**others, **by_place})


@given(data=st.data(), books=random_books())
def test_rows_that_make_no_figure_say_the_cause_of_its_blank(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for request in data.draw(st.lists(requests(books), min_size=REQUESTS[0], max_size=REQUESTS[1])):
            if request.times:
                continue  # a call asks for the period of its column, in the grain of that
            columns = {column.text: column for column in request.columns}
            by_place = {place_of(request, cell): cell for cell in cells(books, request)}
            for known in behind(ask(door, books, request)):
                line, column = line_of(books, known.where[0]), columns[known.where[1]]
                blank = known.figure is MISSING and isinstance(column, OracleSide) and len(column.parts) == 1
                if blank and len(known.calls) == 1 and known.calls[0][1].endswith(known.where[0]):
                    codes = [note["code"] for note in rows_of(door, **known.calls[0][2])["notes"]]
                    cause = cause_of(books, line, column, by_place[known.where[2]])
                    assert [code for code in codes if code in CAUSES] == [cause], (request, known)


def ranked(door: Door, books: OracleBooks, request: OracleRequest, order: str, top: int) -> Report | None:
    """Return a ranking, None where members share leaves."""
    try:
        return ask(door, books, request, order_by=order, top=top)
    except BadArguments:
        return None


def hold(books: OracleBooks, request: OracleRequest, report: Report, by_place: Mapping[Place, OracleCell]) -> None:
    """Hold the notes of a report against the causes that the oracle finds of its nulls."""
    columns = {column.text: column for column in request.columns}
    of_figures = [note for note in report.notes if note.code == "open_period" and "operands" in dict(note.about)]
    listed = [note for note in report.notes if note.code in CAUSES and note not in of_figures]
    places = dict(zip(places_of(report), report.places, strict=True))
    used: set[Note] = set()
    for told in (told for told in figures_of(report) if told.digits is None):
        place = places[told.place]
        named = [note for note in listed if not is_of_the_rest(note) and covers(note, told.line, told.column, place)]
        covering = named or [note for note in listed if is_of_the_rest(note)]
        assert len(covering) == 1, (request, told, covering)
        cell, line, column = by_place[told.place], line_of(books, told.line), columns[told.column]
        expected = cause_of(books, line, column, as_answered(books, request, line, column, cell, place))
        assert covering[0].code == expected, (request, told, covering)
        if expected == "outside_books":
            assert_books(books, covering[0], line, column, cell)
        used.update(covering)
    assert set(listed) == used, (request, set(listed) - used)


def as_answered(
    books: OracleBooks,
    request: OracleRequest,
    line: OracleLine,
    column: Reference,
    cell: OracleCell,
    place: MemberTuple,
) -> OracleCell:
    """Return the cell that decides: of the others that of a member, if no member can be told."""
    if not place.members or place.members[0].id != OTHERS:
        return cell
    first = request.dimensions[0]
    member = shown(books, first, request.filters.get(first, ()))[0]
    whole = replace(cell, excluded=request.excluded, breakdown=(first, *cell.breakdown))
    anyone = replace(whole, place={**(cell.place or {}), first: member})
    return anyone if figure(books, line, column, anyone) is UNAVAILABLE else cell


def is_of_the_rest(note: Note) -> bool:
    """Tell whether a note covers what no other one does; one that names divisors covers their quotients alone."""
    return note.code == "no_rows" and "operands" not in dict(note.about)


def covers(note: Note, line: str, column: str, place: MemberTuple) -> bool:
    """Tell whether a note covers the null of a line, column and place."""
    names = dict(note.about)
    return (
        line in names.get("lines", (line,))
        and column in names.get("scenarios", (column,))
        and ("members" not in names or any(is_at(place, name) for name in names["members"]))
    )


def is_at(place: MemberTuple, name: str) -> bool:
    """Tell whether a name of members names a place."""
    if place.is_total:
        return name == "(total)"
    ids = [member.id for member in place.members]
    paths: Iterator[Sequence[str]] = (
        ["*" if at != kept else member for at, member in enumerate(ids)] for kept in range(len(ids))
    )
    return name in ("(members)", "/".join(ids), *map("/".join, paths))


def assert_books(books: OracleBooks, note: Note, line: OracleLine, column: Reference, cell: OracleCell) -> None:
    """Hold the books that a note gives against those of a side and operand that looks outside them."""
    names = dict(note.about)
    sides = ((column, frozenset[str]()),) if isinstance(column, OracleSide) else column.sides
    found = [
        (base.domain, "+".join(known.scenario for known in side.parts), books_of(books, base, side, window, scope))
        for side, scope in sides
        for base in bases_of(books, line.metric)
        if (window := window_of(books, side, cell))
    ]
    assert (names["domain"], names["scenario"], (names["first"], names["last"])) in found, (note, found)
