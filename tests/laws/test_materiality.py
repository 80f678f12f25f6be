"""The law of material lines: those that the oracle's figures make material are shown, and their members are its own.

A line is tested by its figure in the total; a ratio is shown by its operands, a node by what stands below it. What is
left out below a node adds up to what the node has beside the nodes that are shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.requests import LineMateriality
from engine.report.data import OTHERS
from engine.report.report import Report
from tests.laws.oracle.asking import behind, exactly
from tests.laws.oracle.books import LEAVES, OracleBooks
from tests.laws.oracle.expressions import metrics
from tests.laws.oracle.figures import MISSING, UNAVAILABLE, Figure, bases_of, figure, plain
from tests.laws.oracle.formulas import LINES, MADE, MONEY, NUMBER, kinds_of
from tests.laws.oracle.members import shown
from tests.laws.oracle.references import OracleCell, OracleSide, OracleVariance, Reference
from tests.laws.oracle.requests import ROLLED, OracleRequest, cell, line_of, requests
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import STATEMENT, opened
from tests.laws.test_figures import drill
from tests.laws.test_ranking import of_others, others_cells, shares

BY = ("product", "region", "band")  # whose members share no leaves and have no weights
DRILLED = 2  # cells of each report


@dataclass(frozen=True, slots=True)
class MaterialCase:
    """Books, a request of their statement, and what a line must reach in a column."""

    books: OracleBooks
    request: OracleRequest
    column: Reference
    absolute: str | None
    percent: str | None
    rule: str

    @property
    def total(self) -> OracleCell:
        """The cell of the total."""
        return cell(self.request, None, None, ())

    def is_tested(self, key: str) -> bool:
        """Tell whether a line has amounts or counts."""
        kinds = {**kinds_of(self.books.bases), **MADE, **LINES}
        of = self.books.rollup.base if key == ROLLED or key.startswith("tree.") else key
        return kinds[of][0] in (MONEY, NUMBER)

    def change(self, key: str) -> Fraction | None:
        """Return what is tested of a line."""
        known = figure(self.books, line_of(self.books, key), self.column, self.total)
        if isinstance(known, Fraction) or isinstance(self.column, OracleSide):
            return known if isinstance(known, Fraction) else None
        a, b = self.sides(key)
        return a if isinstance(a, Fraction) and b is MISSING else None

    def sides(self, key: str) -> list[Figure]:
        """Return both sides of the variance of a line."""
        assert isinstance(self.column, OracleVariance)
        line = line_of(self.books, key)
        return [plain(self.books, line, side, self.total, scope) for side, scope in self.column.sides]

    def is_beyond(self, key: str) -> bool:
        """Tell whether a line is tested and reaches a bound, or both."""
        if not self.is_tested(key):
            return self.uses_beyond(key)
        change = self.change(key)
        if change is None:
            return False
        passes = []
        if self.absolute is not None:
            passes.append(abs(change) >= Fraction(self.absolute))
        if self.percent is not None:
            base = self.sides(key)[1]
            least = Fraction(self.percent) * abs(base) if isinstance(base, Fraction) and base else None
            passes.append(change != 0 if least is None else abs(change) * 100 >= least)
        return all(passes) if self.rule == "all" else any(passes)

    def uses_beyond(self, key: str) -> bool:
        """Tell whether an operand of a ratio is beyond."""
        made = self.books.lines.get(key) or self.books.formulas[key]
        return any(self.is_beyond(name) for name in metrics(made.expression))


def parents_of(report: Report) -> dict[str, str | None]:
    """Return the line above each line of a statement."""
    above: list[str] = []
    found: dict[str, str | None] = {}
    for line in report.lines:
        del above[line.level :]
        found[line.key] = above[-1] if above else None
        above.append(line.key)
    return found


def nodes_above(key: str, above: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the lines above a line, the nearest first."""
    while (parent := above[key]) is not None:
        yield parent
        key = parent


@st.composite
def cases(draw: st.DrawFn, books: OracleBooks) -> MaterialCase:
    """Draw a request of the statement and what its lines must reach."""
    drawn = draw(requests(books, ((),), (None,)))
    columns: list[Reference] = [
        replace(column, relative=False) if isinstance(column, OracleVariance) else column for column in drawn.columns
    ]
    sides = [column for column in columns if isinstance(column, OracleSide)]
    if len(sides) > 1:
        columns.append(OracleVariance(sides[0], sides[1], relative=False))
    columns = list({column.text: column for column in columns}.values())
    column = draw(st.sampled_from(columns))
    absolute = draw(st.sampled_from((None, "0", "1", "3.5", "10", "60.25")))
    percent = draw(st.sampled_from((None, "0", "5", "50", "100.5")))
    if isinstance(column, OracleSide):
        percent = None
    if absolute is percent is None:
        absolute = "3.5"
    rule = draw(st.sampled_from(("any", "all"))) if absolute and percent else "any"
    return MaterialCase(books, replace(drawn, columns=tuple(columns)), column, absolute, percent, rule)


def ask_case(door: Door, case: MaterialCase, **more: Any) -> Report:
    """Ask the statement, with a materiality if more is given."""
    request, books = case.request, case.books
    bounds = {name: float(bound) for name in ("absolute", "percent") if (bound := getattr(case, name)) is not None}
    return door.statement(
        STATEMENT,
        scenarios={column.text: column.text for column in request.columns},
        period=(request.asked.start.code(books.fiscal), request.asked.end.code(books.fiscal)),
        filters=request.as_filters,
        materiality=LineMateriality(of=case.column.text, **bounds, rule=case.rule, **more) if more else None,  # type: ignore[arg-type]  # a rule is one of two texts
    )


@given(data=st.data(), books=random_books())
def test_material_lines_are_those_of_the_oracles_figures(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for _ in range(2):
            case = data.draw(cases(books))
            whole = ask_case(door, case)
            report = ask_case(door, case, by=None)
            above = parents_of(whole)
            lines = {line.key: line for line in whole.lines}
            expected = {key for key, line in lines.items() if line.type and case.is_beyond(key)}
            expected.update(*(list(nodes_above(key, above)) for key in expected))
            found = [line.key for line in report.lines if line.type]
            assert found == [key for key in lines if key in expected], case
            assert [line.key for line in report.lines if not line.type] == (["header_1"] if found else []), case
            hold_left_out(case, whole, report, expected)


def hold_left_out(case: MaterialCase, whole: Report, report: Report, expected: set[str]) -> None:
    """Hold what is left out against the oracle's figures."""
    above = parents_of(whole)
    lines = {line.key: line for line in whole.lines if line.type}
    left = [key for key in lines if key not in expected and above[key] in (None, *expected)]
    assert report.materiality is not None
    groups = report.materiality.left_out
    assert sum(group.lines for group in groups) == len(left), case
    for group in groups:
        inside = [key for key in left if above[key] == group.below]
        if group.below is None:
            unit = whole.unit(lines[group.largest.key], whole.columns[report.materiality.column].comparison)
            comparison = whole.columns[report.materiality.column].comparison
            inside = [key for key in inside if whole.unit(lines[key], comparison) == unit]
        changes = {key: known for key in inside if case.is_tested(key) and (known := case.change(key)) is not None}
        assert group.lines == len(inside), case
        if not changes:
            assert group.figure is None, case
            continue
        assert group.figure is not None
        assert abs(exactly(group.figure)) == max(map(abs, changes.values())), case  # type: ignore[arg-type]  # it is there
        if group.total is not None:
            weights = {key: lines[key].into_parent for key in changes}
            each = [
                known * (Fraction(weight.numerator, weight.denominator) if (weight := weights[key]) else 1)
                for key, known in changes.items()
            ]
            assert exactly(group.total) == sum(each, start=Fraction()), case


@given(data=st.data(), books=random_books())
def test_members_of_material_lines_are_the_largest_of_the_oracles_figures(
    data: st.DataObject, books: OracleBooks
) -> None:
    with opened(books) as door:
        case, by, top = data.draw(cases(books)), data.draw(st.sampled_from(BY)), data.draw(st.integers(1, 3))
        request = replace(case.request, dimensions=(by,))
        lines = [line.key for line in ask_case(door, case, by=None).lines if line.type and case.is_tested(line.key)]
        ranks = {key: members_of(case, request, key, by) for key in lines if case.is_beyond(key)}
        if shares(books, request) and any(len(order) < count or count > top for order, count in ranks.values()):
            with pytest.raises(BadArguments):
                ask_case(door, case, by=by, top=top)
            return
        report = ask_case(door, case, by=by, top=top)
        kinds = ("member", "others")
        found = [line.key for line in report.lines if line.kind in kinds]
        expected = []
        for key, (order, count) in ranks.items():
            expected += [f"{key}/{member}" for member in order[:top]]
            expected += [f"{key}/{OTHERS}"] if order and count > min(top, len(order)) else []
        assert found == expected, (case, by, top)
        for at, line in enumerate(report.lines):
            if line.kind in kinds:
                key, member = line.key.rsplit("/", 1)
                hold_row(
                    case,
                    request,
                    key,
                    member,
                    ranks[key][0][:top],
                    [report.figures[at][c][-1] for c in range(len(report.columns))],
                )
                if member == OTHERS:
                    assert line.holds == ranks[key][1] - min(top, len(ranks[key][0])), (case, by, top)


def hold_row(
    case: MaterialCase, request: OracleRequest, key: str, member: str, top: Sequence[str], found: Sequence[Any]
) -> None:
    """Hold the figures of a member or of the others against the oracle's."""
    (by,) = request.dimensions
    for column, known in zip(request.columns, found, strict=True):
        if member == OTHERS:
            (place,) = others_cells(case.books, request, list(top)).values()
            expected = of_others(case.books, request, key, column, place)
        else:
            expected = figure(case.books, line_of(case.books, key), column, cell(request, {by: member}, None, ()))
        assert exactly(known) == expected, (case, key, member, column.text)


def members_of(case: MaterialCase, request: OracleRequest, key: str, by: str) -> tuple[list[str], int]:
    """Return the members of a line by the size of the column that is tested, and how many have any figure."""
    books, line = case.books, line_of(case.books, key)
    if any(by not in LEAVES[base.domain] and by != "band" for base in bases_of(books, line.metric)):
        return [], 0
    sizes: dict[str, Fraction] = {}
    count = 0
    for member in shown(books, by, request.filters.get(by, ())):
        place = cell(request, {by: member}, None, ())
        sides = [side for column in request.columns for side in sides_of(column)]
        count += any(isinstance(plain(books, line, side, place, scope), Fraction) for side, scope in sides)
        known = figure(books, line, case.column, place)
        if isinstance(known, Fraction):
            sizes[member] = abs(known)
    return sorted(sizes, key=lambda member: (-sizes[member], member)), count


def sides_of(column: Reference) -> Sequence[tuple[OracleSide, Any]]:
    """Return the sides of a column with the scope of each."""
    return column.sides if isinstance(column, OracleVariance) else [(column, frozenset())]


@given(data=st.data(), books=random_books())
def test_the_rows_behind_members_add_up_to_them(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        case, by = data.draw(cases(books)), data.draw(st.sampled_from(BY))
        request = replace(case.request, dimensions=(by,))
        try:
            report = ask_case(door, case, by=by, top=1)
        except BadArguments:
            return
        known = [
            each for each in behind(report) if each.where[0].endswith("/" + OTHERS) and each.figure is not UNAVAILABLE
        ]
        for each in data.draw(st.randoms()).sample(known, min(len(known), DRILLED)):
            column = next(column for column in request.columns if column.text == each.where[1])
            key = each.where[0].rsplit("/", 1)[0]
            keys = [line.key for line in report.lines]
            top = [
                other.rsplit("/", 1)[1] for other in keys if other.startswith(f"{key}/") and not other.endswith(OTHERS)
            ]
            (place,) = others_cells(books, request, top).values()
            drill(books, door, each, column, place)
